#include "stream/jit_reader.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/number_hash.h"
#include "objects/jitdump.h"
#include "objects/perf_map.h"

namespace tephra::stream {
namespace {

using Kind = objects::JitdumpRecord::Kind;

// Writers give line addresses as they will be in the file that `perf inject` makes of a function, where the code stands
// behind an ELF header of this size. V8 and LLVM do, Java's agent does not.
constexpr uint64_t kElfHeader = 0x40;

// A function's call-frame information has some hundred bytes, that of all that LLVM links together some hundred
// thousand.
constexpr size_t kMaxUnwinding = 1 << 20;
// How many bytes of it count as one of the rows that may be read.
constexpr size_t kUnwindingBytesOfRow = 32;

bool is_plain_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f || c >= 0xf8; });
}

// The lines of a record, empty where one of them cannot be: V8 is known to write memory that it has given back in the
// place of a file's name, with zeros in it, behind which all is out of step.
std::vector<objects::JitdumpLine> sound_lines(const objects::JitdumpRecord& record, bool swapped) {
  std::vector<objects::JitdumpLine> out;
  objects::JitdumpLines lines(record.lines, record.count, swapped);
  objects::JitdumpLine line;
  while (lines.next(line)) {
    if (line.address - record.address > UINT32_MAX || !is_plain_text(line.file)) return {};
    out.push_back(line);
  }
  return out.size() == record.count ? out : std::vector<objects::JitdumpLine>{};
}

// The file that a name of V8's form "JS:*function file:line:column" gives; empty for other names.
std::string_view file_in_name(std::string_view name) {
  const size_t blank = name.rfind(' ');
  if (blank == std::string_view::npos || name.find(':') > blank) return {};
  std::string_view file = name.substr(blank + 1);
  size_t numbers = 0;
  for (size_t colon = 0; numbers < 2; ++numbers) {
    colon = file.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == file.size()) break;
    if (file.find_first_not_of("0123456789", colon + 1) != std::string_view::npos) break;
    file = file.substr(0, colon);
  }
  return numbers > 0 ? file : std::string_view{};
}

// Where a function's name tells its file, lines of others are not believed: see sound_lines. In code that V8 optimised
// lines of inlined functions stand under the file of the function they are in, so that none of them can be believed.
void doubt_lines(std::string_view name, std::vector<JitLine>& lines) {
  const std::string_view file = file_in_name(name);
  if (file.empty()) return;
  const char compiler = name[name.find(':') + 1];
  if (compiler == '*' || compiler == '+') return lines.clear();
  for (JitLine& line : lines) {
    if (line.file != file) line = {line.offset, 0, {}};
  }
}

// What has been read of one jitdump.
struct Dump {
  bool lines_behind_header = true;  // as kElfHeader says; true until a line says otherwise
  std::vector<JitLine> lines;       // for the next load
  uint64_t lines_address = 0;
  std::optional<objects::JitdumpFrames> frames;  // for the next load, and those behind it if it is placed
  std::optional<uint32_t> unwinding;             // its number, once it is used
  struct Code {
    uint32_t function = 0;
    uint64_t address = 0;
  };
  std::unordered_map<uint64_t, Code, base::NumberHash> code;  // by index
};

class BatchReader {
 public:
  BatchReader(bool jitdump_clock, JitCode& code, model::Quality& quality, uint64_t most_rows)
      : jitdump_clock_(jitdump_clock), code_(code), quality_(quality), rows_left_(most_rows) {}

  void find_lines_origin(const JitBatch& batch) {
    Dump& dump = dumps_[batch.source];
    objects::JitdumpReader reader(batch.content, batch.swapped);
    objects::JitdumpRecord record;
    while (reader.next(record)) {
      if (record.kind != Kind::kDebugInfo) continue;
      for (const objects::JitdumpLine& line : sound_lines(record, batch.swapped)) {
        if (line.address - record.address < kElfHeader) dump.lines_behind_header = false;
      }
    }
  }

  void read(const JitBatch& batch) {
    if (batch.kind == JitBatch::Kind::kLeftOut) {
      ++quality_[model::Reason::jit_names_left_out];
    } else if (batch.kind == JitBatch::Kind::kNotWatched) {
      ++quality_[model::Reason::jit_processes_left_out];
    } else if (rows_left_ == 0) {
      ++quality_[model::Reason::malformed_records];
    } else if (batch.kind == JitBatch::Kind::kPerfMap) {
      read_map(batch);
    } else {
      read_dump(batch);
    }
  }

  std::vector<JitChange> take() && {
    std::stable_sort(changes_.begin(), changes_.end(),
                     [](const JitChange& a, const JitChange& b) { return a.moment < b.moment; });
    return std::move(changes_);
  }

 private:
  // Takes `rows` from what may be read.
  bool allow(uint64_t rows) {
    const bool allowed = rows <= rows_left_;
    if (!allowed) ++quality_[model::Reason::malformed_records];
    rows_left_ = allowed ? rows_left_ - rows : 0;
    return allowed;
  }

  // The same text once more changes nothing: a Java process writes all of its map whenever it is asked to.
  bool repeats(const JitBatch& batch) {
    base::Bytes& last = last_map_[{batch.source, batch.pid}];
    const bool same = std::ranges::equal(last, batch.content);
    last = batch.content;
    return same;
  }

  void read_map(const JitBatch& batch) {
    if (repeats(batch)) return;
    objects::PerfMapReader reader(base::as_text(batch.content));
    objects::PerfMapEntry entry;
    JitChange change{.moment = batch.earliest,
                     .latest = std::max(batch.earliest, batch.latest),
                     .pid = batch.pid,
                     .source = JitCode::Source::kPerfMap};
    while (reader.next(entry) && allow(1)) {
      change.function = code_.add_function(entry.name, {}, batch.unproven);
      change.start = entry.start;
      change.end = entry.start + entry.size;
      changes_.push_back(change);
    }
    quality_[model::Reason::malformed_records] += reader.refused();
  }

  void read_dump(const JitBatch& batch) {
    Dump& dump = dumps_[batch.source];
    objects::JitdumpReader reader(batch.content, batch.swapped);
    objects::JitdumpRecord record;
    while (reader.next(record) && allow(1)) {
      if (record.kind == Kind::kDebugInfo) read_lines(record, batch.swapped, dump);
      if (record.kind == Kind::kUnwindingInfo) read_unwinding(record, batch.swapped, dump);
      if (record.kind == Kind::kLoad) load(batch, record, dump);
      if (record.kind == Kind::kMove) move(batch, record, dump);
    }
    quality_[model::Reason::malformed_records] += reader.refused() + reader.damaged();
  }

  void read_lines(const objects::JitdumpRecord& record, bool swapped, Dump& dump) {
    dump.lines.clear();
    dump.lines_address = record.address;
    if (!allow(record.count)) return;
    const uint64_t origin = record.address + (dump.lines_behind_header ? kElfHeader : 0);
    for (const objects::JitdumpLine& line : sound_lines(record, swapped)) {
      const uint64_t offset = line.address - origin;
      if (offset <= UINT32_MAX) dump.lines.push_back({static_cast<uint32_t>(offset), line.line, line.file});
    }
    std::stable_sort(dump.lines.begin(), dump.lines.end(),
                     [](const JitLine& a, const JitLine& b) { return a.offset < b.offset; });
  }

  // A file in the other byte order is of a machine whose stacks cannot be walked.
  void read_unwinding(const objects::JitdumpRecord& record, bool swapped, Dump& dump) {
    dump.frames = swapped ? std::nullopt : objects::JitdumpFrames::of(record);
    dump.unwinding.reset();
    if (!dump.frames) return;
    const size_t size = dump.frames->eh_frame().size();
    const size_t rows = size / kUnwindingBytesOfRow;
    if (size <= kMaxUnwinding && rows <= rows_left_) {
      rows_left_ -= rows;
      return;
    }
    ++quality_[model::Reason::malformed_records];
    dump.frames.reset();
  }

  // What tells its place is of all functions that were made together, and written once; else of one function alone.
  void describe(uint32_t function, const objects::JitdumpRecord& record, Dump& dump) {
    if (!dump.frames) return;
    if (!dump.unwinding) {
      const uint64_t address = dump.frames->address(record.address, record.size);
      dump.unwinding = code_.add_unwinding(JitUnwinding::of(dump.frames->eh_frame(), address));
    }
    code_.describe(function, {.unwinding = *dump.unwinding, .address = record.address});
  }

  void load(const JitBatch& batch, const objects::JitdumpRecord& record, Dump& dump) {
    std::vector<JitLine> lines = std::exchange(dump.lines, {});
    doubt_lines(record.name, lines);
    const uint64_t end = record.address + record.size;
    if (end <= record.address || record.name.empty()) return forget_unwinding(dump);
    const bool own_lines = dump.lines_address == record.address;
    const uint32_t function =
        code_.add_function(record.name, own_lines ? lines : std::vector<JitLine>{}, batch.unproven);
    describe(function, record, dump);
    forget_unwinding(dump);
    dump.code[record.index] = {function, record.address};
    add(batch, record, {.function = function, .start = record.address, .end = end});
  }

  static void forget_unwinding(Dump& dump) {
    if (!dump.frames || dump.frames->is_placed()) return;
    dump.frames.reset();
    dump.unwinding.reset();
  }

  void move(const JitBatch& batch, const objects::JitdumpRecord& record, Dump& dump) {
    const auto known = dump.code.find(record.index);
    const uint64_t end = record.address + record.size;
    if (known == dump.code.end() || end <= record.address) return;
    add(batch, record, {.unload = true, .start = known->second.address});
    known->second.address = record.address;
    add(batch, record, {.function = known->second.function, .start = record.address, .end = end});
  }

  void add(const JitBatch& batch, const objects::JitdumpRecord& record, JitChange change) {
    change.pid = batch.pid;
    change.source = JitCode::Source::kJitdump;
    if (jitdump_clock_ && !batch.other_clock) {
      // The memory may have been another process's before.
      change.moment = change.latest = std::max(record.time, batch.earliest);
    } else {
      change.moment = batch.earliest;
      change.latest = UINT64_MAX;
    }
    changes_.push_back(change);
  }

  const bool jitdump_clock_;
  JitCode& code_;
  model::Quality& quality_;
  std::unordered_map<uint32_t, Dump> dumps_;                      // by source
  std::map<std::pair<uint32_t, int32_t>, base::Bytes> last_map_;  // by source and process
  uint64_t rows_left_;
  std::vector<JitChange> changes_;
};

}  // namespace

void JitChange::apply(JitCode& code) const {
  if (unload) {
    code.unload(pid, source, start, moment);
  } else {
    code.load(pid, source, start, end, function, moment, latest);
  }
}

std::vector<JitChange> read_jit_batches(std::span<const JitBatch> batches, bool jitdump_clock, JitCode& code,
                                        model::Quality& quality, uint64_t most_rows) {
  BatchReader reader(jitdump_clock, code, quality, most_rows);
  for (const JitBatch& batch : batches) {
    if (batch.kind == JitBatch::Kind::kJitdump) reader.find_lines_origin(batch);
  }
  for (const JitBatch& batch : batches) reader.read(batch);
  return std::move(reader).take();
}

}  // namespace tephra::stream
