#include "formats/chrome_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/chrome.h"
#include "formats/json_profile.h"

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonTape;
using model::Reason;

constexpr std::string_view kRoot = "(root)";

// From zero on, and as far as numbers go: later times do not become smaller ones.
uint64_t nanoseconds(double microseconds) {
  constexpr double kMost = 9e18;
  const double scaled = microseconds * 1e3;
  return scaled > 0 ? static_cast<uint64_t>(std::llround(std::min(scaled, kMost))) : 0;
}

// Times are sorted, which takes that all of them can be compared.
double checked_time(double microseconds) {
  if (!std::isfinite(microseconds)) throw MalformedJson{"it holds times beyond all measure"};
  return microseconds;
}

}  // namespace

ChromeProfileReader::ChromeProfileReader(model::ProfileAssembler& assembler)
    : assembler_(assembler), mapping_(assembler.mapping({.kind = model::CodeKind::kImported})) {}

void ChromeProfileReader::add_nodes(const Json& nodes) {
  for (const Json node : nodes.elements()) {
    add_node(node);
    const int64_t id = node["id"].integer(-1);
    for (const Json child : node["children"].elements()) children_.emplace_back(id, child.integer(-1));
  }
}

// The children within children may be many: no recursion.
void ChromeProfileReader::add_tree(const Json& head) {
  std::vector<std::pair<Json, int64_t>> open{{head, -1}};
  int64_t made_up = -2;  // for nodes of old files without a number
  while (!open.empty()) {
    const auto [node, parent] = open.back();
    open.pop_back();
    const size_t row = add_node(node);
    if (!node["id"].is_number()) {
      by_id_.erase(nodes_[row].id);
      nodes_[row].id = made_up--;
      by_id_[nodes_[row].id] = row;
    }
    nodes_[row].parent = parent;
    for (const Json child : node["children"].elements()) open.emplace_back(child, nodes_[row].id);
  }
}

size_t ChromeProfileReader::add_node(const Json& node) {
  if (!node.is_object()) throw MalformedJson{"one of its nodes is not an object"};
  Node row{.id = node["id"].integer(-1), .parent = node["parent"].integer(-1)};
  read_call_frame(node, row);
  row.hits = node["hitCount"].integer();
  for (const Json tick : node["positionTicks"].elements()) {
    const int64_t line = tick["line"].integer();
    const int64_t ticks = tick["ticks"].integer();
    if (line > 0 && line <= UINT32_MAX && ticks > 0) {
      row.line_hits.emplace_back(static_cast<uint32_t>(line), static_cast<uint64_t>(ticks));
    }
  }
  const size_t index = nodes_.size();
  by_id_.try_emplace(row.id, index);
  nodes_.push_back(std::move(row));
  return index;
}

// Lines are counted from 0 in `callFrame`, and from 1 in old files, which have its members in the node itself.
void ChromeProfileReader::read_call_frame(const Json& node, Node& row) {
  const Json call = node["callFrame"].is_object() ? node["callFrame"] : node;
  std::string storage;
  std::string_view name = call["functionName"].text(storage);
  row.is_root = name == kRoot;
  if (name.empty()) name = "(anonymous)";
  model::Function function{.name = assembler_.string(name), .named = true};
  const int64_t line = call["lineNumber"].integer(-1) + (node["callFrame"].is_object() ? 1 : 0);
  if (line > 0 && line <= UINT32_MAX) function.start_line = static_cast<uint32_t>(line);
  row.frame = {.mapping = mapping_, .function = assembler_.function(function)};
  row.frame.file = assembler_.string(call["url"].text(storage));
}

void ChromeProfileReader::add_samples(const Json& samples) {
  for (const Json sample : samples.elements()) samples_.push_back(sample.integer(-1));
}

void ChromeProfileReader::add_deltas(const Json& deltas) {
  by_deltas_ = true;
  for (const Json delta : deltas.elements()) {
    last_time_ = checked_time(last_time_ + delta.number());
    times_.push_back(last_time_);
  }
}

void ChromeProfileReader::add_timestamps(const Json& timestamps) {
  for (const Json time : timestamps.elements()) times_.push_back(checked_time(time.number()));
}

void ChromeProfileReader::link_children() {
  for (const auto& [parent, child] : children_) {
    const auto found = by_id_.find(child);
    if (found != by_id_.end() && by_id_.contains(parent)) nodes_[found->second].parent = parent;
  }
  children_.clear();
}

// Follows the parents up to one whose stack is known, then comes back. Nodes that are their own ancestors are refused.
model::StackId ChromeProfileReader::stack_of(size_t node) {
  stacks_.resize(nodes_.size());
  std::vector<size_t> path;
  model::StackId stack;
  for (size_t at = node;;) {
    if (stacks_[at]) {
      stack = *stacks_[at];
      break;
    }
    path.push_back(at);
    if (path.size() > nodes_.size()) throw MalformedJson{"a node is its own ancestor"};
    const auto parent = by_id_.find(nodes_[at].parent);
    if (parent == by_id_.end() || nodes_[at].parent == -1) break;
    at = parent->second;
  }
  for (size_t left = path.size(); left > 0; --left) {
    const Node& row = nodes_[path[left - 1]];
    if (!row.is_root) stack = assembler_.stack(stack, assembler_.frame(row.frame));
    stacks_[path[left - 1]] = stack;
  }
  return stack;
}

model::EventId ChromeProfileReader::event(std::string_view name, std::string_view unit) {
  return assembler_.event({assembler_.string(name), assembler_.string(unit)});
}

void ChromeProfileReader::emit(model::ThreadId thread) {
  link_children();
  if (samples_.empty()) {
    emit_hits(thread);
    return;
  }
  if (times_.size() != samples_.size()) {
    throw MalformedJson{fmt::format("it has {} samples and {} times of them", samples_.size(), times_.size())};
  }
  const double offset = by_deltas_ ? start_.value_or(0) : 0;
  std::vector<size_t> order(samples_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return times_[a] < times_[b]; });
  model::ProfileAssembler::Sample row{.event = event(kChromeSampleEvent, "ns"), .thread = thread};
  for (size_t i = 0; i < order.size(); ++i) {
    const auto node = by_id_.find(samples_[order[i]]);
    if (node == by_id_.end()) {
      ++assembler_.quality()[Reason::malformed_records];
      continue;
    }
    const uint64_t time = nanoseconds(offset + times_[order[i]]);
    // The last lasts to the end of the profile, where that is told.
    const uint64_t until = i + 1 < order.size() ? nanoseconds(offset + times_[order[i + 1]])
                                                : std::max(time, nanoseconds(end_.value_or(0)));
    row.stack = stack_of(node->second);
    row.value = until - time;
    row.time = time;
    assembler_.sample(row);
  }
}

// By node, and by line where nodes tell it.
void ChromeProfileReader::emit_hits(model::ThreadId thread) {
  const model::EventId samples = event("samples", "samples");
  for (size_t i = 0; i < nodes_.size(); ++i) {
    int64_t left = nodes_[i].hits;
    if (left <= 0) continue;
    const model::StackId stack = stack_of(i);
    const auto add = [&](model::StackId at, int64_t hits) {
      const auto count = static_cast<uint64_t>(hits);
      assembler_.sample({.stack = at, .event = samples, .thread = thread, .count = count, .value = count});
      left -= hits;
    };
    for (const auto& [line, ticks] : nodes_[i].line_hits) {
      if (left <= 0 || !stack || nodes_[i].is_root) break;
      model::Frame frame = nodes_[i].frame;
      frame.line = line;
      add(assembler_.stack(assembler_.so_far().stacks[stack].parent, assembler_.frame(frame)),
          std::min(left, static_cast<int64_t>(std::min<uint64_t>(ticks, INT64_MAX))));
    }
    if (left > 0) add(stack, left);
  }
}

namespace {

std::string refusal(base::Bytes bytes) { return json_refusal(bytes, JsonProfile::kCpuProfileJson); }

base::Result<model::Profile> read(base::Bytes bytes) {
  TEPHRA_TRY(const JsonTape tape, JsonTape::parse(base::as_text(bytes)));
  const Json root = tape.root();
  model::ProfileAssembler assembler;
  try {
    ChromeProfileReader reader(assembler);
    if (root["head"].is_object()) {
      reader.add_tree(root["head"]);
    } else {
      reader.add_nodes(root["nodes"]);
    }
    reader.add_samples(root["samples"]);
    if (root["timeDeltas"].is_array()) {
      reader.add_deltas(root["timeDeltas"]);
    } else {
      reader.add_timestamps(root["timestamps"]);
    }
    if (root["startTime"].is_number()) reader.set_start(root["startTime"].number());
    // Old files tell seconds here, beside microseconds of samples.
    if (root["endTime"].is_number()) reader.set_end(root["endTime"].number() * (root["head"].is_object() ? 1e6 : 1));
    reader.emit(assembler.thread({}));
  } catch (const MalformedJson& malformed) {
    return base::failed("cannot read", "", malformed.why);
  }
  assembler.facts().format = "chrome-cpuprofile";
  assembler.facts().engine = model::kEngineImported;
  return std::move(assembler).finish();
}

}  // namespace

const Format kChromeProfile{
    .name = "cpuprofile",
    .summary = "CPU profiles of V8: Chrome and node",
    .endings = ".cpuprofile",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
