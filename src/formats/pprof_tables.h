#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <protozero/pbf_message.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/number_hash.h"
#include "formats/pprof_fields.h"

namespace tephra::formats::pprof {

template <class Field>
using Message = protozero::pbf_message<Field>;

// What is wrong with a profile, as the end of a sentence.
struct Malformed {
  std::string why;
};

// Rows by the numbers that the file gives them, which mostly are 1, 2, 3…
template <class Row>
class Numbered {
 public:
  void add(uint64_t id, Row row) {
    if (id == 0) throw Malformed{"something has the number 0"};
    if (find(id) != nullptr) throw Malformed{fmt::format("two things have the number {}", id)};
    ids_.push_back(id);
    if (id == dense_.size() + 1) {
      dense_.push_back(std::move(row));
    } else {
      sparse_.emplace(id, std::move(row));
    }
  }
  const Row* find(uint64_t id) const {
    if (id - 1 < dense_.size()) return &dense_[id - 1];
    const auto found = sparse_.find(id);
    return found == sparse_.end() ? nullptr : &found->second;
  }

  // Numbers and rows, as they came.
  std::vector<std::pair<uint64_t, const Row*>> in_order() const {
    std::vector<std::pair<uint64_t, const Row*>> rows;
    for (const uint64_t id : ids_) rows.emplace_back(id, find(id));
    return rows;
  }

 private:
  std::vector<uint64_t> ids_;
  std::vector<Row> dense_;
  std::unordered_map<uint64_t, Row, base::NumberHash> sparse_;
};

struct ValueType {
  uint64_t type = 0;
  uint64_t unit = 0;
};

// The tables of a file. Numbers of texts are kept until all texts are known: they come last.
struct Tables {
  struct Mapping {
    uint64_t start = 0;
    uint64_t limit = 0;
    uint64_t offset = 0;
    uint64_t file = 0;
    uint64_t build_id = 0;
  };
  struct Function {
    uint64_t name = 0;
    uint64_t system_name = 0;
    uint64_t file = 0;
    uint64_t start_line = 0;
  };
  struct Line {
    uint64_t function = 0;
    uint64_t line = 0;
  };
  struct Location {
    uint64_t id = 0;
    uint64_t mapping = 0;
    uint64_t address = 0;
    std::vector<Line> lines;
  };

  std::vector<std::string_view> texts;
  std::vector<ValueType> types;
  Numbered<Mapping> mappings;
  Numbered<Function> functions;
  std::vector<Location> locations;
  std::vector<protozero::data_view> samples;
  std::vector<uint64_t> comments;
  ValueType period_type;
  int64_t period = 0;
  int64_t time = 0;
  int64_t duration = 0;
  uint64_t default_type = 0;
  uint64_t drop_frames = 0;
  uint64_t keep_frames = 0;

  std::string_view text(uint64_t id) const {
    if (id < texts.size()) return texts[id];
    throw Malformed{fmt::format("there is no text {}", id)};
  }
};

inline std::string_view text_of(const protozero::data_view& view) { return {view.data(), view.size()}; }

// The library takes for granted that a field is of the type it is asked for.
template <class Field>
void expect(const Message<Field>& message, protozero::pbf_wire_type type) {
  if (!message.has_wire_type(type)) {
    throw Malformed{fmt::format("field {} is of another type", static_cast<uint32_t>(message.tag()))};
  }
}

template <class Field>
uint64_t number(Message<Field>& message) {
  expect(message, protozero::pbf_wire_type::varint);
  return message.get_uint64();
}

// A text or another message.
template <class Field>
protozero::data_view part(Message<Field>& message) {
  expect(message, protozero::pbf_wire_type::length_delimited);
  return message.get_view();
}

// Numbers that are written packed, or one by one by old writers.
template <class Field, class Add>
void read_numbers(Message<Field>& message, Add add) {
  if (message.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
    for (const uint64_t each : message.get_packed_uint64()) add(each);
  } else {
    add(number(message));
  }
}

// The tables of a file; samples are found, not read. Throws Malformed and protozero::exception.
Tables read_tables(base::Bytes bytes);

}  // namespace tephra::formats::pprof
