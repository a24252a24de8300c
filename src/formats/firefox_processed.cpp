#include <fmt/format.h>

#include <cmath>

#include "formats/firefox_readers.h"
#include "formats/json_profile.h"
#include "formats/sample_groups.h"

namespace tephra::formats {
namespace {

using base::Json;
using model::Reason;

constexpr int64_t kNone = -1;

// A column of a table: its numbers, -1 for null. Columns of old versions may be absent or shorter than the table.
std::vector<int64_t> column(const Json& table, std::string_view name, size_t rows) {
  std::vector<int64_t> numbers;
  numbers.reserve(rows);
  for (const Json value : table[name].elements()) numbers.push_back(value.integer(kNone));
  numbers.resize(rows, kNone);
  return numbers;
}

// The rows of a table. A file may say any number; there are as many as the column that every version has.
size_t rows_of(const Json& table, std::string_view main_column) { return table[main_column].size(); }

template <class Column>
int64_t at(const Column& numbers, int64_t index) {
  return index >= 0 && static_cast<size_t>(index) < numbers.size() ? numbers[static_cast<size_t>(index)] : kNone;
}

// The tables that stacks are made of. From version 60 on all threads share them, before each has its own.
class Tables {
 public:
  Tables(FirefoxProfile& profile, const Json& tables, const Json& strings, const Json& sources,
         const std::vector<FirefoxProfile::Library>& libraries, const std::vector<bool>& kernel_categories)
      : profile_(profile), libraries_(libraries), kernel_categories_(kernel_categories) {
    for (const Json text : strings.elements()) strings_.push_back(text);
    read_files(tables["funcTable"], sources);
    read_frames(tables);
    read_stacks(tables["stackTable"]);
  }

  model::StackId stack(int64_t index) const {
    if (index == kNone) return {};
    if (index < 0 || static_cast<size_t>(index) >= stacks_.size())
      throw MalformedJson{"a sample names a stack that is not there"};
    return stacks_[static_cast<size_t>(index)];
  }

 private:
  std::string_view text(int64_t index, std::string& storage) const {
    if (index < 0 || static_cast<size_t>(index) >= strings_.size()) return {};
    return strings_[static_cast<size_t>(index)].text(storage);
  }

  // By function: which text is its source file. Up to version 57 functions name it, then a table of sources does.
  void read_files(const Json& functions, const Json& sources) {
    const size_t rows = rows_of(functions, "name");
    if (functions["source"].is_null()) {
      files_ = column(functions, "fileName", rows);
      return;
    }
    const auto names = column(sources, "filename", rows_of(sources, "filename"));
    for (const int64_t source : column(functions, "source", rows)) files_.push_back(at(names, source));
  }

  void read_frames(const Json& tables) {
    const Json frames = tables["frameTable"];
    const Json functions = tables["funcTable"];
    const size_t rows = rows_of(frames, "func");
    const size_t function_rows = rows_of(functions, "name");
    const auto function = column(frames, "func", rows);
    const auto address = column(frames, "address", rows);
    const auto depth = column(frames, "inlineDepth", rows);
    const auto category = column(frames, "category", rows);
    const auto line = column(frames, "line", rows);
    const auto names = column(functions, "name", function_rows);
    const auto start_line = column(functions, "lineNumber", function_rows);
    const auto resource = column(functions, "resource", function_rows);
    const auto library_of_resource = column(tables["resourceTable"], "lib", rows_of(tables["resourceTable"], "name"));
    // From version 70 on, frames name their library themselves.
    const auto library = column(frames, "lib", rows);
    const bool has_library = frames["lib"].is_array();
    std::string name;
    std::string file;
    for (size_t i = 0; i < rows; ++i) {
      const int64_t row = function[i];
      if (row < 0 || static_cast<size_t>(row) >= function_rows) {
        throw MalformedJson{fmt::format("frame {} names a function that is not there", i)};
      }
      FirefoxProfile::Place place{.name = text(names[static_cast<size_t>(row)], name)};
      const int64_t index = has_library ? library[i] : at(library_of_resource, resource[static_cast<size_t>(row)]);
      if (index >= 0 && static_cast<size_t>(index) < libraries_.size()) {
        place.library = &libraries_[static_cast<size_t>(index)];
      }
      if (address[i] >= 0) place.address = static_cast<uint64_t>(address[i]);
      place.kernel = category[i] >= 0 && static_cast<size_t>(category[i]) < kernel_categories_.size() &&
                     kernel_categories_[static_cast<size_t>(category[i])];
      place.inlined = depth[i] > 0;
      place.file = text(at(files_, row), file);
      place.line = line[i];
      place.start_line = start_line[static_cast<size_t>(row)];
      frames_.push_back(profile_.frame(place));
    }
  }

  void read_stacks(const Json& stacks) {
    const size_t rows = rows_of(stacks, "frame");
    const auto frame = column(stacks, "frame", rows);
    const bool by_offset = stacks["prefixOffset"].is_array();
    const auto prefix = column(stacks, by_offset ? "prefixOffset" : "prefix", rows);
    for (size_t i = 0; i < rows; ++i) {
      const auto here = static_cast<int64_t>(i);
      const int64_t parent = !by_offset ? prefix[i] : prefix[i] > 0 ? here - prefix[i] : kNone;
      if (parent < kNone || parent >= here || frame[i] < 0 || static_cast<size_t>(frame[i]) >= frames_.size()) {
        throw MalformedJson{fmt::format("stack {} is not made of a stack before it and a frame", i)};
      }
      const model::StackId below = parent == kNone ? model::StackId{} : stacks_[static_cast<size_t>(parent)];
      stacks_.push_back(profile_.assembler().stack(below, frames_[static_cast<size_t>(frame[i])]));
    }
  }

  FirefoxProfile& profile_;
  const std::vector<FirefoxProfile::Library>& libraries_;
  const std::vector<bool>& kernel_categories_;
  std::vector<Json> strings_;
  std::vector<int64_t> files_;  // by function
  std::vector<model::FrameId> frames_;
  std::vector<model::StackId> stacks_;
};

// What a sample's weight is.
struct Weights {
  model::EventId event;
  double scale = 1;
  bool counts = true;      // it is a number of samples
  bool valueless = false;  // and there are no values beside
};

class Reader {
 public:
  explicit Reader(const Json& root) : root_(root) {}

  model::Profile read() && {
    profile_.read_meta(root_["meta"]);
    for (const Json category : root_["meta"]["categories"].elements()) {
      kernel_categories_.push_back(category["name"].text() == "Kernel");
    }
    read_libraries(root_["libs"]);
    const Json shared = root_["shared"];
    std::optional<Tables> tables;
    if (shared["stackTable"].is_object()) {
      tables.emplace(profile_, shared, shared["stringArray"], shared["sources"], libraries_, kernel_categories_);
    }
    for (const Json thread : root_["threads"].elements()) {
      if (tables) {
        read_samples(thread, *tables);
        continue;
      }
      // Before version 41 each thread has its own.
      if (thread["libs"].is_array()) read_libraries(thread["libs"]);
      const Json strings = thread["stringArray"].is_array() ? thread["stringArray"] : shared["stringArray"];
      read_samples(thread, Tables(profile_, thread, strings, shared["sources"], libraries_, kernel_categories_));
    }
    return std::move(profile_).finish();
  }

 private:
  void read_libraries(const Json& libs) {
    libraries_.clear();
    for (const Json lib : libs.elements()) {
      FirefoxProfile::Library library = profile_.library(lib);
      library.start = library.end = library.offset = 0;  // addresses are relative to it already
      libraries_.push_back(library);
    }
  }

  Weights weights_of(const Json& samples) {
    const std::string type = samples["weightType"].text();
    auto& assembler = profile_.assembler();
    const auto event = [&](std::string_view name, std::string_view unit, bool uncounted) {
      return assembler.event({assembler.string(name), assembler.string(unit), {}, uncounted});
    };
    if (type == "tracing-ms") return {event("time", "ns", true), 1e6, false};
    if (type == "bytes") return {event("bytes", "bytes", true), 1, false};
    return {event("samples", "samples", false), 1, true};
  }

  uint64_t weight(const Json& number, double scale) {
    if (!number.is_number()) return 1;
    const double scaled = number.number() * scale;
    if (!(scaled >= 0)) throw MalformedJson{"it holds negative weights: it is the difference of two profiles"};
    if (scaled > 1e18) throw MalformedJson{"it holds weights beyond all measure"};
    const double whole = std::round(scaled);
    if (scale == 1 && whole != scaled) ++profile_.assembler().quality()[Reason::fractions_dropped];
    return scale == 1 ? static_cast<uint64_t>(scaled) : static_cast<uint64_t>(whole);
  }

  void read_samples(const Json& thread, const Tables& tables) {
    const Json samples = thread["samples"];
    Weights weights = weights_of(samples);
    model::ProfileAssembler::Sample row{.thread = profile_.thread(thread, root_["meta"])};
    Json counts;
    if (const auto origin = SampleOrigin::read(thread[kOriginMember], profile_.assembler())) {
      row.thread = origin->thread;
      weights = {origin->event, samples["weightType"].text() == "tracing-ms" ? 1e6 : 1, !origin->by_value,
                 origin->valueless};
      counts = origin->counts;
    }
    row.event = weights.event;
    const bool by_deltas = samples["timeDeltas"].is_array();
    const Json times = samples[by_deltas ? "timeDeltas" : "time"];
    const Json numbers = samples["weight"];
    const size_t size = samples["stack"].size();
    if (times.size() != size || (numbers.is_array() && numbers.size() != size) ||
        (counts.is_array() && counts.size() != size)) {
      throw MalformedJson{"the columns of a thread's samples are not of one length"};
    }
    auto time = times.elements().begin();
    auto number = numbers.elements().begin();
    auto count = counts.elements().begin();
    double now = 0;
    for (const Json stack : samples["stack"].elements()) {
      now = (*time).number() + (by_deltas ? now : 0);
      row.stack = tables.stack(stack.integer(kNone));
      row.value = numbers.is_array() ? weight(*number, weights.scale) : 1;
      const int64_t stands_for = counts.is_array() ? (*count).integer() : 1;
      row.count = weights.counts ? row.value : static_cast<uint64_t>(std::max<int64_t>(stands_for, 0));
      if (weights.valueless) row.value = 0;
      if (times_known_) row.time = nanoseconds_of(now);
      profile_.assembler().sample(row);
      ++time;
      if (numbers.is_array()) ++number;
      if (counts.is_array()) ++count;
    }
  }

  const Json root_;
  // The format cannot say that times are made up; we do.
  const bool times_known_ = root_[kOriginMember]["times"].truth(true);
  FirefoxProfile profile_;
  std::vector<bool> kernel_categories_;
  std::vector<FirefoxProfile::Library> libraries_;
};

}  // namespace

model::Profile read_firefox_processed(const Json& root) { return Reader(root).read(); }

}  // namespace tephra::formats
