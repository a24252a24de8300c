#include "formats/bcc_stacks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/number.h"
#include "formats/plain_text.h"
#include "formats/text_stacks.h"

namespace tephra::formats {
namespace {

using base::Bytes;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_indented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

struct Task {
  std::string_view comm;
  int32_t pid = -1;
};

// "-                func_ab (13549)"
std::optional<Task> task_of(std::string_view line) {
  line = trimmed(line);
  const size_t bracket = line.rfind(" (");
  if (!line.starts_with("- ") || !line.ends_with(')') || bracket == std::string_view::npos || bracket < 2) {
    return std::nullopt;
  }
  const auto pid = base::whole_number<uint64_t>(line.substr(bracket + 2, line.size() - bracket - 3));
  if (!pid || *pid > INT32_MAX) return std::nullopt;
  return Task{trimmed(line.substr(1, bracket - 1)), static_cast<int32_t>(*pid)};
}

// bcc parts kernel and user frames with this line.
bool is_delimiter(std::string_view line) { return trimmed(line) == "--"; }

// "Tracing off-CPU time (us) of all threads by user + kernel stack... Hit Ctrl-C to end.": what the numbers are that
// are no counts of samples, in one word.
std::optional<std::string> measured_time(std::string_view line) {
  constexpr std::string_view kBegin = "Tracing ";
  const size_t unit = line.find(" (us)");
  if (!line.starts_with(kBegin) || unit == std::string_view::npos || unit <= kBegin.size()) return std::nullopt;
  std::string name(line.substr(kBegin.size(), unit - kBegin.size()));
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

// "Sampling at 49 Hertz of all threads by kernel stack... Hit Ctrl-C to end.": no frame is user code then.
bool tells_kernel_stacks_alone(std::string_view line) {
  return line.find(" by kernel stack") != std::string_view::npos;
}

// The tools' option -a marks kernel frames so.
TextStacks::Frame parse_frame(std::string_view text) {
  constexpr std::string_view kMark = "_[k]";
  const bool marked = text.ends_with(kMark);
  if (marked) text.remove_suffix(kMark.size());
  TextStacks::Frame frame = TextStacks::parse_frame(text);
  frame.kernel = frame.kernel || marked;
  return frame;
}

class Reader {
 public:
  base::Result<model::Profile> read(std::string_view text) {
    while (!text.empty()) add(take_line(text));
    end_block();
    return std::move(stacks_).finish("bcc");
  }

 private:
  void add(std::string_view line) {
    if (trimmed(line).empty()) return end_block();
    // What the tool says of itself, and what a terminal leaves of Ctrl-C.
    if (!is_indented(line)) {
      if (!time_) time_ = measured_time(line);
      kernel_alone_ = kernel_alone_ || tells_kernel_stacks_alone(line);
      return;
    }
    if (task_) {
      const auto count = base::whole_number<uint64_t>(trimmed(line));
      return count ? finish(*count) : stacks_.add_malformed();
    }
    task_ = task_of(line);
    if (task_) return;
    if (is_delimiter(line)) return mark_kernel();  // what stands above it
    sample_.frames.push_back(parse_frame(trimmed(line)));
  }

  void mark_kernel() {
    for (TextStacks::Frame& frame : sample_.frames) frame.kernel = true;
  }

  void finish(uint64_t number) {
    constexpr uint64_t kNanoseconds = 1000;  // a microsecond
    if (kernel_alone_) mark_kernel();
    sample_.comm = task_->comm;
    sample_.pid = task_->pid;
    if (time_) {
      sample_.event = *time_;
      sample_.unit = "ns";
      sample_.uncounted = true;
      sample_.value = std::min(number, INT64_MAX / kNanoseconds) * kNanoseconds;
    } else {
      sample_.event = "samples";
      sample_.count = sample_.value = number;
    }
    stacks_.add(sample_);
    sample_ = {};
    task_.reset();
  }

  // Frames that no number followed.
  void end_block() {
    if (task_ || !sample_.frames.empty()) stacks_.add_malformed();
    sample_ = {};
    task_.reset();
  }

  TextStacks stacks_;
  TextStacks::Sample sample_;
  std::optional<Task> task_;
  std::optional<std::string> time_;  // what is measured instead of counted
  bool kernel_alone_ = false;
};

base::Result<model::Profile> read(Bytes bytes) { return Reader().read(PlainText(bytes).text()); }

std::string refusal(Bytes bytes) {
  const PlainText plain(beginning(bytes));
  std::string_view text = plain.text();
  if (text.find('\0') != std::string_view::npos) return "it is not text";
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!is_indented(line) || !task_of(line)) continue;
    if (base::whole_number<uint64_t>(trimmed(take_line(text)))) return {};
  }
  return "no line names a task and the next the number of its samples";
}

}  // namespace

const Format kBccStacks{
    .name = "bcc",
    .summary = "stacks printed by profile, offcputime and others of bcc",
    .endings = {},
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
