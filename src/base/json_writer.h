#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tephra::base {

// Writes JSON into a string. The caller keeps the order right (a key before each member of an object); commas, line
// breaks and escapes are the writer's work. Text that is not UTF-8 comes out as UTF-8, malformed bytes replaced.
//
//   JsonWriter json(text);
//   json.begin_object().member("samples", count).key("frames").begin_array();
//   for (...) json.value(name);
//   json.end_array().end_object();
class JsonWriter {
 public:
  // kPretty: one member a line, two spaces a level, as people and diffs like it.
  enum class Style { kCompact, kPretty };

  explicit JsonWriter(std::string& out, Style style = Style::kCompact) : out_(out), style_(style) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  // The shortest text that reads back as the same number; null for what JSON cannot say (infinite, not a number).
  JsonWriter& value(double number);
  template <std::same_as<bool> T>
  JsonWriter& value(T truth) {
    return raw(truth ? "true" : "false");
  }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) JsonWriter& value(T number) {
    return raw(std::to_string(static_cast<uint64_t>(number)));
  }
  template <std::signed_integral T>
  JsonWriter& value(T number) {
    return raw(std::to_string(static_cast<int64_t>(number)));
  }
  JsonWriter& null() { return raw("null"); }

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& raw(std::string_view text);
  void separate();
  void new_line();

  std::string& out_;
  Style style_;
  std::vector<bool> has_members_;  // one for each open object or array
  bool after_key_ = false;
};

// Appends text as a JSON string with its quotes. `<`, `>`, `&` and the line separators JavaScript minds are written as
// \u escapes, so that the JSON can stand inside XML, HTML and scripts as it is.
void append_json_string(std::string& out, std::string_view text);

}  // namespace tephra::base
