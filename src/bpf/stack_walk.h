/*
 * The in-kernel unwinder: walks the user stack of the running task by call-frame rows, for programs of every type. A
 * program has a struct tephra_walk of its own in a map (one a CPU; programs that may interrupt one another on a CPU must
 * not share it), and calls
 *   tephra_walk_claim     where it may be preempted (tephra_walk_release gives it back)
 *   tephra_walk_begin     which registers the user code had, whether there is any
 *   tephra_walk_process   whether its mappings are known
 *   tephra_walk_user      which appends the addresses to the walk's words
 * The maps here are filled by kernel/stack_program.cpp, and are the same ones for all programs.
 */
#ifndef TEPHRA_BPF_STACK_WALK_H
#define TEPHRA_BPF_STACK_WALK_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "abi/stack_walk.h"

/* Pages of a stack are in memory, nearly always; a page that is not cannot be fetched here. */
#define TEPHRA_READ_WORD(memory, address, word) bpf_probe_read_user(word, 8, (const void*)(address))
#define TEPHRA_STEP static __always_inline
#include "abi/frame_step.h"

#if defined(__TARGET_ARCH_arm64)
#define TEPHRA_MACHINE TEPHRA_ARM64
#else
#define TEPHRA_MACHINE TEPHRA_X86_64
#endif

/* PERF_CONTEXT_USER, which stands before user addresses. */
#define TEPHRA_CHAIN_USER ((__u64)-512)

#define TEPHRA_PF_KTHREAD 0x00200000

/* 2^22 blocks are 268 million rows. */
#define TEPHRA_BLOCK_SEARCH_STEPS 23
#define TEPHRA_MAPPING_SEARCH_STEPS 21

struct tephra_walk {
  struct tephra_frame frame;
  struct tephra_walk_mapping mapping; /* that of the last frame, which the next one is often in, too */
  struct tephra_registers user;
  __u64 registers[32]; /* of the innermost frame, by DWARF number */
  __u32 busy;
  __u32 first; /* of the process's mappings */
  __u32 count;
  __u32 frames;
  __u32 end;      /* enum tephra_walk_end */
  __u32 guess;    /* the last step was a guess: what the walk ends with if it led nowhere; else 0 */
  __u32 guess_in_file; /* and it was one in code of a file */
  __u32 guessed;  /* such a guess led to a caller: TEPHRA_WALK_GUESSED, else 0 */
  __u32 missed;   /* an address in no known mapping was met */
  __u32 no_room;  /* so was code whose rows are not here for want of room */
  __u32 at_signal; /* the last frame is the kernel's, of a signal */
  __u32 position; /* of the next word */
  __u64 words[TEPHRA_WALK_WORDS];
};

/* Tables: rows of blocks each. The sizes of inner maps differ. */
struct tephra_rows {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
  __uint(key_size, sizeof(__u32));
  __uint(value_size, sizeof(struct tephra_frame_block));
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 4096);
  __type(key, __u32);
  __array(values, struct tephra_rows);
} tables SEC(".maps");

/* How many blocks each table has; in 64 bits, because the kernel leaves that much room for each. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 4096);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, __u64);
} table_blocks SEC(".maps");

/* The rules of all tables; the first describes nothing. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, TEPHRA_WALK_RULES);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct tephra_frame_rule);
} rules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1 << 16);
  __uint(map_flags, BPF_F_MMAPABLE);
  __type(key, __u32);
  __type(value, struct tephra_walk_mapping);
} mappings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 1 << 14);
  __type(key, __u32);
  __type(value, struct tephra_walk_process);
} processes SEC(".maps");

/* The last answers of tephra_find_rule, because the same calls are on the stack again and again: a word each, of a file
 * offset (32 bits), a table (16) and a rule (16). Programs that interrupt one another may share it: a word is whole. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, TEPHRA_WALK_ANSWERS);
  __type(key, __u32);
  __type(value, __u64);
} answers SEC(".maps");

/* Searches are functions of their own for the verifier's sake: it then looks at each once, and not for every way that
 * leads there. */

/* The number of the rule for a file offset; 0 where nothing is described. */
__noinline __u32 tephra_find_rule(__u32 table, __u32 offset) {
  struct tephra_frame_block* block;
  __u32 low = 0;
  __u32 high;
  __u32 at;
  __u64* blocks = bpf_map_lookup_elem(&table_blocks, &table);
  void* rows = bpf_map_lookup_elem(&tables, &table);
  if (!blocks || !rows) return 0;
  high = *blocks;
  for (int i = 0; i < TEPHRA_BLOCK_SEARCH_STEPS && low < high; ++i) {
    at = low + (high - low) / 2;
    block = bpf_map_lookup_elem(rows, &at);
    if (!block) return 0;
    if (block->start[0] <= offset) {
      low = at + 1;
    } else {
      high = at;
    }
  }
  if (low == 0) return 0;
  at = low - 1;
  block = bpf_map_lookup_elem(rows, &at);
  if (!block) return 0;
  at = 0;
  for (__u32 step = TEPHRA_FRAME_BLOCK_ROWS / 2; step > 0; step /= 2) {
    if (block->start[(at + step) & (TEPHRA_FRAME_BLOCK_ROWS - 1)] <= offset) at += step;
  }
  return block->rule[at & (TEPHRA_FRAME_BLOCK_ROWS - 1)];
}

/* The place of the mapping that an address is in, or ~0. */
__noinline __u32 tephra_find_mapping(__u32 first, __u32 count, __u64 address) {
  struct tephra_walk_mapping* mapping;
  __u32 low = first;
  __u32 high = first + count;
  __u32 at;
  for (int i = 0; i < TEPHRA_MAPPING_SEARCH_STEPS && low < high; ++i) {
    at = low + (high - low) / 2;
    mapping = bpf_map_lookup_elem(&mappings, &at);
    if (!mapping) return ~0;
    if (address < mapping->start) {
      high = at;
    } else if (address >= mapping->end) {
      low = at + 1;
    } else {
      return at;
    }
  }
  return ~0;
}

/* For programs that can be preempted or interrupted by others with the same walk: whether it is free, and then ours. */
static __always_inline bool tephra_walk_claim(struct tephra_walk* walk) {
  return __sync_lock_test_and_set(&walk->busy, 1) == 0;
}

static __always_inline void tephra_walk_release(struct tephra_walk* walk) {
  __sync_lock_test_and_set(&walk->busy, 0);
}

static __always_inline void tephra_put(struct tephra_walk* walk, __u64 word) {
  __u32 at = walk->position;
  /* Keeps the compiler from deriving one place from another, whose bounds the verifier would then not know. */
  asm volatile("" : "+r"(at));
  if (at >= TEPHRA_WALK_WORDS) return;
  walk->words[at] = word;
  walk->position = at + 1;
}

/* Makes walk->mapping that of `address`. */
static __always_inline bool tephra_enter_mapping(struct tephra_walk* walk, __u64 address) {
  struct tephra_walk_mapping* mapping;
  __u32 at;
  if (address >= walk->mapping.start && address < walk->mapping.end) return true;
  at = tephra_find_mapping(walk->first, walk->count, address);
  mapping = bpf_map_lookup_elem(&mappings, &at);
  if (!mapping) return false;
  walk->mapping = *mapping;
  /* Between the search and here the place may have been given to another process. */
  return address >= walk->mapping.start && address < walk->mapping.end;
}

static __always_inline __u32 tephra_rule_at(__u32 table, __u32 offset) {
  __u64 question = (__u64)offset << 32 | (__u64)table << 16;
  __u32 at = (offset ^ offset >> 12 ^ table << 4) % TEPHRA_WALK_ANSWERS;
  __u64* answer = bpf_map_lookup_elem(&answers, &at);
  __u64 known;
  __u32 rule;
  if (!answer) return 0;
  known = *answer;
  if ((known & ~0xffffULL) == question) return known & 0xffff;
  rule = tephra_find_rule(table, offset);
  *answer = question | (rule & 0xffff);
  return rule;
}

/* One frame further. A function of its own for the verifier's sake, as the searches are. */
__noinline int tephra_step(struct tephra_walk* walk) {
  struct tephra_frame_rule* rule;
  __u64* registers;
  __u64 address;
  __u64 offset;
  __u32 number = 0;
  __u32 without_rule;
  int end;
  if (!walk) return TEPHRA_WALK_UNSUPPORTED;
  address = walk->frame.pc - (walk->frame.is_call_site ? 1 : 0);
  registers = walk->frames == 1 ? walk->registers : 0;
  if (!tephra_enter_mapping(walk, address)) {
    walk->missed = 1;
    return TEPHRA_WALK_NO_MAPPING;
  }
  if (walk->mapping.flags & TEPHRA_MAPPING_NO_ROOM) {
    walk->no_room = 1;
    return TEPHRA_WALK_NOT_COPIED;
  }
  without_rule = walk->mapping.flags & TEPHRA_MAPPING_NO_FILE ? TEPHRA_WALK_NO_FILE : TEPHRA_WALK_NO_RULE;
  if (walk->mapping.table != 0) {
    offset = address - walk->mapping.start + walk->mapping.file_offset;
    if (offset <= 0xffffffff) number = tephra_rule_at(walk->mapping.table, offset);
  }
  rule = bpf_map_lookup_elem(&rules, &number);
  if (!rule) return TEPHRA_WALK_UNSUPPORTED;
  walk->at_signal = rule->cfa == TEPHRA_CFA_SIGNAL;
  walk->guess = rule->cfa == TEPHRA_CFA_NONE ? without_rule : 0;
  walk->guess_in_file = walk->guess && !(walk->mapping.flags & TEPHRA_MAPPING_GENERATED);
  /* The compiler would test `frames` again in the place of the pointer, which the verifier does not follow. */
  asm volatile("" : "+r"(registers));
  end = tephra_step_by_rule(TEPHRA_MACHINE, rule, 0, &walk->frame, registers);
  return end == TEPHRA_WALK_NO_RULE ? without_rule : end;
}

struct tephra_walk_loop {
  struct tephra_walk* walk;
};

static __always_inline bool tephra_has_room(const struct tephra_walk* walk) {
  return walk->position <= TEPHRA_WALK_WORDS - TEPHRA_WALK_SPARE_WORDS - 2;
}

static long tephra_walk_frame(__u32 index, struct tephra_walk_loop* loop) {
  struct tephra_walk* walk = loop->walk;
  __u64 pc = walk->frame.pc;
  __u32 guess = walk->guess;
  __u32 guess_in_file = walk->guess_in_file;
  bool is_call_site = walk->frame.is_call_site;
  int end;
  if (!tephra_has_room(walk)) return 1;
  /* No address of code, and one that readers could take for a marker. */
  if (pc > TEPHRA_ADDRESS_BITS) {
    walk->end = guess ? guess : TEPHRA_WALK_NO_MAPPING;
    return 1;
  }
  walk->frames = index + 1;
  walk->at_signal = 0;
  end = tephra_step(walk);
  /* What only a guess led to, and is no code, is not shown as a caller. */
  if (end == TEPHRA_WALK_NO_MAPPING && guess) {
    walk->end = guess;
    return 1;
  }
  if (guess_in_file) walk->guessed = TEPHRA_WALK_GUESSED;
  /* What a signal interrupted, and where it returns to, is not behind a call: a marker begins the chain anew. */
  if (index > 0 && (!is_call_site || walk->at_signal)) tephra_put(walk, TEPHRA_CHAIN_USER);
  tephra_put(walk, pc);
  if (end == 0) return 0;
  walk->end = end;
  return 1;
}

/* Appends the user addresses, innermost first; walk->end tells how it ended, walk->guessed what it rests on. */
static __always_inline void tephra_walk_user(struct tephra_walk* walk, __u32 max_frames) {
  struct tephra_walk_loop loop = {walk};
  walk->mapping.start = 0;
  walk->mapping.end = 0;
  walk->frames = 0;
  walk->guess = 0;
  walk->guess_in_file = 0;
  walk->guessed = 0;
  walk->missed = 0;
  walk->no_room = 0;
  walk->end = TEPHRA_WALK_DEPTH;
  bpf_loop(max_frames, tephra_walk_frame, &loop, 0);
}

/* `from` is memory or a program's context, so its fields can only be named one by one. */
#if defined(__TARGET_ARCH_arm64)
#define TEPHRA_TAKE_REGISTERS(walk, from)                                            \
  do {                                                                               \
    _Pragma("unroll") for (int i = 0; i < 31; ++i) (walk)->registers[i] = (from)->regs[i]; \
    (walk)->registers[31] = (from)->sp;                                              \
    (walk)->frame.pc = (from)->pc;                                                   \
    (walk)->frame.sp = (from)->sp;                                                   \
    (walk)->frame.fp = (from)->regs[29];                                             \
    (walk)->frame.lr = (from)->regs[30] & TEPHRA_ADDRESS_BITS;                       \
  } while (0)
#define TEPHRA_IN_USER_CODE(from) (((from)->pstate & 0xf) == 0)
#define TEPHRA_IS_32_BIT(from) (((from)->pstate & 0x10) != 0)
#define TEPHRA_CODE_ADDRESS(from) ((from)->pc)
#define TEPHRA_STACK_POINTER(from) ((from)->sp)
#else
#define TEPHRA_TAKE_REGISTERS(walk, from)   \
  do {                                      \
    (walk)->registers[0] = (from)->ax;      \
    (walk)->registers[1] = (from)->dx;      \
    (walk)->registers[2] = (from)->cx;      \
    (walk)->registers[3] = (from)->bx;      \
    (walk)->registers[4] = (from)->si;      \
    (walk)->registers[5] = (from)->di;      \
    (walk)->registers[6] = (from)->bp;      \
    (walk)->registers[7] = (from)->sp;      \
    (walk)->registers[8] = (from)->r8;      \
    (walk)->registers[9] = (from)->r9;      \
    (walk)->registers[10] = (from)->r10;    \
    (walk)->registers[11] = (from)->r11;    \
    (walk)->registers[12] = (from)->r12;    \
    (walk)->registers[13] = (from)->r13;    \
    (walk)->registers[14] = (from)->r14;    \
    (walk)->registers[15] = (from)->r15;    \
    (walk)->registers[16] = (from)->ip;     \
    (walk)->frame.pc = (from)->ip;          \
    (walk)->frame.sp = (from)->sp;          \
    (walk)->frame.fp = (from)->bp;          \
  } while (0)
#define TEPHRA_IN_USER_CODE(from) (((from)->cs & 3) == 3)
#define TEPHRA_IS_32_BIT(from) (((from)->cs & 0xffff) == 0x23)
#define TEPHRA_CODE_ADDRESS(from) ((from)->ip)
#define TEPHRA_STACK_POINTER(from) ((from)->sp)
#endif

enum tephra_user_part {
  TEPHRA_USER_NONE = 0,    /* a thread of the kernel */
  TEPHRA_USER_HERE = 1,    /* the walk can begin */
  TEPHRA_USER_FOREIGN = 2, /* 32-bit code, which has no rows */
};

static __always_inline bool tephra_has_user_part(struct task_struct* task) {
  return !(task->flags & TEPHRA_PF_KTHREAD) && task->mm;
}

/* The registers that the running task had when it entered the kernel. */
static __always_inline enum tephra_user_part tephra_walk_begin(struct tephra_walk* walk, struct task_struct* task) {
  void* saved;
  if (!tephra_has_user_part(task)) return TEPHRA_USER_NONE;
  saved = (void*)bpf_task_pt_regs(task);
  if (!saved || bpf_probe_read_kernel(&walk->user, sizeof walk->user, saved)) return TEPHRA_USER_NONE;
  /* Threads that the kernel runs for a process (io_uring) have never been in user code. */
  if (TEPHRA_CODE_ADDRESS(&walk->user) == 0) return TEPHRA_USER_NONE;
  if (TEPHRA_IS_32_BIT(&walk->user)) return TEPHRA_USER_FOREIGN;
  TEPHRA_TAKE_REGISTERS(walk, &walk->user);
  walk->frame.is_call_site = 0;
#if !defined(__TARGET_ARCH_arm64)
  /* In a system call, the address is that behind the instruction, which may be the last one of its function. */
  if ((__s64)walk->user.orig_ax >= 0) walk->frame.is_call_site = 1;
#endif
  walk->frame.fp_lost = 0;
  walk->frame.fp_linked = 0;
  return TEPHRA_USER_HERE;
}

/* Whose eyes process ids are seen with: the pid namespace of the recorder. Set by tephra_note_namespace. */
__u32 own_namespace = 0;
__u32 own_level = 0;

static __noinline __u32 tephra_pid_in_namespace(struct task_struct* task) {
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  struct pid_namespace* space = 0;
  __u32 number = 0;
  void* at;
  if (!pid || BPF_CORE_READ(pid, level) < own_level) return 0;
  at = (void*)pid + bpf_core_field_offset(struct pid, numbers) + own_level * bpf_core_type_size(struct upid);
  bpf_probe_read_kernel(&space, sizeof space, at + bpf_core_field_offset(struct upid, ns));
  if (!space || BPF_CORE_READ(space, ns.inum) != own_namespace) return 0;
  bpf_probe_read_kernel(&number, sizeof number, at + bpf_core_field_offset(struct upid, nr));
  return number;
}

/* The task's id there, 0 when it cannot be seen from there. */
static __always_inline __u32 tephra_pid_of(struct task_struct* task) {
  return own_level == 0 ? task->pid : tephra_pid_in_namespace(task);
}

/* The same of the task's process. */
static __always_inline __u32 tephra_process_of(struct task_struct* task) {
  return own_level == 0 ? task->tgid : tephra_pid_in_namespace(BPF_CORE_READ(task, group_leader));
}

/* Whether the mappings of a process are known, and are those of the program that began where it says. */
static __always_inline bool tephra_take_mappings(struct tephra_walk* walk, __u32 pid, __u64 start_stack,
                                                 __u64 start_code) {
  struct tephra_walk_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (!process || process->start_stack != start_stack || process->start_code != start_code) return false;
  walk->first = process->first;
  walk->count = process->count;
  return true;
}

/* Whether those of the task's process, which is `pid`, are known, and are those of the program that it runs now. */
static __always_inline bool tephra_walk_process(struct tephra_walk* walk, struct task_struct* task, __u32 pid) {
  struct mm_struct* mm = task->mm;
  return tephra_take_mappings(walk, pid, mm->start_stack, mm->start_code);
}

/* The same for a process that was forked and is not known yet: it has the mappings that its parent has. */
static __always_inline bool tephra_walk_as_parent(struct tephra_walk* walk, struct task_struct* task) {
  struct task_struct* parent = BPF_CORE_READ(task, real_parent);
  __u32 pid = own_level == 0 ? (__u32)BPF_CORE_READ(parent, tgid)
                             : tephra_pid_in_namespace(BPF_CORE_READ(parent, group_leader));
  return tephra_take_mappings(walk, pid, BPF_CORE_READ(task, mm, start_stack), BPF_CORE_READ(task, mm, start_code));
}

/* To be run once in the recorder itself. */
static __always_inline void tephra_note_namespace(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct pid* pid = BPF_CORE_READ(task, thread_pid);
  struct pid_namespace* space = 0;
  __u32 level;
  void* at;
  if (!pid) return;
  level = BPF_CORE_READ(pid, level);
  at = (void*)pid + bpf_core_field_offset(struct pid, numbers) + level * bpf_core_type_size(struct upid);
  bpf_probe_read_kernel(&space, sizeof space, at + bpf_core_field_offset(struct upid, ns));
  own_namespace = BPF_CORE_READ(space, ns.inum);
  own_level = level;
}

#endif
