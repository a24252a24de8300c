#include "analysis/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "analysis/terminal_text.h"
#include "model/event_units.h"
#include "model/event_weight.h"

namespace tephra::analysis {
namespace {

// What a profile counts.
struct Counted {
  std::string name;
  std::string shown;  // the name that may be told
  std::string unit;
  bool samples = true;  // counts are numbers of samples
  bool values = false;  // counts look like sums of periods, times or bytes
  bool has_values = false;
  bool nameless = false;  // folded stacks do not say what they count
};

// "cycles" of "cycles:ppp", while "sched:sched_switch" is a name. How samples are taken is no other event; whose time
// is counted (u, k) is.
std::string without_precision(std::string_view name) {
  const size_t colon = name.rfind(':');
  if (colon == std::string_view::npos) return std::string(name);
  const std::string_view letters = name.substr(colon + 1);
  if (letters.empty() || letters.find_first_not_of("pPukhGH") != std::string_view::npos) return std::string(name);
  std::string kept;
  std::copy_if(letters.begin(), letters.end(), std::back_inserter(kept), [](char c) { return c != 'p' && c != 'P'; });
  return std::string(name.substr(0, colon)) + (kept.empty() ? "" : ":" + kept);
}

// Folded stacks do not say what their numbers are: numbers of samples, or sums of periods, times or bytes, which would
// be taken for that many samples. Values are large, or all multiples of one period. Most stacks of a sampled program
// have few samples each.
bool looks_like_values(const model::Samples& samples) {
  constexpr uint64_t kMostSamples = 10'000'000;
  constexpr uint64_t kLargeStack = 1000;
  constexpr size_t kEnoughStacks = 20;  // fewer are multiples of one number by chance
  uint64_t sum = 0;
  uint64_t divisor = 0;
  size_t stacks = 0;
  size_t large = 0;
  for (const uint64_t count : samples.count) {
    if (count == 0) continue;
    if (count > kMostSamples || (sum += count) > kMostSamples) return true;
    divisor = std::gcd(divisor, count);
    large += count > kLargeStack;
    ++stacks;
  }
  return stacks >= kEnoughStacks && (divisor > 1 || 2 * large > stacks);
}

Counted counted_by(const DiffProfile& input) {
  const model::Profile& profile = *input.named;
  const model::Event& event = profile.events[profile.samples.event[0]];
  Counted counted;
  counted.shown = input.profile->text(input.profile->events[profile.samples.event[0]].name);
  counted.name = without_precision(profile.text(event.name));
  counted.unit = profile.text(event.unit);
  counted.samples = model::counts_samples(event);
  counted.has_values = model::totals(profile).value > 0;
  static const std::set<std::string_view> kNameless{"", "samples", "before", "after"};
  counted.nameless = kNameless.contains(counted.name);
  counted.values = counted.nameless && profile.samples.time.empty() && looks_like_values(profile.samples);
  return counted;
}

bool same_event(const Counted& a, const Counted& b) {
  const auto is_cpu_time = [](const Counted& one) {
    const std::set<std::string_view> kNames{"cpu-clock", "task-clock", "cpu", "cpu-time"};
    return kNames.contains(one.name.substr(0, one.name.find(':'))) && one.unit == "ns";
  };
  return a.nameless || b.nameless || a.name == b.name || (is_cpu_time(a) && is_cpu_time(b));
}

base::Status refuse_other_events(const std::vector<Counted>& all) {
  for (const Counted& one : all) {
    if (same_event(all[0], one)) continue;
    return base::failed("cannot compare", printable(all[0].shown) + "' with '" + printable(one.shown),
                        "they count different things",
                        "Choose an event that all profiles have with --event-filter EVENT.");
  }
  return {};
}

// Values where all profiles have them in one unit: sampling by frequency gives samples of different weight.
base::Result<DiffWeight> weight_of(const std::vector<Counted>& all, const DiffOptions& options) {
  const bool one_unit = std::all_of(all.begin(), all.end(),
                                    [&](const Counted& one) { return one.has_values && one.unit == all[0].unit; });
  if (options.weight_is_chosen) {
    if (options.tree.weight == DiffWeight::kValue && !one_unit) {
      return base::failed("cannot compare values", "", "the profiles have them in different units, or have none",
                          "Compare numbers of samples: --weight samples.");
    }
    return options.tree.weight;
  }
  return one_unit ? DiffWeight::kValue : DiffWeight::kSamples;
}

void sort_by_change(std::vector<uint32_t>& rows, const auto& value_of) {
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
    return std::fabs(value_of(a).change()) > std::fabs(value_of(b).change());
  });
}

void find_changed_functions(Diff& diff) {
  bool any = false;
  for (uint32_t i = 0; i < diff.tree.functions.size(); ++i) {
    if (diff.tree.functions[i].base) continue;
    const DiffValue& self = diff.tests.self[i];
    const DiffValue& total = diff.tests.total[i];
    if (self.finding || total.finding) {
      diff.changed_functions.push_back(i);
    } else if (self.tested || total.tested) {
      ++diff.within_noise;
    }
    for (const DiffValue* value : {&self, &total}) {
      if (!value->tested) continue;
      diff.largest_detectable = std::max(diff.largest_detectable, value->detectable);
      diff.least_detectable = any ? std::min(diff.least_detectable, value->detectable) : value->detectable;
      diff.no_more_than = std::max(diff.no_more_than, value->high);
      any = true;
    }
  }
  sort_by_change(diff.changed_functions, [&](uint32_t i) -> const DiffValue& { return diff.larger_change(i); });
}

// The place of a change is the innermost call that still has most of it.
void find_changed_paths(Diff& diff) {
  constexpr double kMost = 0.8;
  const auto& nodes = diff.tree.nodes;
  for (uint32_t i = 1; i < nodes.size(); ++i) {
    const DiffValue& value = diff.tests.paths[i];
    if (!value.finding || diff.tree.functions[nodes[i].function].base) continue;
    bool explained = false;
    for (uint32_t child = nodes[i].first_child; child != 0 && !explained; child = nodes[child].next_sibling) {
      const DiffValue& of_child = diff.tests.paths[child];
      explained = of_child.finding && of_child.change() / value.change() >= kMost;
    }
    if (!explained) diff.changed_paths.push_back(i);
  }
  sort_by_change(diff.changed_paths, [&](uint32_t i) -> const DiffValue& { return diff.tests.paths[i]; });
}

// A share of all samples of a side.
struct Part {
  double sum = 0;
  double whole = 0;

  void add(double share, double samples) {
    sum += share * samples;
    whole += samples;
  }
  double share() const { return sum / whole; }
};

}  // namespace

const DiffValue& Diff::larger_change(uint32_t function) const {
  const DiffValue& self = tests.self[function];
  const DiffValue& total = tests.total[function];
  if (self.finding != total.finding) return self.finding ? self : total;
  return std::fabs(self.change()) > std::fabs(total.change()) ? self : total;
}

base::Result<Diff> diff(const std::vector<DiffProfile>& profiles, DiffOptions options) {
  std::vector<Counted> all;
  for (const DiffProfile& input : profiles) all.push_back(counted_by(input));
  TEPHRA_CHECK_OK(refuse_other_events(all));
  TEPHRA_TRY(options.tree.weight, weight_of(all, options));
  const bool counted = std::all_of(all.begin(), all.end(), [](const Counted& one) { return one.samples; });
  const bool said_to_be_samples = options.weight_is_chosen && options.tree.weight == DiffWeight::kSamples;

  Diff diff;
  diff.counts_are_values =
      !said_to_be_samples && std::any_of(all.begin(), all.end(), [](const Counted& one) { return one.values; });
  const model::Profile& last = *profiles.back().profile;
  diff.event = last.text(last.events[last.samples.event[0]].name);
  diff.unit = options.tree.weight == DiffWeight::kValue ? all[0].unit : "samples";
  diff.tree = diff_tree(profiles, options.tree);
  for (size_t s = 0; s < kDiffSides; ++s) {
    if (diff.tree.sides[s].units.empty()) {
      return base::failed(
          "cannot compare", s == 0 ? "the side before" : "the side after",
          options.tree.by == DiffBy::kSecond ? "it does not say how long was recorded" : "its samples come to nothing");
    }
  }
  diff.tests = diff_tests(diff.tree, counted && !diff.counts_are_values);
  diff.base_total = diff.tests.paths[0].before;
  diff.after_total = diff.tests.paths[0].after;
  diff.moves = diff_moves(diff.tree, diff.tests);
  find_changed_functions(diff);
  find_changed_paths(diff);
  return diff;
}

std::vector<Regression> regressions(const Diff& diff, double limit) {
  std::vector<Regression> found;
  for (uint32_t i = 0; i < diff.tree.functions.size(); ++i) {
    if (diff.tree.functions[i].base) continue;
    const DiffValue& self = diff.tests.self[i];
    const DiffValue& total = diff.tests.total[i];
    const bool is_self = self.finding && (!total.finding || self.low > total.low);
    const DiffValue& value = is_self ? self : total;
    if (value.finding && diff.of_base(value.low) > limit) found.push_back({i, is_self, diff.of_base(value.low)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Regression& a, const Regression& b) { return a.low > b.low; });
  return found;
}

std::vector<std::string> stack_warnings(const std::vector<DiffProfile>& profiles,
                                        const std::vector<Verdict>& verdicts) {
  constexpr double kFarApart = 0.05;
  std::set<std::string> engines[kDiffSides];
  Part rooted[kDiffSides];
  Part named[kDiffSides];
  for (size_t i = 0; i < profiles.size(); ++i) {
    const auto side = static_cast<size_t>(profiles[i].side);
    const Verdict& verdict = verdicts[i];
    const auto samples = static_cast<double>(verdict.samples);
    engines[side].insert(printable(verdict.engine));
    named[side].add(verdict.frames_named, samples);
    // Whether stacks of others are whole is not known.
    if (verdict.engine != model::kEngineImported) rooted[side].add(verdict.stacks_rooted, samples);
  }
  std::vector<std::string> warnings;
  if (engines[0] != engines[1]) {
    warnings.push_back(
        fmt::format("stacks were taken in different ways ({} before, {} after): totals and call paths may "
                    "differ for that alone.",
                    fmt::join(engines[0], ", "), fmt::join(engines[1], ", ")));
  }
  const auto far_apart = [&](const Part(&part)[kDiffSides], std::string_view what) {
    if (part[0].whole == 0 || part[1].whole == 0) return;
    const double share[] = {part[0].share(), part[1].share()};
    if (std::fabs(share[0] - share[1]) < kFarApart) return;
    warnings.push_back(
        fmt::format("{:.0f} % of {} before and {:.0f} % after: differences may come from that, not from "
                    "the code.",
                    share[0] * 100, what, share[1] * 100));
  };
  far_apart(rooted, "stacks are whole");
  far_apart(named, "frames have a name");
  return warnings;
}

}  // namespace tephra::analysis
