/* What bpf/activity.h and kernel/activity_program.cpp tell one another. */
#ifndef TEPHRA_ABI_ACTIVITY_H
#define TEPHRA_ABI_ACTIVITY_H

#include "abi/activity_record.h"

/* What is summed together. No padding: it is the key of a map. */
struct tephra_activity_key {
  unsigned int pid;
  unsigned int tid;
  unsigned int kind;   /* enum tephra_activity_kind */
  unsigned int detail; /* by kind */
  unsigned int flags;  /* TEPHRA_ACTIVITY_* */
  unsigned int reserved;
  unsigned long long stack; /* the hash of a stack that was sent; 0: none */
  unsigned char extra[16];
};

struct tephra_activity_sum {
  unsigned long long count;
  unsigned long long bytes;
  unsigned long long ns;
  unsigned long long longest_ns;
  unsigned long long last; /* when the last of them was, CLOCK_MONOTONIC */
};

/* Something that has begun and not ended, by an address of the kernel (the map `requests`). */
struct tephra_activity_begun {
  struct tephra_activity_key key;
  unsigned long long since; /* 0: it is only asked for */
  unsigned long long bytes;
};

/* Kinds are below this. */
#define TEPHRA_ACTIVITY_KINDS 64

enum tephra_activity_records {
  TEPHRA_RECORD_ACTIVITY = 0x7e14,
};

/* Begins as struct perf_event_header does. What goes on when counting ends. */
struct tephra_activity_told {
  unsigned int type;
  unsigned short misc;
  unsigned short size;
  struct tephra_activity_key key;
  struct tephra_activity_sum sum;
};

/* On each CPU. */
struct tephra_activity_totals {
  unsigned long long stacks;   /* taken */
  unsigned long long no_walk;  /* not taken: in the midst of two others */
  unsigned long long measured; /* stacks at which the cost of taking them was measured, and that cost */
  unsigned long long measured_ns;
  unsigned long long unmatched; /* ends of something whose begin was not seen, or had no room */
  unsigned long long untimed;   /* counted without its time: no room to remember its begin, or its end was not told */
  unsigned long long not_attributed; /* nobody knows whose it was */
  struct tephra_activity_sum unkept[TEPHRA_ACTIVITY_KINDS];
};

#endif
