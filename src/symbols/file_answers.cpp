#include "symbols/file_answers.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "model/entry_names.h"
#include "model/lock_places.h"
#include "objects/demangle.h"
#include "symbols/code_object.h"
#include "symbols/vdso.h"

namespace tephra::symbols {
namespace {

using model::FrameId;
using model::Mapping;
using model::Profile;
using model::Reason;

// Whether a recording may be of this host and its running kernel, as far as it says.
bool is_of_this_host(const model::RecordingFacts& facts) {
  utsname here{};
  if (::uname(&here) != 0) return false;
  return (facts.host.empty() || facts.host == here.nodename) &&
         (facts.os_release.empty() || facts.os_release == here.release);
}

// The frames of one opened code object.
class FileAnswers {
 public:
  FileAnswers(const Profile& profile, const Mapping& mapping, const Options& options)
      : profile_(profile), options_(options), path_(profile.text(mapping.path)) {
    file_name_ = path_.substr(path_.rfind('/') + 1);
    unproven_ = mapping.kind == model::CodeKind::kFile && mapping.build_id.empty();
    if (mapping.kind != model::CodeKind::kVdso) {
      object_ = CodeObject::open(*options.finder, {path_, mapping.build_id, mapping.file}, refusal_);
    } else if (mapping.build_id.empty() && !is_of_this_host(profile.facts)) {
      refusal_ = Reason::build_id_mismatch;
    } else {
      object_ = CodeObject::view(own_vdso(), mapping.build_id, refusal_);
    }
    if (object_) object_->keep_sources_in(options.cache);
    if (object_ && object_->was_kept()) unproven_ = false;
  }

  // Answers all of them. Debug information is read for all at once, since that uses all processors.
  void answer_all(const std::vector<FrameId>& frames) {
    if (object_ && wants_source()) {
      std::vector<uint64_t> addresses;
      for (const FrameId frame : frames) {
        if (model::is_data_address(profile_.frames[frame].address)) continue;
        if (const auto address = lookup_address(profile_.frames[frame])) addresses.push_back(*address);
      }
      object_->prepare_sources(addresses);
    }
    for (const FrameId frame : frames) answer(frame);
    if (object_) object_->store_sources();
  }

  void answer(FrameId frame) {
    const model::Frame& row = profile_.frames[frame];
    if (model::is_data_address(row.address)) return answer_data(frame, row.address);
    if (!object_) return answer_undescribed(frame, row.address, refusal_);
    const auto address = lookup_address(row);
    if (!address) return answer_undescribed(frame, row.address, Reason::no_symbol);
    levels_.clear();
    if (wants_source()) object_->find_source(*address, levels_);
    if (!options_.inlines) leave_out_inlined();
    const auto facts = object_->frame_facts(*address);
    if (answer_code(frame, *address)) {
      if (unproven_) answers_.rows.back().reason = Reason::file_unproven;
    } else {
      answer_unknown(frame, unknown_offset(row.address, facts), Reason::no_symbol);
    }
    if (facts && (facts->outermost || object_->is_entry(facts->function_start)))
      answers_.rows.back().facts |= model::kOutermost;
    if (facts && !facts->frame_is_set_up) answers_.rows.back().facts |= model::kFrameNotSetUp;
    if (!facts) answers_.rows.back().facts |= model::kNotDescribed;
  }

  Answers take() && { return std::move(answers_); }

 private:
  bool wants_source() const {
    return !options_.lines_until || std::chrono::steady_clock::now() < *options_.lines_until;
  }

  // Data without a name gets no answer: it is shown by its address.
  void answer_data(FrameId frame, uint64_t address) {
    const auto variable = object_ ? object_->variable_at(address) : std::nullopt;
    if (!variable || variable->offset > UINT32_MAX) return;
    answers_.add_named(frame, shown(variable->name), variable->name, variable->offset);
  }

  // Where to look an address up: a return address belongs to the call before it, which may be the last instruction of
  // its function. But a label that no function begins at (_dl_start_user, the return of a signal handler) is no such
  // end.
  std::optional<uint64_t> lookup_address(const model::Frame& row) const {
    const auto address = object_->elf().address_of_offset(row.address);
    if (row.kind != model::AddressKind::kReturn || row.address == 0) return address;
    if (address) {
      const auto function = object_->function_at(*address);
      const auto facts = object_->frame_facts(*address);
      const bool label = function && function->address == *address && !(facts && facts->function_start == *address);
      if (label) return address;
    }
    return object_->elf().address_of_offset(row.address - 1);
  }

  // Leaves the function that holds the code, at the line of the address.
  void leave_out_inlined() {
    if (levels_.size() < 2) return;
    levels_.front().file = levels_.back().file;
    levels_.front().line = levels_.back().line;
    levels_.resize(1);
  }

  // Answers with what is known about code at `address`; false when no name is.
  bool answer_code(FrameId frame, uint64_t address) {
    if (levels_.empty()) levels_.emplace_back();
    // The function that holds the code is named by the symbol table, as it is when inlined calls are not asked for.
    const auto function = object_->function_at(address);
    if (function) levels_.front().function = function->name;
    if (levels_.front().function.empty()) return false;
    const auto exact = object_->elf().address_of_offset(profile_.frames[frame].address);
    const uint64_t symbol_offset = function ? exact.value_or(address) - function->address : 0;
    answers_.rows.push_back({frame, static_cast<uint32_t>(answers_.levels.size()),
                             static_cast<uint32_t>(levels_.size()), 0, std::nullopt,
                             static_cast<uint32_t>(symbol_offset)});
    if (model::is_entry_name(levels_.front().function)) answers_.rows.back().facts |= model::kOutermost;
    for (const auto& level : levels_) {
      const Name name = name_of(level.function);
      answers_.levels.push_back({name.shown, name.symbol, text_of(level.file), level.line, true});
    }
    return true;
  }

  // Where the function of an unnamed address begins, so that its frames are one function; else the address.
  uint64_t unknown_offset(uint64_t offset, const std::optional<objects::CallFrames::Facts>& facts) const {
    if (options_.exact_unknown || !facts) return offset;
    return object_->elf().offset_of_address(facts->function_start).value_or(offset);
  }

  void answer_unknown(FrameId frame, uint64_t offset, Reason reason) {
    answers_.add_unknown(frame, fmt::format("[unknown] {}+{:#x}", file_name_, offset), reason);
  }

  void answer_undescribed(FrameId frame, uint64_t offset, Reason reason) {
    answer_unknown(frame, offset, reason);
    answers_.rows.back().facts |= model::kNotDescribed;
  }

  struct Name {
    model::StringId shown;
    model::StringId symbol;
  };

  // Names stay where they are while the file is open, so that each is known by its place: most come again and again.
  Name name_of(std::string_view symbol) {
    const auto [at, fresh] = names_.try_emplace(symbol.data());
    if (fresh) at->second = {answers_.strings.add(shown(symbol)), answers_.strings.add(symbol)};
    return at->second;
  }

  model::StringId text_of(std::string_view text) {
    if (text.empty()) return {};
    const auto [at, fresh] = texts_.try_emplace(text.data());
    if (fresh) at->second = answers_.strings.add(text);
    return at->second;
  }

  std::string shown(std::string_view symbol) const {
    const auto parameters = options_.full_names ? objects::Parameters::kShow : objects::Parameters::kLeaveOut;
    return options_.demangle ? objects::demangle(symbol, parameters) : std::string(symbol);
  }

  const Profile& profile_;
  const Options& options_;
  std::string path_;
  std::string file_name_;
  bool unproven_ = false;  // the file may be another than the one that ran
  std::unique_ptr<CodeObject> object_;
  Reason refusal_ = Reason::file_missing;
  std::unordered_map<const char*, Name> names_;
  std::unordered_map<const char*, model::StringId> texts_;
  std::vector<objects::DebugInfo::Level> levels_;  // of the frame at hand
  Answers answers_;
};

}  // namespace

Answers answer_file(const Profile& profile, model::MappingId mapping, const std::vector<FrameId>& frames,
                    const Options& options) {
  FileAnswers answers(profile, profile.mappings[mapping], options);
  answers.answer_all(frames);
  return std::move(answers).take();
}

}  // namespace tephra::symbols
