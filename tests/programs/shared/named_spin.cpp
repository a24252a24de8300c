// Spins for as many milliseconds as asked (1000) in a function that is named by TEPHRA_WORK: versions of one program, the
// same code under different names.
#include <chrono>
#include <cstdlib>

__attribute__((noinline)) unsigned TEPHRA_WORK(unsigned steps) {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < steps; ++i) sum = sum + i;
  return sum;
}

int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 1000);
  unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) sum += TEPHRA_WORK(10'000);
  return sum == 12345;
}
