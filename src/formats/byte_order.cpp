#include "formats/byte_order.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/number_hash.h"
#include "formats/perf_data_features.h"
#include "stream/records.h"

namespace tephra::formats {
namespace {

using base::Bytes;
using stream::EventLayout;

constexpr std::string_view kMagic = "PERFILE2";
constexpr size_t kHeaderSize = 104;
constexpr size_t kPipeHeaderSize = 16;
constexpr size_t kFeatureWords = 72;  // where the header has the bits of features
constexpr uint16_t kMiscMmapBuildId = 1 << 14;
constexpr uint64_t kBranchHwIndex = 1u << 17;

// Swaps numbers in place. What lies outside the file ends the work: the rest is left, and readers find it damaged.
class Cursor {
 public:
  Cursor(std::string& bytes, size_t at, size_t end) : bytes_(bytes), at_(at), end_(std::min(end, bytes.size())) {
    ok_ = at_ <= end_;
  }

  template <std::unsigned_integral T>
  T swap() {
    if (!room(sizeof(T))) return 0;
    T value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
    std::memcpy(bytes_.data() + at_, &value, sizeof value);
    at_ += sizeof value;
    return value;
  }
  uint16_t u16() { return swap<uint16_t>(); }
  uint32_t u32() { return swap<uint32_t>(); }
  uint64_t u64() { return swap<uint64_t>(); }
  void words(uint64_t count) {
    for (; count > 0 && ok_; --count) u64();
  }
  // All whole words that are left.
  void rest() {
    while (ok_ && end_ - at_ >= 8) u64();
  }
  void skip(uint64_t count) {
    if (room(count)) at_ += count;
  }
  // Flags that C declares as single bits, which big-endian compilers number from the other end of each byte.
  void bit_fields(size_t bytes) {
    if (!room(bytes)) return;
    for (; bytes > 0; --bytes, ++at_) {
      auto value = static_cast<unsigned char>(bytes_[at_]);
      value = static_cast<unsigned char>((value & 0xf0) >> 4 | (value & 0x0f) << 4);
      value = static_cast<unsigned char>((value & 0xcc) >> 2 | (value & 0x33) << 2);
      value = static_cast<unsigned char>((value & 0xaa) >> 1 | (value & 0x55) << 1);
      bytes_[at_] = static_cast<char>(value);
    }
  }
  // A branch's: fields of more than a bit keep the order of their own.
  void branch_flags() {
    const size_t place = at_;
    const uint64_t value = u64();
    if (!ok_) return;
    const uint64_t flags = (value >> 63 & 1) | (value >> 62 & 1) << 1 | (value >> 61 & 1) << 2 |
                           (value >> 60 & 1) << 3 | (value >> 44 & 0xffff) << 4 | (value >> 40 & 0xf) << 20;
    std::memcpy(bytes_.data() + place, &flags, sizeof flags);
  }

  bool ok() const { return ok_; }
  bool at_end() const { return at_ >= end_; }
  size_t at() const { return at_; }
  size_t end() const { return end_; }

 private:
  bool room(uint64_t count) {
    ok_ = ok_ && count <= end_ - at_;
    return ok_;
  }

  std::string& bytes_;
  size_t at_;
  size_t end_;
  bool ok_ = true;
};

class Swapper {
 public:
  explicit Swapper(Bytes file) : out_(base::as_text(file)) {}

  base::Result<std::string> swap() && {
    std::copy(kMagic.begin(), kMagic.end(), out_.begin());
    Cursor header(out_, kMagic.size(), out_.size());
    if (header.u64() == kPipeHeaderSize) {
      records(kPipeHeaderSize, out_.size());
    } else {
      swap_file(header);
    }
    if (compressed_) {
      return base::failed("cannot read", "", "the recording is compressed, and of a machine with the other byte order");
    }
    return std::move(out_);
  }

 private:
  void swap_file(Cursor& header) {
    const uint64_t entry_size = header.u64();
    const uint64_t attributes = header.u64();
    const uint64_t attributes_size = header.u64();
    const uint64_t data = header.u64();
    const uint64_t data_size = header.u64();
    header.words(2);
    header.words(4);  // the bits of features
    if (!header.ok() || out_.size() < kHeaderSize || entry_size < 16) return;
    const uint64_t end = std::min<uint64_t>(attributes + attributes_size, out_.size());
    for (uint64_t at = attributes; at < end && entry_size <= end - at; at += entry_size) {
      attribute_entry(at, entry_size);
    }
    if (data > out_.size()) return;
    const uint64_t data_end = data_size > out_.size() - data ? out_.size() : data + data_size;
    records(data, data_size == 0 ? out_.size() : data_end);
    if (data_size != 0 && data_end == data + data_size) features(data_end);
  }

  void attribute_entry(uint64_t at, uint64_t size) {
    attribute(at, size - 16);
    Cursor section(out_, at + size - 16, at + size);
    const uint64_t offset = section.u64();
    const uint64_t bytes = section.u64();
    // Lists that overlap, as a damaged file may have them, must not be swapped back.
    if (offset > out_.size() || bytes > out_.size() - offset || offset < ids_end_)
      return add_event(at, size - 16, 0, 0);
    ids_end_ = offset + bytes;
    Cursor(out_, offset, offset + bytes).rest();
    add_event(at, size - 16, offset, bytes);
  }

  void attribute(uint64_t at, uint64_t size) {
    Cursor attr(out_, at, at + size);
    attr.u32();
    attr.u32();
    attr.words(4);
    attr.bit_fields(8);
    attr.u32();
    attr.u32();
    attr.words(4);
    attr.u32();  // sample_stack_user
    attr.u32();  // clockid
    attr.u64();
    attr.u32();  // aux_watermark
    attr.u16();  // sample_max_stack
    attr.u16();
    attr.u32();
    attr.u32();
    attr.rest();
  }

  void add_event(uint64_t at, uint64_t size, uint64_t ids, uint64_t ids_size) {
    if (at > out_.size() || size > out_.size() - at) return;
    const Bytes all = base::as_bytes(out_);
    layouts_.push_back(read_attribute(all.subspan(at, size)));
    base::ByteReader reader(all.subspan(ids, ids_size));
    while (reader.remaining() >= 8) event_by_id_.emplace(reader.u64(), layouts_.size() - 1);
  }

  void records(uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; end - at >= stream::kRecordHeaderSize;) {
      Cursor header(out_, at, end);
      const uint32_t type = header.u32();
      const uint16_t misc = header.u16();
      const uint16_t size = header.u16();
      if (size < stream::kRecordHeaderSize || size > end - at) return;
      record(type, misc, at + stream::kRecordHeaderSize, at + size);
      stream::Record whole{type, misc, base::as_bytes(out_).subspan(at, size)};
      at += size;
      if (type == stream::kRecordAuxtrace || type == stream::kRecordTracingData) {
        const uint64_t payload = stream::payload_size(whole);
        if (payload > end - at) return;
        at += payload;
      }
    }
  }

  void record(uint32_t type, uint16_t misc, size_t at, size_t end) {
    if (type == PERF_RECORD_SAMPLE) return sample(at, end);
    const bool from_kernel = type < stream::kRecordHeaderAttr;
    if (from_kernel) end = trailer(at, end);
    Cursor body(out_, at, end);
    switch (type) {
      case PERF_RECORD_MMAP:
      case PERF_RECORD_MMAP2:
        mapping(body, type == PERF_RECORD_MMAP2, misc);
        break;
      case PERF_RECORD_COMM:
      case PERF_RECORD_SWITCH_CPU_WIDE:
        body.u32(), body.u32();
        break;
      case PERF_RECORD_FORK:
      case PERF_RECORD_EXIT:
        for (int i = 0; i < 4; ++i) body.u32();
        body.u64();
        break;
      case PERF_RECORD_LOST:
      case PERF_RECORD_LOST_SAMPLES:
      case PERF_RECORD_THROTTLE:
      case PERF_RECORD_UNTHROTTLE:
        body.rest();
        break;
      case PERF_RECORD_KSYMBOL:
        body.u64(), body.u32(), body.u16(), body.u16();
        break;
      default:
        user_record(type, body);
    }
  }

  static void mapping(Cursor& body, bool second, uint16_t misc) {
    body.u32(), body.u32();
    body.words(3);
    if (!second) return;
    if (misc & kMiscMmapBuildId) {
      body.skip(24);
    } else {
      body.u32(), body.u32();
      body.words(2);
    }
    body.u32(), body.u32();
  }

  void user_record(uint32_t type, Cursor& body) {
    switch (type) {
      case stream::kRecordHeaderAttr: {
        const size_t at = body.at();
        Cursor size_field(out_, at + 4, body.end());
        const uint32_t size = std::max<uint32_t>(size_field.u32(), PERF_ATTR_SIZE_VER0);
        if (!size_field.ok() || size > body.end() - at) return;
        Cursor(out_, at + 4, body.end()).u32();  // as it was: attribute() swaps it with the rest
        attribute(at, size);
        Cursor(out_, at + size, body.end()).rest();
        add_event(at, size, at + size, body.end() - at - size);
        break;
      }
      case stream::kRecordEventUpdate:
        body.words(2);
        break;
      case stream::kRecordHeaderFeature: {
        const uint64_t feature = body.u64();
        if (body.ok()) section(feature, body.at(), body.end());
        break;
      }
      case stream::kRecordTracingData:
      case stream::kRecordBuildId:
        body.u32();
        break;
      case stream::kRecordAuxtrace:
        body.u64();
        break;
      case stream::kRecordCompressed:
      case stream::kRecordCompressed2:
        compressed_ = true;
        break;
      default:
        break;
    }
  }

  static bool has(const EventLayout& layout, uint64_t field) { return (layout.sample_type & field) != 0; }

  // Swaps the fields that sample_id_all adds, and returns where they begin.
  size_t trailer(size_t at, size_t end) {
    if (layouts_.empty() || !layouts_[0].sample_id_all) return end;
    const EventLayout& layout = layouts_[0];
    constexpr uint64_t kFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
    const auto size = static_cast<size_t>(std::popcount(layout.sample_type & kFields)) * 8;
    if (size > end - at) return end;
    Cursor fields(out_, end - size, end);
    if (has(layout, PERF_SAMPLE_TID)) fields.u32(), fields.u32();
    for (const uint64_t field :
         {uint64_t{PERF_SAMPLE_TIME}, uint64_t{PERF_SAMPLE_ID}, uint64_t{PERF_SAMPLE_STREAM_ID}}) {
      if (has(layout, field)) fields.u64();
    }
    if (has(layout, PERF_SAMPLE_CPU)) fields.u32(), fields.u32();
    fields.rest();
    return end - size;
  }

  // The layout of a sample whose fields are not swapped yet.
  const EventLayout& layout_of(size_t at, size_t end) const {
    const EventLayout& first = layouts_[0];
    uint64_t before = 0;
    if (has(first, PERF_SAMPLE_IDENTIFIER)) {
      before = 0;
    } else if (has(first, PERF_SAMPLE_ID)) {
      constexpr uint64_t kBefore = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR;
      before = static_cast<uint64_t>(std::popcount(first.sample_type & kBefore)) * 8;
    } else {
      return first;
    }
    if (end - at < before + 8) return first;
    const auto id = __builtin_bswap64(base::load<uint64_t>(base::as_bytes(out_).data() + at + before));
    const auto found = event_by_id_.find(id);
    return found == event_by_id_.end() ? first : layouts_[found->second];
  }

  void sample(size_t at, size_t end) {
    if (layouts_.empty()) return;
    const EventLayout layout = layout_of(at, end);
    Cursor body(out_, at, end);
    if (has(layout, PERF_SAMPLE_IDENTIFIER)) body.u64();
    if (has(layout, PERF_SAMPLE_IP)) body.u64();
    if (has(layout, PERF_SAMPLE_TID)) body.u32(), body.u32();
    for (const uint64_t field : {uint64_t{PERF_SAMPLE_TIME}, uint64_t{PERF_SAMPLE_ADDR}, uint64_t{PERF_SAMPLE_ID},
                                 uint64_t{PERF_SAMPLE_STREAM_ID}}) {
      if (has(layout, field)) body.u64();
    }
    if (has(layout, PERF_SAMPLE_CPU)) body.u32(), body.u32();
    if (has(layout, PERF_SAMPLE_PERIOD)) body.u64();
    if (has(layout, PERF_SAMPLE_READ)) read_values(body, layout.read_format);
    if (has(layout, PERF_SAMPLE_CALLCHAIN)) body.words(body.u64());
    if (has(layout, PERF_SAMPLE_RAW)) body.skip(body.u32());
    if (has(layout, PERF_SAMPLE_BRANCH_STACK)) branches(body, layout.branch_sample_type);
    if (has(layout, PERF_SAMPLE_REGS_USER) && body.u64() != 0) {
      body.words(static_cast<uint64_t>(std::popcount(layout.sample_regs_user)));
    }
    if (has(layout, PERF_SAMPLE_STACK_USER)) {
      const uint64_t size = body.u64();
      body.skip(size);
      if (size != 0) body.u64();
    }
    body.rest();
  }

  static void read_values(Cursor& body, uint64_t format) {
    constexpr uint64_t kLost = 1u << 4;
    const auto times = static_cast<uint64_t>(
        std::popcount(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)));
    const auto each = 1 + static_cast<uint64_t>(std::popcount(format & (PERF_FORMAT_ID | kLost)));
    const uint64_t members = format & PERF_FORMAT_GROUP ? body.u64() : 1;
    body.words(times);
    for (uint64_t i = 0; i < members && body.ok() && !body.at_end(); ++i) body.words(each);
  }

  static void branches(Cursor& body, uint64_t type) {
    const uint64_t count = body.u64();
    if (type & kBranchHwIndex) body.u64();
    for (uint64_t i = 0; i < count && body.ok() && !body.at_end(); ++i) {
      body.words(2);
      body.branch_flags();
    }
  }

  void features(uint64_t table_at) {
    Cursor table(out_, table_at, out_.size());
    uint64_t sections_from = 0;  // sections do not overlap; what would be swapped twice is left
    for (uint32_t feature = 0; feature < stream::kFeatureBits; ++feature) {
      const auto bits = static_cast<unsigned char>(out_[kFeatureWords + feature / 8]);
      if (!(bits >> (feature % 8) & 1)) continue;
      const uint64_t offset = table.u64();
      const uint64_t size = table.u64();
      if (!table.ok()) return;
      if (offset < sections_from || offset > out_.size() || size > out_.size() - offset) continue;
      if (sections_from == 0 && offset < table_at) continue;
      sections_from = offset + size;
      section(feature, offset, offset + size);
    }
  }

  void text(Cursor& body) { body.skip(body.u32()); }

  void section(uint64_t feature, size_t at, size_t end) {
    Cursor body(out_, at, end);
    switch (feature) {
      case stream::kFeatureHostname:
      case stream::kFeatureOsRelease:
      case stream::kFeatureVersion:
      case stream::kFeatureArch:
        text(body);
        break;
      case stream::kFeatureCommandLine:
        for (uint32_t left = body.u32(); left > 0 && body.ok() && !body.at_end(); --left) text(body);
        break;
      case stream::kFeatureEventDescription:
        event_descriptions(body);
        break;
      case stream::kFeatureBuildId:
        build_ids(at, end);
        break;
      default:
        break;  // not read
    }
  }

  void event_descriptions(Cursor& body) {
    const uint32_t count = body.u32();
    const uint32_t size = body.u32();
    for (uint32_t i = 0; i < count && body.ok() && !body.at_end(); ++i) {
      body.skip(size);  // as in the attributes, which are read
      const uint32_t ids = body.u32();
      text(body);
      body.words(ids);
    }
  }

  void build_ids(size_t at, size_t end) {
    while (end - at >= stream::kRecordHeaderSize + 4) {
      Cursor header(out_, at, end);
      header.u32();
      header.u16();
      const uint16_t size = header.u16();
      header.u32();  // the process
      if (size < stream::kRecordHeaderSize || size > end - at) return;
      at += size;
    }
  }

  std::string out_;
  std::vector<EventLayout> layouts_;
  std::unordered_map<uint64_t, size_t, base::NumberHash> event_by_id_;
  uint64_t ids_end_ = 0;
  bool compressed_ = false;
};

}  // namespace

base::Result<std::string> in_host_order(Bytes file) {
  if (file.size() < kPipeHeaderSize) return base::failed("cannot read", "", "the perf.data header is truncated");
  return Swapper(file).swap();
}

}  // namespace tephra::formats
