#include "stream/decoder.h"

#include <algorithm>
#include <bit>

#include "stream/jit_traces.h"

namespace tephra::stream {
namespace {

using base::ByteReader;
using base::Bytes;

constexpr uint64_t kTrailerFields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
                                    PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER;
constexpr uint64_t kReadFormatLost = 1u << 4;
constexpr uint64_t kBranchHwIndex = 1u << 17;
constexpr uint64_t kBranchCounters = 1u << 19;  // since Linux 6.8
constexpr uint16_t kMiscBuildId = 1u << 14;     // in MMAP2
constexpr uint16_t kMiscMmapData = 1u << 13;
constexpr uint32_t kProtectionGenerated = 0x4000;  // simpleperf's own bit
constexpr uint16_t kMiscCommExec = 1u << 13;
constexpr uint16_t kMiscForkSynthesized = 1u << 13;  // perf's own use of the bit

// Offset of the id inside a sample that has no IDENTIFIER, 0 when it has no id.
size_t offset_of_id(uint64_t sample_type) {
  if (sample_type & PERF_SAMPLE_IDENTIFIER) return kRecordHeaderSize;
  if (!(sample_type & PERF_SAMPLE_ID)) return 0;
  const uint64_t before = sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR);
  return kRecordHeaderSize + static_cast<size_t>(std::popcount(before)) * 8;
}

// One counter: value, times, id, losses. A group: how many, times, and for each value, id, losses. All but the values
// may be absent.
ReadValues read_values(ByteReader& reader, uint64_t format) {
  const auto times =
      static_cast<size_t>(std::popcount(format & (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)));
  const auto each = 1 + static_cast<size_t>(std::popcount(format & (PERF_FORMAT_ID | kReadFormatLost)));
  const bool group = format & PERF_FORMAT_GROUP;
  const uint64_t members = group ? reader.u64() : 1;
  if (members > reader.remaining() / 8) {
    reader.fail();
    return {};
  }
  if (group) reader.skip(times * 8);
  const size_t stride = group ? each : times + each;
  const Bytes words = reader.bytes(members * stride * 8);
  if (!reader.ok() || !(format & PERF_FORMAT_ID)) return {};
  return {base::Words(words.data(), members * stride), stride, group ? 1 : times + 1};
}

void read_branches(ByteReader& reader, uint64_t branch_sample_type, Sample& sample) {
  const uint64_t entries = reader.u64();
  if (branch_sample_type & kBranchHwIndex) sample.branches.hardware_index = reader.read<int64_t>();
  if (entries > reader.remaining() / 24) return reader.fail();
  const Bytes words = reader.bytes(entries * 24);
  sample.branches.words = base::Words(words.data(), entries * 3);
  if (branch_sample_type & kBranchCounters) reader.skip(entries * 8);
}

void read_callchain(ByteReader& reader, Sample& sample) {
  const uint64_t depth = reader.u64();
  if (depth > reader.remaining() / 8) return reader.fail();
  const Bytes chain = reader.bytes(depth * 8);
  sample.callchain = base::Words(chain.data(), depth);
  sample.has_callchain = true;
}

void read_user_stack(ByteReader& reader, Sample& sample) {
  const uint64_t size = reader.u64();
  if (size == 0) return;
  const Bytes copy = reader.bytes(size);
  const uint64_t filled = reader.u64();
  sample.user_stack = copy.first(std::min<size_t>(filled, copy.size()));
  sample.user_stack_room = copy.size();
  sample.user_stack_full = sample.user_stack.size() == copy.size();
}

size_t trailer_size(const EventLayout& layout) {
  if (!layout.sample_id_all) return 0;
  return static_cast<size_t>(std::popcount(layout.sample_type & kTrailerFields)) * 8;
}

// The fields after those every sample has.
void read_rest(ByteReader& reader, const EventLayout& layout, Sample& sample) {
  const uint64_t type = layout.sample_type;
  if (type & PERF_SAMPLE_READ) sample.read = read_values(reader, layout.read_format);
  if (type & PERF_SAMPLE_CALLCHAIN) read_callchain(reader, sample);
  if (type & PERF_SAMPLE_RAW) sample.raw = reader.bytes(reader.u32());
  if (type & PERF_SAMPLE_BRANCH_STACK) read_branches(reader, layout.branch_sample_type, sample);
  if (type & PERF_SAMPLE_REGS_USER) {
    sample.user_registers_abi = reader.u64();
    if (sample.user_registers_abi != PERF_SAMPLE_REGS_ABI_NONE) {
      sample.user_registers = reader.bytes(static_cast<size_t>(std::popcount(layout.sample_regs_user)) * 8);
    }
  }
  if (type & PERF_SAMPLE_STACK_USER) read_user_stack(reader, sample);
}

// What stands behind the stack, up to the size of the page.
void read_page_size(ByteReader& reader, const EventLayout& layout, Sample& sample) {
  const uint64_t type = layout.sample_type;
  if (!(type & PERF_SAMPLE_DATA_PAGE_SIZE)) return;
  constexpr uint64_t kBefore =
      PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION;
  reader.skip(static_cast<size_t>(std::popcount(type & kBefore)) * 8);
  if (type & PERF_SAMPLE_REGS_INTR && reader.u64() != PERF_SAMPLE_REGS_ABI_NONE) {
    reader.skip(static_cast<size_t>(std::popcount(layout.sample_regs_intr)) * 8);
  }
  reader.skip(static_cast<size_t>(std::popcount(type & (PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP))) * 8);
  sample.data_page_size = reader.u64();
}

}  // namespace

Decoder::Decoder(const Recording& recording)
    : events_(recording.events), interpreted_code_(recording.interpreted_code), converted_(recording.converted) {
  for (uint32_t index = 0; index < events_.size(); ++index) {
    for (const uint64_t id : events_[index].ids) event_by_id_.emplace(id, index);
  }
  if (events_.empty()) return;
  one_event_ = std::all_of(events_.begin() + 1, events_.end(), [](const RecordedEvent& e) { return e.added; });
  const EventLayout& first = events_.front().layout;
  has_build_ids_ =
      std::any_of(events_.begin(), events_.end(), [](const RecordedEvent& e) { return e.layout.build_ids; });
  has_time_ = std::all_of(events_.begin(), events_.end(),
                          [](const RecordedEvent& e) { return e.layout.sample_type & PERF_SAMPLE_TIME; });
  has_cpu_ = std::all_of(events_.begin(), events_.end(),
                         [](const RecordedEvent& e) { return e.layout.sample_type & PERF_SAMPLE_CPU; });
  sample_id_offset_ = offset_of_id(first.sample_type);
  has_trailer_ = trailer_size(first) > 0;
  trailer_has_identifier_ = first.sample_id_all && first.sample_type & PERF_SAMPLE_IDENTIFIER;
}

int Decoder::event_of_id(uint64_t id) const {
  const auto found = event_by_id_.find(id);
  if (found != event_by_id_.end()) return static_cast<int>(found->second);
  // Records that were made outside the kernel carry id 0, and old pipe files list no ids.
  return id == 0 || event_by_id_.empty() ? 0 : -1;
}

std::optional<uint32_t> Decoder::event_with_id(uint64_t id) const {
  const auto found = event_by_id_.find(id);
  if (found == event_by_id_.end()) return {};
  return found->second;
}

int Decoder::event_of_sample(const Record& record) const {
  if (one_event_) return 0;
  if (events_.empty()) return -1;
  if (sample_id_offset_ == 0) return 0;
  if (record.bytes.size() < sample_id_offset_ + 8) return -1;
  return event_of_id(base::load<uint64_t>(record.bytes.data() + sample_id_offset_));
}

bool Decoder::decode_sample(const Record& record, Sample& sample) const {
  sample = Sample{};
  const int event = event_of_sample(record);
  if (event < 0) return false;
  const EventLayout& layout = events_[static_cast<size_t>(event)].layout;
  const uint64_t type = layout.sample_type;
  ByteReader reader(record.body());
  sample.misc = record.misc;
  sample.origin.event = static_cast<uint32_t>(event);
  if (type & PERF_SAMPLE_IDENTIFIER) reader.skip(8);
  if (type & PERF_SAMPLE_IP) sample.ip = reader.u64();
  if (type & PERF_SAMPLE_TID) {
    sample.origin.pid = reader.read<int32_t>();
    sample.origin.tid = reader.read<int32_t>();
  }
  if (type & PERF_SAMPLE_TIME) sample.origin.time = reader.u64();
  if (type & PERF_SAMPLE_ADDR) sample.address = reader.u64();
  if (type & PERF_SAMPLE_ID) reader.skip(8);
  if (type & PERF_SAMPLE_STREAM_ID) reader.skip(8);
  if (type & PERF_SAMPLE_CPU) {
    sample.origin.cpu = reader.read<int32_t>();
    reader.skip(4);
  }
  if (type & PERF_SAMPLE_PERIOD) {
    sample.period = reader.u64();
  } else if (!layout.frequency && layout.sample_period_or_frequency != 0) {
    sample.period = layout.sample_period_or_frequency;
  }
  read_rest(reader, layout, sample);
  if (converted_ && type & PERF_SAMPLE_WEIGHT) {
    sample.count = reader.u64();
  } else {
    read_page_size(reader, layout, sample);
  }
  return reader.ok();
}

uint32_t Decoder::event_of_trailer(const Record& record) const {
  if (!trailer_has_identifier_ || events_.size() == 1 || record.body().size() < 8) return 0;
  const auto id = base::load<uint64_t>(record.bytes.data() + record.bytes.size() - 8);
  return static_cast<uint32_t>(std::max(0, event_of_id(id)));
}

base::Bytes Decoder::content(const Record& record) const {
  const Bytes body = record.body();
  if (events_.empty()) return body;
  const size_t size = trailer_size(events_[event_of_trailer(record)].layout);
  return body.first(body.size() - std::min(size, body.size()));
}

Origin Decoder::trailer(const Record& record) const {
  Origin origin;
  if (!has_trailer_) return origin;
  // Events that are told apart by IDENTIFIER may differ in the other fields.
  origin.event = event_of_trailer(record);
  const EventLayout& layout = events_[origin.event].layout;
  const size_t size = trailer_size(layout);
  if (record.body().size() < size) return origin;
  const uint64_t type = layout.sample_type;
  ByteReader reader(record.bytes.last(size));
  if (type & PERF_SAMPLE_TID) {
    origin.pid = reader.read<int32_t>();
    origin.tid = reader.read<int32_t>();
  }
  if (type & PERF_SAMPLE_TIME) origin.time = reader.u64();
  if (type & PERF_SAMPLE_ID) reader.skip(8);
  if (type & PERF_SAMPLE_STREAM_ID) reader.skip(8);
  if (type & PERF_SAMPLE_CPU) origin.cpu = reader.read<int32_t>();
  return origin;
}

uint64_t Decoder::time_of(const Record& record) const {
  if (record.type != PERF_RECORD_SAMPLE) return trailer(record).time;
  const int event = event_of_sample(record);
  if (event < 0) return 0;
  const uint64_t type = events_[static_cast<size_t>(event)].layout.sample_type;
  const auto before =
      static_cast<size_t>(std::popcount(type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID)));
  const size_t offset = kRecordHeaderSize + before * 8;
  if (!(type & PERF_SAMPLE_TIME) || record.bytes.size() < offset + 8) return 0;
  return base::load<uint64_t>(record.bytes.data() + offset);
}

// What MMAP and MMAP2 begin with.
Mmap Decoder::read_mapping(ByteReader& reader, const Record& record) const {
  Mmap mmap{.origin = trailer(record)};
  mmap.pid = reader.read<int32_t>();
  mmap.tid = reader.read<int32_t>();
  mmap.start = reader.u64();
  mmap.size = reader.u64();
  mmap.file_offset = reader.u64();
  mmap.kernel = (record.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
  return mmap;
}

Event Decoder::decode_mmap(const Record& record) const {
  ByteReader reader(content(record));
  Mmap mmap = read_mapping(reader, record);
  if (!reader.ok()) return Malformed{record.type};
  mmap.path = base::until_nul(reader.bytes(reader.remaining()));
  mmap.executable = !(record.misc & kMiscMmapData);
  return mmap;
}

Event Decoder::decode_mmap2(const Record& record) const {
  ByteReader reader(content(record));
  Mmap mmap = read_mapping(reader, record);
  ByteReader identity(reader.bytes(24));
  const uint32_t protection = reader.u32();
  reader.skip(4);  // flags
  if (!reader.ok()) return Malformed{record.type};
  // The kernel leaves the mark of one recorder's build ids in the records of others that watch the same mapping, so it
  // counts only where build ids were asked for.
  if ((record.misc & kMiscBuildId) && has_build_ids_) {
    const uint8_t size = identity.u8();
    identity.skip(3);
    mmap.build_id = model::BuildId(identity.bytes(std::min<size_t>(size, 20)));
  } else {
    const uint64_t major = identity.u32();
    const uint64_t minor = identity.u32();
    mmap.file = {major << 32 | minor, identity.u64(), identity.u64()};
  }
  mmap.path = base::until_nul(reader.bytes(reader.remaining()));
  mmap.generated = interpreted_code_ && (protection & kProtectionGenerated) != 0;
  mmap.executable = !(record.misc & kMiscMmapData) && (protection == 0 || (protection & 4) != 0);
  mmap.executable = mmap.executable || mmap.generated || (interpreted_code_ && !is_anonymous_memory(mmap.path));
  return mmap;
}

Event Decoder::decode_comm(const Record& record) const {
  ByteReader reader(content(record));
  Comm comm{.origin = trailer(record)};
  comm.pid = reader.read<int32_t>();
  comm.tid = reader.read<int32_t>();
  if (!reader.ok()) return Malformed{record.type};
  comm.exec = record.misc & kMiscCommExec;
  comm.name = base::until_nul(reader.bytes(reader.remaining()));
  return comm;
}

Event Decoder::decode_task(const Record& record) const {
  ByteReader reader(content(record));
  const auto pid = reader.read<int32_t>();
  const auto parent_pid = reader.read<int32_t>();
  const auto tid = reader.read<int32_t>();
  const auto parent_tid = reader.read<int32_t>();
  Origin origin = trailer(record);
  if (const uint64_t time = reader.u64(); time != 0) origin.time = time;
  if (!reader.ok()) return Malformed{record.type};
  if (record.type == PERF_RECORD_EXIT) return Exit{origin, pid, tid};
  return Fork{origin, pid, parent_pid, tid, parent_tid, (record.misc & kMiscForkSynthesized) != 0};
}

Event Decoder::decode_lost(const Record& record) const {
  ByteReader reader(content(record));
  Lost lost{.origin = trailer(record)};
  lost.samples_record = record.type == PERF_RECORD_LOST_SAMPLES;
  if (!lost.samples_record) reader.skip(8);
  lost.count = reader.u64();
  if (!reader.ok()) return Malformed{record.type};
  return lost;
}

Event Decoder::decode_code_object(const Record& record) const {
  ByteReader reader(content(record));
  CodeObject object{.origin = trailer(record)};
  object.address = reader.u64();
  object.size = reader.u32();
  reader.skip(2);  // kind of code
  object.removed = reader.u16() & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
  if (!reader.ok()) return Malformed{record.type};
  object.name = base::until_nul(reader.bytes(reader.remaining()));
  return object;
}

Event Decoder::decode(const Record& record) const {
  switch (record.type) {
    case PERF_RECORD_SAMPLE: {
      Sample sample;
      if (decode_sample(record, sample)) return sample;
      return Malformed{record.type};
    }
    case PERF_RECORD_MMAP:
      return decode_mmap(record);
    case PERF_RECORD_MMAP2:
      return decode_mmap2(record);
    case PERF_RECORD_COMM:
      return decode_comm(record);
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      return decode_task(record);
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
      return decode_lost(record);
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
      return Throttle{trailer(record), record.type == PERF_RECORD_THROTTLE};
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      return Switch{trailer(record), (record.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0};
    case PERF_RECORD_KSYMBOL:
      return decode_code_object(record);
    case kRecordFinishedRound:
      return FinishedRound{};
    default:
      break;
  }
  const bool kernel_record = record.type > 0 && record.type <= PERF_RECORD_AUX_OUTPUT_HW_ID;
  const bool user_record = record.type >= kRecordHeaderAttr && record.type <= kRecordCompressed2;
  const bool of_simpleperf = record.type >= kRecordFirstOfSimpleperf && record.type < kRecordEndOfSimpleperf;
  if (kernel_record || user_record || of_simpleperf) return Ignored{record.type};
  return Unknown{record.type};
}

}  // namespace tephra::stream
