#include "kernel/java_attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <thread>

#include "base/file.h"
#include "kernel/as_user.h"
#include "kernel/foreign_file.h"
#include "kernel/process_root.h"
#include "kernel/status_text.h"

namespace tephra::kernel {
namespace {

using Clock = std::chrono::steady_clock;
constexpr size_t kMaxAnswer = 64 << 10;
constexpr size_t kMaxCounters = 4 << 20;
// What is told of a refusal: it is the process's text, not ours.
constexpr size_t kMaxRefusal = 200;

base::Error refuse(pid_t pid, const std::string& why) {
  return base::failed("cannot ask the Java process", std::to_string(pid), why);
}

bool catches_quit(pid_t pid) {
  const auto status = base::read_small_file("/proc/" + std::to_string(pid) + "/status");
  return status && (number_of(*status, "SigCgt", 16).value_or(0) >> (SIGQUIT - 1) & 1) != 0;
}

// One attempt to run a command in one process.
class Attachment {
 public:
  // `handle`: of the process, by which it cannot be taken for another one; none where the kernel has no such handles.
  Attachment(pid_t pid, ProcessRoot root, base::FileDescriptor handle, Clock::time_point deadline)
      : pid_(pid), root_(std::move(root)), handle_(std::move(handle)), deadline_(deadline) {
    // Whatever links are on the way, it is the process's own /tmp.
    temporary_.reset(::openat(root_.folder.get(), "tmp", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }

  base::Result<std::string> run(std::string_view command) {
    if (!temporary_) return refuse(pid_, "it has no /tmp");
    if (!listens()) TEPHRA_CHECK_OK(ask_to_listen());
    TEPHRA_TRY(const base::FileDescriptor socket, connect());
    std::string request("1\0jcmd\0", 7);
    request += command;
    request.append(3, '\0');
    if (::send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      return base::system_error("cannot ask the Java process", std::to_string(pid_), errno);
    }
    return answer(socket.get());
  }

 private:
  std::string socket_name() const { return ".java_pid" + std::to_string(root_.inner_pid); }

  bool listens() const {
    struct stat status {};
    return ::fstatat(temporary_.get(), socket_name().c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISSOCK(status.st_mode) && (status.st_uid == root_.user || status.st_uid == 0);
  }

  // The machine publishes its counters in hsperfdata_USER/PID; the name of the user in its own world is not known here.
  bool attachable() const {
    base::FileDescriptor folder(::openat(root_.folder.get(), "tmp", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(folder ? ::fdopendir(folder.get()) : nullptr, ::closedir);
    if (!entries) return false;
    folder.release();  // it is closed with the entries
    while (const dirent* entry = ::readdir(entries.get())) {
      const std::string name = entry->d_name;
      if (!name.starts_with("hsperfdata_")) continue;
      const auto file = open_foreign_file("/tmp/" + name + "/" + std::to_string(root_.inner_pid), root_.folder.get());
      std::string counters;
      if (!file || file->owner != root_.user || file->size > kMaxCounters) continue;
      if (append_from(*file, 0, file->size, counters) && says_attachable(base::as_bytes(counters))) return true;
    }
    return false;
  }

  base::Status ask_to_listen() const {
    if (!attachable()) return refuse(pid_, "it does not say that it can be attached to");
    if (!catches_quit(pid_)) return refuse(pid_, "it does not catch SIGQUIT");
    if (!handle_) return refuse(pid_, "this kernel cannot send a signal to it and surely to no other (pidfd_open)");
    const std::string mark = ".attach_pid" + std::to_string(root_.inner_pid);
    const base::FileDescriptor file(
        ::openat(temporary_.get(), mark.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return base::system_error("cannot create", "/tmp/" + mark, errno);
    base::Status status;
    if (::syscall(SYS_pidfd_send_signal, handle_.get(), SIGQUIT, nullptr, 0) != 0) {
      status = base::system_error("cannot send SIGQUIT to", std::to_string(pid_), errno);
    } else {
      while (!listens() && Clock::now() < deadline_) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (!listens()) status = refuse(pid_, "it did not begin to listen in time");
    }
    ::unlinkat(temporary_.get(), mark.c_str(), 0);
    return status;
  }

  base::Result<base::FileDescriptor> connect() const {
    base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(temporary_.get()) + "/" + socket_name();
    if (!socket || path.size() >= sizeof address.sun_path) return refuse(pid_, "its socket cannot be named");
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return base::system_error("cannot ask the Java process", std::to_string(pid_), errno);
    }
    // The path may have come to lead elsewhere since it was looked at: who listens is what counts.
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid != pid_) {
      return refuse(pid_, "another process listens on its socket");
    }
    return socket;
  }

  base::Result<std::string> answer(int socket) const {
    std::string text;
    char part[4096];
    while (text.size() < kMaxAnswer) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      pollfd wait{socket, POLLIN, 0};
      if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) <= 0) return refuse(pid_, "it did not answer in time");
      const ssize_t got = ::read(socket, part, sizeof part);
      if (got < 0 && errno != EINTR && errno != EAGAIN) return refuse(pid_, "it closed the connection");
      if (got == 0) break;
      if (got > 0) text.append(part, static_cast<size_t>(got));
    }
    if (!text.starts_with("0\n")) {
      return refuse(pid_, "it refused: " + text.substr(0, std::min(text.find('\n', 4), kMaxRefusal)));
    }
    return text.substr(2);
  }

  pid_t pid_;
  ProcessRoot root_;
  base::FileDescriptor handle_;
  Clock::time_point deadline_;
  base::FileDescriptor temporary_;
};

}  // namespace

bool says_attachable(base::Bytes counters) {
  constexpr uint32_t kMagic = 0xc0c0feca;  // 0xcafec0c0 as its bytes stand in the file
  constexpr std::string_view kName = "sun.rt.jvmCapabilities";
  constexpr int32_t kMaxEntries = 1 << 16;
  base::ByteReader header(counters);
  const uint32_t magic = header.u32();
  const bool little_endian = header.u8() == 1;
  header.skip(3 + 4 + 4 + 8);
  auto offset = static_cast<uint32_t>(header.u32());
  const auto entries = header.read<int32_t>();
  if (!header.ok() || magic != kMagic || !little_endian) return false;
  for (int32_t i = 0; i < std::min(entries, kMaxEntries) && offset < counters.size(); ++i) {
    const base::Bytes entry = counters.subspan(offset);
    base::ByteReader fields(entry);
    const uint32_t size = fields.u32();
    const uint32_t name = fields.u32();
    fields.skip(4 + 4);  // length, type and so on
    const uint32_t data = fields.u32();
    if (!fields.ok() || size == 0 || size > entry.size() || name >= size || data >= size) return false;
    // The first of its abilities is to be attached to.
    if (base::until_nul(entry.first(size).subspan(name)) == kName) return entry[data] == std::byte{'1'};
    offset += size;
  }
  return false;
}

base::Result<std::string> java_command(pid_t pid, std::string_view command, std::chrono::milliseconds patience) {
  base::FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  auto root = open_process_root(pid);
  // If the process of the handle still runs, then what was found under its number is its own.
  if (!root || (handle && ::syscall(SYS_pidfd_send_signal, handle.get(), 0, nullptr, 0) != 0)) {
    return refuse(pid, "it is gone, or not ours to look at");
  }
  // Its /tmp is what it wants it to be: there we may do what it may do itself, and no more.
  const AsUser as_user(root->user, root->group);
  if (!as_user) return refuse(pid, "we cannot act as its user");
  return Attachment(pid, std::move(*root), std::move(handle), Clock::now() + patience).run(command);
}

}  // namespace tephra::kernel
