// Spends its time in ten functions below three callers, in known shares, for as many milliseconds of CPU time as asked
// (1000).
//   known_mix [MILLISECONDS [PERCENT]]
// PERCENT makes `look_up` slower, by that much of the time of the whole: 3 is a program that takes 3 % longer.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

// Thousandths of the whole, each.
constexpr unsigned kParse = 220, kScan = 130, kLookUp = 150, kHash = 90, kCompare = 60, kSort = 120, kMerge = 80,
                   kEncode = 70, kChecksum = 50, kFlush = 30;

}  // namespace

// A step waits for the one before: it takes as long in every function, wherever its code and its stack are.
// The first number is kept in memory, or there would be no frame and callers could not be found.
#define KNOWN_FUNCTION(name)                                           \
  extern "C" __attribute__((noinline)) unsigned name(unsigned steps) { \
    volatile unsigned begin = steps;                                   \
    unsigned sum = begin;                                              \
    for (unsigned i = 0; i < steps; ++i) {                             \
      sum = sum * 2654435761u + 1;                                     \
      asm volatile("" : "+r"(sum));                                    \
    }                                                                  \
    return sum;                                                        \
  }

KNOWN_FUNCTION(parse_number)
KNOWN_FUNCTION(scan_text)
KNOWN_FUNCTION(look_up)
KNOWN_FUNCTION(hash_key)
KNOWN_FUNCTION(compare_keys)
KNOWN_FUNCTION(sort_rows)
KNOWN_FUNCTION(merge_rows)
KNOWN_FUNCTION(encode_row)
KNOWN_FUNCTION(checksum)
KNOWN_FUNCTION(flush_rows)

extern "C" __attribute__((noinline)) unsigned read_input(unsigned scale) {
  return scan_text(kScan * scale) + parse_number(kParse * scale) + checksum(kChecksum * scale / 2);
}
extern "C" __attribute__((noinline)) unsigned join_rows(unsigned scale, unsigned slower) {
  return hash_key(kHash * scale) + look_up((kLookUp + slower) * scale) + compare_keys(kCompare * scale);
}
extern "C" __attribute__((noinline)) unsigned write_output(unsigned scale) {
  return sort_rows(kSort * scale) + merge_rows(kMerge * scale) + encode_row(kEncode * scale) +
         checksum(kChecksum * scale / 2) + flush_rows(kFlush * scale);
}

int main(int argc, char** argv) {
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(argc > 1 ? std::atoi(argv[1]) : 1000) * 1000;
  const unsigned slower = argc > 2 ? static_cast<unsigned>(std::atof(argv[2]) * 10) : 0;
  // Rounds of other lengths, so that none keeps step with the sampling.
  static_assert(CLOCKS_PER_SEC == 1'000'000);
  auto state = static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) | 1;
  unsigned sum = 0;
  while (std::clock() < end) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const unsigned scale = 20 + static_cast<unsigned>(state >> 33) % 80;
    sum += read_input(scale) + join_rows(scale, slower) + write_output(scale);
  }
  return sum == 12345;
}
