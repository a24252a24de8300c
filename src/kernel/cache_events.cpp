#include "kernel/cache_events.h"

#include <linux/perf_event.h>
#include <strings.h>

#include <array>
#include <span>

namespace tephra::kernel {
namespace {

// A part of the name: its spellings, the usual one first, and the number that stands for it.
struct Part {
  uint64_t number;
  std::array<std::string_view, 6> spellings;
};

constexpr Part kCaches[] = {
    {PERF_COUNT_HW_CACHE_L1D, {"L1-dcache", "L1-data", "l1-d", "l1d"}},
    {PERF_COUNT_HW_CACHE_L1I, {"L1-icache", "L1-instruction", "l1-i", "l1i"}},
    {PERF_COUNT_HW_CACHE_LL, {"LLC", "L2"}},
    {PERF_COUNT_HW_CACHE_DTLB, {"dTLB", "d-tlb", "Data-TLB"}},
    {PERF_COUNT_HW_CACHE_ITLB, {"iTLB", "i-tlb", "Instruction-TLB"}},
    {PERF_COUNT_HW_CACHE_BPU, {"branch", "branches", "bpu", "btb", "bpc"}},
    {PERF_COUNT_HW_CACHE_NODE, {"node"}},
};
constexpr Part kOperations[] = {
    {PERF_COUNT_HW_CACHE_OP_READ, {"load", "loads", "read"}},
    {PERF_COUNT_HW_CACHE_OP_WRITE, {"store", "stores", "write"}},
    {PERF_COUNT_HW_CACHE_OP_PREFETCH, {"prefetch", "prefetches", "speculative-read", "speculative-load"}},
};
constexpr Part kResults[] = {
    {PERF_COUNT_HW_CACHE_RESULT_ACCESS, {"refs", "Reference", "ops", "access"}},
    {PERF_COUNT_HW_CACHE_RESULT_MISS, {"misses", "miss"}},
};

// Takes the longest spelling that stands at the beginning of `text`, as a whole word of it, off it.
std::optional<uint64_t> take(std::string_view& text, std::span<const Part> parts) {
  std::optional<uint64_t> number;
  size_t longest = 0;
  for (const Part& part : parts) {
    for (const std::string_view spelling : part.spellings) {
      const size_t size = spelling.size();
      if (size <= longest || text.size() < size || ::strncasecmp(text.data(), spelling.data(), size) != 0) continue;
      if (text.size() > size && text[size] != '-') continue;
      number = part.number;
      longest = size;
    }
  }
  text.remove_prefix(longest);
  return number;
}

bool exists(uint64_t cache, uint64_t operation) {
  if (operation == PERF_COUNT_HW_CACHE_OP_READ) return true;
  if (cache == PERF_COUNT_HW_CACHE_ITLB || cache == PERF_COUNT_HW_CACHE_BPU) return false;
  return cache != PERF_COUNT_HW_CACHE_L1I || operation == PERF_COUNT_HW_CACHE_OP_PREFETCH;
}

}  // namespace

std::optional<uint64_t> cache_event(std::string_view name) {
  const auto cache = take(name, kCaches);
  if (!cache) return std::nullopt;
  std::optional<uint64_t> operation;
  std::optional<uint64_t> result;
  while (!name.empty()) {
    name.remove_prefix(1);  // the dash that take() left
    if (const auto found = operation ? std::nullopt : take(name, kOperations)) {
      operation = found;
    } else if (const auto outcome = result ? std::nullopt : take(name, kResults)) {
      result = outcome;
    } else {
      return std::nullopt;
    }
  }
  if (!exists(*cache, operation.value_or(PERF_COUNT_HW_CACHE_OP_READ))) return std::nullopt;
  return *cache | operation.value_or(PERF_COUNT_HW_CACHE_OP_READ) << 8 |
         result.value_or(PERF_COUNT_HW_CACHE_RESULT_ACCESS) << 16;
}

std::vector<std::string> cache_event_names() {
  std::vector<std::string> names;
  for (const Part& cache : kCaches) {
    for (const Part& operation : kOperations) {
      if (!exists(cache.number, operation.number)) continue;
      const std::string prefix = std::string(cache.spellings[0]) + "-";
      names.push_back(prefix + std::string(operation.spellings[1]));
      names.push_back(prefix + std::string(operation.spellings[0]) + "-misses");
    }
  }
  return names;
}

}  // namespace tephra::kernel
