#include "cli/recording.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "base/units.h"
#include "kernel/procfs.h"
#include "kernel/tracefs.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

constexpr int kExitOwnFailure = 125;

bool value_follows(std::string_view word, const OptionsWithValue& with_value) {
  if (word.starts_with("--")) {
    return fmt::format(" {} ", with_value.names).find(fmt::format(" {} ", word)) != std::string::npos;
  }
  const size_t at = word.find_first_of(with_value.letters, 1);
  return at != std::string_view::npos && at + 1 == word.size();
}

size_t terminal_width() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string progress_text(const collect::Progress& progress) {
  if (progress.flight) {
    return fmt::format("flight recorder: {:.0f} s, {}; {}Ctrl-C ends", progress.seconds,
                       base::counted(progress.snapshots, "snapshot"), progress.keys ? "s writes one, " : "");
  }
  return fmt::format("recording: {:.0f} s, {} samples, {} lost, {}", progress.seconds, progress.samples, progress.lost,
                     base::bytes_text(progress.bytes));
}

// A line that wraps could not be taken back.
void show_progress(const collect::Progress& progress) {
  std::string line = progress.finished ? "" : progress_text(progress);
  line.resize(std::min(line.size(), terminal_width() - 1));
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
}

}  // namespace

SplitWords split_program(std::span<const std::string> arguments, const OptionsWithValue& with_value) {
  SplitWords words;
  size_t at = 0;
  while (at < arguments.size() && arguments[at].starts_with('-') && arguments[at] != "--") {
    words.options.push_back(arguments[at]);
    if (value_follows(arguments[at++], with_value) && at < arguments.size()) words.options.push_back(arguments[at++]);
  }
  if (at < arguments.size() && arguments[at] == "--") ++at;
  words.program.assign(arguments.begin() + static_cast<ptrdiff_t>(at), arguments.end());
  return words;
}

std::optional<uint64_t> whole_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

base::Result<std::vector<pid_t>> id_list(std::string_view text, const char* option) {
  const std::string_view whole = text;
  std::vector<pid_t> ids;
  for (;;) {
    const size_t comma = text.find(',');
    const auto id = whole_number(text.substr(0, comma));
    if (!id || *id == 0 || *id > 0x7fffffff) {
      return base::usage_error("not a list of process numbers", std::string(whole), "",
                               fmt::format("Write for example {} 1234 or {} 1234,1240.", option, option));
    }
    ids.push_back(static_cast<pid_t>(*id));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  // Named twice, it would be counted twice.
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

base::Result<uint64_t> frequency_of(const std::string& text, const char* option) {
  const uint64_t limit = kernel::max_sample_rate();
  if (text == "max") return limit;
  const auto frequency = whole_number(text);
  if (!frequency || *frequency == 0) {
    return base::usage_error("not a frequency", text, "",
                             fmt::format("Write samples a second, for example {} 99.", option));
  }
  if (*frequency > limit) {
    return base::usage_error(
        "cannot sample that often", text, fmt::format("the limit is {} Hz", limit),
        fmt::format("Use {} max, or have root run 'sysctl kernel.perf_event_max_sample_rate={}'.", option, *frequency));
  }
  return *frequency;
}

base::Result<uint64_t> period_of(const std::string& text, const char* option) {
  const auto period = whole_number(text);
  if (!period || *period == 0 || *period >> 63 != 0) {
    return base::usage_error("not a period", text, "",
                             fmt::format("Write how many events make a sample, for example {} 1000.", option));
  }
  return *period;
}

base::Status add_events(const std::string& list, std::vector<kernel::EventSpec>& events) {
  const bool mounted = kernel::tracefs_is_mounted();
  TEPHRA_TRY(auto parsed, kernel::parse_events(list));
  if (!mounted && kernel::tracefs_is_mounted()) {
    fmt::print(stderr, "tephra: mounted tracefs at /sys/kernel/tracing, to read tracepoints\n");
  }
  int groups = 0;
  for (const kernel::EventSpec& event : events) groups = std::max(groups, event.group + 1);
  for (kernel::EventSpec& event : parsed) {
    if (event.group >= 0) event.group += groups;
    events.push_back(std::move(event));
  }
  return {};
}

base::Result<double> delay_of(const std::string& text) {
  if (text == "-1") return -1.0;
  const auto milliseconds = whole_number(text);
  if (!milliseconds || *milliseconds > 1'000'000'000) {
    return base::usage_error("not a delay", text, "",
                             "Write milliseconds, for example -D 500; -1 waits for --control.");
  }
  return static_cast<double>(*milliseconds) / 1000;
}

base::Result<double> seconds_of(const std::string& text, const char* option) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error == std::errc() && end == text.data() + text.size() && seconds > 0 && seconds < 1e9) return seconds;
  if (auto parsed = base::parse_duration(text)) return parsed;
  return base::usage_error("not a duration", text, "",
                           fmt::format("Write seconds or a unit, for example {0} 30 or {0} 5m.", option));
}

std::function<void(const std::string&)> note_on_terminal() {
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  return [terminal](const std::string& text) {
    fmt::print(stderr, "{}tephra: {}\n", terminal ? "\r\x1b[K" : "", views::printable(text));
  };
}

collect::OnProgress progress_on_terminal(bool quiet) {
  if (quiet || ::isatty(STDERR_FILENO) == 0) return [](const collect::Progress&) {};
  return show_progress;
}

base::Result<int> own_failure(const collect::Target& target, const base::Error& error) {
  if (target.command.empty() || error.kind == base::Error::Kind::kUsage) return error;
  fmt::print(stderr, "tephra: {}\n", error.message());
  return kExitOwnFailure;
}

int report_start_error(const collect::Target& target, const collect::RecordSummary& summary) {
  fmt::print(stderr, "tephra: {}\n",
             base::system_error("cannot start", target.command[0], summary.start_error).message());
  return summary.program_status;
}

}  // namespace tephra::cli
