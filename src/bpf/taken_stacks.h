/*
 * Stacks of running tasks, kernel and user part: taken, hashed, and sent to the recorder once; sums and records refer to
 * them by their hash.
 */
#ifndef TEPHRA_BPF_TAKEN_STACKS_H
#define TEPHRA_BPF_TAKEN_STACKS_H

#include "watched_tasks.h"

#include "abi/taken_stack.h"

#define CONTEXT_KERNEL ((__u64)-128)
#define USER_STACK 256 /* BPF_F_USER_STACK */

__u32 woken = 0; /* the reader was woken and has not read since */

/* Stacks that were sent; one that is forgotten is sent again. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 1 << 16);
  __type(key, __u64);
  __type(value, __u8);
} seen SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct tephra_stack_totals);
} stack_totals SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4 << 20);
} records SEC(".maps");

/* As in stack_sample.bpf.c: a process is asked for when it is met first, when its mappings have changed since, and else
 * once in a while. Until then, and a while after, stacks are copied. */
#define ASK_AGAIN_NS 250000000ULL
#define WAIT_FOR_ANSWER_NS 1000000000ULL
#define COPIES_TIME_NS 10000000ULL
#define COPIES_AT_ONCE 16
/* Where a copy begins at most, in words of the record, and how long it may be. */
#define COPY_AT_MOST 400
#define COPY_BYTES ((TEPHRA_WALK_WORDS - COPY_AT_MOST) * 8)
#define REGISTER_WORDS (sizeof(struct tephra_registers) / 8)

struct asked_process {
  __u64 time;
  __u64 wait_until;
  __u64 start_stack;
  __u32 first;
  __u32 reserved;
};

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, __u32);
  __type(value, struct asked_process);
} asked SEC(".maps");

struct copies_lately {
  __u64 since;
  __u32 count;
  __u32 made; /* for their hashes */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct copies_lately);
} copies SEC(".maps");

/* Where chains begin in a record. */
#define CHAIN_AT (sizeof(struct tephra_taken_stack) / 8)
static __always_inline bool reader_must_wake(__u32 size) {
  if (woken || bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) + size < watching.wake_bytes) return false;
  woken = 1;
  return true;
}

static __always_inline bool send(void* record, __u32 size) {
  return bpf_ringbuf_output(&records, record, size,
                            reader_must_wake(size) ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP) == 0;
}
/* Words are hashed eight at a time, in two lanes, since a call each would cost more than the words themselves. */
#define HASH_WORDS 8
_Static_assert(TEPHRA_WALK_SPARE_WORDS >= HASH_WORDS, "chains end before the last words, so that all are hashed");

struct hash_loop {
  struct tephra_walk* walk;
  __u64 even;
  __u64 odd;
  __u32 end;
};

#define HASH_INTO(lane, word) (lane = ((lane) ^ (word)) * 0x9e3779b97f4a7c15ULL, lane ^= (lane) >> 29)

static long hash_words(__u32 index, struct hash_loop* loop) {
  __u32 at = index * HASH_WORDS + CHAIN_AT;
  __u64* words;
  __u64 even = loop->even;
  __u64 odd = loop->odd;
  if (at >= loop->end || at > TEPHRA_WALK_WORDS - HASH_WORDS) return 1;
  words = &loop->walk->words[at];
  HASH_INTO(even, words[0]);
  HASH_INTO(odd, words[1]);
  HASH_INTO(even, words[2]);
  HASH_INTO(odd, words[3]);
  HASH_INTO(even, words[4]);
  HASH_INTO(odd, words[5]);
  HASH_INTO(even, words[6]);
  HASH_INTO(odd, words[7]);
  loop->even = even;
  loop->odd = odd;
  return 0;
}

/* Hashes with the highest bit are those of copies, which are all different. */
#define HASH_OF_COPY (1ULL << 63)

static __always_inline __u64 hash_of(struct tephra_walk* walk, __u32 end) {
  struct hash_loop loop = {.walk = walk, .even = end + 1, .odd = walk->position, .end = walk->position};
  /* What is behind the chain is of another stack. */
  tephra_put(walk, 0);
  tephra_put(walk, 0);
  tephra_put(walk, 0);
  tephra_put(walk, 0);
  tephra_put(walk, 0);
  tephra_put(walk, 0);
  tephra_put(walk, 0);
  walk->position = loop.end;
  bpf_loop(TEPHRA_WALK_WORDS / HASH_WORDS, hash_words, &loop, 0);
  HASH_INTO(loop.even, loop.odd);
  loop.even &= ~HASH_OF_COPY;
  return loop.even ? loop.even : 1;
}

static __always_inline void put_kernel_stack(void* ctx, struct tephra_walk* walk) {
  long bytes;
  walk->position = CHAIN_AT;
  if (!watching.kernel_stacks) return;
  bytes = bpf_get_stack(ctx, &walk->words[CHAIN_AT + 1], watching.max_kernel_bytes, 0);
  if (bytes < 8) return;
  walk->words[CHAIN_AT] = CONTEXT_KERNEL;
  walk->position = CHAIN_AT + 1 + ((__u32)bytes / 8);
}

/* As perf follows frame pointers, which the kernel's helper would do, at three times the cost: a frame's first two words
 * are those of its caller's frame and where that goes on. Stacks grow downwards, so callers are higher. */
struct frame_link {
  __u64 fp;
  __u64 pc;
};

struct frame_loop {
  struct tephra_walk* walk;
};

static long follow_frame_pointer(__u32 index, struct frame_loop* loop) {
  struct tephra_walk* walk = loop->walk;
  struct frame_link link;
  __u64 fp = walk->frame.fp;
  if (!fp || bpf_probe_read_user(&link, sizeof link, (void*)fp) || !link.pc) return 1;
  tephra_put(walk, link.pc);
  walk->frame.fp = link.fp;
  return link.fp <= fp;
}

static __always_inline void put_user_stack_of_32_bit(void* ctx, struct tephra_walk* walk) {
  __u32 at = walk->position;
  long bytes;
  asm volatile("" : "+r"(at));
  if (at > 256) return;
  bytes = bpf_get_stack(ctx, &walk->words[at + 1], watching.max_user_bytes, USER_STACK);
  if (bytes < 8) return;
  walk->words[at] = TEPHRA_CHAIN_USER;
  walk->position = at + 1 + ((__u32)bytes / 8);
}

static __always_inline void put_user_stack(void* ctx, struct tephra_walk* walk, struct task_struct* task) {
  enum tephra_user_part user = tephra_walk_begin(walk, task);
  struct frame_loop loop = {.walk = walk};
  if (user == TEPHRA_USER_FOREIGN) put_user_stack_of_32_bit(ctx, walk);
  if (user != TEPHRA_USER_HERE) return;
  tephra_put(walk, TEPHRA_CHAIN_USER);
  tephra_put(walk, walk->frame.pc);
  bpf_loop(watching.max_user_bytes / 8 - 1, follow_frame_pointer, &loop, 0);
}

/* Whether what is missing of a process may come soon: then its stacks are copied. Asks for it. */
static __always_inline bool may_come(struct task_struct* task, __u32 pid, __u32 tid, __u64 address, __u32 first) {
  struct tephra_walk_wanted wanted = {
      .type = TEPHRA_RECORD_STACK_WANTED, .size = sizeof wanted, .pid = pid, .tid = tid, .address = address};
  __u64 now = bpf_ktime_get_ns();
  __u64 start_stack = BPF_CORE_READ(task, mm, start_stack);
  struct asked_process* before = bpf_map_lookup_elem(&asked, &pid);
  struct asked_process place = {};
  bool asked_before = before && before->start_stack == start_stack && before->first == first;
  if (asked_before && now - before->time < ASK_AGAIN_NS) return now < before->wait_until;
  place.time = now;
  place.wait_until = asked_before ? before->wait_until : now + WAIT_FOR_ANSWER_NS;
  place.start_stack = start_stack;
  place.first = first;
  bpf_map_update_elem(&asked, &pid, &place, BPF_ANY);
  bpf_ringbuf_output(&records, &wanted, sizeof wanted, BPF_RB_FORCE_WAKEUP);
  return now < place.wait_until;
}

/* A number for a copy, 0 when there were too many lately. */
static __always_inline __u64 number_of_copy(void) {
  __u64 now = bpf_ktime_get_ns();
  __u32 zero = 0;
  struct copies_lately* lately = bpf_map_lookup_elem(&copies, &zero);
  if (!lately) return 0;
  if (now - lately->since >= COPIES_TIME_NS) {
    lately->since = now;
    lately->count = 0;
  }
  if (++lately->count > COPIES_AT_ONCE) return 0;
  return HASH_OF_COPY | (__u64)bpf_get_smp_processor_id() << 40 | ++lately->made;
}

/* Behind the kernel's part of the chain: the registers and as much of the stack as can be read. Returns its bytes. */
static __always_inline __u32 put_copy(struct tephra_walk* walk) {
  __u64 at = walk->position; /* Linux 6.1 loses the bounds of narrower numbers */
  __u64 sp = walk->frame.sp;
  __u32 bytes = COPY_BYTES;
  asm volatile("" : "+r"(at));
  if (at > COPY_AT_MOST - REGISTER_WORDS) return 0;
  if (bpf_probe_read_kernel(&walk->words[at], sizeof walk->user, &walk->user)) return 0;
  at += REGISTER_WORDS;
  if (!bpf_probe_read_user(&walk->words[at], COPY_BYTES, (void*)sp)) return COPY_BYTES;
  if (!bpf_probe_read_user(&walk->words[at], 4096, (void*)sp)) return 4096;
  bytes = 4096 - (sp & 4095);
  if (bytes < 8 || bytes > 4096) return 0;
  if (bpf_probe_read_user(&walk->words[at], bytes & 0x1ff8, (void*)sp)) return 0;
  return bytes & 0x1ff8;
}

static __always_inline void head(struct tephra_walk* walk, __u64 hash, __u32 end, __u32 pid, __u32 tid, __u32 words,
                                 __u32 copy_bytes) {
  __u32 size = sizeof(struct tephra_taken_stack) + words * 8;
  if (copy_bytes) size += sizeof walk->user + copy_bytes;
  walk->words[0] = TEPHRA_RECORD_STACK | (__u64)(end << TEPHRA_WALK_END_SHIFT) << 32 | (__u64)size << 48;
  walk->words[1] = hash;
  walk->words[2] = pid | (__u64)tid << 32;
  walk->words[3] = words | (__u64)copy_bytes << 32;
}

/* Sends a stack that was not sent yet. `last`: what the task sent before, and in most cases sends again. */
static __always_inline void send_stack(struct tephra_walk* walk, __u64 hash, __u32 end, __u32 pid, __u32 tid,
                                       __u32 copy_bytes, __u64* last) {
  __u8 one = 1;
  __u32 size;
  __u32 zero = 0;
  struct tephra_stack_totals* total;
  if (last && *last == hash) return;
  if (!(hash & HASH_OF_COPY) && bpf_map_lookup_elem(&seen, &hash)) {
    if (last) *last = hash;
    return;
  }
  total = bpf_map_lookup_elem(&stack_totals, &zero);
  if (!total) return;
  size = walk->position * 8;
  head(walk, hash, end, pid, tid, walk->position - CHAIN_AT, copy_bytes);
  if (copy_bytes) {
    size += sizeof walk->user + copy_bytes;
    total->copied++;
  }
  if (size > sizeof walk->words) return;
  if (!send(walk->words, size)) {
    total->not_sent++;
  } else if (!(hash & HASH_OF_COPY)) {
    bpf_map_update_elem(&seen, &hash, &one, BPF_ANY);
    if (last) *last = hash;
  }
}

/* Of the running task. Returns its hash. `last`: the hash of its last one that was sent, or null. */
static __always_inline __u64 take_stack_after(void* ctx, struct tephra_walk* walk, struct task_struct* task, __u32 pid,
                                              __u32 tid, __u64* last) {
  enum tephra_user_part user;
  __u64 hash = 0;
  __u32 end = TEPHRA_WALK_NOT_TOLD;
  __u32 copy_bytes = 0;
  bool known;
  put_kernel_stack(ctx, walk);
  if (watching.stacks == TEPHRA_STACKS_FRAME_POINTERS) {
    put_user_stack(ctx, walk, task);
  } else if (watching.stacks == TEPHRA_STACKS_WALKED) {
    user = tephra_walk_begin(walk, task);
    if (user == TEPHRA_USER_FOREIGN) end = TEPHRA_WALK_32BIT;
    if (user == TEPHRA_USER_HERE && pid != 0) {
      __u32 before = walk->position;
      known = tephra_walk_process(walk, task, pid);
      if (!known) known = tephra_walk_as_parent(walk, task);
      tephra_put(walk, TEPHRA_CHAIN_USER);
      if (known) {
        tephra_walk_user(walk, watching.max_frames);
      } else {
        tephra_put(walk, walk->frame.pc);
        walk->end = TEPHRA_WALK_NOT_COPIED;
        walk->guessed = 0;
        walk->missed = 1;
        walk->first = ~0;
      }
      end = walk->end | walk->guessed;
      if (walk->missed && may_come(task, pid, tid, walk->frame.pc, walk->first)) {
        hash = number_of_copy();
        if (!hash) end = TEPHRA_WALK_NOT_COPIED;
      }
      if (hash) {
        walk->position = before;
        walk->frame.sp = TEPHRA_STACK_POINTER(&walk->user);
        copy_bytes = put_copy(walk);
        end = TEPHRA_WALK_NOT_TOLD;
      }
    }
  }
  if (!hash) hash = hash_of(walk, end);
  send_stack(walk, hash, end, pid, tid, copy_bytes, last);
  return hash;
}

static __always_inline __u64 take_stack(void* ctx, struct tephra_walk* walk, struct task_struct* task, __u32 pid,
                                        __u32 tid) {
  return take_stack_after(ctx, walk, task, pid, tid, 0);
}

#endif
