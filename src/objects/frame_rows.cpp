#include "objects/frame_rows.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "base/hash.h"
#include "base/parallel.h"
#include "objects/debug_frame.h"
#include "objects/frame_pieces.h"
#include "objects/frame_rule.h"
#include "objects/known_stubs.h"

namespace tephra::objects {
namespace {

using base::Bytes;

static_assert(sizeof(tephra_frame_rule) == 16, "rules are compared by their bytes");
static_assert(sizeof(tephra_frame_block) == TEPHRA_FRAME_BLOCK_ROWS * 6);

// The different rules, each once, in the order they were first met.
class RuleSet {
 public:
  static constexpr uint16_t kNone = 0;
  static constexpr uint16_t kUnsupported = 1;

  RuleSet() : slots_(kFirstSlots, kFree) {
    place_of(plain_rule(TEPHRA_CFA_NONE));
    place_of(plain_rule(TEPHRA_CFA_UNSUPPORTED));
  }

  // kUnsupported when there are more rules than a row can tell apart.
  uint16_t place_of(const tephra_frame_rule& rule) {
    const size_t mask = slots_.size() - 1;
    size_t slot = hash(rule) & mask;
    for (; slots_[slot] != kFree; slot = (slot + 1) & mask) {
      if (std::memcmp(&rules_[slots_[slot]], &rule, sizeof rule) == 0) return slots_[slot];
    }
    if (rules_.size() >= kFree) return kUnsupported;
    slots_[slot] = static_cast<uint16_t>(rules_.size());
    rules_.push_back(rule);
    if (rules_.size() * 2 > slots_.size()) grow();
    return static_cast<uint16_t>(rules_.size() - 1);
  }

  const std::vector<tephra_frame_rule>& rules() const { return rules_; }
  std::vector<tephra_frame_rule> take() { return std::move(rules_); }

 private:
  static constexpr uint16_t kFree = UINT16_MAX;
  static constexpr size_t kFirstSlots = 1024;

  static uint64_t hash(const tephra_frame_rule& rule) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&rule);
    return base::mix(base::load<uint64_t>(bytes), base::load<uint64_t>(bytes + 8));
  }

  void grow() {
    slots_.assign(slots_.size() * 2, kFree);
    const size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < rules_.size(); ++i) {
      size_t slot = hash(rules_[i]) & mask;
      while (slots_[slot] != kFree) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<uint16_t>(i);
    }
  }

  std::vector<uint16_t> slots_;
  std::vector<tephra_frame_rule> rules_;
};

// The rows of some pieces in a row.
struct Rows {
  std::vector<uint32_t> starts;
  std::vector<uint16_t> rules;  // in `set`
  RuleSet set;
  uint64_t damaged = 0;

  // From `start` on the rule holds; starts never decrease. What was said of the same place is forgotten.
  void put(uint32_t start, uint16_t rule) {
    if (!starts.empty() && starts.back() == start) {
      starts.pop_back();
      rules.pop_back();
    }
    if (!rules.empty() && rules.back() == rule) return;
    starts.push_back(start);
    rules.push_back(rule);
  }
};

// What is asked about code beside its call-frame information.
struct CodeSource {
  uint16_t machine = 0;
  const ElfFile* elf = nullptr;  // null: it is in no file
};

class RowMaker {
 public:
  RowMaker(const CodeSource& code, const FramePieces& pieces, Rows& rows)
      : code_(code), registers_(CfiRegisters::of(code.machine)), pieces_(pieces), rows_(rows) {}

  void make(size_t first, size_t last) {
    const auto& pieces = pieces_.pieces();
    for (size_t i = first; i < last; ++i) {
      add_piece(pieces[i]);
      const bool is_last = i + 1 == pieces.size();
      if (is_last || pieces[i + 1].from - pieces[i].to >= TEPHRA_FRAME_GAP) rows_.put(pieces[i].to, RuleSet::kNone);
    }
  }

 private:
  void add_piece(const FramePiece& piece) {
    if ((piece.what & FramePiece::kOneRule) != 0) {
      rows_.put(piece.from, rows_.set.place_of(pieces_.rules()[piece.what & ~FramePiece::kOneRule]));
      return;
    }
    const auto& function = pieces_.functions()[piece.what];
    const auto& common = pieces_.commons()[function.common];
    if (common.common.is_signal_frame && is_kernel_frame(function.described)) {
      rows_.put(piece.from, rows_.set.place_of(plain_rule(TEPHRA_CFA_SIGNAL)));
      return;
    }
    if (common.has_usual_return) {
      add_rows(piece, function, common);
    } else {
      rows_.put(piece.from, RuleSet::kUnsupported);
    }
  }

  void add_rows(const FramePiece& piece, const FramePieces::Function& function, const FramePieces::Common& common) {
    CfiProgram& program = program_of(common);
    const auto put = [&](uint64_t address, const tephra_frame_rule& rule) {
      const uint64_t offset = address + function.to_offset;
      if (offset >= piece.to) return false;
      rows_.put(std::max(piece.from, static_cast<uint32_t>(offset)), rows_.set.place_of(rule));
      return true;
    };
    const bool whole =
        program.run(function.described, common.common, common.initial, [&](uint64_t address, const CfiState& state) {
          return put(address, to_frame_rule(state, code_.machine, registers_));
        });
    if (whole) return;
    ++rows_.damaged;
    put(program.at(), plain_rule(TEPHRA_CFA_UNSUPPORTED));
  }

  CfiProgram& program_of(const FramePieces::Common& common) {
    if (section_ != common.section) {
      section_ = common.section;
      program_.emplace(*section_, registers_);
    }
    return *program_;
  }

  // Other code, too, calls its frames those of signals; only the kernel's is known to the step.
  bool is_kernel_frame(const CfiFunction& function) const {
    constexpr uint64_t kLongest = 64;
    if (code_.elf == nullptr) return false;
    const Bytes code = code_.elf->bytes_at(function.begin);
    const uint64_t size = std::min<uint64_t>({code.size(), function.end - function.begin, kLongest});
    code_.elf->need(code.first(size));
    return is_signal_return(code.first(size), code_.machine);
  }

  const CodeSource code_;
  CfiRegisters registers_;
  const FramePieces& pieces_;
  Rows& rows_;
  const CfiSection* section_ = nullptr;
  std::optional<CfiProgram> program_;
};

// Threads make the rows of parts; too small ones are not worth a thread.
std::vector<Rows> make_parts(const CodeSource& code, const FramePieces& pieces) {
  constexpr size_t kSmallest = 2048;
  const size_t count = pieces.pieces().size();
  const size_t parts = std::clamp<size_t>(count / kSmallest, 1, size_t{8} * base::worker_count());
  std::vector<Rows> made(parts);
  base::parallel_for(parts, [&](size_t part) {
    RowMaker(code, pieces, made[part]).make(count * part / parts, count * (part + 1) / parts);
  });
  return made;
}

// Where a part's rows come to lie in the table.
struct Placed {
  const Rows* rows = nullptr;
  size_t skipped = 0;  // rows at the beginning, because the row before them says the same
  size_t first = 0;
  std::vector<uint16_t> places;  // of the part's rules, in the table's
};

std::vector<Placed> place(const std::vector<Rows>& parts, FrameRows& table) {
  RuleSet set;
  std::vector<Placed> placed;
  uint16_t last = RuleSet::kNone;
  for (const Rows& rows : parts) {
    if (rows.starts.empty()) continue;
    Placed part;
    part.rows = &rows;
    part.first = table.rows;
    for (const auto& rule : rows.set.rules()) part.places.push_back(set.place_of(rule));
    part.skipped = !placed.empty() && part.places[rows.rules.front()] == last ? 1 : 0;
    table.rows += rows.starts.size() - part.skipped;
    last = part.places[rows.rules.back()];
    placed.push_back(std::move(part));
  }
  table.rules = set.take();
  return placed;
}

void put_row(FrameRows& table, size_t row, uint32_t start, uint16_t rule) {
  auto& block = table.blocks[row / TEPHRA_FRAME_BLOCK_ROWS];
  block.start[row % TEPHRA_FRAME_BLOCK_ROWS] = start;
  block.rule[row % TEPHRA_FRAME_BLOCK_ROWS] = rule;
}

uint64_t copy_rows(const Placed& part, FrameRows& table) {
  uint64_t unsupported = 0;
  size_t row = part.first;
  for (size_t i = part.skipped; i < part.rows->starts.size(); ++i, ++row) {
    const uint16_t rule = part.places[part.rows->rules[i]];
    put_row(table, row, part.rows->starts[i], rule);
    unsupported += rule == RuleSet::kUnsupported ? 1 : 0;
  }
  return unsupported;
}

void fill_blocks(const std::vector<Placed>& parts, FrameRows& table) {
  constexpr size_t kRows = TEPHRA_FRAME_BLOCK_ROWS;
  table.blocks.resize((table.rows + kRows - 1) / kRows);
  std::vector<uint64_t> unsupported(parts.size());
  base::parallel_for(parts.size(), [&](size_t part) { unsupported[part] = copy_rows(parts[part], table); });
  for (const uint64_t count : unsupported) table.unsupported_rows += count;
  if (table.rows == 0) return;
  const auto& last = table.blocks.back();
  const size_t last_row = (table.rows - 1) % kRows;
  for (size_t row = table.rows; row % kRows != 0; ++row) put_row(table, row, last.start[last_row], last.rule[last_row]);
}

void count_code(const FramePieces& pieces, FrameRows& table) {
  for (const auto& code : pieces.code()) table.code_bytes += code.size;
  for (const FramePiece& piece : pieces.pieces()) table.described_bytes += piece.to - piece.from;
  table.functions = pieces.pieces().size();
  table.discarded = pieces.discarded;
  table.beyond_reach = pieces.beyond_reach;
  table.damaged += pieces.damaged;
}

bool has_rules(uint16_t machine) { return machine == EM_X86_64 || machine == EM_AARCH64; }

void compile(const CodeSource& code, const FramePieces& pieces, FrameRows& table) {
  const std::vector<Rows> parts = make_parts(code, pieces);
  for (const Rows& rows : parts) table.damaged += rows.damaged;
  fill_blocks(place(parts, table), table);
  count_code(pieces, table);
}

}  // namespace

FrameRows build_frame_rows(const ElfFile& elf, const ElfFile* debug_file) {
  FrameRows table;
  if (!elf.is_64bit() || !has_rules(elf.machine())) return table;
  FramePieces pieces(elf);
  pieces.add(eh_frame_of(elf));
  const DebugFrame own_debug_frame(elf);
  pieces.add(own_debug_frame.section());
  const auto debug_frame = debug_file == nullptr ? nullptr : std::make_unique<const DebugFrame>(*debug_file);
  if (debug_frame) pieces.add(debug_frame->section());
  add_known_stubs(elf, pieces);
  compile({elf.machine(), &elf}, pieces, table);
  return table;
}

FrameRows build_frame_rows(const CodeInMemory& code, const CfiSection& frames) {
  FrameRows table;
  if (!has_rules(code.machine)) return table;
  const uint64_t size = std::min(code.size, UINT64_MAX - code.address);
  FramePieces pieces(code.machine, {.address = code.address, .offset = 0, .size = size});
  pieces.add(frames);
  compile({code.machine}, pieces, table);
  return table;
}

bool lacks_call_frames(const FrameRows& rows) {
  constexpr uint64_t kLittle = 4096;
  const uint64_t lacking = rows.code_bytes - std::min(rows.code_bytes, rows.described_bytes);
  return lacking > kLittle && lacking > rows.code_bytes / 8;
}

}  // namespace tephra::objects
