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

std::vector<Json> elements_of(const Json& array) {
  std::vector<Json> elements;
  elements.reserve(array.size());
  for (const Json element : array.elements()) elements.push_back(element);
  return elements;
}

// The tables that stacks are made of. From version 60 on all threads share them, before each has its own, but for texts
// and sources from version 56 on.
class Tables {
 public:
  // `source_names`: by source, which text its name is.
  Tables(FirefoxProfile& profile, const Json& tables, const std::vector<Json>& strings,
         const std::vector<int64_t>& source_names, const std::vector<FirefoxProfile::Library>& libraries,
         const std::vector<bool>& kernel_categories)
      : profile_(profile), libraries_(libraries), kernel_categories_(kernel_categories), strings_(strings) {
    read_files(tables["funcTable"], source_names);
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
  void read_files(const Json& functions, const std::vector<int64_t>& source_names) {
    const size_t rows = rows_of(functions, "name");
    if (functions["source"].is_null()) {
      files_ = column(functions, "fileName", rows);
      return;
    }
    for (const int64_t source : column(functions, "source", rows)) files_.push_back(at(source_names, source));
  }

  // The columns that a frame is made of, by frame and by function.
  struct Columns {
    explicit Columns(const Json& tables)
        : Columns(tables["frameTable"], tables["funcTable"], tables["resourceTable"]) {}
    Columns(const Json& frames, const Json& functions, const Json& resources)
        : rows(rows_of(frames, "func")),
          function(column(frames, "func", rows)),
          address(column(frames, "address", rows)),
          depth(column(frames, "inlineDepth", rows)),
          category(column(frames, "category", rows)),
          line(column(frames, "line", rows)),
          library(column(frames, "lib", rows)),
          has_library(frames["lib"].is_array()),
          name(column(functions, "name", rows_of(functions, "name"))),
          start_line(column(functions, "lineNumber", name.size())),
          resource(column(functions, "resource", name.size())),
          library_of_resource(column(resources, "lib", rows_of(resources, "name"))) {}

    // From version 70 on, frames name their library themselves.
    int64_t library_of(size_t frame) const {
      return has_library ? library[frame] : at(library_of_resource, at(resource, function[frame]));
    }

    size_t rows;
    std::vector<int64_t> function, address, depth, category, line, library;
    bool has_library;
    std::vector<int64_t> name, start_line, resource, library_of_resource;
  };

  void read_frames(const Json& tables) {
    const Columns columns(tables);
    std::string name;
    std::string file;
    for (size_t i = 0; i < columns.rows; ++i) {
      const int64_t function = columns.function[i];
      if (function < 0 || static_cast<size_t>(function) >= columns.name.size()) {
        throw MalformedJson{fmt::format("frame {} names a function that is not there", i)};
      }
      FirefoxProfile::Place place{.name = text(at(columns.name, function), name)};
      const int64_t library = columns.library_of(i);
      if (library >= 0 && static_cast<size_t>(library) < libraries_.size()) {
        place.library = &libraries_[static_cast<size_t>(library)];
      }
      if (columns.address[i] >= 0) place.address = static_cast<uint64_t>(columns.address[i]);
      place.kernel = at(kernel_categories_, columns.category[i]) == 1;
      place.inlined = columns.depth[i] > 0;
      place.file = text(at(files_, function), file);
      place.line = columns.line[i];
      place.start_line = at(columns.start_line, function);
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
  const std::vector<Json>& strings_;
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
    profile_.read_meta(meta_);
    for (const Json category : meta_["categories"].elements()) {
      kernel_categories_.push_back(category["name"].text() == "Kernel");
    }
    read_libraries(root_["libs"]);
    const Json shared = root_["shared"];
    shared_strings_ = elements_of(shared["stringArray"]);
    const Json sources = shared["sources"];
    source_names_ = column(sources, "filename", rows_of(sources, "filename"));
    std::optional<Tables> tables;
    if (shared["stackTable"].is_object()) {
      tables.emplace(profile_, shared, shared_strings_, source_names_, libraries_, kernel_categories_);
    }
    base::JsonCursor selected(meta_["initialSelectedThreads"]);
    selected_ = selected.next().integer(-1);
    for (const Json thread : root_["threads"].elements()) {
      if (tables) {
        read_samples(thread, *tables);
      } else {
        read_with_own_tables(thread);
      }
    }
    return std::move(profile_).finish();
  }

 private:
  void read_with_own_tables(const Json& thread) {
    // Before version 41 each thread has its own.
    if (thread["libs"].is_array()) read_libraries(thread["libs"]);
    const bool own_strings = thread["stringArray"].is_array();
    const std::vector<Json> own = own_strings ? elements_of(thread["stringArray"]) : std::vector<Json>();
    const std::vector<Json>& strings = own_strings ? own : shared_strings_;
    read_samples(thread, Tables(profile_, thread, strings, source_names_, libraries_, kernel_categories_));
  }

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
    if (scaled > static_cast<double>(kLargestNumber)) throw MalformedJson{"it holds weights beyond all measure"};
    const double whole = std::round(scaled);
    if (scale == 1 && whole != scaled) ++profile_.assembler().quality()[Reason::fractions_dropped];
    return scale == 1 ? static_cast<uint64_t>(scaled) : static_cast<uint64_t>(whole);
  }

  void read_samples(const Json& thread, const Tables& tables) {
    const Json samples = thread["samples"];
    Weights weights = weights_of(samples);
    model::ProfileAssembler::Sample row{.thread = profile_.thread(thread, in_firefox_)};
    Json counts;
    if (const auto origin = SampleOrigin::read(thread[kOriginMember], profile_.assembler())) {
      row.thread = origin->thread;
      weights = {origin->event, weights.scale, !origin->by_value, origin->valueless};
      counts = origin->counts;
    }
    row.event = weights.event;
    if (selected_-- == 0) show_first(row.event);
    add_rows(samples, counts, weights, tables, row);
  }

  void show_first(model::EventId event) {
    const model::Profile& so_far = profile_.assembler().so_far();
    profile_.assembler().facts().default_event = so_far.text(so_far.events[event].name);
  }

  // Rows that differ from `row` in what the columns tell.
  void add_rows(const Json& samples, const Json& counts, const Weights& weights, const Tables& tables,
                model::ProfileAssembler::Sample row) {
    const bool by_deltas = samples["timeDeltas"].is_array();
    const Json times = samples[by_deltas ? "timeDeltas" : "time"];
    const size_t size = samples["stack"].size();
    for (const Json& column : {times, samples["weight"], counts}) {
      if (column.is_null() || column.size() == size) continue;
      throw MalformedJson{"the columns of a thread's samples are not of one length"};
    }
    base::JsonCursor time(times);
    base::JsonCursor number(samples["weight"]);
    base::JsonCursor count(counts);
    double now = 0;
    for (const Json stack : samples["stack"].elements()) {
      now = time.next().number() + (by_deltas ? now : 0);
      row.stack = tables.stack(stack.integer(kNone));
      row.value = weight(number.next(), weights.scale);
      const int64_t stands_for = count.next().integer(1);
      row.count = weights.counts ? row.value : static_cast<uint64_t>(std::max<int64_t>(stands_for, 0));
      if (weights.valueless) row.value = 0;
      if (times_known_) row.time = nanoseconds_of(now);
      profile_.assembler().sample(row);
    }
  }

  const Json root_;
  const Json meta_ = root_["meta"];
  const bool in_firefox_ = is_of_firefox(meta_);
  // The format cannot say that times are made up; we do.
  const bool times_known_ = root_[kOriginMember]["times"].truth(true);
  FirefoxProfile profile_;
  int64_t selected_ = -1;  // how many threads come before the one that is shown first
  std::vector<bool> kernel_categories_;
  std::vector<FirefoxProfile::Library> libraries_;
  std::vector<Json> shared_strings_;
  std::vector<int64_t> source_names_;
};

}  // namespace

model::Profile read_firefox_processed(const Json& root) { return Reader(root).read(); }

}  // namespace tephra::formats
