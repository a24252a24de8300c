#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"

namespace tephra::formats {

// A sample of `perf script`: what stands between two empty lines.
struct ScriptBlock {
  std::string_view text;  // all of it
  std::string_view head;  // its first line that is no comment
  std::string_view body;  // the lines behind that, which are the same for all samples with the same stack
};

// Where the next empty line is: the place of the \n before it, or the text's end.
inline size_t find_empty_line(std::string_view text, size_t from) {
  while (from < text.size()) {
    const void* found = std::memchr(text.data() + from, '\n', text.size() - from);
    if (found == nullptr) break;
    from = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    if (from + 1 < text.size() && text[from + 1] == '\n') return from;
    ++from;
  }
  return text.size();
}

// A text in pieces of about a MiB, each of whole blocks. Where they begin is looked up when one is asked for: whoever
// has read a piece may want to forget its memory.
class ScriptPieces {
 public:
  static constexpr size_t kUsualSize = 1 << 20;
  explicit ScriptPieces(std::string_view text, size_t piece_size = kUsualSize) : text_(text), size_(piece_size) {}

  size_t size() const { return (text_.size() + size_ - 1) / size_; }
  // Empty where no block begins there: a longer one belongs to the piece it begins in, which alone looks for its end.
  std::string_view operator[](size_t index) const {
    const size_t from = index * size_;
    const size_t until = std::min(text_.size(), from + size_);
    const std::string_view seen = text_.substr(0, until + 1);
    const size_t begin = index == 0 ? 0 : find_empty_line(seen, from);
    if (begin == seen.size()) return text_.substr(from, 0);
    return text_.substr(begin, find_empty_line(text_, until) - begin);
  }

 private:
  std::string_view text_;
  size_t size_;
};

inline ScriptBlock block_of(std::string_view text) {
  ScriptBlock block{text, text, {}};
  while (true) {
    const size_t end = block.head.find('\n');
    block.body = end == std::string_view::npos ? std::string_view{} : block.head.substr(end + 1);
    if (!block.head.starts_with('#')) {
      block.head = block.head.substr(0, end);
      return block;
    }
    block.head = block.body;
  }
}

// Calls visit(ScriptBlock) for each block that holds more than comments.
template <class Visit>
void for_each_block(std::string_view text, const Visit& visit) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '\n') {
      ++at;
      continue;
    }
    const size_t end = find_empty_line(text, at);
    std::string_view block = text.substr(at, end - at);
    if (block.ends_with('\n')) block.remove_suffix(1);  // the last one, without an empty line behind
    const ScriptBlock parts = block_of(block);
    if (!parts.head.empty()) visit(parts);
    at = end;
  }
}

// Stands for a text in tables that would else have to keep it. Whoever does not know the seeds, which are new in every
// run, cannot make two texts with the same; by chance they do not happen.
struct TextKey {
  uint64_t first = 0;
  uint64_t second = 0;
  bool operator==(const TextKey&) const = default;
};

TextKey key_of(std::string_view text);

// Numbers for keys, from 0 on in the order of their coming.
class KeyNumbers {
 public:
  static constexpr uint32_t kNew = UINT32_MAX;

  // The number of `key`, or kNew: then it has got the next.
  uint32_t add(TextKey key);
  uint32_t size() const { return used_; }

 private:
  struct Slot {
    TextKey key;
    uint32_t number = kNew;
  };
  Slot& slot_of(TextKey key);
  void grow();

  std::vector<Slot> slots_;
  uint32_t used_ = 0;
};

}  // namespace tephra::formats
