#include <cstdlib>
#include <vector>

#include "base/bytes.h"
#include "stream/jit_log.h"
#include "stream/jit_reader.h"
#include "unwind/jit_rules.h"

using namespace tephra;

// Batches made of the input, in both kinds, become code of processes that fork and exec meanwhile; every moment of
// every view can be asked about. The section itself is read too.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  if (size < 4 || size > 1 << 16) return 0;
  (void)stream::read_jit_log(bytes);
  std::vector<stream::JitBatch> batches;
  uint64_t time = 0;
  for (size_t at = 0; at < size && batches.size() < 64;) {
    const size_t step = std::min<size_t>(size - at, 16 + data[at] % 128);
    stream::JitBatch batch{.kind = data[at] & 1 ? stream::JitBatch::Kind::kJitdump : stream::JitBatch::Kind::kPerfMap};
    batch.pid = data[at] >> 1 & 3;
    batch.earliest = time;
    batch.latest = time += data[at] >> 3;
    batch.swapped = data[at] & 64;
    batch.content = bytes.subspan(at + 1, step - 1);
    batches.push_back(batch);
    at += step;
  }
  stream::JitCode code;
  model::Quality quality;
  uint64_t moments = 0;
  for (const stream::JitChange& change : stream::read_jit_batches(batches, data[1] & 1, code, quality)) {
    if (change.moment < moments) std::abort();
    moments = change.moment;
    if (change.start % 7 == 3) code.fork(change.pid ^ 1, change.pid, change.moment);
    if (change.start % 11 == 5) code.exec(change.pid, change.moment);
    change.apply(code);
  }
  code.seal();
  unwind::JitRules rules(data[2] & 1 ? unwind::Machine::kArm64 : unwind::Machine::kX86_64, code);
  for (int32_t pid = 0; pid < 4; ++pid) {
    for (const stream::JitBatch& batch : batches) {
      const auto view = code.view(pid, batch.earliest);
      if (!view.covers(batch.earliest)) std::abort();
      for (const uint64_t address : {uint64_t{0}, uint64_t{0x10}, uint64_t{0xabc}, UINT64_MAX}) {
        const auto found = code.find(view.value, address);
        if (found.function != nullptr && found.function->name.empty()) std::abort();
        if (found.function != nullptr) (void)code.line_at(*found.function, address - found.base);
        const tephra_frame_rule* rule = rules.find(view.value, address);
        if (rule != nullptr && (found.function == nullptr || rule->cfa == TEPHRA_CFA_NONE)) std::abort();
      }
    }
  }
  return 0;
}
