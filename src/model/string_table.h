#pragma once

#include <deque>
#include <string>
#include <string_view>
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
  // A place of the index: the id of a text and some bits of its hash; id 0, the empty text, marks a free one.
  struct Slot {
    uint32_t hash = 0;
    StringId id;
  };

  std::string_view store(std::string_view text);
  // Where a text is, or belongs.
  size_t place_of(std::string_view text, uint64_t hash) const;
  void grow();


  std::deque<std::string> blocks_;  // text lives here; a block is never reallocated
  std::vector<std::string_view> views_;
  std::vector<Slot> slots_;  // open addressing; a power of two of them, at most half of them used
};

}  // namespace tephra::model
