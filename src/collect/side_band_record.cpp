#include "collect/side_band_record.h"

#include <linux/perf_event.h>

#include <cstring>

#include "collect/event_attr.h"

namespace tephra::collect {
namespace {

constexpr uint16_t kMiscForkExec = 1 << 13;  // the mappings of the parent are not copied
constexpr uint16_t kBpfProgramUnloaded = 2;

void read_task(base::ByteReader& body, SideBandRecord& record) {
  record.pid = body.read<int32_t>();
  record.parent_pid = body.read<int32_t>();
  record.tid = body.read<int32_t>();
  record.parent_tid = body.read<int32_t>();
  if (const uint64_t time = body.u64(); time != 0) record.time = time;
}

void read_mapping(base::ByteReader& body, SideBandRecord& record, bool kernel) {
  record.pid = body.read<int32_t>();
  record.tid = body.read<int32_t>();
  if (kernel) record.pid = record.tid = -1;
  record.start = body.u64();
  const uint64_t size = body.u64();
  record.end = record.start + size < record.start ? UINT64_MAX : record.start + size;
  body.skip(8);  // offset
}

void read_kernel_code(base::ByteReader& body, SideBandRecord& record) {
  record.start = body.u64();
  record.end = record.start + body.u32();
  body.skip(2);  // kind of code
  record.removal = (body.u16() & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0;
}

void read_program(base::ByteReader& body, SideBandRecord& record) {
  record.removal = body.u16() == kBpfProgramUnloaded;
  body.skip(2);  // flags
  record.start = body.u32();
}

void read_body(base::ByteReader& body, uint16_t misc, SideBandRecord& record) {
  switch (record.type) {
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      return read_task(body, record);
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
      return read_mapping(body, record, (misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL);
    case PERF_RECORD_KSYMBOL:
      return read_kernel_code(body, record);
    case PERF_RECORD_BPF_EVENT:
      return read_program(body, record);
    case PERF_RECORD_CGROUP:
      record.start = body.u64();
      return;
    default:  // COMM, NAMESPACES
      record.pid = body.read<int32_t>();
      record.tid = body.read<int32_t>();
      record.exec = record.type == PERF_RECORD_COMM && (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
  }
}

template <class T>
void overwrite(std::string& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

uint16_t misc_of(const std::string& bytes) { return base::load<perf_event_header>(base::as_bytes(bytes).data()).misc; }

}  // namespace

bool is_side_band(uint32_t type) {
  switch (type) {
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
    case PERF_RECORD_KSYMBOL:
    case PERF_RECORD_BPF_EVENT:
    case PERF_RECORD_NAMESPACES:
    case PERF_RECORD_CGROUP:
      return true;
    default:
      return false;
  }
}

std::shared_ptr<const SideBandRecord> read_side_band_record(base::Bytes bytes, std::pmr::memory_resource* memory) {
  constexpr size_t kFrame = sizeof(perf_event_header) + sizeof(SampleIdTrailer);
  if (bytes.size() < kFrame) return nullptr;
  SideBandRecord record{.bytes = std::pmr::string(base::as_text(bytes), memory)};
  const auto header = base::load<perf_event_header>(bytes.data());
  record.type = header.type;
  record.time = base::load<SampleIdTrailer>(bytes.data() + bytes.size() - sizeof(SampleIdTrailer)).time;
  base::ByteReader body(bytes.subspan(sizeof header, bytes.size() - kFrame));
  read_body(body, header.misc, record);
  if (!body.ok()) return nullptr;
  return std::allocate_shared<const SideBandRecord>(std::pmr::polymorphic_allocator<SideBandRecord>(memory),
                                                    std::move(record));
}

std::string as_inherited(const SideBandRecord& record, pid_t pid, pid_t tid, uint64_t time) {
  std::string bytes(record.bytes);
  if (record.type == PERF_RECORD_COMM) {
    overwrite(bytes, offsetof(perf_event_header, misc),
              static_cast<uint16_t>(misc_of(bytes) & ~PERF_RECORD_MISC_COMM_EXEC));
  }
  // Names and mappings begin with the process and the thread, as the trailer does.
  const size_t trailer = bytes.size() - sizeof(SampleIdTrailer);
  for (const size_t at : {sizeof(perf_event_header), trailer}) {
    overwrite(bytes, at, static_cast<int32_t>(pid));
    overwrite(bytes, at + sizeof(int32_t), static_cast<int32_t>(tid));
  }
  overwrite(bytes, trailer + offsetof(SampleIdTrailer, time), time);
  return bytes;
}

std::string without_copy(const SideBandRecord& fork) {
  std::string bytes(fork.bytes);
  overwrite(bytes, offsetof(perf_event_header, misc), static_cast<uint16_t>(misc_of(bytes) | kMiscForkExec));
  return bytes;
}

}  // namespace tephra::collect
