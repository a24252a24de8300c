#include "kernel/java_attach.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/file.h"

namespace tephra::kernel {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr uid_t kNobody = 65534;
constexpr milliseconds kPatience{5000};

// The counters of a machine, with the one that tells what it can do.
std::string counters(char attachable) {
  constexpr std::string_view kName{"sun.rt.jvmCapabilities\0", 23};
  std::string out;
  const auto put = [&out](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  put(uint32_t{0xc0c0feca});
  put(uint8_t{1});
  out.append(3 + 4 + 4 + 8, '\0');
  put(uint32_t{32});
  put(int32_t{1});
  const uint32_t data = 20 + static_cast<uint32_t>(kName.size());
  put(uint32_t{data + 4});
  put(uint32_t{20});
  put(uint64_t{0});
  put(data);
  out += kName;
  out += std::string(1, attachable) + "000";
  return out;
}

base::FileDescriptor listen_at(const std::string& path) {
  base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
  return ::listen(socket.get(), 1) == 0 ? std::move(socket) : base::FileDescriptor();
}

// A process that plays a Java machine, in a world of its own where that is wanted.
class Machine {
 public:
  // `play` runs in the process, before anything is asked of it.
  explicit Machine(const std::function<void()>& play) {
    int ready[2];
    if (::pipe2(ready, O_CLOEXEC) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      play();
      (void)!::write(ready[1], "x", 1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    ready_ = ::read(ready[0], &byte, 1) == 1;
    ::close(ready[0]);
  }
  ~Machine() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::unlink(socket_path(pid_).c_str());
  }

  static std::string socket_path(pid_t pid) { return "/tmp/.java_pid" + std::to_string(pid); }
  bool ready() const { return ready_; }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

void answer_at(int socket, std::string_view text) {
  const base::FileDescriptor peer(::accept(socket, nullptr, nullptr));
  char request[256];
  (void)!::read(peer.get(), request, sizeof request);
  (void)!::write(peer.get(), text.data(), text.size());
}

TEST(JavaAttach, CountersSayWhetherAMachineCanBeAttachedTo) {
  EXPECT_TRUE(says_attachable(base::as_bytes(counters('1'))));
  EXPECT_FALSE(says_attachable(base::as_bytes(counters('0'))));
  const std::string whole = counters('1');
  for (size_t size = 0; size < whole.size() - 4; ++size) {
    EXPECT_FALSE(says_attachable(base::as_bytes(std::string_view(whole).substr(0, size)))) << size;
  }
}

// Answers one after another: the test of who listens is passed by the process itself only.
void serve(std::string text) {
  const pid_t self = ::getpid();
  static base::FileDescriptor socket;
  socket = listen_at(Machine::socket_path(self));
  if (::fork() != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  answer_at(socket.get(), text);
  ::_exit(0);
}

TEST(JavaAttach, ItsAnswerIsHandedOn) {
  const Machine machine([] { serve("0\nit is done\n"); });
  ASSERT_TRUE(machine.ready());
  const auto answer = java_command(machine.pid(), "Compiler.perfmap", kPatience);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, "it is done\n");
}

TEST(JavaAttach, OfARefusalAFewWordsAreTold) {
  const Machine machine([] { serve("1\n" + std::string(60'000, 'n')); });
  ASSERT_TRUE(machine.ready());
  const auto answer = java_command(machine.pid(), "Compiler.perfmap", kPatience);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message().find("nnnn"), std::string::npos);
  EXPECT_LT(answer.error().message().size(), 300u);
}

TEST(JavaAttach, ASocketOnWhichAnotherListensIsNotAsked) {
  const Machine machine([] {});
  ASSERT_TRUE(machine.ready());
  const base::FileDescriptor ours = listen_at(Machine::socket_path(machine.pid()));
  ASSERT_TRUE(ours);
  const auto answer = java_command(machine.pid(), "Compiler.perfmap", kPatience);
  ASSERT_FALSE(answer);
  EXPECT_NE(answer.error().message().find("another process listens"), std::string::npos) << answer.error().message();
}

TEST(JavaAttach, AProcessThatIsGoneIsNotAsked) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(java_command(child, "Compiler.perfmap", kPatience));
}

// A folder as the root of a machine of another user, who owns nothing in it but its counters.
class World {
 public:
  World() {
    std::string name = testing::TempDir() + "java_world_XXXXXX";
    root_ = ::mkdtemp(name.data());
    ::chmod(root_.c_str(), 0755);
    fs::create_directories(temporary() / "hsperfdata_x");
  }
  ~World() { fs::remove_all(root_); }
  fs::path temporary() const { return fs::path(root_) / "tmp"; }

  // What the machine does: it says that it can be attached to, and takes the signal. Its number is known only there.
  void enter() const {
    const fs::path file = temporary() / "hsperfdata_x" / std::to_string(::getpid());
    std::ofstream(file) << counters('1');
    const bool in = ::chown(file.c_str(), kNobody, kNobody) == 0 && ::chroot(root_.c_str()) == 0 &&
                    ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0;
    if (!in) ::_exit(1);
    ::signal(SIGQUIT, [](int) {});
  }

 private:
  std::string root_;
};

TEST(JavaAttach, RootMakesNoFileWhereTheUserOfTheProcessCouldNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const World world;
  const Machine machine([&world] { world.enter(); });
  ASSERT_TRUE(machine.ready());
  const auto answer = java_command(machine.pid(), "Compiler.perfmap", milliseconds(200));
  ASSERT_FALSE(answer);
  const std::string mark = "/tmp/.attach_pid" + std::to_string(machine.pid());
  EXPECT_NE(answer.error().message().find("cannot create '" + mark + "': Permission denied"), std::string::npos)
      << answer.error().message();
}

TEST(JavaAttach, WhereTheUserMayTheMachineIsAskedToListen) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const World world;
  ASSERT_EQ(::chmod(world.temporary().c_str(), 01777), 0);
  const Machine machine([&world] {
    world.enter();
    // It begins to listen when it is told to, and tells whose the mark was.
    ::signal(SIGQUIT, [](int) {
      struct stat mark {};
      ::stat(("/tmp/.attach_pid" + std::to_string(::getpid())).c_str(), &mark);
      serve("0\n" + std::to_string(mark.st_uid) + " " + std::to_string(mark.st_gid));
    });
  });
  ASSERT_TRUE(machine.ready());
  const auto answer = java_command(machine.pid(), "Compiler.perfmap", kPatience);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(*answer, "65534 65534");
  EXPECT_FALSE(fs::exists(world.temporary() / (".attach_pid" + std::to_string(machine.pid()))));
}

}  // namespace
}  // namespace tephra::kernel
