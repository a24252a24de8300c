#include "formats/firefox.h"

#include <algorithm>
#include <cmath>

#include "formats/firefox_readers.h"
#include "formats/firefox_writer.h"
#include "formats/json_profile.h"
#include "model/build_id.h"

namespace tephra::formats {
namespace {

using base::Json;
using base::JsonTape;
using model::CodeKind;

constexpr std::string_view kCommentSection = "tephra";
constexpr std::string_view kUnknown = "[unknown]";  // what stands for a name here

bool is_kernel_path(std::string_view path) {
  return path.starts_with("[kernel") || path.starts_with("[guest.kernel") || path == "vmlinux";
}

// A stand-in for a name that was not looked up: 0x3f84.
bool is_address(std::string_view name) {
  return name.starts_with("0x") && name.size() > 2 &&
         name.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
}

std::string refusal(base::Bytes bytes) { return json_refusal(bytes, JsonProfile::kFirefoxJson); }

base::Result<model::Profile> read(base::Bytes bytes) {
  TEPHRA_TRY(const JsonTape tape, JsonTape::parse(without_snapshot_header(base::as_text(bytes))));
  Json root = tape.root();
  if (root["profile"].is_object()) root = root["profile"];
  if (!root["threads"].is_array()) return base::failed("cannot read", "", "it has no list of threads");
  try {
    // The Gecko format tells the columns of each table.
    bool has_schema = false;
    for (const Json thread : root["threads"].elements()) {
      has_schema = has_schema || thread.is_text() || thread["samples"]["schema"].is_object();
    }
    const bool has_processes = root["processes"].size() > 0;
    return has_schema || has_processes ? read_gecko(root) : read_firefox_processed(root);
  } catch (const MalformedJson& malformed) {
    return base::failed("cannot read", "", malformed.why);
  }
}

}  // namespace

uint64_t nanoseconds_of(double milliseconds) {
  const double nanoseconds = milliseconds * 1e6;
  return nanoseconds > 0 && nanoseconds < 9e18 ? static_cast<uint64_t>(std::llround(nanoseconds)) : 0;
}

uint32_t line_of(int64_t number) { return number > 0 && number <= UINT32_MAX ? static_cast<uint32_t>(number) : 0; }

bool is_of_firefox(const Json& meta) { return meta["product"].text() == "Firefox"; }

FirefoxProfile::FirefoxProfile() {
  assembler_.facts().format = "firefox";
  assembler_.facts().engine = model::kEngineImported;
}

FirefoxProfile::Library FirefoxProfile::library(const Json& lib) {
  std::string storage;
  // Before version 41 the name could be the path.
  std::string path = lib["path"].text();
  if (path.empty()) path = lib["name"].text();
  const std::string_view name = lib["name"].text(storage);
  Library library;
  library.start = static_cast<uint64_t>(std::max<int64_t>(lib["start"].integer(), 0));
  library.end = static_cast<uint64_t>(std::max<int64_t>(lib["end"].integer(), 0));
  library.offset = static_cast<uint64_t>(std::max<int64_t>(lib["offset"].integer(), 0));
  if (is_kernel_path(name) || is_kernel_path(path) || name.starts_with('[')) {
    const bool kernel = is_kernel_path(name) || is_kernel_path(path) || path.ends_with(".ko");
    library.mapping = names_only(is_kernel_path(name) ? name : path, kernel);
    return library;
  }
  model::Mapping row{.path = assembler_.string(path), .kind = CodeKind::kFile};
  // The whole build id; the breakpad id holds 16 bytes of it, which prove nothing.
  row.build_id = model::BuildId::from_hex(lib["codeId"].text()).value_or(model::BuildId());
  library.mapping = assembler_.mapping(row);
  return library;
}

model::MappingId FirefoxProfile::names_only(std::string_view path, bool kernel) {
  return assembler_.mapping(
      {.path = assembler_.string(path), .kind = kernel ? CodeKind::kKernel : CodeKind::kImported});
}

model::FrameId FirefoxProfile::frame(const Place& place) {
  model::Frame row{.kind = place.kind, .inlined = place.inlined};
  row.file = assembler_.string(place.file);
  row.line = line_of(place.line);
  row.mapping = place.library != nullptr ? place.library->mapping : names_only({}, place.kernel);
  const bool in_file = assembler_.so_far().mappings[row.mapping].kind == CodeKind::kFile;
  if (in_file && place.address) {
    row.address = *place.address;
  } else if (in_file) {
    // Without an address there is nothing to look up.
    row.mapping = names_only(assembler_.so_far().text(assembler_.so_far().mappings[row.mapping].path), false);
  }
  const bool unnamed = place.name.empty() || is_address(place.name) || place.name.starts_with(kUnknown);
  if (unnamed && in_file && place.address) return assembler_.frame(row);
  const std::string_view name = place.name.empty() ? kUnknown : place.name;
  model::Function function{.name = assembler_.string(name), .named = !unnamed};
  function.start_line = line_of(place.start_line);
  row.function = assembler_.function(function);
  return assembler_.frame(row);
}

model::ThreadId FirefoxProfile::thread(const Json& thread, bool in_firefox) {
  std::string name = thread["name"].text();
  const std::string process = thread["processName"].text();
  // Outside of Firefox, main threads have this name for the sake of its viewer alone.
  if (name == "GeckoMain" && !process.empty() && !in_firefox) name = process;
  return assembler_.thread({task_id(thread["pid"]), task_id(thread["tid"]), assembler_.string(name)});
}

void FirefoxProfile::read_meta(const Json& meta) {
  model::RecordingFacts& facts = assembler_.facts();
  facts.started_unix_ns = static_cast<int64_t>(nanoseconds_of(meta["startTime"].number()));
  facts.command_line = meta["arguments"].text();
  facts.os_release = meta["oscpu"].text();
  facts.arch = meta["abi"].text();
  for (const Json section : meta["extra"].elements()) {
    if (section["label"].text() != kCommentSection) continue;
    for (const Json entry : section["entries"].elements()) facts.comments.push_back(entry["value"].text());
  }
}

model::Profile FirefoxProfile::finish() && {
  model::Profile profile = std::move(assembler_).finish();
  const auto& times = profile.samples.time;
  if (!times.empty()) {
    profile.facts.first_time = *std::min_element(times.begin(), times.end());
    profile.facts.last_time = *std::max_element(times.begin(), times.end());
  }
  return profile;
}

const Format kFirefox{
    .name = "firefox",
    .summary = "JSON of the Firefox Profiler, samply and simpleperf",
    .endings = ".firefox.json .profile.json",
    .refusal = refusal,
    .read = read,
    .write = write_firefox,
    .single_samples = true,
};

}  // namespace tephra::formats
