#include "collect/trigger.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "collect/share_trigger.h"

namespace tephra::collect {
namespace {

using Kind = TriggerSpec::Kind;
using std::chrono::microseconds;
using std::chrono::milliseconds;

TriggerSpec spec_of(const char* text) {
  auto spec = parse_trigger_spec(text);
  EXPECT_TRUE(spec.ok()) << text << ": " << (spec.ok() ? "" : spec.error().message());
  return spec.ok() ? *spec : TriggerSpec();
}

TEST(TriggerSpec, ReadsTheForms) {
  EXPECT_EQ(spec_of("runqlat>10ms").kind, Kind::kRunQueueLatency);
  EXPECT_EQ(spec_of("runqlat>10ms").latency, milliseconds(10));
  EXPECT_EQ(spec_of("runqlat > 250us").latency, microseconds(250));
  EXPECT_EQ(spec_of("runqlat>1.5s").latency, milliseconds(1500));
  EXPECT_EQ(spec_of("cpu>90%").kind, Kind::kMachineCpu);
  EXPECT_EQ(spec_of("cpu>90%").percent, 90);
  EXPECT_EQ(spec_of("cpu>90%").window, milliseconds(100));
  EXPECT_EQ(spec_of("cpu>99.5").percent, 99.5);
  EXPECT_EQ(spec_of("cpu>90%/1s").window, milliseconds(1000));
  EXPECT_EQ(spec_of("cpu(1234)>150%").kind, Kind::kProcessCpu);
  EXPECT_EQ(spec_of("cpu(1234)>150%").pid, 1234);
  EXPECT_EQ(spec_of("psi>20").kind, Kind::kPressure);
  EXPECT_EQ(spec_of("psi>20").resource, "cpu");
  EXPECT_EQ(spec_of("psi>20").window, milliseconds(500));
  EXPECT_EQ(spec_of("psi:memory>5%").resource, "memory");
  EXPECT_EQ(spec_of("psi:io>20/2s").window, milliseconds(2000));
  EXPECT_EQ(spec_of("psi:io>20/2s").text, "psi:io>20/2s");
}

TEST(TriggerSpec, RefusesTheRestAndListsTheForms) {
  for (const char* text : {"",
                           ">",
                           "cpu",
                           "cpu>",
                           "cpu>x",
                           "cpu>-5",
                           "cpu>0",
                           "cpu>100",
                           "cpu>90%%",
                           "cpu>90%/",
                           "cpu>90%/1",
                           "cpu>90%/1ms",
                           "cpu>90%/1h",
                           "cpu()>50",
                           "cpu(0)>50",
                           "cpu(-3)>50",
                           "cpu(12x)>50",
                           "cpu(99999999999)>50",
                           "psi:net>5",
                           "psi:>5",
                           "runqlat>10",
                           "runqlat>10%",
                           "runqlat>-1ms",
                           "runqlat>2000000s",
                           "runqlat>10ms/1s",
                           "load>5",
                           "cpu>inf",
                           "cpu>nan",
                           "cpu>1e1",
                           "cpu>0x10",
                           "runqlat>1e300s",
                           "cpu<5"}) {
    const auto spec = parse_trigger_spec(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.error().kind, base::Error::Kind::kUsage);
    for (const char* form : {"runqlat>10ms", "cpu>90%", "cpu(PID)>150%", "psi>20", "cpu>90%/1s"})
      EXPECT_NE(spec.error().message().find(form), std::string::npos) << text;
  }
}

TEST(ShareTrigger, ReadsTheKernelsText) {
  const auto cpu = parse_cpu_times("cpu  100 20 30 1000 50 1 2 3 40 5\ncpu0 1 2");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->part, 156u);
  EXPECT_EQ(cpu->whole, 1206u);
  EXPECT_FALSE(parse_cpu_times("intr 5"));
  EXPECT_FALSE(parse_cpu_times("cpu  1 2"));
  EXPECT_EQ(parse_stalled_us("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=7\n"), 123u);
  EXPECT_FALSE(parse_stalled_us("full avg10=0.00 total=7\n"));
  EXPECT_FALSE(parse_stalled_us("some avg10=0.00\nfull total=7"));
}

// A trigger on counts that the test sets.
class Counts {
 public:
  explicit Counts(double percent, milliseconds cooldown = milliseconds(0))
      : trigger_(
            {percent, milliseconds(20), "thing"}, [this] { return reading_; }, cooldown) {}
  // After half a window in which the share was that; what the trigger said, if it did.
  std::string after(uint64_t percent) {
    now_ += milliseconds(10);
    if (reading_) reading_ = ShareReading{reading_->part + percent, reading_->whole + 100};
    return trigger_.fired(now_).value_or("");
  }
  ShareTrigger& trigger() { return trigger_; }
  Trigger::Clock::time_point now_;
  std::optional<ShareReading> reading_{ShareReading{1000, 5000}};

 private:
  ShareTrigger trigger_;
};

TEST(ShareTrigger, FiresAboveTheLimitOverAWholeWindow) {
  Counts counts(50);
  EXPECT_EQ(counts.trigger().poll_every(), milliseconds(10));
  EXPECT_EQ(counts.after(100), "");  // the first reading is compared with nothing
  EXPECT_EQ(counts.after(30), "");
  EXPECT_EQ(counts.after(30), "");
  EXPECT_EQ(counts.after(30), "");
  EXPECT_EQ(counts.after(60), "");  // half a window
  EXPECT_EQ(counts.after(80).substr(0, 10), "thing 70% ");
  EXPECT_EQ(counts.after(10), "");
}

TEST(ShareTrigger, CountsThatGoBackOrVanishAreNotAFiring) {
  Counts counts(50);
  counts.after(0);
  counts.after(0);
  counts.reading_ = ShareReading{0, 100};
  EXPECT_EQ(counts.after(90), "");
  EXPECT_EQ(counts.after(0), "");
  counts.reading_.reset();
  EXPECT_EQ(counts.after(90), "");
}

TEST(ShareTrigger, AskingOftenChangesNothing) {
  Counts counts(50);
  counts.after(0);
  for (int i = 0; i < 100; ++i) {
    counts.reading_ = ShareReading{1000u + 100u * static_cast<unsigned>(i), 5000u + 100u * static_cast<unsigned>(i)};
    EXPECT_FALSE(counts.trigger().fired(counts.now_ + microseconds(50 * i)));
  }
}

TEST(ShareTrigger, IsSilentAfterAFiring) {
  Counts counts(50, milliseconds(60'000));
  counts.after(90);
  counts.after(90);
  EXPECT_NE(counts.after(90), "");
  EXPECT_EQ(counts.after(90), "");
  EXPECT_EQ(counts.after(90), "");
  EXPECT_EQ(counts.trigger().suppressed(), 2u);
}

std::string poll_until_fired(Trigger& trigger, milliseconds limit) {
  const auto end = Trigger::Clock::now() + limit;
  while (Trigger::Clock::now() < end) {
    if (auto what = trigger.fired()) return *what;
    std::this_thread::sleep_for(*trigger.poll_every());
  }
  return "";
}

TEST(TriggerOnThisMachine, SeesAProcessThatSpins) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) asm volatile("");
  }
  const auto spec = "cpu(" + std::to_string(child) + ")>5%";
  auto trigger = parse_trigger(spec);
  ASSERT_TRUE(trigger.ok());
  const std::string what = poll_until_fired(**trigger, milliseconds(20'000));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(what.find("CPU use of process " + std::to_string(child)), std::string::npos) << what;
  // It is gone now.
  const auto gone = parse_trigger(spec);
  ASSERT_FALSE(gone.ok());
  EXPECT_NE(gone.error().message().find("no such process"), std::string::npos);
}

TEST(TriggerOnThisMachine, DoesNotFireForASleeper) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  auto trigger = parse_trigger("cpu(" + std::to_string(child) + ")>1%");
  ASSERT_TRUE(trigger.ok());
  EXPECT_EQ(poll_until_fired(**trigger, milliseconds(400)), "");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(TriggerOnThisMachine, SeesBusyCpus) {
  auto trigger = parse_trigger("cpu>1%");
  ASSERT_TRUE(trigger.ok());
  std::jthread spin([](const std::stop_token& stop) {
    while (!stop.stop_requested()) asm volatile("");
  });
  EXPECT_NE(poll_until_fired(**trigger, milliseconds(20'000)), "");
}

TEST(TriggerOnThisMachine, SeesPressure) {
  auto trigger = parse_trigger("psi>1");
  if (!std::filesystem::exists("/proc/pressure/cpu")) {
    ASSERT_FALSE(trigger.ok());
    EXPECT_NE(trigger.error().message().find("psi=1"), std::string::npos);
    GTEST_SKIP() << "the kernel keeps no pressure numbers";
  }
  if (!trigger.ok()) GTEST_SKIP() << trigger.error().message();
  // More threads than CPUs: some of them wait.
  std::vector<std::jthread> spinners;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    spinners.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) asm volatile("");
    });
  }
  EXPECT_EQ(poll_until_fired(**trigger, milliseconds(20'000)).substr(0, 13), "cpu pressure ");
}

TEST(TriggerOnThisMachine, SeesThreadsThatWaitForACpu) {
  auto trigger = parse_trigger("runqlat>100us");
  if (!trigger.ok()) GTEST_SKIP() << trigger.error().message();
  EXPECT_FALSE((*trigger)->poll_every());
  std::vector<std::jthread> spinners;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    spinners.emplace_back([](const std::stop_token& stop) {
      while (!stop.stop_requested()) asm volatile("");
    });
  }
  pollfd wait{(*trigger)->wait_fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&wait, 1, 20'000), 1);
  const std::string what = (*trigger)->fired().value_or("");
  EXPECT_EQ(what.substr(0, 18), "run queue latency ") << what;
  EXPECT_NE(what.find(" of thread "), std::string::npos) << what;
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_FALSE((*trigger)->fired());
  EXPECT_GT((*trigger)->suppressed(), 0u);
}

}  // namespace
}  // namespace tephra::collect
