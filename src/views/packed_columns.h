#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace tephra::views {

// Columns of numbers and text as one block of bytes that a script can look at as typed arrays, and a list that says
// where each is. Numbers are as narrow as the largest needs; ascending ones are stored as differences where that is
// narrower; a column of one and the same number takes no bytes. Little-endian.
class PackedColumns {
 public:
  // Numbers above 2^53 come out rounded.
  void add(std::string_view name, std::span<const uint64_t> numbers);
  // Two columns: `name` is all texts as UTF-8 one behind the other, `name`_length the bytes of each.
  void add_texts(std::string_view name, std::span<const std::string> texts);

  std::string_view bytes() const { return bytes_; }
  // Writes an array of {name, count, constant | type (u8, u16, u32, f64), offset, delta}.
  void write_list(base::JsonWriter& json) const;

 private:
  struct Column {
    std::string name;
    size_t count = 0;
    std::string_view type;  // empty: every number is `constant`
    uint64_t constant = 0;
    size_t offset = 0;
    bool delta = false;
  };

  void add_bytes(std::string_view name, std::string_view type, size_t count, bool delta, std::string_view bytes);

  std::string bytes_;
  std::vector<Column> columns_;
};

}  // namespace tephra::views
