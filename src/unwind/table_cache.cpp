#include "unwind/table_cache.h"

#include "model/build_id.h"

namespace tephra::unwind {
namespace {

using objects::ElfFile;

constexpr std::string_view kKind = "frames";
// Shorter build ids were given by hand and need not tell files apart.
constexpr size_t kShortestKey = 8;

}  // namespace

std::string TableCache::key_of(base::Bytes build_id) {
  const model::BuildId shortened(build_id);
  base::Bytes bytes = shortened.bytes();
  while (!bytes.empty() && bytes.back() == std::byte{0}) bytes = bytes.first(bytes.size() - 1);
  return bytes.size() < kShortestKey ? std::string() : model::BuildId(bytes).hex();
}

std::optional<CompiledTable> TableCache::find_unseen(base::Bytes build_id) const {
  const std::string key = key_of(build_id);
  if (key.empty()) return std::nullopt;
  auto entry = cache_.find(kKind, key, CompiledTable::kVersion);
  return entry ? CompiledTable::from_cache(std::move(*entry)) : std::nullopt;
}

std::optional<CompiledTable> TableCache::find(const ElfFile& elf) const {
  auto table = find_unseen(elf.build_id());
  if (table && table->origin() != TableOrigin::of(elf, table->origin().seed)) table.reset();
  return table;
}

bool TableCache::store(const ElfFile& elf, const CompiledTable& table) const {
  const std::string key = key_of(elf.build_id());
  // One without rows is made as fast as it is found; and where rows are missing, a debug file may appear.
  if (key.empty() || table.table().empty() || table.lacks_call_frames()) return false;
  const std::string content = table.cache_content(TableOrigin::of(elf));
  // Without a cache the next run compiles again.
  return cache_.store(kKind, key, CompiledTable::kVersion, base::as_bytes(content)).ok();
}

}  // namespace tephra::unwind
