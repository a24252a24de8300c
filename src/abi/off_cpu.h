/* What bpf/off_cpu.bpf.c and kernel/off_cpu_program.cpp tell one another about waits. */
#ifndef TEPHRA_ABI_OFF_CPU_H
#define TEPHRA_ABI_OFF_CPU_H

#include "abi/wait_record.h"

/* Beside the states of waits (abi/wait_record.h): time on a CPU, where it is asked for. */
#define TEPHRA_RAN TEPHRA_WAIT_STATES
#define TEPHRA_OFF_CPU_STATES (TEPHRA_WAIT_STATES + 1)

/* Whose waits are told. */
enum tephra_watch_mode {
  TEPHRA_WATCH_LISTED = 0, /* processes and threads by number, and where asked for what they start */
  TEPHRA_WATCH_ALL = 1,
  TEPHRA_WATCH_CGROUPS = 2,
  TEPHRA_WATCH_USER = 3,
};

/* How the user part of a stack is taken. */
enum tephra_wait_stacks {
  TEPHRA_STACKS_NONE = 0,
  TEPHRA_STACKS_FRAME_POINTERS = 1,
  TEPHRA_STACKS_WALKED = 2, /* bpf/stack_walk.h */
};

/* Who is listed: `tid` is 0 for a process. */
struct tephra_watched {
  unsigned int pid;
  unsigned int tid;
};

/* Waits that are summed together. No padding: it is the key of a map. */
struct tephra_wait_key {
  unsigned int pid;
  unsigned int tid;
  unsigned int state; /* enum tephra_wait_state, or TEPHRA_RAN */
  unsigned int flags; /* TEPHRA_WAIT_* */
  unsigned int syscall;
  unsigned int reserved;
  unsigned long long stack; /* the hash of a stack that was sent; 0: none */
  unsigned long long address;
  unsigned long long waker;
};

struct tephra_wait_sum {
  unsigned long long ns;
  unsigned long long count;
  unsigned long long last; /* when the last of them ended, CLOCK_MONOTONIC */
};

/* The same without a stack, where there was no room: by thread, then by state alone. */
struct tephra_unkept_key {
  unsigned int pid;
  unsigned int tid;
  unsigned int state;
  unsigned int reserved;
};

enum tephra_off_cpu_record {
  TEPHRA_RECORD_WAIT_STACK = 0x7e10,
  TEPHRA_RECORD_WAIT = 0x7e11,
  TEPHRA_RECORD_WAKER = 0x7e12,
  TEPHRA_RECORD_WAIT_WANTED = 0x7e13, /* struct tephra_walk_wanted */
};

/* Begins as struct perf_event_header does. `misc` is as in samples: how the walk ended (abi/walk_end.h). */
struct tephra_wait_stack {
  unsigned int type;
  unsigned short misc;
  unsigned short size;
  unsigned long long hash;
  unsigned int pid;
  unsigned int tid;
  unsigned int chain_words; /* that follow: addresses as in perf's chains, with its marks */
  unsigned int copy_bytes;  /* of the user stack; not 0: behind the chain are registers as the kernel has them, then it */
};

/* One wait, or several where there was no room for the sum of them. */
struct tephra_wait_told {
  unsigned int type;
  unsigned short misc;
  unsigned short size;
  unsigned int cpu;
  unsigned int reserved;
  unsigned long long ended;
  unsigned long long ns;
  unsigned long long count;
  unsigned long long lived; /* of what goes on at the end: how long the thread was watched; else 0 */
  struct tephra_wait_key key;
};

/* Who ended waits: see tephra_wait_record::waker. */
struct tephra_waker_told {
  unsigned int type;
  unsigned short misc;
  unsigned short size;
  unsigned int pid;
  unsigned int tid;
  unsigned long long time;
  unsigned long long number;
  unsigned long long upper; /* who had woken the waker; 0: not known */
  unsigned long long stack;
};

/* On each CPU. */
struct tephra_off_cpu_totals {
  unsigned long long switches;       /* of those that are watched, away from a CPU */
  unsigned long long stacks_not_sent; /* the ring had no room; tried again with the next wait of that stack */
  unsigned long long stacks_copied;
  unsigned long long not_watched; /* no memory to watch a thread */
  unsigned long long measured;    /* switches at which the cost of taking the stack was measured, and that cost */
  unsigned long long measured_ns;
  unsigned long long skipped;     /* waits whose stack was not taken, to keep the budget */
  struct tephra_wait_sum unkept[TEPHRA_OFF_CPU_STATES];
};

#endif
