#include <cstdlib>

#include "kernel/container_mark.h"
#include "kernel/process_activity.h"
#include "kernel/status_text.h"

// Texts of /proc that hold names which others chose.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto container = tephra::kernel::container_mark(text);
  if (container.kind.empty() && !container.id.empty()) std::abort();
  tephra::kernel::parse_task_stat(text);
  tephra::kernel::number_of(text, "NSpid");
  tephra::kernel::last_number_of(text, "NSpid");
  return 0;
}
