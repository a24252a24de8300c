/* The reasons why something is missing from a profile, or may be wrong in it. One list for kernel-side, in-process and
 * C++ code and for everything that prints them: X(name, what it means). The names are part of the JSON output. Add a
 * reason to the group whose unit it is counted in; never rename or reuse a name. */
#ifndef TEPHRA_ABI_QUALITY_REASONS_H
#define TEPHRA_ABI_QUALITY_REASONS_H

#define TEPHRA_QUALITY_REASONS(X)                                                                                  \
  /* counted in samples */                                                                                         \
  X(stacks_not_recorded, "the recording holds no call stacks")                                                     \
  X(stack_copy_not_unwound, "a copy of the user stack was recorded and not unwound")                               \
  X(depth_limit, "the stack reached the kernel's depth limit and was cut")                                         \
  X(root_not_reached, "the stack ends before an outermost frame")                                                  \
  X(leaf_without_frame, "the leaf had not set up its frame, so its direct caller is missing")                      \
  X(caller_without_frame, "a caller inside the stack keeps no frame pointer, so its own caller may be missing")    \
  X(user_stack_missing, "a sample of a user thread has no user frames")                                            \
  X(stack_copy_too_short, "the user stack goes on beyond the copy that was recorded")                              \
  X(stack_unreadable, "a part of the user stack could not be read when the sample was taken")                      \
  X(walk_no_mapping, "a caller's address lies in no known mapping")                                                \
  X(walk_no_file, "a file that the stack passes through is not at hand, and no frame pointer helped")              \
  X(walk_no_rule, "code without call-frame information, and no frame pointer helped")                              \
  X(walk_unsupported, "call-frame information of a kind that cannot be followed")                                  \
  X(walk_implausible, "the next frame would not have been further out, or the walk ended where there is a caller") \
  X(stack_not_copied, "the user stack had to be copied to find its callers, and too many were at once")            \
  X(caller_guessed, "a caller was found by the frame pointer of code that may not keep one, and may be another's") \
  X(walk_32bit, "the stack of a 32-bit program, which is not walked")                                              \
  /* counted in frames, weighted by samples */                                                                     \
  X(address_not_mapped, "the address belongs to no known mapping")                                                 \
  X(file_missing, "the mapped file is not here any more")                                                          \
  X(build_id_mismatch, "the file on disk is not the one that ran")                                                 \
  X(file_unproven, "named from a file without a build id, which may not be the one that ran")                      \
  X(no_symbol, "the file has no symbol at the address")                                                            \
  X(kernel_symbols_hidden, "kernel symbol addresses are hidden from this user")                                    \
  X(kernel_mismatch, "the recording is of another kernel or another boot")                                         \
  X(jit_code_unnamed, "generated code without a map of names")                                                     \
  X(jit_code_doubtful, "generated code at an address that another function had had until about then")              \
  X(jit_map_unproven, "generated code named from a file that may be of another process or moment")                 \
  /* counted in records */                                                                                         \
  X(malformed_records, "records that could not be read and were skipped")                                          \
  X(unknown_records, "records of a type that is not known")                                                        \
  X(unknown_event, "samples whose event is not described in the file")                                             \
  X(jit_names_left_out, "files with names of generated code that were not read to their end")                      \
  X(jit_processes_left_out, "processes whose names of generated code were not kept, since there were too many")    \
  X(file_truncated, "the file ends in the middle of a record or before its stated size")                           \
  X(fractions_dropped, "counts with a fraction, which was dropped")

#endif
