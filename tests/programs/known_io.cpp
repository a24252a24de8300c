// Input and output that it times and counts itself, in named functions: `known_io WHAT FILE SIZE COUNT`. It waits
// KNOWN_IO_WAIT_MS first, so that a recorder knows its code. Prints a line a function: name, calls, bytes, nanoseconds
// in calls, the longest of them, its thread, and what /proc/self/io says it read and wrote meanwhile.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

namespace {

int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
}

// What the kernel counts for us.
long of_proc_io(const char* name) {
  long value = 0;
  if (FILE* file = std::fopen("/proc/self/io", "r")) {
    char line[128];
    while (std::fgets(line, sizeof line, file) != nullptr) {
      if (std::strncmp(line, name, std::strlen(name)) == 0) value = std::atol(line + std::strlen(name) + 2);
    }
    std::fclose(file);
  }
  return value;
}

struct Done {
  long calls = 0;
  long bytes = 0;
  int64_t ns = 0;
  int64_t longest = 0;
  long tid = 0;

  void add(int64_t from, long result) {
    const int64_t time = now_ns() - from;
    ++calls;
    bytes += std::max(result, 0L);
    ns += time;
    longest = std::max(longest, time);
    tid = syscall(SYS_gettid);
  }
  void print(const char* name) const {
    std::printf("%s %ld %ld %lld %lld %ld\n", name, calls, bytes, static_cast<long long>(ns),
                static_cast<long long>(longest), tid);
  }
};

void* buffer_of(size_t size) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, size) != 0) std::exit(1);
  std::memset(memory, 'x', size);
  return memory;
}

int open_or_exit(const char* path, int flags) {
  const int fd = open(path, flags, 0600);
  if (fd < 0) {
    std::perror(path);
    std::exit(1);
  }
  return fd;
}

}  // namespace

extern "C" [[gnu::noinline]] void read_direct(const char* path, size_t size, long count, Done& done) {
  const int fd = open_or_exit(path, O_RDONLY | O_DIRECT);
  void* const buffer = buffer_of(size);
  for (long i = 0; i < count; ++i) {
    const int64_t from = now_ns();
    done.add(from, pread(fd, buffer, size, static_cast<off_t>(i * size)));
  }
  close(fd);
  std::free(buffer);
}

// The same in a function of another name.
extern "C" [[gnu::noinline]] void read_beside(const char* path, size_t size, long count, Done& done) {
  read_direct(path, size, count, done);
  asm volatile("" ::: "memory");
}

extern "C" [[gnu::noinline]] void read_cached(const char* path, size_t size, long count, Done& done) {
  const int fd = open_or_exit(path, O_RDONLY);
  void* const buffer = buffer_of(size);
  iovec piece{buffer, size};
  for (long i = 0; i < count; ++i) {
    const int64_t from = now_ns();
    done.add(from, preadv(fd, &piece, 1, static_cast<off_t>(i * size)));
  }
  close(fd);
  std::free(buffer);
}

extern "C" [[gnu::noinline]] void write_direct(const char* path, size_t size, long count, Done& done) {
  const int fd = open_or_exit(path, O_WRONLY | O_DIRECT);
  void* const buffer = buffer_of(size);
  for (long i = 0; i < count; ++i) {
    const int64_t from = now_ns();
    done.add(from, pwrite(fd, buffer, size, static_cast<off_t>(i * size)));
  }
  close(fd);
  std::free(buffer);
}

extern "C" [[gnu::noinline]] void write_buffered(int fd, void* buffer, size_t size, long count, Done& done) {
  for (long i = 0; i < count; ++i) {
    const int64_t from = now_ns();
    done.add(from, write(fd, buffer, size));
  }
  asm volatile("" ::: "memory");
}

extern "C" [[gnu::noinline]] void sync_file(int fd, Done& done) {
  const int64_t from = now_ns();
  done.add(from, fsync(fd));
  asm volatile("" ::: "memory");
}

// What is no input or output of data: a pipe, and a file that the kernel makes up.
extern "C" [[gnu::noinline]] void read_elsewhere(size_t size, long count, Done& done) {
  int ends[2];
  if (pipe(ends) != 0) std::exit(1);
  void* const buffer = buffer_of(size);
  const int made_up = open_or_exit("/proc/self/stat", O_RDONLY);
  for (long i = 0; i < count; ++i) {
    const int64_t from = now_ns();
    if (write(ends[1], "x", 1) != 1) std::exit(1);
    done.add(from, read(ends[0], buffer, size));
    done.add(now_ns(), pread(made_up, buffer, size, 0));
  }
}

extern "C" [[gnu::noinline]] void fail_to_read(const char* path, long count, Done& done) {
  const int fd = open_or_exit(path, O_RDONLY);
  for (long i = 0; i < count; ++i) done.add(now_ns(), pread(fd, nullptr, 4096, 0));
  close(fd);
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string what = argv[1];
  const char* const path = argv[2];
  const size_t size = std::strtoul(argv[3], nullptr, 10);
  const long count = std::strtol(argv[4], nullptr, 10);
  if (const char* wait = std::getenv("KNOWN_IO_WAIT_MS")) usleep(static_cast<useconds_t>(std::atoi(wait)) * 1000);
  const long read_before = of_proc_io("read_bytes");
  const long written_before = of_proc_io("write_bytes");
  Done done;
  Done other;
  if (what == "direct") {
    read_direct(path, size, count, done);
    done.print("read_direct");
  } else if (what == "threads") {
    std::thread thread([&] { read_beside(path, size, 2 * count, other); });
    read_direct(path, size, count, done);
    thread.join();
    done.print("read_direct");
    other.print("read_beside");
  } else if (what == "cached") {
    read_cached(path, size, count, done);
    done.print("read_cached");
  } else if (what == "write_direct") {
    write_direct(path, size, count, done);
    done.print("write_direct");
  } else if (what == "sync") {
    const int fd = open_or_exit(path, O_WRONLY | O_CREAT);
    write_buffered(fd, buffer_of(size), size, count, done);
    sync_file(fd, other);
    done.print("write_buffered");
    other.print("sync_file");
  } else if (what == "elsewhere") {
    read_elsewhere(size, count, done);
    done.print("read_elsewhere");
  } else if (what == "fail") {
    fail_to_read(path, count, done);
    done.print("fail_to_read");
  } else {
    return 2;
  }
  std::printf("read_bytes %ld\nwrite_bytes %ld\n", of_proc_io("read_bytes") - read_before,
              of_proc_io("write_bytes") - written_before);
  return 0;
}
