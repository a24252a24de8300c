#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "model/build_id.h"
#include "objects/frame_survey.h"

namespace tephra::symbols {

// How well one file of a process can be profiled.
struct ModuleFacts {
  enum class Names {
    kNone,         // no symbols at all
    kExportsOnly,  // .dynsym: what other files may call
    kAll,          // .symtab, in the file or its debug file
  };

  std::string path;            // as mapped, without the kernel's "(deleted)"
  bool program = false;        // the process's own program, not a library
  uint64_t code_bytes = 0;     // mapped executable
  bool readable = false;       // the file that is mapped could be read; nothing below is known otherwise
  bool deleted = false;        // the mapped file has no name any more
  bool replaced = false;       // another file has its name
  bool found_by_path = false;  // the path, as a profile records it, leads us to this very file
  model::BuildId build_id;
  Names names = Names::kNone;
  bool debug_info = false;  // lines and inlined functions, in the file or its debug file
  bool debug_file = false;  // a separate debug file was found
  bool go = false;          // compiled by Go
  objects::FrameSurvey frames;
  std::string package;        // that brought the file; empty: unknown
  std::string debug_package;  // that would bring its debug information
};

// Fills in all that the bytes of the file tell. `path` is for finding its debug file. False: it is not ELF.
bool read_module(base::Bytes file, const std::string& path, ModuleFacts& facts);

}  // namespace tephra::symbols
