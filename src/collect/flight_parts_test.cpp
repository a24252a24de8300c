// The parts of the flight recorder together, on the real kernel: overwritten rings for samples, kept records for names.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "collect/event_attr.h"
#include "collect/features.h"
#include "collect/perf_data_writer.h"
#include "collect/side_band_keeper.h"
#include "collect/snapshot.h"
#include "collect/synthesize.h"
#include "formats/format.h"
#include "kernel/event_names.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

// Records this process and its children in memory.
class SmallFlight {
 public:
  bool start() {
    const auto support = kernel::probe_attr_support();
    perf_event_attr names = dummy_attr(true, support);
    add_side_band(names, SampleSettings(), support);
    SampleSettings settings;
    settings.frequency = 5000;
    perf_event_attr samples = sampling_attr(kernel::software_event("cpu-clock"), settings, support);
    samples.write_backward = 1;
    samples.exclude_kernel = 1;
    events_ = {{names, "dummy:u", {}}, {samples, "cpu-clock:u", {}}};
    for (const int cpu : kernel::online_cpus()) {
      if (!open(events_[0], cpu, 256 << 10) || !open(events_[1], cpu, 32 << 10)) return false;
    }
    Synthesizer existing({events_[0].ids[0]}, [this](base::Bytes records) -> base::Status {
      keeper_.take(records);
      return {};
    });
    if (!existing.add_process(::getpid()).ok() || !existing.flush().ok()) return false;
    for (const auto& fd : fds_) kernel::enable_event(fd.get());
    return true;
  }

  void drain() {
    for (auto& ring : name_rings_) {
      const auto pending = ring.pending();
      keeper_.take(pending);
      ring.release(pending.head);
    }
    keeper_.end_round();
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    horizon_ = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec) - kKeptNs;
    keeper_.forget_before(horizon_);
  }

  base::Status write(const std::string& path) {
    for (const auto& fd : fds_) kernel::pause_output(fd.get(), true);
    kernel::wait_for_writers();
    drain();
    const std::vector<std::string> command_line{"tephra"};
    const auto features = start_features(events_, command_line, true);
    TEPHRA_TRY(auto writer, PerfDataWriter::create(path, events_, features));
    const auto append = [&writer](base::Bytes records) { return writer.append(records); };
    TEPHRA_CHECK_OK(keeper_.write_to(append));
    std::vector<kernel::Pending> rings;
    for (const auto& ring : sample_rings_) rings.push_back(ring.snapshot());
    TEPHRA_CHECK_OK(write_oldest_first(rings, horizon_, append));
    TEPHRA_CHECK_OK(writer.end_round());
    TEPHRA_CHECK_OK(writer.publish());
    return writer.finish({});
  }

  const SideBandKeeper& keeper() const { return keeper_; }

 private:
  bool open(FileEvent& event, int cpu, size_t ring_bytes) {
    base::FileDescriptor fd = kernel::open_event(event.attr, kernel::EventScope::task(0, cpu));
    if (!fd) return false;
    event.ids.push_back(kernel::event_id(fd.get()));
    kernel::RingBuffer ring;
    const bool backward = event.attr.write_backward;
    if (!(backward ? ring.map_overwritten(fd.get(), ring_bytes) : ring.map(fd.get(), ring_bytes))) return false;
    (backward ? sample_rings_ : name_rings_).push_back(std::move(ring));
    fds_.push_back(std::move(fd));
    return true;
  }

  static constexpr uint64_t kKeptNs = 400'000'000;
  uint64_t horizon_ = 0;
  std::vector<FileEvent> events_;
  std::vector<base::FileDescriptor> fds_;
  std::vector<kernel::RingBuffer> name_rings_;
  std::vector<kernel::RingBuffer> sample_rings_;
  SideBandKeeper keeper_;
};

// A shell that counts for some milliseconds, forks another that does, and ends.
void run_shells() {
  const pid_t child = ::fork();
  if (child == 0) {
    const char* script =
        "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; (while [ $i -lt 6000 ]; do i=$((i+1)); done)";
    ::execl("/bin/sh", "sh", "-c", script, nullptr);
    ::_exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

std::string output_of(const std::string& command) {
  std::string output;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  char piece[4096];
  for (size_t got = 0; pipe && (got = std::fread(piece, 1, sizeof piece, pipe.get())) > 0;) output.append(piece, got);
  return output;
}

TEST(FlightParts, ASnapshotStandsByItself) {
  SmallFlight flight;
  if (!flight.start()) GTEST_SKIP() << "perf events are not allowed here";
  size_t shells = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1600);
  for (; std::chrono::steady_clock::now() < end; shells += 2) {
    run_shells();
    flight.drain();
  }
  const std::string path = ::testing::TempDir() + "tephra-flight-" + std::to_string(::getpid()) + ".data";
  const auto written = flight.write(path);
  ASSERT_TRUE(written.ok()) << written.error().message();
  EXPECT_EQ(flight.keeper().counts().malformed, 0u);
  EXPECT_EQ(flight.keeper().counts().lost, 0u);
  EXPECT_LT(flight.keeper().counts().processes, shells * 2 / 3) << "only those of the last quarter are to be kept";

  const auto content = base::FileContent::open(path);
  ASSERT_TRUE(content.ok());
  const auto profile = formats::read_profile(content->bytes(), path, {.keep_every_sample = true});
  ASSERT_TRUE(profile.ok()) << profile.error().message();
  const auto& samples = profile->samples;
  ASSERT_GT(samples.size(), 20u);
  size_t of_shells = 0;
  size_t mapped = 0;
  std::set<int32_t> pids;
  for (size_t row = 0; row < samples.size(); ++row) {
    const auto& thread = profile->threads[samples.thread[row]];
    EXPECT_NE(profile->text(thread.comm), "") << thread.pid;
    if (profile->text(thread.comm) != "sh") continue;
    ++of_shells;
    pids.insert(thread.pid);
    const auto& frame = profile->frames[profile->stacks[samples.stack[row]].frame];
    if (frame.mapping && profile->mappings[frame.mapping].path) ++mapped;
  }
  EXPECT_GT(of_shells, 10u);
  EXPECT_GE(pids.size(), 2u);
  EXPECT_EQ(mapped, of_shells);

  if (std::system("command -v perf >/dev/null 2>&1") == 0) {
    // A thread that perf knows no name of is ":TID"; code that it cannot place is "([unknown])".
    const std::string script = output_of("perf script -F comm,tid,time,ip,dso -i " + path + " 2>&1");
    EXPECT_EQ(static_cast<size_t>(std::count(script.begin(), script.end(), '\n')), samples.size())
        << script.substr(0, 500);
    EXPECT_EQ(script.find(" :"), std::string::npos);
    EXPECT_EQ(script.find("([unknown])"), std::string::npos);
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tephra::collect
