#include "collect/activity_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "abi/activity_record.h"
#include "base/bytes.h"
#include "base/units.h"
#include "collect/activity_settings.h"

namespace tephra::collect {
namespace {

// Sums are gathered for so many ticks, so that a place that does something again and again is not told every second.
constexpr uint64_t kTicksBetweenWrites = 8;
constexpr size_t kMostSums = 1 << 17;
constexpr size_t kMostStackBytes = size_t{512} << 20;

tephra_activity_record record_of(const tephra_activity_key& key, const tephra_activity_sum& sum) {
  tephra_activity_record record{};
  record.size = sizeof record;
  record.kind = key.kind;
  record.detail = key.detail;
  record.flags = key.flags;
  record.count = sum.count;
  record.bytes = sum.bytes;
  record.ns = sum.ns;
  record.longest_ns = sum.longest_ns;
  std::copy(std::begin(key.extra), std::end(key.extra), std::begin(record.extra));
  return record;
}

kernel::ActivityProgram::Settings program_settings(kernel::Activity activity, const Surroundings& surroundings) {
  kernel::ActivityProgram::Settings settings;
  static_cast<kernel::WatchSettings&>(settings) = surroundings.watching();
  settings.activity = activity;
  // How a system call gets to be traced says nothing.
  if (activity == kernel::Activity::kSyscalls) settings.kernel_stacks = false;
  return settings;
}

std::string share_text(uint64_t part, uint64_t all) {
  return fmt::format("{:.1f} % ({} of {})", all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0,
                     part, all);
}

}  // namespace

size_t ActivityCollector::KeyHash::operator()(const tephra_activity_key& key) const {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(&key), sizeof key});
}

bool ActivityCollector::KeySame::operator()(const tephra_activity_key& a, const tephra_activity_key& b) const {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

ActivityCollector::ActivityCollector(kernel::Activity activity, const Surroundings& surroundings)
    : activity_(activity),
      engine_(surroundings.stacks),
      usual_pid_(surroundings.usual_pid()),
      samples_(surroundings.writer_of(event_of(activity))),
      stacks_(samples_ && samples_->has_copies()) {}

base::Result<std::unique_ptr<ActivityCollector>> ActivityCollector::open(kernel::Activity activity,
                                                                         const Surroundings& surroundings) {
  std::unique_ptr<ActivityCollector> collector(new ActivityCollector(activity, surroundings));
  if (!collector->samples_)
    return base::failed("cannot record", event_of(activity), "nothing runs yet of what is to be recorded",
                        "Start it first, or use -a.");
  TEPHRA_TRY(collector->program_, kernel::ActivityProgram::load(program_settings(activity, surroundings)));
  if (surroundings.program > 0 && surroundings.target.records_program()) {
    collector->program_->await(surroundings.program);
  }
  return collector;
}

base::Status ActivityCollector::begin() {
  program_->begin();
  return {};
}

void ActivityCollector::hear(const kernel::TakenStack& stack) {
  if (stacks_.bytes() <= kMostStackBytes) stacks_.add(stack);
}

void ActivityCollector::hear(const tephra_walk_wanted& wanted) {
  if (engine_ != nullptr) engine_->prepare(wanted.pid);
}

void ActivityCollector::hear(const tephra_activity_key& key, const tephra_activity_sum& sum) {
  tephra_activity_key same = key;
  same.stack = stacks_.same_as(key.stack);
  all_ += sum.count;
  if (key.flags & TEPHRA_ACTIVITY_NO_STACK) no_room_ += sum.count;
  tephra_activity_sum& mine = sums_[same];
  mine.count += sum.count;
  mine.bytes += sum.bytes;
  mine.ns += sum.ns;
  mine.longest_ns = std::max(mine.longest_ns, sum.longest_ns);
  mine.last = std::max(mine.last, sum.last);
}

void ActivityCollector::write(const tephra_activity_key& key, const tephra_activity_sum& sum,
                              const TakenStacks::Stack& stack) {
  const tephra_activity_record record = record_of(key, sum);
  MadeSample sample;
  sample.pid = key.tid == 0 ? static_cast<uint32_t>(usual_pid_) : key.pid;
  sample.tid = key.tid == 0 ? static_cast<uint32_t>(usual_pid_) : key.tid;
  sample.time = sum.last;
  sample.period = 1;
  sample.raw = {reinterpret_cast<const std::byte*>(&record), sizeof record};
  sample.chain = stack.chain;
  sample.registers = stack.registers;
  sample.stack = stack.copy;
  sample.walk_end = stack.walk_end;
  samples_->write(sample, records_);
}

void ActivityCollector::write_sums(bool last) {
  static const TakenStacks::Stack kNoStack;
  for (const auto& [key, sum] : std::exchange(sums_, {})) {
    const TakenStacks::Stack* stack = key.stack == 0 ? &kNoStack : stacks_.find(key.stack);
    if (stack != nullptr) {
      write(key, sum, *stack);
    } else if (!last) {
      sums_[key] = sum;
    } else {
      tephra_activity_key lost = key;
      lost.flags |= TEPHRA_ACTIVITY_NO_STACK;
      stack_lost_ += sum.count;
      write(lost, sum, kNoStack);
    }
  }
}

base::Status ActivityCollector::tick() {
  if (program_->begun_ns() == 0) return {};
  TEPHRA_CHECK_OK(program_->read_all(*this));
  if (++ticks_ % kTicksBetweenWrites == 0 || sums_.size() > kMostSums) write_sums(false);
  return {};
}

base::Status ActivityCollector::stop() {
  TEPHRA_CHECK_OK(program_->stop(*this));
  write_sums(true);
  return {};
}

void ActivityCollector::take(std::string& records) {
  if (program_->stopped_ns() == 0) program_->read_ring(*this);
  records += records_;
  records_.clear();
}

std::vector<std::string> ActivityCollector::notes() const {
  std::vector<std::string> lines;
  const auto program = program_->totals();
  const char* const name = event_of(activity_);
  const auto line = [&](uint64_t number, std::string_view text) {
    if (number > 0) lines.push_back(fmt::format("{}: {} {}", name, base::with_separators(number), text));
  };
  if (no_room_ > 0) {
    lines.push_back(fmt::format("{}: [stack map full] {} have no stack: there was no room for their sums", name,
                                share_text(no_room_, all_)));
  }
  if (stack_lost_ > 0) {
    lines.push_back(
        fmt::format("{}: {} have no stack: it found no room on its way", name, share_text(stack_lost_, all_)));
  }
  line(program.no_walk, "stacks were not taken: they came in the midst of others");
  line(program.not_watched, "threads were not watched: the kernel had no memory for it");
  line(program.missed, "events were not seen: they came while another one was being told on the same CPU");
  line(program.unmatched, "ends have no begin that was seen");
  line(program.untimed, "count without their time: their begin or their end was not told");
  line(program.not_attributed, "could not be told whose they were");
  const double elapsed = static_cast<double>(program_->stopped_ns() - program_->begun_ns()) * 1e-9;
  if (program.stacks > 0 && program.ns_per_stack > 0 && elapsed > 0) {
    lines.push_back(fmt::format("{}: took {} stacks at {:.1f} µs each: {:.2f} % of one CPU", name,
                                base::with_separators(program.stacks), program.ns_per_stack / 1000,
                                100 * static_cast<double>(program.stacks) * program.ns_per_stack * 1e-9 / elapsed));
  }
  return lines;
}

}  // namespace tephra::collect
