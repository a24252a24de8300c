#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace tephra::collect {

// Where the commands of another program come from and where they are acknowledged, as perf's --control states it:
// "fifo:CONTROL[,ACK]" or "fd:CONTROL[,ACK]".
struct ControlSpec {
  std::string control_path;  // empty: a descriptor
  std::string ack_path;      // empty: none
  int control_fd = -1;
  int ack_fd = -1;
};
base::Result<ControlSpec> parse_control(std::string_view text);

struct ControlCommand {
  enum class Kind { kEnable, kDisable, kEventList, kSnapshot, kStop, kPing };
  Kind kind = Kind::kPing;
  std::string argument;  // an event to enable or disable, empty: all; how much to list: "", "-v", "-g" or "-F"
};
// One line. Nothing: it is no command.
std::optional<ControlCommand> parse_control_command(std::string_view line);

// The channel while recording. FIFOs are opened for reading and writing, so that other programs may come and go.
class Control {
 public:
  static base::Result<Control> open(const ControlSpec& spec);
  Control(Control&& other) noexcept = default;
  Control& operator=(Control&&) = delete;

  // To wait for commands; -1 once the other side has closed a pipe for good.
  int fd() const { return control_; }
  // The commands that have come, without waiting; the beginning of a line stays for the next call.
  std::vector<ControlCommand> commands();
  // To be called when a command was carried out, as perf answers it. Without a reader nothing happens; never waits.
  void acknowledge();
  // The first line that was no command, once.
  std::optional<std::string> unknown_command();

 private:
  Control() = default;
  void take_line(std::string_view line, std::vector<ControlCommand>& commands);

  base::FileDescriptor owned_control_;  // opened here; a descriptor given by number is left open
  base::FileDescriptor owned_ack_;
  int control_ = -1;
  int ack_ = -1;
  std::string line_;       // its beginning
  bool skipping_ = false;  // it was too long to be a command
  std::optional<std::string> unknown_;
  bool complained_ = false;
};

}  // namespace tephra::collect
