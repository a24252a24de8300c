// links: tephra_core
// Prints what kernel::parse_events makes of each argument: a JSON object a line for each event, or one with "error".
// With --sources FOLDER, PMUs are read from there; with --countable, each event says whether it counts here.

#include <cstdio>
#include <string>

#include "base/json_writer.h"
#include "kernel/countable.h"
#include "kernel/event_names.h"
#include "kernel/perf_calls.h"

namespace {

using tephra::base::JsonWriter;
using tephra::kernel::EventSpec;

void write_modes(JsonWriter& json, const EventSpec& event) {
  json.member("exclude_user", event.exclude_user)
      .member("exclude_kernel", event.exclude_kernel)
      .member("exclude_hv", event.exclude_hypervisor)
      .member("exclude_idle", event.exclude_idle)
      .member("exclude_guest", event.exclude_guest)
      .member("exclude_host", event.exclude_host)
      .member("precise_ip", event.precise)
      .member("most_precise", event.most_precise)
      .member("pinned", event.pinned)
      .member("exclusive", event.exclusive);
}

void print(const EventSpec& event, bool countable) {
  std::string line;
  JsonWriter json(line);
  json.begin_object()
      .member("name", event.name)
      .member("type", event.type)
      .member("config", event.config)
      .member("config1", event.config1)
      .member("config2", event.config2)
      .member("bp_type", event.breakpoint_type);
  write_modes(json, event);
  json.member("group", event.group).member("leader_samples", event.leader_samples);
  json.member("weak_group", event.weak_group);
  if (event.period) json.member("period", *event.period);
  if (event.frequency) json.member("freq", *event.frequency);
  json.key("cpus").begin_array();
  for (const int cpu : event.cpus) json.value(cpu);
  json.end_array();
  if (countable) {
    const auto answer = tephra::kernel::countable(event);
    json.member("counts", answer.counts).member("samples", answer.samples);
    json.member("why", answer.why).member("instead", answer.instead);
  }
  json.end_object();
  std::puts(line.c_str());
}

void print_error(const std::string& message) {
  std::string line;
  JsonWriter(line).begin_object().member("error", message).end_object();
  std::puts(line.c_str());
}

}  // namespace

int main(int count, char** words) {
  std::string folder = tephra::kernel::calls::event_source_folder();
  bool countable = false;
  int status = 0;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--sources" && i + 1 < count) {
      folder = words[++i];
    } else if (word == "--countable") {
      countable = true;
    } else {
      tephra::kernel::EventSources sources{tephra::kernel::Pmus(folder), tephra::kernel::Tracepoints()};
      const auto events = tephra::kernel::parse_events(word, sources);
      if (!events) {
        print_error(events.error().message());
        status = 1;
        continue;
      }
      for (const EventSpec& event : *events) print(event, countable);
    }
  }
  return status;
}
