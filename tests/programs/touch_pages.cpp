// Writes to as many fresh pages as asked (1000), each of which is one page fault.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

int main(int argc, char** argv) {
  const size_t pages = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  auto* memory =
      static_cast<char*>(mmap(nullptr, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  madvise(memory, pages * size, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; ++i) memory[i * size] = 1;
  return 0;
}
