#include "collect/event_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "kernel/procfs.h"

namespace tephra::collect {
namespace {

constexpr uint64_t kTimes = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;

bool opens(const perf_event_attr& attr) {
  perf_event_attr trial = attr;
  trial.disabled = 1;
  trial.inherit = 0;
  trial.enable_on_exec = 0;
  const auto open = [&trial] { return static_cast<bool>(kernel::open_event(trial, kernel::EventScope::task(0, -1))); };
  if (open()) return true;
  if (trial.exclude_kernel || (errno != EACCES && errno != EPERM)) return false;
  // Whether we have the right to kernel code is settled when it is opened for good.
  trial.exclude_kernel = 1;
  trial.exclude_hv = 1;
  return open();
}

// As precise as the machine can, beginning with the most.
void settle_precision(PlannedEvent& event) {
  if (!event.spec.most_precise) return;
  for (unsigned level = 3; level > 0; --level) {
    event.attr.precise_ip = level;
    if (opens(event.attr)) return;
  }
  event.attr.precise_ip = 0;
}

// Kernels before 5.12, and some PMUs, know weights only as one number.
void settle_weights(PlannedEvent& event) {
  if ((event.attr.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) == 0 || opens(event.attr)) return;
  if (errno != EINVAL) return;
  event.attr.sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_WEIGHT_STRUCT);
  event.attr.sample_type |= PERF_SAMPLE_WEIGHT;
}

// Kernels before 5.7 do not number branches.
void settle_branches(PlannedEvent& event) {
  if ((event.attr.branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX) == 0 || opens(event.attr)) return;
  if (errno == EINVAL) event.attr.branch_sample_type &= ~static_cast<uint64_t>(PERF_SAMPLE_BRANCH_HW_INDEX);
}

// Whether all members of the group that begins at `first` can be counted at once.
bool group_fits(const std::vector<PlannedEvent>& plan, size_t first) {
  const auto& leader = plan[first];
  perf_event_attr attr = leader.attr;
  attr.disabled = 1;
  attr.inherit = 0;
  attr.enable_on_exec = 0;
  const auto leader_fd = kernel::open_event(attr, kernel::EventScope::task(0, -1));
  if (!leader_fd) return true;  // opening it for good will tell why
  std::vector<base::FileDescriptor> members;
  for (const PlannedEvent& event : plan) {
    if (event.leader != static_cast<int>(first)) continue;
    perf_event_attr member = event.attr;
    member.disabled = 0;
    member.inherit = 0;
    member.enable_on_exec = 0;
    members.push_back(kernel::open_event(member, kernel::EventScope::task(0, -1), leader_fd.get()));
    if (!members.back()) return false;
  }
  return true;
}

void break_up(std::vector<PlannedEvent>& plan, size_t first, const PlanSettings& settings) {
  for (PlannedEvent& event : plan) {
    if (event.leader != static_cast<int>(first)) continue;
    event.leader = -1;
    event.attr.disabled = 1;
    event.attr.enable_on_exec = plan[first].attr.enable_on_exec;
    set_rate(event.attr, event.spec, settings.sampling);
  }
}

class Planner {
 public:
  Planner(const Target& target, const PlanSettings& settings, const kernel::AttrSupport& support, const Note& note)
      : target_(target), settings_(settings), support_(support), note_(note) {}

  std::vector<PlannedEvent> plan(const std::vector<kernel::EventSpec>& specs) {
    inherit_ = settings_.inherit && !target_.whole_cpus() && !samples_leaders(specs);
    if (needs_tracking(specs)) add_tracking();
    for (size_t place = 0; place < specs.size(); ++place) add(specs[place], place);
    break_weak_groups();
    add_side_band(plan_[0].attr, settings_.sampling, support_);
    // What faults do not tell themselves is told by what is mapped.
    if (std::any_of(specs.begin(), specs.end(), [](const auto& spec) { return spec.tells_page; })) {
      plan_[0].attr.mmap_data = 1;
    }
    return std::move(plan_);
  }

 private:
  // Such groups are not inherited: older kernels refuse it, and older readers would mix up the threads' counts. Then
  // nothing is, so that a thread that is found later has all of its events or none.
  static bool samples_leaders(const std::vector<kernel::EventSpec>& specs) {
    return std::any_of(specs.begin(), specs.end(), [](const auto& spec) { return spec.leader_samples; });
  }

  // A program's first event can tell about processes, since it is on from the exec. In all other cases the records must
  // come while the event itself is off, or elsewhere than where it counts.
  bool needs_tracking(const std::vector<kernel::EventSpec>& specs) const {
    return !target_.records_program() || settings_.starts_later || settings_.flight || settings_.renewed ||
           samples_leaders(specs) || (!specs.empty() && specs[0].collected);
  }

  void add_tracking() {
    PlannedEvent tracking{kernel::software_event("dummy"), dummy_attr(inherit_, support_)};
    tracking.spec.name = "dummy:u";
    tracking.attr.disabled = 0;
    tracking.tracking = true;
    tracking.everywhere = true;
    plan_.push_back(std::move(tracking));
  }

  void add(const kernel::EventSpec& spec, size_t place) {
    SampleSettings sampling = settings_.sampling;
    sampling.inherit = inherit_;
    if (place < settings_.call_graphs.size()) sampling.call_graph = settings_.call_graphs[place];
    PlannedEvent event{spec, sampling_attr(spec, sampling, support_)};
    event.walked = sampling.call_graph == CallGraph::kBpf && !spec.collected;
    event.attr.enable_on_exec = target_.records_program() && !settings_.starts_later;
    if (event.uses_counter()) event.attr.read_format |= kTimes;
    event.overwritten = settings_.flight;
    event.attr.write_backward = settings_.flight;
    // What an old kernel does not know would make every precision fail.
    settle_weights(event);
    settle_branches(event);
    if (!event.walked) settle_precision(event);
    if (spec.group >= 0) join_group(event);
    plan_.push_back(std::move(event));
  }

  // Members start and stop with their leader.
  void join_group(PlannedEvent& event) {
    const auto [found, first] = leaders_.emplace(event.spec.group, plan_.size());
    if (first) return;
    event.leader = static_cast<int>(found->second);
    event.attr.disabled = 0;
    event.attr.enable_on_exec = 0;
    if (event.spec.leader_samples) {
      event.attr.freq = 0;
      event.attr.sample_period = 0;
    }
  }

  void break_weak_groups() {
    for (const auto& [group, first] : leaders_) {
      if (!plan_[first].spec.weak_group || group_fits(plan_, first)) continue;
      note_(fmt::format("the group of {} does not fit the machine's counters: its events are counted apart",
                        plan_[first].spec.name));
      break_up(plan_, first, settings_);
    }
  }

  const Target& target_;
  const PlanSettings& settings_;
  const kernel::AttrSupport& support_;
  const Note& note_;
  bool inherit_ = true;
  std::vector<PlannedEvent> plan_;
  std::map<int, size_t> leaders_;  // by group
};

}  // namespace

bool PlannedEvent::uses_counter() const {
  return attr.type != PERF_TYPE_SOFTWARE && attr.type != PERF_TYPE_TRACEPOINT && attr.type != PERF_TYPE_BREAKPOINT;
}

std::vector<PlannedEvent> plan_events(const std::vector<kernel::EventSpec>& specs, const Target& target,
                                      const PlanSettings& settings, const kernel::AttrSupport& support,
                                      const Note& note) {
  return Planner(target, settings, support, note).plan(specs);
}

}  // namespace tephra::collect
