#include "record_encoder.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace tephra::fake {
namespace {

constexpr uint64_t kUserAbi = 2;  // PERF_SAMPLE_REGS_ABI_64
constexpr size_t kMaxRecordBytes = 65528;

void put_pair(std::string& out, uint64_t low, uint64_t high) {
  put(out, static_cast<uint32_t>(low));
  put(out, static_cast<uint32_t>(high));
}

void put_name(std::string& out, std::string_view name) {
  out += name;
  out.append(8 - name.size() % 8, '\0');
}

void put_chain(std::string& out, const perf_event_attr& attr, const Place& place) {
  std::vector<uint64_t> chain;
  const size_t limit = attr.sample_max_stack == 0 ? 127 : attr.sample_max_stack;
  size_t frames = 0;
  const auto add = [&](uint64_t address) {
    if (frames++ < limit) chain.push_back(address);
  };
  if (place.kernel && !attr.exclude_callchain_kernel) {
    chain.push_back(static_cast<uint64_t>(PERF_CONTEXT_KERNEL));
    add(place.ip);
    for (const uint64_t caller : place.kernel_callers) add(caller);
  }
  if (!attr.exclude_callchain_user) {
    chain.push_back(static_cast<uint64_t>(PERF_CONTEXT_USER));
    if (!place.kernel) add(place.ip);
    for (const uint64_t caller : place.callers) add(caller);
  }
  put(out, uint64_t{chain.size()});
  for (const uint64_t entry : chain) put(out, entry);
}

bool is_call(uint32_t kind) { return kind == PERF_BR_CALL || kind == PERF_BR_IND_CALL || kind == PERF_BR_COND_CALL; }

bool wanted(const Branch& branch, uint64_t filter) {
  if ((filter & (branch.kernel ? PERF_SAMPLE_BRANCH_KERNEL : PERF_SAMPLE_BRANCH_USER)) == 0) return false;
  if (filter & (PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_CALL_STACK)) return true;
  if (filter & PERF_SAMPLE_BRANCH_ANY_CALL && is_call(branch.kind)) return true;
  if (filter & PERF_SAMPLE_BRANCH_CALL && branch.kind == PERF_BR_CALL) return true;
  if (filter & PERF_SAMPLE_BRANCH_IND_CALL && branch.kind == PERF_BR_IND_CALL) return true;
  if (filter & PERF_SAMPLE_BRANCH_ANY_RETURN && branch.kind == PERF_BR_RET) return true;
  if (filter & PERF_SAMPLE_BRANCH_COND && branch.kind == PERF_BR_COND) return true;
  return filter & PERF_SAMPLE_BRANCH_IND_JUMP && branch.kind == PERF_BR_IND;
}

perf_branch_entry entry_of(const Branch& branch, uint64_t filter) {
  perf_branch_entry entry{};
  entry.from = branch.from;
  entry.to = branch.to;
  if ((filter & PERF_SAMPLE_BRANCH_NO_FLAGS) == 0) {
    entry.mispred = branch.mispredicted;
    entry.predicted = !branch.mispredicted;
  }
  if ((filter & PERF_SAMPLE_BRANCH_NO_CYCLES) == 0) entry.cycles = branch.cycles;
  if (filter & PERF_SAMPLE_BRANCH_TYPE_SAVE) entry.type = branch.kind;
  if (filter & PERF_SAMPLE_BRANCH_PRIV_SAVE) entry.priv = branch.kernel ? PERF_BR_PRIV_KERNEL : PERF_BR_PRIV_USER;
  return entry;
}

void put_branches(std::string& out, uint64_t filter, const std::vector<Branch>& branches) {
  std::string entries;
  uint64_t count = 0;
  for (const Branch& branch : branches) {
    if (!wanted(branch, filter)) continue;
    put(entries, entry_of(branch, filter));
    ++count;
  }
  put(out, count);
  if (filter & PERF_SAMPLE_BRANCH_HW_INDEX) put(out, uint64_t{0});
  out += entries;
}

void put_registers(std::string& out, uint64_t mask, const SampleFacts& facts) {
  constexpr int kInstructionPointer = 8;  // of x86
  put(out, kUserAbi);
  for (int index = 0; index < 64; ++index) {
    if ((mask >> index & 1) == 0) continue;
    put(out, index == kInstructionPointer ? facts.place.ip : register_value(facts.number, index));
  }
}

// The copy is as long as the record's limit leaves room for.
void put_stack(std::string& out, uint32_t wanted_bytes, size_t behind) {
  const size_t left = kMaxRecordBytes - std::min(kMaxRecordBytes, out.size() + 16 + behind);
  const uint64_t bytes = std::min<uint64_t>(wanted_bytes, left) & ~uint64_t{7};
  put(out, bytes);
  if (bytes == 0) return;
  for (uint64_t word = 0; word < bytes / 8; ++word) put(out, word);
  put(out, bytes);
}

void put_raw(std::string& out, const std::string& raw) {
  const size_t bytes = (raw.size() + 4 + 7) / 8 * 8 - 4;
  put(out, static_cast<uint32_t>(bytes));
  out += raw;
  out.append(bytes - raw.size(), '\0');
}

// What follows the copy of the stack.
std::string memory_fields(const perf_event_attr& attr, const SampleFacts& facts) {
  const uint64_t type = attr.sample_type;
  std::string out;
  if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) put(out, sample_weight(facts.number));
  if (type & PERF_SAMPLE_DATA_SRC) put(out, data_source(facts.number));
  if (type & PERF_SAMPLE_TRANSACTION) put(out, uint64_t{0});
  if (type & PERF_SAMPLE_REGS_INTR) put_registers(out, attr.sample_regs_intr, facts);
  if (type & PERF_SAMPLE_PHYS_ADDR) put(out, physical_address(facts.number));
  if (type & PERF_SAMPLE_CGROUP) put(out, kCgroupId);
  if (type & PERF_SAMPLE_DATA_PAGE_SIZE) put(out, kPageBytes);
  if (type & PERF_SAMPLE_CODE_PAGE_SIZE) put(out, kPageBytes);
  if (type & PERF_SAMPLE_AUX) put(out, uint64_t{0});
  return out;
}

void put_origin_fields(std::string& out, const perf_event_attr& attr, const RecordOrigin& origin,
                       const SampleFacts& facts) {
  const uint64_t type = attr.sample_type;
  if (type & PERF_SAMPLE_IDENTIFIER) put(out, origin.id);
  if (type & PERF_SAMPLE_IP) put(out, facts.place.ip);
  if (type & PERF_SAMPLE_TID) put_pair(out, origin.pid, origin.tid);
  if (type & PERF_SAMPLE_TIME) put(out, origin.time);
  if (type & PERF_SAMPLE_ADDR) put(out, data_address(facts.number));
  if (type & PERF_SAMPLE_ID) put(out, origin.id);
  if (type & PERF_SAMPLE_STREAM_ID) put(out, origin.stream_id);
  if (type & PERF_SAMPLE_CPU) put_pair(out, static_cast<uint64_t>(origin.cpu), 0);
  if (type & PERF_SAMPLE_PERIOD) put(out, facts.period);
}

std::string with_header(uint32_t type, uint16_t misc, std::string_view body) {
  perf_event_header header{};
  header.type = type;
  header.misc = misc;
  header.size = static_cast<uint16_t>(sizeof header + body.size());
  std::string out;
  put(out, header);
  return out.append(body);
}

}  // namespace

uint64_t data_address(uint64_t number) { return 0x7f0000000000 + number % 4096 * 64; }
uint64_t physical_address(uint64_t number) { return 0xabc00000000 + number % 4096 * 64; }
uint64_t register_value(uint64_t number, int index) { return 0x1000000 + number * 256 + static_cast<uint64_t>(index); }

// Loads that hit the first, second and third level of the cache in turn.
uint64_t data_source(uint64_t number) {
  constexpr uint64_t kLevels[] = {PERF_MEM_LVL_L1, PERF_MEM_LVL_L2, PERF_MEM_LVL_L3};
  perf_mem_data_src source{};
  source.mem_op = PERF_MEM_OP_LOAD;
  source.mem_lvl = kLevels[number % 3] | PERF_MEM_LVL_HIT;
  source.mem_lvl_num = 1 + number % 3;
  source.mem_snoop = PERF_MEM_SNOOP_NONE;
  source.mem_dtlb = PERF_MEM_TLB_L1 | PERF_MEM_TLB_HIT;
  source.mem_lock = PERF_MEM_LOCK_NA;
  return source.val;
}

perf_sample_weight sample_weight(uint64_t number) {
  perf_sample_weight weight{};
  weight.full = 0;
  weight.var1_dw = static_cast<uint32_t>(10 + number % 100);
  return weight;
}

std::string encode_sample(const perf_event_attr& attr, const RecordOrigin& origin, const SampleFacts& facts) {
  const uint64_t type = attr.sample_type;
  std::string body;
  put_origin_fields(body, attr, origin, facts);
  if (type & PERF_SAMPLE_READ) body += facts.read;
  if (type & PERF_SAMPLE_CALLCHAIN) put_chain(body, attr, facts.place);
  if (type & PERF_SAMPLE_RAW) put_raw(body, facts.raw);
  if (type & PERF_SAMPLE_BRANCH_STACK) put_branches(body, attr.branch_sample_type, facts.branches);
  if (type & PERF_SAMPLE_REGS_USER) put_registers(body, attr.sample_regs_user, facts);
  const std::string rest = memory_fields(attr, facts);
  if (type & PERF_SAMPLE_STACK_USER) put_stack(body, attr.sample_stack_user, rest.size() + 8);
  body += rest;
  uint16_t misc = facts.place.kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  if (attr.precise_ip > 0) misc |= PERF_RECORD_MISC_EXACT_IP;
  return with_header(PERF_RECORD_SAMPLE, misc, body);
}

std::string encode_record(const perf_event_attr& attr, const RecordOrigin& origin, uint32_t type, uint16_t misc,
                          std::string_view body) {
  std::string out(body);
  if (attr.sample_id_all) {
    if (attr.sample_type & PERF_SAMPLE_TID) put_pair(out, origin.pid, origin.tid);
    if (attr.sample_type & PERF_SAMPLE_TIME) put(out, origin.time);
    if (attr.sample_type & PERF_SAMPLE_ID) put(out, origin.id);
    if (attr.sample_type & PERF_SAMPLE_STREAM_ID) put(out, origin.stream_id);
    if (attr.sample_type & PERF_SAMPLE_CPU) put_pair(out, static_cast<uint64_t>(origin.cpu), 0);
    if (attr.sample_type & PERF_SAMPLE_IDENTIFIER) put(out, origin.id);
  }
  return with_header(type, misc, out);
}

std::string mmap_body(pid_t pid, pid_t tid, const Mapping& mapping, bool second_form, bool with_build_id) {
  std::string body;
  put(body, pid);
  put(body, tid);
  put(body, mapping.start);
  put(body, mapping.size);
  put(body, mapping.offset);
  if (second_form && with_build_id) {
    put(body, static_cast<uint32_t>(mapping.build_id.size()));
    std::string id = mapping.build_id;
    id.resize(20);
    body += id;
  } else if (second_form) {
    put(body, mapping.major);
    put(body, mapping.minor);
    put(body, mapping.inode);
    put(body, uint64_t{0});
  }
  if (second_form) {
    put(body, static_cast<uint32_t>(PROT_READ | (mapping.executable ? PROT_EXEC : 0)));
    put(body, static_cast<uint32_t>(MAP_PRIVATE));
  }
  put_name(body, mapping.path);
  return body;
}

std::string comm_body(pid_t pid, pid_t tid, std::string_view comm) {
  std::string body;
  put(body, pid);
  put(body, tid);
  put_name(body, comm.substr(0, 15));
  return body;
}

}  // namespace tephra::fake
