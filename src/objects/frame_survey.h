#pragma once

#include <cstdint>
#include <string_view>

#include "objects/call_frames.h"
#include "objects/elf_file.h"

namespace tephra::objects {

// How well stacks through a code object can be followed, estimated from a few thousand places spread over its code.
struct FrameSurvey {
  uint64_t places = 0;     // looked at, padding between functions left out
  uint64_t described = 0;  // of them, with call-frame information
  uint64_t functions = 0;  // met there whose frame is known, from call-frame information or their first instructions
  uint64_t keep_frame_pointer = 0;  // of them, that set up a frame pointer
};
FrameSurvey survey_frames(const ElfFile& elf, const CallFrames& frames);

// Whether the functions of a file keep frame pointers, as a rule.
inline bool keeps_frame_pointers(const FrameSurvey& survey) {
  return survey.keep_frame_pointer * 2 >= survey.functions;
}

// Libraries that are leaves of almost every stack (libc, libm, the loader): they never keep frame pointers, and where
// stacks are taken by them that loses one caller, not all.
bool is_leaf_library(std::string_view path);

}  // namespace tephra::objects
