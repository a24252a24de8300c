#include "collect/control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tephra::collect {
namespace {

using Kind = ControlCommand::Kind;

struct Pipe {
  explicit Pipe(int flags = 0) {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC | flags), 0);
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  void put(std::string_view text) const {
    ASSERT_EQ(::write(write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  base::FileDescriptor read;
  base::FileDescriptor write;
};

Control control_on(int fd, int ack = -1) {
  auto control = Control::open({{}, {}, fd, ack});
  EXPECT_TRUE(control.ok());
  return std::move(control).value();
}

std::string names_of(const std::vector<ControlCommand>& commands) {
  std::string text;
  for (const auto& command : commands) text += std::to_string(static_cast<int>(command.kind)) + command.argument + " ";
  return text;
}

TEST(Control, ReadsPerfsForms) {
  const auto fifo = parse_control("fifo:ctl,ack");
  ASSERT_TRUE(fifo.ok());
  EXPECT_EQ(fifo.value().control_path, "ctl");
  EXPECT_EQ(fifo.value().ack_path, "ack");
  EXPECT_EQ(parse_control("fifo:ctl").value().ack_path, "");
  EXPECT_EQ(parse_control("fifo:ctl,").value().ack_path, "");
  const auto fd = parse_control("fd:10,11");
  ASSERT_TRUE(fd.ok());
  EXPECT_EQ(fd.value().control_fd, 10);
  EXPECT_EQ(fd.value().ack_fd, 11);
  EXPECT_EQ(parse_control("fd:10").value().ack_fd, -1);
  for (const char* text :
       {"", "fifo", "fifo:", "fifo:,ack", "fd:", "fd:x", "fd:3,", "fd:3,x", "fd:-1", "fd:3x", "foo:3"}) {
    const auto spec = parse_control(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.error().kind, base::Error::Kind::kUsage);
  }
}

TEST(Control, ReadsCommands) {
  EXPECT_EQ(parse_control_command("enable")->kind, Kind::kEnable);
  EXPECT_EQ(parse_control_command("enable sched:sched_switch")->argument, "sched:sched_switch");
  EXPECT_EQ(parse_control_command("disable  cycles ")->argument, "cycles");
  EXPECT_EQ(parse_control_command("evlist")->kind, Kind::kEventList);
  EXPECT_EQ(parse_control_command("evlist -F")->argument, "-F");
  EXPECT_EQ(parse_control_command("snapshot")->kind, Kind::kSnapshot);
  EXPECT_EQ(parse_control_command("stop")->kind, Kind::kStop);
  EXPECT_EQ(parse_control_command("ping")->kind, Kind::kPing);
  for (const char* line : {"", " ", "pingx", "PING", "ack", "evlist -x", "snapshots"})
    EXPECT_FALSE(parse_control_command(line)) << line;
}

TEST(Control, SeveralLinesAndPartsOfLines) {
  const Pipe pipe;
  Control control = control_on(pipe.read.get());
  EXPECT_TRUE(control.commands().empty());
  pipe.put("ping\nenable cyc");
  EXPECT_EQ(names_of(control.commands()), "5 ");
  pipe.put("les\r\n\nsnapshot\n");
  EXPECT_EQ(names_of(control.commands()), "0cycles 3 ");
  pipe.put(std::string_view("stop\0ping\0", 10));  // as a C program may send them
  EXPECT_EQ(names_of(control.commands()), "4 5 ");
}

TEST(Control, UnknownCommandsAreToldOnceAndNotFatal) {
  const Pipe pipe;
  Control control = control_on(pipe.read.get());
  pipe.put("frobnicate\nping\nother\n");
  EXPECT_EQ(names_of(control.commands()), "5 ");
  EXPECT_EQ(control.unknown_command(), "frobnicate");
  EXPECT_FALSE(control.unknown_command());
  pipe.put("again\nping\n");
  EXPECT_EQ(names_of(control.commands()), "5 ");
  EXPECT_FALSE(control.unknown_command());
}

TEST(Control, LongLinesAndFloodsAreBounded) {
  const Pipe pipe(O_NONBLOCK);
  ::fcntl(pipe.write.get(), F_SETPIPE_SZ, 1 << 20);
  Control control = control_on(pipe.read.get());
  pipe.put(std::string(100'000, 'x') + " ping\nping\n");
  size_t commands = 0;
  for (int i = 0; i < 10; ++i) commands += control.commands().size();
  EXPECT_EQ(commands, 1u);
  EXPECT_LE(control.unknown_command().value_or("").size(), 100u);
  std::string flood;
  for (int i = 0; i < 20'000; ++i) flood += "ping\n";
  pipe.put(flood);
  const size_t first = control.commands().size();
  EXPECT_LT(first, 20'000u);
  EXPECT_EQ(first + control.commands().size(), 20'000u);
}

TEST(Control, AClosedPipeIsNotWaitedForAgain) {
  Pipe pipe;
  Control control = control_on(pipe.read.get());
  pipe.put("ping\nstop");
  pipe.write.reset();
  EXPECT_EQ(names_of(control.commands()), "5 4 ");
  EXPECT_EQ(control.fd(), -1);
  EXPECT_TRUE(control.commands().empty());
}

TEST(Control, AcknowledgesAsPerfDoes) {
  const Pipe commands;
  Pipe acks;
  Control control = control_on(commands.read.get(), acks.write.get());
  control.acknowledge();
  char buffer[16];
  EXPECT_EQ(::read(acks.read.get(), buffer, sizeof buffer), 5);
  EXPECT_EQ(std::string(buffer, 5), std::string("ack\n\0", 5));
  // A full pipe does not hold us, and one without a reader does not kill us.
  for (int i = 0; i < 100'000; ++i) control.acknowledge();
  acks.read.reset();
  control.acknowledge();
  Control without = control_on(commands.read.get());
  without.acknowledge();
}

TEST(Control, OpensFifos) {
  const std::string folder = ::testing::TempDir() + "tephra-control-" + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string ctl = folder + "/ctl";
  const std::string ack = folder + "/ack";
  ASSERT_EQ(::mkfifo(ctl.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(ack.c_str(), 0600), 0);
  {
    auto control = Control::open(*parse_control("fifo:" + ctl + "," + ack));
    ASSERT_TRUE(control.ok());
    for (int round = 0; round < 2; ++round) {  // writers come and go
      base::FileDescriptor writer(::open(ctl.c_str(), O_WRONLY));
      ASSERT_EQ(::write(writer.get(), "ping\n", 5), 5);
      writer.reset();
      EXPECT_EQ(names_of(control.value().commands()), "5 ");
      EXPECT_GE(control.value().fd(), 0);
    }
    control.value().acknowledge();
    const base::FileDescriptor reader(::open(ack.c_str(), O_RDONLY | O_NONBLOCK));
    char buffer[16];
    EXPECT_EQ(::read(reader.get(), buffer, sizeof buffer), 5);
  }
  EXPECT_FALSE(Control::open(*parse_control("fifo:" + folder + "/absent")).ok());
  EXPECT_FALSE(Control::open(*parse_control("fifo:" + ctl + "," + folder + "/absent")).ok());
  const std::string file = folder + "/file";
  base::FileDescriptor(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_FALSE(Control::open(*parse_control("fifo:" + file)).ok());
  EXPECT_FALSE(Control::open(*parse_control("fd:999999")).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tephra::collect
