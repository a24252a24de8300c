#include "symbols/file_answers.h"

#include <unordered_map>

#include <fmt/format.h>

#include "objects/demangle.h"
#include "symbols/code_object.h"
#include "symbols/vdso.h"

namespace tephra::symbols {
namespace {

using model::FrameId;
using model::Mapping;
using model::Profile;
using model::Reason;

// The frames of one opened code object.
class FileAnswers {
 public:
  FileAnswers(const Profile& profile, const Mapping& mapping, const Options& options)
      : profile_(profile), options_(options), path_(profile.text(mapping.path)) {
    file_name_ = path_.substr(path_.rfind('/') + 1);
    object_ = mapping.kind == model::CodeKind::kVdso ? CodeObject::view(own_vdso(), mapping.build_id, refusal_)
                                                     : CodeObject::open(path_, mapping.build_id, refusal_);
  }

  void answer(FrameId frame) {
    const model::Frame& row = profile_.frames[frame];
    if (!object_) return answer_unknown(frame, row.address, refusal_);
    const uint64_t offset = row.kind == model::AddressKind::kReturn && row.address > 0 ? row.address - 1 : row.address;
    const auto address = object_->elf().address_of_offset(offset);
    if (!address) return answer_unknown(frame, row.address, Reason::no_symbol);
    levels_.clear();
    if (options_.inlines) object_->find_source(*address, levels_);
    if (!answer_code(frame, *address)) answer_unknown(frame, row.address, Reason::no_symbol);
  }

  Answers take() && { return std::move(answers_); }

 private:
  // Answers with what is known about code at `address`; false when no name is.
  bool answer_code(FrameId frame, uint64_t address) {
    if (levels_.empty()) levels_.emplace_back();
    // The function that holds the code is named by the symbol table, as it is when inlined calls are not asked for.
    const auto function = object_->function_at(address);
    if (function) levels_.front().function = function->name;
    if (levels_.front().function.empty()) return false;
    const uint64_t one_back = profile_.frames[frame].kind == model::AddressKind::kReturn ? 1 : 0;
    const uint64_t symbol_offset = function ? address + one_back - function->address : 0;
    answers_.rows.push_back({frame, static_cast<uint32_t>(answers_.levels.size()),
                             static_cast<uint32_t>(levels_.size()), 0, std::nullopt,
                             static_cast<uint32_t>(symbol_offset)});
    for (const auto& level : levels_) {
      answers_.levels.push_back({answers_.strings.add(shown(level.function)), answers_.strings.add(level.function),
                                 answers_.strings.add(level.file), level.line, true});
    }
    return true;
  }

  void answer_unknown(FrameId frame, uint64_t offset, Reason reason) {
    answers_.add_unknown(frame, fmt::format("[unknown] {}+{:#x}", file_name_, offset), reason);
  }

  // Demangled once per symbol.
  const std::string& shown(std::string_view symbol) {
    const auto [at, fresh] = shown_.try_emplace(symbol);
    if (fresh) {
      const auto parameters = options_.full_names ? objects::Parameters::kShow : objects::Parameters::kLeaveOut;
      at->second = options_.demangle ? objects::demangle(symbol, parameters) : std::string(symbol);
    }
    return at->second;
  }

  const Profile& profile_;
  const Options& options_;
  std::string path_;
  std::string file_name_;
  std::unique_ptr<CodeObject> object_;
  Reason refusal_ = Reason::file_missing;
  std::unordered_map<std::string_view, std::string> shown_;
  std::vector<objects::DebugInfo::Level> levels_;  // of the frame at hand
  Answers answers_;
};

}  // namespace

Answers answer_file(const Profile& profile, model::MappingId mapping, const std::vector<FrameId>& frames,
                    const Options& options) {
  FileAnswers answers(profile, profile.mappings[mapping], options);
  for (const FrameId frame : frames) answers.answer(frame);
  return std::move(answers).take();
}

}  // namespace tephra::symbols
