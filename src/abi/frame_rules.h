/* How callers are found: the compiled form of call-frame information, for kernel-side, in-process and C++ code.
 *
 * A table describes one code object. Its rows are sorted by where they begin, a file offset (not an address as linked):
 * a program counter inside a mapping is looked up as `pc - start of the mapping + file offset of the mapping`. A row
 * holds until the next one begins; before the first row, and in rows whose rule says TEPHRA_CFA_NONE, nothing is
 * described. Rows come in blocks of arrays, 6 bytes a row, so that a search touches few cache lines. */
#ifndef TEPHRA_ABI_FRAME_RULES_H
#define TEPHRA_ABI_FRAME_RULES_H

/* The canonical frame address (CFA): what the stack pointer was before the call. */
enum tephra_cfa {
  TEPHRA_CFA_NONE = 0,        /* nothing is described here: only a frame pointer can help */
  TEPHRA_CFA_SP = 1,          /* stack pointer + offset */
  TEPHRA_CFA_FP = 2,          /* frame pointer + offset */
  TEPHRA_CFA_REGISTER = 3,    /* another register + offset, which is known for the innermost frame alone */
  TEPHRA_CFA_AT_SP = 4,       /* the word at stack pointer + offset, + offset2 */
  TEPHRA_CFA_AT_FP = 5,       /* the word at frame pointer + offset, + offset2 */
  TEPHRA_CFA_PLT = 6,         /* stack pointer + offset, and 8 more from byte offset2 of a 16-byte stub on */
  TEPHRA_CFA_SIGNAL = 7,      /* the kernel's frame of a signal: it holds all registers of what was interrupted */
  TEPHRA_CFA_OUTERMOST = 8,   /* there is no caller */
  TEPHRA_CFA_UNSUPPORTED = 9, /* described in a way that rules cannot say */
};

/* Where the caller's value of a register is. */
enum tephra_saved {
  TEPHRA_SAVED_SAME = 0,      /* still in the register; of the return address: in the link register */
  TEPHRA_SAVED_AT_CFA = 1,    /* in the word at CFA + offset */
  TEPHRA_SAVED_AT_FP = 2,     /* in the word at frame pointer + offset */
  TEPHRA_SAVED_UNKNOWN = 3,   /* lost; the frame pointer of callers may not be used */
};

struct tephra_frame_rule {
  unsigned char cfa;          /* enum tephra_cfa */
  unsigned char fp;           /* enum tephra_saved, of the frame pointer */
  unsigned char ra;           /* enum tephra_saved, of the return address */
  unsigned char cfa_register; /* TEPHRA_CFA_REGISTER: its DWARF number, 0 to 30 */
  int cfa_offset;
  int cfa_offset2;
  short fp_offset;
  short ra_offset;
};

/* Rows in one block. A table is blocks that are full but for the last, whose unused places repeat its last row. */
#define TEPHRA_FRAME_BLOCK_ROWS 64

struct tephra_frame_block {
  unsigned int start[TEPHRA_FRAME_BLOCK_ROWS];    /* file offsets, never decreasing */
  unsigned short rule[TEPHRA_FRAME_BLOCK_ROWS];   /* index into the rules that belong to the table */
};

/* Where gaps between functions are smaller than this, the row before them goes on: it is padding. */
#define TEPHRA_FRAME_GAP 16

#endif
