// flags: -fomit-frame-pointer
// Waits for as many milliseconds as asked (1000), compiled as most of a distribution is: without frame pointers.
#include <unistd.h>

#include <cstdlib>

__attribute__((noinline)) int wait_some(int milliseconds) {
  char text[64];
  volatile char* out = text;
  for (int i = 0; i < 64; ++i) out[i] = static_cast<char>(milliseconds);
  usleep(static_cast<unsigned>(milliseconds) * 1000);
  return out[milliseconds % 64];
}
__attribute__((noinline)) int wait_twice(int milliseconds) {
  return wait_some(milliseconds / 2) + wait_some(milliseconds / 2);
}

int main(int argc, char** argv) { return wait_twice(argc > 1 ? std::atoi(argv[1]) : 1000) == 12345; }
