// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * How long threads are away from a CPU, and where they were in their code. When a watched thread is switched away from,
 * its stack is taken and hashed; a stack is sent once. When it is switched to, its time is added to a sum by thread,
 * stack and kind of wait; waits above a threshold are told one by one instead.
 *
 * Nothing is lost without a trace: where there is no room for a sum, time is added to one without a stack, by thread,
 * and where there is none for that, to one by state. So totals are exact.
 *
 * Two maps of sums take turns (`turn`), so that one can be read while nothing is added to it.
 */
#include "stack_walk.h"

#include <bpf/bpf_tracing.h>

#include "abi/off_cpu.h"
#include "abi/watching.h"

enum phase { PHASE_UNKNOWN = 0, PHASE_RUNNING = 1, PHASE_WAITING = 2 };

struct task_watch {
  __u64 first; /* it is watched since then */
  __u64 since; /* it is in its phase since then */
  __u64 woken_at;
  __u64 stack;
  __u64 last_stack; /* that is known to have been sent */
  __u64 address;
  __u64 waker;
  __u64 waker_alone; /* the same one without who had woken it */
  __u32 syscall;
  __u32 flags;
  __u32 state;
  __u32 phase;
  struct watch_groups watched;
};

#include "taken_stacks.h"

char program_license[] SEC("license") = "Dual BSD/GPL";

/* From the kernel's sched.h. */
#define STATE_INTERRUPTIBLE 1
#define STATE_UNINTERRUPTIBLE 2
#define STATE_DEAD 0x10 | 0x20 | 0x80
#define STATE_NOLOAD 0x400 /* with the second: an idle thread of the kernel */
#define STATE_RTLOCK 0x1000

#if defined(__TARGET_ARCH_arm64)
#define SYSCALL_FUTEX 98
#else
#define SYSCALL_FUTEX 202
#endif
#define SYSCALL_FUTEX_WAIT 455

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___off_cpu {
  unsigned in_iowait : 1;
  int on_cpu;
};

#pragma clang attribute pop

const volatile __u32 states = (1 << TEPHRA_WAIT_STATES) - 1;
const volatile __u64 min_ns = 0;
const volatile __u64 max_ns = ~0ULL;
const volatile __u64 threshold_ns = 5000000;
const volatile __u64 budget_ns = 0; /* what stacks may cost on a CPU in BUDGET_TIME_NS; 0: what they cost */
const volatile bool with_running = false;  /* sums of time on a CPU */
const volatile bool split_wakeups = false; /* from being woken to running is time in the run queue */
const volatile bool with_wakers = false;

/* Written by the recorder. */
volatile __u32 take_one_in = 1; /* stacks, to keep the budget */

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, struct tephra_wait_key);
  __type(value, struct tephra_wait_sum);
} sums_0 SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, struct tephra_wait_key);
  __type(value, struct tephra_wait_sum);
} sums_1 SEC(".maps");

/* Read at the end alone. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, struct tephra_unkept_key);
  __type(value, struct tephra_wait_sum);
} unkept SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} switch_walks SEC(".maps");

/* Interrupts wake threads in the midst of a switch. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} waker_walks SEC(".maps");

/* One iteration at a time. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} iteration_walk SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_off_cpu_totals);
} totals SEC(".maps");

/* --- sums --- */

static __always_inline struct tephra_off_cpu_totals* totals_here(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&totals, &zero);
}

static __always_inline void add(struct tephra_wait_sum* sum, __u64 ns, __u64 now) {
  sum->ns += ns;
  sum->count++;
  sum->last = now;
}

/* A thread is on one CPU at a time, and all keys have their thread: no other adds to the same sum. */
static __always_inline bool add_kept(void* map, struct tephra_wait_key* key, __u64 ns, __u64 now) {
  struct tephra_wait_sum* sum = bpf_map_lookup_elem(map, key);
  struct tephra_wait_sum first = {.ns = ns, .count = 1, .last = now};
  if (!sum) return bpf_map_update_elem(map, key, &first, BPF_ANY) == 0;
  add(sum, ns, now);
  return true;
}

static __noinline int add_unkept(struct tephra_wait_key* key, __u64 ns, __u64 now) {
  struct tephra_unkept_key thread = {};
  struct tephra_wait_sum first = {.ns = ns, .count = 1, .last = now};
  struct tephra_off_cpu_totals* total;
  struct tephra_wait_sum* sum;
  if (!key) return 0;
  thread.pid = key->pid;
  thread.tid = key->tid;
  thread.state = key->state;
  sum = bpf_map_lookup_elem(&unkept, &thread);
  if (sum) {
    add(sum, ns, now);
    return 0;
  }
  if (bpf_map_update_elem(&unkept, &thread, &first, BPF_ANY) == 0) return 0;
  total = totals_here();
  if (total && key->state < TEPHRA_OFF_CPU_STATES) add(&total->unkept[key->state], ns, now);
  return 0;
}

static __always_inline void add_to_sums(struct tephra_wait_key* key, __u64 ns, __u64 now) {
  bool kept = watch_state.turn ? add_kept(&sums_1, key, ns, now) : add_kept(&sums_0, key, ns, now);
  if (!kept) add_unkept(key, ns, now);
}

/* A wait that ends at `now`. */
static __always_inline void tell(struct tephra_wait_key* key, __u64 ns, __u64 now) {
  struct tephra_wait_told told = {.type = TEPHRA_RECORD_WAIT, .size = sizeof told};
  if (ns >= threshold_ns && key->state != TEPHRA_RAN) {
    told.cpu = bpf_get_smp_processor_id();
    told.ended = now;
    told.ns = ns;
    told.count = 1;
    told.key = *key;
    told.key.flags |= TEPHRA_WAIT_SINGLE;
    if (send(&told, sizeof told)) return;
  }
  add_to_sums(key, ns, now);
}

/* --- switches --- */

static __always_inline struct task_struct___off_cpu* more_of(struct task_struct* task) { return (void*)task; }

static __always_inline __u32 class_of(bool preempt, __u32 state) {
  if (preempt || state == 0) return TEPHRA_WAIT_RUN_QUEUE;
  if (state & STATE_INTERRUPTIBLE) return TEPHRA_WAIT_SLEEPING;
  if (state & STATE_UNINTERRUPTIBLE) return state & STATE_NOLOAD ? TEPHRA_WAIT_SLEEPING : TEPHRA_WAIT_UNINTERRUPTIBLE;
  return state & STATE_RTLOCK ? TEPHRA_WAIT_UNINTERRUPTIBLE : TEPHRA_WAIT_OTHER;
}

/* Which system call it is in, and which lock it waits for. */
static __always_inline void note_call(struct task_watch* watch, struct task_struct* task) {
  struct tephra_registers* saved;
  __s64 number = -1;
  watch->address = 0;
  watch->syscall = TEPHRA_NO_SYSCALL;
  if (!tephra_has_user_part(task)) return;
  saved = (void*)bpf_task_pt_regs(task);
  if (!saved) return;
#if defined(__TARGET_ARCH_arm64)
  /* The number is in x8; it is not told here whether it is one. */
  bpf_probe_read_kernel(&number, sizeof number, &saved->regs[8]);
#else
  bpf_probe_read_kernel(&number, sizeof number, &saved->orig_ax);
#endif
  if (number < 0) {
    watch->flags |= TEPHRA_WAIT_IN_FAULT;
    return;
  }
  watch->syscall = number;
  if (number != SYSCALL_FUTEX && number != SYSCALL_FUTEX_WAIT) return;
#if defined(__TARGET_ARCH_arm64)
  bpf_probe_read_kernel(&watch->address, sizeof watch->address, &saved->regs[0]);
#else
  bpf_probe_read_kernel(&watch->address, sizeof watch->address, &saved->di);
#endif
}

static __always_inline void fill_key(struct tephra_wait_key* key, struct task_watch* watch, struct task_struct* task) {
  key->pid = tephra_process_of(task);
  key->tid = tephra_pid_of(task);
  key->state = watch->state;
  key->flags = watch->flags;
  key->syscall = watch->syscall;
  key->stack = watch->stack;
  key->address = watch->address;
  key->waker = watch->waker;
}

/* It ran from `since` to `now`. */
static __always_inline void end_run(struct task_struct* task, struct task_watch* watch, __u64 now) {
  struct tephra_wait_key key = {};
  __u64 from = watch->since > watch_state.begun ? watch->since : watch_state.begun;
  if (now <= from) return;
  key.pid = tephra_process_of(task);
  key.tid = tephra_pid_of(task);
  key.state = TEPHRA_RAN;
  add_to_sums(&key, now - from, now);
}

/* The budget of a CPU for a while; what it is spent on is measured each time. */
#define BUDGET_TIME_NS 10000000ULL

struct spent_lately {
  __u64 since;
  __u64 ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct spent_lately);
} spent SEC(".maps");

static __always_inline bool may_spend(__u64 now) {
  __u32 zero = 0;
  struct spent_lately* lately;
  if (take_one_in > 1 && bpf_get_prandom_u32() % take_one_in != 0) return false;
  if (!budget_ns) return true;
  lately = bpf_map_lookup_elem(&spent, &zero);
  if (!lately) return false;
  if (now - lately->since >= BUDGET_TIME_NS) {
    lately->since = now;
    /* What was too much is owed. */
    lately->ns = lately->ns > budget_ns ? lately->ns - budget_ns : 0;
  }
  return lately->ns < budget_ns;
}

static __always_inline void spend(__u64 ns) {
  __u32 zero = 0;
  struct spent_lately* lately = bpf_map_lookup_elem(&spent, &zero);
  if (lately) lately->ns += ns;
}

static __always_inline void end_wait(struct task_struct* task, struct task_watch* watch, __u64 now) {
  struct tephra_wait_key key = {};
  __u64 from = watch->since;
  __u64 woken_at = watch->woken_at;
  __u64 ns;
  if (!(states >> watch->state & 1)) return;
  if (from < watch_state.begun) {
    from = watch_state.begun;
    watch->flags |= TEPHRA_WAIT_OPEN_BEGIN;
  }
  if (now <= from) return;
  ns = now - from;
  if (ns < min_ns || ns > max_ns) return;
  fill_key(&key, watch, task);
  if (split_wakeups && woken_at && watch->state != TEPHRA_WAIT_RUN_QUEUE && woken_at < now) {
    if (woken_at < from) woken_at = from;
    if (woken_at > from) tell(&key, woken_at - from, woken_at);
    key.state = TEPHRA_WAIT_RUN_QUEUE;
    key.flags &= ~TEPHRA_WAIT_FOR_IO;
    ns = now - woken_at;
  }
  tell(&key, ns, now);
}

/* A thread that leaves its CPU although it was not seen to get it: such a switch was not told (which happens on some
 * machines), and its wait has ended meanwhile. The scheduler knows since when it has the CPU. Where that was before we
 * met it, it was met in the midst of a switch, and did not wait. */
static __always_inline void make_up_for_entry(struct task_struct* task, struct task_watch* watch, __u64 now) {
  __u64 clock = bpf_core_field_exists(struct cfs_rq, rq) ? BPF_CORE_READ(task, se.cfs_rq, rq, clock) : 0;
  __u64 arrival = bpf_core_field_exists(struct sched_info, last_arrival) ? BPF_CORE_READ(task, sched_info.last_arrival) : 0;
  __u64 entered = watch->since;
  if (arrival && clock >= arrival && clock - arrival < now - watch->since) entered = now - (clock - arrival);
  end_wait(task, watch, entered);
  watch->phase = PHASE_RUNNING;
  watch->since = entered;
}

/* What this costs is measured at one switch in so many; with a budget, at each whose stack is taken. */
#define MEASURE_ONE_IN 64

static __always_inline void leave(void* ctx, struct task_struct* prev, bool preempt, __u32 state, __u64 now) {
  struct task_watch* watch = watch_of(prev);
  struct tephra_off_cpu_totals* total;
  struct tephra_walk* walk;
  __u64 cost;
  __u32 zero = 0;
  if (!watch) return;
  if (watch_state.begun && watch->phase == PHASE_WAITING) make_up_for_entry(prev, watch, now);
  if (with_running && watch_state.begun && watch->phase != PHASE_UNKNOWN) end_run(prev, watch, now);
  watch->phase = state & (STATE_DEAD) && !preempt ? PHASE_UNKNOWN : PHASE_WAITING;
  watch->since = now;
  watch->woken_at = 0;
  watch->stack = 0;
  watch->flags = 0;
  watch->waker = 0;
  watch->state = class_of(preempt, state);
  if (watch->phase == PHASE_UNKNOWN || !watch_state.begun || !(states >> watch->state & 1)) return;
  total = totals_here();
  if (!total) return;
  total->switches++;
  if (BPF_CORE_READ_BITFIELD(more_of(prev), in_iowait)) watch->flags |= TEPHRA_WAIT_FOR_IO;
  note_call(watch, prev);
  if (watching.stacks == TEPHRA_STACKS_NONE) return;
  if (!may_spend(now)) {
    watch->flags |= TEPHRA_WAIT_NO_STACK;
    watch->address = 0;
    total->skipped++;
    return;
  }
  walk = bpf_map_lookup_elem(&switch_walks, &zero);
  if (walk) {
    watch->stack =
        take_stack_after(ctx, walk, prev, tephra_process_of(prev), tephra_pid_of(prev), &watch->last_stack);
  }
  if (budget_ns || total->switches % MEASURE_ONE_IN == 0) {
    cost = bpf_ktime_get_ns() - now;
    total->measured++;
    total->measured_ns += cost;
    if (budget_ns) spend(cost);
  }
}

static __always_inline void enter(struct task_struct* next, __u64 now) {
  struct task_watch* watch = watch_of(next);
  if (!watch) return;
  if (!watch->first) watch->first = now; /* where all are watched that come */
  if (watch->phase == PHASE_RUNNING) { /* the other way round */
    watch->state = TEPHRA_WAIT_RUN_QUEUE;
    watch->phase = PHASE_WAITING;
  }
  if (watch_state.begun && watch->phase == PHASE_WAITING) end_wait(next, watch, now);
  watch->phase = PHASE_RUNNING;
  watch->since = now;
}

static __always_inline int on_switch(void* ctx, bool preempt, struct task_struct* prev, struct task_struct* next,
                                     __u32 state) {
  __u64 now;
  if (watch_state.stopped) return 0;
  now = bpf_ktime_get_ns();
  leave(ctx, prev, preempt, state, now);
  enter(next, now);
  return 0;
}

/* The state is an argument since Linux 5.18; before, it is still that of the task. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switch_with_state, bool preempt, struct task_struct* prev, struct task_struct* next, unsigned int state) {
  return on_switch(ctx, preempt, prev, next, state);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switch_without_state, bool preempt, struct task_struct* prev, struct task_struct* next) {
  struct task_struct___with_state* old = (void*)prev;
  __u32 state = bpf_core_field_exists(prev->__state) ? prev->__state : BPF_CORE_READ(old, state);
  return on_switch(ctx, preempt, prev, next, state);
}

/* --- who comes to be watched --- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct* parent, struct task_struct* child) {
  struct task_watch* watch = watch_child(parent, child);
  if (!watch) return 0;
  /* It is ready to run from now on. Only where all time is accounted for that is worth telling. */
  watch->first = watch->since = bpf_ktime_get_ns();
  watch->state = TEPHRA_WAIT_RUN_QUEUE;
  watch->syscall = TEPHRA_NO_SYSCALL;
  watch->phase = with_running ? PHASE_WAITING : PHASE_UNKNOWN;
  return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct* task) {
  struct task_watch* watch = watch_awaited(task);
  if (!watch) return 0;
  watch->phase = PHASE_RUNNING;
  watch->first = watch->since = bpf_ktime_get_ns();
  return 0;
}

/* --- wake-ups --- */

static __always_inline __u64 mix(__u64 a, __u64 b) {
  a = (a ^ b) * 0x9e3779b97f4a7c15ULL;
  return a ^ a >> 32;
}

static __always_inline void tell_waker(__u64 number, __u64 upper, __u64 stack, __u32 pid, __u32 tid) {
  struct tephra_waker_told told = {.type = TEPHRA_RECORD_WAKER, .size = sizeof told, .pid = pid, .tid = tid};
  __u8 one = 1;
  if (bpf_map_lookup_elem(&seen, &number)) return;
  told.time = bpf_ktime_get_ns();
  told.number = number;
  told.upper = upper;
  told.stack = stack;
  if (send(&told, sizeof told)) bpf_map_update_elem(&seen, &number, &one, BPF_ANY);
}

static __always_inline void note_waker(void* ctx, struct task_watch* sleeper) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct task_watch* own = bpf_task_storage_get(&watches, task, 0, 0);
  __u32 pid = tephra_process_of(task);
  __u32 tid = tephra_pid_of(task);
  struct tephra_walk* walk;
  __u32 zero = 0;
  __u64 stack;
  __u64 upper = own ? own->waker_alone : 0;
  __u64 alone;
  walk = bpf_map_lookup_elem(&waker_walks, &zero);
  if (!walk || !tephra_walk_claim(walk)) return;
  stack = take_stack(ctx, walk, task, pid, tid);
  tephra_walk_release(walk);
  alone = mix(mix(stack, pid), tid) | 1;
  sleeper->waker_alone = alone;
  sleeper->waker = upper ? mix(alone, upper) | 1 : alone;
  tell_waker(alone, 0, stack, pid, tid);
  if (upper) tell_waker(sleeper->waker, upper, stack, pid, tid);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct* task) {
  struct task_watch* watch;
  if (!watch_state.begun || watch_state.stopped) return 0;
  watch = watch_of(task);
  if (!watch || watch->phase != PHASE_WAITING || watch->woken_at) return 0;
  watch->woken_at = bpf_ktime_get_ns();
  if (with_wakers && watch->state != TEPHRA_WAIT_RUN_QUEUE) note_waker(ctx, watch);
  return 0;
}

/* --- what waits already, and still --- */

/* Before counting begins: whoever is there is watched from now on. */
SEC("iter/task")
int watch_existing(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct task_watch* watch = watch_existing_task(task);
  __u32 state;
  __u32 phase;
  if (!task || !watch || watch->phase != PHASE_UNKNOWN) return 0;
  state = task->__state;
  if (state & (STATE_DEAD)) return 0;
  phase = BPF_CORE_READ(more_of(task), on_cpu) ? PHASE_RUNNING : PHASE_WAITING;
  watch->state = class_of(false, state);
  watch->since = bpf_ktime_get_ns();
  if (!watch->first) watch->first = watch->since;
  note_call(watch, task);
  /* A switch meanwhile knows better. */
  __sync_val_compare_and_swap(&watch->phase, PHASE_UNKNOWN, phase);
  return 0;
}

/* Once counting has begun: the stacks of those that wait since before. `sleepable`: their user stacks can be had. */
static __always_inline int tell_stack(struct bpf_iter__task* ctx, bool sleepable) {
  struct task_struct* task = ctx->task;
  struct task_watch* watch;
  struct tephra_walk* walk;
  __u64 since;
  __u64 number;
  __u32 zero = 0;
  __u32 at;
  __u32 size;
  __u32 copy_bytes = 0;
  long bytes;
  if (!task || task->pid == 0) return 0;
  number = HASH_OF_COPY | 1ULL << 62 | task->pid;
  watch = watching.mode == TEPHRA_WATCH_LISTED ? bpf_task_storage_get(&watches, task, 0, 0) : watch_of(task);
  if (!watch || watch->phase != PHASE_WAITING || watch->since >= watch_state.begun) return 0;
  /* When the reader's buffer is full, the kernel drops what was written for a task, and comes again. */
  if (watch->stack && watch->stack != number) return 0;
  if (!(states >> watch->state & 1)) return 0;
  since = watch->since;
  walk = bpf_map_lookup_elem(&iteration_walk, &zero);
  if (!walk) return 0;
  at = CHAIN_AT;
  bytes = watching.kernel_stacks ? bpf_get_task_stack(task, &walk->words[CHAIN_AT + 1], watching.max_kernel_bytes, 0) : 0;
  if (bytes >= 8) {
    walk->words[CHAIN_AT] = CONTEXT_KERNEL;
    at = CHAIN_AT + 1 + (__u32)bytes / 8;
  }
  walk->position = at;
  if (sleepable && watching.stacks != TEPHRA_STACKS_NONE && tephra_walk_begin(walk, task) == TEPHRA_USER_HERE &&
      at <= COPY_AT_MOST - REGISTER_WORDS) {
    __u64 sp = walk->frame.sp;
    __u32 page = 4096 - (sp & 4095);
    bpf_probe_read_kernel(&walk->words[at], sizeof walk->user, &walk->user);
    at += REGISTER_WORDS;
    if (!bpf_copy_from_user_task(&walk->words[at], COPY_BYTES, (void*)sp, task, 0)) {
      copy_bytes = COPY_BYTES;
    } else if (!bpf_copy_from_user_task(&walk->words[at], 4096, (void*)sp, task, 0)) {
      copy_bytes = 4096;
    } else if (page >= 8 && page <= 4096 &&
               !bpf_copy_from_user_task(&walk->words[at], page & 0x1ff8, (void*)sp, task, 0)) {
      copy_bytes = page & 0x1ff8;
    }
  }
  /* It may have run meanwhile. */
  if (watch->phase != PHASE_WAITING || watch->since != since) return 0;
  head(walk, number, TEPHRA_WALK_NOT_TOLD, tephra_process_of(task),
       tephra_pid_of(task), walk->position - CHAIN_AT, copy_bytes);
  watch->stack = number;
  size = walk->position * 8;
  if (copy_bytes) size += sizeof walk->user + copy_bytes;
  if (size <= sizeof walk->words) bpf_seq_write(ctx->meta->seq, walk->words, size);
  return 0;
}

SEC("iter.s/task")
int tell_stacks(struct bpf_iter__task* ctx) { return tell_stack(ctx, true); }

/* Where user memory of others cannot be read. */
SEC("iter/task")
int tell_kernel_stacks(struct bpf_iter__task* ctx) { return tell_stack(ctx, false); }

static __always_inline void tell_open(struct bpf_iter__task* ctx, struct task_watch* watch,
                                      struct tephra_wait_key* key, __u64 from, __u64 to) {
  struct tephra_wait_told told = {.type = TEPHRA_RECORD_WAIT, .size = sizeof told};
  told.lived = watch_state.stopped - (watch->first > watch_state.begun ? watch->first : watch_state.begun);
  if (to <= from) return;
  told.ended = to;
  told.ns = to - from;
  told.count = 1;
  told.key = *key;
  bpf_seq_write(ctx->meta->seq, &told, sizeof told);
}

/* When counting has ended: what still goes on. */
SEC("iter/task")
int tell_open_waits(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct tephra_wait_key key = {};
  struct task_watch* watch;
  __u64 from;
  if (!task || task->pid == 0) return 0;
  watch = watching.mode == TEPHRA_WATCH_LISTED ? bpf_task_storage_get(&watches, task, 0, 0) : watch_of(task);
  if (!watch || watch->phase == PHASE_UNKNOWN) return 0;
  from = watch->since > watch_state.begun ? watch->since : watch_state.begun;
  if (watch->phase == PHASE_RUNNING) {
    if (!with_running) return 0;
    key.pid = tephra_process_of(task);
    key.tid = tephra_pid_of(task);
    key.state = TEPHRA_RAN;
    tell_open(ctx, watch, &key, from, watch_state.stopped);
    return 0;
  }
  if (!(states >> watch->state & 1) || watch_state.stopped - from < min_ns || watch_state.stopped - from > max_ns) return 0;
  fill_key(&key, watch, task);
  key.flags |= TEPHRA_WAIT_SINGLE | TEPHRA_WAIT_OPEN_END;
  if (watch->since < watch_state.begun) key.flags |= TEPHRA_WAIT_OPEN_BEGIN;
  if (split_wakeups && watch->woken_at && watch->state != TEPHRA_WAIT_RUN_QUEUE) {
    __u64 woken_at = watch->woken_at > from ? watch->woken_at : from;
    tell_open(ctx, watch, &key, from, woken_at);
    key.state = TEPHRA_WAIT_RUN_QUEUE;
    from = woken_at;
  }
  tell_open(ctx, watch, &key, from, watch_state.stopped);
  return 0;
}
