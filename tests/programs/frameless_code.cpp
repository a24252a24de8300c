// Generates functions that keep no frame pointer, but use its register for something else, and names them in a jitdump.
// "told": with unwinding information, as V8 and CPython write it. "linked": as LLVM writes it, of two functions
// together. "bare": without. made_outer calls made_inner, first by run_first and then by run_second, for as many
// milliseconds of CPU time as asked (1000) each; in between another made_inner, with a larger frame, takes the place of
// the first.
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

#if !defined(__x86_64__)
int main() {
  std::puts("only x86-64 code is known here");
  return 77;
}
#else

namespace {

uint64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

uint64_t now() { return read_clock(CLOCK_MONOTONIC); }
uint64_t time_run() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Machine code, and call-frame instructions that say after each of its instructions where the caller's frame is.
class Function {
 public:
  static constexpr unsigned char kRbp = 6;
  static constexpr unsigned char kRbx = 3;

  Function& code(std::initializer_list<int> bytes) {
    for (const int byte : bytes) code_.push_back(static_cast<char>(byte));
    return *this;
  }
  Function& push_rbp() { return code({0x55}).grow(8).saved(kRbp); }
  Function& push_rbx() { return code({0x53}).grow(8).saved(kRbx); }
  Function& pop_rbx() { return code({0x5b}).grow(-8).restored(kRbx); }
  Function& pop_rbp() { return code({0x5d}).grow(-8).restored(kRbp); }
  Function& make_room(int size) { return code({0x48, 0x83, 0xec, size}).grow(size); }
  Function& give_back(int size) { return code({0x48, 0x83, 0xc4, size}).grow(-size); }

  const std::string& code() const { return code_; }
  const std::string& frames() const { return frames_; }

 private:
  Function& grow(int bytes) {
    frame_ += bytes;
    frames_.push_back(static_cast<char>(0x40 | (code_.size() - described_)));  // DW_CFA_advance_loc
    described_ = code_.size();
    frames_ += {0x0e, static_cast<char>(frame_)};  // DW_CFA_def_cfa_offset
    return *this;
  }
  Function& saved(int number) {
    frames_ += {static_cast<char>(0x80 | number), static_cast<char>(frame_ / 8)};  // DW_CFA_offset
    return *this;
  }
  Function& restored(int number) {
    frames_.push_back(static_cast<char>(0xc0 | number));  // DW_CFA_restore
    return *this;
  }

  std::string code_;
  std::string frames_;
  size_t described_ = 0;
  int frame_ = 8;
};

// void made_outer(long times, void (*inner)(long)): calls inner(100000) so many times.
Function outer() {
  Function made;
  made.push_rbp().push_rbx().make_room(0x28);
  made.code({0x48, 0x89, 0xfd});                          // mov %rdi,%rbp
  made.code({0x48, 0x89, 0xf3});                          // mov %rsi,%rbx
  made.code({0x48, 0xc7, 0xc7, 0xa0, 0x86, 0x01, 0x00});  // again: mov $100000,%rdi
  made.code({0xff, 0xd3});                                // call *%rbx
  made.code({0x48, 0xff, 0xcd, 0x75, 0xf2});              // dec %rbp; jne again
  return made.give_back(0x28).pop_rbx().pop_rbp().code({0xc3});
}

// void made_inner(long n): counts n down in %rbp.
Function inner(int room) {
  Function made;
  made.push_rbp().make_room(room);
  made.code({0x48, 0x89, 0xfd});              // mov %rdi,%rbp
  made.code({0x48, 0xff, 0xcd, 0x75, 0xfb});  // again: dec %rbp; jne again
  return made.give_back(room).pop_rbp().code({0xc3});
}

// .eh_frame at an address, of functions at theirs.
class EhFrame {
 public:
  explicit EhFrame(uint64_t address) : address_(address) {
    std::string common;
    put(common, uint32_t{0});
    common += {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};    // addresses are relative, in 4 bytes
    common += {0x0c, 7, 8, static_cast<char>(0x90), 1};  // the frame is at %rsp + 8, the return address below it
    add(common);
  }
  void describe(uint64_t begin, const Function& function) {
    std::string entry;
    put(entry, static_cast<uint32_t>(content_.size() + 4));
    put(entry, static_cast<int32_t>(begin - (address_ + content_.size() + 8)));
    put(entry, static_cast<uint32_t>(function.code().size()));
    entry.push_back(0);
    add(entry + function.frames());
  }
  std::string end() const { return content_ + std::string(4, '\0'); }

 private:
  void add(std::string entry) {
    while (entry.size() % 8 != 4) entry.push_back(0);
    put(content_, static_cast<uint32_t>(entry.size()));
    content_ += entry;
  }
  uint64_t address_;
  std::string content_;
};

class Dump {
 public:
  Dump() : path_("jit-" + std::to_string(::getpid()) + ".dump") {
    std::string header;
    for (const uint32_t word : {0x4A695444u, 1u, 40u, 62u, 0u, static_cast<uint32_t>(::getpid())}) put(header, word);
    put(header, now());
    put(header, uint64_t{0});
    append(header);
    // The marker that recorders see.
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) std::abort();
  }

  void load(const std::string& name, uint64_t address, const Function& function) {
    std::string body;
    put(body, static_cast<uint32_t>(::getpid()));
    put(body, static_cast<uint32_t>(::syscall(SYS_gettid)));
    for (const uint64_t word : {address, address, uint64_t{function.code().size()}, index_++}) put(body, word);
    body.append(name.c_str(), name.size() + 1);
    record(0, body + function.code());
  }

  // With the header behind it, which looks for it before itself.
  void unwinding_behind(uint64_t address, const Function& function) {
    EhFrame frames((address + function.code().size() + 7) / 8 * 8);
    frames.describe(address, function);
    const std::string content = frames.end();
    const auto size = static_cast<int32_t>(content.size());
    const auto distance = static_cast<int32_t>((function.code().size() + 7) / 8 * 8);
    std::string header{1, 0x1b, 0x03, 0x3b};
    for (const int32_t word : {-(size + 4), 1, -(distance + size), -size}) put(header, word);
    unwinding(content + header, header.size(), content.size() + header.size());
  }
  // With a header before it that has its address.
  void unwinding_at(uint64_t address, const EhFrame& frames) {
    std::string header{1, 0x0c, static_cast<char>(0xff), static_cast<char>(0xff)};
    put(header, address);
    unwinding(header + frames.end(), header.size(), 0);
  }

 private:
  void unwinding(const std::string& content, size_t header, size_t mapped) {
    std::string body;
    for (const uint64_t word : {content.size(), header, mapped}) put(body, word);
    record(4, body + content);
  }
  void record(uint32_t id, const std::string& body) {
    std::string out;
    put(out, id);
    put(out, static_cast<uint32_t>(16 + body.size()));
    put(out, now());
    append(out + body);
  }
  void append(const std::string& bytes) {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    ::close(fd);
  }

  std::string path_;
  uint64_t index_ = 0;
};

class Generator {
 public:
  explicit Generator(const std::string& mode) : mode_(mode) {
    memory_ = static_cast<unsigned char*>(
        ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) std::abort();
  }

  // The places of both stay the same.
  void make(int room) {
    const Function outer_made = outer();
    const Function inner_made = inner(room);
    std::memcpy(memory_ + kOuter, outer_made.code().data(), outer_made.code().size());
    std::memcpy(memory_ + kInner, inner_made.code().data(), inner_made.code().size());
    if (mode_ == "linked") {
      const uint64_t at = address(kInner) + 0x200;
      EhFrame frames(at);
      frames.describe(address(kOuter), outer_made);
      frames.describe(address(kInner), inner_made);
      dump_.unwinding_at(at, frames);
    }
    if (mode_ == "told") dump_.unwinding_behind(address(kOuter), outer_made);
    dump_.load("made_outer", address(kOuter), outer_made);
    if (mode_ == "told") dump_.unwinding_behind(address(kInner), inner_made);
    dump_.load("made_inner", address(kInner), inner_made);
  }

  void call(long times) const {
    void (*made)(long, void*);
    void* code = memory_ + kOuter;
    std::memcpy(&made, &code, sizeof made);
    made(times, memory_ + kInner);
  }

 private:
  static constexpr size_t kOuter = 64;
  static constexpr size_t kInner = 512;
  uint64_t address(size_t offset) const { return reinterpret_cast<uint64_t>(memory_) + offset; }

  std::string mode_;
  unsigned char* memory_;
  Dump dump_;
};

// Of different text, so that a compiler does not make one of them.
volatile uint64_t calls_of_first = 0;
volatile uint64_t calls_of_second = 0;

__attribute__((noinline)) void run_first(const Generator& generator, uint64_t until) {
  while (time_run() < until) {
    generator.call(20);
    calls_of_first = calls_of_first + 1;
  }
}
__attribute__((noinline)) void run_second(const Generator& generator, uint64_t until) {
  while (time_run() < until) {
    generator.call(20);
    calls_of_second = calls_of_second + 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t length = (argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1000) * 1'000'000;
  Generator generator(argc > 1 ? argv[1] : "told");
  generator.make(0x18);
  run_first(generator, time_run() + length);
  generator.make(0x58);
  run_second(generator, time_run() + length);
  return 0;
}
#endif
