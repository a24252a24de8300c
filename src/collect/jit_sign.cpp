#include "collect/jit_sign.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "collect/event_attr.h"
#include "stream/jit_traces.h"

namespace tephra::collect {
namespace {

using Kind = JitSign::Kind;

std::optional<JitSign> read_mapping(base::ByteReader& body) {
  JitSign sign;
  sign.pid = body.read<int32_t>();
  body.skip(4 + 3 * 8 + 24);  // thread, range, offset, identity
  const uint32_t protection = body.u32();
  body.skip(4);
  const auto path = base::until_nul(body.bytes(body.remaining()));
  if (!body.ok() || sign.pid <= 0 || !(protection & PROT_EXEC)) return std::nullopt;
  if (stream::is_jitdump_path(path)) {
    sign.kind = Kind::kJitdump;
    sign.path = path;
  } else if (path.ends_with("/libjvm.so")) {
    sign.kind = Kind::kJavaVm;
  } else if (!stream::is_anonymous_memory(path) || path.starts_with("[")) {
    return std::nullopt;
  }
  return sign;
}

std::optional<JitSign> read_task(base::ByteReader& body, uint32_t type) {
  JitSign sign;
  sign.kind = type == PERF_RECORD_FORK ? Kind::kFork : Kind::kExit;
  sign.pid = body.read<int32_t>();
  sign.parent = body.read<int32_t>();
  const auto tid = body.read<int32_t>();
  // Threads are nothing to us: a process begins and ends with its first one.
  const bool process = type == PERF_RECORD_FORK ? sign.pid != sign.parent : sign.pid == tid;
  return body.ok() && process ? std::optional(sign) : std::nullopt;
}

}  // namespace

bool may_be_jit_sign(uint32_t type) {
  return type == PERF_RECORD_MMAP2 || type == PERF_RECORD_COMM || type == PERF_RECORD_FORK || type == PERF_RECORD_EXIT;
}

std::optional<JitSign> read_jit_sign(base::Bytes record) {
  constexpr size_t kFrame = sizeof(perf_event_header) + sizeof(SampleIdTrailer);
  if (record.size() < kFrame) return std::nullopt;
  const auto header = base::load<perf_event_header>(record.data());
  base::ByteReader body(record.subspan(sizeof header, record.size() - kFrame));
  std::optional<JitSign> sign;
  if (header.type == PERF_RECORD_MMAP2) {
    sign = read_mapping(body);
  } else if (header.type == PERF_RECORD_FORK || header.type == PERF_RECORD_EXIT) {
    sign = read_task(body, header.type);
  } else if (header.type == PERF_RECORD_COMM && (header.misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
    sign = JitSign{.kind = Kind::kExec, .pid = body.read<int32_t>()};
  }
  if (sign) sign->time = base::load<SampleIdTrailer>(record.data() + record.size() - sizeof(SampleIdTrailer)).time;
  return sign;
}

}  // namespace tephra::collect
