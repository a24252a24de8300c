#pragma once

#include <memory>
#include <string>
#include <string_view>

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

  // How many events are described.
  size_t size() const { return size_; }

  // Appends the event's own text, "prev_comm=… prev_pid=…". `id` is the tracepoint's (EventLayout::config). False, with
  // nothing appended, when the event is unknown or `raw` is too short for its fields.
  bool append(uint64_t id, int32_t cpu, base::Bytes raw, std::string& out) const;

 private:
  struct Free {
    void operator()(tep_handle* handle) const;
  };
  explicit TracepointFormats(tep_handle* handle) : handle_(handle) {}
  void add(base::Bytes description, const std::string& system);

  std::unique_ptr<tep_handle, Free> handle_;
  size_t size_ = 0;
};

}  // namespace tephra::stream
