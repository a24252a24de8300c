#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

struct tep_handle;

namespace tephra::stream {

// Turns the raw bytes of tracepoint samples into text, by the format descriptions the recording carries. Not
// thread-safe, not even when const.
class TracepointFormats {
 public:
  // Reads perf's tracing data (Recording::tracing_data). Empty data is no error: no event is known then. A description
  // that cannot be parsed leaves its event unknown; data that ends early keeps what came before the end.
  static base::Result<TracepointFormats> parse(base::Bytes tracing_data);

  TracepointFormats(TracepointFormats&&) noexcept;
  TracepointFormats& operator=(TracepointFormats&&) noexcept;
  ~TracepointFormats();

  // Some events print kernel addresses by name. Before their samples are printed, collect the addresses that they hold,
  // look them up, and hand the names over; without names the addresses themselves are printed.
  bool prints_kernel_names(uint64_t id) const;
  void collect_kernel_addresses(uint64_t id, base::Bytes raw, std::vector<uint64_t>& addresses) const;
  struct KernelName {
    std::string name;
    uint64_t start = 0;  // of the function
  };
  void use_kernel_names(std::unordered_map<uint64_t, KernelName> names);

  // How many events are described.
  size_t size() const { return size_; }

  // Appends the event's own text, "prev_comm=… prev_pid=…". `id` is the tracepoint's (EventLayout::config). False, with
  // nothing appended, when the event is unknown or `raw` is too short for its fields.
  bool append(uint64_t id, int32_t cpu, base::Bytes raw, std::string& out) const;

 private:
  struct Free {
    void operator()(tep_handle* handle) const;
  };
  using KernelNames = std::unordered_map<uint64_t, KernelName>;

  explicit TracepointFormats(tep_handle* handle) : handle_(handle) {}
  static char* resolve(void* names, unsigned long long* address, char** module);

  std::unique_ptr<tep_handle, Free> handle_;
  std::unique_ptr<KernelNames> names_;  // libtraceevent keeps its address
  size_t size_ = 0;
};

}  // namespace tephra::stream
