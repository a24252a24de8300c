#include "objects/split_package.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

// Which of our sections a number of the index stands for.
std::optional<SplitPackage::Section> section_of(uint32_t number, uint32_t version) {
  switch (number) {
    case 1:
      return SplitPackage::kInfo;
    case 3:
      return SplitPackage::kAbbrev;
    case 6:
      return SplitPackage::kStrOffsets;
    case 8:
      if (version == 5) return SplitPackage::kRnglists;
      [[fallthrough]];
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<SplitPackage> SplitPackage::parse(Bytes index) {
  ByteReader reader(index);
  const uint32_t first = reader.u32();
  const uint32_t version = first == 2 ? 2 : first & 0xffff;
  const uint64_t columns = reader.u32();
  const uint64_t units = reader.u32();
  const uint64_t slots = reader.u32();
  if (!reader.ok() || (version != 2 && version != 5) || columns > 16) return std::nullopt;
  if (slots > index.size() / 12 || units > index.size() / 4) return std::nullopt;
  ByteReader ids(reader.bytes(slots * 8));
  ByteReader rows(reader.bytes(slots * 4));
  std::vector<std::optional<Section>> sections(columns);
  for (auto& section : sections) section = section_of(reader.u32(), version);
  SplitPackage package;
  package.rows_.resize(units);
  for (const bool sizes : {false, true}) {
    for (Parts& row : package.rows_) {
      for (const auto& section : sections) {
        const uint32_t value = reader.u32();
        if (section) (sizes ? row[*section].size : row[*section].offset) = value;
      }
    }
    if (!reader.ok()) return std::nullopt;
  }
  for (uint64_t i = 0; i < slots; ++i) {
    const uint64_t id = ids.u64();
    const uint32_t row = rows.u32();
    if (row > 0 && row <= units) package.by_id_.emplace(id, row - 1);
  }
  return package;
}

const SplitPackage::Parts* SplitPackage::find(uint64_t id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &rows_[at->second];
}

}  // namespace tephra::objects
