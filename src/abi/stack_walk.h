/* What the in-kernel unwinder (bpf/stack_walk.h) and the program that feeds it share. */
#ifndef TEPHRA_ABI_STACK_WALK_H
#define TEPHRA_ABI_STACK_WALK_H

/* Room for a record in the making, in words of 8 bytes. */
#define TEPHRA_WALK_WORDS 2048
/* Of these, what a walk leaves free for the fields that follow its addresses. */
#define TEPHRA_WALK_SPARE_WORDS 8
/* Most frames that a walk may have, so that kernel frames and the other fields have room beside them. A frame may take
 * two words, so a walk can end before. */
#define TEPHRA_WALK_MAX_FRAMES 1800
#define TEPHRA_WALK_MAX_KERNEL_FRAMES 200
/* Distinct rules of all tables together; rows have 16 bits for them. */
#define TEPHRA_WALK_RULES 65536
/* The same for tables. */
#define TEPHRA_WALK_MAX_TABLES 65535
/* How many answers are remembered on each CPU; a power of two. */
#define TEPHRA_WALK_ANSWERS 4096

/* A piece of a process's memory that holds code. */
struct tephra_walk_mapping {
  unsigned long long start;
  unsigned long long end;
  unsigned long long file_offset; /* of `start`: what a table's rows are looked up by */
  unsigned int table;             /* which table; 0: none, frame pointers are used */
  unsigned int flags;             /* TEPHRA_MAPPING_* */
};

#define TEPHRA_MAPPING_NO_FILE 1 /* its rows are missing because the file is not at hand */
#define TEPHRA_MAPPING_NO_ROOM 2 /* they are missing because no table could be had for them: stacks are to be copied */
#define TEPHRA_MAPPING_GENERATED 4 /* code made at run time, where frame pointers are the convention: no guess */

/* Where a process's mappings are in the pool: sorted, [first, first + count). It is used only while the process is
 * still the program that it was when they were listed: after an exec the stack begins elsewhere. */
struct tephra_walk_process {
  unsigned int first;
  unsigned int count;
  unsigned long long start_stack; /* mm->start_stack, the 28th field of /proc/PID/stat */
  unsigned long long start_code;  /* mm->start_code, the 26th */
};

/* An event whose overflows are walked: the identifier of its records, and which optional fields they have. */
struct tephra_walk_event {
  unsigned long long identifier;
  unsigned int with_address;
  unsigned int with_period;
  unsigned int with_page; /* of a page fault: abi/fault_record.h in the raw data, and the size of the page */
  unsigned int reserved;
};

/* Records that come through the ring beside samples; their types are above all of perf's. */
enum tephra_walk_record {
  /* A process, or a piece of its memory, that is not known. Its samples are left to perf while an answer may come and
   * copies are not too many; else they are sent with what could be walked. */
  TEPHRA_RECORD_WANTED = 0x7e01,
};

struct tephra_walk_wanted {
  unsigned int type; /* as perf_event_header */
  unsigned short misc;
  unsigned short size;
  int pid;
  int tid;
  unsigned long long address; /* that is in no known mapping; 0: the process is not known */
};

/* What became of samples, on each CPU. */
struct tephra_walk_totals {
  unsigned long long walked;
  unsigned long long left_to_perf;
  unsigned long long lost; /* the ring had no room */
  unsigned long long asked;
  unsigned long long not_asked; /* for the same reason */
};

#endif
