#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/recorder.h"

namespace tephra::cli {

// What the commands that record have in common.

// The options of a command whose value is the next word: their letters, and their long names with spaces between.
struct OptionsWithValue {
  std::string_view letters;
  std::string_view names;
};

struct SplitWords {
  std::vector<std::string> options;
  std::vector<std::string> program;
};

// Options end at the first word that is none, or at --; what follows is the program to run, whatever it looks like.
// Letters may be joined: -ag, -F99, -agF 99.
SplitWords split_program(std::span<const std::string> arguments, const OptionsWithValue& with_value);

std::optional<uint64_t> whole_number(std::string_view text);
// "1234,1240"; `option` is for the message.
base::Result<std::vector<pid_t>> id_list(std::string_view text, const char* option);
// Samples a second, or "max"; within the kernel's limit. `option` is for the message.
base::Result<uint64_t> frequency_of(const std::string& text, const char* option);
// Events a sample.
base::Result<uint64_t> period_of(const std::string& text, const char* option);

// Adds the events of one -e. Groups of several lists stay apart.
base::Status add_events(const std::string& list, std::vector<kernel::EventSpec>& events);

// Milliseconds as `record -D` takes them, in seconds; -1 stays -1.
base::Result<double> delay_of(const std::string& text);

// Seconds, or a time with its unit ("5m"); `option` is for the message.
base::Result<double> seconds_of(const std::string& text, const char* option);

// A line that is drawn anew each second, where standard error is a terminal.
collect::OnProgress progress_on_terminal(bool quiet);
// Prints a line, and where there is a progress line takes that one's place.
std::function<void(const std::string&)> note_on_terminal();

// A command that runs a program returns the program's status; its own failures are printed here and are told apart by
// their status. Without a program an error is an error like any other.
base::Result<int> own_failure(const collect::Target& target, const base::Error& error);
// Says why the program could not be started; the status is 126 or 127.
int report_start_error(const collect::Target& target, const collect::RecordSummary& summary);

}  // namespace tephra::cli
