#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace tephra::base {

// A value of JSON text. Asking a value for what it is not gives null or an empty text, so that a path into a foreign
// file can be written in one line: json["Config"]["Name"].text().
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;

  JsonValue() = default;
  template <class T>
  requires(!std::same_as<std::remove_cvref_t<T>, JsonValue>) explicit JsonValue(T value) : value_(std::move(value)) {}

  bool is_null() const { return value_.index() == 0; }
  // The first member of that name.
  const JsonValue& operator[](std::string_view name) const;
  // Elements of an array; empty for anything else.
  const Array& elements() const;
  // A string's text, as UTF-8; empty for anything else.
  const std::string& text() const;
  double number(double otherwise = 0) const;
  bool truth(bool otherwise = false) const;

 private:
  std::variant<std::monostate, bool, double, std::string, Array, Object> value_;
};

// Reads one whole JSON text. Text that is not JSON, nests deeper than 64 levels or holds more than a million values is
// an error that says at which byte.
Result<JsonValue> parse_json(std::string_view text);

}  // namespace tephra::base
