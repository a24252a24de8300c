#ifndef TEPHRA_BPF_VMLINUX_H
#define TEPHRA_BPF_VMLINUX_H

/*
 * The parts of the kernel's types that our programs use. Places of fields are looked up in the running kernel's BTF
 * when a program is loaded (CO-RE), so only their names matter here, and each structure holds no more than is read.
 */

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef short __s16;
typedef unsigned int __u32;
typedef int __s32;
typedef unsigned long long __u64;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;

enum {
  false = 0,
  true = 1,
};

enum bpf_map_type {
  BPF_MAP_TYPE_HASH = 1,
  BPF_MAP_TYPE_ARRAY = 2,
  BPF_MAP_TYPE_PERCPU_ARRAY = 6,
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
  BPF_ANY = 0,
  BPF_F_NO_PREALLOC = 1,
  BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
  BPF_RB_NO_WAKEUP = 1,
  BPF_RB_FORCE_WAKEUP = 2,
  BPF_RB_AVAIL_DATA = 0,
  BPF_F_MMAPABLE = 1 << 10,
  BPF_F_INNER_MAP = 1 << 12,
};

/* The layouts of registers and of what a program on an event gets are part of the kernel's interface: they are read as
 * they stand here. */
#if defined(__TARGET_ARCH_arm64)
struct tephra_registers {
  __u64 regs[31];
  __u64 sp;
  __u64 pc;
  __u64 pstate;
};
#else
struct tephra_registers {
  __u64 r15;
  __u64 r14;
  __u64 r13;
  __u64 r12;
  __u64 bp;
  __u64 bx;
  __u64 r11;
  __u64 r10;
  __u64 r9;
  __u64 r8;
  __u64 ax;
  __u64 cx;
  __u64 dx;
  __u64 si;
  __u64 di;
  __u64 orig_ax;
  __u64 ip;
  __u64 cs;
  __u64 flags;
  __u64 sp;
  __u64 ss;
};
#endif

struct bpf_perf_event_data {
  struct tephra_registers regs;
  __u64 sample_period;
  __u64 addr;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_info {
  unsigned long long run_delay;
  unsigned long long last_arrival;
  unsigned long long last_queued;
};

struct rq {
  unsigned long long clock;
};

struct cfs_rq {
  struct rq* rq;
};

struct sched_entity {
  struct cfs_rq* cfs_rq;
};

struct maple_tree {
  void* ma_root;
};

struct maple_range_64 {
  unsigned long pivot[15];
  void* slot[16];
};

struct maple_arange_64 {
  unsigned long pivot[9];
  void* slot[10];
};

enum maple_type {
  maple_dense,
  maple_leaf_64,
  maple_range_64,
  maple_arange_64,
};

struct seqcount {
  unsigned int sequence;
};

struct mm_struct {
  struct maple_tree mm_mt;
  struct seqcount mm_lock_seq;
  unsigned long start_code;
  unsigned long start_brk;
  unsigned long brk;
  unsigned long start_stack;
};

struct super_block {
  unsigned long s_magic;
};

struct inode {
  struct super_block* i_sb;
};

struct file {
  struct inode* f_inode;
};

struct vm_area_struct {
  unsigned long vm_start;
  unsigned long vm_end;
  struct mm_struct* vm_mm;
  unsigned long vm_flags;
  struct file* vm_file;
};

struct perf_sample_data {
  __u64 sample_flags;
  __u64 data_page_size;
};

struct bpf_perf_event_data_kern {
  struct perf_sample_data* data;
};

#if defined(__TARGET_ARCH_arm64)
struct thread_struct {
  struct {
    unsigned long tp_value;
  } uw;
};
#else
struct thread_struct {
  unsigned long fsbase;
};
#endif

struct ns_common {
  unsigned int inum;
};

struct pid_namespace {
  struct ns_common ns;
};

struct upid {
  int nr;
  struct pid_namespace* ns;
};

struct pid {
  unsigned int level;
  struct upid numbers[1];
};

struct task_struct {
  unsigned int __state;
  unsigned int flags;
  struct mm_struct* mm;
  struct task_struct* group_leader;
  struct task_struct* real_parent;
  struct pid* thread_pid;
  int pid;
  int tgid;
  char comm[16];
  struct sched_entity se;
  struct sched_info sched_info;
  struct thread_struct thread;
};

/* Up to Linux 5.13. */
struct task_struct___with_state {
  volatile long state;
};

#pragma clang attribute pop

#endif
