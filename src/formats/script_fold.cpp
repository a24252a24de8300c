#include "formats/script_fold.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "formats/perf_script_header.h"
#include "formats/plain_text.h"
#include "formats/script_blocks.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

uint64_t plus(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

// No period, and a period of 0, count as 1.
uint64_t weight_of(std::string_view period) {
  if (period.empty() || period == "0") return 1;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(period.data(), period.data() + period.size(), value);
  return error == std::errc{} ? value : UINT64_MAX;
}

// A text that stays where it is, and what was counted under it.
struct Line {
  TextKey key;
  std::string text;
  uint64_t weight = 0;
};

class FoldedTable {
 public:
  uint32_t number_of(std::string text) {
    const TextKey key = key_of(text);
    const uint32_t known = numbers_.add(key);
    if (known != KeyNumbers::kNew) return known;
    lines_.push_back({key, std::move(text)});
    return static_cast<uint32_t>(lines_.size() - 1);
  }
  void count(uint32_t number, uint64_t weight) { lines_[number].weight = plus(lines_[number].weight, weight); }

  void add(FoldedTable&& other) {
    for (Line& line : other.lines_) {
      const uint64_t weight = line.weight;
      const uint32_t known = numbers_.add(line.key);
      if (known == KeyNumbers::kNew) {
        lines_.push_back(std::move(line));
      } else {
        count(known, weight);
      }
    }
    other = {};
  }

  std::string text() && {
    std::sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.text < b.text; });
    constexpr size_t kLongestNumber = 20;
    size_t size = 0;
    for (const Line& line : lines_) size += line.text.size() + kLongestNumber + 2;
    std::string text;
    text.reserve(size);
    for (Line& line : lines_) {
      text.append(line.text).append(" ").append(std::to_string(line.weight)).append("\n");
      std::string().swap(line.text);
    }
    return text;
  }

 private:
  KeyNumbers numbers_;
  std::deque<Line> lines_;
};

// The texts of frames, each made once. Addresses and offsets count only where they are shown.
class FrameTable {
 public:
  FrameTable(const ScriptNameOptions& options, bool java) : options_(options), java_(java) {}

  const FrameTexts* texts_of(const FrameLine& frame) {
    TextKey key = key_of(without_offset(frame.function));
    const TextKey module = key_of(frame.module);
    key.first += base::mix(module.first, 1);
    key.second += base::mix(module.second, 2);
    if (options_.addresses) key.first += base::mix(key_of(frame.address).first, 3);
    const uint32_t known = numbers_.add(key);
    if (known != KeyNumbers::kNew) return &texts_[known];
    return &texts_.emplace_back(frame_texts(frame, options_, java_));
  }

 private:
  const ScriptNameOptions& options_;
  const bool java_;
  KeyNumbers numbers_;
  std::deque<FrameTexts> texts_;
};

// A line of perf script -F +srcline: what is in brackets says nothing that can be read.
std::string source_of(std::string_view line) {
  std::string text;
  const size_t last = line.rfind(']');  // none is searched for behind it
  for (size_t at = 0; at < line.size(); ++at) {
    const bool bracket = line[at] == '[' && last != std::string_view::npos && at < last;
    const size_t end = bracket ? line.find(']', at) : std::string_view::npos;
    if (end == std::string_view::npos) {
      text += line[at];
    } else {
      at = end;
    }
  }
  size_t begin = 0;
  while (begin < text.size() && is_space(text[begin])) ++begin;
  while (text.size() > begin && is_space(text.back())) text.pop_back();
  return text.substr(begin);
}

// What one thread folds.
class Lane {
 public:
  Lane(const ScriptFoldOptions& options, const std::string& event)
      : options_(options), event_(event), frames_{{options.names, false}, {options.names, true}} {}

  void read(std::string_view piece) {
    for_each_block(piece, [this](const ScriptBlock& block) { add(block); });
  }

  FoldedTable folded;
  uint64_t samples = 0;
  uint64_t unrecognised = 0;
  bool other_events = false;

  // Adds samples by the named and the other frames of their stacks.
  void add_stacks(std::map<std::pair<uint32_t, uint32_t>, uint64_t>& sums) {
    forget_bodies();
    for (const auto& [frames, count] : frames_of_samples_) sums[frames] += count;
  }

 private:
  struct Process {
    std::string name;
    bool java = false;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMostStacks = 1 << 16;
  struct Body {
    uint32_t unrecognised = 0;
    bool irregular = false;  // holds event lines: the block has to be read line by line
    // The process that had it last, and the stack of both.
    uint32_t process = kNone;
    uint32_t stack = 0;
  };
  struct Stack {
    uint32_t line = 0;
    uint32_t named = 0;
    uint32_t unnamed = 0;
    uint64_t samples = 0;
  };

  void add(const ScriptBlock& block) {
    const auto event = options_.srcline ? std::nullopt : parse_event_line(block.head);
    if (!event) return add_line_by_line(block.text);
    if (stacks_.size() >= kMostStacks || bodies_.size() >= kMostStacks) forget_bodies();
    Body& body = body_of(block.body);
    if (body.irregular) return add_line_by_line(block.text);
    unrecognised += body.unrecognised;
    if (!takes(*event, block.head)) return;
    const uint32_t process = number_of_process(*event);
    if (body.process != process) {
      body.process = process;
      body.stack = number_of_stack(process, block.body, body);
    }
    count(stacks_[body.stack], *event);
  }

  uint32_t number_of_stack(uint32_t process, std::string_view body, const Body& row) {
    const auto number = static_cast<uint64_t>(&row - bodies_.data());
    const uint32_t known = stack_numbers_.add({base::mix(process, number), uint64_t{process} << 32 | number});
    if (known != KeyNumbers::kNew) return known;
    stacks_.push_back(make_stack(processes_[process], body));
    return static_cast<uint32_t>(stacks_.size() - 1);
  }

  // Text of which no stack returns must not fill the memory with what is known of each.
  void forget_bodies() {
    for (const Stack& stack : stacks_) frames_of_samples_[{stack.named, stack.unnamed}] += stack.samples;
    body_numbers_ = {};
    stack_numbers_ = {};
    bodies_.clear();
    stacks_.clear();
  }

  bool takes(const EventLine& event, std::string_view line) {
    if (event.event && *event.event != event_) {
      other_events = true;
      return false;
    }
    return !options_.takes || options_.takes(line);
  }

  void count(Stack& stack, const EventLine& event) {
    folded.count(stack.line, options_.counts ? 1 : weight_of(event.period));
    ++samples;
    ++stack.samples;
  }

  Body& body_of(std::string_view text) {
    const uint32_t known = body_numbers_.add(key_of(text));
    if (known != KeyNumbers::kNew) return bodies_[known];
    Body& body = bodies_.emplace_back();
    lines_.clear();
    lines_of_ = text.data();
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      if (line.starts_with('#')) continue;
      if (const auto event = parse_event_line(line)) {
        body.irregular = true;
      } else if (const auto frame = parse_frame_line(line)) {
        lines_.push_back(*frame);
      } else {
        ++body.unrecognised;
      }
    }
    return body;
  }

  // Its first frame: the name, and the numbers that are asked for.
  uint32_t number_of_process(const EventLine& event) {
    // Most samples are of the process before.
    const bool same = event.comm == last_.comm && (!options_.pid || event.pid == last_.pid) &&
                      (!options_.tid || (event.tid == last_.tid && event.pid == last_.pid));
    if (same && last_process_ != kNone) return last_process_;
    last_ = event;
    scratch_.assign(event.comm);
    std::replace(scratch_.begin(), scratch_.end(), ' ', '_');
    if (options_.tid || options_.pid) {
      scratch_ += '-';
      scratch_ += event.pid.empty() ? "?" : event.pid;
    }
    if (options_.tid) scratch_.append("/").append(event.tid);
    const auto known = process_numbers_.find(scratch_);
    if (known != process_numbers_.end()) return last_process_ = known->second;
    last_process_ = static_cast<uint32_t>(processes_.size());
    processes_.push_back({scratch_, scratch_.starts_with("java")});
    process_numbers_.emplace(scratch_, last_process_);
    return last_process_;
  }

  Stack make_stack(const Process& process, std::string_view body) {
    if (body.data() != lines_of_) read_lines(body);
    stack_frames_.clear();
    for (const FrameLine& line : lines_) stack_frames_.push_back(frames_[process.java].texts_of(line));
    return make_stack(process.name);
  }

  // Of a body that was seen before, and is regular.
  void read_lines(std::string_view body) {
    lines_.clear();
    lines_of_ = body.data();
    while (!body.empty()) {
      const std::string_view line = take_line(body);
      const auto frame = line.starts_with('#') ? std::nullopt : parse_frame_line(line);
      if (frame) lines_.push_back(*frame);
    }
  }

  // Of `stack_frames_`, which begin with the innermost.
  Stack make_stack(const std::string& process) {
    Stack stack;
    std::string text = process;
    for (auto at = stack_frames_.rbegin(); at != stack_frames_.rend(); ++at) {
      if ((*at)->frames == 0) continue;
      text.append(";").append((*at)->text);
      stack.named += (*at)->named;
      stack.unnamed += (*at)->frames - (*at)->named;
    }
    stack.line = folded.number_of(std::move(text));
    return stack;
  }

  // As it was meant: each line by itself, whatever came before.
  void add_line_by_line(std::string_view block) {
    std::optional<EventLine> event;
    std::deque<FrameTexts> texts;
    while (!block.empty()) {
      const std::string_view line = take_line(block);
      if (line.starts_with('#')) continue;
      if (const auto next = parse_event_line(line)) {
        if (takes(*next, line)) event = next;
      } else if (const auto frame = parse_frame_line(line)) {
        if (event) texts.push_back(read_frame(*frame, *event, block));
      } else {
        ++unrecognised;
      }
    }
    if (!event) return;
    stack_frames_.clear();
    for (const FrameTexts& frame : texts) stack_frames_.push_back(&frame);
    Stack stack = make_stack(processes_[number_of_process(*event)].name);
    count(stack, *event);
    frames_of_samples_[{stack.named, stack.unnamed}] += stack.samples;
  }

  // `rest` is what follows, of which the line with the source's place is taken.
  FrameTexts read_frame(const FrameLine& frame, const EventLine& event, std::string_view& rest) {
    const bool java = processes_[number_of_process(event)].java;
    if (!options_.srcline) return frame_texts(frame, options_.names, java);
    const bool nothing_known = frame.module == "[unknown]" && without_offset(frame.function) == "[unknown]";
    return frame_texts(frame, options_.names, java, nothing_known ? "" : source_of(take_line(rest)));
  }

  const ScriptFoldOptions& options_;
  const std::string& event_;
  FrameTable frames_[2];  // of threads that are called java, and before those of others
  KeyNumbers body_numbers_;
  std::vector<Body> bodies_;
  std::vector<FrameLine> lines_;    // of the body that was read last,
  const char* lines_of_ = nullptr;  // which begins here
  std::vector<Process> processes_;
  std::unordered_map<std::string, uint32_t> process_numbers_;
  EventLine last_;
  uint32_t last_process_ = kNone;
  std::vector<Stack> stacks_;
  KeyNumbers stack_numbers_;  // by process and body
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> frames_of_samples_;
  std::vector<const FrameTexts*> stack_frames_;
  std::string scratch_;
};

std::string first_event(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.empty() || is_space(line[0])) continue;
    if (line[0] == '#') {
      const auto fact = parse_script_fact(line);
      if (fact && fact->name == kScriptDefaultEvent) return std::string(fact->value);
      continue;
    }
    const auto parsed = parse_event_line(line);
    if (parsed && parsed->event) return std::string(*parsed->event);
  }
  return {};
}

// The kernel maps what lies around a page that is read, too. So where two pieces meet, memory of the one that was
// forgotten first comes back, and is forgotten again when nobody is near.
std::string_view earlier_seam(std::string_view text, std::string_view part) {
  constexpr size_t kAround = 128 << 10;
  constexpr size_t kFar = 16 << 20;
  const auto begin = static_cast<size_t>(part.data() - text.data());
  return begin < kFar + kAround ? std::string_view{} : text.substr(begin - kFar - kAround, 2 * kAround + part.size());
}

bool holds_event(std::string_view text) {
  while (!text.empty()) {
    if (parse_event_line(take_line(text))) return true;
  }
  return false;
}

// What stands behind the last empty line. stackcollapse-perf.pl takes it for cut off, and leaves it out.
std::string_view unfinished(std::string_view text) {
  const size_t end = text.rfind("\n\n");
  const std::string_view last = end == std::string_view::npos ? text : text.substr(end + 2);
  return holds_event(last) ? last : std::string_view{};
}

}  // namespace

FoldedScript fold_script(std::string_view text, const ScriptFoldOptions& options,
                         const std::function<void(std::string_view)>& done_with) {
  FoldedScript result;
  result.verdicts = script_verdicts(text);
  if (options.names.rules == NameRules::kFlameGraph) {
    const std::string_view last = unfinished(text);
    result.cut = !last.empty();
    text.remove_suffix(last.size());
  }
  result.event = options.event.empty() ? first_event(text) : options.event;
  const ScriptPieces pieces(text);
  std::vector<std::unique_ptr<Lane>> lanes(std::min<size_t>(base::worker_count(), pieces.size()));
  std::atomic<size_t> next{0};
  base::parallel_for(lanes.size(), [&](size_t lane) {
    lanes[lane] = std::make_unique<Lane>(options, result.event);
    for (size_t piece = next++; piece < pieces.size(); piece = next++) {
      const std::string_view part = pieces[piece];
      lanes[lane]->read(part);
      if (!done_with) continue;
      done_with(part);
      done_with(earlier_seam(text, part));
    }
  });
  FoldedTable all;
  for (auto& lane : lanes) {
    all.add(std::move(lane->folded));
    result.samples += lane->samples;
    result.unrecognised += lane->unrecognised;
    result.other_events = result.other_events || lane->other_events;
    lane->add_stacks(result.stacks);
    lane.reset();
  }
  result.text = std::move(all).text();
  return result;
}

model::Profile summary_of(const FoldedScript& folded) {
  model::ProfileAssembler assembler;
  const auto mapping = assembler.mapping({.kind = model::CodeKind::kImported});
  const auto frame = [&](std::string_view name, bool named) {
    const auto function = assembler.function({.name = assembler.string(name), .named = named});
    return assembler.frame({.mapping = mapping, .function = function});
  };
  const auto named = frame("named", true);
  const auto unnamed = frame("[unknown]", false);
  const auto event = assembler.event({.name = assembler.string(folded.event)});
  const auto thread = assembler.thread({});
  for (const auto& [frames, samples] : folded.stacks) {
    model::StackId stack;
    for (uint32_t i = 0; i < frames.first; ++i) stack = assembler.stack(stack, named);
    for (uint32_t i = 0; i < frames.second; ++i) stack = assembler.stack(stack, unnamed);
    assembler.sample({.stack = stack, .event = event, .thread = thread, .count = samples, .value = samples});
  }
  assembler.quality()[model::Reason::malformed_records] = folded.unrecognised;
  assembler.quality()[model::Reason::file_truncated] = folded.cut;
  assembler.facts().comments = folded.verdicts;
  assembler.facts().format = "perf-script";
  assembler.facts().engine = model::kEngineImported;
  return std::move(assembler).finish();
}

}  // namespace tephra::formats
