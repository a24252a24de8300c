#include <cstdint>
#include <string_view>

#include "base/json_reader.h"
#include "base/json_tape.h"
#include "base/json_writer.h"

namespace {

using tephra::base::Json;
using tephra::base::JsonTape;
using tephra::base::JsonWriter;

// Every value can be asked for everything.
size_t touch(const tephra::base::JsonValue& value) {
  size_t sum = value.text().size() + static_cast<size_t>(value.truth()) + static_cast<size_t>(value["Name"].is_null());
  for (const auto& element : value.elements()) sum += touch(element);
  return sum;
}

// Writes a value of the tape again, and asks it for what it is not on the way.
void write(JsonWriter& json, const Json& value) {
  std::string storage;
  if (value["Name"].number() > 1e300 && value.size() > 1u << 30) __builtin_trap();
  if (value.is_array()) {
    json.begin_array();
    for (const Json element : value.elements()) write(json, element);
    json.end_array();
  } else if (value.is_object()) {
    json.begin_object();
    for (const auto& [key, member] : value.members()) {
      json.key(key.text(storage));
      write(json, member);
    }
    json.end_object();
  } else if (value.is_text()) {
    json.value(value.text(storage));
  } else if (value.kind() == Json::Kind::kInteger) {
    json.value(value.integer());
  } else if (value.is_number()) {
    json.value(value.number());
  } else if (value.is_null()) {
    json.null();
  } else {
    json.value(value.truth());
  }
}

std::string written(const JsonTape& tape) {
  std::string text;
  JsonWriter json(text);
  write(json, tape.root());
  return text;
}

}  // namespace

// What is read, is read again from what is written of it, and both are written alike; text that is cut too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = tephra::base::parse_json(text);
  if (json.ok()) touch(*json);
  for (const auto ending : {JsonTape::Ending::kWhole, JsonTape::Ending::kCut}) {
    const auto tape = JsonTape::parse(text, {.depth = 500, .ending = ending});
    if (!tape.ok()) continue;
    const std::string once = written(*tape);
    const auto again = JsonTape::parse(once, {.depth = 500});
    if (!again.ok() || written(*again) != once) __builtin_trap();
  }
  return 0;
}
