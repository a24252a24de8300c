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

std::string written_again(std::string_view text, JsonTape::Ending ending) {
  const auto tape = JsonTape::parse(text, {.depth = 500, .ending = ending});
  if (!tape.ok()) return {};
  std::string again;
  JsonWriter json(again);
  write(json, tape->root());
  return again;
}

}  // namespace

// What is read can be written and read again, text that is cut too. Once bytes that are not UTF-8 are replaced, nothing
// changes any more.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto json = tephra::base::parse_json(text);
  if (json.ok()) touch(*json);
  for (const auto ending : {JsonTape::Ending::kWhole, JsonTape::Ending::kCut}) {
    const std::string once = written_again(text, ending);
    if (once.empty()) continue;
    const std::string twice = written_again(once, JsonTape::Ending::kWhole);
    if (twice.empty() || written_again(twice, JsonTape::Ending::kWhole) != twice) __builtin_trap();
  }
  return 0;
}
