#include "objects/line_rows.h"

#include <dwarf.h>

#include <algorithm>

#include "objects/leb128.h"

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;

class LineProgram {
 public:
  explicit LineProgram(const LoadedCode& code) : code_(code) {}

  // Reads up to where the instructions begin; what is between is tables of files, which libdw knows.
  bool read_header(Bytes section) {
    ByteReader reader(section);
    uint64_t length = reader.u32();
    const bool is_wide = length == UINT32_MAX;
    if (is_wide) length = reader.u64();
    const Bytes unit = reader.bytes(length);
    reader = ByteReader(unit);
    const uint16_t version = reader.u16();
    if (version < 2 || version > 5) return false;
    if (version >= 5) reader.skip(2);  // the sizes of addresses and of segment selectors
    const uint64_t header_length = is_wide ? reader.u64() : reader.u32();
    const uint64_t begin = reader.position() + header_length;
    instruction_size_ = reader.u8();
    if (version >= 4 && reader.u8() != 1) return false;  // several operations an instruction: no machine of ours
    reader.skip(1);
    line_base_ = reader.read<int8_t>();
    line_range_ = reader.u8();
    first_special_ = reader.u8();
    if (first_special_ == 0 || line_range_ == 0) return false;
    operand_counts_ = reader.bytes(first_special_ - 1u);
    if (!reader.ok() || header_length > unit.size() || begin > unit.size()) return false;
    instructions_ = unit.subspan(begin);
    return true;
  }

  bool run() {
    ByteReader reader(instructions_);
    while (reader.ok() && !reader.at_end()) {
      const uint8_t code = reader.u8();
      if (code >= first_special_) {
        advance(code - first_special_);
        row_.line += static_cast<uint32_t>(line_base_ + (code - first_special_) % line_range_);
        rows_.push_back(row_);
      } else if (code == 0) {
        extended(reader);
      } else {
        standard(reader, code);
      }
    }
    end_sequence();
    return reader.ok();
  }

  std::vector<LineRow> take() && {
    // A run that ends where another begins comes first.
    std::ranges::stable_sort(rows_, [](const LineRow& a, const LineRow& b) {
      return a.address != b.address ? a.address < b.address : a.ends && !b.ends;
    });
    return std::move(rows_);
  }

 private:
  static LineRow initial() { return {.address = 0, .file = 1, .line = 1}; }

  void advance(uint64_t special) { row_.address += special / line_range_ * instruction_size_; }

  void end_sequence() {
    if (sequence_begin_ < rows_.size() && !code_.may_begin_at(rows_[sequence_begin_].address)) {
      rows_.resize(sequence_begin_);
    }
    sequence_begin_ = rows_.size();
    row_ = initial();
  }

  void extended(ByteReader& reader) {
    const uint64_t size = read_uleb(reader);
    ByteReader operand(reader.bytes(size));
    const uint8_t code = operand.u8();
    if (code == DW_LNE_end_sequence) {
      row_.ends = true;
      rows_.push_back(row_);
      end_sequence();
    } else if (code == DW_LNE_set_address) {
      row_.address = operand.remaining() >= 8 ? operand.u64() : operand.u32();
    }
  }

  void standard(ByteReader& reader, uint8_t code) {
    switch (code) {
      case DW_LNS_copy:
        return rows_.push_back(row_);
      case DW_LNS_advance_pc:
        row_.address += read_uleb(reader) * instruction_size_;
        return;
      case DW_LNS_advance_line:
        row_.line += static_cast<uint32_t>(read_sleb(reader));
        return;
      case DW_LNS_set_file:
        row_.file = read_uleb(reader);
        return;
      case DW_LNS_const_add_pc:
        return advance(255u - first_special_);
      case DW_LNS_fixed_advance_pc:
        row_.address += reader.u16();
        return;
      default:
        for (auto left = static_cast<unsigned>(operand_counts_[code - 1u]); left > 0; --left) read_uleb(reader);
    }
  }

  const LoadedCode& code_;
  uint64_t instruction_size_ = 1;
  int line_base_ = 0;
  unsigned line_range_ = 1;
  unsigned first_special_ = 1;
  Bytes operand_counts_;
  Bytes instructions_;
  LineRow row_ = initial();
  size_t sequence_begin_ = 0;
  std::vector<LineRow> rows_;
};

}  // namespace

std::optional<std::vector<LineRow>> read_line_rows(Bytes section, uint64_t offset, const LoadedCode& code) {
  if (offset >= section.size()) return std::nullopt;
  LineProgram program(code);
  if (!program.read_header(section.subspan(offset)) || !program.run()) return std::nullopt;
  return std::move(program).take();
}

}  // namespace tephra::objects
