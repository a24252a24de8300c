#include "formats/folded.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "formats/folded_lines.h"
#include "formats/joined_samples.h"
#include "formats/perf_script.h"
#include "formats/plain_text.h"
#include "model/event_weight.h"
#include "model/profile_assembler.h"

namespace tephra::formats {
namespace {

using base::Bytes;
using model::CodeKind;
using model::Reason;

constexpr std::string_view kInlinedMark = "_[i]";
constexpr std::string_view kUnknown = "[unknown]";
constexpr std::string_view kNoStack = "[no stack]";  // a line cannot begin with its number
constexpr size_t kSniffedLines = 10;

// What difffolded.pl and its like write: two numbers a line, of the time before and of the time after.
constexpr std::string_view kBefore = "before";
constexpr std::string_view kAfter = "after";

struct Line {
  std::string_view stack;
  uint64_t count = 0;
  bool fraction = false;  // that was dropped
};

std::string_view without_end(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  return line;
}

// Splits `stack COUNT`; a fraction of the count is dropped.
std::optional<Line> parse_line(std::string_view line) {
  line = without_end(line);
  const size_t space = line.rfind(' ');
  if (space == std::string_view::npos || space == 0) return std::nullopt;
  const std::string_view number = line.substr(space + 1);
  Line parsed{line.substr(0, space), 0};
  // An empty leaf is nothing.
  parsed.stack = parsed.stack.substr(0, parsed.stack.find_last_not_of("; \r") + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), parsed.count);
  if (error != std::errc{}) return std::nullopt;
  std::string_view rest(end, static_cast<size_t>(number.data() + number.size() - end));
  if (rest.starts_with('.')) {
    parsed.fraction = rest.find_first_of("123456789") != std::string_view::npos;
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("0123456789", 1)));
  }
  if (!rest.empty() || parsed.stack.empty()) return std::nullopt;
  return parsed;
}

bool is_stack_line(std::string_view line) { return !without_end(line).empty() && !line.starts_with('#'); }

// Whether each line that is a stack has two numbers; a name that ends in one is no rule.
bool is_differential(std::string_view text) {
  bool any = false;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const auto after = is_stack_line(line) ? parse_line(line) : std::nullopt;
    if (!after) continue;
    const size_t space = after->stack.rfind(' ');
    // "a; 4 5" is a frame called " 4".
    const bool behind_name = space != std::string_view::npos && space > 0 && after->stack[space - 1] != ';' &&
                             after->stack[space - 1] != ' ';
    const bool digits = behind_name && space + 1 < after->stack.size() &&
                        after->stack.find_first_not_of("0123456789.", space + 1) == std::string_view::npos;
    if (!digits || !parse_line(after->stack)) return false;
    any = true;
  }
  return any;
}

// Most lines of the beginning must be stacks, and one of them must count something, or all have several frames:
// /proc/PID/maps has lines that end in 0. Single bad lines are counted when the file is read.
std::string refusal(Bytes bytes) {
  const PlainText plain(beginning(bytes));
  std::string_view text = plain.text();
  if (text.find('\0') != std::string_view::npos) return "it is not text";
  size_t good = 0;
  size_t bad = 0;
  size_t several = 0;
  uint64_t counted = 0;
  for (size_t i = 0; i < kSniffedLines && !text.empty(); ++i) {
    const std::string_view line = take_line(text);
    if (without_end(line).empty() || line.starts_with('#')) continue;
    const auto parsed = parse_line(line);
    const bool indented = line.starts_with(' ') || line.starts_with('\t');
    ++(parsed && !indented ? good : bad);
    if (!parsed) continue;
    counted |= parsed->count;
    several += parsed->stack.find(';') != std::string_view::npos;
  }
  if (good > 2 * bad && (counted != 0 || several == good)) return {};
  return fmt::format("of its first {} lines, {} are stacks with a count", good + bad, counted != 0 ? good : 0);
}

class Reader {
 public:
  // In the order of lines, or those of one stack joined.
  explicit Reader(bool in_order) : in_order_(in_order) {}

  base::Result<model::Profile> read(std::string_view text) {
    thread_ = assembler_.thread({});
    mapping_ = assembler_.mapping({.kind = CodeKind::kImported});
    const bool differential = is_differential(text);
    const auto event = [this](std::string_view name) {
      return assembler_.event({assembler_.string(name), assembler_.string("samples")});
    };
    const model::EventId first = event(differential ? kBefore : "samples");
    const model::EventId second = differential ? event(kAfter) : first;
    while (!text.empty()) {
      const std::string_view line = take_line(text);
      if (!is_stack_line(line)) continue;
      const auto last = parse_line(line);
      const auto before = last && differential ? parse_line(last->stack) : std::nullopt;
      if (!last) {
        ++assembler_.quality()[Reason::malformed_records];
      } else if (before) {
        add(*before, before->stack, first);
        add(*last, before->stack, second);
      } else {
        add(*last, last->stack, first);
      }
    }
    samples_.move_to(assembler_);
    assembler_.facts().format = "folded";
    assembler_.facts().engine = model::kEngineImported;
    return std::move(assembler_).finish();
  }

 private:
  void add(const Line& line, std::string_view text, model::EventId event) {
    if (line.fraction) ++assembler_.quality()[Reason::fractions_dropped];
    const model::ProfileAssembler::Sample sample{
        .stack = stack(text), .event = event, .thread = thread_, .count = line.count, .value = line.count};
    if (in_order_) {
      assembler_.sample(sample);
    } else {
      samples_.add(sample);
    }
  }

  // Lines mostly begin like the one before, as sorted ones do: what they share is not looked up again.
  model::StackId stack(std::string_view text) {
    const auto differs = std::mismatch(text.begin(), text.end(), before_.begin(), before_.end()).first;
    const auto same = static_cast<size_t>(differs - text.begin());
    // A frame that ends where the texts differ may go on in one of them.
    const bool whole = same == text.size() && same == before_.size();
    while (!levels_.empty() && levels_.back().end + (whole ? 0 : 1) > same) levels_.pop_back();
    model::StackId stack = levels_.empty() ? model::StackId{} : levels_.back().stack;
    size_t begin = levels_.empty() ? 0 : levels_.back().end + 1;
    while (begin < text.size()) {
      const size_t end = std::min(text.find(';', begin), text.size());
      stack = assembler_.stack(stack, frame(text.substr(begin, end - begin)));
      levels_.push_back({end, stack});
      begin = end + 1;
    }
    before_ = text;
    return stack;
  }

  model::FrameId frame(std::string_view name) {
    const bool inlined = name.ends_with(kInlinedMark);
    if (inlined) name.remove_suffix(kInlinedMark.size());
    if (name.empty()) name = kUnknown;
    const model::StringId text = assembler_.string(name);
    auto& known = frames_of_[inlined];
    if (text.value >= known.size()) known.resize(2 * size_t{text.value} + 64);
    if (!known[text.value]) {
      const auto function = assembler_.function({.name = text, .named = !name.starts_with(kUnknown)});
      known[text.value] = assembler_.frame({.mapping = mapping_, .inlined = inlined, .function = function});
    }
    return known[text.value];
  }

  model::ProfileAssembler assembler_;
  model::ThreadId thread_;
  model::MappingId mapping_;
  struct Level {
    size_t end;  // of a frame in the text of its line
    model::StackId stack;
  };
  std::string_view before_;                   // the stack of the line before
  std::vector<Level> levels_;                 // its frames
  std::vector<model::FrameId> frames_of_[2];  // by name; those of inlined functions are the second
  const bool in_order_;
  JoinedSamples samples_;
};

base::Result<model::Profile> read(Bytes bytes) { return Reader(false).read(PlainText(bytes).text()); }

// A frame's text must not contain what separates frames and lines. Most do not: looking comes first, in steps that a
// processor takes many at a time.
bool has_separator(std::string_view text, char least) {
  unsigned found = 0;
  for (const char c : text) found |= unsigned{static_cast<unsigned char>(c) < static_cast<unsigned char>(least)};
  return found != 0 || text.find(';') != std::string_view::npos;
}

std::string clean(std::string_view text, bool spaces_too = false) {
  std::string out(text);
  if (!has_separator(text, spaces_too ? '!' : ' ')) return out;
  for (char& c : out) {
    if (c == ';') {
      c = ':';
    } else if (static_cast<unsigned char>(c) < 0x20) {
      c = '?';  // not '_', which could make a mark such as _[i] of what follows
    } else if (spaces_too && c == ' ') {
      c = '_';
    }
  }
  return out;
}

// Or the line would be a comment, or the file of another encoding.
std::string as_first(std::string text) {
  const bool mark = text.starts_with("\xef\xbb\xbf") || text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  if (text.starts_with('#') || mark) text[0] = '_';
  return text;
}

class Writer {
 public:
  Writer(const model::Profile& profile, const FoldedOptions& options)
      : profile_(profile), options_(options), after_(event_after(profile)), texts_of_frames_(profile.frames.size()) {}

  std::string write() && {
    const auto& samples = profile_.samples;
    for (size_t i = 0; i < samples.size(); ++i) {
      const uint64_t number = options_.by_value ? samples.value[i] : samples.count[i];
      const bool is_after = after_ && samples.event[i] == *after_;
      lines_.count(place_of(samples.thread[i], samples.stack[i]), is_after ? 0 : number, is_after ? number : 0);
    }
    return lines_.text(after_ ? FoldedLines::Numbers::kTwo : FoldedLines::Numbers::kOne);
  }

 private:
  // The second of a pair that was read from lines with two numbers.
  static std::optional<model::EventId> event_after(const model::Profile& profile) {
    std::optional<model::EventId> before;
    std::optional<model::EventId> after;
    model::for_each_id(profile.events, [&](model::EventId id) {
      if (profile.text(profile.events[id].name) == kBefore) before = id;
      if (profile.text(profile.events[id].name) == kAfter) after = id;
    });
    const bool pair = before && after && profile.facts.format == kFolded.name;
    const auto& events = profile.samples.event;
    return pair && std::find(events.begin(), events.end(), *before) != events.end() ? after : std::nullopt;
  }

  FoldedLines::Place place_of(model::ThreadId thread, model::StackId stack) {
    const FoldedLines::Place root = root_of(thread);
    if (!stack && root == FoldedLines::kTop) return lines_.below(root, lines_.text_of(kNoStack));
    path_.clear();
    FoldedLines::Place place = root;
    for (; stack; stack = profile_.stacks[stack].parent) {
      const auto known = places_.find(key_of(root, stack));
      if (known != places_.end()) {
        place = known->second;
        break;
      }
      path_.push_back(stack);
    }
    for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
      place = lines_.below(place, text_of(profile_.stacks[*at].frame, place == FoldedLines::kTop));
      places_.emplace(key_of(root, *at), place);
    }
    return place;
  }

  static uint64_t key_of(FoldedLines::Place root, model::StackId stack) { return uint64_t{root} << 32 | stack.value; }

  FoldedLines::Place root_of(model::ThreadId id) {
    const auto [known, is_new] = roots_.try_emplace(id.value, FoldedLines::kTop);
    if (is_new) {
      const std::string text = first_text(profile_.threads[id]);
      if (!text.empty()) known->second = lines_.below(FoldedLines::kTop, lines_.text_of(as_first(text)));
    }
    return known->second;
  }

  std::string first_text(const model::Thread& thread) const {
    std::string text = clean(profile_.text(thread.comm), true);
    if (options_.tid) {
      text += "-" + id_text(thread.pid) + "/" + id_text(thread.tid);
    } else if (options_.pid) {
      text += "-" + id_text(thread.pid);
    }
    return text;
  }

  static std::string id_text(int32_t id) { return id < 0 ? "?" : std::to_string(id); }

  FoldedLines::Text text_of(model::FrameId id, bool first) {
    if (first) return lines_.text_of(as_first(frame_text(id)));
    std::optional<FoldedLines::Text>& known = texts_of_frames_[id.value];
    if (!known) known = lines_.text_of(frame_text(id));
    return *known;
  }

  std::string frame_text(model::FrameId id) const {
    const std::string_view name = profile_.function_name(id);
    std::string text = clean(name.empty() ? kUnknown : name);
    if (profile_.frames[id].inlined) text += kInlinedMark;
    if (options_.kernel && profile_.in_kernel(id)) text += "_[k]";
    const CodeKind kind = profile_.code_kind(id);
    if (options_.jit && (kind == CodeKind::kAnonymous || kind == CodeKind::kJit)) text += "_[j]";
    return text;
  }

  const model::Profile& profile_;
  const FoldedOptions& options_;
  const std::optional<model::EventId> after_;
  FoldedLines lines_;
  std::vector<std::optional<FoldedLines::Text>> texts_of_frames_;
  std::unordered_map<uint32_t, FoldedLines::Place> roots_;   // by thread
  std::unordered_map<uint64_t, FoldedLines::Place> places_;  // of stacks below a root
  std::vector<model::StackId> path_;
};

base::Result<std::string> write(const model::Profile& profile) {
  // As `tephra fold` weighs it, and those who fold that text.
  const bool script = profile.facts.format == kPerfScript.name;
  return write_folded(profile, {.by_value = script || model::weighs_by_value(profile)});
}

}  // namespace

base::Result<model::Profile> read_folded_in_order(Bytes bytes) { return Reader(true).read(PlainText(bytes).text()); }

std::string write_folded(const model::Profile& profile, const FoldedOptions& options) {
  return Writer(profile, options).write();
}

const Format kFolded{
    .name = "folded",
    .summary = "folded stacks, one line a stack",
    .endings = ".folded .collapsed",
    .refusal = refusal,
    .read = read,
    .write = write,
    .one_event = true,
};

}  // namespace tephra::formats
