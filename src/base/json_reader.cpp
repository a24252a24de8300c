#include "base/json_reader.h"

#include "base/json_tape.h"

namespace tephra::base {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kMostValues = 1'000'000;

JsonValue value_of(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::kNull:
      return {};
    case Json::Kind::kFalse:
    case Json::Kind::kTrue:
      return JsonValue(json.truth());
    case Json::Kind::kInteger:
    case Json::Kind::kNumber:
      return JsonValue(json.number());
    case Json::Kind::kText:
    case Json::Kind::kEscapedText:
      return JsonValue(json.text());
    case Json::Kind::kArray: {
      JsonValue::Array elements;
      for (const Json element : json.elements()) elements.push_back(value_of(element));
      return JsonValue(std::move(elements));
    }
    case Json::Kind::kObject: {
      JsonValue::Object members;
      for (const auto& [key, member] : json.members()) members.emplace_back(key.text(), value_of(member));
      return JsonValue(std::move(members));
    }
  }
  return {};
}

}  // namespace

const JsonValue& JsonValue::operator[](std::string_view name) const {
  static const JsonValue kNull;
  if (const auto* members = std::get_if<Object>(&value_)) {
    for (const auto& [key, value] : *members) {
      if (key == name) return value;
    }
  }
  return kNull;
}

const JsonValue::Array& JsonValue::elements() const {
  static const Array kNone;
  const auto* elements = std::get_if<Array>(&value_);
  return elements != nullptr ? *elements : kNone;
}

const std::string& JsonValue::text() const {
  static const std::string kEmpty;
  const auto* text = std::get_if<std::string>(&value_);
  return text != nullptr ? *text : kEmpty;
}

double JsonValue::number(double otherwise) const {
  const auto* number = std::get_if<double>(&value_);
  return number != nullptr ? *number : otherwise;
}

bool JsonValue::truth(bool otherwise) const {
  const auto* truth = std::get_if<bool>(&value_);
  return truth != nullptr ? *truth : otherwise;
}

Result<JsonValue> parse_json(std::string_view text) {
  TEPHRA_TRY(const JsonTape tape, JsonTape::parse(text, {.depth = kDeepest, .values = kMostValues}));
  return value_of(tape.root());
}

}  // namespace tephra::base
