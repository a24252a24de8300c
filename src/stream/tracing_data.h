#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tephra::stream {

// perf's tracing data (Recording::tracing_data): the descriptions of tracepoints, unparsed. Views point into it.
struct TracingData {
  struct Description {
    std::string_view system;
    base::Bytes text;
  };
  uint8_t long_size = 0;
  uint32_t page_size = 0;
  std::vector<Description> events;
  base::Bytes printk;
};

// Data that ends early keeps what came before the end. An error: it is something else, or of a machine with the other
// byte order.
base::Result<TracingData> read_tracing_data(base::Bytes bytes);

}  // namespace tephra::stream
