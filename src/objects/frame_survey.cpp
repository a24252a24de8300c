#include "objects/frame_survey.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "base/names.h"
#include "objects/symbol_table.h"

namespace tephra::objects {
namespace {

struct Range {
  uint64_t begin;
  uint64_t end;
};

constexpr uint64_t kPlaces = 4096;
constexpr uint64_t kLargestPadding = 15;

// Code that compilers wrote; stubs and start-up code have frames of their own kind and would outweigh small programs.
bool is_compiled_code(const ElfFile::Section& section) {
  if ((section.flags & SHF_EXECINSTR) == 0 || section.type != SHT_PROGBITS) return false;
  return !section.name.starts_with(".plt") && section.name != ".init" && section.name != ".fini";
}

std::vector<Range> code_of(const ElfFile& elf) {
  std::vector<Range> code;
  for (const auto& section : elf.sections()) {
    if (is_compiled_code(section)) code.push_back({section.address, section.address + section.content.size()});
  }
  if (!code.empty()) return code;
  for (const auto& segment : elf.segments()) {
    if (segment.type == PT_LOAD && (segment.flags & PF_X) != 0) {
      code.push_back({segment.address, segment.address + elf.bytes_at(segment.address).size()});
    }
  }
  return code;
}

// Whether the function begins by setting up a frame pointer, where call-frame information does not tell.
bool begins_with_frame(const ElfFile& elf, uint64_t address) {
  static constexpr std::array<uint8_t, 4> kMark{0xf3, 0x0f, 0x1e, 0xfa};   // endbr64
  static constexpr std::array<uint8_t, 4> kSetUp{0x55, 0x48, 0x89, 0xe5};  // push %rbp; mov %rsp,%rbp
  const auto begins = [](base::Bytes code, const auto& pattern) {
    return code.size() >= pattern.size() &&
           std::equal(pattern.begin(), pattern.end(), code.begin(),
                      [](uint8_t a, std::byte b) { return a == static_cast<uint8_t>(b); });
  };
  base::Bytes code = elf.bytes_at(address);
  if (begins(code, kMark)) code = code.subspan(kMark.size());
  return begins(code, kSetUp);
}

class Surveyor {
 public:
  Surveyor(const ElfFile& elf, const CallFrames& frames) : elf_(elf), frames_(frames) {}

  FrameSurvey survey() {
    const auto code = code_of(elf_);
    uint64_t total = 0;
    for (const Range& range : code) total += range.end - std::min(range.begin, range.end);
    const uint64_t step = std::max<uint64_t>(1, total / kPlaces);
    for (const Range& range : code) {
      for (uint64_t address = range.begin; address < range.end; address += step) look_at(address);
    }
    if (survey_.described == 0 && elf_.machine() == EM_X86_64) look_at_symbols(code, step);
    forgive_start_up_code(step);
    survey_.functions = met_.size();
    return survey_;
  }

 private:
  void look_at(uint64_t address) {
    const auto facts = frames_.find(address);
    if (!facts) {
      const bool padding = address >= kLargestPadding && frames_.find(address - kLargestPadding).has_value();
      if (!padding) ++survey_.places;
      return;
    }
    ++survey_.places;
    ++survey_.described;
    if (!met_.insert(facts->function_start).second) return;
    const uint64_t size = facts->function_end - facts->function_start;
    for (const uint64_t quarter : {1, 2, 3}) {
      const auto inside = frames_.find(facts->function_start + size * quarter / 4);
      if (!inside || !inside->frame_is_set_up) continue;
      ++survey_.keep_frame_pointer;
      return;
    }
  }

  // Every program is linked with a few hundred bytes that the compiler describes to nobody.
  void forgive_start_up_code(uint64_t step) {
    constexpr uint64_t kStartUpCode = 256;
    if ((survey_.places - survey_.described) * step <= kStartUpCode) survey_.places = survey_.described;
  }

  void look_at_symbols(const std::vector<Range>& code, uint64_t step) {
    SymbolTable symbols;
    symbols.add(elf_);
    symbols.finish();
    for (const Range& range : code) {
      for (uint64_t address = range.begin; address < range.end; address += step) {
        const auto function = symbols.find(address);
        if (!function || !met_.insert(function->address).second) continue;
        if (begins_with_frame(elf_, function->address)) ++survey_.keep_frame_pointer;
      }
    }
  }

  const ElfFile& elf_;
  const CallFrames& frames_;
  FrameSurvey survey_;
  std::set<uint64_t> met_;
};

}  // namespace

FrameSurvey survey_frames(const ElfFile& elf, const CallFrames& frames) { return Surveyor(elf, frames).survey(); }

bool is_leaf_library(std::string_view path) {
  const std::string_view name = base::path_base_name(path);
  constexpr std::string_view kLeaves[] = {"libc.so",  "libc-", "libm.so",    "libm-",
                                          "ld-linux", "ld-",   "libpthread", "libdl.so"};
  return std::any_of(std::begin(kLeaves), std::end(kLeaves), [&](auto leaf) { return name.starts_with(leaf); });
}

}  // namespace tephra::objects
