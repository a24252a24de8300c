#include "analysis/report.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <unordered_map>

#include "analysis/labels.h"
#include "analysis/report_chains.h"
#include "analysis/stack_walk.h"
#include "base/hash.h"
#include "base/names.h"

namespace tephra::analysis {
namespace {

using model::FrameId;
using model::StackId;
using model::StringId;
using model::Totals;

struct SortWord {
  std::string_view word;
  SortKey key;
};
// The first word of a key is its name.
constexpr std::array kSortWords{
    SortWord{"comm", SortKey::kComm},     SortWord{"pid", SortKey::kPid},     SortWord{"tid", SortKey::kTid},
    SortWord{"cpu", SortKey::kCpu},       SortWord{"event", SortKey::kEvent}, SortWord{"dso", SortKey::kDso},
    SortWord{"symbol", SortKey::kSymbol}, SortWord{"sym", SortKey::kSymbol},  SortWord{"srcline", SortKey::kSrcline},
};

bool sorts_by(const ReportOptions& options, SortKey key) {
  return std::find(options.sort.begin(), options.sort.end(), key) != options.sort.end();
}

template <class List, class Value>
bool passes(const List& list, const Value& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

// What a row takes from its samples' threads. Fields that are not sorted by stay as they are here.
struct Context {
  StringId comm;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
  uint32_t event = 0;
  auto operator<=>(const Context&) const = default;
};

struct ContextSample {
  uint32_t context;
  StackId stack;
  Totals weight;
};

class Contexts {
 public:
  Contexts(const model::Profile& profile, const model::Profile& named, const ReportOptions& options)
      : profile_(profile), named_(named), options_(options) {}

  // The samples that pass the filters, ordered by context and stack.
  std::vector<ContextSample> select() {
    const model::Samples& samples = profile_.samples;
    std::vector<ContextSample> selected;
    selected.reserve(samples.size());
    for (size_t i = 0; i < samples.size(); ++i) {
      const model::Thread& thread = profile_.threads[samples.thread[i]];
      const std::string_view comm = named_.text(named_.threads[samples.thread[i]].comm);
      if (!passes(options_.comms, comm) || !passes(options_.pids, thread.pid) || !passes(options_.tids, thread.tid)) {
        continue;
      }
      selected.push_back({intern(context_of(thread, i)), samples.stack[i], {samples.count[i], samples.value[i]}});
    }
    std::sort(selected.begin(), selected.end(), [](const ContextSample& a, const ContextSample& b) {
      return std::tie(a.context, a.stack) < std::tie(b.context, b.stack);
    });
    return selected;
  }

  void describe(uint32_t context, ReportEntry& entry) const {
    const Context& row = rows_[context];
    entry.comm = profile_.text(row.comm);
    entry.pid = row.pid;
    entry.tid = row.tid;
    entry.cpu = row.cpu;
    if (by_event_) entry.event = profile_.text(profile_.events[model::EventId{row.event}].name);
  }

 private:
  Context context_of(const model::Thread& thread, size_t sample) const {
    Context context;
    if (by_comm_) context.comm = thread.comm;
    if (by_pid_) context.pid = thread.pid;
    if (by_tid_) context.tid = thread.tid;
    if (by_cpu_ && !profile_.samples.cpu.empty()) context.cpu = profile_.samples.cpu[sample];
    if (by_event_) context.event = profile_.samples.event[sample].value;
    return context;
  }

  uint32_t intern(const Context& context) {
    const auto [at, fresh] = index_.try_emplace(context, static_cast<uint32_t>(rows_.size()));
    if (fresh) rows_.push_back(context);
    return at->second;
  }

  const model::Profile& profile_;
  const model::Profile& named_;
  const ReportOptions& options_;
  const bool by_comm_ = sorts_by(options_, SortKey::kComm);
  const bool by_pid_ = sorts_by(options_, SortKey::kPid);
  const bool by_tid_ = sorts_by(options_, SortKey::kTid);
  const bool by_cpu_ = sorts_by(options_, SortKey::kCpu);
  const bool by_event_ = sorts_by(options_, SortKey::kEvent);
  std::map<Context, uint32_t> index_;
  std::vector<Context> rows_;
};

// What a row takes from a frame. Key 0 is that of frames which the filters leave out.
class FrameKeys {
 public:
  static constexpr uint32_t kHidden = 0;

  FrameKeys(const model::Profile& profile, const model::Profile& named, const ReportOptions& options)
      : of_frame_(profile.frames.size(), kHidden), descriptions_(1) {
    for (uint32_t i = 0; i < profile.frames.size(); ++i) {
      if (is_chosen(named, options, FrameId{i})) add(profile, options, FrameId{i});
    }
  }

  const std::vector<uint32_t>& of_frame() const { return of_frame_; }
  size_t size() const { return descriptions_.size(); }
  void describe(uint32_t key, ReportEntry& entry) const {
    const ReportEntry& from = descriptions_[key];
    entry.dso = from.dso;
    entry.symbol = from.symbol;
    entry.file = from.file;
    entry.line = from.line;
    entry.kernel = from.kernel;
  }

 private:
  struct Key {
    std::string_view dso, symbol, file;
    uint32_t line;
    bool kernel;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const {
      uint64_t hash = base::mix(key.line, key.kernel);
      for (const std::string_view text : {key.dso, key.symbol, key.file}) {
        hash = base::hash_bytes(base::as_bytes(text), hash);
      }
      return hash;
    }
  };

  static std::string_view symbol_of(const model::Profile& profile, FrameId id) {
    const std::string_view name = profile.function_name(id);
    if (!name.empty()) return name;
    return id ? "[unknown]" : "[no stack]";  // frame 0 is that of the empty stack
  }

  static bool is_chosen(const model::Profile& named, const ReportOptions& options, FrameId id) {
    const std::string_view dso = module_path(named, named.frames[id].mapping);
    if (!passes(options.dsos, dso) && !passes(options.dsos, base::path_base_name(dso))) return false;
    return passes(options.symbols, symbol_of(named, id));
  }

  void add(const model::Profile& profile, const ReportOptions& options, FrameId id) {
    const model::Frame& frame = profile.frames[id];
    const model::Mapping& mapping = profile.mappings[frame.mapping];
    ReportEntry row;
    row.dso = module_path(profile, frame.mapping);
    row.symbol = symbol_of(profile, id);
    row.kernel = model::is_kernel(mapping.kind);
    if (!sorts_by(options, SortKey::kDso)) row.dso = {};
    if (!sorts_by(options, SortKey::kSymbol)) row.symbol = {};
    if (row.dso.empty() && row.symbol.empty()) row.kernel = false;
    if (sorts_by(options, SortKey::kSrcline)) {
      row.file = profile.text(frame.file);
      row.line = frame.line;
    }
    const auto [at, fresh] =
        index_.try_emplace(Key{row.dso, row.symbol, row.file, row.line, row.kernel}, static_cast<uint32_t>(size()));
    if (fresh) descriptions_.push_back(row);
    of_frame_[id.value] = at->second;
  }

  std::vector<uint32_t> of_frame_;
  std::vector<ReportEntry> descriptions_;
  std::unordered_map<Key, uint32_t, HashOfKey> index_;
};

void operator+=(Totals& sum, const Totals& more) {
  sum.count += more.count;
  sum.value += more.value;
}

struct Row {
  uint32_t context;
  uint32_t key;
  Totals self;
  Totals total;
};

// Sums the rows of one context after the other.
class RowSums {
 public:
  RowSums(const model::Profile& profile, const FrameKeys& keys, bool with_children, const std::vector<bool>& outermost)
      : profile_(profile),
        keys_(keys),
        with_children_(with_children),
        outermost_(outermost),
        weights_(profile),
        row_of_key_(keys.size(), kNoRow) {}

  void add_context(std::span<const ContextSample> samples, std::vector<Row>& rows) {
    for (const ContextSample& sample : samples) {
      weights_.add(sample.stack, sample.weight);
      const uint32_t key = key_of(sample.stack);
      if (key == FrameKeys::kHidden) continue;
      Row& row = row_of(key, sample.context, rows);
      row.self += sample.weight;
      // The empty stack has no row in the tree to bring its total.
      if (!with_children_ || !sample.stack) row.total += sample.weight;
    }
    if (with_children_) {
      for (const StackId stack : weights_.settle()) {
        const uint32_t key = key_of(stack);
        if (key == FrameKeys::kHidden || !outermost_[stack.value]) continue;
        row_of(key, samples.front().context, rows).total += weights_.below(stack);
      }
    }
    weights_.clear();
    for (const uint32_t key : used_keys_) row_of_key_[key] = kNoRow;
    used_keys_.clear();
  }

 private:
  static constexpr uint32_t kNoRow = UINT32_MAX;

  uint32_t key_of(StackId stack) const { return keys_.of_frame()[profile_.stacks[stack].frame.value]; }

  Row& row_of(uint32_t key, uint32_t context, std::vector<Row>& rows) {
    if (row_of_key_[key] == kNoRow) {
      row_of_key_[key] = static_cast<uint32_t>(rows.size());
      used_keys_.push_back(key);
      rows.push_back({context, key, {}, {}});
    }
    return rows[row_of_key_[key]];
  }

  const model::Profile& profile_;
  const FrameKeys& keys_;
  const bool with_children_;
  const std::vector<bool>& outermost_;
  StackWeights weights_;
  std::vector<uint32_t> row_of_key_;
  std::vector<uint32_t> used_keys_;
};

// Calls visit with the samples of each context.
template <class Visit>
void for_each_context(std::span<const ContextSample> samples, Visit visit) {
  for (size_t begin = 0; begin < samples.size();) {
    size_t end = begin;
    while (end < samples.size() && samples[end].context == samples[begin].context) ++end;
    visit(samples.subspan(begin, end - begin));
    begin = end;
  }
}

auto description(const ReportEntry& entry) {
  return std::tie(entry.symbol, entry.dso, entry.comm, entry.pid, entry.tid, entry.cpu, entry.event, entry.file,
                  entry.line, entry.kernel);
}

// Entries with the row they were made of, which the call chains are found by.
struct Ranked {
  ReportEntry entry;
  uint32_t context;
  uint32_t key;
};

void rank(const Report& report, std::vector<Ranked>& rows) {
  std::sort(rows.begin(), rows.end(), [&](const Ranked& left, const Ranked& right) {
    const ReportEntry& a = left.entry;
    const ReportEntry& b = right.entry;
    const auto a_total = report.measure(a.total), b_total = report.measure(b.total);
    const auto a_self = report.measure(a.self), b_self = report.measure(b.self);
    if (a_total != b_total) return a_total > b_total;
    if (a_self != b_self) return a_self > b_self;
    return description(a) < description(b);
  });
}

void add_chains(const model::Profile& profile, const StackChildren& children, const FrameKeys& keys,
                const std::vector<bool>& outermost, std::span<const ContextSample> samples,
                const ReportOptions& options, const Report& report, std::vector<Ranked>& rows) {
  const double smallest = options.chain_percent_limit / 100 * static_cast<double>(report.measure(report.whole));
  ChainBuilder builder(profile, children, keys.of_frame(), outermost,
                       {.order = options.chains,
                        .with_callees = options.children,
                        .smallest = smallest,
                        .by_count = report.whole.value == 0});
  std::unordered_map<uint32_t, std::vector<Ranked*>> wanted;
  for (Ranked& row : rows) {
    // No chain of a row weighs more than the row.
    if (static_cast<double>(report.measure(row.entry.total)) >= smallest) wanted[row.context].push_back(&row);
  }
  for_each_context(samples, [&](std::span<const ContextSample> part) {
    const auto found = wanted.find(part.front().context);
    if (found == wanted.end()) return;
    for (const ContextSample& sample : part) builder.add(sample.stack, sample.weight);
    builder.settle();
    for (Ranked* row : found->second) row->entry.chains = builder.chains(row->key);
    builder.clear();
  });
}

}  // namespace

std::optional<SortKey> sort_key(std::string_view word) {
  const auto found =
      std::find_if(kSortWords.begin(), kSortWords.end(), [&](const SortWord& w) { return w.word == word; });
  if (found == kSortWords.end()) return std::nullopt;
  return found->key;
}

std::string_view sort_key_name(SortKey key) {
  return std::find_if(kSortWords.begin(), kSortWords.end(), [&](const SortWord& w) { return w.key == key; })->word;
}

Report make_report(const model::Profile& profile, const ReportOptions& options) {
  return make_report(profile, options, profile);
}

Report make_report(const model::Profile& profile, const ReportOptions& options, const model::Profile& named) {
  Report report{.sort = options.sort, .children = options.children, .whole = model::totals(profile)};
  if (profile.samples.size() > 0) {
    const model::Event& event = profile.events[profile.samples.event[0]];
    report.event = profile.text(event.name);
    report.unit = profile.text(event.unit);
  }

  Contexts contexts(profile, named, options);
  const std::vector<ContextSample> samples = contexts.select();
  const FrameKeys keys(profile, named, options);
  // Trees may have tens of millions of rows: what is not needed of them is not made.
  std::optional<StackChildren> children;
  auto in_order = outermost_rows_in_order(profile, keys.of_frame(), keys.size());
  if (!in_order || options.chains != ChainOrder::kNone) children.emplace(profile);
  const std::vector<bool> outermost =
      in_order ? std::move(*in_order) : outermost_rows(profile, *children, keys.of_frame(), keys.size());
  RowSums sums(profile, keys, options.children, outermost);
  std::vector<Row> sum_rows;
  for_each_context(samples, [&](std::span<const ContextSample> part) { sums.add_context(part, sum_rows); });

  const double limit = options.percent_limit / 100 * static_cast<double>(report.measure(report.whole));
  std::vector<Ranked> rows;
  for (const Row& row : sum_rows) {
    report.shown += row.self;
    if (static_cast<double>(report.measure(row.total)) < limit) {
      ++report.rows_below_limit;
      continue;
    }
    Ranked ranked{.entry = {.self = row.self, .total = row.total}, .context = row.context, .key = row.key};
    contexts.describe(row.context, ranked.entry);
    keys.describe(row.key, ranked.entry);
    rows.push_back(std::move(ranked));
  }
  rank(report, rows);
  if (options.chains != ChainOrder::kNone) {
    add_chains(profile, *children, keys, outermost, samples, options, report, rows);
  }
  report.entries.reserve(rows.size());
  for (Ranked& row : rows) report.entries.push_back(std::move(row.entry));
  return report;
}

}  // namespace tephra::analysis
