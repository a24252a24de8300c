#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <unordered_map>

#include "base/json_tape.h"
#include "formats/chrome.h"
#include "formats/chrome_profile.h"
#include "formats/json_profile.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonTape;
using model::Reason;

// Events of which stacks are not made: instants, counters, asynchronous and flow events, objects, marks, samples of
// old.
constexpr std::string_view kOtherPhases = "iIRCbneSTpFstfNODPvVcaM(),";

// Begin and length are rounded apart, so that a span may seem to end after the one it is in.
constexpr uint64_t kResolution = 1000;

// Something that a thread did, from when to when, in nanoseconds.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
  model::StringId name;
};

// A begin or an end of a span that are told apart.
struct Edge {
  uint64_t time = 0;
  model::StringId name;
  bool begins = false;
};

// What could not be made spans of, by reason.
struct Troubles {
  uint64_t ends_without_begin = 0;
  uint64_t begins_without_end = 0;
  uint64_t unfinished = 0;  // when the trace ended, which is no fault of it
  uint64_t out_of_order = 0;
  uint64_t overlapping = 0;
};

class Thread {
 public:
  void add(const Span& span) { spans_.push_back(span); }

  void add(const Edge& edge, Troubles& troubles) {
    troubles.out_of_order += !edges_.empty() && edge.time < edges_.back().time;
    edges_.push_back(edge);
  }

  // Makes spans of begins and ends. An end closes the innermost that has its name; what was within it had no end.
  void pair_edges(Troubles& troubles) {
    std::stable_sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
    std::vector<Edge> open;
    std::unordered_map<model::StringId, size_t> names;  // of those that are open: an end of none is not searched for
    for (const Edge& edge : edges_) {
      if (edge.begins) {
        open.push_back(edge);
        ++names[edge.name];
        continue;
      }
      if (open.empty() || (edge.name && names[edge.name] == 0)) {
        ++troubles.ends_without_begin;
        continue;
      }
      const auto begun = std::find_if(open.rbegin(), open.rend(),
                                      [&](const Edge& other) { return !edge.name || other.name == edge.name; });
      const auto keep = static_cast<size_t>(open.rend() - begun) - 1;
      troubles.begins_without_end += open.size() - keep - 1;
      for (size_t i = keep; i < open.size(); ++i) {
        spans_.push_back({open[i].time, edge.time, open[i].name});
        --names[open[i].name];
      }
      open.resize(keep);
    }
    // Those that are open at the end lasted up to the last thing that is known of the thread.
    troubles.unfinished += open.size();
    uint64_t last = edges_.empty() ? 0 : edges_.back().time;
    for (const Span& span : spans_) last = std::max(last, span.end);
    for (const Edge& edge : open) spans_.push_back({edge.time, last, edge.name});
    edges_.clear();
  }

  // Calls emit(begin, end, open, same) for every stretch of time in which the same spans are open, outermost first; the
  // first `same` of them are those of the stretch before. A span that ends after the one that it began in is cut there.
  template <class Emit>
  void for_each_stretch(Troubles& troubles, Emit emit) {
    std::stable_sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Span> open;
    uint64_t now = 0;
    size_t same = 0;
    const auto advance = [&](uint64_t to) {
      while (!open.empty()) {
        const uint64_t end = std::min(open.back().end, to);
        if (end > now) {
          emit(now, end, open, same);
          same = open.size();
        }
        now = std::max(now, end);
        if (open.back().end > to) return;
        open.pop_back();
        same = std::min(same, open.size());
      }
    };
    for (Span span : spans_) {
      advance(span.begin);
      now = span.begin;
      if (!open.empty() && span.end > open.back().end) {
        troubles.overlapping += span.end - open.back().end > kResolution;
        span.end = open.back().end;
      }
      open.push_back(span);
    }
    advance(UINT64_MAX);
  }

 private:
  std::vector<Span> spans_;
  std::vector<Edge> edges_;
};

class Reader {
 public:
  model::Profile read(const Json& root, bool was_cut) && {
    const Json events = root.is_array() ? root : root["traceEvents"];
    if (!events.is_array()) throw MalformedJson{"it has no list of events"};
    mapping_ = assembler_.mapping({.kind = model::CodeKind::kImported});
    for (const Json event : events.elements()) add(event);
    if (was_cut) ++assembler_.quality()[Reason::file_truncated];
    for (auto& [key, thread] : threads_) emit(key, thread);
    for (auto& [key, profile] : profiles_) {
      if (!profile.reader.has_samples()) continue;
      profile.reader.emit(thread_id(profile.thread));
      assembler_.facts().default_event = kChromeSampleEvent;
    }
    tell_troubles();
    assembler_.facts().format = "chrome-trace";
    assembler_.facts().engine = model::kEngineImported;
    return std::move(assembler_).finish();
  }

 private:
  using Key = std::pair<int32_t, int32_t>;  // process and thread
  struct Sampled {
    Key thread;
    ChromeProfileReader reader;
  };

  void add(const Json& event) {
    const std::string phase = event["ph"].text();
    const Key key{task_id(event["pid"]), task_id(event["tid"])};
    const std::string name = event["name"].text();
    const bool timed = event["ts"].is_number() && event["ts"].number() >= 0 && event["ts"].number() < 9e15;
    if (phase == "M") {
      add_name(key, name, event["args"]["name"].text());
    } else if (name == "Profile" || name == "ProfileChunk" || name == "CpuProfile") {
      add_profile(key, name, event);
    } else if (phase == "X" && timed && event["dur"].number(-1) >= 0 && event["dur"].number() < 9e15) {
      const double begin = event["ts"].number();
      threads_[key].add(
          Span{nanoseconds(begin), nanoseconds(begin + event["dur"].number()), assembler_.string(shown(name))});
    } else if ((phase == "B" || phase == "E") && timed) {
      const bool begins = phase == "B";
      const auto text = begins ? assembler_.string(shown(name)) : assembler_.string(name);
      threads_[key].add(Edge{nanoseconds(event["ts"].number()), text, begins}, troubles_);
    } else if (phase == "X" || phase == "B" || phase == "E" || phase.empty()) {
      ++assembler_.quality()[Reason::malformed_records];
    } else if (kOtherPhases.find(phase[0]) == std::string_view::npos) {
      ++assembler_.quality()[Reason::unknown_records];
    }
  }

  static std::string_view shown(std::string_view name) { return name.empty() ? "(no name)" : name; }
  static uint64_t nanoseconds(double microseconds) { return static_cast<uint64_t>(std::llround(microseconds * 1e3)); }

  void add_name(const Key& key, std::string_view what, const std::string& name) {
    if (what == "thread_name") thread_names_[key] = name;
    if (what == "process_name") process_names_[key.first] = name;
  }

  // V8's samples: announced by one event, brought by others of the same id.
  void add_profile(const Key& key, std::string_view name, const Json& event) {
    const Json data = event["args"]["data"];
    const std::string id =
        fmt::format("{} {}", key.first,
                    event["id"].is_text() ? event["id"].text() : fmt::format("{}", event["id"].integer(key.second)));
    const auto [at, fresh] = profiles_.try_emplace(id, Sampled{key, ChromeProfileReader(assembler_)});
    if (name == "Profile") at->second.thread = key;
    ChromeProfileReader& reader = at->second.reader;
    reader.add_nodes(data["cpuProfile"]["nodes"]);
    reader.add_samples(data["cpuProfile"]["samples"]);
    const Json deltas = data["timeDeltas"].is_array() ? data["timeDeltas"] : data["cpuProfile"]["timeDeltas"];
    reader.add_deltas(deltas);
    for (const Json from : {data, data["cpuProfile"]}) {
      if (from["startTime"].is_number()) reader.set_start(from["startTime"].number());
      if (from["endTime"].is_number()) reader.set_end(from["endTime"].number());
    }
  }

  model::ThreadId thread_id(const Key& key) {
    const auto own = thread_names_.find(key);
    const auto of_process = process_names_.find(key.first);
    const std::string name = own != thread_names_.end()           ? own->second
                             : of_process != process_names_.end() ? of_process->second
                                                                  : "";
    return assembler_.thread({key.first, key.second, assembler_.string(name)});
  }

  void emit(const Key& key, Thread& thread) {
    thread.pair_edges(troubles_);
    const model::EventId event = assembler_.event({assembler_.string("spans"), assembler_.string("ns"), {}, true});
    const model::ThreadId id = thread_id(key);
    // The stack of the spans that are open, kept in step with them.
    std::vector<model::StackId> stack;
    const auto add = [&](uint64_t begin, uint64_t end, const std::vector<Span>& open, size_t same) {
      stack.resize(same);
      for (const Span& span : std::span(open).subspan(same)) {
        const model::StackId below = stack.empty() ? model::StackId{} : stack.back();
        stack.push_back(assembler_.stack(below, frame_of(span.name)));
      }
      assembler_.sample({.stack = stack.back(), .event = event, .thread = id, .value = end - begin, .time = begin});
    };
    thread.for_each_stretch(troubles_, add);
  }

  model::FrameId frame_of(model::StringId name) {
    return assembler_.frame({.mapping = mapping_, .function = assembler_.function({.name = name, .named = true})});
  }

  void tell_troubles() {
    const auto tell = [&](uint64_t count, std::string_view what) {
      if (count == 0) return;
      assembler_.facts().comments.push_back(fmt::format("{} {}", count, what));
    };
    tell(troubles_.ends_without_begin, "ends of spans without a begin, left out");
    tell(troubles_.begins_without_end, "begins of spans without an end, taken to last to the end of what they are in");
    tell(troubles_.unfinished, "spans that had not ended when the trace did, taken to last to the end");
    tell(troubles_.overlapping, "spans that end after the one they began in, cut there");
    tell(troubles_.out_of_order, "begins and ends that were not in the order of time, sorted");
    assembler_.quality()[Reason::malformed_records] +=
        troubles_.ends_without_begin + troubles_.begins_without_end + troubles_.overlapping;
  }

  model::ProfileAssembler assembler_;
  model::MappingId mapping_;
  std::map<Key, Thread> threads_;
  std::map<std::string, Sampled> profiles_;
  std::map<Key, std::string> thread_names_;
  std::map<int32_t, std::string> process_names_;
  Troubles troubles_;
};

std::string refusal(base::Bytes bytes) { return json_refusal(bytes, JsonProfile::kTraceJson); }

base::Result<model::Profile> read(base::Bytes bytes) {
  // The list needs no end, so that a program that dies leaves one that can be read.
  TEPHRA_TRY(const JsonTape tape, JsonTape::parse(base::as_text(bytes), {.ending = JsonTape::Ending::kCut}));
  try {
    return Reader().read(tape.root(), tape.was_cut());
  } catch (const MalformedJson& malformed) {
    return base::failed("cannot read", "", malformed.why);
  }
}

}  // namespace

const Format kChromeTrace{
    .name = "chrome-trace",
    .summary = "trace events of Chrome, node and Perfetto as JSON",
    .endings = ".trace.json",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
