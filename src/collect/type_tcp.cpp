#include <fmt/format.h>

#include "collect/activity_settings.h"
#include "collect/profile_type.h"
#include "stream/tcp_reading.h"

namespace tephra::collect {
namespace {

// Tracepoints by themselves would tell of most of it under threads that have nothing to do with it, so there is no way
// without a program in the kernel.
base::Result<std::string> add(const TypeSettings&, RecordOptions& options) {
  TEPHRA_CHECK_OK(activity_engine(kernel::Activity::kTcp, options.target));
  if (!kernel::has_tracepoint("sock_send_length") || !kernel::has_tracepoint("sock_recv_length")) {
    options.choices.push_back("bytes of TCP are not told: this kernel has no tracepoints for them (Linux 6.3 has)");
  }
  add_activity(kernel::Activity::kTcp, options);
  return std::string(stream::kTcpEvents);
}

base::Error nothing_seen(double seconds) {
  return base::failed("nothing happened over TCP", "", fmt::format("no connection was used in {:.1f} s", seconds),
                      "Try while it is busy, a longer -d, or the whole machine: tephra profile -t tcp -a.");
}

}  // namespace

extern const ProfileType kTypeTcp{
    "tcp", "connects, accepts, retransmits, resets and bytes of TCP", "TCP events", add, nothing_seen, TypeTable::kTcp};

}  // namespace tephra::collect
