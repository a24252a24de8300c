/* What bpf/watched_tasks.h and the programs that use it tell kernel/watching.cpp, and the other way round. */
#ifndef TEPHRA_ABI_WATCHING_H
#define TEPHRA_ABI_WATCHING_H

/* Who is watched. */
enum tephra_watch_mode {
  TEPHRA_WATCH_LISTED = 0, /* processes and threads by number, and where asked for what they start */
  TEPHRA_WATCH_ALL = 1,
  TEPHRA_WATCH_CGROUPS = 2,
  TEPHRA_WATCH_USER = 3,
};

/* How the user part of a stack is taken. */
enum tephra_user_stacks {
  TEPHRA_STACKS_NONE = 0,
  TEPHRA_STACKS_FRAME_POINTERS = 1,
  TEPHRA_STACKS_WALKED = 2, /* bpf/stack_walk.h */
};

/* Who is listed: `tid` is 0 for a process. */
struct tephra_watched {
  unsigned int pid;
  unsigned int tid;
};

/* Before it is loaded. */
struct tephra_watch_settings {
  unsigned int mode; /* enum tephra_watch_mode */
  unsigned int user;
  unsigned int stacks; /* enum tephra_user_stacks */
  unsigned int max_frames;
  unsigned int max_kernel_bytes;
  unsigned int max_user_bytes;
  unsigned int inherit;
  unsigned int kernel_stacks;
  unsigned long long wake_bytes; /* so many that wait in the ring wake the reader */
};

/* While it runs. Times are of CLOCK_MONOTONIC, 0: not yet. */
struct tephra_watch_state {
  unsigned long long begun; /* counting */
  unsigned long long stopped;
  unsigned int turn;    /* which map of sums is added to */
  unsigned int awaited; /* a process that is watched once it runs its program */
  unsigned long long met; /* when it did */
};

/* Of a task: whether its control groups are watched. */
struct watch_groups {
  unsigned long long groups; /* for which `tracked` holds */
  unsigned int tracked;
  unsigned int reserved;
};

#endif
