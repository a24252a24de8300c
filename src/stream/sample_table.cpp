#include "stream/sample_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/hash.h"

namespace tephra::stream {
namespace {
constexpr size_t kChainBlock = 64 << 10;
}

uint64_t SampleKey::hash() const {
  uint64_t hash = base::mix(static_cast<uint64_t>(static_cast<uint32_t>(pid)) << 32 | static_cast<uint32_t>(tid),
                            static_cast<uint64_t>(user_space) << 32 | kernel_space);
  hash = base::mix(hash ^ ip ^ time ^ static_cast<uint64_t>(jit) << 32,
                   static_cast<uint64_t>(comm.value) << 32 | static_cast<uint32_t>(cpu));
  const uint64_t flags = mode | static_cast<uint64_t>(has_callchain) << 16 |
                         static_cast<uint64_t>(has_user_stack) << 17 | static_cast<uint64_t>(walk_end) << 18 |
                         static_cast<uint64_t>(labels) << 32;
  return base::hash_bytes(callchain.bytes(), base::mix(hash ^ event, flags));
}

bool SampleKey::operator==(const SampleKey& other) const {
  return event == other.event && pid == other.pid && tid == other.tid && cpu == other.cpu && time == other.time &&
         comm == other.comm && user_space == other.user_space && kernel_space == other.kernel_space &&
         jit == other.jit && labels == other.labels && space_before_exec == other.space_before_exec &&
         mode == other.mode && has_callchain == other.has_callchain && has_user_stack == other.has_user_stack &&
         walk_end == other.walk_end && exact_addresses == other.exact_addresses && ip == other.ip &&
         callchain.size() == other.callchain.size() &&
         (callchain.empty() ||
          std::memcmp(callchain.bytes().data(), other.callchain.bytes().data(), callchain.bytes().size()) == 0);
}

uint32_t SampleTable::find_or_add(const SampleKey& key, uint64_t position) {
  return find_or_add(key, key.hash(), position);
}

uint32_t SampleTable::find_or_add(const SampleKey& key, uint64_t hash, uint64_t position) {
  if (rows_.size() * 2 >= slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != 0) {
    const Row& row = rows_[slots_[slot] - 1];
    if (row.hash == hash && row.key == key) return slots_[slot] - 1;
    slot = (slot + 1) & mask;
  }
  rows_.push_back(Row{key, hash, position, 0, 0});
  rows_.back().key.callchain = keep(key.callchain);
  slots_[slot] = static_cast<uint32_t>(rows_.size());
  return static_cast<uint32_t>(rows_.size() - 1);
}

base::Words SampleTable::keep(const base::Words& chain) {
  const base::Bytes bytes = chain.bytes();
  if (chains_.empty() || chains_.back().capacity() - chains_.back().size() < bytes.size()) {
    chains_.emplace_back().reserve(std::max(kChainBlock, bytes.size()));
  }
  std::vector<std::byte>& block = chains_.back();
  const size_t at = block.size();
  block.insert(block.end(), bytes.begin(), bytes.end());
  return {block.data() + at, chain.size()};
}

namespace {

// Sums stay at the largest number once they exceed it: model::sums_fit() takes that for what it is.
void add_up(uint64_t& sum, uint64_t number) {
  if (__builtin_add_overflow(sum, number, &sum)) sum = UINT64_MAX;
}

}  // namespace

void SampleTable::add(const SampleKey& key, uint64_t position, uint64_t count, uint64_t value) {
  Row& row = rows_[find_or_add(key, position)];
  add_up(row.count, count);
  add_up(row.value, value);
}

void SampleTable::merge(const SampleTable& other) {
  for (const Row& from : other.rows_) {
    Row& row = rows_[find_or_add(from.key, from.hash, from.first_position)];
    row.first_position = std::min(row.first_position, from.first_position);
    add_up(row.count, from.count);
    add_up(row.value, from.value);
  }
}

void SampleTable::sort() {
  // One record may stand for samples of several events.
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    return std::tie(a.first_position, a.key.event) < std::tie(b.first_position, b.key.event);
  });
  slots_.clear();
  grow();
}

void SampleTable::grow() {
  size_t size = 256;
  while (size < rows_.size() * 4) size *= 2;
  slots_.assign(size, 0);
  for (size_t i = 0; i < rows_.size(); ++i) {
    size_t slot = rows_[i].hash & (size - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

}  // namespace tephra::stream
