#include "kernel/walk_tables.h"

#include <errno.h>
#include <unistd.h>

#include <cstring>

#include "base/file.h"
#include "base/hash.h"
#include "kernel/bpf_config.h"
#include "kernel/bpf_program.h"

#if TEPHRA_BPF
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#endif

namespace tephra::kernel {

#if TEPHRA_BPF

namespace {

constexpr const char* kWhat = "cannot give a call-frame table to the kernel";

uint64_t in_pages(uint64_t bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

}  // namespace

size_t WalkTables::RuleHash::operator()(const tephra_frame_rule& rule) const {
  return base::hash_bytes(std::as_bytes(std::span(&rule, 1)));
}

bool WalkTables::RuleEqual::operator()(const tephra_frame_rule& a, const tephra_frame_rule& b) const {
  static_assert(sizeof a == 16, "a rule has no gaps, which could differ between equal ones");
  return std::memcmp(&a, &b, sizeof a) == 0;
}

base::Result<WalkTables> WalkTables::open(const Maps& maps, const Limits& limits) {
  WalkTables tables;
  tables.maps_ = maps;
  tables.limits_ = limits;
  TEPHRA_TRY(tables.block_counts_, BpfMemory::map(maps.table_blocks, (limits.tables + 1) * sizeof(uint64_t)));
  TEPHRA_TRY(tables.rule_memory_, BpfMemory::map(maps.rules, TEPHRA_WALK_RULES * sizeof(tephra_frame_rule)));
  tables.sizes_.resize(limits.tables + 1);
  for (uint32_t number = 1; number <= limits.tables; ++number) tables.free_numbers_.push_back(number);
  // The first rule is that of rows that describe nothing, and of what has no rows.
  tables.rule_memory_.as<tephra_frame_rule>()[0] = {};
  tables.numbers_.emplace(tephra_frame_rule{}, 0);
  return tables;
}

base::Result<uint32_t> WalkTables::add(std::span<const tephra_frame_block> blocks,
                                       std::span<const tephra_frame_rule> rules) {
  if (blocks.empty()) return base::failed(kWhat, {}, "it has no rows");
  if (free_numbers_.empty()) return base::failed(kWhat, {}, "there are as many tables as there may be");
  const uint64_t bytes = in_pages(blocks.size_bytes());
  if (bytes > limits_.bytes - bytes_) return base::failed(kWhat, {}, "the memory for tables is used up");
  std::vector<uint16_t> numbers;
  TEPHRA_CHECK_OK(put_rules(rules, numbers));
  TEPHRA_TRY(base::FileDescriptor rows, make_rows(blocks, numbers));
  const uint32_t table = free_numbers_.front();
  free_numbers_.pop_front();
  __atomic_store_n(block_counts_.as<uint64_t>() + table, uint64_t{blocks.size()}, __ATOMIC_RELEASE);
  not_published_.emplace(table, std::move(rows));
  sizes_[table] = bytes;
  bytes_ += bytes;
  ++count_;
  return table;
}

void WalkTables::remove(uint32_t table) {
  if (table >= sizes_.size() || sizes_[table] == 0) return;
  // The kernel comes back when no program looks at the rows any more.
  if (not_published_.erase(table) == 0) bpf_map_delete_elem(maps_.tables, &table);
  answers_stale_ = true;
  bytes_ -= sizes_[table];
  sizes_[table] = 0;
  --count_;
  free_numbers_.push_back(table);
}

base::Status WalkTables::publish() {
  if (not_published_.empty()) return {};
  if (answers_stale_) forget_answers();
  std::vector<uint32_t> numbers;
  std::vector<int> rows;
  for (const auto& [number, fd] : not_published_) {
    numbers.push_back(number);
    rows.push_back(fd.get());
  }
  auto count = static_cast<uint32_t>(numbers.size());
  if (bpf_map_update_batch(maps_.tables, numbers.data(), rows.data(), &count, nullptr) != 0) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (bpf_map_update_elem(maps_.tables, &numbers[i], &rows[i], BPF_ANY) != 0) {
        return base::system_error(kWhat, {}, errno);
      }
    }
  }
  not_published_.clear();
  return {};
}

void WalkTables::forget_answers() {
  const std::vector<uint64_t> none(limits_.cpus);
  for (uint32_t at = 0; at < TEPHRA_WALK_ANSWERS; ++at) bpf_map_update_elem(maps_.answers, &at, none.data(), BPF_ANY);
  answers_stale_ = false;
}

// numbers[i]: the number among all rules of rules[i]. Rules stay when their table goes: others have most of them, too.
base::Status WalkTables::put_rules(std::span<const tephra_frame_rule> rules, std::vector<uint16_t>& numbers) {
  numbers.reserve(rules.size());
  for (const tephra_frame_rule& rule : rules) {
    if (const auto known = numbers_.find(rule); known != numbers_.end()) {
      numbers.push_back(known->second);
      continue;
    }
    if (numbers_.size() == TEPHRA_WALK_RULES) return base::failed(kWhat, {}, "there are too many distinct rules");
    const auto number = static_cast<uint16_t>(numbers_.size());
    rule_memory_.as<tephra_frame_rule>()[number] = rule;
    numbers_.emplace(rule, number);
    numbers.push_back(number);
  }
  return {};
}

base::Result<base::FileDescriptor> WalkTables::make_rows(std::span<const tephra_frame_block> blocks,
                                                         const std::vector<uint16_t>& numbers) const {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_INNER_MAP | BPF_F_MMAPABLE);
  base::FileDescriptor rows(bpf_map_create(BPF_MAP_TYPE_ARRAY, "tephra_rows", sizeof(uint32_t),
                                           sizeof(tephra_frame_block), static_cast<uint32_t>(blocks.size()), &options));
  if (!rows) return base::system_error(kWhat, {}, errno);
  TEPHRA_TRY(const BpfMemory memory, BpfMemory::map(rows.get(), blocks.size_bytes()));
  auto* to = memory.as<tephra_frame_block>();
  for (const tephra_frame_block& block : blocks) {
    std::memcpy(to->start, block.start, sizeof to->start);
    for (size_t i = 0; i < TEPHRA_FRAME_BLOCK_ROWS; ++i) {
      if (block.rule[i] >= numbers.size()) return base::failed(kWhat, {}, "a row refers to a rule that is not there");
      to->rule[i] = numbers[block.rule[i]];
    }
    ++to;
  }
  return rows;
}

#endif

}  // namespace tephra::kernel
