#include "model/string_table.h"

#include <algorithm>

namespace tephra::model {
namespace {
constexpr size_t kBlockSize = 32 << 10;
}

StringTable::StringTable() { add(""); }

StringTable::StringTable(const StringTable& other) { *this = other; }

StringTable& StringTable::operator=(const StringTable& other) {
  if (this == &other) return *this;
  blocks_.clear();
  views_.clear();
  ids_.clear();
  views_.reserve(other.size());
  ids_.reserve(other.size());
  for (const auto text : other.views_) add(text);
  return *this;
}

StringId StringTable::add(std::string_view text) {
  if (const auto found = ids_.find(text); found != ids_.end()) return found->second;
  const StringId id{static_cast<uint32_t>(views_.size())};
  const auto stored = store(text);
  views_.push_back(stored);
  ids_.emplace(stored, id);
  return id;
}

StringId StringTable::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? StringId{} : found->second;
}

std::string_view StringTable::store(std::string_view text) {
  if (blocks_.empty() || blocks_.back().capacity() - blocks_.back().size() < text.size()) {
    blocks_.emplace_back().reserve(std::max(kBlockSize, text.size()));
  }
  auto& block = blocks_.back();
  const size_t at = block.size();
  block.append(text);
  return std::string_view(block).substr(at, text.size());
}

}  // namespace tephra::model
