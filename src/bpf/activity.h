/*
 * What threads do - system calls, requests to disks, connections - summed up by thread, kind and stack. The includer is
 * one kind of activity: its programs call
 *
 *   activity_counts()                counting goes on
 *   watch_of(task)                   null: the task is not watched (watched_tasks.h)
 *   activity_take_stack(ctx, task)   the hash of the running task's stack, which was sent
 *   activity_key(task, kind, detail, stack)
 *   activity_add(&key, count, bytes, ns, now)
 *
 * from any context. Nothing is lost without a trace: where there is no room for a sum, it is added to one without a
 * stack, by thread and kind, and where there is none for that, to one by kind. So totals are exact.
 *
 * Two maps of sums take turns (`turn`), so that one can be read while nothing is added to it.
 */
#ifndef TEPHRA_BPF_ACTIVITY_H
#define TEPHRA_BPF_ACTIVITY_H

#include "stack_walk.h"

#include <bpf/bpf_tracing.h>

#include "abi/activity.h"
#include "abi/watching.h"

/* Beside `watched` they are the includer's: what the task is in the midst of. */
struct task_watch {
  __u64 since; /* 0: nothing */
  __u64 stack;
  __u64 place;
  __u64 bytes;
  __u32 kind;
  __u32 detail;
  __u32 call;
  __u32 flags;
  struct watch_groups watched;
};

#include "taken_stacks.h"

char program_license[] SEC("license") = "Dual BSD/GPL";

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, struct tephra_activity_key);
  __type(value, struct tephra_activity_sum);
} sums_0 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, struct tephra_activity_key);
  __type(value, struct tephra_activity_sum);
} sums_1 SEC(".maps");

/* Read at the end alone. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, struct tephra_activity_key);
  __type(value, struct tephra_activity_sum);
} unkept SEC(".maps");

/* One for tasks, one for the interrupts in the midst of them. */
#define ACTIVITY_WALKS 2

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, ACTIVITY_WALKS);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} walks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_activity_totals);
} totals SEC(".maps");

static __always_inline struct tephra_activity_totals* totals_here(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&totals, &zero);
}

static __always_inline bool activity_counts(void) { return watch_state.begun && !watch_state.stopped; }

/* What has `began` before counting did began with it. */
static __always_inline __u64 activity_since(__u64 began) {
  return began < watch_state.begun ? watch_state.begun : began;
}

static __always_inline void add_to(struct tephra_activity_sum* sum, const struct tephra_activity_sum* more) {
  __u64 longest = sum->longest_ns;
  __sync_fetch_and_add(&sum->count, more->count);
  __sync_fetch_and_add(&sum->bytes, more->bytes);
  __sync_fetch_and_add(&sum->ns, more->ns);
  if (more->longest_ns > longest) __sync_val_compare_and_swap(&sum->longest_ns, longest, more->longest_ns);
  sum->last = more->last;
}

static __always_inline bool add_kept(void* map, struct tephra_activity_key* key, struct tephra_activity_sum* more) {
  struct tephra_activity_sum* sum = bpf_map_lookup_elem(map, key);
  if (!sum) {
    if (bpf_map_update_elem(map, key, more, 1 /* BPF_NOEXIST */) == 0) return true;
    sum = bpf_map_lookup_elem(map, key); /* another CPU may have been faster */
    if (!sum) return false;
  }
  add_to(sum, more);
  return true;
}

static __noinline int add_unkept(struct tephra_activity_key* key, struct tephra_activity_sum* more) {
  struct tephra_activity_key thread = {};
  struct tephra_activity_totals* total;
  if (!key || !more) return 0;
  thread.pid = key->pid;
  thread.tid = key->tid;
  thread.kind = key->kind;
  if (add_kept(&unkept, &thread, more)) return 0;
  total = totals_here();
  if (total && key->kind < TEPHRA_ACTIVITY_KINDS) add_to(&total->unkept[key->kind], more);
  return 0;
}

static __always_inline void activity_add(struct tephra_activity_key* key, __u64 count, __u64 bytes, __u64 ns,
                                         __u64 now) {
  struct tephra_activity_sum more = {.count = count, .bytes = bytes, .ns = ns, .longest_ns = ns, .last = now};
  bool kept = watch_state.turn ? add_kept(&sums_1, key, &more) : add_kept(&sums_0, key, &more);
  if (!kept) add_unkept(key, &more);
}

/* No padding may be left as it was: fill what it returns, and copy it whole. */
static __always_inline struct tephra_activity_key activity_key(struct task_struct* task, __u32 kind, __u32 detail,
                                                               __u64 stack) {
  struct tephra_activity_key key = {};
  key.pid = tephra_process_of(task);
  key.tid = tephra_pid_of(task);
  key.kind = kind;
  key.detail = detail;
  key.stack = stack;
  return key;
}

/* Of the running task. 0: there is none. What that costs is measured at one in so many. */
#define MEASURE_ONE_IN 64

static __always_inline __u64 activity_take_stack(void* ctx, struct task_struct* task) {
  struct tephra_activity_totals* total = totals_here();
  struct tephra_walk* walk;
  __u32 at = 0;
  __u64 begun = 0;
  __u64 stack;
  if (!total || watching.stacks == TEPHRA_STACKS_NONE) return 0;
  walk = bpf_map_lookup_elem(&walks, &at);
  if (!walk) return 0;
  if (!tephra_walk_claim(walk)) {
    at = 1;
    walk = bpf_map_lookup_elem(&walks, &at);
    if (!walk || !tephra_walk_claim(walk)) {
      total->no_walk++;
      return 0;
    }
  }
  if (total->stacks++ % MEASURE_ONE_IN == 0) begun = bpf_ktime_get_ns();
  stack = take_stack(ctx, walk, task, tephra_process_of(task), tephra_pid_of(task));
  tephra_walk_release(walk);
  if (begun) {
    total->measured++;
    total->measured_ns += bpf_ktime_get_ns() - begun;
  }
  return stack;
}

/* --- who comes to be watched --- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct* parent, struct task_struct* child) {
  watch_child(parent, child);
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct* task) {
  watch_awaited(task);
  return 0;
}

SEC("iter/task")
int watch_existing(struct bpf_iter__task* ctx) {
  watch_existing_task(ctx->task);
  return 0;
}

/* How long something has gone on when counting ended. It may have begun in that very moment. */
static __always_inline __u64 activity_until_stop(__u64 since) {
  return watch_state.stopped > since ? watch_state.stopped - since : 0;
}

/* For an iteration at the end: what still goes on, as a record. */
static __always_inline void activity_tell(struct bpf_iter__task* ctx, struct tephra_activity_key* key, __u64 count,
                                          __u64 bytes, __u64 ns) {
  struct tephra_activity_told told = {.type = TEPHRA_RECORD_ACTIVITY, .size = sizeof told};
  told.key = *key;
  told.key.flags |= TEPHRA_ACTIVITY_OPEN;
  told.sum.count = count;
  told.sum.bytes = bytes;
  told.sum.ns = told.sum.longest_ns = ns;
  told.sum.last = watch_state.stopped;
  bpf_seq_write(ctx->meta->seq, &told, sizeof told);
}

#endif
