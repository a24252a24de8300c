#include "stream/embedded_names.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/zstd_stream.h"
#include "objects/leb128.h"
#include "stream/checksum.h"

namespace tephra::stream {
namespace {

using base::ByteReader;
using base::Bytes;
using model::EmbeddedNames;
using model::StringId;
using objects::read_uleb;

constexpr std::string_view kMagic = "TPHNAMES";
constexpr uint32_t kVersion = 2;
constexpr uint32_t kPacked = 1;  // a flag: the blocks are one zstd stream
constexpr size_t kHeaderBytes = 32;
constexpr size_t kPackFrom = 4096;  // bytes
constexpr int kPackLevel = 3;
// What a compressed section may unpack to, at most. What would be packed more tightly is written as it is.
constexpr size_t kMostBytes = size_t{256} << 20;
constexpr size_t kMostRatio = 32;

enum Block : uint32_t {
  kBlockStrings = 1,
  kBlockModules = 2,
  kBlockChains = 3,
  kBlockWalks = 4,
  kBlockFlags = 5,
};
constexpr uint64_t kInlinesCut = 1;

// Bits of a row's first number.
enum RowBits : uint64_t {
  kRowReturn = 1,
  kRowNamed = 2,
  kRowHasReason = 4,
  kRowFactsShift = 3,
};

// Kinds of code by their numbers in files: append only.
constexpr std::array kKinds{model::CodeKind::kNone,      model::CodeKind::kFile,       model::CodeKind::kVdso,
                            model::CodeKind::kAnonymous, model::CodeKind::kKernel,     model::CodeKind::kKernelModule,
                            model::CodeKind::kJit,       model::CodeKind::kKernelCode, model::CodeKind::kImported};

class Writer {
 public:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  // A difference to a number before, which may be negative.
  void step(uint64_t from, uint64_t to) {
    const auto difference = static_cast<int64_t>(to - from);
    number(static_cast<uint64_t>(difference) << 1 ^ static_cast<uint64_t>(difference >> 63));
  }
  void text(std::string_view text) {
    number(text.size());
    out_ += text;
  }
  void raw(Bytes bytes) { text(base::as_text(bytes)); }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_block(std::string& out, Block kind, const Writer& content) {
  put(out, static_cast<uint32_t>(kind));
  put(out, static_cast<uint64_t>(content.bytes().size()));
  out += content.bytes();
}

Writer print_strings(const EmbeddedNames& names) {
  Writer out;
  out.number(names.strings.size());
  for (uint32_t i = 0; i < names.strings.size(); ++i) out.text(names.strings[StringId{i}]);
  return out;
}

void print_row(Writer& out, const EmbeddedNames& names, const EmbeddedNames::Row& row, uint64_t& last_address) {
  uint64_t flags = uint64_t{row.facts} << kRowFactsShift;
  if (row.kind == model::AddressKind::kReturn) flags |= kRowReturn;
  if (row.named) flags |= kRowNamed;
  if (row.reason) flags |= kRowHasReason;
  out.number(flags);
  out.step(last_address, row.address);
  last_address = row.address;
  if (row.reason) out.text(model::kReasonNames[static_cast<size_t>(*row.reason)]);
  out.number(row.symbol_offset);
  out.number(row.level_count);
  for (uint32_t i = 0; i < row.level_count; ++i) {
    const EmbeddedNames::Level& level = names.levels[row.first_level + i];
    out.number(level.name.value);
    out.number(level.system_name.value);
    out.number(level.file.value);
    out.number(level.line);
  }
}

Writer print_modules(const EmbeddedNames& names) {
  Writer out;
  out.number(names.modules.size());
  for (const EmbeddedNames::Module& module : names.modules) {
    const model::Mapping& mapping = module.mapping;
    out.number(mapping.path.value);
    out.raw(mapping.build_id.bytes());
    for (const uint64_t part : {mapping.file.device, mapping.file.inode, mapping.file.generation}) out.number(part);
    out.number(static_cast<uint64_t>(std::ranges::find(kKinds, mapping.kind) - kKinds.begin()));
    out.number(mapping.base);
    out.number(static_cast<uint32_t>(mapping.pid));
    out.number(module.has_lines ? 1 : 0);
    out.number(module.row_count);
    uint64_t last_address = 0;
    for (uint32_t i = 0; i < module.row_count; ++i) {
      print_row(out, names, names.rows[module.first_row + i], last_address);
    }
  }
  return out;
}

// Callers are close to each other in memory, and the outer part of a chain is often that of the chain before.
Writer print_chains(const RecordedWalks& walks) {
  Writer out;
  out.number(walks.chain_count());
  uint64_t last = 0;
  for (uint32_t i = 0; i < walks.chain_count(); ++i) {
    const RecordedWalks::Chain chain = walks.chain(i);
    out.number(chain.end.byte());
    out.number(chain.addresses.size());
    for (const uint64_t address : chain.addresses) {
      out.step(last, address);
      last = address;
    }
  }
  return out;
}

Writer print_walks(const RecordedWalks& walks) {
  Writer out;
  out.number(walks.walks().size());
  uint64_t last = 0;
  for (const RecordedWalks::Walk& walk : walks.walks()) {
    out.number(walk.position - last);
    out.number(walk.chain);
    last = walk.position;
  }
  return out;
}

// Reads what Writer wrote. A count is believed only as far as the bytes that are left could hold.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  bool ok() const { return bytes_.ok(); }
  uint64_t number() { return read_uleb(bytes_); }
  template <class T>
  T small() {
    const uint64_t value = number();
    if (value > std::numeric_limits<T>::max()) bytes_.fail();
    return static_cast<T>(value);
  }
  uint64_t step(uint64_t from) {
    const uint64_t value = number();
    return from + (value >> 1 ^ (~(value & 1) + 1));
  }
  // How many things follow, of at least `least_bytes` each.
  uint64_t count(size_t least_bytes) {
    const uint64_t value = number();
    if (value > bytes_.remaining() / least_bytes) bytes_.fail();
    return ok() ? value : 0;
  }
  std::string_view text() {
    const uint64_t size = number();
    if (size > bytes_.remaining()) bytes_.fail();
    return ok() ? base::as_text(bytes_.bytes(size)) : std::string_view();
  }
  void fail() { bytes_.fail(); }

 private:
  ByteReader bytes_;
};

// The blocks of a section.
class SectionParser {
 public:
  bool parse(Bytes blocks) {
    ByteReader reader(blocks);
    while (reader.ok() && !reader.at_end()) {
      const uint32_t kind = reader.u32();
      const uint64_t size = reader.u64();
      if (!reader.ok() || size > reader.remaining()) return false;
      if (!block(kind, reader.bytes(size))) return false;
    }
    section_.walks.finish();
    return reader.ok();
  }
  EmbeddedSection take() && { return std::move(section_); }

 private:
  bool block(uint32_t kind, Bytes content) {
    Reader reader(content);
    switch (kind) {
      case kBlockStrings:
        strings(reader);
        break;
      case kBlockModules:
        modules(reader);
        break;
      case kBlockChains:
        chains(reader);
        break;
      case kBlockWalks:
        walks(reader);
        break;
      case kBlockFlags:
        section_.names.inlines_cut = (reader.number() & kInlinesCut) != 0;
        break;
      default:
        return true;
    }
    return reader.ok();
  }

  void strings(Reader& reader) {
    for (uint64_t left = reader.count(1); left > 0 && reader.ok(); --left) {
      texts_.push_back(section_.names.strings.add(reader.text()));
    }
  }

  StringId text(Reader& reader) {
    const uint64_t at = reader.number();
    if (at < texts_.size()) return texts_[at];
    if (at != 0) reader.fail();
    return {};
  }

  void modules(Reader& reader) {
    EmbeddedNames& names = section_.names;
    for (uint64_t left = reader.count(10); left > 0 && reader.ok(); --left) {
      EmbeddedNames::Module module;
      model::Mapping& mapping = module.mapping;
      mapping.path = text(reader);
      mapping.build_id = model::BuildId(base::as_bytes(reader.text()));
      mapping.file.device = reader.number();
      mapping.file.inode = reader.number();
      mapping.file.generation = reader.number();
      // One of a later version matches no mapping that we know.
      const uint64_t kind = reader.number();
      mapping.kind = kind < kKinds.size() ? kKinds[kind] : model::CodeKind::kNone;
      mapping.base = reader.number();
      mapping.pid = static_cast<int32_t>(reader.small<uint32_t>());
      module.has_lines = reader.number() != 0;
      module.first_row = static_cast<uint32_t>(names.rows.size());
      rows(reader);
      module.row_count = static_cast<uint32_t>(names.rows.size() - module.first_row);
      if (reader.ok()) names.modules.push_back(module);
    }
  }

  void rows(Reader& reader) {
    EmbeddedNames& names = section_.names;
    const size_t first = names.rows.size();
    uint64_t last_address = 0;
    for (uint64_t left = reader.count(8); left > 0 && reader.ok(); --left) {
      EmbeddedNames::Row row;
      const uint64_t bits = reader.number();
      row.kind = bits & kRowReturn ? model::AddressKind::kReturn : model::AddressKind::kInstruction;
      row.named = (bits & kRowNamed) != 0;
      row.facts = static_cast<uint8_t>(bits >> kRowFactsShift);
      last_address = row.address = reader.step(last_address);
      if (bits & kRowHasReason) row.reason = reason(reader.text());
      row.symbol_offset = reader.small<uint32_t>();
      row.first_level = static_cast<uint32_t>(names.levels.size());
      row.level_count = static_cast<uint32_t>(reader.count(4));
      if (row.level_count == 0) reader.fail();
      for (uint32_t i = 0; i < row.level_count && reader.ok(); ++i) {
        EmbeddedNames::Level level;
        level.name = text(reader);
        level.system_name = text(reader);
        level.file = text(reader);
        level.line = reader.small<uint32_t>();
        names.levels.push_back(level);
      }
      // What is not sorted could not be found.
      if (names.rows.size() > first && !before(names.rows.back(), row)) reader.fail();
      names.rows.push_back(row);
    }
  }

  static bool before(const EmbeddedNames::Row& a, const EmbeddedNames::Row& b) {
    return std::pair(a.address, a.kind) < std::pair(b.address, b.kind);
  }

  // A reason of another version is as good as none that we can print.
  static std::optional<model::Reason> reason(std::string_view name) {
    const auto at = std::ranges::find(model::kReasonNames, name);
    if (at == model::kReasonNames.end()) return std::nullopt;
    return static_cast<model::Reason>(at - model::kReasonNames.begin());
  }

  void chains(Reader& reader) {
    std::vector<uint64_t> addresses;
    uint64_t last = 0;
    for (uint64_t left = reader.count(2); left > 0 && reader.ok(); --left) {
      const WalkEnd end = WalkEnd::of_byte(reader.number());
      addresses.clear();
      for (uint64_t more = reader.count(1); more > 0 && reader.ok(); --more) {
        last = reader.step(last);
        addresses.push_back(last);
      }
      section_.walks.add_chain(addresses, end);
    }
  }

  void walks(Reader& reader) {
    uint64_t position = 0;
    for (uint64_t left = reader.count(2); left > 0 && reader.ok(); --left) {
      position += reader.number();
      const auto chain = reader.small<uint32_t>();
      if (chain >= section_.walks.chain_count()) reader.fail();
      if (reader.ok()) section_.walks.add_walk(position, chain);
    }
  }

  EmbeddedSection section_;
  std::vector<StringId> texts_;
};

uint64_t checksum(uint32_t flags, Bytes blocks) {
  Checksum sum;
  sum.add(flags);
  sum.add(blocks);
  return sum.value();
}

// Nothing where packing is of no use, or a reader would take the result for an attack.
base::Result<std::string> pack(const std::string& blocks) {
  std::string packed;
  if (blocks.size() < kPackFrom) return packed;
  base::ZstdCompressor packer(kPackLevel);
  TEPHRA_CHECK_OK(packer.compress(base::as_bytes(blocks), packed));
  TEPHRA_CHECK_OK(packer.flush(packed));
  if (blocks.size() > kMostBytes || blocks.size() / kMostRatio > packed.size()) packed.clear();
  return packed;
}

}  // namespace

base::Result<std::string> print_section(const EmbeddedSection& section) {
  std::string blocks;
  put_block(blocks, kBlockStrings, print_strings(section.names));
  put_block(blocks, kBlockModules, print_modules(section.names));
  put_block(blocks, kBlockChains, print_chains(section.walks));
  put_block(blocks, kBlockWalks, print_walks(section.walks));
  Writer flags;
  flags.number(section.names.inlines_cut ? kInlinesCut : 0);
  put_block(blocks, kBlockFlags, flags);
  TEPHRA_TRY(const std::string packed, pack(blocks));
  const uint32_t section_flags = packed.empty() ? 0 : kPacked;
  std::string out(kMagic);
  put(out, kVersion);
  put(out, section_flags);
  put(out, static_cast<uint64_t>(blocks.size()));
  put(out, checksum(section_flags, base::as_bytes(blocks)));
  return out + (packed.empty() ? blocks : packed);
}

base::Result<EmbeddedSection> parse_section(Bytes bytes) {
  const auto damaged = [] { return base::failed("cannot read the names in the recording", "", "they are damaged"); };
  if (bytes.size() < kHeaderBytes || !base::as_text(bytes).starts_with(kMagic)) return damaged();
  ByteReader reader(bytes.subspan(kMagic.size()));
  const uint32_t version = reader.u32();
  const uint32_t flags = reader.u32();
  const uint64_t size = reader.u64();
  const uint64_t stated_checksum = reader.u64();
  if (version != kVersion) {
    return base::failed("cannot read the names in the recording", "", "they are of another version of tephra");
  }
  Bytes blocks = reader.bytes(reader.remaining());
  std::string unpacked;
  if (flags & kPacked) {
    if (size > kMostBytes || size / kMostRatio > blocks.size()) return damaged();
    base::ZstdDecompressor unpacker;
    // The limit is looked at before each step, so there is room for the last.
    if (!unpacker.decompress(blocks, unpacked, size + 1)) return damaged();
    blocks = base::as_bytes(unpacked);
  }
  // Sections are padded to whole words.
  if (blocks.size() < size || checksum(flags, blocks.first(size)) != stated_checksum) return damaged();
  SectionParser parser;
  if (!parser.parse(blocks.first(size))) return damaged();
  return std::move(parser).take();
}

}  // namespace tephra::stream
