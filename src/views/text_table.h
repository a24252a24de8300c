#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "views/printable.h"

namespace tephra::views {

// A table whose columns are as wide as their widest cell. Numbers stand to the right.
class TextTable {
 public:
  void column(std::string title, bool right = false) { columns_.push_back({std::move(title), right, 0}); }
  size_t column_count() const { return columns_.size(); }

  void fit(const std::vector<std::string>& cells) {
    for (size_t i = 0; i < columns_.size(); ++i) columns_[i].width = std::max(columns_[i].width, columns(cells[i]));
  }
  std::vector<std::string> titles() {
    std::vector<std::string> cells;
    for (const Column& column : columns_) cells.push_back(column.title);
    fit(cells);
    return cells;
  }
  std::vector<std::string> dots() const {
    std::vector<std::string> cells;
    for (const Column& column : columns_) cells.emplace_back(column.width, '.');
    // The last column is not followed by another: a line of dots under one endless name helps nobody.
    if (!cells.empty()) cells.back().resize(std::min<size_t>(cells.back().size(), 60));
    return cells;
  }

  void append(std::string& out, std::string_view margin, const std::vector<std::string>& cells) const {
    out += margin;
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t gap = columns_[i].width - std::min(columns_[i].width, columns(cells[i]));
      if (i > 0) out += "  ";
      if (columns_[i].right) out.append(gap, ' ');
      out += cells[i];
      if (!columns_[i].right && i + 1 < cells.size()) out.append(gap, ' ');
    }
    out += '\n';
  }

 private:
  struct Column {
    std::string title;
    bool right;
    size_t width;
  };
  std::vector<Column> columns_;
};

// Names as tables show them.
inline std::string name_for_eye(std::string_view name, bool shorten) {
  return shorten ? printable(base::shorten_cpp_name(name)) : printable(name);
}

inline std::string module_for_eye(std::string_view path) {
  return path.empty() ? "[unknown]" : printable(base::path_base_name(path));
}

}  // namespace tephra::views
