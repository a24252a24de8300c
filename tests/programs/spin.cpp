// Spins in two functions, 70 and 30 of every 100 steps, for as many milliseconds as asked (1000).
#include <chrono>
#include <cstdlib>

__attribute__((noinline)) unsigned work(unsigned steps) {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < steps; ++i) sum = sum + i;
  return sum;
}
__attribute__((noinline)) unsigned heavy() { return work(70'000) + 1; }
__attribute__((noinline)) unsigned light() { return work(30'000) + 1; }

int main(int argc, char** argv) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(argc > 1 ? std::atoi(argv[1]) : 1000);
  unsigned sum = 0;
  while (std::chrono::steady_clock::now() < end) sum += heavy() + light();
  return sum == 12345;
}
