#include "formats/json_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/json_writer.h"

namespace tephra::formats {
namespace {

using base::JsonWriter;
using model::CodeKind;
using model::Profile;

std::string_view kind_name(CodeKind kind) {
  switch (kind) {
    case CodeKind::kFile:
      return "file";
    case CodeKind::kVdso:
      return "vdso";
    case CodeKind::kAnonymous:
      return "anonymous";
    case CodeKind::kJit:
      return "jit";
    case CodeKind::kKernel:
      return "kernel";
    case CodeKind::kKernelModule:
      return "kernel_module";
    case CodeKind::kKernelCode:
      return "kernel_code";
    case CodeKind::kKernelUnmapped:
      return "kernel_unmapped";
    case CodeKind::kImported:
      return "imported";
    case CodeKind::kNone:
      break;
  }
  return "none";
}

// Numbers of 64 bits that programs may hold as floating point.
std::string hex(uint64_t value) { return fmt::format("{:#x}", value); }

// Rows are counted from 0 here; tables with a row for "none" begin behind it, and -1 stands for it.
template <class Id>
int64_t row(Id id) {
  return static_cast<int64_t>(id.value) - 1;
}

class Writer {
 public:
  explicit Writer(const Profile& profile) : profile_(profile), json_(out_) {}

  std::string write() && {
    json_.begin_object().member("format", "tephra.profile").member("version", 1);
    write_facts();
    write_quality();
    write_events();
    write_threads();
    write_modules();
    write_functions();
    collect_files();
    write_frames();
    write_stacks();
    write_label_sets();
    write_samples();
    json_.end_object();
    out_ += '\n';
    return std::move(out_);
  }

 private:
  std::string_view text(model::StringId id) const { return profile_.text(id); }

  template <class T>
  void optional(std::string_view name, const std::optional<T>& value) {
    if (value) json_.member(name, *value);
  }

  template <class Values, class Convert>
  void column(std::string_view name, const Values& values, Convert convert) {
    json_.key(name).begin_array();
    for (const auto& value : values) json_.value(convert(value));
    json_.end_array();
  }

  // A column of a table that begins with a row for "none".
  template <class Row, class RowId, class Convert>
  void table_column(std::string_view name, const model::Table<Row, RowId>& table, Convert convert) {
    json_.key(name).begin_array();
    for (uint32_t i = 1; i < table.size(); ++i) json_.value(convert(table[RowId{i}]));
    json_.end_array();
  }

  void write_facts() {
    const model::RecordingFacts& facts = profile_.facts;
    json_.key("facts").begin_object();
    const std::pair<std::string_view, const std::string&> texts[] = {{"format", facts.format},
                                                                     {"engine", facts.engine},
                                                                     {"clock", facts.clock},
                                                                     {"host", facts.host},
                                                                     {"os_release", facts.os_release},
                                                                     {"arch", facts.arch},
                                                                     {"command_line", facts.command_line}};
    for (const auto& [name, value] : texts) {
      if (!value.empty()) json_.member(name, value);
    }
    if (!facts.default_event.empty()) json_.member("default_event", facts.default_event);
    if (facts.started_unix_ns != 0) json_.member("started_unix_ns", fmt::format("{}", facts.started_unix_ns));
    if (facts.duration_ns != 0) json_.member("duration_ns", facts.duration_ns);
    if (facts.period != model::SamplingPeriod{}) {
      json_.key("period").begin_object().member("event", facts.period.event).member("unit", facts.period.unit);
      json_.member("value", facts.period.value).end_object();
    }
    optional("recorder_cpu_seconds", facts.recorder_cpu_seconds);
    optional("steal_share", facts.steal_share);
    json_.key("comments").begin_array();
    for (const std::string& comment : facts.comments) json_.value(comment);
    json_.end_array().end_object();
  }

  void write_quality() {
    const model::Quality& quality = profile_.quality;
    json_.key("quality").begin_object().member("lost", quality.lost).member("throttled", quality.throttled);
    json_.member("idle", quality.idle).member("own", quality.own).key("missing").begin_object();
    for (size_t i = 0; i < model::kReasonCount; ++i) {
      if (quality.reasons[i] != 0) json_.member(model::kReasonNames[i], quality.reasons[i]);
    }
    json_.end_object().end_object();
  }

  void write_events() {
    json_.key("events").begin_array();
    for (const model::Event& event : profile_.events) {
      json_.begin_object().member("name", text(event.name)).member("unit", text(event.unit));
      json_.member("counted", event.counted ? text(event.counted) : std::string_view("samples"));
      json_.member("counts_known", !event.uncounted).end_object();
    }
    json_.end_array();
  }

  void write_threads() {
    json_.key("threads").begin_array();
    for (const model::Thread& thread : profile_.threads) {
      json_.begin_object().member("pid", thread.pid).member("tid", thread.tid).member("comm", text(thread.comm));
      json_.member("kernel", thread.kernel_thread).end_object();
    }
    json_.end_array();
  }

  void write_modules() {
    json_.key("modules").begin_array();
    for (uint32_t i = 1; i < profile_.mappings.size(); ++i) {
      const model::Mapping& mapping = profile_.mappings[model::MappingId{i}];
      json_.begin_object().member("path", text(mapping.path)).member("kind", kind_name(mapping.kind));
      if (!mapping.build_id.empty()) json_.member("build_id", mapping.build_id.hex());
      if (mapping.base != 0) json_.member("base", hex(mapping.base));
      if (mapping.pid != 0) json_.member("pid", mapping.pid);
      json_.end_object();
    }
    json_.end_array();
  }

  void write_functions() {
    json_.key("functions").begin_object();
    const auto& functions = profile_.functions;
    table_column("name", functions, [&](const model::Function& function) { return text(function.name); });
    table_column("system_name", functions, [&](const model::Function& function) { return text(function.system_name); });
    table_column("named", functions, [](const model::Function& function) { return function.named; });
    table_column("start_line", functions, [](const model::Function& function) { return function.start_line; });
    json_.end_object();
  }

  // Source files are few, and each frame has one.
  void collect_files() {
    std::vector<std::string_view> files;
    for (uint32_t i = 1; i < profile_.frames.size(); ++i) {
      const model::StringId file = profile_.frames[model::FrameId{i}].file;
      if (!file) continue;
      if (files_.try_emplace(file.value, static_cast<int64_t>(files.size())).second) files.push_back(text(file));
    }
    column("files", files, [](std::string_view file) { return file; });
  }

  int64_t file_row(model::StringId file) const { return file ? files_.at(file.value) : -1; }

  void write_frames() {
    json_.key("frames").begin_object();
    const auto& frames = profile_.frames;
    table_column("function", frames, [](const model::Frame& frame) { return row(frame.function); });
    table_column("module", frames, [](const model::Frame& frame) { return row(frame.mapping); });
    table_column("address", frames, [](const model::Frame& frame) { return hex(frame.address); });
    table_column("return_address", frames,
                 [](const model::Frame& frame) { return frame.kind == model::AddressKind::kReturn; });
    table_column("inlined", frames, [](const model::Frame& frame) { return frame.inlined; });
    table_column("file", frames, [&](const model::Frame& frame) { return file_row(frame.file); });
    table_column("line", frames, [](const model::Frame& frame) { return frame.line; });
    table_column("symbol_offset", frames, [](const model::Frame& frame) { return frame.symbol_offset; });
    json_.end_object();
  }

  void write_stacks() {
    json_.key("stacks").begin_object();
    table_column("parent", profile_.stacks, [](const model::Stack& stack) { return row(stack.parent); });
    table_column("frame", profile_.stacks, [](const model::Stack& stack) { return row(stack.frame); });
    json_.end_object();
  }

  void write_label_sets() {
    json_.key("label_sets").begin_array();
    for (uint32_t i = 1; i < profile_.label_sets.size(); ++i) {
      json_.begin_array();
      for (const model::Label& label : profile_.label_sets[model::LabelSetId{i}].labels) {
        json_.begin_object().member("key", text(label.key));
        if (label.text) {
          json_.member("text", text(label.text));
        } else {
          json_.member("number", label.number).member("unit", text(label.unit));
        }
        json_.end_object();
      }
      json_.end_array();
    }
    json_.end_array();
  }

  void write_samples() {
    const model::Samples& samples = profile_.samples;
    const auto same = [](auto value) { return value; };
    json_.key("samples").begin_object().member("length", samples.size());
    column("stack", samples.stack, [](model::StackId id) { return row(id); });
    column("event", samples.event, [](model::EventId id) { return id.value; });
    column("thread", samples.thread, [](model::ThreadId id) { return id.value; });
    column("count", samples.count, same);
    column("value", samples.value, same);
    if (!samples.time.empty()) {
      const uint64_t origin = *std::ranges::min_element(samples.time);
      json_.member("time_origin_ns", fmt::format("{}", origin));
      column("time_ns", samples.time, [&](uint64_t time) { return time - origin; });
    }
    if (!samples.cpu.empty()) column("cpu", samples.cpu, same);
    if (!samples.labels.empty()) column("label_set", samples.labels, [](model::LabelSetId id) { return row(id); });
    json_.end_object();
  }

  const Profile& profile_;
  std::string out_;
  JsonWriter json_;
  std::unordered_map<uint32_t, int64_t> files_;  // by text
};

base::Result<std::string> write(const Profile& profile) { return Writer(profile).write(); }

}  // namespace

const Format kJson{
    .name = "json",
    .summary = "everything tephra knows of a profile, as JSON tables",
    .endings = ".json",
    .write = write,
    .single_samples = true,
};

}  // namespace tephra::formats
