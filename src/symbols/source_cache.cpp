#include "symbols/source_cache.h"

#include <fmt/format.h>

#include "base/hash.h"
#include "model/build_id.h"
#include "objects/debug_index.h"

namespace tephra::symbols {
namespace {

using objects::ElfFile;

constexpr std::string_view kKind = "symbols";

// A number that differs between files of one build id whose debug information may differ: a stripped one, one with
// compressed sections, one that dwz has shortened. All of them change the table of sections.
uint64_t fingerprint(const ElfFile& elf, uint64_t seed) {
  uint64_t hash = base::hash_bytes(elf.build_id(), seed);
  for (const ElfFile::Section& section : elf.sections()) {
    hash = base::hash_bytes(base::as_bytes(section.name), hash);
    hash = base::mix(hash ^ section.type, section.size);
    hash = base::mix(hash ^ section.flags, section.address);
    // Cut short, where a copy was.
    hash = base::mix(hash ^ section.content.size(), section.compressed_content.size());
  }
  return hash;
}

}  // namespace

SourceCache::SourceCache(base::DiskCache cache, const ElfFile& code, const ElfFile& with_debug_info,
                         const std::vector<const ElfFile*>& others, bool may_store)
    : cache_(std::move(cache)), may_store_(may_store) {
  if (code.build_id().empty()) return;
  uint64_t hash = fingerprint(with_debug_info, 1);
  for (const ElfFile* other : others) hash = fingerprint(*other, hash);
  key_ = fmt::format("{}-{:016x}", model::BuildId(code.build_id()).hex(), hash);
}

base::Bytes SourceCache::stored() {
  if (key_.empty()) return {};
  if (!entry_) entry_ = cache_.find(kKind, key_, objects::DebugIndex::kVersion);
  return entry_ ? entry_->bytes() : base::Bytes();
}

void SourceCache::store(base::Bytes index) const {
  if (key_.empty() || !may_store_ || index.empty() || index.size() > kLimit / 4) return;
  // A cache that cannot be written costs time, nothing else.
  (void)cache_.store(kKind, key_, objects::DebugIndex::kVersion, index, kLimit);
}

}  // namespace tephra::symbols
