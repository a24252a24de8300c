// flags: -static
// A program without libraries. Spins for as many milliseconds as asked (1000).
#include <chrono>
#include <cstdlib>

__attribute__((noinline)) unsigned work_of_static(unsigned steps) {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < steps; ++i) sum = sum + i;
  return sum;
}

int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 1000);
  unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) sum += work_of_static(10'000);
  return sum == 12345;
}
