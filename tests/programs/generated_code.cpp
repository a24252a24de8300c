// Generates two functions at the same address, one after the other, and spins in each for as many milliseconds as asked
// (2000). Names them first_made and second_made in a perf map ("map"), in a jitdump ("dump"), or in both ("both"). With
// "late" there is one function, which ran before it is named, in the last line of a map of 40 MiB.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append(const std::string& path, const std::string& bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  ::close(fd);
}

// A function that keeps its frame and counts its argument down.
size_t write_code(unsigned char* at) {
#if defined(__x86_64__)
  const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};
#else
  const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd1000400, 0xb5ffffe0, 0xa8c17bfd, 0xd65f03c0};
#endif
  std::memcpy(at, code, sizeof code);
  __builtin___clear_cache(reinterpret_cast<char*>(at), reinterpret_cast<char*>(at) + sizeof code);
  return sizeof code;
}

class Names {
 public:
  explicit Names(const std::string& mode) : map_(mode != "dump"), dump_(mode == "dump" || mode == "both") {
    map_path_ = "/tmp/perf-" + std::to_string(::getpid()) + ".map";
    dump_path_ = "jit-" + std::to_string(::getpid()) + ".dump";
    if (!dump_) return;
    std::string header;
    put(header, uint32_t{0x4A695444});
    put(header, uint32_t{1});
    put(header, uint32_t{40});
    put(header, uint32_t{62});
    put(header, uint32_t{0});
    put(header, static_cast<uint32_t>(::getpid()));
    put(header, now());
    put(header, uint64_t{0});
    append(dump_path_, header);
    // The marker that recorders see.
    const int fd = ::open(dump_path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) std::abort();
  }

  void tell(const std::string& name, const unsigned char* code, size_t size, uint32_t line) {
    if (map_) {
      char text[128];
      std::snprintf(text, sizeof text, "%lx %zx %s\n", reinterpret_cast<unsigned long>(code), size, name.c_str());
      append(map_path_, text);
    }
    if (dump_) append(dump_path_, lines_of(code, line) + load_of(name, code, size));
  }

 private:
  static std::string record(uint32_t id, const std::string& body) {
    std::string out;
    put(out, id);
    put(out, static_cast<uint32_t>(16 + body.size()));
    put(out, now());
    return out + body;
  }
  static std::string lines_of(const unsigned char* code, uint32_t line) {
    std::string body;
    put(body, reinterpret_cast<uint64_t>(code));
    put(body, uint64_t{1});
    put(body, reinterpret_cast<uint64_t>(code) + 0x40);
    put(body, line);
    put(body, uint32_t{0});
    body.append("made.src", 9);
    return record(2, body);
  }
  std::string load_of(const std::string& name, const unsigned char* code, size_t size) {
    std::string body;
    put(body, static_cast<uint32_t>(::getpid()));
    put(body, static_cast<uint32_t>(::syscall(SYS_gettid)));
    put(body, reinterpret_cast<uint64_t>(code));
    put(body, reinterpret_cast<uint64_t>(code));
    put(body, static_cast<uint64_t>(size));
    put(body, index_++);
    body.append(name.c_str(), name.size() + 1);
    body.append(reinterpret_cast<const char*>(code), size);
    return record(0, body);
  }

  bool map_;
  bool dump_;
  std::string map_path_;
  std::string dump_path_;
  uint64_t index_ = 0;
};

void fill_map() {
  constexpr size_t kBytes = 40 << 20;
  std::string lines;
  lines.reserve(kBytes + 256);
  for (unsigned i = 0; lines.size() < kBytes; ++i) {
    char text[128];
    std::snprintf(text, sizeof text, "%x 10 a_function_of_a_long_name_that_never_ran_and_is_told_nevertheless_%u\n",
                  0x10000000 + i * 16, i);
    lines += text;
  }
  append("/tmp/perf-" + std::to_string(::getpid()) + ".map", lines);
}

using Made = void (*)(unsigned long);

// Of different text, so that a compiler does not make one of them.
volatile uint64_t calls_of_first = 0;
volatile uint64_t calls_of_second = 0;

__attribute__((noinline)) void run_first(Made made, uint64_t until) {
  for (; now() < until; calls_of_first = calls_of_first + 1) made(1'000'000);
}
__attribute__((noinline)) void run_second(Made made, uint64_t until) {
  for (; now() < until; calls_of_second = calls_of_second + 1) made(1'000'000);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "map";
  const uint64_t length = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000) * 1'000'000;
  auto* memory = static_cast<unsigned char*>(
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return 1;
  Names names(mode);
  unsigned char* code = memory + 64;
  Made made;
  std::memcpy(&made, &code, sizeof made);
  if (mode == "late") {
    const size_t size = write_code(code);
    run_first(made, now() + length);
    fill_map();
    names.tell("first_made", code, size, 11);
    return 0;
  }
  names.tell("first_made", code, write_code(code), 11);
  run_first(made, now() + length);
  names.tell("second_made", code, write_code(code), 22);
  run_second(made, now() + length);
  return 0;
}
