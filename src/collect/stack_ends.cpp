#include "collect/stack_ends.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

// The maps of a large process take some milliseconds.
constexpr int kMostReadsASecond = 20;
constexpr size_t kMostProcesses = 500;

}  // namespace

StackEnds::StackEnds() : StackEnds(Source{kernel::maps_text, kernel::first_stack_end}) {}

bool StackEnds::may_read(uint64_t time) {
  const uint64_t second = time / 1'000'000'000;
  if (second > second_) {
    second_ = second;
    reads_ = 0;
  }
  return ++reads_ <= kMostReadsASecond;
}

StackEnds::Ranges StackEnds::read(pid_t pid) const {
  Ranges ranges;
  const std::string text = source_.maps(pid);
  uint64_t last_end = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto map = kernel::parse_map_line(line);
    if (!map) continue;
    const uint64_t below = std::exchange(last_end, map->end);
    if (!map->readable || !map->writable) continue;
    Range range{map->start, map->end, map->end};
    if (map->path == "[stack]") {
      range.start = below;  // it grows down by itself
      const auto first = source_.first_stack_end(pid);
      if (first && *first > map->start && *first < map->end) range.stack_end = *first;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::optional<uint64_t> StackEnds::end_of(pid_t pid, uint64_t stack_pointer, uint64_t time) {
  const auto find = [stack_pointer](const Ranges& ranges) -> std::optional<uint64_t> {
    const auto after = std::upper_bound(ranges.begin(), ranges.end(), stack_pointer,
                                        [](uint64_t address, const Range& range) { return address < range.start; });
    if (after == ranges.begin() || stack_pointer >= std::prev(after)->end) return {};
    return std::max(std::prev(after)->stack_end, stack_pointer);
  };
  const auto known = processes_.find(pid);
  if (known != processes_.end()) {
    if (const auto end = find(known->second)) return end;
  }
  if (!may_read(time)) return {};
  if (known == processes_.end() && processes_.size() >= kMostProcesses) processes_.clear();
  Ranges& ranges = processes_[pid];
  ranges = read(pid);
  return find(ranges);
}

}  // namespace tephra::collect
