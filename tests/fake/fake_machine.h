#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "behaviour.h"
#include "counter_schedule.h"
#include "event.h"
#include "machine_config.h"
#include "pmu_folder.h"
#include "record_encoder.h"

namespace tephra::fake {

// A call of perf_event_open, for tests that choose which to refuse.
struct OpenCall {
  const perf_event_attr& attr;
  pid_t pid;
  int cpu;
  int group_fd;
  unsigned long flags;
  uint64_t number;  // of calls since the machine began, from 0
};
using WhenOpen = std::function<bool(const OpenCall&)>;

// A machine with a PMU, in memory. The functions of kernel/perf_calls.h work on the one machine(); tests say what it
// is, what runs on it, and what goes wrong. Time passes only by run(). Safe to use from several threads.
class FakeMachine {
 public:
  FakeMachine() : FakeMachine(MachineConfig{}) {}
  explicit FakeMachine(const MachineConfig& config);

  // Forgets all events and becomes another machine. Descriptors that are still open stay so and mean nothing.
  void reset(const MachineConfig& config = {});
  MachineConfig config() const;

  // --- The kernel's side: what kernel/perf_calls.h declares.
  int open(const perf_event_attr& attr, pid_t pid, int cpu, int group_fd, unsigned long flags);
  int control(int fd, unsigned long request, unsigned long argument);
  // `argument` as ioctl takes it.
  ssize_t read(int fd, void* to, size_t bytes);
  void* map(int fd, size_t bytes, bool writable);
  void unmap(void* memory, size_t bytes);
  std::string event_sources() const;

  // --- What goes wrong. Each stays until reset, or until it was used `times` times.
  void fail_open(WhenOpen when, int error, uint64_t times = UINT64_MAX);
  void fail_control(unsigned long request, int error, uint64_t times = UINT64_MAX);
  void fail_map(std::function<bool(size_t bytes)> when, int error, uint64_t times = UINT64_MAX);
  // The next records of every ring find no room.
  void lose_next(uint64_t records);
  // The PMU drops so many samples of each sampled hardware event that has a ring, and says so (LOST_SAMPLES).
  void lose_samples(uint64_t samples);

  // --- What happens.
  // Makes a task known that the real machine does not have. Others are looked up in /proc.
  void add_task(pid_t tid);
  uint64_t now() const;
  // Where time begins; only before the first run.
  void start_at(uint64_t ns);
  // Lets time pass while these tasks run.
  void run(uint64_t ns, const Behaviour& behaviour = {});
  // An event happens once in a task: a hit of a tracepoint, with its fields, or of a breakpoint.
  void hit(const EventKey& event, const Task& task, std::string raw = {});
  void exec(const Task& task, const std::string& comm, const std::vector<Mapping>& mappings);
  void set_comm(const Task& task, const std::string& comm);
  void map_file(const Task& task, const Mapping& mapping);
  void fork(const Task& parent, pid_t pid, pid_t tid);
  void exit(const Task& task);

  // --- What can be asked.
  struct EventFacts {
    perf_event_attr attr{};
    pid_t tid = -1;
    int cpu = -1;
    int group_fd = -1;
    std::string cgroup;
    uint64_t id = 0;
    bool enabled = false;
    bool waits_for_exec = false;
    std::string filter;
    uint64_t ring_bytes = 0;  // of the ring it writes to; 0: none
    bool owns_ring = false;
  };
  // The open events, in the order they were opened.
  std::vector<EventFacts> events();
  // The tasks that events are attached to, other than those that only own a ring; and whether any counts whole CPUs.
  std::set<pid_t> attached_tasks();
  bool counts_cpus();
  uint64_t open_calls() const;
  // Called before every read, without the lock: a machine whose time follows a clock catches up here.
  void before_read(std::function<void()> catch_up);

 private:
  using EventPtr = std::shared_ptr<Event>;
  struct OpenFailure {
    WhenOpen when;
    int error;
    uint64_t times;
  };
  struct ControlFailure {
    unsigned long request;
    int error;
    uint64_t times;
  };
  struct MapFailure {
    std::function<bool(size_t)> when;
    int error;
    uint64_t times;
  };
  struct Mapped {
    std::shared_ptr<Ring> ring;
    bool forgotten = false;  // of a machine before reset()
  };

  // Opening.
  int injected_open_failure(const OpenCall& call);
  int open_checked(const OpenCall& call, perf_event_attr attr);
  int check_target(const OpenCall& call, Event& event) const;
  int check_group(const Event& event, Event& leader) const;
  int check_breakpoints(const Event& event) const;
  bool task_exists(pid_t tid) const;
  int install(const EventPtr& event, bool close_on_exec);
  EventPtr find(int fd);
  void drop_closed();

  // Controlling.
  int switch_event(Event& event, unsigned long request, bool group);
  int set_output(Event& event, int ring_fd);
  int set_period(Event& event, uint64_t period);

  // Running.
  void advance(uint64_t ns, const Behaviour& behaviour);
  void run_cpu(int cpu, const Task* task, uint64_t ns, const Behaviour& behaviour);
  Contenders contenders(int cpu, const Task* task);
  bool on(const Event& event, int cpu, const Task* task) const;
  void add_enabled_time(const std::vector<const Task*>& by_cpu, uint64_t ns);
  struct Due {
    uint64_t time;
    Event* event;
    Share* share;
    const Task* task;
    uint64_t period;
    bool throttles = false;
  };
  void count(Event& event, Share& share, const Task* task, uint64_t ns, const Behaviour& behaviour,
             std::vector<Due>& due);
  void take_samples(std::vector<Due>& due);
  void end_tick();
  void throttle(Event& event, Share& share, const Task& task, uint64_t time, bool begin);
  void sample(Event& event, const Share& share, const Task& task, uint64_t time, uint64_t period, std::string raw);
  double rate_of(const Event& event, const Behaviour& behaviour, const Task* task) const;
  void switch_tasks(const std::vector<const Task*>& by_cpu);

  // Records.
  RecordOrigin origin(const Event& event, const Share* share, const Task& task, uint64_t time) const;
  void emit(Event& event, std::string_view record, const RecordOrigin& from);
  void tell(const Task& task, const std::function<bool(const perf_event_attr&)>& wants,
            const std::function<std::string(const Event&, const RecordOrigin&)>& make);
  void tell_mapping(const Task& task, const Mapping& mapping);
  void tell_task(const Task& task, uint32_t type, pid_t pid, pid_t tid);
  void wake_readers();
  void hear_readers();
  void hang_up_where_over();
  const Place& next_place(const Event& event, const Task& task);
  std::string read_bytes(const Event& event) const;

  mutable std::mutex mutex_;
  MachineConfig config_;
  std::unique_ptr<PmuFolder> folder_;
  std::map<uint64_t, EventPtr> events_;  // by id, which is the order of opening
  std::map<void*, Mapped> mapped_;
  std::vector<OpenFailure> open_failures_;
  std::vector<ControlFailure> control_failures_;
  std::vector<MapFailure> map_failures_;
  std::function<void()> catch_up_;
  uint64_t now_ = 1'000'000'000;
  uint64_t next_tick_ = 0;
  uint64_t next_id_ = 1;
  uint64_t samples_ = 0;
  uint64_t open_calls_ = 0;
  uint64_t locked_bytes_ = 0;
  std::set<pid_t> known_tasks_;
  std::map<int, size_t> turns_;  // by CPU
  std::map<int, bool> shared_;   // by CPU: events took turns since the last tick
  std::map<int, Task> last_on_;  // by CPU: for switches
  std::map<pid_t, uint64_t> samples_of_task_;
};

// The machine that kernel/perf_calls.h works on.
FakeMachine& machine();

// Which calls to refuse.
WhenOpen always();
WhenOpen of_type(uint32_t type);
WhenOpen of_event(uint32_t type, uint64_t config);
WhenOpen from_call(uint64_t number);  // this call and all after it

}  // namespace tephra::fake
