#include <fmt/format.h>

#include "collect/activity_settings.h"
#include "collect/profile_type.h"
#include "kernel/event_parser.h"
#include "stream/io_events.h"

namespace tephra::collect {
namespace {

// Requests alone, one by one, without their times.
base::Result<std::string> add_by_tracepoint(RecordOptions& options, const base::Error& refusal) {
  auto events = kernel::parse_events("block:block_rq_issue");
  if (!events) {
    base::Error error = std::move(events).error();
    error.what = "input and output need BPF or the tracepoint block:block_rq_issue, and neither can be used";
    if (error.fix.empty()) error.fix = "Run as root, or with CAP_BPF and CAP_PERFMON.";
    return error;
  }
  for (kernel::EventSpec& event : *events) event.period = 1;
  options.events.insert(options.events.end(), events->begin(), events->end());
  options.choices.push_back(fmt::format(
      "requests to devices are recorded by block:block_rq_issue, without their times and without calls on files: {}",
      refusal.why));
  return std::string(stream::kBlockBytesEvent);
}

base::Result<std::string> add(const TypeSettings&, RecordOptions& options) {
  const auto engine = activity_engine(kernel::Activity::kIo, options.target);
  if (!engine) return add_by_tracepoint(options, engine.error());
  add_activity(kernel::Activity::kIo, options);
  return std::string(stream::kBlockTimeEvent);
}

base::Error nothing_seen(double seconds) {
  return base::failed("no input or output", "",
                      fmt::format("no request went to a device and no file was read or written in {:.1f} s", seconds),
                      "Try a longer -d, or -a: what is written goes to the devices later, by threads of the kernel.");
}

}  // namespace

extern const ProfileType kTypeIo{
    "io", "requests to disks, and time in calls on files", "Input and output", add, nothing_seen, TypeTable::kIo};

}  // namespace tephra::collect
