#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/id.h"

namespace tephra::model {

// Rows of one kind, indexed by their own Id and nothing else.
template <class Row, class RowId>
class Table {
 public:
  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  const Row& operator[](RowId id) const { return rows_[id.value]; }
  Row& operator[](RowId id) { return rows_[id.value]; }
  RowId add(Row row) {
    rows_.push_back(std::move(row));
    return last();
  }
  RowId last() const { return RowId{static_cast<uint32_t>(rows_.size() - 1)}; }
  bool contains(RowId id) const { return id.value < rows_.size(); }

  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  void reserve(size_t count) { rows_.reserve(count); }

 private:
  std::vector<Row> rows_;
};

// Calls visit(id) for every row, in order.
template <class Row, class RowId, class Visit>
void for_each_id(const Table<Row, RowId>& table, Visit visit) {
  for (uint32_t i = 0; i < table.size(); ++i) visit(RowId{i});
}

}  // namespace tephra::model
