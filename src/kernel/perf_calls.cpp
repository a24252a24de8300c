#include "kernel/perf_calls.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tephra::kernel::calls {

int open_event(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  return static_cast<int>(::syscall(SYS_perf_event_open, &attr, pid, cpu, group_fd, flags));
}

int control_event(int fd, unsigned long request, unsigned long argument) { return ::ioctl(fd, request, argument); }

ssize_t read_event(int fd, void* to, size_t bytes) { return ::read(fd, to, bytes); }

void* map_ring(int fd, size_t bytes, bool writable) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, page + bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void unmap_ring(void* memory, size_t bytes) {
  ::munmap(memory, static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + bytes);
}

std::string event_source_folder() { return "/sys/bus/event_source/devices"; }

}  // namespace tephra::kernel::calls
