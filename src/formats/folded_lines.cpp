#include "formats/folded_lines.h"

#include <algorithm>
#include <numeric>

namespace tephra::formats {

FoldedLines::Text FoldedLines::text_of(std::string_view text) {
  if (const auto known = text_ids_.find(text); known != text_ids_.end()) return known->second;
  const auto id = static_cast<Text>(texts_.size());
  text_ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

FoldedLines::Place FoldedLines::below(Place parent, Text text) {
  const auto [at, is_new] = children_.try_emplace(uint64_t{parent} << 32 | text, static_cast<Place>(nodes_.size()));
  if (is_new) {
    nodes_[parent].has_children = true;
    nodes_.push_back({.parent = parent, .text = text});
  }
  return at->second;
}

void FoldedLines::count(Place place, uint64_t value, uint64_t second) {
  nodes_[place].value += value;
  nodes_[place].second += second;
  nodes_[place].counted = true;
}

// Texts in the order of bytes, each once as it is and once with the ';' that leads to what is below: "f" and "f;" have
// "f2" between them.
std::vector<uint32_t> FoldedLines::ranks() const {
  std::vector<uint32_t> order(2 * texts_.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::string> keys;
  keys.reserve(order.size());
  for (const std::string& text : texts_) {
    keys.push_back(text);
    keys.push_back(text + ';');
  }
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = rank;
  return ranks;
}

std::vector<FoldedLines::Item> FoldedLines::items_in_order() const {
  const std::vector<uint32_t> rank = ranks();
  std::vector<Item> items;
  items.reserve(nodes_.size());
  for (Place place = 1; place < nodes_.size(); ++place) {
    const Node& node = nodes_[place];
    if (node.counted) items.push_back({node.parent, rank[2 * node.text], place, true});
    if (node.has_children) items.push_back({node.parent, rank[2 * node.text + 1], place, false});
  }
  std::sort(items.begin(), items.end(),
            [](const Item& a, const Item& b) { return a.parent != b.parent ? a.parent < b.parent : a.rank < b.rank; });
  return items;
}

// How long text() may become: numbers are counted with all their digits.
size_t FoldedLines::longest_text() const {
  constexpr size_t kLongestNumber = 20;
  std::vector<size_t> lengths(nodes_.size());  // with the separator behind it
  size_t sum = 0;
  for (Place place = kTop + 1; place < nodes_.size(); ++place) {
    const Node& node = nodes_[place];
    lengths[place] = lengths[node.parent] + texts_[node.text].size() + 1;
    if (node.counted) sum += lengths[place] + 2 * (kLongestNumber + 1);
  }
  return sum;
}

std::string FoldedLines::text(Numbers numbers) const {
  const std::vector<Item> items = items_in_order();
  std::vector<size_t> first(nodes_.size() + 1);  // of the items below a place
  for (const Item& item : items) ++first[item.parent + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());

  struct Level {
    size_t next, end, prefix;  // items, and how much of `line` is above them
  };
  std::string text;
  text.reserve(longest_text());
  std::string line;
  std::vector<Level> levels = {{0, first[1], 0}};
  while (!levels.empty()) {
    Level& level = levels.back();
    line.resize(level.prefix);
    if (level.next == level.end) {
      levels.pop_back();
      continue;
    }
    const Item& item = items[level.next++];
    const Node& node = nodes_[item.child];
    line += texts_[node.text];
    if (item.is_line) {
      text.append(line).append(" ").append(std::to_string(node.value));
      if (numbers == Numbers::kTwo) text.append(" ").append(std::to_string(node.second));
      text += '\n';
    } else {
      line += ';';
      levels.push_back({first[item.child], first[item.child + 1], line.size()});
    }
  }
  return text;
}

}  // namespace tephra::formats
