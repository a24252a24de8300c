#include "kernel/ring_buffer.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "kernel/perf_event.h"

namespace tephra::kernel {
namespace {

// A ring as the kernel writes it backwards, and the numbers of the records that it must still hold.
class BackwardRing {
 public:
  explicit BackwardRing(size_t bytes) : memory_(bytes) {}

  // A record whose words all are `number` but for the header.
  void write(uint32_t number, size_t size) {
    head_ -= size;
    std::vector<uint64_t> words(size / 8, number);
    const perf_event_header header{PERF_RECORD_SAMPLE, 0, static_cast<uint16_t>(size)};
    std::memcpy(words.data(), &header, sizeof header);
    for (size_t i = 0; i < size; ++i)
      memory_[(head_ + i) & (memory_.size() - 1)] = reinterpret_cast<std::byte*>(words.data())[i];
    kept_.emplace_front(number, size);
    for (bytes_ += size; bytes_ > memory_.size(); kept_.pop_back()) bytes_ -= kept_.back().second;
  }

  std::vector<uint32_t> expected() const {
    std::vector<uint32_t> numbers;
    for (const auto& [number, size] : kept_) numbers.push_back(number);
    return numbers;
  }
  Pending whole() const { return whole_records(memory_, head_); }

 private:
  std::vector<std::byte> memory_;
  uint64_t head_ = 0;
  size_t bytes_ = 0;
  std::deque<std::pair<uint32_t, size_t>> kept_;
};

// The numbers of the records, newest first; a record with foreign words is 0.
std::vector<uint32_t> numbers_of(const Pending& pending) {
  std::vector<uint32_t> numbers;
  for (size_t offset = 0; offset < pending.size();) {
    const size_t size = pending.word(offset) >> 48;
    const uint64_t number = pending.word(offset + 8);
    bool whole = true;
    for (size_t at = offset + 8; at < offset + size; at += 8) whole = whole && pending.word(at) == number;
    numbers.push_back(whole ? static_cast<uint32_t>(number) : 0);
    offset += size;
  }
  return numbers;
}

TEST(WholeRecords, AnEmptyRingHasNone) {
  const std::vector<std::byte> memory(4096);
  EXPECT_EQ(whole_records(memory, 0).size(), 0u);
}

TEST(WholeRecords, AreThoseNotOverwrittenWhateverTheSizes) {
  std::mt19937 random(7);
  for (const size_t largest : {2, 5, 17, 100, 512}) {
    BackwardRing ring(4096);
    for (uint32_t number = 1; number < 2000; ++number) {
      ring.write(number, 8 * (2 + random() % (largest - 1)));
      ASSERT_EQ(numbers_of(ring.whole()), ring.expected()) << largest << " " << number;
    }
  }
}

TEST(WholeRecords, ARecordMayFillTheRing) {
  BackwardRing ring(4096);
  ring.write(1, 4096);
  EXPECT_EQ(numbers_of(ring.whole()), std::vector<uint32_t>{1});
  ring.write(2, 16);
  EXPECT_EQ(numbers_of(ring.whole()), std::vector<uint32_t>{2});
}

TEST(WholeRecords, StopAtBytesThatCannotBeARecord) {
  std::mt19937 random(11);
  std::vector<std::byte> memory(4096);
  for (int round = 0; round < 2000; ++round) {
    for (std::byte& byte : memory) byte = random() % 4 == 0 ? static_cast<std::byte>(random()) : std::byte{0};
    EXPECT_LE(whole_records(memory, random() * 8ULL).size(), memory.size());
  }
}

uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}
uint64_t now() { return clock_ns(CLOCK_MONOTONIC); }

// Uses that much CPU time, however busy the machine is.
void burn(uint64_t milliseconds) {
  const uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + milliseconds * 1'000'000;
  while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");  // in user code, which is what is sampled
  }
}

perf_event_attr backward_clock() {
  perf_event_attr attr = empty_attr();
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = 100'000;
  attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.exclude_kernel = 1;
  attr.exclude_hv = 1;
  attr.write_backward = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  return attr;
}

// Times of the samples, newest first.
std::vector<uint64_t> sample_times(const Pending& pending) {
  std::vector<uint64_t> times;
  for (size_t offset = 0; offset < pending.size(); offset += pending.word(offset) >> 48) {
    if (static_cast<uint32_t>(pending.word(offset)) == PERF_RECORD_SAMPLE) times.push_back(pending.word(offset + 16));
  }
  return times;
}

TEST(OverwrittenRing, HoldsTheNewestSamplesOfARealEvent) {
  const auto event = open_event(backward_clock(), EventScope::task(0, -1));
  if (!event) GTEST_SKIP() << "perf events are not allowed here: " << std::strerror(errno);
  RingBuffer ring;
  ASSERT_TRUE(ring.map_overwritten(event.get(), 4096)) << std::strerror(errno);
  for (int round = 0; round < 3; ++round) {
    const uint64_t round_begin = now();
    burn(150);
    ASSERT_TRUE(pause_output(event.get(), true));
    wait_for_writers();
    const auto times = sample_times(ring.snapshot());
    burn(20);
    EXPECT_EQ(sample_times(ring.snapshot()), times) << "the ring does not stand still";
    ASSERT_TRUE(pause_output(event.get(), false));
    // 4096 bytes hold 170 samples of 24 bytes, which 150 ms of a sample each 0.1 ms overwrite several times.
    ASSERT_GT(times.size(), 100u);
    EXPECT_LE(times.size(), 4096u / 24);
    EXPECT_TRUE(std::is_sorted(times.rbegin(), times.rend()));
    EXPECT_LE(times.front(), now());
    EXPECT_GT(times.back(), round_begin) << "older samples than those of this round are left";
  }
}

}  // namespace
}  // namespace tephra::kernel
