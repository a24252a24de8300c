/*
 * What the raw data of samples of waiting says (PERF_SAMPLE_RAW of the event "offcpu-time", whose period is the time in
 * nanoseconds): from the recorder to readers, in files. Fields are added at the end, and `size` tells how many there are.
 */
#ifndef TEPHRA_ABI_WAIT_RECORD_H
#define TEPHRA_ABI_WAIT_RECORD_H

enum tephra_wait_state {
  TEPHRA_WAIT_SLEEPING = 0,        /* interruptible: for a lock, a timer, the network, a person */
  TEPHRA_WAIT_UNINTERRUPTIBLE = 1, /* mostly for a disk or a page */
  TEPHRA_WAIT_RUN_QUEUE = 2,       /* ready to run, and another had the CPU */
  TEPHRA_WAIT_OTHER = 3,           /* stopped, traced, parked, frozen */
  TEPHRA_WAIT_STATES = 4
};

#define TEPHRA_WAIT_FOR_IO 1      /* the kernel counts it as waiting for a disk (in_iowait) */
#define TEPHRA_WAIT_SINGLE 2      /* one wait, which began at `began`; else a sum of `count` waits */
#define TEPHRA_WAIT_OPEN_BEGIN 4  /* it had begun before the recording did: what is before is not counted */
#define TEPHRA_WAIT_OPEN_END 8    /* it went on after the recording */
#define TEPHRA_WAIT_NO_STACK 16   /* the stack could not be kept: the time is that of all such waits together */
/* Why, beside TEPHRA_WAIT_NO_STACK; neither: there was no room for sums by stack. Set by the recorder. */
#define TEPHRA_WAIT_NOT_SAMPLED 64 /* to keep the budget */
#define TEPHRA_WAIT_STACK_LOST 128 /* it found no room on its way out of the kernel */
#define TEPHRA_WAIT_IN_FAULT 32   /* not in a system call: a page fault or an interrupt took the CPU away */

#define TEPHRA_NO_SYSCALL 0xffffffffu

struct tephra_wait_record {
  unsigned int size;    /* of this structure */
  unsigned int state;   /* enum tephra_wait_state */
  unsigned int flags;   /* TEPHRA_WAIT_* above */
  unsigned int syscall; /* its number, TEPHRA_NO_SYSCALL where there is none */
  unsigned long long count;   /* how many waits */
  unsigned long long began;   /* CLOCK_MONOTONIC, of a single wait */
  unsigned long long address; /* of the lock, where a futex was waited for; else 0 */
  /* Who ended it: the number of a sample of the event "wakers", whose raw data is that number (64 bits) and then the
   * number of the one that had woken the waker; 0: not known. */
  unsigned long long waker;
};

#endif
