#include "model/redaction.h"

#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/sha256.h"

namespace tephra::model {
namespace {

constexpr size_t kDigits = 16;  // of a hash; two of a million names are the same once in ten million profiles
constexpr std::string_view kUnknown = "[unknown] ";

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
    add_mappings();
    add_frames();
    add_events();
    add_threads();
    return std::move(out_);
  }

 private:
  void add_mappings() {
    for (const Mapping& mapping : in_.mappings) {
      Mapping row = mapping;
      const bool has_own_name = mapping.kind == CodeKind::kKernelCode || mapping.kind == CodeKind::kJit;
      const std::string_view path = in_.text(mapping.path);
      row.path = out_.strings.add(has_own_name ? redaction_.function(path) : redaction_.path(path));
      if (!is_kernel(mapping.kind) && mapping.kind != CodeKind::kVdso) {
        row.build_id = redaction_.build_id(mapping.build_id);
        row.file.inode = redaction_.number(mapping.file.inode);
        row.file.device = 0;
        row.file.generation = 0;
      }
      out_.mappings.add(row);
    }
  }

  // A function's row may serve frames of the kernel, whose names stay, and of programs.
  FunctionId function(FunctionId id, bool stays) {
    const auto [at, fresh] = functions_.try_emplace(std::pair(id.value, stays));
    if (!fresh) return at->second;
    const Function& row = in_.functions[id];
    const std::string_view name = in_.text(row.name);
    const std::string_view symbol = in_.text(row.system_name);
    // Nothing that does not stay may get into the table of texts.
    Function out{.named = row.named};
    if (stays) {
      out.name = out_.strings.add(name);
      out.system_name = out_.strings.add(symbol);
    } else if (row.named) {
      out.name = out.system_name = out_.strings.add(redaction_.function(name));
    } else {
      out.name = out_.strings.add(redaction_.stand_in(name));
    }
    return at->second = out_.functions.add(out);
  }

  void add_frames() {
    out_.functions.add(Function{});
    functions_[{0, false}] = functions_[{0, true}] = FunctionId{};
    for (const Frame& frame : in_.frames) {
      Frame row = frame;
      const CodeKind kind = in_.mappings[frame.mapping].kind;
      row.function = function(frame.function, kind == CodeKind::kKernel || kind == CodeKind::kKernelModule ||
                                                  kind == CodeKind::kVdso || kind == CodeKind::kKernelUnmapped);
      row.file = out_.strings.add(redaction_.source(in_.text(frame.file)));
      out_.frames.add(row);
    }
  }

  void add_events() {
    for (const Event& event : in_.events) {
      out_.events.add(
          {out_.strings.add(redaction_.event(in_.text(event.name))), out_.strings.add(in_.text(event.unit))});
    }
  }

  void add_threads() {
    for (const Thread& thread : in_.threads) {
      Thread row = thread;
      const std::string_view comm = in_.text(thread.comm);
      // A number stands for a name that was not recorded.
      const bool stays = thread.kernel_thread || thread.pid == 0 || comm.starts_with(':');
      row.comm = out_.strings.add(stays ? std::string(comm) : redaction_.comm(comm));
      out_.threads.add(row);
    }
  }

  const Profile& in_;
  const Redaction& redaction_;
  Profile out_;
  std::map<std::pair<uint32_t, bool>, FunctionId> functions_;
};

}  // namespace

std::string Redaction::word(std::string_view kind, std::string_view name) const {
  if (name.empty()) return {};
  return fmt::format("{}_{:.{}}", kind, BuildId(base::Bytes(digest_of(key_, kind, name)).first(20)).hex(), kDigits);
}

std::string Redaction::path(std::string_view path) const {
  if (!path.starts_with('/') || path.starts_with("//")) return std::string(path);
  return "/" + word("file", path);
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
  const bool probe = name.starts_with("probe") || name.starts_with("uprobe") || name.starts_with("sdt_") ||
                     name.starts_with("mem:") || name.find('/') != std::string_view::npos;
  // A PMU's events are written with slashes too: cpu/event=0x3c/.
  const bool pmu =
      name.find('/') != std::string_view::npos && name.find('.') == std::string_view::npos && !name.starts_with('/');
  return probe && !pmu ? word("event", name) : std::string(name);
}

std::string Redaction::stand_in(std::string_view text) const {
  if (!text.starts_with(kUnknown)) return word("fn", text);
  const std::string_view place = text.substr(kUnknown.size());
  const size_t plus = place.rfind("+0x");
  if (plus == std::string_view::npos || place.starts_with('[')) return std::string(text);
  return fmt::format("{}{}{}", kUnknown, word("file", place.substr(0, plus)), place.substr(plus));
}

Profile redact(const Profile& profile, const Redaction& redaction) { return Redactor(profile, redaction).redact(); }

}  // namespace tephra::model
