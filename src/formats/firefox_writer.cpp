#include "formats/firefox_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"
#include "formats/sample_groups.h"
#include "model/shown_event.h"

namespace tephra::formats {
namespace {

using base::JsonWriter;
using model::CodeKind;
using model::Profile;

constexpr int kProcessedVersion = 61;
constexpr int kGeckoVersion = 33;  // what Firefox wrote when that was current
constexpr int64_t kNone = -1;
constexpr int kLibrary = 1;  // the type of resource

enum Category : uint8_t { kOther, kUser, kKernel, kGenerated };
struct CategoryText {
  std::string_view name;
  std::string_view color;  // grey is what has no other
};
constexpr std::array<CategoryText, 4> kCategories{
    {{"Other", "grey"}, {"User", "yellow"}, {"Kernel", "orange"}, {"Generated", "green"}}};

// A column of numbers; `none` is how -1 is written.
enum class None { kNull, kMinusOne };
void write_column(JsonWriter& json, std::string_view name, const std::vector<int64_t>& numbers, None none) {
  json.key(name).begin_array();
  for (const int64_t number : numbers) {
    if (number == kNone && none == None::kNull) {
      json.null();
    } else {
      json.value(number);
    }
  }
  json.end_array();
}

template <class Value>
void write_constant(JsonWriter& json, std::string_view name, const Value& value, size_t rows) {
  json.key(name).begin_array();
  for (size_t i = 0; i < rows; ++i) json.value(value);
  json.end_array();
}

void write_nulls(JsonWriter& json, std::string_view name, size_t rows) {
  write_column(json, name, std::vector<int64_t>(rows, kNone), None::kNull);
}

// The first 16 bytes of a build id in the order of a GUID, and an age of 0.
std::string breakpad_id(const model::BuildId& build_id) {
  constexpr std::array<size_t, 16> kOrder{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  std::string id;
  for (const size_t place : kOrder) {
    const auto bytes = build_id.bytes();
    id += fmt::format("{:02X}", place < bytes.size() ? static_cast<unsigned>(bytes[place]) : 0u);
  }
  return id + "0";
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

class Writer {
 public:
  explicit Writer(const Profile& profile) : profile_(profile), groups_(sample_groups(profile)) {}

  base::Result<std::string> write() && {
    TEPHRA_CHECK_OK(check_numbers(profile_, groups_));
    collect_libraries();
    collect_frames();
    collect_symbols();
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    write_meta(json);
    json.key(kOriginMember).begin_object().member("times", !profile_.samples.time.empty()).end_object();
    write_libraries(json);
    json.key("threads").begin_array();
    for (size_t i = 0; i < groups_.size(); ++i) write_thread(json, groups_[i], i);
    json.end_array();
    write_shared(json);
    json.end_object();
    return text;
  }

 private:
  // Rows of the function table: a function, in a library and a source file.
  struct Function {
    model::FunctionId id;
    int64_t library = kNone;
    model::StringId file;
    auto operator<=>(const Function&) const = default;
  };
  struct Symbol {
    int64_t library = kNone;
    uint64_t address = 0;
    auto operator<=>(const Symbol&) const = default;
  };

  int64_t text(std::string_view text) {
    const auto [at, fresh] = text_ids_.try_emplace(std::string(text), static_cast<int64_t>(texts_.size()));
    if (fresh) texts_.push_back(at->first);
    return at->second;
  }

  void collect_libraries() {
    libraries_.assign(profile_.mappings.size(), kNone);
    std::vector<bool> used(profile_.mappings.size());
    for (const model::Frame& frame : profile_.frames) used[frame.mapping.value] = true;
    for (uint32_t i = 1; i < profile_.mappings.size(); ++i) {
      const model::Mapping& mapping = profile_.mappings[model::MappingId{i}];
      const bool names_one_function = mapping.kind == CodeKind::kJit || mapping.kind == CodeKind::kKernelCode;
      if (!used[i] || !mapping.path || names_one_function || mapping.kind == CodeKind::kAnonymous) continue;
      libraries_[i] = static_cast<int64_t>(written_libraries_.size());
      written_libraries_.push_back(model::MappingId{i});
    }
  }

  static Category category_of(CodeKind kind) {
    if (model::is_kernel(kind)) return kKernel;
    if (kind == CodeKind::kJit || kind == CodeKind::kAnonymous) return kGenerated;
    return kind == CodeKind::kFile || kind == CodeKind::kVdso ? kUser : kOther;
  }

  // Relative to the library, in the call for a return address; kernel addresses are beyond what JSON numbers hold.
  static int64_t address_of(const model::Mapping& mapping, const model::Frame& frame) {
    const bool relative = mapping.kind == CodeKind::kFile || mapping.kind == CodeKind::kVdso;
    if (!relative || frame.address > INT32_MAX) return kNone;
    const uint64_t back = frame.kind == model::AddressKind::kReturn && frame.address > 0 ? 1 : 0;
    return static_cast<int64_t>(frame.address - back);
  }

  void collect_frames() {
    for (uint32_t i = 1; i < profile_.frames.size(); ++i) {
      const model::Frame& frame = profile_.frames[model::FrameId{i}];
      const model::Mapping& mapping = profile_.mappings[frame.mapping];
      const Function function{frame.function, libraries_[frame.mapping.value], frame.file};
      // What has no name is named by its address, as the format has it, so that others may look it up.
      const int64_t address = address_of(mapping, frame);
      const model::Function& row = profile_.functions[frame.function];
      const bool by_address = !row.name || (!row.named && address != kNone);
      const auto key = std::pair(function, by_address ? i : 0);
      const auto [at, fresh] = function_ids_.try_emplace(key, functions_.size());
      if (fresh) {
        functions_.push_back(function);
        const uint64_t shown = address != kNone ? static_cast<uint64_t>(address) : frame.address;
        function_names_.push_back(
            text(by_address ? fmt::format("0x{:x}", shown) : std::string(profile_.text(row.name))));
      }
      frame_function_.push_back(static_cast<int64_t>(at->second));
      frame_address_.push_back(address);
      frame_category_.push_back(category_of(mapping.kind));
      frame_line_.push_back(frame.line != 0 ? int64_t{frame.line} : kNone);
    }
    collect_depths();
  }

  // How many functions are inlined into one another up to a frame: as in the first stack that it is in.
  void collect_depths() {
    frame_depth_.assign(frame_function_.size(), kNone);
    std::vector<int64_t> depths(profile_.stacks.size());
    for (uint32_t i = 1; i < profile_.stacks.size(); ++i) {
      const model::Stack& stack = profile_.stacks[model::StackId{i}];
      depths[i] = profile_.frames[stack.frame].inlined ? depths[stack.parent.value] + 1 : 0;
      int64_t& depth = frame_depth_[stack.frame.value - 1];
      if (depth == kNone) depth = std::min<int64_t>(depths[i], UINT8_MAX);
    }
    std::replace(frame_depth_.begin(), frame_depth_.end(), kNone, int64_t{0});
  }

  // Symbols of the linker that frames are in, where it is known where they begin.
  void collect_symbols() {
    frame_symbol_.assign(frame_function_.size(), kNone);
    for (const bool inlined : {false, true}) {
      for (uint32_t i = 1; i < profile_.frames.size(); ++i) {
        const model::Frame& frame = profile_.frames[model::FrameId{i}];
        const int64_t library = libraries_[frame.mapping.value];
        const bool known = library != kNone && frame_address_[i - 1] != kNone && frame.symbol_offset > 0 &&
                           frame.symbol_offset <= frame.address && profile_.functions[frame.function].named;
        if (!known || frame.inlined != inlined) continue;
        const Symbol symbol{library, frame.address - frame.symbol_offset};
        const auto found = symbol_ids_.find(symbol);
        if (found != symbol_ids_.end()) {
          frame_symbol_[i - 1] = found->second;
        } else if (!inlined) {
          frame_symbol_[i - 1] = static_cast<int64_t>(symbols_.size());
          symbol_ids_.emplace(symbol, frame_symbol_[i - 1]);
          symbols_.push_back(symbol);
          symbol_names_.push_back(function_names_[static_cast<size_t>(frame_function_[i - 1])]);
        }
      }
    }
  }

  // Milliseconds between samples: as the profile says, else what samples of clocks stand for on average.
  double estimate_interval() const {
    const model::SamplingPeriod& period = profile_.facts.period;
    if (period.unit == "ns" && period.value > 0) return static_cast<double>(period.value) / 1e6;
    uint64_t samples = 0;
    uint64_t sum = 0;
    for (const SampleGroup& group : groups_) {
      if (!group.by_value || profile_.text(profile_.events[group.event].unit) != "ns") continue;
      for (const uint32_t row : group.rows) samples += profile_.samples.count[row];
      sum += group.sum;
    }
    return samples > 0 && sum > 0 ? static_cast<double>(sum / samples) / 1e6 : 1;
  }

  void write_meta(JsonWriter& json) const {
    const model::RecordingFacts& facts = profile_.facts;
    json.key("meta").begin_object();
    json.member("version", kGeckoVersion).member("preprocessedProfileVersion", kProcessedVersion);
    json.member("interval", interval_).member("startTime", static_cast<double>(facts.started_unix_ns) / 1e6);
    json.member("processType", 0).member("stackwalk", 1).member("debug", false).member("symbolicated", true);
    json.member("product", "tephra").member("importedFrom", facts.format);
    if (!facts.command_line.empty()) json.member("arguments", facts.command_line);
    if (!facts.os_release.empty()) json.member("oscpu", facts.os_release);
    if (!facts.arch.empty()) json.member("abi", facts.arch);
    json.member("usesOnlyOneStackType", true).member("sourceCodeIsNotOnSearchfox", true);
    json.key("sampleUnits").begin_object().member("time", "ms").member("eventDelay", "ms");
    json.member("threadCPUDelta", "ns").end_object();
    json.key("markerSchema").begin_array().end_array().key("categories").begin_array();
    for (const CategoryText& category : kCategories) {
      json.begin_object().member("name", category.name).member("color", category.color);
      json.key("subcategories").begin_array().value("Other").end_array().end_object();
    }
    json.end_array();
    if (!groups_.empty()) json.key("initialSelectedThreads").begin_array().value(first_shown()).end_array();
    write_comments(json);
    json.end_object();
  }

  // The largest of the event that is shown first.
  size_t first_shown() const {
    const auto event = model::shown_event(profile_);
    const auto size = [&](const SampleGroup& group) { return group.event == event ? group.rows.size() : 0; };
    const auto largest = std::max_element(groups_.begin(), groups_.end(),
                                          [&](const auto& a, const auto& b) { return size(a) < size(b); });
    return static_cast<size_t>(largest - groups_.begin());
  }

  // Shown among the facts of the profile.
  void write_comments(JsonWriter& json) const {
    json.key("extra").begin_array().begin_object().member("label", "tephra").key("entries").begin_array();
    for (const std::string& comment : profile_.facts.comments) {
      json.begin_object().member("label", "comment").member("format", "string").member("value", comment).end_object();
    }
    json.end_array().end_object().end_array();
  }

  void write_libraries(JsonWriter& json) const {
    json.key("libs").begin_array();
    for (const model::MappingId id : written_libraries_) {
      const model::Mapping& mapping = profile_.mappings[id];
      const std::string_view path = profile_.text(mapping.path);
      json.begin_object().member("arch", profile_.facts.arch).member("name", file_name(path)).member("path", path);
      json.member("debugName", file_name(path)).member("debugPath", path);
      json.member("breakpadId", breakpad_id(mapping.build_id)).key("codeId");
      if (mapping.build_id.empty()) {
        json.null();
      } else {
        json.value(mapping.build_id.hex());
      }
      json.end_object();
    }
    json.end_array();
  }

  std::string process_name(const model::Thread& thread) const {
    for (const model::Thread& other : profile_.threads) {
      if (other.pid == thread.pid && other.tid == thread.pid) return std::string(profile_.text(other.comm));
    }
    return std::string(profile_.text(thread.comm));
  }

  std::string thread_name(const SampleGroup& group) const {
    const std::string_view comm = profile_.text(profile_.threads[group.thread].comm);
    const bool alone = std::none_of(groups_.begin(), groups_.end(),
                                    [&](const SampleGroup& other) { return other.event != group.event; });
    const std::string_view event = profile_.text(profile_.events[group.event].name);
    if (comm.empty()) return std::string(event);
    return alone ? std::string(comm) : fmt::format("{} ({})", comm, event);
  }

  void write_thread(JsonWriter& json, const SampleGroup& group, size_t index) {
    const model::Thread& thread = profile_.threads[group.thread];
    const bool is_main = thread.pid < 0 || thread.pid == thread.tid;
    json.begin_object().member("name", thread_name(group)).member("isMainThread", is_main);
    json.member("processType", "default").member("processName", process_name(thread));
    json.member("processStartupTime", 0).key("processShutdownTime").null();
    json.member("registerTime", 0).key("unregisterTime").null();
    json.key("pausedRanges").begin_array().end_array();
    json.member("pid", thread.pid >= 0 ? fmt::format("{}", thread.pid) : fmt::format("unknown {}", index));
    json.key("tid");
    if (thread.tid >= 0) {
      json.value(thread.tid);
    } else {
      json.value(fmt::format("unknown {}", index));
    }
    json.key(kOriginMember);
    write_origin(json, profile_, group);
    write_samples(json, group);
    json.key("markers").begin_object().member("length", 0);
    for (const std::string_view column : {"data", "name", "startTime", "endTime", "phase", "category"}) {
      json.key(column).begin_array().end_array();
    }
    json.end_object().end_object();
  }

  void write_samples(JsonWriter& json, const SampleGroup& group) const {
    const model::Samples& samples = profile_.samples;
    const std::string_view unit = profile_.text(profile_.events[group.event].unit);
    const bool is_time = group.by_value && unit == "ns";
    json.key("samples").begin_object().member("length", group.rows.size());
    json.member("weightType", is_time ? "tracing-ms" : group.by_value && unit == "bytes" ? "bytes" : "samples");
    json.key("stack").begin_array();
    for (const uint32_t row : group.rows) {
      if (const model::StackId stack = samples.stack[row]) {
        json.value(stack.value - 1);
      } else {
        json.null();
      }
    }
    json.end_array().key("time").begin_array();
    for (size_t i = 0; i < group.rows.size(); ++i) json.value(time_of(group.rows[i], i));
    json.end_array().key("weight").begin_array();
    for (const uint32_t row : group.rows) {
      const uint64_t weight = group.weight(profile_, row);
      if (is_time) {
        json.value(static_cast<double>(weight) / 1e6);
      } else {
        json.value(weight);
      }
    }
    json.end_array().end_object();
  }

  // In milliseconds from the first sample on; where times are not known, one sample an interval.
  double time_of(uint32_t row, size_t place) const {
    const auto& times = profile_.samples.time;
    if (times.empty()) return static_cast<double>(place) * interval_;
    return static_cast<double>(times[row] - first_time_) / 1e6;
  }

  void write_shared(JsonWriter& json) {
    json.key("shared").begin_object();
    write_stacks(json);
    write_frames(json);
    const std::vector<int64_t> sources = write_functions(json);
    json.key("resourceTable").begin_object().member("length", written_libraries_.size());
    std::vector<int64_t> names;
    std::vector<int64_t> numbers;
    for (const model::MappingId id : written_libraries_) {
      numbers.push_back(static_cast<int64_t>(numbers.size()));
      names.push_back(text(file_name(profile_.text(profile_.mappings[id].path))));
    }
    write_column(json, "lib", numbers, None::kNull);
    write_column(json, "name", names, None::kNull);
    write_nulls(json, "host", names.size());
    write_constant(json, "type", kLibrary, names.size());
    json.end_object();
    write_symbols(json);
    json.key("sources").begin_object().member("length", sources.size());
    write_nulls(json, "id", sources.size());
    write_column(json, "filename", sources, None::kNull);
    write_constant(json, "startLine", 1, sources.size());
    write_constant(json, "startColumn", 1, sources.size());
    write_nulls(json, "sourceMapURL", sources.size());
    json.end_object().key("stringArray").begin_array();
    for (const std::string_view each : texts_) json.value(each);
    json.end_array().end_object();
  }

  void write_stacks(JsonWriter& json) const {
    std::vector<int64_t> frames;
    std::vector<int64_t> prefixes;
    for (uint32_t i = 1; i < profile_.stacks.size(); ++i) {
      const model::Stack& stack = profile_.stacks[model::StackId{i}];
      frames.push_back(int64_t{stack.frame.value} - 1);
      prefixes.push_back(int64_t{stack.parent.value} - 1);
    }
    json.key("stackTable").begin_object().member("length", frames.size());
    write_column(json, "frame", frames, None::kNull);
    write_column(json, "prefix", prefixes, None::kNull);
    json.end_object();
  }

  void write_frames(JsonWriter& json) const {
    const size_t rows = frame_function_.size();
    json.key("frameTable").begin_object().member("length", rows);
    write_column(json, "address", frame_address_, None::kMinusOne);
    write_column(json, "inlineDepth", frame_depth_, None::kNull);
    write_column(json, "category", frame_category_, None::kNull);
    write_constant(json, "subcategory", 0, rows);
    write_column(json, "func", frame_function_, None::kNull);
    write_column(json, "nativeSymbol", frame_symbol_, None::kNull);
    write_nulls(json, "innerWindowID", rows);
    write_column(json, "line", frame_line_, None::kNull);
    write_nulls(json, "column", rows);
    json.end_object();
  }

  // Returns the texts of the source files.
  std::vector<int64_t> write_functions(JsonWriter& json) {
    std::map<model::StringId, int64_t> known;
    std::vector<int64_t> files;
    std::vector<int64_t> resources;
    std::vector<int64_t> sources;
    std::vector<int64_t> lines;
    for (const Function& function : functions_) {
      const uint32_t line = profile_.functions[function.id].start_line;
      resources.push_back(function.library);
      lines.push_back(line != 0 ? int64_t{line} : kNone);
      if (!function.file) {
        sources.push_back(kNone);
        continue;
      }
      const auto [at, fresh] = known.try_emplace(function.file, static_cast<int64_t>(files.size()));
      if (fresh) files.push_back(text(profile_.text(function.file)));
      sources.push_back(at->second);
    }
    const size_t rows = functions_.size();
    json.key("funcTable").begin_object().member("length", rows);
    write_column(json, "name", function_names_, None::kNull);
    write_constant(json, "isJS", false, rows);
    write_constant(json, "relevantForJS", false, rows);
    write_column(json, "resource", resources, None::kMinusOne);
    write_column(json, "source", sources, None::kNull);
    write_column(json, "lineNumber", lines, None::kNull);
    write_nulls(json, "columnNumber", rows);
    json.end_object();
    return files;
  }

  void write_symbols(JsonWriter& json) const {
    std::vector<int64_t> libraries;
    std::vector<int64_t> addresses;
    for (const Symbol& symbol : symbols_) {
      libraries.push_back(symbol.library);
      addresses.push_back(static_cast<int64_t>(symbol.address));
    }
    json.key("nativeSymbols").begin_object().member("length", symbols_.size());
    write_column(json, "libIndex", libraries, None::kNull);
    write_column(json, "address", addresses, None::kNull);
    write_column(json, "name", symbol_names_, None::kNull);
    write_nulls(json, "functionSize", symbols_.size());
    json.end_object();
  }

  uint64_t earliest() const {
    const auto& times = profile_.samples.time;
    return times.empty() ? 0 : *std::min_element(times.begin(), times.end());
  }

  const Profile& profile_;
  const std::vector<SampleGroup> groups_;
  const uint64_t first_time_ = earliest();
  const double interval_ = estimate_interval();
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string, int64_t> text_ids_;
  std::vector<int64_t> libraries_;  // by mapping
  std::vector<model::MappingId> written_libraries_;
  std::vector<Function> functions_;
  std::map<std::pair<Function, uint32_t>, size_t> function_ids_;  // with the frame where that alone is known
  std::vector<int64_t> function_names_;
  // By frame, less one.
  std::vector<int64_t> frame_function_;
  std::vector<int64_t> frame_address_;
  std::vector<int64_t> frame_category_;
  std::vector<int64_t> frame_line_;
  std::vector<int64_t> frame_depth_;
  std::vector<int64_t> frame_symbol_;
  std::vector<Symbol> symbols_;
  std::map<Symbol, int64_t> symbol_ids_;
  std::vector<int64_t> symbol_names_;
};

}  // namespace

base::Result<std::string> write_firefox(const Profile& profile) { return Writer(profile).write(); }

}  // namespace tephra::formats
