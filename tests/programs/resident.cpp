// Makes memory resident in known ways, in named functions: resident WHAT COUNT [FILE]. It waits first for as long as
// the environment's RESIDENT_WAIT_MS says, and prints by how much its resident memory grew, in bytes, where that tells,
// and to standard error how many seconds of CPU that took.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

const size_t kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
volatile char sink;

long resident_pages() {
  char text[128] = {};
  const int fd = open("/proc/self/statm", O_RDONLY);
  if (fd < 0 || read(fd, text, sizeof text - 1) <= 0) exit(2);
  close(fd);
  return strtol(strchr(text, ' '), nullptr, 10);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

char* map(size_t bytes, int flags = MAP_PRIVATE | MAP_ANONYMOUS) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) exit(2);
  return static_cast<char*>(memory);
}

#define NAMED extern "C" __attribute__((noinline, noclone))

void write_pages(char* memory, size_t pages) {
  for (size_t i = 0; i < pages; ++i) *reinterpret_cast<volatile char*>(memory + i * kPage) = 1;
}

void read_pages(const char* memory, size_t pages) {
  for (size_t i = 0; i < pages; ++i) sink = *reinterpret_cast<const volatile char*>(memory + i * kPage);
}

}  // namespace

NAMED void touch_region(char* memory, size_t pages) { write_pages(memory, pages); }
NAMED void touch_huge(char* memory, size_t pages) { write_pages(memory, pages); }
NAMED void touch_heap(char* memory, size_t pages) { write_pages(memory, pages); }
NAMED void touch_shared(char* memory, size_t pages) { write_pages(memory, pages); }
NAMED void copy_region(char* memory, size_t pages) { write_pages(memory, pages); }
NAMED void read_fresh(const char* memory, size_t pages) { read_pages(memory, pages); }
NAMED void read_mapped(const char* memory, size_t pages) { read_pages(memory, pages); }

// Downwards, as stacks grow.
NAMED void grow_stack(char* top, size_t pages) {
  for (size_t i = 1; i <= pages; ++i) *reinterpret_cast<volatile char*>(top - i * kPage) = 1;
}

namespace {

size_t count;

void region() {
  char* memory = map(count * kPage);
  madvise(memory, count * kPage, MADV_NOHUGEPAGE);
  cpu_seconds();  // so that its own code is in memory
  const long before = resident_pages();
  const double begin = cpu_seconds();
  touch_region(memory, count);
  const double end = cpu_seconds();
  printf("%ld\n", (resident_pages() - before) * static_cast<long>(kPage));
  fprintf(stderr, "%.6f s\n", end - begin);
}

// `count` huge pages.
void huge() {
  constexpr size_t kHuge = 2 << 20;
  char* memory = map((count + 1) * kHuge);
  memory += kHuge - reinterpret_cast<size_t>(memory) % kHuge;
  madvise(memory, count * kHuge, MADV_HUGEPAGE);
  const long before = resident_pages();
  touch_huge(memory, count * kHuge / kPage);
  printf("%ld\n", (resident_pages() - before) * static_cast<long>(kPage));
}

void heap() {
  auto* memory = static_cast<char*>(sbrk(static_cast<intptr_t>((count + 1) * kPage)));
  memory += kPage - reinterpret_cast<size_t>(memory) % kPage;
  madvise(memory, count * kPage, MADV_NOHUGEPAGE);
  touch_heap(memory, count);
}

void* thread_main(void*) {
  char here = 0;
  char* top = &here;
  grow_stack(top - 4 * kPage, count);  // what the thread's start has touched is not counted
  return nullptr;
}

void stack() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (count + 64) * kPage);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, thread_main, nullptr) != 0) exit(2);
  pthread_join(thread, nullptr);
}

void fork_and_write() {
  char* memory = map(count * kPage);
  madvise(memory, count * kPage, MADV_NOHUGEPAGE);
  touch_region(memory, count);
  const pid_t child = fork();
  if (child == 0) {
    copy_region(memory, count);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

void only_read() {
  char* memory = map(count * kPage);
  madvise(memory, count * kPage, MADV_NOHUGEPAGE);
  read_fresh(memory, count);
}

void shared_memory() { touch_shared(map(count * kPage, MAP_SHARED | MAP_ANONYMOUS), count); }

// Every page by itself: without reading ahead, of a file that is not in memory.
void mapped(const char* path) {
  const int fd = open(path, O_RDONLY);
  if (fd < 0) exit(2);
  void* memory = mmap(nullptr, count * kPage, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) exit(2);
  madvise(memory, count * kPage, MADV_RANDOM);
  read_mapped(static_cast<const char*>(memory), count);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  const char* wait = getenv("RESIDENT_WAIT_MS");
  if (wait != nullptr) usleep(static_cast<useconds_t>(atoi(wait)) * 1000);
  count = strtoul(argv[2], nullptr, 10);
  const char* what = argv[1];
  if (strcmp(what, "region") == 0) region();
  if (strcmp(what, "huge") == 0) huge();
  if (strcmp(what, "heap") == 0) heap();
  if (strcmp(what, "stack") == 0) stack();
  if (strcmp(what, "fork") == 0) fork_and_write();
  if (strcmp(what, "read") == 0) only_read();
  if (strcmp(what, "shared") == 0) shared_memory();
  if (strcmp(what, "mapped") == 0 && argc > 3) mapped(argv[3]);
  return 0;
}
