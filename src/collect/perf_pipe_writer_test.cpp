#include "collect/perf_pipe_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "collect/event_attr.h"
#include "collect/recording_output.h"
#include "formats/perf_data.h"
#include "stream/perf_file.h"
#include "stream/records.h"

namespace tephra::collect {
namespace {

namespace fs = std::filesystem;

std::string record(uint32_t type, size_t size) {
  perf_event_header head{type, 0, static_cast<uint16_t>(size)};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.resize(size, 'x');
  return bytes;
}

class PerfPipeWriterTest : public testing::Test {
 protected:
  PerfPipeWriterTest() {
    folder_ = fs::temp_directory_path() / ("perf_pipe_writer_test-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
    settings_.path = folder_ / "pipe";
    EXPECT_EQ(::mkfifo(settings_.path.c_str(), 0600), 0);
    for (int i = 0; i < 2; ++i) {
      events_[i].attr = sampling_attr(kernel::software_event("cpu-clock"), {}, {});
      events_[i].name = "event " + std::to_string(i);
      events_[i].ids = {static_cast<uint64_t>(40 + i), static_cast<uint64_t>(50 + i)};
    }
  }
  ~PerfPipeWriterTest() override { fs::remove_all(folder_); }

  base::FileDescriptor reader() const {
    return base::FileDescriptor(::open(settings_.path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  static std::string read_all(int fd) {
    std::string text;
    char buffer[1 << 16];
    for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
    return text;
  }

  fs::path folder_;
  OutputSettings settings_;
  FileEvent events_[2];
};

TEST_F(PerfPipeWriterTest, IsReadAsAStream) {
  const auto from = reader();
  const std::string formats = "trace formats, 5 of them";
  std::string host;
  host.append("\x08\0\0\0machine\0", 12);
  const Feature start[] = {{stream::kFeatureHostname, host},
                           {stream::kFeatureTracingData, formats + "!"},
                           {stream::kFeatureTephraFacts, "wakeups=1\n"},
                           {stream::kFeatureOsRelease, std::string(100'000, 'x')}};
  auto output = RecordingOutput::create(settings_, events_, start);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->is_pipe());
  ASSERT_TRUE(output->append(base::as_bytes(record(PERF_RECORD_COMM, 48))));
  std::string ring = record(PERF_RECORD_SAMPLE, 64);
  iovec part{ring.data(), ring.size()};
  ASSERT_EQ(*output->append_rings(std::span(&part, 1)), 64u);
  ASSERT_TRUE(output->end_round());
  ASSERT_TRUE(output->publish());
  const Feature end[] = {{stream::kFeatureSampleTime, std::string(16, '\0')}};
  ASSERT_TRUE(output->finish(end));
  EXPECT_FALSE(output->reader_gone());
  const std::string bytes = read_all(from.get());
  EXPECT_EQ(bytes.size(), output->bytes());

  const auto recording = tephra::formats::kPerfData.open(base::as_bytes(bytes));
  ASSERT_TRUE(recording.ok());
  EXPECT_TRUE(recording->quality == model::Quality{});
  ASSERT_EQ(recording->events.size(), 2u);
  EXPECT_EQ(recording->events[1].ids, (std::vector<uint64_t>{41, 51}));
  EXPECT_EQ(recording->facts.host, "machine");
  EXPECT_EQ(base::as_text(recording->tracing_data).substr(0, formats.size()), formats);
  std::vector<uint32_t> types;
  stream::RecordWalker walker(base::as_bytes(bytes).subspan(16));
  for (stream::Record each; walker.next(each);) types.push_back(each.type);
  EXPECT_FALSE(walker.damaged());
  EXPECT_EQ(types, (std::vector<uint32_t>{64, 64, 78, 78, 80, 66, 3, 9, 68, 80}));
}

TEST_F(PerfPipeWriterTest, AReaderThatGoesAwayEndsItWithoutAnError) {
  auto from = reader();
  auto output = RecordingOutput::create(settings_, events_, {});
  ASSERT_TRUE(output.ok());
  EXPECT_FALSE(output->ended());
  from.reset();
  EXPECT_TRUE(output->reader_gone());
  std::string ring = record(PERF_RECORD_SAMPLE, 64);
  iovec part{ring.data(), ring.size()};
  EXPECT_TRUE(output->append_rings(std::span(&part, 1)).ok());
  EXPECT_TRUE(output->end_round());
  EXPECT_TRUE(output->finish({}));
  EXPECT_TRUE(output->ended());
}

TEST_F(PerfPipeWriterTest, AWriteWithoutAReaderIsNoErrorEither) {
  auto from = reader();
  auto output = RecordingOutput::create(settings_, events_, {});
  ASSERT_TRUE(output.ok());
  from.reset();
  EXPECT_TRUE(output->append(base::as_bytes(record(PERF_RECORD_COMM, 48))));
  EXPECT_TRUE(output->ended());
}

TEST_F(PerfPipeWriterTest, ASlowReaderGetsEverything) {
  const auto from = reader();
  auto output = RecordingOutput::create(settings_, events_, {});
  ASSERT_TRUE(output.ok());
  std::string bytes;
  std::atomic<bool> done = false;
  std::thread slow([&] {
    while (!done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      bytes += read_all(from.get());
    }
    bytes += read_all(from.get());
  });
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(output->append(base::as_bytes(record(PERF_RECORD_SAMPLE, 4000))));
  done = true;
  slow.join();
  EXPECT_EQ(bytes.size(), output->bytes());
  EXPECT_GT(bytes.size(), 4'000'000u);
}

TEST_F(PerfPipeWriterTest, AStuckReaderIsGivenUpWhenTheEndIsAskedFor) {
  const auto from = reader();
  sigset_t asked, before;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &asked, &before);
  auto output = RecordingOutput::create(settings_, events_, {});
  ASSERT_TRUE(output.ok());
  ::raise(SIGTERM);
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(output->append(base::as_bytes(record(PERF_RECORD_SAMPLE, 4000))));
  EXPECT_TRUE(output->reader_gone());
  const timespec now{};
  ::sigtimedwait(&asked, nullptr, &now);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(PerfPipeWriterTest, APipeNobodyReadsIsRefusedAtOnce) {
  const auto output = RecordingOutput::create(settings_, events_, {});
  ASSERT_FALSE(output.ok());
  EXPECT_NE(output.error().message().find("nobody reads"), std::string::npos) << output.error().message();
}

TEST_F(PerfPipeWriterTest, HasOneNameOnly) {
  const auto from = reader();
  settings_.timestamp_names = true;
  EXPECT_FALSE(RecordingOutput::create(settings_, events_, {}).ok());
  settings_.timestamp_names = false;
  settings_.rotation = Rotation{};
  EXPECT_FALSE(RecordingOutput::create(settings_, events_, {}).ok());
}

TEST_F(PerfPipeWriterTest, TooManyIdsAreAnErrorNotACutRecord) {
  const auto from = reader();
  events_[1].ids.assign(10'000, 1);
  EXPECT_FALSE(RecordingOutput::create(settings_, events_, {}).ok());
}

}  // namespace
}  // namespace tephra::collect
