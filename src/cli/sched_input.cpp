#include "cli/sched_input.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/recording.h"
#include "cli/target_options.h"
#include "formats/format.h"

namespace tephra::cli {
namespace {

base::Result<uint64_t> nanoseconds_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !(value >= 0) || value > 1e10) {
    return base::usage_error("not a time", text, "", "Write seconds, for example --time 1701.5,1702.");
  }
  // By its digits: a double does not hold nanoseconds.
  const size_t point = text.find('.');
  const auto whole = static_cast<uint64_t>(value);
  if (point == std::string::npos || text.find_first_not_of("0123456789.") != std::string::npos) {
    return static_cast<uint64_t>(value * 1e9);
  }
  std::string digits = text.substr(point + 1, 9);
  digits.resize(9, '0');
  return whole * 1'000'000'000 + whole_number(digits).value_or(0);
}

}  // namespace

void SchedReadFlags::declare(CLI::App& parser) {
  parser.add_option("-i,--input,file", path, "the recording (perf.data), of tephra or perf sched; - is standard input")
      ->type_name("FILE");
  joined(parser.add_option("--pid", pids, "only threads of these processes"))->type_name("PID[,PID]");
  joined(parser.add_option("--tid", tids, "only these threads"))->type_name("TID[,TID]");
  joined(parser.add_option("--comm", comms, "only threads of these names"))->type_name("NAME[,NAME]");
  parser.add_option("--time", time, "only this part, in seconds as the timeline shows them; either may be left out")
      ->type_name("FROM,TO");
}

void SchedReadFlags::declare_cpus(CLI::App& parser) {
  joined(parser.add_option("-C,--cpu", cpus, "only these CPUs"))->type_name("CPU[,CPU]");
}

void SchedReadFlags::declare_from(CLI::App& parser) {
  parser
      .add_option("--from", from,
                  "what a delay begins with: waking (sched_waking, the default where it is recorded) or\nwakeup "
                  "(sched_wakeup: the thread is on a run queue by then)")
      ->check(CLI::IsMember({"waking", "wakeup"}));
}

base::Result<SchedWindow> sched_window(const std::string& text) {
  SchedWindow window;
  if (text.empty()) return window;
  const size_t comma = text.find(',');
  const std::string from = text.substr(0, comma);
  const std::string to = comma == std::string::npos ? "" : text.substr(comma + 1);
  if (!from.empty()) {
    TEPHRA_TRY(window.begin, nanoseconds_of(from));
  }
  if (!to.empty()) {
    TEPHRA_TRY(window.end, nanoseconds_of(to));
  }
  if (window.begin > window.end) return base::usage_error("the time ends before it begins", text);
  return window;
}

std::vector<std::string> comma_list(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; !list.empty();) {
    const size_t comma = list.find(',', at);
    words.push_back(list.substr(at, comma - at));
    if (comma == std::string::npos) break;
    at = comma + 1;
  }
  return words;
}

base::Result<analysis::SchedChoice> sched_choice(const SchedReadFlags& flags) {
  analysis::SchedChoice choice;
  if (!flags.pids.empty()) {
    TEPHRA_TRY(choice.pids, id_list(flags.pids, "--pid"));
  }
  if (!flags.tids.empty()) {
    TEPHRA_TRY(choice.tids, id_list(flags.tids, "--tid"));
  }
  choice.comms = comma_list(flags.comms);
  return choice;
}

base::Result<std::vector<int32_t>> cpu_list(const std::string& list) {
  std::vector<int32_t> cpus;
  for (const std::string& word : comma_list(list)) {
    const auto number = whole_number(word);
    if (!number || *number > INT32_MAX) return base::usage_error("not a CPU", word, "", "Write for example -C 0,2.");
    cpus.push_back(static_cast<int32_t>(*number));
  }
  return cpus;
}

base::Result<OpenSched> open_sched(const std::string& path) {
  TEPHRA_TRY(auto content, formats::InputFile::open(path));
  TEPHRA_TRY(const formats::Format* format, formats::recognise(content.bytes(), path));
  if (format->open == nullptr) {
    return base::failed("no scheduler events", path, fmt::format("it is a {} file, not a recording", format->name),
                        "Record with 'tephra sched record'.");
  }
  const auto named = [&](base::Error error) {
    error.on = path;
    return error;
  };
  auto recording = format->open(content.bytes());
  if (!recording) return named(std::move(recording).error());
  auto events = stream::SchedEvents::of(*recording);
  if (!events) return named(std::move(events).error());
  return OpenSched{std::move(content), std::move(*recording), std::move(*events)};
}

}  // namespace tephra::cli
