#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

// The calls that events need, one function each and nothing else. They are a seam: perf_calls.cpp makes them for real;
// tests link another file in its place that plays a machine with hardware counters, losses and errors.
namespace tephra::kernel::calls {

// perf_event_open: a descriptor, or -1 and errno.
int open_event(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd, unsigned long flags);

// ioctl on an event. `argument` is a number or the address of one, as the request says.
int control_event(int fd, unsigned long request, unsigned long argument);

// read on an event: bytes, or -1 and errno.
ssize_t read_event(int fd, void* to, size_t bytes);

// mmap of an event's control page and `bytes` of ring behind it; `writable`: the kernel waits for the reader, else it
// overwrites the oldest. Null and errno on failure.
void* map_ring(int fd, size_t bytes, bool writable);
void unmap_ring(void* memory, size_t bytes);

// Where the kernel describes its sources of events (PMUs), a folder each.
std::string event_source_folder();

}  // namespace tephra::kernel::calls
