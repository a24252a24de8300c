/*
 * What the raw data of samples of activity says (PERF_SAMPLE_RAW of the events "syscalls", "io" and "tcp", whose period
 * is 1): from the recorder to readers, in files. A sample is the sum of what a thread did at one place. Fields are added
 * at the end, and `size` tells how many there are.
 */
#ifndef TEPHRA_ABI_ACTIVITY_RECORD_H
#define TEPHRA_ABI_ACTIVITY_RECORD_H

enum tephra_activity_kind {
  TEPHRA_SYSCALL = 1, /* `detail` is its number */

  /* Requests to a device: `detail` is the disk's number (major << 20 | minor), `extra` its name, with a NUL at its end.
   * `ns` is from issue to completion; that of flushes, which the kernel puts together, from when they were asked for. */
  TEPHRA_BLOCK_READ = 16,
  TEPHRA_BLOCK_WRITE = 17,
  TEPHRA_BLOCK_FLUSH = 18,
  TEPHRA_BLOCK_DISCARD = 19,
  TEPHRA_BLOCK_OTHER = 20,

  /* System calls on files: `detail` is the device that the file is on (0: none), `extra` what its file system calls
   * that, `ns` the time in the call. */
  TEPHRA_FILE_READ = 32,
  TEPHRA_FILE_WRITE = 33,
  TEPHRA_FILE_SYNC = 34,
  TEPHRA_FILE_OTHER = 35,

  /* `detail` is a port: the remote one of connections that we opened, else ours; `extra` is the remote address of
   * those that we opened, in network order, IPv4 as ::ffff:a.b.c.d. */
  TEPHRA_TCP_CONNECT = 48,        /* `ns`: until it was established */
  TEPHRA_TCP_ACCEPT = 49,
  TEPHRA_TCP_CONNECT_FAILED = 50, /* refused, reset or given up before it was established */
  TEPHRA_TCP_RETRANSMIT = 51,
  TEPHRA_TCP_RESET_SENT = 52,
  TEPHRA_TCP_RESET_RECEIVED = 53,
  TEPHRA_TCP_STATE = 54, /* `flags` has the old and the new state */
  TEPHRA_TCP_SENT = 55,
  TEPHRA_TCP_RECEIVED = 56,
};

#define TEPHRA_ACTIVITY_NO_STACK 1 /* the stack could not be kept: what is told is of all such places together */
#define TEPHRA_ACTIVITY_FAILED 2   /* it came back with an error */
#define TEPHRA_ACTIVITY_OPEN 4     /* it had not ended when the recording did */
#define TEPHRA_ACTIVITY_INTERRUPT 8 /* of TCP: it happened outside of the thread's calls; the stack is its last call's */
#define TEPHRA_ACTIVITY_NO_OWNER 16 /* of TCP: whose socket it is is not known */
#define TEPHRA_ACTIVITY_OLD_STATE_SHIFT 8
#define TEPHRA_ACTIVITY_NEW_STATE_SHIFT 16

struct tephra_activity_record {
  unsigned int size; /* of this structure */
  unsigned int kind;
  unsigned int detail;
  unsigned int flags;
  unsigned long long count;
  unsigned long long bytes;
  unsigned long long ns;         /* of all of them together */
  unsigned long long longest_ns; /* of one of them */
  unsigned char extra[16];
};

#endif
