/* How a walk over a user stack ended. In samples that a BPF program made, it is in the record header's `misc`, whose
 * bits perf does not use there: those between the processor's mode (0 to 2) and its own flags (12 and above). Values
 * are part of files: never renumber. */
#ifndef TEPHRA_ABI_WALK_END_H
#define TEPHRA_ABI_WALK_END_H

enum tephra_walk_end {
  TEPHRA_WALK_NOT_TOLD = 0,    /* the stack was not walked by call-frame rules */
  TEPHRA_WALK_OUTERMOST = 1,   /* complete: the outermost frame was reached */
  TEPHRA_WALK_DEPTH = 2,       /* as many frames as there may be */
  TEPHRA_WALK_NO_MAPPING = 3,  /* a return address lies in no known mapping */
  TEPHRA_WALK_NO_RULE = 4,     /* code without call-frame information, and no usable frame pointer */
  TEPHRA_WALK_UNSUPPORTED = 5, /* call-frame information that rules cannot say */
  TEPHRA_WALK_UNREADABLE = 6,  /* the stack's memory could not be read: not in memory, or beyond the copy */
  TEPHRA_WALK_IMPLAUSIBLE = 7, /* the stack pointer would not move towards the root */
  TEPHRA_WALK_NO_FILE = 8,     /* the mapped file is not at hand, and no usable frame pointer */
  TEPHRA_WALK_32BIT = 9,       /* a 32-bit program, whose stacks are not walked */
  TEPHRA_WALK_COPY_END = 10,   /* the stack goes on beyond the copy, which is as large as was asked for */
  TEPHRA_WALK_NOT_COPIED = 11, /* only a copy of the stack would have helped, and too many were made at once */
};

#define TEPHRA_WALK_LAST_END TEPHRA_WALK_NOT_COPIED

/* Beside the end, in the same byte: in code of a file that no rule describes, a caller was found by the frame pointer.
 * If that code keeps none, the caller is another function's, as a rule that of the true one. */
#define TEPHRA_WALK_GUESSED 0x10

/* Where that byte is in `misc`. The end alone is in the mask. */
#define TEPHRA_WALK_END_SHIFT 4
#define TEPHRA_WALK_END_MASK 0xf0

#endif
