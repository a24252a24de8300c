#include "collect/program_end.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <utility>

namespace tephra::collect {

void end_program(kernel::Workload& program, const std::string& name, kernel::SignalInbox& signals, const Note& note) {
  if (program.poll()) return;
  program.send(SIGTERM);
  program.send(SIGCONT);  // a stopped program would never see it
  bool said = false;
  while (!program.poll()) {
    pollfd wait{signals.fd(), POLLIN, 0};
    if (::poll(&wait, 1, 1000) == 0 && !std::exchange(said, true)) {
      note(fmt::format("waiting for {} to end, which was told to (SIGTERM); Ctrl-C kills it", name));
    }
    while (const int signal = signals.next()) {
      if (signal != SIGCHLD) program.send(SIGKILL);
    }
  }
}

}  // namespace tephra::collect
