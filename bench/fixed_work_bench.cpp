// The same work each time, about a second of it; prints how long it took.
#include <chrono>
#include <cstdio>

int main() {
  const auto begin = std::chrono::steady_clock::now();
  volatile unsigned long sum = 0;
  for (unsigned long i = 0; i < 1'500'000'000; ++i) sum = sum + i;
  std::printf("%.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}
