#include "formats/jemalloc_heap.h"

#include <fmt/format.h>

#include <optional>

#include "formats/heap_sampling.h"
#include "formats/legacy_profile.h"
#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

using Amount = LegacyProfile::Amount;

std::optional<uint64_t> parse_header(std::string_view line) {
  TextScanner scanner(trimmed(line));
  if (!scanner.skip("heap_v2/")) return std::nullopt;
  const auto period = scanner.decimal();
  return scanner.rest().empty() ? period : std::nullopt;
}

// "  t3: 12: 4096 [30: 10240]": of all threads together where the name is *.
struct ThreadLine {
  std::string_view thread;
  Amount in_use;
  Amount allocated;
};

std::optional<ThreadLine> parse_thread(std::string_view line) {
  TextScanner scanner(line);
  const size_t colon = line.find(':');
  if (!scanner.skip("t") || colon == std::string_view::npos) return std::nullopt;
  ThreadLine parsed{.thread = line.substr(1, colon - 1)};
  scanner.skip(parsed.thread);
  scanner.skip(":");
  const auto take = [&](Amount& amount) {
    scanner.blanks();
    const auto count = scanner.decimal();
    if (!count || !scanner.skip(":")) return false;
    scanner.blanks();
    const auto bytes = scanner.decimal();
    if (!bytes || *count > INT64_MAX || *bytes > INT64_MAX) return false;
    amount = {*count, *bytes};
    return true;
  };
  if (!take(parsed.in_use)) return std::nullopt;
  scanner.blanks();
  if (!scanner.skip("[") || !take(parsed.allocated) || !scanner.skip("]")) return std::nullopt;
  return parsed;
}

class Reader {
 public:
  explicit Reader(uint64_t period) : period_(period) {
    profile_.facts().period = {"space", "bytes", static_cast<int64_t>(std::min<uint64_t>(period, INT64_MAX))};
    profile_.facts().drop_frames = kAllocatorFrames;
    profile_.facts().keep_frames = kAllocatorFramesToKeep;
  }

  // `text`: behind the header.
  base::Result<model::Profile> read(std::string_view text) && {
    const std::string_view all = text;
    while (!text.empty()) {
      const std::string_view line = trimmed(take_line(text));
      if (begins_memory_map(line)) {
        end_stack();
        return std::move(profile_).finish(read_memory_map(text));
      }
      if (is_blank_or_comment(line) || add_line(line)) continue;
      if (!is_open_end(all, text)) {
        return base::failed("cannot read", "", fmt::format("'{}' is no line of a heap dump", line.substr(0, 60)));
      }
    }
    // The map is the last part, and is always written.
    ++profile_.quality()[model::Reason::file_truncated];
    end_stack();
    return std::move(profile_).finish({});
  }

 private:
  bool add_line(std::string_view line) {
    if (line.starts_with('@')) {
      end_stack();
      add_events();
      addresses_.clear();
      in_stack_ = true;
      return take_addresses(line, addresses_);
    }
    const auto thread = parse_thread(line);
    if (!thread) return false;
    if (!in_stack_) {
      // The sums of all stacks: objects that were freed are counted if jemalloc was asked to.
      has_allocated_ = has_allocated_ || thread->allocated.count != 0;
    } else if (thread->thread == "*") {
      all_ = *thread;
    } else {
      add_sample(*thread);
    }
    return true;
  }

  void add_events() {
    if (has_events_) return;
    has_events_ = true;
    if (has_allocated_) {
      profile_.add_event("alloc_space", "bytes", "alloc_objects");
      profile_.add_event("inuse_space", "bytes", "inuse_objects");
    } else {
      profile_.add_event("space", "bytes", "objects");
    }
  }

  void add_sample(const ThreadLine& line) {
    split_ = true;
    int64_t size = 0;
    amounts_.clear();
    const auto add = [&](const Amount& amount) {
      if (amount.count != 0) size = static_cast<int64_t>(amount.value / amount.count);
      amounts_.push_back(unbiased(amount, period_));
    };
    if (has_allocated_) add(line.allocated);
    add(line.in_use);
    std::vector<model::Label> labels{profile_.number_label("bytes", size)};
    if (line.thread != "*") labels.push_back(profile_.text_label("thread", line.thread));
    profile_.add_sample(addresses_, LegacyProfile::Leaf::kCall, amounts_, std::move(labels));
  }

  // A stack that no thread was named for has its sums alone.
  void end_stack() {
    add_events();
    if (in_stack_ && !split_ && all_) add_sample(*all_);
    all_.reset();
    split_ = false;
  }

  uint64_t period_;
  LegacyProfile profile_{"jemalloc"};
  bool has_allocated_ = false;
  bool has_events_ = false;
  bool in_stack_ = false;
  bool split_ = false;  // by thread
  std::optional<ThreadLine> all_;
  std::vector<uint64_t> addresses_;
  std::vector<Amount> amounts_;
};

base::Result<model::Profile> read(base::Bytes bytes) {
  std::string_view text = base::as_text(bytes);
  const auto period = parse_header(take_line(text));
  if (!period) return base::failed("cannot read", "", "it is no heap dump of jemalloc");
  return Reader(*period).read(text);
}

std::string refusal(base::Bytes bytes) {
  std::string_view text = beginning_of_header(bytes);
  return parse_header(take_line(text)) ? "" : "it does not begin with 'heap_v2/' and a number";
}

}  // namespace

const Format kJemallocHeap{
    .name = "jemalloc",
    .summary = "heap dumps of jemalloc",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
