#include <cstdint>
#include <string_view>

#include "base/json_reader.h"

namespace {

// Every value can be asked for everything.
size_t touch(const tephra::base::JsonValue& value) {
  size_t sum = value.text().size() + static_cast<size_t>(value.truth()) + static_cast<size_t>(value["Name"].is_null());
  for (const auto& element : value.elements()) sum += touch(element);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = tephra::base::parse_json({reinterpret_cast<const char*>(data), size});
  if (json.ok()) touch(*json);
  return 0;
}
