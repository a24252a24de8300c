#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json_tape.h"
#include "base/number_hash.h"
#include "model/profile_assembler.h"

namespace tephra::formats {

inline constexpr std::string_view kChromeSampleEvent = "wall-clock";

// A profile of V8 while it is read, whole or in parts: a tree of nodes, and samples that name one and when it was.
// Throws MalformedJson.
class ChromeProfileReader {
 public:
  explicit ChromeProfileReader(model::ProfileAssembler& assembler);

  // A list of nodes, which name their children or parent by number; or one node with its children within.
  void add_nodes(const base::Json& nodes);
  void add_tree(const base::Json& head);
  void add_samples(const base::Json& samples);
  // Microseconds between samples, the first from the start on; or of each.
  void add_deltas(const base::Json& deltas);
  void add_timestamps(const base::Json& timestamps);
  void set_start(double microseconds) { start_ = microseconds; }
  void set_end(double microseconds) { end_ = microseconds; }

  // Makes samples of what was added: each has the time up to the next. Without any, nodes tell how often they were hit.
  void emit(model::ThreadId thread);
  bool has_samples() const { return !samples_.empty(); }

 private:
  struct Node {
    int64_t id = 0;
    int64_t parent = -1;  // an id, -1: none
    model::Frame frame;
    bool is_root = false;
    int64_t hits = 0;
    std::vector<std::pair<uint32_t, uint64_t>> line_hits;
  };

  size_t add_node(const base::Json& node);
  void read_call_frame(const base::Json& node, Node& row);
  void link_children();
  model::StackId stack_of(size_t node);
  model::EventId event(std::string_view name, std::string_view unit);
  void emit_hits(model::ThreadId thread);

  model::ProfileAssembler& assembler_;
  model::MappingId mapping_;
  std::vector<Node> nodes_;
  std::unordered_map<int64_t, size_t, base::NumberHash> by_id_;
  std::vector<std::pair<int64_t, int64_t>> children_;  // parent and child, by id
  std::vector<std::optional<model::StackId>> stacks_;
  std::vector<int64_t> samples_;
  std::vector<double> times_;
  double last_time_ = 0;
  bool by_deltas_ = false;
  std::optional<double> start_;
  std::optional<double> end_;
};

}  // namespace tephra::formats
