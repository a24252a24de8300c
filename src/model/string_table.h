#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/id.h"

namespace tephra::model {

// Every distinct text once. String 0 is the empty text. Views stay valid while the table lives, also when it is moved.
class StringTable {
 public:
  StringTable();
  StringTable(const StringTable& other);
  StringTable& operator=(const StringTable& other);
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  StringId add(std::string_view text);
  // The id of a text that is in the table, else StringId{} (also that of the empty text).
  StringId find(std::string_view text) const;
  std::string_view operator[](StringId id) const { return views_[id.value]; }
  size_t size() const { return views_.size(); }

 private:
  std::string_view store(std::string_view text);

  std::deque<std::string> blocks_;  // text lives here; a block is never reallocated
  std::vector<std::string_view> views_;
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace tephra::model
