#include "formats/perf_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "formats/perf_script_header.h"
#include "formats/plain_text.h"
#include "formats/script_blocks.h"
#include "formats/script_stacks.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using base::Bytes;
using model::Reason;

// A sample as its event line tells it, with the number of its stack in the lane that read it.
struct Row {
  uint32_t stack = 0;
  uint32_t thread = 0;
  uint32_t event = 0;
  int32_t cpu = -1;
  uint64_t period = 1;
  uint64_t time = 0;
};

struct ThreadName {
  int32_t pid;
  int32_t tid;
  std::string_view comm;
  bool operator==(const ThreadName&) const = default;
};

struct EventName {
  std::string_view name;
  bool periods = false;
};

// Which of a text's columns every sample has.
struct Columns {
  bool time = true;
  bool cpu = true;
};

// What one thread reads. Stacks are texts yet, each once.
class Lane {
 public:
  std::vector<Row> read(std::string_view piece) {
    rows_.clear();
    for_each_block(piece, [this](const ScriptBlock& block) { add(block); });
    return std::move(rows_);
  }

  std::vector<std::string_view> stacks;  // frame lines, or the one that stands behind an event
  std::vector<ThreadName> threads;
  std::vector<EventName> events;
  Columns columns;
  uint64_t malformed = 0;

 private:
  void add(const ScriptBlock& block) {
    const auto header = parse_script_header(block.head);
    const uint32_t body = number_of(block.body);
    if (header && !holds_headers_[body]) return add(*header, body, block.body);
    add_line_by_line(block.text);
  }

  void add(const ScriptHeader& header, uint32_t stack, std::string_view body) {
    if (body.empty() && !header.rest.empty()) stack = number_of(place_in(header.rest));
    Row row{.stack = stack, .thread = number_of_thread(header), .event = number_of_event(header)};
    if (header.period) row.period = *header.period;
    if (header.time) row.time = *header.time;
    if (header.cpu) row.cpu = *header.cpu;
    columns.time = columns.time && header.time;
    columns.cpu = columns.cpu && header.cpu;
    rows_.push_back(row);
  }

  // A block of several samples, or one with frames above its event line.
  void add_line_by_line(std::string_view block) {
    std::optional<ScriptHeader> header;
    const char* body = block.data();
    const auto finish = [&](const char* end) {
      const std::string_view lines(body, static_cast<size_t>(end - body));
      if (header) add(*header, number_of(lines), lines);
    };
    while (!block.empty()) {
      const char* begin = block.data();
      const std::string_view line = take_line(block);
      if (line.starts_with('#')) continue;
      auto next = parse_script_header(line);
      if (!next) {
        malformed += !header;
        continue;
      }
      finish(begin);
      header = next;
      body = block.data();
    }
    finish(block.data());
  }

  uint32_t number_of(std::string_view body) {
    const uint32_t known = numbers_.add(key_of(body));
    if (known != KeyNumbers::kNew) return known;
    stacks.push_back(body);
    bool holds_headers = false;
    for (std::string_view left = body; !left.empty() && !holds_headers;) {
      holds_headers = parse_script_header(take_line(left)).has_value();
    }
    holds_headers_.push_back(holds_headers);
    return static_cast<uint32_t>(stacks.size() - 1);
  }

  uint32_t number_of_thread(const ScriptHeader& header) {
    const ThreadName name{header.pid, header.tid, header.comm};
    // Most samples are of the thread before, or of one that was seen a little before.
    if (last_thread_ < threads.size() && threads[last_thread_] == name) return last_thread_;
    const uint64_t ids = static_cast<uint64_t>(static_cast<uint32_t>(name.pid)) << 32 | static_cast<uint32_t>(name.tid);
    TextKey key = key_of(name.comm);
    key.first ^= base::mix(ids, 1);
    key.second ^= base::mix(ids, 2);
    last_thread_ = thread_numbers_.add(key);
    if (last_thread_ == KeyNumbers::kNew) {
      last_thread_ = static_cast<uint32_t>(threads.size());
      threads.push_back(name);
    }
    return last_thread_;
  }

  uint32_t number_of_event(const ScriptHeader& header) {
    // Most samples are of the event before.
    const bool same = last_event_ < events.size() && events[last_event_].name == header.event;
    if (!same) last_event_ = event_numbers_.add(key_of(header.event));
    if (last_event_ == KeyNumbers::kNew) {
      last_event_ = static_cast<uint32_t>(events.size());
      events.push_back({header.event});
    }
    events[last_event_].periods = events[last_event_].periods || header.period;
    return last_event_;
  }

  std::vector<Row> rows_;
  KeyNumbers numbers_;
  std::vector<char> holds_headers_;
  KeyNumbers thread_numbers_;
  uint32_t last_thread_ = 0;
  KeyNumbers event_numbers_;
  uint32_t last_event_ = 0;
};

// What the comments above the samples tell of the recording.
void read_facts(std::string_view text, model::RecordingFacts& facts) {
  while (text.starts_with('#')) {
    std::string_view line = take_line(text);
    const auto fact = parse_script_fact(line);
    if (!fact) continue;
    const auto [name, value] = *fact;
    if (name == "hostname") facts.host = value;
    if (name == "os release") facts.os_release = value;
    if (name == "arch") facts.arch = value;
    if (name == "cmdline") facts.command_line = value;
    if (name == kScriptDefaultEvent) facts.default_event = value;
  }
}

// Clocks count nanoseconds, whatever is written behind their name.
std::string_view unit_of(const EventName& event) {
  if (!event.periods) return "samples";
  const bool clock = event.name.starts_with("cpu-clock") || event.name.starts_with("task-clock");
  return clock ? "ns" : "events";
}

// Joins what the lanes read, in the order of the text.
class Joiner {
 public:
  void add(const Lane& lane) {
    columns_.time = columns_.time && lane.columns.time;
    columns_.cpu = columns_.cpu && lane.columns.cpu;
    assembler_.quality()[Reason::malformed_records] += lane.malformed;
  }

  // Times that are all 0 were not known to whoever wrote them.
  void settle(const std::vector<std::vector<Row>>& rows) {
    bool any = false;
    for (const auto& piece : rows) {
      any = any || std::any_of(piece.begin(), piece.end(), [](const Row& row) { return row.time != 0; });
    }
    columns_.time = columns_.time && any;
  }

  struct Ids {
    std::vector<std::optional<model::StackId>> stacks;
    std::vector<std::optional<model::ThreadId>> threads;
    std::vector<std::optional<model::EventId>> events;
  };

  void add(const Lane& lane, Ids& ids, const std::vector<Row>& rows) {
    ids.stacks.resize(lane.stacks.size());
    ids.threads.resize(lane.threads.size());
    ids.events.resize(lane.events.size());
    for (const Row& row : rows) {
      auto& stack = ids.stacks[row.stack];
      auto& thread = ids.threads[row.thread];
      auto& event = ids.events[row.event];
      if (!stack) stack = stacks_.read(lane.stacks[row.stack]);
      if (!thread) thread = thread_of(lane.threads[row.thread]);
      if (!event) event = event_of(lane.events[row.event]);
      assembler_.sample({.stack = *stack,
                         .event = *event,
                         .thread = *thread,
                         .value = row.period,
                         .time = columns_.time ? std::optional(row.time) : std::nullopt,
                         .cpu = columns_.cpu ? std::optional(row.cpu) : std::nullopt});
    }
  }

  model::Profile finish(std::string_view text) && {
    assembler_.quality()[Reason::malformed_records] += stacks_.malformed();
    auto& facts = assembler_.facts();
    facts.format = "perf-script";
    facts.engine = model::kEngineImported;
    read_facts(text, facts);
    facts.comments = script_verdicts(text);
    const auto& times = assembler_.so_far().samples.time;
    if (!times.empty()) {
      const auto [first, last] = std::minmax_element(times.begin(), times.end());
      facts.first_time = *first;
      facts.last_time = *last;
    }
    return std::move(assembler_).finish();
  }

 private:
  model::ThreadId thread_of(const ThreadName& name) {
    return assembler_.thread({name.pid, name.tid, assembler_.string(name.comm)});
  }
  // One row for an event, whether or not the lane saw a period.
  model::EventId event_of(const EventName& event) {
    const std::string_view name = event.name.empty() ? "samples" : event.name;
    const auto known = units_.try_emplace(std::string(name), unit_of(event)).first;
    return assembler_.event({assembler_.string(name), assembler_.string(known->second)});
  }

  Columns columns_;
  model::ProfileAssembler assembler_;
  ScriptStacks stacks_{assembler_};
  std::unordered_map<std::string, std::string_view> units_;
};

base::Result<model::Profile> read(Bytes bytes) {
  const PlainText plain(bytes);
  const ScriptPieces pieces(plain.text());
  std::vector<std::unique_ptr<Lane>> lanes(std::min<size_t>(base::worker_count(), pieces.size()));
  std::vector<std::vector<Row>> rows(pieces.size());
  std::vector<size_t> lane_of(pieces.size());
  std::atomic<size_t> next{0};
  base::parallel_for(lanes.size(), [&](size_t lane) {
    lanes[lane] = std::make_unique<Lane>();
    for (size_t piece = next++; piece < pieces.size(); piece = next++) {
      rows[piece] = lanes[lane]->read(pieces[piece]);
      lane_of[piece] = lane;
    }
  });
  Joiner joiner;
  for (const auto& lane : lanes) joiner.add(*lane);
  joiner.settle(rows);
  std::vector<Joiner::Ids> ids(lanes.size());
  for (size_t piece = 0; piece < pieces.size(); ++piece) {
    joiner.add(*lanes[lane_of[piece]], ids[lane_of[piece]], rows[piece]);
    std::vector<Row>().swap(rows[piece]);
  }
  return std::move(joiner).finish(plain.text());
}

bool is_frame(std::string_view line) { return is_frame_line(line) && !parse_script_header(line); }

// The first line that is no comment must be an event line. That alone could be many things: frames below it, or a time
// and an event, make it sure. Most lines below other text that ends in a number are no frames.
std::string refusal(Bytes bytes) {
  const PlainText plain(beginning(bytes));
  std::string_view text = plain.text();
  if (text.find('\0') != std::string_view::npos) return "it is not text";
  std::string_view line;
  while (!text.empty() && (line.empty() || line.starts_with('#'))) line = take_line(text);
  const auto header = parse_script_header(line);
  if (!header) return "its first line is no event line";
  std::string_view below = take_line(text);
  if (is_frame(below)) return {};
  if (below.empty() && is_frame(take_line(text))) return "an empty line parts its first event line from the frames";
  return header->time && !header->event.empty() ? "" : "its first event line has no frames below it";
}

}  // namespace

const Format kPerfScript{
    .name = "perf-script",
    .summary = "the text of perf script",
    .endings = ".perf-script .perfscript .perf.txt",
    .refusal = refusal,
    .read = read,
    .write = write_perf_script,
    .single_samples = true,
};

}  // namespace tephra::formats
