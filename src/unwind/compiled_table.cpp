#include "unwind/compiled_table.h"

#include <algorithm>
#include <cstring>

namespace tephra::unwind {
namespace {

using base::Bytes;

// What a cache entry begins with; rules, where blocks begin and the blocks follow.
struct Header {
  uint64_t rows = 0;
  uint64_t unsupported_rows = 0;
  uint32_t blocks = 0;
  uint32_t rules = 0;
  TableOrigin origin;
  char padding[24]{};
};
static_assert(sizeof(Header) == 64);
constexpr uint32_t kMostRules = 1 << 16;

template <class T>
std::span<const T> take(Bytes& bytes, size_t count) {
  const auto* first = reinterpret_cast<const T*>(bytes.data());
  bytes = bytes.subspan(count * sizeof(T));
  return {first, count};
}

template <class T>
void append(std::string& text, std::span<const T> items) {
  text.append(reinterpret_cast<const char*>(items.data()), items.size_bytes());
}

bool rules_exist(std::span<const tephra_frame_block> blocks, size_t rules) {
  unsigned short highest = 0;
  for (const auto& block : blocks) {
    for (const unsigned short rule : block.rule) highest = std::max(highest, rule);
  }
  return blocks.empty() || highest < rules;
}

// Whether the search for a block leads to one that has a row for what is looked up.
bool begin_there(const FrameTable& table) {
  bool same = std::ranges::is_sorted(table.block_starts);
  for (size_t i = 0; i < table.blocks.size(); ++i) same = same && table.blocks[i].start[0] == table.block_starts[i];
  return same;
}

}  // namespace

CompiledTable::CompiledTable(objects::FrameRows rows) : rows_(std::move(rows)) {
  for (const auto& block : rows_.blocks) block_starts_.push_back(block.start[0]);
  table_ = {rows_.blocks, rows_.rules, rows_.rows, rows_.unsupported_rows, block_starts_};
}

std::optional<FrameTable> view_table(Bytes content) {
  if (content.size() < sizeof(Header)) return std::nullopt;
  const auto header = base::load<Header>(content.data());
  Bytes rest = content.subspan(sizeof(Header));
  const uint64_t size = header.rules * uint64_t{sizeof(tephra_frame_rule)} +
                        header.blocks * uint64_t{sizeof(uint32_t) + sizeof(tephra_frame_block)};
  if (header.rules > kMostRules || size != rest.size()) return std::nullopt;
  const uint64_t blocks = header.rows / TEPHRA_FRAME_BLOCK_ROWS + (header.rows % TEPHRA_FRAME_BLOCK_ROWS != 0 ? 1 : 0);
  if (blocks != header.blocks || header.unsupported_rows > header.rows) return std::nullopt;
  FrameTable table;
  table.rules = take<tephra_frame_rule>(rest, header.rules);
  table.block_starts = take<uint32_t>(rest, header.blocks);
  table.blocks = take<tephra_frame_block>(rest, header.blocks);
  table.rows = header.rows;
  table.unsupported_rows = header.unsupported_rows;
  if (!rules_exist(table.blocks, table.rules.size()) || !begin_there(table)) return std::nullopt;
  return table;
}

std::optional<CompiledTable> CompiledTable::from_cache(base::DiskCache::Entry entry) {
  const auto table = view_table(entry.bytes());
  if (!table) return std::nullopt;
  CompiledTable compiled(std::move(entry));
  compiled.table_ = *table;
  compiled.origin_ = base::load<Header>(compiled.entry_->bytes().data()).origin;
  return compiled;
}

std::string CompiledTable::cache_content(const TableOrigin& origin) const {
  Header header;
  header.origin = origin;
  header.rows = table_.rows;
  header.unsupported_rows = table_.unsupported_rows;
  header.blocks = static_cast<uint32_t>(table_.blocks.size());
  header.rules = static_cast<uint32_t>(table_.rules.size());
  std::string content;
  content.reserve(sizeof header + table_.rules.size_bytes() + table_.block_starts.size_bytes() +
                  table_.blocks.size_bytes());
  content.append(reinterpret_cast<const char*>(&header), sizeof header);
  append(content, table_.rules);
  append(content, table_.block_starts);
  append(content, table_.blocks);
  return content;
}

}  // namespace tephra::unwind
