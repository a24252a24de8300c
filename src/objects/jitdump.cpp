#include "objects/jitdump.h"

#include <dwarf.h>

#include <algorithm>

namespace tephra::objects {
namespace {

using base::ByteReader;
using base::Bytes;
using Kind = JitdumpRecord::Kind;

constexpr uint32_t kMagic = 0x4A695444;
constexpr uint32_t kMagicSwapped = 0x4454694A;
constexpr uint32_t kVersion = 1;
constexpr uint32_t kHeaderSize = 40;
constexpr uint64_t kFlagCpuTime = 1;
constexpr uint32_t kPrefixSize = 16;
constexpr uint32_t kMaxHeader = 4096;

// Numbers in the byte order of a file.
class Numbers {
 public:
  Numbers(Bytes bytes, bool swapped) : reader(bytes), swapped_(swapped) {}

  uint32_t u32() {
    const uint32_t value = reader.u32();
    return swapped_ ? __builtin_bswap32(value) : value;
  }
  uint64_t u64() {
    const uint64_t value = reader.u64();
    return swapped_ ? __builtin_bswap64(value) : value;
  }

  ByteReader reader;

 private:
  bool swapped_;
};

Kind kind_of(uint32_t id) {
  switch (id) {
    case 0:
      return Kind::kLoad;
    case 1:
      return Kind::kMove;
    case 2:
      return Kind::kDebugInfo;
    case 3:
      return Kind::kClose;
    case 4:
      return Kind::kUnwindingInfo;
    default:
      return Kind::kOther;
  }
}

void read_load(Numbers& numbers, JitdumpRecord& record) {
  record.pid = static_cast<int32_t>(numbers.u32());
  record.tid = static_cast<int32_t>(numbers.u32());
  numbers.u64();  // the address at run time again; differs only where code is not run where it was made
  record.address = numbers.u64();
  record.size = numbers.u64();
  record.index = numbers.u64();
  record.name = numbers.reader.c_string();
  const size_t code = std::min<uint64_t>(record.size, numbers.reader.remaining());
  record.code = numbers.reader.bytes(code);
}

void read_move(Numbers& numbers, JitdumpRecord& record) {
  record.pid = static_cast<int32_t>(numbers.u32());
  record.tid = static_cast<int32_t>(numbers.u32());
  numbers.u64();
  record.old_address = numbers.u64();
  record.address = numbers.u64();
  record.size = numbers.u64();
  record.index = numbers.u64();
}

void read_debug_info(Numbers& numbers, JitdumpRecord& record) {
  record.address = numbers.u64();
  record.count = numbers.u64();
  record.lines = numbers.reader.bytes(numbers.reader.remaining());
}

void read_unwinding_info(Numbers& numbers, JitdumpRecord& record) {
  const uint64_t size = numbers.u64();
  record.header_size = numbers.u64();
  numbers.u64();  // how much of it is mapped at run time
  if (size > numbers.reader.remaining() || record.header_size > size) return numbers.reader.fail();
  record.unwinding = numbers.reader.bytes(size);
}

bool read_content(Bytes bytes, bool swapped, JitdumpRecord& record) {
  Numbers numbers(bytes, swapped);
  const uint32_t id = numbers.u32();
  numbers.u32();
  record = {.kind = kind_of(id), .time = numbers.u64(), .bytes = bytes};
  switch (record.kind) {
    case Kind::kLoad:
      read_load(numbers, record);
      break;
    case Kind::kMove:
      read_move(numbers, record);
      break;
    case Kind::kDebugInfo:
      read_debug_info(numbers, record);
      break;
    case Kind::kUnwindingInfo:
      read_unwinding_info(numbers, record);
      break;
    default:
      break;
  }
  return numbers.reader.ok();
}

}  // namespace

std::optional<JitdumpHeader> jitdump_header(Bytes bytes) {
  if (bytes.size() < kHeaderSize) return std::nullopt;
  const auto magic = base::load<uint32_t>(bytes.data());
  if (magic != kMagic && magic != kMagicSwapped) return std::nullopt;
  JitdumpHeader header;
  header.swapped = magic == kMagicSwapped;
  Numbers numbers(bytes, header.swapped);
  numbers.u32();
  const uint32_t version = numbers.u32();
  header.size = numbers.u32();
  header.machine = numbers.u32();
  numbers.u32();
  header.pid = static_cast<int32_t>(numbers.u32());
  header.time = numbers.u64();
  header.cpu_time = numbers.u64() & kFlagCpuTime;
  if (version != kVersion || header.size < kHeaderSize || header.size > kMaxHeader) return std::nullopt;
  return header;
}

bool JitdumpReader::next(JitdumpRecord& record) {
  while (!damaged_) {
    const Bytes rest = bytes_.subspan(position_);
    if (rest.size() < kPrefixSize) return false;
    Numbers numbers(rest, swapped_);
    numbers.u32();
    const uint32_t size = numbers.u32();
    damaged_ = size < kPrefixSize;
    if (damaged_ || size > rest.size()) return false;
    position_ += size;
    if (read_content(rest.first(size), swapped_, record)) return true;
    ++refused_;
  }
  return false;
}

bool JitdumpLines::next(JitdumpLine& line) {
  if (left_ == 0) return false;
  --left_;
  const auto address = reader_.u64();
  const auto number = reader_.u32();
  reader_.skip(4);  // a discriminator
  const std::string_view file = reader_.c_string();
  if (!reader_.ok()) {
    left_ = 0;
    return false;
  }
  // "The same as before" is written so.
  if (file != "\xff") file_ = file;
  line.address = swapped_ ? __builtin_bswap64(address) : address;
  line.line = swapped_ ? __builtin_bswap32(number) : number;
  line.file = file_;
  return true;
}

// Writers have the header at the end (V8, CPython, and perf expects it there) or at the beginning (LLVM, and the
// specification). Some versions of LLVM cut the header, and with it the address, in the middle.
std::optional<JitdumpFrames> JitdumpFrames::of(const JitdumpRecord& record) {
  constexpr uint8_t kHeaderVersion = 1;
  const Bytes all = record.unwinding;
  const uint64_t header_size = std::min<uint64_t>(record.header_size, all.size());
  if (header_size == all.size()) return std::nullopt;
  // .eh_frame begins with the length of an entry, which is a multiple of 4, so that the version tells which it is.
  const bool header_first = header_size > 0 && static_cast<uint8_t>(all.front()) == kHeaderVersion;
  const size_t rest = all.size() - header_size;
  JitdumpFrames frames;
  frames.eh_frame_ = header_first ? all.last(rest) : all.first(rest);
  frames.value_ = header_first ? header_size : 0;
  ByteReader reader(header_first ? all.first(header_size) : all.last(header_size));
  const bool known_version = reader.u8() == kHeaderVersion;
  const uint8_t encoding = reader.u8();
  const bool is_address = encoding == DW_EH_PE_absptr || encoding == DW_EH_PE_udata8 || encoding == DW_EH_PE_sdata8;
  reader.skip(2);
  if (!known_version || !is_address || reader.remaining() < 4) return frames;
  const bool whole = reader.remaining() >= 8;
  frames.place_ = whole ? Place::kTold : Place::kHalfTold;
  frames.value_ = whole ? reader.u64() : reader.u32();
  return frames;
}

uint64_t JitdumpFrames::address(uint64_t code, uint64_t code_size) const {
  switch (place_) {
    case Place::kTold:
      return value_;
    case Place::kHalfTold:
      // The nearest such address: it is within 2 GiB, because it refers to the code by 32 bits.
      return code + static_cast<uint64_t>(int64_t{static_cast<int32_t>(value_ - code)});
    case Place::kBehindCode:
      break;
  }
  return (code + code_size + 7) / 8 * 8 + value_;
}

void append_without_code(const JitdumpRecord& record, bool swapped, std::string& out) {
  size_t size = record.bytes.size();
  if (record.kind == Kind::kLoad) {
    const std::byte* code = reinterpret_cast<const std::byte*>(record.name.data() + record.name.size() + 1);
    size = static_cast<size_t>(code - record.bytes.data());
  }
  const size_t begin = out.size();
  out += base::as_text(record.bytes.first(size));
  const auto stored = static_cast<uint32_t>(size);
  const uint32_t written = swapped ? __builtin_bswap32(stored) : stored;
  std::memcpy(out.data() + begin + 4, &written, sizeof written);
}

}  // namespace tephra::objects
