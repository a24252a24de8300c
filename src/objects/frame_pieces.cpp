#include "objects/frame_pieces.h"

#include <elf.h>

#include <algorithm>

namespace tephra::objects {
namespace {

constexpr uint32_t kNoCommon = UINT32_MAX;
// Common entries say a handful of things. The limit keeps the work of a file linear in its size, since any number of
// functions may point to overlapping ones.
constexpr size_t kLongestCommon = 512;

uint64_t return_register_of(uint16_t machine) { return machine == EM_X86_64 ? 16 : 30; }

// By where they begin, then by which was read first. An object, so that sorting need not call it.
constexpr auto begins_before = [](const FramePiece& a, const FramePiece& b) {
  return (uint64_t{a.from} << 32 | a.what) < (uint64_t{b.from} << 32 | b.what);
};

// Of pieces that begin at the same place the first one read stays; one that reaches into the next ends there, as it
// does for a search by where functions begin.
void remove_overlaps(std::vector<FramePiece>& pieces) {
  const auto same_begin = [](const FramePiece& a, const FramePiece& b) { return a.from == b.from; };
  pieces.erase(std::unique(pieces.begin(), pieces.end(), same_begin), pieces.end());
  for (size_t i = 1; i < pieces.size(); ++i) pieces[i - 1].to = std::min(pieces[i - 1].to, pieces[i].from);
}

}  // namespace

FramePieces::FramePieces(const ElfFile& elf) : machine_(elf.machine()) {
  for (const auto& segment : elf.segments()) {
    if (segment.type != PT_LOAD || (segment.flags & PF_X) == 0) continue;
    const uint64_t room = UINT64_MAX - std::max(segment.address, segment.offset);
    code_.push_back({segment.address, segment.offset, std::min(segment.file_size, room)});
  }
}

void FramePieces::add(const CfiSection& section) {
  if (section.empty() || code_.empty()) return;
  sections_.push_back(std::make_unique<CfiSection>(section));
  std::vector<FramePiece> found = read_pieces(*sections_.back());
  if (!std::is_sorted(found.begin(), found.end(), begins_before)) std::sort(found.begin(), found.end(), begins_before);
  remove_overlaps(found);
  if (pieces_.empty()) {
    pieces_ = std::move(found);
  } else {
    merge(found);
  }
}

std::vector<FramePiece> FramePieces::read_pieces(const CfiSection& section) {
  std::vector<FramePiece> found;
  common_places_.clear();
  uint64_t offset = 0;
  uint64_t last_offset = UINT64_MAX;
  std::optional<uint32_t> last_common;
  for (;;) {
    const auto entry = section.entry(offset);
    if (!entry) {
      if (!section.goes_on_after(offset)) break;
      offset += 4;
      continue;
    }
    offset = entry->next;
    const auto common_offset = section.common_of(*entry);
    if (!common_offset) continue;
    if (*common_offset != last_offset) {
      last_offset = *common_offset;
      last_common = common_at(section, last_offset);
    }
    if (last_common) {
      add_function(section, *entry, *last_common, found);
    } else {
      ++damaged;
    }
  }
  return found;
}

std::optional<uint32_t> FramePieces::common_at(const CfiSection& section, uint64_t offset) {
  const auto [place, is_new] = common_places_.try_emplace(offset, kNoCommon);
  if (is_new) {
    if (const auto common = section.read_common(offset)) {
      Common made{*common, {}, &section, common->return_register == return_register_of(machine_)};
      if (common->instructions.size() <= kLongestCommon) {
        made.initial = CfiProgram(section, CfiRegisters::of(machine_)).begin(*common);
      }
      place->second = static_cast<uint32_t>(commons_.size());
      commons_.push_back(made);
    }
  }
  if (place->second == kNoCommon) return std::nullopt;
  return place->second;
}

const FramePieces::Code* FramePieces::code_at(uint64_t address) {
  const auto holds = [&](const Code& code) { return address - code.address < code.size; };
  if (last_code_ != nullptr && holds(*last_code_)) return last_code_;
  const auto at = std::find_if(code_.begin(), code_.end(), holds);
  if (at == code_.end()) return nullptr;
  last_code_ = &*at;
  return last_code_;
}

void FramePieces::add_function(const CfiSection& section, const CfiSection::Entry& entry, uint32_t common,
                               std::vector<FramePiece>& found) {
  const auto function = section.read_function(entry, commons_[common].common);
  if (!function) {
    ++damaged;
    return;
  }
  const Code* const code =
      function->begin == 0 || function->end <= function->begin ? nullptr : code_at(function->begin);
  if (code == nullptr || functions_.size() >= FramePiece::kOneRule) {
    ++discarded;
    return;
  }
  const uint64_t from = function->begin - code->address + code->offset;
  if (from >= UINT32_MAX) {
    ++beyond_reach;
    return;
  }
  const uint64_t end = std::min(function->end, code->address + code->size) - code->address + code->offset;
  const auto to = static_cast<uint32_t>(std::min<uint64_t>(end, UINT32_MAX));
  found.push_back({static_cast<uint32_t>(from), to, static_cast<uint32_t>(functions_.size())});
  functions_.push_back({*function, code->offset - code->address, common});
}

// Puts the parts of `later` that lie in gaps between the pieces there are.
void FramePieces::merge(const std::vector<FramePiece>& later) {
  std::vector<FramePiece> parts;
  size_t next = 0;
  for (const FramePiece& piece : later) {
    while (next < pieces_.size() && pieces_[next].to <= piece.from) ++next;
    uint32_t from = piece.from;
    for (size_t i = next; from < piece.to; ++i) {
      const bool is_last = i == pieces_.size() || pieces_[i].from >= piece.to;
      const uint32_t to = is_last ? piece.to : pieces_[i].from;
      if (from < to) parts.push_back({from, to, piece.what});
      if (is_last) break;
      from = std::max(from, pieces_[i].to);
    }
  }
  if (parts.empty()) return;
  std::vector<FramePiece> all(pieces_.size() + parts.size());
  std::merge(pieces_.begin(), pieces_.end(), parts.begin(), parts.end(), all.begin(), begins_before);
  pieces_ = std::move(all);
}

void FramePieces::add_rules(std::vector<Ruled> ruled) {
  std::vector<FramePiece> made;
  std::sort(ruled.begin(), ruled.end(), [](const Ruled& a, const Ruled& b) { return a.from < b.from; });
  for (const Ruled& piece : ruled) {
    const uint64_t from = std::max<uint64_t>(piece.from, made.empty() ? 0 : made.back().to);
    const uint64_t to = std::min<uint64_t>(piece.to, UINT32_MAX);
    if (from >= to) continue;
    made.push_back({static_cast<uint32_t>(from), static_cast<uint32_t>(to), place_of(piece.rule)});
  }
  merge(made);
}

uint32_t FramePieces::place_of(const tephra_frame_rule& rule) {
  rules_.push_back(rule);
  return FramePiece::kOneRule | static_cast<uint32_t>(rules_.size() - 1);
}

void FramePieces::replace_rule(uint64_t offset, const tephra_frame_rule& rule) {
  const FramePiece* const piece = find(offset);
  if (piece == nullptr) return;
  pieces_[static_cast<size_t>(piece - pieces_.data())].what = place_of(rule);
}

std::vector<FramePiece>::const_iterator FramePieces::behind(uint64_t offset) const {
  return std::upper_bound(pieces_.begin(), pieces_.end(), offset,
                          [](uint64_t wanted, const FramePiece& piece) { return wanted < piece.from; });
}

uint64_t FramePieces::next_begin(uint64_t offset) const {
  const auto after = behind(offset);
  return after == pieces_.end() ? UINT64_MAX : after->from;
}

const FramePiece* FramePieces::find(uint64_t offset) const {
  const auto after = behind(offset);
  if (after == pieces_.begin() || offset >= (after - 1)->to) return nullptr;
  return &*(after - 1);
}

std::vector<FramePieces::Gap> FramePieces::gaps(uint64_t size) const {
  std::vector<Gap> found;
  for (const Code& code : code_) {
    uint64_t at = code.offset;
    const uint64_t end = code.offset + code.size;
    const auto first = std::lower_bound(pieces_.begin(), pieces_.end(), at,
                                        [](const FramePiece& piece, uint64_t from) { return piece.to <= from; });
    for (auto piece = first; piece != pieces_.end() && piece->from < end; ++piece) {
      if (piece->from >= at + size) found.push_back({at, piece->from});
      at = std::max<uint64_t>(at, piece->to);
    }
    if (end >= at + size) found.push_back({at, end});
  }
  return found;
}

std::optional<uint64_t> FramePieces::offset_of(uint64_t address) const {
  for (const Code& code : code_) {
    if (address - code.address < code.size) return address - code.address + code.offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> FramePieces::address_of(uint64_t offset) const {
  for (const Code& code : code_) {
    if (offset - code.offset < code.size) return offset - code.offset + code.address;
  }
  return std::nullopt;
}

}  // namespace tephra::objects
