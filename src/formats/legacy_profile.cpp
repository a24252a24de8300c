#include "formats/legacy_profile.h"

#include <algorithm>
#include <charconv>

#include "formats/imported_mapping.h"
#include "formats/legacy_text.h"

namespace tephra::formats {

const std::string_view kAllocatorFrames =
    R"((tc_|je_|__libc_|__|malloc_zone_)?(malloc|calloc|realloc|valloc|pvalloc|memalign|posix_memalign|aligned_alloc|free|cfree)|)"
    R"(tc_(new|delete|newarray|deletearray)(_nothrow)?|tcmalloc::.*|(::)?do_(malloc|memalign)(_no_errno|_pages)?|)"
    R"(DoSampledAllocation|operator new(\[\])?|__builtin_(vec_)?(new|delete)|__gnu_cxx::new_allocator::allocate|)"
    R"(_M_allocate|allocate|cpp_alloc|(simple_alloc|__malloc_alloc_template)::allocate|BaseArena::.*|)"
    R"(MallocedMemBlock::MallocedMemBlock|je_prof_.*|prof_.*|imalloc.*|je_malloc_default|malloc_default|)"
    R"(fallback_impl.*|runtime\..*)";
const std::string_view kAllocatorFramesToKeep = R"(runtime\.(panic|reflectcall|call[0-9]*))";
const std::string_view kLockFrames =
    R"((base::)?(RecordLockProfileData|SubmitMutexProfileData|SubmitSpinLockProfileData).*|)"
    R"((base::)?(Mutex::)?(AwaitCommon|Unlock|UnlockSlow|ReaderUnlock).*|(base::)?(MutexLock::)?~MutexLock.*|)"
    R"((SpinLock::)?(Unlock|SlowUnlock).*|(SpinLockHolder::)?~SpinLockHolder.*)";
const std::string_view kProfilerFrames =
    R"(ProfileData::(Add|prof_handler)|CpuProfiler::prof_handler|__pthread_sighandler|__restore(_rt)?)";

// Which range holds an address.
class LegacyProfile::Places {
 public:
  Places(std::vector<MappedRange> ranges, model::ProfileAssembler& assembler, std::span<const uint64_t> addresses)
      : ranges_(std::move(ranges)) {
    for (uint32_t i = 0; i < ranges_.size(); ++i) order_.push_back(i);
    std::ranges::stable_sort(order_, {}, [&](uint32_t i) { return ranges_[i].start; });
    add_missing_beginnings(addresses);
    none_ = assembler.mapping({.kind = model::CodeKind::kImported});
    for (const MappedRange& range : ranges_) {
      const auto build_id = model::BuildId::from_hex(range.build_id).value_or(model::BuildId());
      ids_.push_back(add_mapping(assembler, {range.path, range.start, range.limit, range.offset, build_id}));
    }
  }

  model::MappingId at(uint64_t address) const {
    const MappedRange* range = find(address);
    return range == nullptr ? none_ : ids_[static_cast<size_t>(range - ranges_.data())];
  }

 private:
  const MappedRange* find(uint64_t address) const {
    const auto behind = std::ranges::upper_bound(order_, address, {}, [&](uint32_t i) { return ranges_[i].start; });
    if (behind == order_.begin()) return nullptr;
    const MappedRange& range = ranges_[*(behind - 1)];
    return address < range.limit ? &range : nullptr;
  }

  // Some writers leave out the first of several ranges of a file: where an address lies there, it was mapped as well.
  void add_missing_beginnings(std::span<const uint64_t> addresses) {
    constexpr size_t kMostRanges = 1024;  // one by one: real processes have some hundreds
    if (ranges_.size() > kMostRanges) return;
    std::vector<MappedRange*> later;
    for (MappedRange& range : ranges_) {
      if (range.offset != 0) later.push_back(&range);
    }
    std::vector<uint64_t> distinct(addresses.begin(), addresses.end());
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (const uint64_t address : distinct) {
      if (later.empty()) return;
      if (find(address) != nullptr) continue;
      const auto found = std::ranges::find_if(later, [&](const MappedRange* range) {
        return range->start - range->offset <= address && address < range->start;
      });
      if (found == later.end()) continue;
      (*found)->start -= (*found)->offset;
      (*found)->offset = 0;
      later.erase(found);
      std::ranges::stable_sort(order_, {}, [&](uint32_t i) { return ranges_[i].start; });
    }
  }

  std::vector<MappedRange> ranges_;
  std::vector<uint32_t> order_;  // by start
  std::vector<model::MappingId> ids_;
  model::MappingId none_;
};

LegacyProfile::LegacyProfile(std::string_view format) {
  assembler_.facts().format = format;
  assembler_.facts().engine = model::kEngineImported;
  thread_ = assembler_.thread({});
}

void LegacyProfile::add_event(std::string_view name, std::string_view unit, std::string_view counted) {
  model::Event event{assembler_.string(name), assembler_.string(unit), {}, false};
  if (!counted.empty() && counted != "samples") event.counted = assembler_.string(counted);
  events_.push_back(assembler_.event(event));
  assembler_.facts().default_event = name;
}

void LegacyProfile::add_sample(std::span<const uint64_t> addresses, Leaf leaf, std::span<const Amount> amounts,
                               std::vector<model::Label> labels) {
  samples_.push_back({addresses_.size(), addresses.size(), leaf, 1, amounts_.size(),
                      labels.empty() ? model::LabelSetId{} : assembler_.labels(std::move(labels))});
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  amounts_.insert(amounts_.end(), amounts.begin(), amounts.end());
}

void LegacyProfile::repeat_sample() {
  if (!samples_.empty()) ++samples_.back().times;
}

void LegacyProfile::add_name(uint64_t address, std::string_view function, std::string_view file, uint32_t line) {
  const Name name{assembler_.function({assembler_.string(function), assembler_.string(function), true}),
                  assembler_.string(file), line};
  std::vector<Name>& known = names_[address];
  const bool repeated = std::ranges::any_of(known, [&](const Name& each) {
    return each.function == name.function && each.file == name.file && each.line == name.line;
  });
  constexpr size_t kMostInlined = 16;
  if (!repeated && known.size() < kMostInlined) known.push_back(name);
}

void LegacyProfile::add_name_comment(std::string_view comment) {
  TextScanner scanner(trimmed(comment));
  if (!scanner.skip("#")) return;
  scanner.blanks();
  if (!scanner.rest().starts_with("0x")) return;
  const auto address = scanner.hexadecimal();
  if (!address || !scanner.skip("\t")) return;
  const size_t tab = std::min(scanner.rest().size(), scanner.rest().find('\t'));
  std::string_view function = trimmed(scanner.rest().substr(0, tab));
  if (const size_t plus = function.rfind("+0x"); plus != std::string_view::npos) function = function.substr(0, plus);
  std::string_view file = trimmed(scanner.rest().substr(tab));
  uint32_t line = 0;
  if (const size_t colon = file.rfind(':'); colon != std::string_view::npos) {
    std::from_chars(file.data() + colon + 1, file.data() + file.size(), line);
    file = file.substr(0, colon);
  }
  if (!function.empty()) add_name(*address, function, file, line);
}

model::Label LegacyProfile::text_label(std::string_view key, std::string_view text) {
  return {assembler_.string(key), assembler_.string(text), 0, {}};
}

model::Label LegacyProfile::number_label(std::string_view key, int64_t number) {
  return {assembler_.string(key), {}, number, {}};
}

std::vector<model::FrameId> LegacyProfile::frames_at(const Places& places, uint64_t address, model::AddressKind kind) {
  const bool returns = kind == model::AddressKind::kReturn;
  const uint64_t in_code = returns && address > 0 ? address - 1 : address;
  model::Frame frame{.mapping = places.at(in_code), .kind = kind};
  frame.address = frame_address(assembler_.so_far().mappings[frame.mapping], address);
  const auto names = names_.find(in_code);
  if (names == names_.end()) return {assembler_.frame(frame)};
  std::vector<model::FrameId> frames;
  for (size_t left = names->second.size(); left > 0; --left) {
    const Name& name = names->second[left - 1];
    frame.function = name.function;
    frame.file = name.file;
    frame.line = name.line;
    frame.inlined = left < names->second.size();
    frames.push_back(assembler_.frame(frame));
  }
  return frames;
}

model::StackId LegacyProfile::stack_of(const Places& places, const Sample& sample) {
  model::StackId stack;
  for (size_t left = sample.address_count; left > 0; --left) {
    const uint64_t address = addresses_[sample.first_address + left - 1];
    const bool returns = sample.leaf == Leaf::kCall || (left > 1 && sample.leaf == Leaf::kInstruction);
    const auto kind = returns ? model::AddressKind::kReturn : model::AddressKind::kInstruction;
    auto& known = frames_[returns ? 1 : 0][address];
    if (known.empty()) known = frames_at(places, address, kind);
    for (const model::FrameId frame : known) stack = assembler_.stack(stack, frame);
  }
  return stack;
}

// As pprof's reader has it: a sample of nothing at all is kept as one of the last event.
void LegacyProfile::add_rows(const Sample& sample, model::StackId stack) {
  bool any = false;
  for (size_t i = 0; i < events_.size(); ++i) {
    const Amount& amount = amounts_[sample.first_amount + i];
    const bool nothing = amount.count == 0 && amount.value == 0;
    if (nothing && (any || i + 1 < events_.size())) continue;
    any = true;
    assembler_.sample({.stack = stack,
                       .event = events_[i],
                       .thread = thread_,
                       .count = amount.count * sample.times,
                       .value = amount.value * sample.times,
                       .labels = sample.labels});
  }
}

model::Profile LegacyProfile::finish(std::vector<MappedRange> ranges) && {
  const Places places(std::move(ranges), assembler_, addresses_);
  for (const Sample& sample : samples_) add_rows(sample, stack_of(places, sample));
  return std::move(assembler_).finish();
}

}  // namespace tephra::formats
