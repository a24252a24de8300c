#include "collect/recording_sections.h"

#include <algorithm>
#include <utility>

#include "collect/elf_build_id.h"
#include "collect/features.h"
#include "model/profile.h"
#include "stream/perf_file.h"

namespace tephra::collect {
namespace {

// As readers name it, too.
std::string_view engine_name(CallGraph engine) {
  switch (engine) {
    case CallGraph::kBpf:
      return model::kEngineInKernel;
    case CallGraph::kFramePointers:
      return model::kEngineFramePointers;
    case CallGraph::kDwarf:
      return model::kEngineStackCopies;
    case CallGraph::kBranches:
      return model::kEngineBranches;
    default:
      return "none";
  }
}

}  // namespace

base::Status RecordingSections::prepare(bool monotonic_clock) {
  monotonic_clock_ = monotonic_clock;
  kernel_id_ = kernel_build_id();
  const auto& specs = recorded_.specs();
  if (std::none_of(specs.begin(), specs.end(), [](const auto& spec) { return spec.tracepoint(); })) return {};
  TEPHRA_TRY(Feature formats, tracing_data_feature(specs));
  tracing_formats_.push_back(std::move(formats));
  return {};
}

std::vector<Feature> RecordingSections::first() {
  auto features = start_features(recorded_.events().file_events(), options_.command_line, monotonic_clock_);
  features.push_back(build_id_feature(kernel_id_, {}));
  features.insert(features.end(), tracing_formats_.begin(), tracing_formats_.end());
  features.push_back(recorder_facts_feature(facts()));
  return features;
}

std::vector<Feature> RecordingSections::last() {
  std::vector<Feature> features{recorder_facts_feature(facts()), jit_.feature()};
  if (options_.sampling.build_ids) features.push_back(build_id_feature(kernel_id_, destination_->files()));
  // The place for names, which are looked up when the file is finished.
  if (names_.keeps()) features.push_back({stream::kFeatureTephraNames, {}});
  return features;
}

FileAccount::Totals RecordingSections::totals() const {
  FileAccount::Totals totals;
  totals.losses = options_.flight ? std::nullopt : std::optional(Destination::Losses{});
  if (destination_ != nullptr) totals.losses = destination_->losses();
  totals.wakeups = waits_.wakeups();
  if (const StackEngine* stacks = recorded_.stacks()) totals.stacks = stacks->totals();
  if (copies_ != nullptr) totals.copies = copies_->used();
  return totals;
}

stream::RecorderFacts RecordingSections::facts() const {
  auto facts = account_.facts(totals(), recorded_.cpus());
  facts.engine = engine_name(recorded_.sampling().call_graph);
  return facts;
}

}  // namespace tephra::collect
