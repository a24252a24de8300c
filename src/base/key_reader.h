#pragma once

#include <termios.h>

namespace tephra::base {

// Single keys from a terminal, without Enter and without echo, as long as it lives. Ctrl-C and the like still send
// signals.
//
// The terminal is as it was before when this is destroyed, while the program is suspended, and when a signal that is
// not caught ends it. While another program has the terminal (we run in the background), there are no keys, and nothing
// that would stop us is done. One at a time in a process; it handles SIGTSTP, SIGCONT and the fatal signals that nobody
// else does.
class KeyReader {
 public:
  // Does nothing where `fd` is no terminal.
  explicit KeyReader(int fd);
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  // To wait for a key; -1 when none can come now. Ask anew before each wait.
  int fd();
  // The next key; 0 when none was pressed. Never waits.
  char next();

 private:
  bool in_foreground() const;

  int fd_ = -1;
};

}  // namespace tephra::base
