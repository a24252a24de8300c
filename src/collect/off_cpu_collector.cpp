#include "collect/off_cpu_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/clock.h"

namespace tephra::collect {
namespace {

using kernel::OffCpuProgram;

// Sums are gathered for so many ticks, so that a place where a thread waits again and again is not told every second.
constexpr uint64_t kTicksBetweenWrites = 8;
constexpr size_t kMostSums = 1 << 17;
constexpr size_t kMostStackBytes = size_t{512} << 20;

OffCpuProgram::Settings program_settings(const OffCpuSettings& wanted, const Surroundings& surroundings) {
  OffCpuProgram::Settings settings;
  static_cast<kernel::WatchSettings&>(settings) = surroundings.watching();
  settings.states = wanted.states;
  settings.shortest = wanted.shortest;
  settings.longest = wanted.longest;
  // A wait that was chosen stands for others, so none is told alone.
  settings.threshold = wanted.budget ? std::chrono::nanoseconds::max() : wanted.threshold;
  settings.running = wanted.wall;
  settings.split_wakeups = wanted.wall;
  settings.wakers = wanted.wakers;
  settings.budget = wanted.budget.value_or(0);
  // For tests: what happens when the kernel has no room.
  if (const char* const most = std::getenv("TEPHRA_OFF_CPU_SUMS")) {
    settings.max_sums = std::max(1u, static_cast<uint32_t>(std::strtoul(most, nullptr, 10)));
  }
  return settings;
}

tephra_wait_record record_of(const tephra_wait_key& key, const tephra_wait_sum& sum) {
  tephra_wait_record record{};
  record.size = sizeof record;
  record.state = key.state;
  record.flags = key.flags;
  record.syscall = key.syscall;
  record.count = sum.count;
  if (key.flags & TEPHRA_WAIT_SINGLE) record.began = sum.last - sum.ns;
  record.address = key.address;
  record.waker = key.waker;
  return record;
}

template <typename T>
base::Bytes bytes_of(const T& value) {
  return {reinterpret_cast<const std::byte*>(&value), sizeof value};
}

double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string share_text(const OffCpuCollector::Sum& part, const OffCpuCollector::Sum& all) {
  const double percent = all.ns > 0 ? 100 * static_cast<double>(part.ns) / static_cast<double>(all.ns) : 0;
  return fmt::format("{:.1f} % of the waiting time ({:.3f} s in {} waits)", percent, seconds(part.ns), part.count);
}

void add(OffCpuCollector::Sum& sum, const tephra_wait_sum& more) {
  sum.ns += more.ns;
  sum.count += more.count;
}

}  // namespace

size_t OffCpuCollector::KeyHash::operator()(const tephra_wait_key& key) const {
  uint64_t hash = key.stack ^ key.waker * 31;
  for (const uint64_t word : {uint64_t{key.pid} << 32 | key.tid, uint64_t{key.state} << 32 | key.flags,
                              uint64_t{key.syscall}, uint64_t{key.address}}) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash;
}

bool OffCpuCollector::KeySame::operator()(const tephra_wait_key& a, const tephra_wait_key& b) const {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

OffCpuCollector::Sum OffCpuCollector::Totals::waits() const {
  Sum sum;
  for (size_t state = 0; state < TEPHRA_WAIT_STATES; ++state) {
    sum.ns += by_state[state].ns;
    sum.count += by_state[state].count;
  }
  return sum;
}

OffCpuCollector::OffCpuCollector(const OffCpuSettings& settings, const Surroundings& surroundings)
    : settings_(settings),
      engine_(surroundings.stacks),
      usual_pid_(surroundings.usual_pid()),
      waits_(surroundings.writer_of(kOffCpuEvent)),
      run_times_(surroundings.writer_of(kRunTimeEvent)),
      wakers_(surroundings.writer_of(kWakersEvent)),
      stacks_(waits_ && waits_->has_copies()) {}

base::Result<std::unique_ptr<OffCpuCollector>> OffCpuCollector::open(const OffCpuSettings& settings,
                                                                     const Surroundings& surroundings) {
  std::unique_ptr<OffCpuCollector> collector(new OffCpuCollector(settings, surroundings));
  if (!collector->waits_)
    return base::failed("cannot record waits", "", "nothing runs yet of what is to be recorded",
                        "Start it first, or use -a.");
  TEPHRA_TRY(collector->program_, OffCpuProgram::load(program_settings(settings, surroundings)));
  if (surroundings.program > 0 && surroundings.target.records_program()) {
    collector->program_->await(surroundings.program);
  }
  return collector;
}

void OffCpuCollector::hear(const kernel::TakenStack& stack) {
  if (stacks_.bytes() > kMostStackBytes) {
    ++stacks_refused_;
    return;
  }
  stacks_.add(stack);
}

void OffCpuCollector::hear(const tephra_wait_told& told) {
  const tephra_wait_sum sum{told.ns, told.count, told.ended};
  if (told.lived > 0) lived_[told.key.tid] = told.lived;
  if (told.key.state == TEPHRA_RAN) {
    hear(told.key, sum);
    return;
  }
  add(totals_.by_state[told.key.state % TEPHRA_OFF_CPU_STATES], sum);
  if (settings_.wall) account_for(told.key, sum.ns);
  write_wait({told.key, sum, told.cpu}, false);
}

void OffCpuCollector::hear(const tephra_wait_key& key, const tephra_wait_sum& sum) {
  if (key.state >= TEPHRA_OFF_CPU_STATES) return;
  if (key.stack != stacks_.same_as(key.stack)) {
    tephra_wait_key same = key;
    same.stack = stacks_.same_as(key.stack);
    hear(same, sum);
    return;
  }
  add(totals_.by_state[key.state], sum);
  if (settings_.wall) account_for(key, sum.ns);
  tephra_wait_sum& mine = sums_[key];
  mine.ns += sum.ns;
  mine.count += sum.count;
  mine.last = std::max(mine.last, sum.last);
}

void OffCpuCollector::account_for(const tephra_wait_key& key, uint64_t ns) {
  told_of_thread_[key.tid] += ns;
  if (first_tid_ != 0) return;
  first_pid_ = key.pid;
  first_tid_ = key.tid;
}

void OffCpuCollector::hear(const tephra_walk_wanted& wanted) {
  if (engine_ != nullptr) engine_->prepare(wanted.pid);
}

void OffCpuCollector::hear(const tephra_waker_told& waker) {
  if (!wakers_) return;
  const TakenStacks::Stack* stack = stacks_.find(waker.stack);
  if (stack == nullptr) {
    wakers_without_stack_.push_back(waker);
    return;
  }
  const std::array<uint64_t, 2> numbers{waker.number, waker.upper};
  MadeSample sample;
  sample.time = waker.time;
  sample.period = 1;
  sample.raw = bytes_of(numbers);
  sample.chain = stack->chain;
  if (stack->interrupt_words > 0) {  // whom it interrupted did not wake anybody
    sample.chain = sample.chain.first(stack->interrupt_words);
    wakers_->write(sample, records_);
    return;
  }
  sample.pid = waker.pid;
  sample.tid = waker.tid;
  sample.registers = stack->registers;
  sample.stack = stack->copy;
  sample.walk_end = stack->walk_end;
  wakers_->write(sample, records_);
}

// For readers that check the account: two run times of no length say when counting began and ended.
void OffCpuCollector::write_bounds() {
  if (!run_times_ || first_tid_ == 0) return;
  const uint32_t tid = first_tid_;
  // A program that was started for us is there from its exec on.
  for (const uint64_t time : {std::max(program_->begun_ns(), program_->met_ns()), program_->stopped_ns()}) {
    write_run_time({{.pid = static_cast<uint32_t>(first_pid_), .tid = tid, .state = TEPHRA_RAN}, {0, 0, time}, 0});
  }
}

void OffCpuCollector::write_run_time(const Wait& wait) {
  if (!run_times_) return;
  MadeSample sample;
  sample.pid = wait.key.pid;
  sample.tid = wait.key.tid;
  sample.time = wait.sum.last;
  sample.period = wait.sum.ns;
  run_times_->write(sample, records_);
}

void OffCpuCollector::write_wait(const Wait& wait, bool last) {
  static const TakenStacks::Stack kNoStack;
  const TakenStacks::Stack* stack = wait.key.stack == 0 ? &kNoStack : stacks_.find(wait.key.stack);
  Wait told = wait;
  if (stack == nullptr && !last) {
    if (wait.key.flags & TEPHRA_WAIT_SINGLE)
      without_stack_.push_back(wait);
    else
      sums_[wait.key] = wait.sum;
    return;
  }
  if (stack == nullptr) {
    add(totals_.stack_lost, wait.sum);
    told.key.flags |= TEPHRA_WAIT_NO_STACK | TEPHRA_WAIT_STACK_LOST;
    stack = &kNoStack;
  }
  const tephra_wait_record record = record_of(told.key, told.sum);
  MadeSample sample;
  sample.pid = told.key.tid == 0 ? static_cast<uint32_t>(usual_pid_) : told.key.pid;
  sample.tid = told.key.tid == 0 ? static_cast<uint32_t>(usual_pid_) : told.key.tid;
  sample.time = told.sum.last;
  sample.cpu = told.cpu;
  sample.period = told.sum.ns;
  sample.raw = bytes_of(record);
  sample.chain = stack->chain;
  sample.registers = stack->registers;
  sample.stack = stack->copy;
  sample.walk_end = stack->walk_end;
  waits_->write(sample, records_);
}

// Waits whose stacks were not taken, to keep the budget, are added to those of the same thread and state whose were: in
// proportion to their times, so that all of them together stay what they are. Where there are none, they stay apart.
void OffCpuCollector::spread_not_sampled() {
  struct Class {
    tephra_wait_sum left{};  // to be spread
    tephra_wait_sum taken{};
    tephra_wait_sum seen{};  // of `taken`, so far
    tephra_wait_sum given{};
  };
  const auto class_of = [](const tephra_wait_key& key) { return std::tuple(key.pid, key.tid, key.state); };
  const auto is_left = [](const tephra_wait_key& key) { return (key.flags & TEPHRA_WAIT_NO_STACK) != 0; };
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, Class> classes;
  for (const auto& [key, sum] : sums_) {
    Class& same = classes[class_of(key)];
    tephra_wait_sum& part = is_left(key) ? same.left : same.taken;
    part.ns += sum.ns;
    part.count += sum.count;
  }
  const auto share = [](uint64_t left, uint64_t seen, uint64_t taken) {
    return taken == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(left) * seen / taken);
  };
  for (auto& [key, sum] : sums_) {
    Class& same = classes[class_of(key)];
    if (is_left(key) || same.left.count == 0 || same.taken.ns == 0) continue;
    same.seen.ns += sum.ns;
    same.seen.count += sum.count;
    const uint64_t ns = share(same.left.ns, same.seen.ns, same.taken.ns);
    const uint64_t count = share(same.left.count, same.seen.count, same.taken.count);
    sum.ns += ns - same.given.ns;
    sum.count += count - same.given.count;
    same.given.ns = ns;
    same.given.count = count;
  }
  std::erase_if(sums_, [&](const auto& each) {
    const Class& same = classes[class_of(each.first)];
    if (!is_left(each.first) || same.taken.ns == 0) return false;
    add(totals_.spread, each.second);
    return true;
  });
}

void OffCpuCollector::write_sums(bool last) {
  if (settings_.budget) spread_not_sampled();
  for (const auto& [key, sum] : std::exchange(sums_, {})) {
    if (key.state == TEPHRA_RAN) {
      write_run_time({key, sum, 0});
      continue;
    }
    if (key.flags & TEPHRA_WAIT_NO_STACK) add(settings_.budget ? totals_.not_sampled : totals_.no_room, sum);
    tephra_wait_key told = key;
    if (key.flags & TEPHRA_WAIT_NO_STACK && settings_.budget) told.flags |= TEPHRA_WAIT_NOT_SAMPLED;
    write_wait({told, sum, 0}, last);
  }
  for (const Wait& wait : std::exchange(without_stack_, {})) write_wait(wait, last);
  for (const auto& waker : std::exchange(wakers_without_stack_, {})) {
    if (!last || stacks_.find(waker.stack) != nullptr) hear(waker);
  }
}

// Chooses so that the stacks of the next second cost no more than asked for, if it is as the last one was.
void OffCpuCollector::keep_budget() {
  if (!settings_.budget) return;
  const auto totals = program_->totals();
  const uint64_t now = base::monotonic_ns();
  const double elapsed = seconds(now - std::exchange(last_tick_ns_, now));
  const auto switches = static_cast<double>(totals.switches - std::exchange(last_switches_, totals.switches));
  if (elapsed <= 0 || totals.ns_per_switch <= 0) return;
  const double affordable = *settings_.budget * elapsed * 1e9 / totals.ns_per_switch;
  const double wanted = std::clamp(std::ceil(switches / std::max(affordable, 1.0)), 1.0, 100'000.0);
  one_in_ = static_cast<uint32_t>(wanted);
  program_->take_one_stack_in(one_in_);
}

base::Status OffCpuCollector::tick() {
  if (program_->begun_ns() == 0) return {};
  keep_budget();
  TEPHRA_CHECK_OK(program_->read_all(*this));
  if (++ticks_ % kTicksBetweenWrites == 0 || sums_.size() > kMostSums) write_sums(false);
  return {};
}

base::Status OffCpuCollector::stop() {
  TEPHRA_CHECK_OK(program_->stop(*this));
  write_sums(true);
  write_bounds();
  return {};
}

void OffCpuCollector::take(std::string& records) {
  if (program_->stopped_ns() == 0) program_->read_ring(*this);
  records += records_;
  records_.clear();
}

// How well all that was told of a thread comes to the time it was watched.
std::string OffCpuCollector::account_text() const {
  double worst = 0;
  for (const auto& [tid, lived] : lived_) {
    const auto told = told_of_thread_.find(tid);
    const double sum = told == told_of_thread_.end() ? 0 : static_cast<double>(told->second);
    worst = std::max(worst, std::abs(sum - static_cast<double>(lived)) / static_cast<double>(lived));
  }
  return fmt::format(
      "running and waiting of each of the {} threads at the end come to its elapsed time within {:.2f} %",
      lived_.size(), 100 * worst);
}

std::vector<std::string> OffCpuCollector::notes() const {
  std::vector<std::string> lines;
  const auto program = program_->totals();
  const Sum all = totals_.waits();
  if (totals_.no_room.count > 0) {
    lines.push_back("[stack map full] " + share_text(totals_.no_room, all) +
                    " have no stack: there was no room for their sums");
  }
  if (totals_.stack_lost.count > 0) {
    lines.push_back(share_text(totals_.stack_lost, all) + " have no stack: it found no room on its way");
  }
  if (totals_.spread.count > 0) {
    lines.push_back(share_text(totals_.spread, all) + " were added to others of their thread, to keep the budget");
  }
  if (totals_.not_sampled.count > 0) {
    lines.push_back(share_text(totals_.not_sampled, all) + " have no stack, to keep the budget");
  }
  if (program.not_watched > 0) {
    lines.push_back(fmt::format("{} threads were not watched: the kernel had no memory for it", program.not_watched));
  }
  if (program.missed > 0) {
    lines.push_back(
        fmt::format("{} switches or wake-ups were not seen: they came in the midst of others", program.missed));
  }
  if (settings_.wall && !lived_.empty()) lines.push_back(account_text());
  const double elapsed = seconds(program_->stopped_ns() - program_->begun_ns());
  if (program.switches > 0 && program.ns_per_switch > 0 && elapsed > 0) {
    const auto taken = static_cast<double>(program.switches - program.skipped);
    lines.push_back(fmt::format("timed {} waits, took the stacks of {} at {:.1f} µs each: {:.2f} % of one CPU",
                                program.switches, program.switches - program.skipped, program.ns_per_switch / 1000,
                                100 * taken * program.ns_per_switch * 1e-9 / elapsed));
  }
  return lines;
}

}  // namespace tephra::collect
