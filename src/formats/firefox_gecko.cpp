#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>

#include "formats/firefox_readers.h"
#include "formats/json_profile.h"

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonTape;

constexpr size_t kMostProcesses = 10'000;

// A table whose schema tells which element of a row is which column.
template <size_t Columns>
class Rows {
 public:
  Rows(const Json& table, const std::array<std::string_view, Columns>& names) : data_(table["data"]) {
    for (size_t i = 0; i < Columns; ++i) {
      const int64_t place = table["schema"][names[i]].integer(-1);
      places_[i] = place < 0 || place > 1000 ? SIZE_MAX : static_cast<size_t>(place);
    }
  }

  // Calls visit(values) for every row; a value is null where the row ends before it.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Json row : data_.elements()) {
      std::array<Json, Columns> values;
      size_t place = 0;
      for (const Json value : row.elements()) {
        for (size_t i = 0; i < Columns; ++i) {
          if (places_[i] == place) values[i] = value;
        }
        ++place;
      }
      visit(values);
    }
  }

 private:
  Json data_;
  std::array<size_t, Columns> places_{};
};

// What the text of a frame says: an address, a function in a library, or a script's function with its place.
struct Location {
  std::string_view name;
  std::string_view library;
  std::string_view file;
  int64_t line = 0;
  std::optional<uint64_t> address;
};

bool take_number(std::string_view& text, int64_t& number) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == text.size()) return false;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data() + colon + 1, end, number).ptr != end) return false;
  text = text.substr(0, colon);
  return true;
}

// "file:line:column" or "file:line".
bool read_script(std::string_view text, Location& location) {
  int64_t last = 0;
  if (!take_number(text, last)) return false;
  location.line = last;
  if (int64_t before = 0; take_number(text, before)) location.line = before;
  location.file = text;
  return !text.empty();
}

Location parse_location(std::string_view text) {
  Location location{.name = text};
  if (text.starts_with("0x")) {
    uint64_t address = 0;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data() + 2, end, address, 16).ptr == end) location.address = address;
    return location;
  }
  // The number of the script's source.
  if (text.ends_with(']') && text.rfind('[') != std::string_view::npos) {
    const std::string_view before = text.substr(0, text.rfind('['));
    if (before.ends_with(')')) text = before;
  }
  const size_t in = text.rfind(" (in ");
  if (in != std::string_view::npos && in > 0) {
    location.name = text.substr(0, in);
    const std::string_view rest = text.substr(in + 5);
    location.library = rest.substr(0, rest.find(')'));
    return location;
  }
  const size_t open = text.rfind(" (");
  if (text.ends_with(')') && open != std::string_view::npos && open > 0 &&
      read_script(text.substr(open + 2, text.size() - open - 3), location)) {
    location.name = text.substr(0, open);
  }
  return location;
}

class Reader {
 public:
  explicit Reader(const Json& root) : root_(root) {}

  model::Profile read() && {
    const Json meta = root_["meta"];
    profile_.read_meta(meta);
    start_ = meta["startTime"].number();
    auto& assembler = profile_.assembler();
    event_ = assembler.event({assembler.string("samples"), assembler.string("samples")});
    // Processes hold the profiles of others, which may hold more; older ones as JSON text among the threads.
    processes_.push_back(root_);
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (i >= kMostProcesses) throw MalformedJson{"it holds too many processes"};
      read_process(processes_[i]);
    }
    return std::move(profile_).finish();
  }

 private:
  void read_process(const Json& process) {
    read_libraries(process);
    const Json meta = process["meta"];
    const double from_start = meta["startTime"].number() - start_;
    const bool in_firefox = is_of_firefox(meta);
    for (const Json thread : process["threads"].elements()) {
      if (thread.is_text()) {
        processes_.push_back(parse_inner(thread.text()));
      } else {
        read_thread(thread, in_firefox, from_start);
      }
    }
    for (const Json inner : process["processes"].elements()) processes_.push_back(inner);
  }

  Json parse_inner(std::string text) {
    texts_.push_back(std::move(text));
    auto tape = JsonTape::parse(texts_.back());
    if (!tape) throw MalformedJson{fmt::format("in a text of it, {}", tape.error().why)};
    tapes_.push_back(std::move(*tape));
    return tapes_.back().root();
  }

  // A list of objects; up to version 3 as JSON text.
  void read_libraries(const Json& process) {
    libraries_.clear();
    const Json libs = process["libs"].is_text() ? parse_inner(process["libs"].text()) : process["libs"];
    for (const Json lib : libs.elements()) libraries_.push_back(profile_.library(lib));
    std::sort(libraries_.begin(), libraries_.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  }

  const FirefoxProfile::Library* library_at(uint64_t address) const {
    const auto after = std::upper_bound(libraries_.begin(), libraries_.end(), address,
                                        [](uint64_t at, const auto& library) { return at < library.start; });
    if (after == libraries_.begin() || address >= (after - 1)->end) return nullptr;
    return &*(after - 1);
  }

  // A frame where execution was, and the same where a call will return to: the same address is two things.
  struct Frames {
    model::FrameId leaf;
    model::FrameId caller;
  };

  Frames frames_of(const Location& location, int64_t line) {
    FirefoxProfile::Place place{.name = location.name, .file = location.file};
    // The line of the frame is the one that ran; that in the text is where the function begins.
    place.line = line;
    place.start_line = location.line;
    FirefoxProfile::Library named;
    if (!location.library.empty()) {
      named = by_name(location.library);
      place.library = &named;
    }
    if (!location.address) {
      const model::FrameId frame = profile_.frame(place);
      return {frame, frame};
    }
    place.library = library_at(*location.address);
    if (place.library != nullptr) place.address = *location.address - place.library->start + place.library->offset;
    Frames frames;
    frames.leaf = profile_.frame(place);
    place.kind = model::AddressKind::kReturn;
    frames.caller = profile_.frame(place);
    return frames;
  }

  FirefoxProfile::Library by_name(std::string_view path) {
    auto& assembler = profile_.assembler();
    const bool kernel = path.starts_with("[kernel") || path.ends_with(".ko");
    const auto kind = kernel ? model::CodeKind::kKernel : model::CodeKind::kImported;
    return {.mapping = assembler.mapping({.path = assembler.string(path), .kind = kind})};
  }

  std::vector<Frames> read_frames(const Json& thread) {
    std::vector<Json> texts;
    for (const Json text : thread["stringTable"].elements()) texts.push_back(text);
    std::vector<Frames> frames;
    std::string storage;
    const Rows<2> rows(thread["frameTable"], {"location", "line"});
    rows.for_each([&](const std::array<Json, 2>& row) {
      const int64_t text = row[0].integer(-1);
      if (text < 0 || static_cast<size_t>(text) >= texts.size()) {
        throw MalformedJson{fmt::format("frame {} names a text that is not there", frames.size())};
      }
      frames.push_back(frames_of(parse_location(texts[static_cast<size_t>(text)].text(storage)), row[1].integer()));
    });
    return frames;
  }

  struct Stacks {
    model::StackId leaf;
    model::StackId caller;
  };

  std::vector<Stacks> read_stacks(const Json& thread, const std::vector<Frames>& frames) {
    std::vector<Stacks> stacks;
    auto& assembler = profile_.assembler();
    const Rows<2> rows(thread["stackTable"], {"prefix", "frame"});
    rows.for_each([&](const std::array<Json, 2>& row) {
      const int64_t prefix = row[0].integer(-1);
      const int64_t frame = row[1].integer(-1);
      if (prefix >= static_cast<int64_t>(stacks.size()) || frame < 0 || static_cast<size_t>(frame) >= frames.size()) {
        throw MalformedJson{fmt::format("stack {} is not made of a stack before it and a frame", stacks.size())};
      }
      const model::StackId below = prefix < 0 ? model::StackId{} : stacks[static_cast<size_t>(prefix)].caller;
      const Frames& both = frames[static_cast<size_t>(frame)];
      stacks.push_back({assembler.stack(below, both.leaf), assembler.stack(below, both.caller)});
    });
    return stacks;
  }

  void read_thread(const Json& thread, bool in_firefox, double from_start) {
    const std::vector<Stacks> stacks = read_stacks(thread, read_frames(thread));
    model::ProfileAssembler::Sample sample{.event = event_, .thread = profile_.thread(thread, in_firefox), .value = 1};
    const Rows<2> rows(thread["samples"], {"stack", "time"});
    rows.for_each([&](const std::array<Json, 2>& row) {
      const int64_t stack = row[0].integer(-1);
      if (stack >= static_cast<int64_t>(stacks.size())) throw MalformedJson{"a sample names a stack that is not there"};
      sample.stack = stack < 0 ? model::StackId{} : stacks[static_cast<size_t>(stack)].leaf;
      sample.time = nanoseconds_of(row[1].number() + from_start);
      profile_.assembler().sample(sample);
    });
  }

  const Json root_;
  FirefoxProfile profile_;
  double start_ = 0;  // of the first process
  model::EventId event_;
  std::vector<FirefoxProfile::Library> libraries_;  // of the process at hand, by start
  std::deque<Json> processes_;
  std::deque<std::string> texts_;
  std::deque<JsonTape> tapes_;
};

}  // namespace

model::Profile read_gecko(const Json& root) { return Reader(root).read(); }

}  // namespace tephra::formats
