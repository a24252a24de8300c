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
  BPF_MAP_TYPE_LRU_HASH = 9,
  BPF_MAP_TYPE_RINGBUF = 27,
  BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
  BPF_ANY = 0,
  BPF_F_NO_PREALLOC = 1,
  BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_info {
  unsigned long long run_delay;
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

struct task_struct {
  unsigned int __state;
  int pid;
  int tgid;
  char comm[16];
  struct sched_entity se;
  struct sched_info sched_info;
};

/* Up to Linux 5.13. */
struct task_struct___with_state {
  volatile long state;
};

#pragma clang attribute pop

#endif
