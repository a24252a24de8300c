#pragma once

#include <string>

namespace tephra::kernel {

// What came of asking the kernel for something, to see whether it would be given.
struct Trial {
  bool tried = false;
  bool works = false;
  int error = 0;       // errno of the refusal; 0 where the refusal is a conclusion of ours
  std::string reason;  // why it was refused, one line; empty when it works
};

Trial granted();
// `log`: what the kernel wrote about it; its last line is the reason where there is one, else errno's text.
Trial refused(int error, const std::string& log = {});
// A conclusion: the kernel would take it, and it cannot work all the same.
Trial useless(std::string reason);

}  // namespace tephra::kernel
