#include "formats/gperftools_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_map>

#include "base/names.h"
#include "base/number_hash.h"
#include "formats/java_profile.h"
#include "formats/legacy_profile.h"

namespace tephra::formats {
namespace {

using base::Bytes;

// Words of the machine that was profiled.
class Words {
 public:
  Words(Bytes bytes, size_t width, std::endian order) : bytes_(bytes), width_(width), order_(order) {}

  size_t left() const { return bytes_.size() / width_; }
  Bytes rest() const { return bytes_; }

  // There must be one.
  uint64_t next() {
    uint64_t word = 0;
    for (size_t i = 0; i < width_; ++i) {
      const size_t at = order_ == std::endian::little ? width_ - 1 - i : i;
      word = word << 8 | std::to_integer<uint64_t>(bytes_[at]);
    }
    bytes_ = bytes_.subspan(width_);
    return word;
  }

 private:
  Bytes bytes_;
  size_t width_;
  std::endian order_;
};

struct Opened {
  Words words;  // behind the header
  uint64_t period_us = 0;
  bool java = false;  // places that are explained by the text behind, not addresses
};

// The header: 0, 3 (words that follow), 0 (or 1: of Java), the period in microseconds, 0.
std::optional<Opened> open_as(Bytes bytes, size_t width, std::endian order) {
  Words words(bytes, width, order);
  if (words.left() < 5) return std::nullopt;
  const bool begins = words.next() == 0;
  const bool has_three = words.next() == 3;
  const uint64_t kind = words.next();
  const uint64_t period = words.next();
  const bool padding = words.next() == 0;
  constexpr uint64_t kLongestPeriod = 1'000'000'000;  // keeps products of it in range
  if (!begins || !has_three || kind > 1 || !padding || period == 0 || period > kLongestPeriod) return std::nullopt;
  return Opened{words, period, kind == 1};
}

std::optional<Opened> open_words(Bytes bytes) {
  for (const size_t width : {4, 8}) {
    for (const std::endian order : {std::endian::little, std::endian::big}) {
      if (auto opened = open_as(bytes, width, order)) return opened;
    }
  }
  return std::nullopt;
}

struct Record {
  uint64_t count = 0;
  std::vector<uint64_t> addresses;  // leaf first
};

struct Records {
  std::vector<Record> rows;
  Bytes rest;
  bool cut = false;  // the end is missing
};

Records read_records(Words words) {
  Records records;
  while (words.left() >= 2) {
    Record record{words.next(), {}};
    const uint64_t depth = words.next();
    if (depth > words.left()) {
      records.cut = true;
      return records;
    }
    for (uint64_t i = 0; i < depth; ++i) record.addresses.push_back(words.next());
    if (record.count == 0 && record.addresses == std::vector<uint64_t>{0}) {
      records.rest = words.rest();
      return records;
    }
    records.rows.push_back(std::move(record));
  }
  records.cut = true;
  return records;
}

// The address that nearly all stacks have as their second, if any.
std::optional<uint64_t> common_second(const std::vector<Record>& rows) {
  constexpr size_t kOneOtherIn = 32;
  std::unordered_map<uint64_t, size_t, base::NumberHash> stacks;
  for (const Record& row : rows) {
    if (row.addresses.size() > 1) ++stacks[row.addresses[1]];
  }
  const auto most = std::ranges::max_element(stacks, {}, [](const auto& each) { return each.second; });
  if (most == stacks.end() || most->second < rows.size() - rows.size() / kOneOtherIn) return std::nullopt;
  return most->first;
}

// Where a signal handler returns to is in the C library, in programs that say what they had mapped.
bool may_be_trampoline(uint64_t address, const std::vector<MappedRange>& ranges) {
  const auto range = std::ranges::find_if(
      ranges, [&](const MappedRange& each) { return each.start <= address && address < each.limit; });
  if (range == ranges.end()) return true;
  const std::string_view name = base::path_base_name(range->path);
  return name.empty() || name.starts_with("[") || name.starts_with("libc") || name.starts_with("libpthread") ||
         name.starts_with("ld-");
}

// Stacks that were taken in a signal handler may begin with the interrupted address, and go on with what the handler
// left on the stack. As pprof does, but not where the address is in code that was profiled.
void drop_handler_frames(std::vector<Record>& rows, const std::vector<MappedRange>& ranges,
                         model::RecordingFacts& facts) {
  constexpr int kMostFrames = 2;
  for (int i = 0; i < kMostFrames; ++i) {
    const auto address = common_second(rows);
    if (!address || !may_be_trampoline(*address, ranges)) return;
    size_t dropped = 0;
    for (Record& row : rows) {
      if (row.addresses.size() < 2 || row.addresses[1] != *address) continue;
      row.addresses.erase(row.addresses.begin() + 1);
      ++dropped;
    }
    facts.comments.push_back(
        fmt::format("left out of {} stacks: {:#x}, which is of the signal handler of the profiler", dropped, *address));
  }
}

// The interrupted address may be there twice: from the signal, and from the stack.
void drop_repeated_leaf(Record& row) {
  if (row.addresses.size() > 1 && row.addresses[0] == row.addresses[1]) {
    row.addresses.erase(row.addresses.begin() + 1);
  }
}

base::Result<model::Profile> read(Bytes bytes) {
  const auto opened = open_words(bytes);
  if (!opened) return base::failed("cannot read", "", "it is no CPU profile of gperftools");
  Records records = read_records(opened->words);
  std::vector<MappedRange> ranges;
  if (!opened->java) ranges = read_memory_map(base::as_text(records.rest));
  LegacyProfile profile("gperftools-cpu");
  const uint64_t period_ns = opened->period_us * 1000;
  profile.add_event("cpu", "ns", "samples");
  profile.facts().period = {"cpu", "ns", static_cast<int64_t>(period_ns)};
  profile.facts().drop_frames = kProfilerFrames;
  if (opened->java) {
    add_java_names(base::as_text(records.rest), profile);
  } else {
    drop_handler_frames(records.rows, ranges, profile.facts());
  }
  for (Record& row : records.rows) {
    if (row.count > INT64_MAX / period_ns) {
      return base::failed("cannot read", "", fmt::format("it counts a stack {} times", row.count));
    }
    if (!opened->java) drop_repeated_leaf(row);
    profile.add_sample(row.addresses, opened->java ? LegacyProfile::Leaf::kPlaces : LegacyProfile::Leaf::kInstruction,
                       std::vector<LegacyProfile::Amount>{{row.count, row.count * period_ns}});
  }
  if (records.cut) ++profile.quality()[model::Reason::file_truncated];
  return std::move(profile).finish(ranges);
}

std::string refusal(Bytes bytes) { return open_words(bytes) ? "" : "it does not begin with the words 0, 3, 0"; }

}  // namespace

const Format kGperftoolsCpu{
    .name = "gperftools-cpu",
    .summary = "CPU profiles of gperftools (CPUPROFILE), and of Go before 1.7",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
