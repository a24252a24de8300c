// flags: -O2
// Spins in a function that is inlined into another that is inlined into a third, for as many milliseconds as asked.
#include <chrono>
#include <cstdlib>

namespace {

volatile unsigned sum = 0;

[[gnu::always_inline]] inline void step(unsigned i) { sum = sum + i; }
[[gnu::always_inline]] inline void steps() {
  for (unsigned i = 0; i < 100'000; ++i) step(i);
}
[[gnu::noinline]] void holder() { steps(); }

}  // namespace

int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 1000);
  while (std::chrono::steady_clock::now() < end) holder();
  return 0;
}
