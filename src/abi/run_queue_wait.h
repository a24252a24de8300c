#ifndef TEPHRA_ABI_RUN_QUEUE_WAIT_H
#define TEPHRA_ABI_RUN_QUEUE_WAIT_H

/* A thread that was ready to run and had to wait for a CPU; from bpf/run_queue.bpf.c to kernel/run_queue_program.cpp.
 */
struct tephra_run_queue_wait {
  unsigned long long time_ns; /* when it got the CPU, CLOCK_MONOTONIC */
  unsigned long long wait_ns;
  int pid;
  int tid;
  unsigned int cpu;
  unsigned int reserved;
  char comm[16];
};

#endif
