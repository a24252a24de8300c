#include "collect/control.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <utility>

namespace tephra::collect {
namespace {

constexpr size_t kMostLineBytes = 1024;
constexpr size_t kMostBytesAtOnce = 64 << 10;
// perf sends the NUL that ends its text as well, and readers may wait for five bytes.
constexpr std::string_view kAck("ack\n", 5);

base::Error wrong(std::string_view text, std::string why) {
  return base::usage_error("cannot understand --control", std::string(text), std::move(why),
                           "Forms: 'fifo:CONTROL[,ACK]' with the paths of FIFOs (made by mkfifo), 'fd:CONTROL[,ACK]' "
                           "with numbers of open descriptors; for example --control=fifo:ctl.fifo,ack.fifo");
}

std::optional<int> descriptor(std::string_view text) {
  int fd = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), fd);
  if (error != std::errc() || end != text.data() + text.size() || fd < 0) return {};
  return fd;
}

base::Result<base::FileDescriptor> open_fifo(const std::string& path) {
  base::FileDescriptor fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd) return base::system_error("cannot open the control FIFO", path, errno, "Make it first: mkfifo " + path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISFIFO(info.st_mode)) {
    return base::failed("cannot use for --control", path, "it is no FIFO", "Make one: mkfifo PATH");
  }
  return fd;
}

base::Status check_open(int fd) {
  if (::fcntl(fd, F_GETFD) >= 0) return {};
  return base::system_error("cannot use descriptor for --control", std::to_string(fd), errno,
                            "Open it in the program that starts tephra.");
}

short ready(int fd, short events) {
  pollfd wait{fd, events, 0};
  return ::poll(&wait, 1, 0) > 0 ? wait.revents : short{0};
}

// Writes where nobody may read any more, which must not end us by SIGPIPE.
void write_without_signal(int fd, std::string_view text) {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigemptyset(&pending);
  ::sigpending(&pending);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  if (::write(fd, text.data(), text.size()) < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE)) {
    const timespec at_once{};
    ::sigtimedwait(&pipe_signal, nullptr, &at_once);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

base::Result<ControlSpec> parse_control(std::string_view text) {
  ControlSpec spec;
  const bool fifo = text.starts_with("fifo:");
  if (!fifo && !text.starts_with("fd:")) return wrong(text, "it begins with neither 'fifo:' nor 'fd:'");
  const std::string_view rest = text.substr(fifo ? 5 : 3);
  const size_t comma = rest.find(',');
  const std::string_view control = rest.substr(0, comma);
  const std::string_view ack = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  if (fifo) {
    if (control.empty()) return wrong(text, "the path is missing");
    spec.control_path = control;
    spec.ack_path = ack;
    return spec;
  }
  const auto control_fd = descriptor(control);
  const auto ack_fd = descriptor(ack);
  if (!control_fd || (comma != std::string_view::npos && !ack_fd)) return wrong(text, "a descriptor is a number");
  spec.control_fd = *control_fd;
  spec.ack_fd = ack_fd.value_or(-1);
  return spec;
}

std::optional<ControlCommand> parse_control_command(std::string_view line) {
  using Kind = ControlCommand::Kind;
  const size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  std::string_view argument = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  while (argument.starts_with(' ')) argument.remove_prefix(1);
  while (argument.ends_with(' ')) argument.remove_suffix(1);
  if (word == "enable") return ControlCommand{Kind::kEnable, std::string(argument)};
  if (word == "disable") return ControlCommand{Kind::kDisable, std::string(argument)};
  if (word == "evlist") {
    if (!argument.empty() && argument != "-v" && argument != "-g" && argument != "-F") return {};
    return ControlCommand{Kind::kEventList, std::string(argument)};
  }
  if (word == "snapshot") return ControlCommand{Kind::kSnapshot, {}};
  if (word == "stop") return ControlCommand{Kind::kStop, {}};
  if (word == "ping") return ControlCommand{Kind::kPing, {}};
  return {};
}

base::Result<Control> Control::open(const ControlSpec& spec) {
  Control control;
  if (!spec.control_path.empty()) {
    TEPHRA_TRY(control.owned_control_, open_fifo(spec.control_path));
    control.control_ = control.owned_control_.get();
    if (spec.ack_path.empty()) return control;
    TEPHRA_TRY(control.owned_ack_, open_fifo(spec.ack_path));
    control.ack_ = control.owned_ack_.get();
    return control;
  }
  TEPHRA_CHECK_OK(check_open(spec.control_fd));
  if (spec.ack_fd >= 0) TEPHRA_CHECK_OK(check_open(spec.ack_fd));
  control.control_ = spec.control_fd;
  control.ack_ = spec.ack_fd;
  return control;
}

std::vector<ControlCommand> Control::commands() {
  std::vector<ControlCommand> commands;
  std::array<char, 4096> buffer;
  // A descriptor from outside may be one that waits, so it is read only when something is there.
  for (size_t total = 0; control_ >= 0 && total < kMostBytesAtOnce;) {
    const short state = ready(control_, POLLIN);
    if (state == 0) break;
    const ssize_t size = ::read(control_, buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (size <= 0) {
      control_ = -1;  // closed by the other side, or no descriptor at all
      take_line(std::exchange(line_, {}), commands);
      break;
    }
    total += static_cast<size_t>(size);
    for (const char byte : std::string_view(buffer.data(), static_cast<size_t>(size))) {
      if (byte == '\n' || byte == '\0') {
        take_line(std::exchange(line_, {}), commands);
      } else if (line_.size() < kMostLineBytes) {
        line_ += byte;
      } else {
        skipping_ = true;
      }
    }
  }
  return commands;
}

void Control::take_line(std::string_view line, std::vector<ControlCommand>& commands) {
  const bool too_long = std::exchange(skipping_, false);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) return;
  auto command = too_long ? std::nullopt : parse_control_command(line);
  if (command) {
    commands.push_back(std::move(*command));
  } else if (!unknown_ && !complained_) {
    unknown_ = std::string(line.substr(0, 80));
  }
}

std::optional<std::string> Control::unknown_command() {
  if (!unknown_) return {};
  complained_ = true;
  return std::exchange(unknown_, std::nullopt);
}

void Control::acknowledge() {
  if (ack_ < 0 || (ready(ack_, POLLOUT) & POLLOUT) == 0) return;
  write_without_signal(ack_, kAck);
}

}  // namespace tephra::collect
