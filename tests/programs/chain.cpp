// A chain of calls, some of them inlined, for as many milliseconds as asked (300):
// main > outer > middle > (inlined) helper > (inlined) inner > leaf.
#include <chrono>
#include <cstdlib>

// Makes the compiler set up a frame even where it would see no need.
#define KEEP_FRAME() asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

namespace chain {

[[gnu::noinline]] unsigned leaf(unsigned steps) {
  KEEP_FRAME();
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < steps; ++i) sum = sum + i;
  return sum;
}

[[gnu::always_inline]] inline unsigned inner(unsigned steps) {
  unsigned sum = leaf(steps);
  for (unsigned i = 0; i < 3; ++i) sum += leaf(steps / 4);
  return sum;
}

[[gnu::always_inline]] inline unsigned helper(unsigned steps) { return inner(steps) + 1; }

[[gnu::noinline]] unsigned middle(unsigned steps) {
  KEEP_FRAME();
  const unsigned sum = helper(steps) * 3;
  KEEP_FRAME();
  return sum;
}

[[gnu::noinline]] unsigned outer(unsigned steps) {
  KEEP_FRAME();
  const unsigned sum = middle(steps) + 5;
  KEEP_FRAME();
  return sum;
}

}  // namespace chain

int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 300);
  unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) sum += chain::outer(20000);
  return sum == 12345;
}
