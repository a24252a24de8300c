#include "formats/heap_dump.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "formats/heap_sampling.h"
#include "formats/legacy_profile.h"
#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

using Amount = LegacyProfile::Amount;

// "N: BYTES [ N: BYTES] @": what is in use, and what was allocated in all.
struct Numbers {
  Amount in_use;
  Amount allocated;
};

std::optional<Amount> take_amount(TextScanner& scanner) {
  scanner.blanks();
  const auto count = scanner.decimal();
  if (!count || !scanner.skip(":")) return std::nullopt;
  scanner.blanks();
  const auto bytes = scanner.decimal();
  scanner.blanks();
  if (!bytes || *count > INT64_MAX || *bytes > INT64_MAX) return std::nullopt;
  return Amount{*count, *bytes};
}

std::optional<Numbers> take_numbers(TextScanner& scanner) {
  const auto in_use = take_amount(scanner);
  if (!in_use || !scanner.skip("[")) return std::nullopt;
  const auto allocated = take_amount(scanner);
  if (!allocated || !scanner.skip("]")) return std::nullopt;
  scanner.blanks();
  if (!scanner.skip("@")) return std::nullopt;
  scanner.blanks();
  return Numbers{*in_use, *allocated};
}

struct Header {
  Amount in_use;  // of all lines together
  bool sampled = false;
  bool has_allocated = false;
  uint64_t period = 1;
};

// What dumps are called, and how the number behind the slash is meant.
struct Kind {
  std::string_view name;
  bool sampled;
  uint64_t divisor;  // of the stated period; Go states twice the period
  bool tells_freed;
};
constexpr std::array<Kind, 8> kKinds{{{"heapz_v2", true, 1, true},
                                      {"heap_v2", true, 1, true},
                                      {"heap", true, 2, true},
                                      {"heapprofile", false, 1, true},
                                      {"growth", false, 1, false},
                                      {"growthz", false, 1, false},
                                      {"fragmentation", false, 1, false},
                                      {"fragmentationz", false, 1, false}}};

std::optional<Header> parse_header(std::string_view line) {
  TextScanner scanner(trimmed(line));
  if (!scanner.skip("heap profile:")) return std::nullopt;
  const auto totals = take_numbers(scanner);
  if (!totals) return std::nullopt;
  const std::string_view word = scanner.word();
  const size_t slash = std::min(word.size(), word.find('/'));
  const auto kind = std::ranges::find(kKinds, word.substr(0, slash), &Kind::name);
  if (kind == kKinds.end()) return std::nullopt;
  Header header{.in_use = totals->in_use, .sampled = kind->sampled};
  if (kind->sampled) {
    TextScanner period(word.substr(std::min(word.size(), slash + 1)));
    header.period = period.decimal().value_or(0) / kind->divisor;
  }
  // What was freed is known where more was allocated than is in use.
  const auto differs = [](uint64_t all, uint64_t used) { return all != used && all != 0; };
  header.has_allocated = kind->tells_freed && (differs(totals->allocated.count, totals->in_use.count) ||
                                               differs(totals->allocated.value, totals->in_use.value));
  return header;
}

class Reader {
 public:
  explicit Reader(const Header& header) : header_(header) {
    if (header.has_allocated) {
      profile_.add_event("alloc_space", "bytes", "alloc_objects");
      profile_.add_event("inuse_space", "bytes", "inuse_objects");
    } else {
      profile_.add_event("space", "bytes", "objects");
    }
    profile_.facts().period = {"space", "bytes", static_cast<int64_t>(header.period)};
    profile_.facts().drop_frames = kAllocatorFrames;
    profile_.facts().keep_frames = kAllocatorFramesToKeep;
  }

  // `text`: behind the header.
  base::Result<model::Profile> read(std::string_view text) && {
    const std::string_view all = text;
    bool cut = false;
    while (!text.empty()) {
      const std::string_view line = trimmed(take_line(text));
      if (begins_memory_map(line)) return std::move(profile_).finish(read_memory_map(text));
      if (line.starts_with('#')) profile_.add_name_comment(line);
      if (is_blank_or_comment(line) || add_sample(line)) continue;
      if (!is_open_end(all, text)) {
        return base::failed("cannot read", "", fmt::format("'{}' is no line of a heap dump", line.substr(0, 60)));
      }
      cut = true;
    }
    // Go writes no map, but what is in use in all. What was allocated, it does not list in full.
    cut = cut || in_use_.count < header_.in_use.count || in_use_.value < header_.in_use.value;
    if (cut) ++profile_.quality()[model::Reason::file_truncated];
    return std::move(profile_).finish({});
  }

 private:
  bool add_sample(std::string_view line) {
    TextScanner scanner(line);
    const auto numbers = take_numbers(scanner);
    addresses_.clear();
    if (!numbers || !take_addresses(scanner.rest(), addresses_)) return false;
    amounts_.clear();
    int64_t size = 0;
    const auto add = [&](const Amount& amount) {
      if (amount.count != 0) size = static_cast<int64_t>(amount.value / amount.count);
      amounts_.push_back(header_.sampled ? unbiased(amount, header_.period) : amount);
      return amount.count != 0 || amount.value == 0;
    };
    if (header_.has_allocated && !add(numbers->allocated)) return false;
    if (!add(numbers->in_use)) return false;
    in_use_.count += numbers->in_use.count;
    in_use_.value += numbers->in_use.value;
    profile_.add_sample(addresses_, LegacyProfile::Leaf::kCall, amounts_, {profile_.number_label("bytes", size)});
    return true;
  }

  Header header_;
  Amount in_use_;  // of the lines so far
  LegacyProfile profile_{"heap"};
  std::vector<uint64_t> addresses_;
  std::vector<Amount> amounts_;
};

base::Result<model::Profile> read(base::Bytes bytes) {
  std::string_view text = base::as_text(bytes);
  const auto header = parse_header(take_line(text));
  if (!header) return base::failed("cannot read", "", "it is no heap dump");
  return Reader(*header).read(text);
}

std::string refusal(base::Bytes bytes) {
  std::string_view text = beginning_of_header(bytes);
  return parse_header(take_line(text)) ? "" : "it does not begin with 'heap profile:' and numbers";
}

}  // namespace

const Format kHeapDump{
    .name = "heap",
    .summary = "heap dumps of tcmalloc (heap, growth, fragmentation) and of Go as text",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
