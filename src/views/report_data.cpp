#include "views/report_data.h"

#include <algorithm>
#include <compare>
#include <string>
#include <tuple>
#include <unordered_map>

#include "analysis/call_names.h"
#include "analysis/call_tree.h"
#include "analysis/labels.h"
#include "analysis/single_waits.h"
#include "base/names.h"
#include "base/number_hash.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using analysis::BaseFrame;
using analysis::CallName;
using analysis::CallNode;
using analysis::CallTree;

// All numbers of one table, filled row by row.
class Table {
 public:
  Table(std::string_view name, std::initializer_list<std::string_view> columns) : name_(name) {
    for (const std::string_view column : columns) names_.emplace_back(column);
    columns_.resize(names_.size());
  }

  void add(std::initializer_list<uint64_t> row) {
    auto column = columns_.begin();
    for (const uint64_t number : row) (column++)->push_back(number);
  }

  void pack(PackedColumns& to) const {
    for (size_t i = 0; i < names_.size(); ++i) to.add(name_ + "." + names_[i], columns_[i]);
  }

 private:
  std::string name_;
  std::vector<std::string> names_;
  std::vector<std::vector<uint64_t>> columns_;
};

// The names of the tree and those that other bases need, sorted as the tree's are.
class Names {
 public:
  Names(const model::Profile& profile, const CallTree& tree) : all_(tree.names) {
    for (const BaseFrame base : {BaseFrame::kComm, BaseFrame::kCommPid, BaseFrame::kCommPidTid}) {
      for (const model::Thread& thread : profile.threads) {
        if (is_known(thread)) all_.push_back(base_name(profile, thread, base));
      }
    }
    std::sort(all_.begin(), all_.end());
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    for (const CallName& name : tree.names) of_tree_.push_back(find(name));
  }

  uint32_t of_tree(uint32_t name) const { return of_tree_[name]; }

  // One more than the row; 0 where stacks of the thread bring their own base.
  uint64_t of_base(const model::Profile& profile, const model::Thread& thread, BaseFrame base) const {
    return is_known(thread) ? find(base_name(profile, thread, base)) + 1 : 0;
  }

  void pack(ReportData& to, Palette palette, bool full_names) const {
    std::vector<std::string> texts;
    std::vector<std::string> shorts;
    Table table("name", {"function", "kind", "inlined", "tone", "shade"});
    for (size_t row = 0; row < all_.size(); ++row) {
      const CallName& name = all_[row];
      texts.push_back(printable(name.label));
      const std::string_view whole = analysis::without_mark(name.label);
      std::string eye = full_names ? printable(whole) : printable(base::shorten_cpp_name(whole));
      shorts.push_back(eye == texts.back() ? "" : std::move(eye));
      const Tone& tone = frame_tone(palette, name);
      table.add({function_of(row), static_cast<uint64_t>(name.kind), name.inlined, tone_row(to, tone),
                 frame_shade(name.label)});
    }
    to.columns.add_texts("name.text", texts);
    to.columns.add_texts("name.short", shorts);
    table.pack(to.columns);
  }

 private:
  static bool is_known(const model::Thread& thread) { return thread.comm || thread.pid >= 0 || thread.tid >= 0; }

  static CallName base_name(const model::Profile& profile, const model::Thread& thread, BaseFrame base) {
    return {analysis::base_label(profile, thread, base), analysis::FrameKind::kBase, false};
  }

  // The first row that reports count together with this one. Names of one text are side by side.
  uint64_t function_of(size_t row) const {
    size_t first = row;
    for (size_t at = row; at > 0 && all_[at - 1].label == all_[row].label; --at) {
      if (group(all_[at - 1].kind) == group(all_[row].kind)) first = at - 1;
    }
    return first;
  }

  // What is told apart although it has one name.
  static analysis::FrameKind group(analysis::FrameKind kind) {
    const bool apart = kind == analysis::FrameKind::kBase || kind == analysis::FrameKind::kKernel;
    return apart ? kind : analysis::FrameKind::kNative;
  }

  static uint64_t tone_row(ReportData& to, const Tone& tone) {
    const auto found = std::find(to.tones.begin(), to.tones.end(), &tone);
    if (found == to.tones.end()) to.tones.push_back(&tone);
    return static_cast<uint64_t>(std::find(to.tones.begin(), to.tones.end(), &tone) - to.tones.begin());
  }

  uint32_t find(const CallName& name) const {
    return static_cast<uint32_t>(std::lower_bound(all_.begin(), all_.end(), name) - all_.begin());
  }

  std::vector<CallName> all_;
  std::vector<uint32_t> of_tree_;
};

// Texts in the order of their first use; row 0 is the empty one.
class Texts {
 public:
  Texts() { row(""); }
  uint32_t row(std::string_view text) {
    const auto [at, fresh] = rows_.try_emplace(printable(text), static_cast<uint32_t>(all_.size()));
    if (fresh) all_.push_back(at->first);
    return at->second;
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::unordered_map<std::string, uint32_t> rows_;
  std::vector<std::string> all_;
};

// The frames of the tree: a name in a module and a source file, with the lines that were seen.
class Frames {
 public:
  Frames(const model::Profile& profile, const CallTree& tree, const Names& names)
      : module_of_(profile.mappings.size(), kUnset) {
    of_node_.reserve(tree.nodes.size());
    for (const CallNode& node : tree.nodes) of_node_.push_back(add(key(profile, node, names), node));
    sort();
  }

  uint32_t of_node(size_t node) const { return of_node_[node]; }

  void pack(PackedColumns& to) const {
    to.add_texts("module.name", module_names_);
    to.add_texts("module.path", paths_.all());
    to.add_texts("file.path", files_.all());
    Table table("frame", {"name", "module", "file", "first_line", "last_line"});
    for (const Row& row : rows_) {
      table.add({row.key.name, row.key.module, row.key.file, row.first_line, row.last_line});
    }
    table.pack(to);
  }

 private:
  static constexpr uint32_t kUnset = UINT32_MAX;

  struct Key {
    uint32_t name;
    uint32_t module;
    uint32_t file;
    auto operator<=>(const Key&) const = default;
  };
  struct KeyHash {
    base::NumberHash hash;
    size_t operator()(const Key& key) const {
      return hash(hash(static_cast<uint64_t>(key.name) << 32 | key.module) ^ key.file);
    }
  };
  struct Row {
    Key key;
    uint32_t first_line;
    uint32_t last_line;
  };

  Key key(const model::Profile& profile, const CallNode& node, const Names& names) {
    return {names.of_tree(node.name), module_row(profile, node.mapping), file_row(profile, node.file)};
  }

  // Modules are told apart by their paths.
  uint32_t module_row(const model::Profile& profile, model::MappingId mapping) {
    uint32_t& row = module_of_[mapping.value];
    if (row != kUnset) return row;
    const bool known = mapping && profile.mappings[mapping].kind != model::CodeKind::kImported;
    row = paths_.row(known ? analysis::module_path(profile, mapping) : "");
    if (row >= module_names_.size()) module_names_.push_back(printable(analysis::module_name(profile, mapping)));
    return row;
  }

  uint32_t file_row(const model::Profile& profile, model::StringId file) {
    const auto [at, fresh] = file_of_.try_emplace(file);
    if (fresh) at->second = files_.row(profile.text(file));
    return at->second;
  }

  uint32_t add(const Key& key, const CallNode& node) {
    const auto [at, fresh] = index_.try_emplace(key, static_cast<uint32_t>(rows_.size()));
    if (fresh) rows_.push_back({key, 0, 0});
    Row& row = rows_[at->second];
    if (node.first_line == 0) return at->second;
    row.first_line = row.first_line == 0 ? node.first_line : std::min(row.first_line, node.first_line);
    row.last_line = std::max(row.last_line, node.last_line);
    return at->second;
  }

  void sort() {
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
    std::vector<uint32_t> place(rows_.size());
    for (size_t i = 0; i < rows_.size(); ++i) place[index_.find(rows_[i].key)->second] = static_cast<uint32_t>(i);
    for (uint32_t& row : of_node_) row = place[row];
  }

  Texts paths_;
  std::vector<std::string> module_names_{""};
  Texts files_;
  std::vector<uint32_t> module_of_;
  std::unordered_map<model::StringId, uint32_t> file_of_;
  std::unordered_map<Key, uint32_t, KeyHash> index_;
  std::vector<Row> rows_;
  std::vector<uint32_t> of_node_;
};

struct SampleRow {
  uint64_t time;
  uint32_t event;
  uint32_t stack;
  uint32_t thread;
  uint64_t count;
  uint64_t value;
  auto place() const { return std::tie(time, event, stack, thread); }
};

// Microseconds, and more where a pause between samples is too long for what the columns hold.
uint64_t time_unit(const std::vector<uint64_t>& sorted) {
  uint64_t longest = 0;
  for (size_t i = 1; i < sorted.size(); ++i) longest = std::max(longest, sorted[i] - sorted[i - 1]);
  uint64_t unit = 1000;
  while (longest / unit >= UINT32_MAX) unit *= 10;
  return unit;
}

void place_in_time(const model::Samples& samples, ReportData& data) {
  std::vector<uint64_t> times = samples.time;
  std::sort(times.begin(), times.end());
  data.timed = !times.empty();
  if (!data.timed) return;
  data.first_time = times[0];
  data.time_unit_ns = time_unit(times);
}

std::vector<SampleRow> sample_rows(const model::Samples& samples, const CallTree& tree, const ReportData& data) {
  std::vector<SampleRow> rows(samples.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const uint64_t time = data.timed ? (samples.time[i] - data.first_time) / data.time_unit_ns : 0;
    rows[i] = {time,
               samples.event[i].value,
               tree.leaf_of_sample[i],
               samples.thread[i].value,
               samples.count[i],
               samples.value[i]};
  }
  std::sort(rows.begin(), rows.end(), [](const SampleRow& a, const SampleRow& b) { return a.place() < b.place(); });
  size_t kept = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (kept > 0 && rows[kept - 1].place() == rows[i].place()) {
      rows[kept - 1].count += rows[i].count;
      rows[kept - 1].value += rows[i].value;
    } else {
      rows[kept++] = rows[i];
    }
  }
  rows.resize(kept);
  return rows;
}

// There may be millions of samples: one column at a time is widened to be packed.
void pack_samples(const model::Samples& samples, const CallTree& tree, ReportData& data) {
  place_in_time(samples, data);
  const std::vector<SampleRow> rows = sample_rows(samples, tree, data);
  std::vector<uint64_t> numbers(rows.size());
  const auto pack = [&](std::string_view name, auto member) {
    std::transform(rows.begin(), rows.end(), numbers.begin(), [&](const SampleRow& row) { return row.*member; });
    data.columns.add(name, numbers);
  };
  pack("sample.stack", &SampleRow::stack);
  pack("sample.thread", &SampleRow::thread);
  pack("sample.event", &SampleRow::event);
  pack("sample.count", &SampleRow::count);
  pack("sample.value", &SampleRow::value);
  pack("sample.time", &SampleRow::time);
}

void pack_waits(const model::Profile& profile, const CallTree& tree, ReportData& data) {
  const std::vector<analysis::SingleWait> waits = analysis::single_waits(profile);
  if (waits.empty()) return;
  for (size_t kind = 0; kind < analysis::kWaitKinds; ++kind) {
    data.wait_kinds.push_back(analysis::wait_kind_name(static_cast<analysis::WaitKind>(kind)));
  }
  data.wait_event = profile.samples.event[waits[0].row].value;
  Table table("wait", {"stack", "thread", "kind", "begin", "length"});
  for (const analysis::SingleWait& wait : waits) {
    table.add({tree.leaf_of_sample[wait.row], profile.samples.thread[wait.row].value, static_cast<uint64_t>(wait.kind),
               (wait.begin - data.first_time) / data.time_unit_ns, wait.length / data.time_unit_ns});
  }
  table.pack(data.columns);
}

void pack_threads(const model::Profile& profile, const Names& names, PackedColumns& to) {
  Table table("thread", {"pid", "tid", "comm", "comm_pid", "comm_pid_tid"});
  const auto id = [](int32_t number) { return number < 0 ? 0 : static_cast<uint64_t>(number) + 1; };
  for (const model::Thread& thread : profile.threads) {
    table.add({id(thread.pid), id(thread.tid), names.of_base(profile, thread, BaseFrame::kComm),
               names.of_base(profile, thread, BaseFrame::kCommPid),
               names.of_base(profile, thread, BaseFrame::kCommPidTid)});
  }
  table.pack(to);
}

void pack_stacks(const CallTree& tree, const Frames& frames, PackedColumns& to) {
  Table table("stack", {"depth", "frame"});
  for (size_t i = 0; i < tree.nodes.size(); ++i) table.add({tree.nodes[i].depth, frames.of_node(i)});
  table.pack(to);
}

}  // namespace

ReportData report_data(const model::Profile& profile, Palette palette, bool full_names) {
  const CallTree tree = analysis::call_tree(profile, {.keep_leaves = true});
  const Names names(profile, tree);
  const Frames frames(profile, tree, names);
  ReportData data;
  names.pack(data, palette, full_names);
  frames.pack(data.columns);
  pack_stacks(tree, frames, data.columns);
  pack_threads(profile, names, data.columns);
  pack_samples(profile.samples, tree, data);
  pack_waits(profile, tree, data);
  return data;
}

}  // namespace tephra::views
