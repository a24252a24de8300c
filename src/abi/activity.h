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

#endif
