#include "model/redaction.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/sha256.h"
#include "model/public_events.h"
#include "model/reading_notes.h"

namespace tephra::model {
namespace {

constexpr std::string_view kUnknown = "[unknown] ";

// What the kernel calls memory that has no file. "[anon:…]" and "/memfd:…" hold names of the program's own.
constexpr std::array<std::string_view, 9> kKernelsNames{
    "", "//anon", "[heap]", "[stack]", "[vdso]", "[vsyscall]", "[uprobes]", "/dev/zero", "/anon_hugepage"};

bool is_all_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

// A number stands for a name that was not recorded.
bool is_number_of_thread(std::string_view comm) {
  return comm.starts_with(':') && is_all_of(comm.substr(1), "-0123456789");
}

// Whose functions keep their names.
bool keeps_names(CodeKind kind) {
  return kind == CodeKind::kKernel || kind == CodeKind::kKernelModule || kind == CodeKind::kVdso ||
         kind == CodeKind::kKernelUnmapped;
}

base::Sha256::Digest digest_of(std::string_view key, std::string_view kind, std::string_view name) {
  std::string message(kind);
  message += '\0';
  message += name;
  return base::hmac_sha256(base::as_bytes(key), base::as_bytes(message));
}

// Puts the tables of a profile together anew.
class Redactor {
 public:
  Redactor(const Profile& profile, const Redaction& redaction) : in_(profile), redaction_(redaction) {}

  Profile redact() && {
    out_.samples = in_.samples;
    out_.quality = in_.quality;
    out_.stacks = in_.stacks;
    out_.facts = in_.facts;
    out_.facts.host.clear();
    out_.facts.command_line.clear();
    out_.facts.names.reset();
    out_.facts.comments.clear();
    for (const ReadingNote& note : reading_notes(in_.facts)) {
      add_reading_note(note.event.empty() ? "" : redaction_.event(note.event), note.text, out_.facts);
    }
    out_.facts.drop_frames.clear();
    out_.facts.keep_frames.clear();
    out_.facts.default_event = redaction_.event(in_.facts.default_event);
    out_.facts.period.event = redaction_.event(in_.facts.period.event);
    add_mappings();
    add_frames();
    add_events();
    add_threads();
    add_labels();
    return std::move(out_);
  }

 private:
  void add_mappings() {
    for (const Mapping& mapping : in_.mappings) {
      Mapping row = mapping;
      row.path = out_.strings.add(redaction_.path(in_.text(mapping.path), mapping.kind));
      // That of a kernel, too: who builds kernels is known by it, and nothing needs it where its names stay.
      row.build_id = redaction_.build_id(mapping.build_id);
      row.file = {.inode = redaction_.number(mapping.file.inode)};
      out_.mappings.add(row);
    }
  }

  // A function's row may serve frames of the kernel, whose names stay, and of programs.
  FunctionId function(FunctionId id, CodeKind kind) {
    if (!id) return {};
    const auto [at, fresh] = functions_.try_emplace(std::pair(id.value, kind));
    if (!fresh) return at->second;
    const Function& row = in_.functions[id];
    const std::string_view name = in_.text(row.name);
    const std::string_view symbol = in_.text(row.system_name);
    // Nothing that does not stay may get into the table of texts.
    Function out{.named = row.named};
    if (keeps_names(kind)) {
      out.name = out_.strings.add(name);
      out.system_name = out_.strings.add(symbol);
    } else if (!row.named) {
      out.name = out_.strings.add(redaction_.stand_in(name, kind));
    } else if (kind == CodeKind::kImported) {
      out.name = out_.strings.add(redaction_.imported(name));
    } else {
      out.name = out.system_name = out_.strings.add(redaction_.function(name));
    }
    return at->second = out_.functions.add(out);
  }

  void add_frames() {
    out_.functions.add(Function{});
    for (const Frame& frame : in_.frames) {
      Frame row = frame;
      row.function = function(frame.function, in_.mappings[frame.mapping].kind);
      row.file = out_.strings.add(redaction_.source(in_.text(frame.file)));
      out_.frames.add(row);
    }
  }

  void add_events() {
    for (const Event& event : in_.events) {
      out_.events.add({out_.strings.add(redaction_.event(in_.text(event.name))), out_.strings.add(in_.text(event.unit)),
                       out_.strings.add(redaction_.event(in_.text(event.counted))), event.uncounted});
    }
  }

  void add_labels() {
    for (const LabelSet& set : in_.label_sets) {
      LabelSet row;
      for (const Label& label : set.labels) {
        row.labels.push_back({out_.strings.add(redaction_.label(in_.text(label.key))),
                              out_.strings.add(redaction_.label(in_.text(label.text))), label.number,
                              out_.strings.add(in_.text(label.unit))});
      }
      // By number: their order is not that of the names that went in.
      std::sort(row.labels.begin(), row.labels.end());
      out_.label_sets.add(std::move(row));
    }
  }

  // Threads that were seen in code of a program: a process whose mappings were lost looks like one of the kernel's.
  std::vector<char> threads_of_programs() const {
    std::vector<char> in_program(in_.stacks.size());
    for (uint32_t i = 1; i < in_.stacks.size(); ++i) {
      const Stack& stack = in_.stacks[StackId{i}];
      in_program[i] = in_program[stack.parent.value] || !in_.in_kernel(stack.frame);
    }
    std::vector<char> of_programs(in_.threads.size());
    for (size_t i = 0; i < in_.samples.size(); ++i) {
      if (in_program[in_.samples.stack[i].value]) of_programs[in_.samples.thread[i].value] = 1;
    }
    return of_programs;
  }

  void add_threads() {
    const std::vector<char> of_programs = threads_of_programs();
    for (uint32_t i = 0; i < in_.threads.size(); ++i) {
      const Thread& thread = in_.threads[ThreadId{i}];
      Thread row = thread;
      const std::string_view comm = in_.text(thread.comm);
      const bool stays = (thread.kernel_thread && !of_programs[i]) || is_number_of_thread(comm);
      row.comm = out_.strings.add(stays ? std::string(comm) : redaction_.comm(comm));
      out_.threads.add(row);
    }
  }

  const Profile& in_;
  const Redaction& redaction_;
  Profile out_;
  std::map<std::pair<uint32_t, CodeKind>, FunctionId> functions_;
};

}  // namespace

std::string Redaction::word(std::string_view kind, std::string_view name) const {
  if (name.empty()) return {};
  // 64 bits: two of a million names are the same once in ten million profiles.
  const uint64_t hash = __builtin_bswap64(base::load<uint64_t>(digest_of(key_, kind, name).data()));
  return fmt::format("{}_{:016x}", kind, hash);
}

std::string Redaction::path(std::string_view path, CodeKind kind) const {
  const bool kernels = std::ranges::find(kKernelsNames, path) != kKernelsNames.end();
  switch (kind) {
    case CodeKind::kKernelCode:
    case CodeKind::kJit:
      return function(path);
    case CodeKind::kAnonymous:
    case CodeKind::kNone:
    case CodeKind::kVdso:
      if (kernels) return std::string(path);
      break;
    case CodeKind::kKernel:
    case CodeKind::kKernelModule:
    case CodeKind::kKernelUnmapped:
      if (!path.starts_with('/')) return std::string(path);
      break;
    case CodeKind::kFile:
    case CodeKind::kImported:
      break;
  }
  return path.empty() ? "" : "/" + word("file", path);
}

BuildId Redaction::build_id(const BuildId& id) const {
  if (id.empty()) return id;
  return BuildId(base::Bytes(digest_of(key_, "build id", base::as_text(id.bytes()))).first(BuildId::kMostBytes));
}

uint64_t Redaction::number(uint64_t value) const {
  if (value == 0) return 0;
  const auto digest = digest_of(key_, "number", base::as_text(std::as_bytes(std::span(&value, 1))));
  return base::load<uint64_t>(digest.data());
}

std::string Redaction::event(std::string_view name) const {
  return is_public_event(name) ? std::string(name) : word("event", name);
}

std::string Redaction::stand_in(std::string_view text, CodeKind kind) const {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  if (text == kUnknown.substr(0, kUnknown.size() - 1)) return std::string(text);
  if (!text.starts_with(kUnknown)) return word("fn", text);
  const std::string_view place = text.substr(kUnknown.size());
  if (place.starts_with("0x") && is_all_of(place.substr(2), kHexDigits)) return std::string(text);
  const size_t plus = place.rfind("+0x");
  if (plus == std::string_view::npos || !is_all_of(place.substr(plus + 3), kHexDigits)) {
    return fmt::format("{}{}", kUnknown, word("file", place));
  }
  const std::string_view module = place.substr(0, plus);
  if (kind == CodeKind::kAnonymous && module == "[anon]") return std::string(text);
  return fmt::format("{}{}{}", kUnknown, word("file", module), place.substr(plus));
}

std::string Redaction::imported(std::string_view name) const {
  for (const std::string_view mark : {"_[k]", "_[j]", "_[i]"}) {
    if (name.ends_with(mark)) return word("fn", name.substr(0, name.size() - mark.size())) + std::string(mark);
  }
  return word("fn", name);
}

Profile redact(const Profile& profile, const Redaction& redaction) { return Redactor(profile, redaction).redact(); }

}  // namespace tephra::model
