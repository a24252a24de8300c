// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * On perf events: makes the sample of an overflow, with the kernel's stack and the user stack walked by call-frame
 * rows, and sends it as a finished record of perf's format. What cannot be walked here is left to perf: it then writes
 * the sample as the event's attributes say.
 *
 * The kernel does not run such a program inside another one of an event, a tracepoint or a kprobe on the same CPU, so one
 * struct tephra_walk a CPU is enough. Programs of other types that walk have their own.
 */
#include "stack_walk.h"

#include <bpf/bpf_tracing.h>

#include "page_fault.h"

char program_license[] SEC("license") = "Dual BSD/GPL";

/* From perf's interface. */
#define RECORD_SAMPLE 9
#define MISC_KERNEL 1
#define MISC_USER 2
#define CONTEXT_KERNEL ((__u64)-128)

const volatile __u32 max_frames = 512;
const volatile __u32 max_kernel_bytes = 127 * 8;
const volatile __u64 wake_bytes = 1 << 20;
const volatile bool kernel_stacks = true;
const volatile bool user_stacks = true;
const volatile bool also_raw = false;
const volatile bool page_faults = false;

/* What the records of this instance's event carry. Written when it gets an event, which is after it was loaded: looking
 * at a program takes the kernel long enough that none is loaded in vain. */
volatile struct tephra_walk_event event SEC(".data.event") = {};

/* A process is asked for once in so long, and at once when it runs another program or has other mappings than when it
 * was asked for: programs map their libraries one by one. When some memory of it is not known, samples are left to perf
 * until the recorder has answered, which on a busy machine takes its time. If its mappings do not change then, there is
 * nothing to wait for the next time. */
#define ASK_AGAIN_NS 250000000ULL
#define WAIT_FOR_ANSWER_NS 1000000000ULL
/* Room for tables comes when other processes end. */
#define ASK_FOR_ROOM_NS 4000000000ULL
#define ASKED_PLACES 4096

struct asked_place {
  __u64 time;
  __u64 wait_until;
  __u64 start_stack; /* of the program that it ran then */
  __u32 pid;
  __u32 first; /* where its mappings were then; ~0: they were not known */
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, ASKED_PLACES);
  __type(key, __u32);
  __type(value, struct asked_place);
} asked SEC(".maps");

/* By place of `asked`: the process, once the recorder has answered for it. */
__u32 answered[ASKED_PLACES] = {};

static __always_inline __u32* answer_of(__u32 pid) {
  /* The same place that `asked` was looked up by is in memory, where older verifiers lose sight of its bounds. */
  asm volatile("" : "+r"(pid));
  return &answered[pid % ASKED_PLACES];
}

/* perf's copies are large, and its rings hold few. An event that comes very often is sampled without its callers rather
 * than not at all. */
const volatile __u32 copies_at_once = 64;
#define COPIES_TIME_NS 10000000ULL

struct copies_lately {
  __u64 since;
  __u32 count;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct copies_lately);
} copies SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk);
} walks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_walk_totals);
} totals SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4 << 20);
} records SEC(".maps");

/* The reader was woken and has not read since. */
__u32 woken = 0;

SEC("raw_tp")
int note_namespace(void* ctx) {
  tephra_note_namespace();
  return 0;
}

/* Loaded where events of page faults are sampled. Arguments: address, registers, error code. */
SEC("raw_tp/page_fault_user")
int note_user_fault(__u64* arguments) {
  tephra_note_fault(arguments[0], arguments[2]);
  return 0;
}

SEC("raw_tp/page_fault_kernel")
int note_kernel_fault(__u64* arguments) {
  tephra_note_fault(arguments[0], arguments[2]);
  return 0;
}

static __always_inline void ask_for(struct tephra_walk_totals* total, __u32 pid, __u32 tid, __u64 address) {
  struct tephra_walk_wanted wanted = {
      .type = TEPHRA_RECORD_WANTED, .size = sizeof wanted, .pid = pid, .tid = tid, .address = address};
  if (bpf_ringbuf_output(&records, &wanted, sizeof wanted, BPF_RB_FORCE_WAKEUP)) {
    total->not_asked++;
  } else {
    total->asked++;
  }
}

/* Whether the sample is to be left to perf because what is missing may come. `first`: where the mappings are that
 * `address` is not in, ~0 when there are none. `again_ns`: when to ask again at the earliest. */
static __always_inline bool wait_for(struct tephra_walk_totals* total, struct task_struct* task, __u32 pid, __u32 tid,
                                     __u64 address, __u32 first, __u64 again_ns) {
  __u64 now = bpf_ktime_get_ns();
  /* Read as any memory: on the ways that lead here the verifier would look up the types again and again. */
  __u64 start_stack = BPF_CORE_READ(task, mm, start_stack);
  __u32 at = pid % ASKED_PLACES;
  struct asked_place* place = bpf_map_lookup_elem(&asked, &at);
  bool asked_before;
  if (!place) return true;
  asked_before = place->pid == pid && place->start_stack == start_stack && place->first == first;
  if (!asked_before || now - place->time >= again_ns) {
    place->pid = pid;
    place->start_stack = start_stack;
    place->time = now;
    place->wait_until = asked_before ? 0 : now + WAIT_FOR_ANSWER_NS;
    place->first = first;
    *answer_of(pid) = 0;
    ask_for(total, pid, tid, address);
  }
  return now < place->wait_until && *answer_of(pid) != pid;
}

static __always_inline bool may_copy(void) {
  __u64 now = bpf_ktime_get_ns();
  __u32 zero = 0;
  struct copies_lately* lately = bpf_map_lookup_elem(&copies, &zero);
  if (!lately) return true;
  if (now - lately->since >= COPIES_TIME_NS) {
    lately->since = now;
    lately->count = 0;
  }
  return ++lately->count <= copies_at_once;
}

/* Whether a copy of the stack tells more than the walk did: of code whose rows are not here, or soon will be. */
static __always_inline bool copy_would_help(struct tephra_walk_totals* total, struct tephra_walk* walk,
                                            struct task_struct* task, __u32 pid, __u32 tid) {
  bool may_come = false;
  if (walk->missed) {
    may_come = wait_for(total, task, pid, tid, walk->frame.pc, walk->first, ASK_AGAIN_NS);
  } else if (walk->no_room) {
    wait_for(total, task, pid, tid, walk->frame.pc, walk->first, ASK_FOR_ROOM_NS);
  }
  return may_come || walk->no_room;
}

/* The kernel's part of the call chain, as perf writes it: behind a mark, innermost first. */
static __always_inline void put_kernel_stack(struct bpf_perf_event_data* ctx, struct tephra_walk* walk, __u64 ip) {
  __u32 at = walk->position;
  long bytes;
  if (at >= 64) return;
  walk->words[at] = CONTEXT_KERNEL;
  bytes = bpf_get_stack(ctx, &walk->words[at + 1], max_kernel_bytes, 0);
  /* Where perf has made the chain already it comes with its mark. */
  if (bytes >= 8 && walk->words[at + 1] == CONTEXT_KERNEL) {
    bytes = bpf_get_stack(ctx, &walk->words[at], max_kernel_bytes, 0);
    bytes -= 8;
  }
  if (bytes < 8) {
    walk->words[at + 1] = ip;
    bytes = 8;
  }
  walk->position = at + 1 + ((__u32)bytes / 8);
}

static __always_inline bool reader_must_wake(__u32 size) {
  if (woken || bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) + size < wake_bytes) return false;
  woken = 1;
  return true;
}

static __always_inline void send(struct tephra_walk* walk, struct tephra_walk_totals* total, __u16 misc) {
  __u32 size = walk->position * 8;
  if (size > sizeof walk->words) return;
  /* perf_event_header: type, misc, size. */
  walk->words[0] = RECORD_SAMPLE | (__u64)misc << 32 | (__u64)size << 48;
  if (bpf_ringbuf_output(&records, walk->words, size,
                         reader_must_wake(size) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP)) {
    total->lost++;
  } else {
    total->walked++;
  }
}

/* Registers of user code that the event hit in user code are the context's. */
static __always_inline enum tephra_user_part begin_here(struct bpf_perf_event_data* ctx, struct tephra_walk* walk) {
  if (TEPHRA_IS_32_BIT(&ctx->regs)) return TEPHRA_USER_FOREIGN;
  TEPHRA_TAKE_REGISTERS(walk, &ctx->regs);
  walk->frame.is_call_site = 0;
  walk->frame.fp_lost = 0;
  walk->frame.fp_linked = 0;
  return TEPHRA_USER_HERE;
}

SEC("perf_event")
int stack_sample(struct bpf_perf_event_data* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  enum tephra_user_part user = TEPHRA_USER_NONE;
  struct tephra_walk_totals* total;
  struct tephra_walk* walk;
  const bool in_user = TEPHRA_IN_USER_CODE(&ctx->regs);
  __u64 ip = TEPHRA_CODE_ADDRESS(&ctx->regs);
  __u32 zero = 0;
  __u32 pid;
  __u32 tid;
  __u32 chain;
  __u32 end = TEPHRA_WALK_NOT_TOLD;
  __u32 fault = 0;
  __u64 page_size = 0;
  bool known;
  walk = bpf_map_lookup_elem(&walks, &zero);
  total = bpf_map_lookup_elem(&totals, &zero);
  if (!walk || !total) return 1;
  tid = tephra_pid_of(task);
  pid = tephra_process_of(task);
  if (user_stacks) user = in_user ? begin_here(ctx, walk) : tephra_walk_begin(walk, task);
  if (user == TEPHRA_USER_FOREIGN || (user == TEPHRA_USER_HERE && pid == 0)) goto leave_to_perf;
  known = user == TEPHRA_USER_HERE && tephra_walk_process(walk, task, pid);
  if (user == TEPHRA_USER_HERE && !known) {
    wait_for(total, task, pid, tid, 0, ~0, ASK_AGAIN_NS);
    known = tephra_walk_as_parent(walk, task);
    if (!known && may_copy()) goto leave_to_perf;
  }
  if (page_faults && event.with_page) {
    page_size = tephra_fault_page_size(ctx);
    if (!page_size) goto leave_to_perf;
    fault = tephra_fault_facts(task, ctx->addr, user == TEPHRA_USER_HERE ? walk->registers[TEPHRA_SP_NUMBER] : 0);
  }
  walk->words[1] = event.identifier;
  walk->words[2] = ip;
  walk->words[3] = pid | (__u64)tid << 32;
  walk->words[4] = bpf_ktime_get_ns();
  walk->position = 5;
  if (event.with_address) tephra_put(walk, ctx->addr);
  tephra_put(walk, bpf_get_smp_processor_id());
  if (event.with_period) tephra_put(walk, ctx->sample_period);
  chain = walk->position;
  tephra_put(walk, 0);
  if (kernel_stacks && !in_user) put_kernel_stack(ctx, walk, ip);
  if (user == TEPHRA_USER_HERE) {
    tephra_put(walk, TEPHRA_CHAIN_USER);
    if (known) {
      tephra_walk_user(walk, max_frames);
    } else {
      tephra_put(walk, walk->frame.pc);
      walk->end = TEPHRA_WALK_NOT_COPIED;
      walk->guessed = 0;
    }
    if (known && copy_would_help(total, walk, task, pid, tid)) {
      if (may_copy()) goto leave_to_perf;
      walk->end = TEPHRA_WALK_NOT_COPIED;
    }
    end = walk->end | walk->guessed;
  }
  if (chain < 64) walk->words[chain] = walk->position - chain - 1;
  /* Raw data: its size, and 32 bits. */
  if (page_faults && event.with_page) tephra_put(walk, sizeof fault | (__u64)fault << 32);
  tephra_put(walk, 0); /* no registers */
  tephra_put(walk, 0); /* no copy of the stack */
  if (page_faults && event.with_page) tephra_put(walk, page_size);
  send(walk, total, (in_user ? MISC_USER : MISC_KERNEL) | end << TEPHRA_WALK_END_SHIFT);
  return also_raw;
leave_to_perf:
  total->left_to_perf++;
  return 1;
}
