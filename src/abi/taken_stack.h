/* Stacks on their way from bpf/taken_stacks.h to kernel/watching.cpp. */
#ifndef TEPHRA_ABI_TAKEN_STACK_H
#define TEPHRA_ABI_TAKEN_STACK_H

enum tephra_stack_record {
  TEPHRA_RECORD_STACK = 0x7e10,
  TEPHRA_RECORD_STACK_WANTED = 0x7e13, /* struct tephra_walk_wanted */
};

/* Begins as struct perf_event_header does. `misc` is as in samples: how the walk ended (abi/walk_end.h). */
struct tephra_taken_stack {
  unsigned int type;
  unsigned short misc;
  unsigned short size;
  unsigned long long hash;
  unsigned int pid;
  unsigned int tid;
  unsigned int chain_words; /* that follow: addresses as in perf's chains, with its marks */
  unsigned int copy_bytes;  /* of the user stack; not 0: behind the chain are registers as the kernel has them, then it */
};

/* On each CPU. */
struct tephra_stack_totals {
  unsigned long long not_sent; /* the ring had no room; tried again with the next of that stack */
  unsigned long long copied;
};

#endif
