#include "kernel/watching.h"

namespace tephra::kernel {

bool hear_stack(base::Bytes record, StackListener& listener) {
  if (record.size() < sizeof(uint64_t)) return false;
  const auto type = base::load<uint32_t>(record.data());
  if (type == TEPHRA_RECORD_STACK_WANTED && record.size() >= sizeof(tephra_walk_wanted)) {
    listener.hear(base::load<tephra_walk_wanted>(record.data()));
    return true;
  }
  if (type != TEPHRA_RECORD_STACK || record.size() < sizeof(tephra_taken_stack)) return false;
  const auto head = base::load<tephra_taken_stack>(record.data());
  const size_t chain = size_t{head.chain_words} * 8;
  const base::Bytes rest = record.subspan(sizeof head);
  if (rest.size() < chain || rest.size() - chain < head.copy_bytes) return true;
  const size_t registers = head.copy_bytes == 0 ? 0 : rest.size() - chain - head.copy_bytes;
  listener.hear(TakenStack{head, rest.first(chain), rest.subspan(chain, registers),
                           rest.subspan(chain + registers, head.copy_bytes)});
  return true;
}

}  // namespace tephra::kernel
