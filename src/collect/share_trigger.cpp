#include "collect/share_trigger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <memory>

#include "base/clock.h"
#include "base/file.h"
#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

uint64_t nanoseconds_of(const timespec& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// A file of /proc that stays open and whose beginning is read again and again.
class OpenFile {
 public:
  explicit OpenFile(const char* path)
      : fd_(std::make_shared<base::FileDescriptor>(::open(path, O_RDONLY | O_CLOEXEC))) {}

  bool ok() const { return static_cast<bool>(*fd_); }
  // The first bytes; empty and errno on failure.
  std::string_view beginning(std::array<char, 512>& buffer) const {
    const ssize_t size = ::pread(fd_->get(), buffer.data(), buffer.size(), 0);
    return {buffer.data(), size > 0 ? static_cast<size_t>(size) : 0};
  }

 private:
  std::shared_ptr<base::FileDescriptor> fd_;
};

std::optional<uint64_t> take_number(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return {};
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<ShareReading> parse_cpu_times(std::string_view stat) {
  if (!stat.starts_with("cpu ")) return {};
  stat.remove_prefix(4);
  // user nice system idle iowait irq softirq steal; guest times are part of user and nice.
  ShareReading reading;
  for (int field = 0; field < 8; ++field) {
    const auto value = take_number(stat);
    if (!value) return field >= 4 ? std::optional(reading) : std::nullopt;  // old kernels have fewer
    reading.whole += *value;
    const bool idle = field == 3 || field == 4;
    if (!idle) reading.part += *value;
  }
  return reading;
}

std::optional<uint64_t> parse_stalled_us(std::string_view pressure) {
  if (!pressure.starts_with("some ")) return {};
  pressure = pressure.substr(0, pressure.find('\n'));
  const size_t at = pressure.find(" total=");
  if (at == std::string_view::npos) return {};
  pressure.remove_prefix(at + 7);
  return take_number(pressure);
}

base::Result<ReadShare> machine_cpu_share() {
  OpenFile file("/proc/stat");
  if (!file.ok()) return base::system_error("cannot watch the CPUs", "/proc/stat", errno, "Mount /proc.");
  return ReadShare([file]() -> std::optional<ShareReading> {
    std::array<char, 512> buffer;
    return parse_cpu_times(file.beginning(buffer));
  });
}

base::Result<ReadShare> process_cpu_share(pid_t pid) {
  clockid_t clock = 0;
  if (::clock_getcpuclockid(pid, &clock) != 0) {
    return base::failed("cannot watch the CPU time of process", std::to_string(pid), "no such process",
                        "See 'ps -e' for those there are.");
  }
  return ReadShare([clock]() -> std::optional<ShareReading> {
    timespec time{};
    if (::clock_gettime(clock, &time) != 0) return {};
    return ShareReading{nanoseconds_of(time), base::monotonic_ns()};
  });
}

base::Result<ReadShare> pressure_share(const std::string& resource) {
  const std::string path = "/proc/pressure/" + resource;
  constexpr const char* kFix =
      "The kernel keeps pressure numbers when it is built with CONFIG_PSI; add 'psi=1' to its boot options.";
  OpenFile file(path.c_str());
  std::array<char, 512> first;
  errno = 0;
  if (!file.ok() || file.beginning(first).empty()) {
    return base::system_error("cannot watch the pressure", path, errno, kFix);
  }
  return ReadShare([file]() -> std::optional<ShareReading> {
    std::array<char, 512> buffer;
    const auto stalled = parse_stalled_us(file.beginning(buffer));
    if (!stalled) return {};
    return ShareReading{*stalled * 1000, base::monotonic_ns()};
  });
}

ShareTrigger::ShareTrigger(Condition condition, ReadShare read, std::chrono::milliseconds cooldown)
    : Trigger(cooldown), condition_(std::move(condition)), read_(std::move(read)) {}

std::optional<std::string> ShareTrigger::check(Clock::time_point now) {
  // Timers come a little early or late; a tenth of a window does not matter.
  const auto slack = condition_.window / 10;
  if (!readings_.empty() && now - readings_.back().at < condition_.window / 2 - slack) return {};
  const auto share = read_();
  if (!share) return {};
  readings_.push_back({now, *share});
  while (readings_.size() > 2 && now - readings_[1].at >= condition_.window - slack) readings_.pop_front();
  const Reading& first = readings_.front();
  if (now - first.at < condition_.window - slack) return {};
  if (share->whole <= first.share.whole || share->part < first.share.part) {
    readings_.clear();  // the id is that of another process now, or a CPU went offline with its counts
    return {};
  }
  const double percent = 100.0 * static_cast<double>(share->part - first.share.part) /
                         static_cast<double>(share->whole - first.share.whole);
  if (percent <= condition_.percent) return {};
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now - first.at);
  return fmt::format("{} {:.0f}% over {} ms", condition_.what, percent, elapsed.count());
}

}  // namespace tephra::collect
