#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/profile.h"

namespace tephra::analysis {

// What rows of a report are grouped by. The first four of a sample's kind come from its thread and CPU, the others from
// its frames.
enum class SortKey : uint8_t { kComm, kPid, kTid, kCpu, kEvent, kDso, kSymbol, kSrcline };

// The key of a word such as "comm" or "sym"; nothing for an unknown word.
std::optional<SortKey> sort_key(std::string_view word);
std::string_view sort_key_name(SortKey key);

enum class ChainOrder : uint8_t {
  kNone,
  kCaller,  // from callers down to callees
  kCallee,  // from callees up to callers
};

struct ReportOptions {
  std::vector<SortKey> sort{SortKey::kComm, SortKey::kDso, SortKey::kSymbol};
  bool children = true;  // rows for callers too, ranked by total; false: only where samples fell, ranked by self
  // Samples of other threads are left out of the rows, and stay in the whole that shares are of. Empty: all.
  std::vector<std::string> comms;
  std::vector<int32_t> pids;
  std::vector<int32_t> tids;
  // Rows of other code objects (path or last part of it) or functions are left out. Empty: all.
  std::vector<std::string> dsos;
  std::vector<std::string> symbols;
  double percent_limit = 0;  // rows below are left out
  ChainOrder chains = ChainOrder::kNone;
  double chain_percent_limit = 0.5;  // branches of chains below, in percent of the whole, are left out
};

// A function in a tree of call chains, and what the chains through it come to.
struct ChainNode {
  std::string_view name;
  model::Totals weight;
  std::vector<ChainNode> children;  // largest first
};

// A row. Of the fields that describe it, those hold that are sorted by. Views point into the profile.
struct ReportEntry {
  std::string_view comm;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  std::string_view event;
  std::string_view dso;
  std::string_view symbol;
  std::string_view file;
  uint32_t line = 0;
  bool kernel = false;

  model::Totals self;
  model::Totals total;  // self and what was called from here, a sample counted once; equal to self without children
  // kCaller: for samples that fell here, from the outermost caller down to here; for the others, from here down.
  // kCallee: from here up to the callers.
  std::vector<ChainNode> chains;
};

struct Report {
  std::vector<SortKey> sort;
  bool children = true;
  std::string_view event;
  std::string_view unit;
  model::Totals whole;  // all samples of the profile, what shares are of
  model::Totals shown;  // self of the rows, before percent_limit
  uint64_t rows_below_limit = 0;
  std::vector<ReportEntry> entries;

  // What a weight is measured by: its value, or its count where the event has no values.
  uint64_t measure(const model::Totals& weight) const { return whole.value != 0 ? weight.value : weight.count; }
};

// Groups the samples of a symbolized profile, which has one event or is sorted by event. The self weights of all rows
// come to the weight of the samples that passed the filters. `profile` must outlive the report.
Report make_report(const model::Profile& profile, const ReportOptions& options);
// The same of a profile whose names were replaced (model::redact): `named` is what it was before, whose names the
// filters are about.
Report make_report(const model::Profile& profile, const ReportOptions& options, const model::Profile& named);

}  // namespace tephra::analysis
