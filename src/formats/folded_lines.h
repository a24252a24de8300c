#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tephra::formats {

// Lines of folded stacks as a tree of texts, so that what many lines begin with is held once, however deep they are.
class FoldedLines {
 public:
  using Text = uint32_t;
  using Place = uint32_t;  // a line, or what lines begin with
  static constexpr Place kTop = 0;

  // `text` must contain no ';', and nothing below it.
  Text text_of(std::string_view text);
  Place below(Place parent, Text text);
  // Adds to the numbers of the line that ends at `place`, which is not kTop.
  void count(Place place, uint64_t value, uint64_t second = 0);

  // One line a place that was counted, in the order of their bytes, with its first number or with both.
  enum class Numbers { kOne, kTwo };
  std::string text(Numbers numbers = Numbers::kOne) const;

 private:
  struct Node {
    Place parent;
    Text text;
    uint64_t value = 0;
    uint64_t second = 0;
    bool counted = false;
    bool has_children = false;
  };
  // What is written below a place: the line of a child, or the lines that begin with it.
  struct Item {
    Place parent;
    uint32_t rank;
    Place child;
    bool is_line;
  };

  size_t longest_text() const;
  std::vector<uint32_t> ranks() const;
  std::vector<Item> items_in_order() const;

  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, Text> text_ids_;
  std::vector<Node> nodes_ = {Node{}};
  std::unordered_map<uint64_t, Place> children_;  // by parent and text
};

}  // namespace tephra::formats
