/*
 * What a page fault was: what is mapped at its address, and why the processor faulted. Programs on the events of minor
 * and major faults run when the fault was handled, and no longer see the cause: programs at its beginning note it.
 */
#ifndef TEPHRA_BPF_PAGE_FAULT_H
#define TEPHRA_BPF_PAGE_FAULT_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi/fault_record.h"

#define TEPHRA_VM_SHARED 0x8
#define TEPHRA_VM_GROWS_DOWN 0x100
#define TEPHRA_VM_HUGE_PAGES 0x400000
#define TEPHRA_TMPFS 0x01021994
#define TEPHRA_SAMPLE_DATA_PAGE_SIZE (1ULL << 22)
#define TEPHRA_FAULT_PLACES 65536

/* The stack pointer by its DWARF number. */
#if defined(__TARGET_ARCH_arm64)
#define TEPHRA_SP_NUMBER 31
#else
#define TEPHRA_SP_NUMBER 7
#endif

/* The fault that a thread is in. Threads whose numbers meet may overwrite each other's; the address tells. */
struct tephra_fault_begun {
  __u64 address;
  __u32 tid;
  __u32 error_code;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, TEPHRA_FAULT_PLACES);
  __type(key, __u32);
  __type(value, struct tephra_fault_begun);
} faults_begun SEC(".maps");

static __always_inline struct tephra_fault_begun* tephra_fault_of(__u32 tid) {
  __u32 at = tid % TEPHRA_FAULT_PLACES;
  return bpf_map_lookup_elem(&faults_begun, &at);
}

static __always_inline void tephra_note_fault(__u64 address, __u64 error_code) {
  __u32 tid = (__u32)bpf_get_current_pid_tgid();
  struct tephra_fault_begun* fault = tephra_fault_of(tid);
  if (!fault) return;
  fault->address = address;
  fault->tid = tid;
  fault->error_code = error_code;
}

/* The low bits of the error code are the same on all x86: present, write. */
static __always_inline __u32 tephra_fault_cause(__u64 address) {
  __u32 tid = (__u32)bpf_get_current_pid_tgid();
  struct tephra_fault_begun* fault = tephra_fault_of(tid);
  if (!fault || fault->tid != tid || fault->address != address) return 0;
  return TEPHRA_FAULT_CAUSE_KNOWN | (fault->error_code & 1 ? TEPHRA_FAULT_PRESENT : 0) |
         (fault->error_code & 2 ? TEPHRA_FAULT_WRITE : 0);
}

/* A node of the kernel's tree of mappings, in words. */
#define TEPHRA_NODE_WORDS 32
#define TEPHRA_NODE_LEVELS 8

struct tephra_tree_node {
  __u64 words[TEPHRA_NODE_WORDS];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_tree_node);
} tree_nodes SEC(".maps");

/* Which child of a node with `pivots` pivots from word `first` on holds the address. Pivots that are not used are zero,
 * and stand last. Those below the address are counted without a branch, each of which the verifier would follow both
 * ways: for user addresses, that is for numbers below 2^63, the highest bit of the difference tells. */
#define TEPHRA_COUNT_PIVOTS(node, first, pivots, address, count)                              \
  _Pragma("unroll") for (int i = 0; i < (pivots); ++i) {                                      \
    __u64 pivot = (node)->words[((first) + i) & (TEPHRA_NODE_WORDS - 1)] - 1;                 \
    count += (pivot - ((address)-1)) >> 63 & ~(pivot >> 63) & 1;                              \
  }

/* The mapping of `mm` that holds the address, or 0: read without a lock, so what is found must be looked at before it is
 * believed. bpf_find_vma takes a lock, and where interrupts are off, as at events, gives it back by an interrupt, which
 * costs a virtual machine some thirty microseconds. */
__noinline __u64 tephra_find_vma(__u64 mm_address, __u64 address) {
  struct mm_struct* mm = (void*)mm_address;
  struct tephra_tree_node* node;
  __u32 wide_pivots, wide_slots, pivots, slots;
  __u32 zero = 0;
  __u64 entry;
  if (!bpf_core_field_exists(mm->mm_mt)) return 0; /* before Linux 6.1 */
  wide_pivots = bpf_core_field_offset(struct maple_arange_64, pivot) / 8;
  wide_slots = bpf_core_field_offset(struct maple_arange_64, slot) / 8;
  pivots = bpf_core_field_offset(struct maple_range_64, pivot) / 8;
  slots = bpf_core_field_offset(struct maple_range_64, slot) / 8;
  node = bpf_map_lookup_elem(&tree_nodes, &zero);
  entry = (__u64)BPF_CORE_READ(mm, mm_mt.ma_root);
  if (!node || (entry & 3) != 2 || address >> 63) return 0;
  for (int level = 0; level < TEPHRA_NODE_LEVELS; ++level) {
    /* A pointer to a node of 256 bytes has its type in the low bits. */
    __u32 type = entry >> 3 & 15;
    __u32 child = 0;
    if (bpf_probe_read_kernel(node, sizeof *node, (void*)(entry & ~255ULL))) return 0;
    if (type == bpf_core_enum_value(enum maple_type, maple_arange_64)) {
      TEPHRA_COUNT_PIVOTS(node, wide_pivots, 9, address, child)
      child += wide_slots;
    } else {
      TEPHRA_COUNT_PIVOTS(node, pivots, 15, address, child)
      child += slots;
    }
    entry = node->words[child & (TEPHRA_NODE_WORDS - 1)];
    if (type == bpf_core_enum_value(enum maple_type, maple_leaf_64)) return entry;
    if (!entry) return 0;
  }
  return 0;
}

/* What is read of a mapping, and how it was found: it holds until the mappings of its process change, which the kernel
 * counts. The last one of each CPU is remembered. */
struct tephra_mapping_facts {
  __u64 mm;
  __u64 start;
  __u64 end;
  __u32 changes;
  __u32 flags; /* TEPHRA_FAULT_* */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_mapping_facts);
} last_mapping SEC(".maps");

static __always_inline bool tephra_within(const struct tephra_mapping_facts* mapping, __u64 address) {
  return mapping->start <= address && address < mapping->end;
}

static __always_inline __u32 tephra_mapping_flags(struct vm_area_struct* vma, struct mm_struct* mm,
                                                  const struct tephra_mapping_facts* mapping) {
  struct file* file = BPF_CORE_READ(vma, vm_file);
  __u64 flags = BPF_CORE_READ(vma, vm_flags);
  __u32 found = TEPHRA_FAULT_MAPPING_KNOWN;
  if (flags & TEPHRA_VM_SHARED) found |= TEPHRA_FAULT_SHARED;
  if (flags & TEPHRA_VM_HUGE_PAGES) return found | TEPHRA_FAULT_HUGETLB;
  if (file) {
    found |= TEPHRA_FAULT_FILE;
    if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) == TEPHRA_TMPFS) found |= TEPHRA_FAULT_MEMORY_FILE;
  } else if (flags & TEPHRA_VM_GROWS_DOWN) {
    found |= TEPHRA_FAULT_STACK;
  } else if (mapping->start <= BPF_CORE_READ(mm, brk) && mapping->end >= BPF_CORE_READ(mm, start_brk)) {
    found |= TEPHRA_FAULT_HEAP;
  }
  return found;
}

/* Looks the mapping up; false where it cannot be told. */
static __always_inline bool tephra_read_mapping(struct mm_struct* mm, __u64 address, __u32 changes,
                                                struct tephra_mapping_facts* mapping) {
  struct vm_area_struct* vma = (void*)tephra_find_vma((__u64)mm, address);
  mapping->mm = 0;
  if (!vma || BPF_CORE_READ(vma, vm_mm) != mm) return false;
  mapping->start = BPF_CORE_READ(vma, vm_start);
  mapping->end = BPF_CORE_READ(vma, vm_end);
  if (!tephra_within(mapping, address)) return false;
  mapping->flags = tephra_mapping_flags(vma, mm, mapping);
  mapping->changes = changes;
  mapping->mm = (__u64)mm;
  return true;
}

static __always_inline __u64 tephra_thread_pointer(struct task_struct* task) {
#if defined(__TARGET_ARCH_arm64)
  return BPF_CORE_READ(task, thread.uw.tp_value);
#else
  return BPF_CORE_READ(task, thread.fsbase);
#endif
}

/* TEPHRA_FAULT_* of the fault that was just handled. `sp`: the user's. */
static __always_inline __u32 tephra_fault_facts(struct task_struct* task, __u64 address, __u64 sp) {
  const __u32 others = TEPHRA_FAULT_FILE | TEPHRA_FAULT_STACK | TEPHRA_FAULT_HEAP | TEPHRA_FAULT_HUGETLB;
  struct mm_struct* mm = BPF_CORE_READ(task, mm);
  __u32 cause = tephra_fault_cause(address);
  __u32 zero = 0;
  /* The number is odd while mappings change. Before Linux 6.13 it is another one. */
  const bool counted = bpf_core_field_exists(mm->mm_lock_seq.sequence);
  __u32 changes = counted ? BPF_CORE_READ(mm, mm_lock_seq.sequence) : 1;
  struct tephra_mapping_facts* mapping = bpf_map_lookup_elem(&last_mapping, &zero);
  if (!mapping) return cause;
  if (changes & 1 || mapping->mm != (__u64)mm || mapping->changes != changes || !tephra_within(mapping, address)) {
    if (!tephra_read_mapping(mm, address, changes, mapping)) return cause;
  }
  /* C libraries put the data of a thread at the upper end of its stack. A stack that a program made itself of other
   * memory is not taken for one: what else is in that memory cannot be told from it. */
  if (!(mapping->flags & others) && tephra_within(mapping, sp) && tephra_within(mapping, tephra_thread_pointer(task))) {
    cause |= TEPHRA_FAULT_STACK;
  }
  return cause | mapping->flags;
}

/* The size of the page that is there now; 0 where the kernel has not looked: before Linux 6.3 it does so later. */
static __always_inline __u64 tephra_fault_page_size(struct bpf_perf_event_data* ctx) {
  struct bpf_perf_event_data_kern* kernel_ctx = (void*)ctx;
  struct perf_sample_data* data = BPF_CORE_READ(kernel_ctx, data);
  if (!bpf_core_field_exists(data->sample_flags)) return 0;
  if (!(BPF_CORE_READ(data, sample_flags) & TEPHRA_SAMPLE_DATA_PAGE_SIZE)) return 0;
  return BPF_CORE_READ(data, data_page_size);
}

#endif
