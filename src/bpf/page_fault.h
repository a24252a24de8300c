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

struct tephra_fault_place {
  __u64 sp;
  __u64 thread_pointer;
  __u32 flags;
};

static __always_inline bool tephra_within(struct vm_area_struct* vma, __u64 address) {
  return vma->vm_start <= address && address < vma->vm_end;
}

static long tephra_look_at_mapping(struct task_struct* task, struct vm_area_struct* vma, struct tephra_fault_place* at) {
  struct file* file = vma->vm_file;
  struct mm_struct* mm = vma->vm_mm;
  __u64 flags = vma->vm_flags;
  __u32 found = TEPHRA_FAULT_MAPPING_KNOWN;
  if (flags & TEPHRA_VM_SHARED) found |= TEPHRA_FAULT_SHARED;
  if (flags & TEPHRA_VM_HUGE_PAGES) found |= TEPHRA_FAULT_HUGETLB;
  if (file && !(flags & TEPHRA_VM_HUGE_PAGES)) {
    found |= TEPHRA_FAULT_FILE;
    if (BPF_CORE_READ(file, f_inode, i_sb, s_magic) == TEPHRA_TMPFS) found |= TEPHRA_FAULT_MEMORY_FILE;
  } else if (flags & TEPHRA_VM_GROWS_DOWN) {
    found |= TEPHRA_FAULT_STACK;
  } else if (vma->vm_start <= BPF_CORE_READ(mm, brk) && vma->vm_end >= BPF_CORE_READ(mm, start_brk)) {
    found |= TEPHRA_FAULT_HEAP;
  } else if (tephra_within(vma, at->sp) && tephra_within(vma, at->thread_pointer)) {
    /* C libraries put the data of a thread at the upper end of its stack. A stack that a program made itself of other
     * memory is not taken for one: what else is in that memory cannot be told from it. */
    found |= TEPHRA_FAULT_STACK;
  }
  at->flags |= found;
  return 0;
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
  struct tephra_fault_place at = {.sp = sp, .thread_pointer = tephra_thread_pointer(task)};
  /* It fails where the mappings of the process just change. */
  bpf_find_vma(task, address, tephra_look_at_mapping, &at, 0);
  return at.flags | tephra_fault_cause(address);
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
