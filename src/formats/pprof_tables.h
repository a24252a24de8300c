#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/number_hash.h"
#include "formats/pprof_fields.h"
#include "formats/protobuf.h"

namespace tephra::formats::pprof {

using protobuf::Message;
using protobuf::number;
using protobuf::part;
using protobuf::read_numbers;
using protobuf::text_of;
using protobuf::view_of;

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

// The tables of a file; samples are found, not read. Throws Malformed and protozero::exception.
Tables read_tables(base::Bytes bytes);

}  // namespace tephra::formats::pprof
