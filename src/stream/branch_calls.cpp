#include "stream/branch_calls.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace tephra::stream {
namespace {

constexpr uint64_t kLongestInstruction = 15;
constexpr size_t kFewestAlike = 8;      // branches that two samples must share to be stitched
constexpr size_t kMostStitched = 1024;  // branches of a stitched stack
constexpr size_t kMostThreads = 1 << 14;

// Calls from the kernel are recorded where it starts a program; they are no part of the user's stack.
bool is_user(uint64_t address) { return address >> 48 == 0; }

// A record may end with empty entries.
size_t used(const BranchStack& branches) {
  size_t count = 0;
  while (count < branches.size() && branches.from(count) != 0) ++count;
  return count;
}

// Where in a chain of return addresses the call made at `call` returns to, if only one place is possible. `expected` is
// where it is when both sources found the same frames.
std::optional<size_t> place_of_call(const std::vector<uint64_t>& chain, uint64_t call, size_t expected) {
  const auto returns_there = [&](size_t i) { return chain[i] > call && chain[i] - call <= kLongestInstruction; };
  if (expected < chain.size() && returns_there(expected)) return expected;
  std::optional<size_t> found;
  for (size_t i = 1; i < chain.size(); ++i) {
    if (!returns_there(i)) continue;
    if (found) return {};
    found = i;
  }
  return found;
}

}  // namespace

void BranchCalls::stitch(const Sample& sample, std::vector<uint64_t>& addresses) {
  const BranchStack& branches = sample.branches;
  const size_t count = branches.size();
  if (last_.size() >= kMostThreads && !last_.contains(sample.origin.tid)) last_.clear();
  Last& last = last_[sample.origin.tid];
  Last now{{}, branches.hardware_index, count};
  for (size_t i = 0; i < branches.words.size(); ++i) now.words.push_back(branches.words[i]);
  most_branches_ = std::max(most_branches_, count);
  const auto registers = static_cast<int64_t>(count);
  // Only where all registers are in use was anything overwritten.
  const bool full = count == most_branches_ && count >= kFewestAlike && std::has_single_bit(count);
  const bool placed = now.hardware_index >= 0 && now.hardware_index < registers && last.hardware_index >= 0 &&
                      last.hardware_index < registers;
  if (full && placed && last.recorded == count) {
    // Which branch of the last sample was in the register that holds the oldest one of this sample.
    const int64_t newer = last.hardware_index - (now.hardware_index + 1);
    const auto oldest = static_cast<size_t>((newer % registers + registers) % registers);
    size_t alike = 0;
    while (alike <= oldest && alike < count &&
           std::equal(now.words.end() - static_cast<ptrdiff_t>(3 * (alike + 1)),
                      now.words.end() - static_cast<ptrdiff_t>(3 * alike),
                      last.words.begin() + static_cast<ptrdiff_t>(3 * (oldest - alike)))) {
      ++alike;
    }
    if (alike >= std::min(kFewestAlike, oldest + 1)) {
      for (size_t i = oldest + 1; i < last.words.size() / 3 && now.words.size() / 3 < kMostStitched; ++i) {
        if (is_user(last.words[3 * i])) addresses.push_back(last.words[3 * i]);
        now.words.insert(now.words.end(), last.words.begin() + static_cast<ptrdiff_t>(3 * i),
                         last.words.begin() + static_cast<ptrdiff_t>(3 * (i + 1)));
      }
    }
  }
  last = std::move(now);
}

uint32_t BranchCalls::append(const Sample& sample, const std::vector<uint64_t>& by_frame_pointers,
                             std::vector<uint64_t>& addresses) {
  const BranchStack& branches = sample.branches;
  const size_t count = used(branches);
  if (count == 0) {
    addresses.insert(addresses.end(), by_frame_pointers.begin(), by_frame_pointers.end());
    return 0;
  }
  // Where the leaf is exactly; the branch says only where its function begins.
  const bool has_leaf = !by_frame_pointers.empty() || is_user(branches.to(0));
  if (has_leaf) addresses.push_back(by_frame_pointers.empty() ? branches.to(0) : by_frame_pointers[0]);
  const size_t first = addresses.size();
  for (size_t i = 0; i < count; ++i) {
    if (is_user(branches.from(i))) addresses.push_back(branches.from(i));
  }
  if (stitch_ && count == branches.size()) stitch(sample, addresses);
  const size_t calls = addresses.size() - first;
  if (calls == 0) return 0;
  if (const auto at = place_of_call(by_frame_pointers, addresses.back(), calls)) {
    addresses.insert(addresses.end(), by_frame_pointers.begin() + static_cast<ptrdiff_t>(*at + 1),
                     by_frame_pointers.end());
  }
  return static_cast<uint32_t>(calls);
}

}  // namespace tephra::stream
