#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <vector>

#include "abi/frame_rules.h"

namespace tephra::walk {

// Call-frame rows as libdw understands a file's .eh_frame.
struct Rows {
  std::vector<tephra_frame_block> blocks;
  std::vector<tephra_frame_rule> rules;
};

Rows rows_of_file(const std::string& path);
// The vDSO of this process.
Rows rows_of_vdso();

}  // namespace tephra::walk
