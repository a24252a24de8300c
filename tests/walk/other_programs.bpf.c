// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The walk in programs of other types than those of events, for tests: at context switches and at a function of a
 * program. Each type has struct tephra_walk's of its own, because programs of one type may interrupt those of the
 * other. Uprobe programs may be preempted, so one can come upon the walk of another thread on the same CPU.
 */
#include "stack_walk.h"

#include <bpf/bpf_tracing.h>

char program_license[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 watched = 0; /* the process */

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} switch_walks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} probe_walks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 20);
} stacks SEC(".maps");

__u64 busy = 0;

/* Sends: kind, how the walk ended, tid, the addresses. */
static __always_inline void walk_and_send(struct tephra_walk* walk, __u64 kind) {
  struct task_struct* task = bpf_get_current_task_btf();
  __u32 size;
  if (tephra_process_of(task) != watched) return;
  if (!tephra_walk_claim(walk)) {
    __sync_fetch_and_add(&busy, 1);
    return;
  }
  if (tephra_walk_begin(walk, task) == TEPHRA_USER_HERE && tephra_walk_process(walk, task, watched)) {
    walk->position = 3;
    tephra_walk_user(walk, 512);
    walk->words[0] = kind;
    walk->words[1] = walk->end;
    walk->words[2] = tephra_pid_of(task);
    size = walk->position * 8;
    if (size <= sizeof walk->words) bpf_ringbuf_output(&stacks, walk->words, size, 0);
  }
  tephra_walk_release(walk);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(at_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  __u32 zero = 0;
  struct tephra_walk* walk = bpf_map_lookup_elem(&switch_walks, &zero);
  if (walk) walk_and_send(walk, 1);
  return 0;
}

SEC("uprobe")
int at_function(void* ctx) {
  __u32 zero = 0;
  struct tephra_walk* walk = bpf_map_lookup_elem(&probe_walks, &zero);
  if (walk) walk_and_send(walk, 2);
  return 0;
}

SEC("raw_tp")
int note_namespace(void* ctx) {
  tephra_note_namespace();
  return 0;
}
