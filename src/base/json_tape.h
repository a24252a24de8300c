#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tephra::base {

class JsonTape;

// A value of a JsonTape, cheap to copy, valid while the tape and its text are. Asking a value for what it is not gives
// null, an empty range or the fallback, so that a path into a foreign file can be written in one line.
class Json {
 public:
  enum class Kind : uint8_t { kNull, kFalse, kTrue, kInteger, kNumber, kText, kEscapedText, kArray, kObject };

  Json() = default;

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }
  bool is_text() const { return kind() == Kind::kText || kind() == Kind::kEscapedText; }
  bool is_number() const { return kind() == Kind::kInteger || kind() == Kind::kNumber; }

  // The first member of that name. Takes as long as the object has members.
  Json operator[](std::string_view name) const;
  // How many elements or members there are.
  size_t size() const;
  // A text as UTF-8, escapes replaced. `storage` is used where there are any, and must live as long as the view.
  std::string_view text(std::string& storage) const;
  std::string text() const;
  double number(double otherwise = 0) const;
  // A number without a fraction that fits; else the fallback.
  int64_t integer(int64_t otherwise = 0) const;
  bool truth(bool otherwise = false) const;

  class Elements;
  class Members;
  // Elements of an array, members of an object; none of anything else.
  Elements elements() const;
  Members members() const;

 private:
  friend class JsonTape;
  Json(const JsonTape* tape, size_t at) : tape_(tape), at_(at) {}

  uint64_t payload() const;
  size_t behind() const;  // where the value after this one is

  const JsonTape* tape_ = nullptr;
  size_t at_ = 0;
};

// JSON text, read once into a tape of 8-byte words: one for a scalar, two for an array or object. Text stays where it
// is and is unescaped when asked for. Beside the text that takes at most 16/3 of its size, where it is `[],[],…`,
// mostly less than twice; while the tape grows, up to three times what it holds.
class JsonTape {
 public:
  // kCut takes text that ends in the middle, as writers that are killed leave it, as if all that is open were closed
  // behind the last complete element of the outermost array.
  enum class Ending { kWhole, kCut };
  struct Limits {
    size_t depth = 4096;
    size_t values = size_t{1} << 40;
    Ending ending = Ending::kWhole;
  };

  // Reads one whole JSON text, which must outlive the tape. Where it is not JSON or beyond the limits, the error says
  // at which byte and why.
  static Result<JsonTape> parse(std::string_view text, const Limits& limits);
  static Result<JsonTape> parse(std::string_view text) { return parse(text, Limits()); }

  JsonTape(JsonTape&&) = default;
  JsonTape& operator=(JsonTape&&) = default;

  Json root() const { return words_.empty() ? Json() : Json(this, 0); }
  bool was_cut() const { return was_cut_; }
  size_t bytes() const { return words_.size() * sizeof(uint64_t); }

 private:
  friend class Json;
  friend class JsonTapeParser;
  explicit JsonTape(std::string_view text) : text_(text) {}

  std::string_view text_;
  std::vector<uint64_t> words_;
  bool was_cut_ = false;
};

class Json::Elements {
 public:
  class Iterator {
   public:
    Iterator(Json at) : at_(at) {}  // NOLINT: implicit by intent
    Json operator*() const { return at_; }
    Iterator& operator++() {
      at_.at_ = at_.behind();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_.at_ != other.at_.at_; }

   private:
    Json at_;
  };

  Elements() = default;
  Elements(Json first, Json end) : first_(first), end_(end) {}
  Iterator begin() const { return first_; }
  Iterator end() const { return end_; }

 private:
  Json first_;
  Json end_;
};

// Takes the elements of an array one by one, for going along several at once. Null behind the last, and of what is no
// array.
class JsonCursor {
 public:
  explicit JsonCursor(const Json& array) : at_(array.elements().begin()), left_(array.is_array() ? array.size() : 0) {}
  Json next() {
    if (left_ == 0) return {};
    const Json element = *at_;
    ++at_;
    --left_;
    return element;
  }

 private:
  Json::Elements::Iterator at_;
  size_t left_;
};

class Json::Members {
 public:
  class Iterator {
   public:
    Iterator(Json at) : at_(at) {}  // NOLINT: implicit by intent
    std::pair<Json, Json> operator*() const { return {at_, Json(at_.tape_, at_.at_ + 1)}; }
    Iterator& operator++() {
      at_.at_ = Json(at_.tape_, at_.at_ + 1).behind();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_.at_ != other.at_.at_; }

   private:
    Json at_;
  };

  Members() = default;
  Members(Json first, Json end) : first_(first), end_(end) {}
  Iterator begin() const { return first_; }
  Iterator end() const { return end_; }

 private:
  Json first_;
  Json end_;
};

}  // namespace tephra::base
