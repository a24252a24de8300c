#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/disk_cache.h"
#include "objects/elf_file.h"
#include "objects/frame_rows.h"
#include "unwind/frame_table.h"
#include "unwind/table_origin.h"

namespace tephra::unwind {

// A call-frame table with the memory that holds it: compiled just now, or an entry of the disk cache, which is used as
// it is mapped.
class CompiledTable {
 public:
  static constexpr uint32_t kVersion = 3;

  explicit CompiledTable(objects::FrameRows rows);
  // Nothing where the content is not that of a table: cut, or by others. Every place that a search may go to is inside.
  static std::optional<CompiledTable> from_cache(base::DiskCache::Entry entry);

  // The views stay valid when a table is moved.
  CompiledTable(CompiledTable&&) = default;
  CompiledTable& operator=(CompiledTable&&) = default;

  const FrameTable& table() const { return table_; }
  // Whether much of the code is not described: a debug file that was not found may do that.
  bool lacks_call_frames() const { return objects::lacks_call_frames(rows_); }
  // What from_cache reads.
  std::string cache_content(const TableOrigin& origin) const;
  // What a table of the cache was made from.
  const TableOrigin& origin() const { return origin_; }

 private:
  explicit CompiledTable(base::DiskCache::Entry entry) : entry_(std::move(entry)) {}

  objects::FrameRows rows_;
  std::vector<uint32_t> block_starts_;
  std::optional<base::DiskCache::Entry> entry_;
  FrameTable table_;
  TableOrigin origin_;
};

// The table in the bytes of a cache entry, which must begin at a multiple of 64 bytes; nothing where there is none.
std::optional<FrameTable> view_table(base::Bytes content);

}  // namespace tephra::unwind
