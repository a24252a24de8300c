// The seam: linked before the library, this file takes the place of kernel/perf_calls.cpp.
#include "fake_machine.h"
#include "kernel/perf_calls.h"

namespace tephra::kernel::calls {

int open_event(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd, unsigned long flags) {
  return fake::machine().open(attr, pid, cpu, group_fd, flags);
}
int control_event(int fd, unsigned long request, unsigned long argument) {
  return fake::machine().control(fd, request, argument);
}
ssize_t read_event(int fd, void* to, size_t bytes) { return fake::machine().read(fd, to, bytes); }
void* map_ring(int fd, size_t bytes, bool writable) { return fake::machine().map(fd, bytes, writable); }
void unmap_ring(void* memory, size_t bytes) { fake::machine().unmap(memory, bytes); }
std::string event_source_folder() { return fake::machine().event_sources(); }

}  // namespace tephra::kernel::calls
