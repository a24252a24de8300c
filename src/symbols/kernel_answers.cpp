#include "symbols/kernel_answers.h"

#include <sys/utsname.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "objects/elf_file.h"
#include "objects/kallsyms.h"
#include "symbols/kernel_image.h"
#include "symbols/kernel_symbol_text.h"

namespace tephra::symbols {
namespace {

using model::CodeKind;
using model::FrameId;
using model::Profile;
using model::Reason;
using objects::Kallsyms;

std::string running_release() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

model::BuildId running_build_id(const std::string& notes_path) {
  const auto notes = base::read_small_file(notes_path);
  return notes ? model::BuildId(objects::find_build_id_note(base::as_bytes(*notes))) : model::BuildId();
}

// "[nf_tables]" and "/lib/modules/…/nf-tables.ko.xz" are the module nf_tables.
std::string module_name(std::string_view path) {
  path.remove_prefix(path.rfind('/') + 1);
  if (path.starts_with('[')) path.remove_prefix(1);
  std::string name(path.substr(0, path.find_first_of(".]")));
  std::ranges::replace(name, '-', '_');
  return name;
}

// Code the kernel generated: it is listed as if it were of a module of this name.
bool is_generated(std::string_view module) { return module == "bpf" || module.starts_with("__builtin__"); }

uint64_t lookup_address(const model::Frame& frame) {
  return frame.kind == model::AddressKind::kReturn ? frame.address - 1 : frame.address;
}

class KernelAnswers {
 public:
  KernelAnswers(const Profile& profile, const std::vector<FrameId>& frames, const RunningKernel& kernel,
                FileFinder* finder, const base::DiskCache& cache)
      : profile_(profile),
        frames_(frames),
        kernel_(kernel),
        finder_(finder),
        text_(kernel.symbols, kernel.boot_id, cache) {
    for (const model::Mapping& mapping : profile.mappings) {
      if (mapping.kind != CodeKind::kKernel) continue;
      recorded_ = mapping;
      break;
    }
  }

  Answers answer() && {
    Kallsyms symbols = read(0);
    if (symbols.hidden() || !symbols.text_start()) return answer_from_image(Reason::kernel_symbols_hidden);
    if (!is_recorded_kernel(*symbols.text_start())) return answer_from_image(Reason::kernel_mismatch);
    const uint64_t shift = *symbols.text_start() - recorded_.base;
    if (shift != 0) symbols = read(shift);
    for (const FrameId frame : frames_) answer(frame, symbols, shift);
    return std::move(answers_);
  }

 private:
  Kallsyms read(uint64_t shift) const {
    std::vector<uint64_t> wanted;
    wanted.reserve(frames_.size() * 2);
    for (const FrameId frame : frames_) {
      const model::Frame& row = profile_.frames[frame];
      wanted.push_back(lookup_address(row) + shift);
      if (row.kind == model::AddressKind::kReturn) wanted.push_back(row.address + shift);
    }
    Kallsyms symbols(std::move(wanted));
    text_.read_into(symbols);
    return symbols;
  }

  // The running kernel cannot name them: maybe the file of the recorded one can, all but its modules.
  Answers answer_from_image(Reason otherwise) {
    std::optional<KernelImage> image;
    if (finder_ != nullptr && recorded_.base != 0) {
      image = KernelImage::find(*finder_, recorded_.build_id, profile_.facts.os_release);
    }
    if (!image) return refuse(otherwise);
    for (const FrameId frame : frames_) {
      const model::Frame& row = profile_.frames[frame];
      const bool in_module = profile_.mappings[row.mapping].kind == CodeKind::kKernelModule;
      if (in_module || row.address < recorded_.base) {
        answer_unknown(frame, otherwise);
      } else if (const auto function = image->function_at(lookup_address(row) - recorded_.base)) {
        answers_.add_named(frame, function->name, function->name, row.address - recorded_.base - function->address);
      } else {
        answer_unknown(frame, Reason::no_symbol);
      }
    }
    return std::move(answers_);
  }

  bool is_recorded_kernel(uint64_t text_start) const {
    if (recorded_.base == 0) return false;
    const model::BuildId running = running_build_id(kernel_.notes);
    if (!recorded_.build_id.empty() && !running.empty()) return recorded_.build_id == running;
    const std::string release = kernel_.os_release.empty() ? running_release() : kernel_.os_release;
    const bool other_release = !profile_.facts.os_release.empty() && profile_.facts.os_release != release;
    return !other_release && recorded_.base == text_start;
  }

  void answer(FrameId frame, const Kallsyms& symbols, uint64_t shift) {
    const model::Frame& row = profile_.frames[frame];
    const model::Mapping& mapping = profile_.mappings[row.mapping];
    const bool in_module = mapping.kind == CodeKind::kKernelModule;
    if (in_module && shift != 0) return answer_unknown(frame, Reason::kernel_mismatch);
    const auto* symbol = symbols.find(lookup_address(row) + shift);
    // Nothing is called from the padding before a function: the address is where the function was interrupted.
    if (symbol != nullptr && symbol->name.starts_with("__pfx_")) symbol = symbols.find(row.address + shift);
    if (symbol == nullptr) return answer_unknown(frame, Reason::no_symbol);
    const std::string wanted = in_module ? module_name(profile_.text(mapping.path)) : std::string();
    // A module is loaded elsewhere each time; another one may be there now.
    if (symbol->module != wanted && !(shift == 0 && !in_module && is_generated(symbol->module)))
      return answer_unknown(frame, in_module ? Reason::kernel_mismatch : Reason::no_symbol);
    answers_.add_named(frame, symbol->name, symbol->name, row.address + shift - symbol->address);
  }

  void answer_unknown(FrameId frame, Reason reason) {
    const model::Frame& row = profile_.frames[frame];
    const model::Mapping& mapping = profile_.mappings[row.mapping];
    const uint64_t base = row.address >= mapping.base ? mapping.base : 0;
    const std::string_view path = profile_.text(mapping.path);
    answers_.add_unknown(frame, fmt::format("[unknown] {}+{:#x}", path.substr(path.rfind('/') + 1), row.address - base),
                         reason);
  }

  Answers refuse(Reason reason) {
    for (const FrameId frame : frames_) answer_unknown(frame, reason);
    return std::move(answers_);
  }

  const Profile& profile_;
  const std::vector<FrameId>& frames_;
  const RunningKernel& kernel_;
  FileFinder* finder_;
  KernelSymbolText text_;
  model::Mapping recorded_;
  Answers answers_;
};

}  // namespace

Answers answer_kernel(const Profile& profile, const std::vector<FrameId>& frames, const RunningKernel& kernel,
                      FileFinder* finder, const base::DiskCache& cache) {
  return KernelAnswers(profile, frames, kernel, finder, cache).answer();
}

}  // namespace tephra::symbols
