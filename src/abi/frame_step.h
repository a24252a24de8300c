/* One step from a frame to its caller, the same code inside the kernel, inside a process and over a copy of a stack.
 *
 * Before including it, define
 *   TEPHRA_READ_WORD(memory, address, word)   0 when the 8 bytes at `address` of the walked stack were stored in *word
 *   TEPHRA_STEP                               how the functions are declared, for example static inline
 *
 * x86-64 and ARM64; `machine` is a constant where code runs on the machine itself. */
#ifndef TEPHRA_ABI_FRAME_STEP_H
#define TEPHRA_ABI_FRAME_STEP_H

#include "abi/frame_rules.h"
#include "abi/walk_end.h"

enum tephra_machine { TEPHRA_X86_64 = 0, TEPHRA_ARM64 = 1 };

struct tephra_frame {
  unsigned long long pc;
  unsigned long long sp;
  unsigned long long fp;
  unsigned long long lr;      /* ARM64 */
  unsigned char is_call_site; /* pc is where a call returns to: its rule is that of the byte before */
  unsigned char fp_lost;      /* fp is not the caller's */
  unsigned char fp_linked;    /* fp was found by a step along frame pointers: it is the next one of their chain */
};

/* A frame pointer is believed if it leads this far up the stack at most. */
#define TEPHRA_FP_REACH (64ULL << 20)

/* Addresses of user code; on ARM64 return addresses may be signed in their upper bits. */
#define TEPHRA_ADDRESS_BITS ((1ULL << 48) - 1)

/* Where the kernel's signal frame holds registers, from the stack pointer in the code that returns from it. */
#define TEPHRA_X86_SIGNAL_FP (40 + 10 * 8)
#define TEPHRA_X86_SIGNAL_SP (40 + 15 * 8)
#define TEPHRA_X86_SIGNAL_PC (40 + 16 * 8)
#define TEPHRA_ARM64_SIGNAL_REGISTERS 312

/* All of them return 0 when `frame` is now the caller, else an enum tephra_walk_end; `frame` is then unchanged or
 * half changed, and of no more use. */

TEPHRA_STEP int tephra_step_by_signal(int machine, void* memory, struct tephra_frame* frame) {
  unsigned long long at = frame->sp;
  unsigned long long fp_at = at + TEPHRA_X86_SIGNAL_FP;
  unsigned long long sp_at = at + TEPHRA_X86_SIGNAL_SP;
  unsigned long long pc_at = at + TEPHRA_X86_SIGNAL_PC;
  if (machine == TEPHRA_ARM64) {
    at += TEPHRA_ARM64_SIGNAL_REGISTERS;
    fp_at = at + 29 * 8;
    sp_at = at + 31 * 8;
    pc_at = at + 32 * 8;
    if (TEPHRA_READ_WORD(memory, at + 30 * 8, &frame->lr)) return TEPHRA_WALK_UNREADABLE;
  }
  if (TEPHRA_READ_WORD(memory, fp_at, &frame->fp)) return TEPHRA_WALK_UNREADABLE;
  if (TEPHRA_READ_WORD(memory, sp_at, &frame->sp)) return TEPHRA_WALK_UNREADABLE;
  if (TEPHRA_READ_WORD(memory, pc_at, &frame->pc)) return TEPHRA_WALK_UNREADABLE;
  frame->is_call_site = 0;
  frame->fp_lost = 0;
  frame->fp_linked = 0;
  return 0;
}

/* The step for code without rules: where the frame pointer of x86-64 and ARM64 points, the caller's and behind it the
 * return address are stored. A zero ends the chain, if it is part of one: programs that use the register for other
 * things have zeros in it, too, since a thread begins with one. */
TEPHRA_STEP int tephra_step_by_frame_pointer(int machine, void* memory, struct tephra_frame* frame) {
  unsigned long long fp = frame->fp;
  unsigned long long pc;
  if (frame->fp_lost) return TEPHRA_WALK_NO_RULE;
  if (fp == 0) return frame->fp_linked ? TEPHRA_WALK_OUTERMOST : TEPHRA_WALK_NO_RULE;
  if ((fp & 7) || fp < frame->sp || fp - frame->sp > TEPHRA_FP_REACH) return TEPHRA_WALK_NO_RULE;
  if (TEPHRA_READ_WORD(memory, fp + 8, &pc)) return TEPHRA_WALK_UNREADABLE;
  if (TEPHRA_READ_WORD(memory, fp, &frame->fp)) return TEPHRA_WALK_UNREADABLE;
  if (machine == TEPHRA_ARM64) pc &= TEPHRA_ADDRESS_BITS;
  if (pc == 0) return frame->fp_linked ? TEPHRA_WALK_OUTERMOST : TEPHRA_WALK_NO_RULE;
  frame->pc = pc;
  frame->lr = pc;
  frame->sp = fp + 16;
  frame->is_call_site = 1;
  frame->fp_linked = 1;
  return 0;
}

/* `registers`: all of the innermost frame by DWARF number (17 of x86-64, 32 of ARM64), null for other frames. */
TEPHRA_STEP int tephra_frame_address(const struct tephra_frame_rule* rule, void* memory,
                                     const struct tephra_frame* frame, const unsigned long long* registers,
                                     unsigned long long* cfa) {
  unsigned long long word;
  switch (rule->cfa) {
    case TEPHRA_CFA_SP:
      *cfa = frame->sp + rule->cfa_offset;
      return 0;
    case TEPHRA_CFA_FP:
      if (frame->fp_lost) return TEPHRA_WALK_UNSUPPORTED;
      *cfa = frame->fp + rule->cfa_offset;
      return 0;
    case TEPHRA_CFA_REGISTER:
      if (!registers) return TEPHRA_WALK_UNSUPPORTED;
      *cfa = registers[rule->cfa_register & 31] + rule->cfa_offset;
      return 0;
    case TEPHRA_CFA_AT_FP:
      if (frame->fp_lost) return TEPHRA_WALK_UNSUPPORTED;
      if (TEPHRA_READ_WORD(memory, frame->fp + rule->cfa_offset, &word)) return TEPHRA_WALK_UNREADABLE;
      *cfa = word + rule->cfa_offset2;
      return 0;
    case TEPHRA_CFA_AT_SP:
      if (TEPHRA_READ_WORD(memory, frame->sp + rule->cfa_offset, &word)) return TEPHRA_WALK_UNREADABLE;
      *cfa = word + rule->cfa_offset2;
      return 0;
    case TEPHRA_CFA_PLT:
      *cfa = frame->sp + rule->cfa_offset + ((frame->pc & 15) >= (unsigned long long)rule->cfa_offset2 ? 8 : 0);
      return 0;
    default:
      return TEPHRA_WALK_UNSUPPORTED;
  }
}

TEPHRA_STEP int tephra_step_by_rule(int machine, const struct tephra_frame_rule* rule, void* memory,
                                    struct tephra_frame* frame, const unsigned long long* registers) {
  unsigned long long cfa;
  unsigned long long pc = frame->lr;
  unsigned long long fp_at;
  unsigned long long word;
  int end;
  if (rule->cfa == TEPHRA_CFA_OUTERMOST) return TEPHRA_WALK_OUTERMOST;
  if (rule->cfa == TEPHRA_CFA_NONE) return tephra_step_by_frame_pointer(machine, memory, frame);
  if (rule->cfa == TEPHRA_CFA_SIGNAL) return tephra_step_by_signal(machine, memory, frame);
  end = tephra_frame_address(rule, memory, frame, registers, &cfa);
  if (end) return end;
  /* A leaf of ARM64 may use no stack at all. */
  if (cfa < frame->sp || (cfa == frame->sp && (machine != TEPHRA_ARM64 || frame->is_call_site))) {
    return TEPHRA_WALK_IMPLAUSIBLE;
  }
  if (rule->ra == TEPHRA_SAVED_AT_CFA) {
    if (TEPHRA_READ_WORD(memory, cfa + rule->ra_offset, &pc)) return TEPHRA_WALK_UNREADABLE;
  } else if (rule->ra != TEPHRA_SAVED_SAME || machine != TEPHRA_ARM64) {
    return TEPHRA_WALK_UNSUPPORTED;
  } else if (frame->is_call_site) {
    return TEPHRA_WALK_UNSUPPORTED; /* the call has overwritten the link register */
  }
  if (rule->fp == TEPHRA_SAVED_AT_CFA || rule->fp == TEPHRA_SAVED_AT_FP) {
    if (rule->fp == TEPHRA_SAVED_AT_FP && frame->fp_lost) return TEPHRA_WALK_UNSUPPORTED;
    fp_at = rule->fp == TEPHRA_SAVED_AT_CFA ? cfa + rule->fp_offset : frame->fp + rule->fp_offset;
    if (!TEPHRA_READ_WORD(memory, fp_at, &word)) {
      frame->fp = word;
      frame->fp_lost = 0; /* what a function saved is its caller's, whatever became of the register since */
    } else if (fp_at >= frame->sp) {
      frame->fp_lost = 1;
    } /* else it was popped already, which epilogues do not always say, and is in the register again */
  } else if (rule->fp == TEPHRA_SAVED_UNKNOWN) {
    frame->fp_lost = 1;
  }
  if (machine == TEPHRA_ARM64) pc &= TEPHRA_ADDRESS_BITS;
  frame->pc = pc;
  frame->lr = pc;
  frame->sp = cfa;
  frame->is_call_site = 1;
  frame->fp_linked = 0;
  return pc == 0 ? TEPHRA_WALK_OUTERMOST : 0;
}

#endif
