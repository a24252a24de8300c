#include "formats/bpftrace.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/number.h"
#include "formats/plain_text.h"
#include "formats/text_stacks.h"

namespace tephra::formats {
namespace {

using base::Bytes;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool is_indented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

struct Value {
  uint64_t count = 0;
  uint64_t value = 0;
};

// "5", and "count 2, average 3, total 6" of stats(). Histograms are drawings, not values.
std::optional<Value> value_of(std::string_view text) {
  if (const auto plain = base::whole_number<uint64_t>(text)) return Value{*plain, *plain};
  constexpr std::string_view kCount = "count ";
  constexpr std::string_view kTotal = ", total ";
  const size_t total = text.find(kTotal);
  if (!text.starts_with(kCount) || total == std::string_view::npos) return std::nullopt;
  const auto count = base::whole_number<uint64_t>(text.substr(kCount.size(), text.find(',') - kCount.size()));
  const auto sum = base::whole_number<uint64_t>(text.substr(total + kTotal.size()));
  if (!count || !sum) return std::nullopt;
  return Value{*count, *sum};
}

// The last "]: VALUE" of a line, which ends an entry.
struct End {
  std::string_view before;
  Value value;
};

std::optional<End> end_of(std::string_view line) {
  constexpr std::string_view kEnd = "]: ";
  const size_t at = line.rfind(kEnd);
  if (at == std::string_view::npos) return std::nullopt;
  const auto value = value_of(trimmed(line.substr(at + kEnd.size())));
  if (!value) return std::nullopt;
  return End{line.substr(0, at), *value};
}

// Where kernel stacks begin: system calls, interrupts, kernel threads.
bool is_kernel_root(std::string_view name) {
  constexpr std::array<std::string_view, 7> kBeginnings{"entry_",         "asm_", "ret_from_fork",  "secondary_startup",
                                                        "common_startup", "el0",  "__irqentry_text"};
  return std::any_of(kBeginnings.begin(), kBeginnings.end(), [&](auto begin) { return name.starts_with(begin); });
}

bool is_kernel_stack(const std::vector<TextStacks::Frame>& stack) {
  return std::ranges::all_of(stack, [](const TextStacks::Frame& frame) { return frame.kernel; });
}

// All of a stack that begins so is kernel code.
void mark_kernel(std::vector<TextStacks::Frame>& stack) {
  if (!is_kernel_root(stack.back().name)) return;
  for (TextStacks::Frame& frame : stack) frame.kernel = true;
}

// One entry of a map, as it grows line by line.
class Entry {
 public:
  explicit Entry(std::string_view name) : name_(name) {}

  void add_keys(std::string_view text) {
    while (true) {
      text = trimmed(text);
      const size_t comma = text.find(", ");
      const std::string_view key = trimmed(text.substr(0, comma));
      if (!key.empty() && key != ",") add_key(key.starts_with(',') ? trimmed(key.substr(1)) : key);
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 2);
    }
    in_stack_ = false;
  }

  void add_frame(std::string_view text) {
    if (!in_stack_) stacks_.emplace_back();
    in_stack_ = true;
    stacks_.back().push_back(TextStacks::parse_frame(trimmed(text)));
  }

  // An entry with no stack among its keys is none of a profile; what it is about stands for one.
  TextStacks::Sample finish(const Value& value) {
    TextStacks::Sample sample;
    sample.event = name_.empty() ? "samples" : name_;
    sample.comm = comm_;
    sample.pid = pid_;
    sample.count = value.count;
    sample.value = value.value;
    // Kernel code was called by user code, in whichever order the keys are.
    for (auto& stack : stacks_) mark_kernel(stack);
    std::stable_sort(stacks_.begin(), stacks_.end(),
                     [](const auto& a, const auto& b) { return is_kernel_stack(a) && !is_kernel_stack(b); });
    for (const auto& stack : stacks_) sample.frames.insert(sample.frames.end(), stack.begin(), stack.end());
    return sample;
  }

 private:
  void add_key(std::string_view key) {
    if (const auto pid = base::whole_number<int32_t>(key)) {
      if (pid_ < 0) pid_ = *pid;
    } else if (comm_.empty()) {
      comm_ = key;
    }
  }

  std::string_view name_;
  std::string_view comm_;
  int32_t pid_ = -1;
  std::vector<std::vector<TextStacks::Frame>> stacks_;
  bool in_stack_ = false;
};

class Reader {
 public:
  base::Result<model::Profile> read(std::string_view text) {
    while (!text.empty()) add(take_line(text));
    if (entry_) stacks_.add_malformed();
    return std::move(stacks_).finish("bpftrace");
  }

 private:
  void add(std::string_view line) {
    if (line.starts_with('@')) return begin(line);
    if (!entry_) {
      // What programs print beside maps is theirs; lines that look like frames are of no entry.
      if (is_indented(line) && !trimmed(line).empty()) stacks_.add_malformed();
      return;
    }
    if (is_indented(line)) return entry_->add_frame(line);
    if (trimmed(line).empty()) return;
    if (const auto end = end_of(line)) {
      entry_->add_keys(end->before);
      return finish(end->value);
    }
    entry_->add_keys(line);
  }

  void begin(std::string_view line) {
    if (entry_) stacks_.add_malformed();
    entry_.reset();
    const size_t bracket = line.find('[');
    if (bracket == std::string_view::npos) return;  // a single value
    entry_.emplace(line.substr(1, bracket - 1));
    const std::string_view rest = line.substr(bracket + 1);
    if (const auto end = end_of(rest)) {
      entry_->add_keys(end->before);
      return finish(end->value);
    }
    entry_->add_keys(rest);
  }

  void finish(const Value& value) {
    stacks_.add(entry_->finish(value));
    entry_.reset();
  }

  TextStacks stacks_;
  std::optional<Entry> entry_;
};

base::Result<model::Profile> read(Bytes bytes) { return Reader().read(PlainText(bytes).text()); }

// An entry whose key begins with a stack, within what is looked at.
std::string refusal(Bytes bytes) {
  const PlainText plain(beginning(bytes));
  std::string_view text = plain.text();
  if (text.find('\0') != std::string_view::npos) return "it is not text";
  bool in_entry = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (in_entry && is_indented(line)) return {};
    in_entry = line.starts_with('@') && line.find('[') != std::string_view::npos && !end_of(line);
  }
  return "no map is printed whose key is a stack";
}

}  // namespace

const Format kBpftrace{
    .name = "bpftrace",
    .summary = "stacks printed by bpftrace",
    .endings = {},
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
