/* What bpf/off_cpu.bpf.c and kernel/off_cpu_program.cpp tell one another about waits. */
#ifndef TEPHRA_ABI_OFF_CPU_H
#define TEPHRA_ABI_OFF_CPU_H

#include "abi/wait_record.h"

/* Beside the states of waits (abi/wait_record.h): time on a CPU, where it is asked for. */
#define TEPHRA_RAN TEPHRA_WAIT_STATES
#define TEPHRA_OFF_CPU_STATES (TEPHRA_WAIT_STATES + 1)

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
  TEPHRA_RECORD_WAIT = 0x7e11,
  TEPHRA_RECORD_WAKER = 0x7e12,
};

/* Begins as struct perf_event_header does. One wait, or several where there was no room for the sum of them. */
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
  unsigned long long measured;    /* switches at which the cost of taking the stack was measured, and that cost */
  unsigned long long measured_ns;
  unsigned long long skipped;     /* waits whose stack was not taken, to keep the budget */
  struct tephra_wait_sum unkept[TEPHRA_OFF_CPU_STATES];
};

#endif
