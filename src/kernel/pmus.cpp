#include "kernel/pmus.h"


#include <algorithm>
#include <bit>
#include <charconv>
#include <memory>

#include "base/file.h"
#include "kernel/folder.h"
#include "kernel/glob.h"
#include "kernel/procfs.h"

namespace tephra::kernel {
namespace {

constexpr size_t kMaxFile = 64 << 10;
constexpr std::string_view kUncore = "uncore_";

std::optional<unsigned> take_number(std::string_view& text) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(end - text.data());
  return number;
}

struct Range {
  unsigned first = 0;
  unsigned last = 0;
};
// "7" or "0-7" at the beginning of the text, taken off it with the comma behind it.
std::optional<Range> take_range(std::string_view& text) {
  const auto first = take_number(text);
  if (!first) return std::nullopt;
  Range range{*first, *first};
  if (text.starts_with('-')) {
    text.remove_prefix(1);
    const auto last = take_number(text);
    if (!last || *last < *first) return std::nullopt;
    range.last = *last;
  }
  if (text.starts_with(',')) text.remove_prefix(1);
  return range;
}

// The files beside an event's own that say how to show its counts.
bool describes_event(const std::string& name) {
  constexpr std::string_view kEndings[] = {".scale", ".unit", ".per-pkg", ".snapshot"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

bool numbered(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return false;
  name.remove_prefix(stem.size());
  if (name.starts_with('_')) name.remove_prefix(1);
  return !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
}

bool meant(std::string_view wanted, std::string_view name) {
  if (numbered(name, wanted) || (is_pattern(wanted) && matches(wanted, name))) return true;
  return name.starts_with(kUncore) && !wanted.starts_with(kUncore) &&
         (name.substr(kUncore.size()) == wanted || meant(wanted, name.substr(kUncore.size())));
}

}  // namespace

uint64_t TermBits::largest() const {
  const int bits = std::popcount(mask);
  return bits == 64 ? UINT64_MAX : (uint64_t{1} << bits) - 1;
}

uint64_t TermBits::place(uint64_t value) const {
  uint64_t placed = 0;
  for (uint64_t rest = mask; rest != 0; rest &= rest - 1, value >>= 1) {
    if (value & 1) placed |= rest & -rest;
  }
  return placed;
}

std::optional<TermBits> parse_term_bits(std::string_view text) {
  constexpr std::string_view kWord = "config";
  TermBits bits;
  if (!text.starts_with(kWord)) return std::nullopt;
  text.remove_prefix(kWord.size());
  if (!text.starts_with(':')) {
    const auto word = take_number(text);
    if (!word || *word > 9 || !text.starts_with(':')) return std::nullopt;
    bits.word = *word;
  }
  text.remove_prefix(1);
  while (!text.empty() && text[0] != '\n') {
    const auto range = take_range(text);
    if (!range || range->last > 63) return std::nullopt;
    for (unsigned bit = range->first; bit <= range->last; ++bit) bits.mask |= uint64_t{1} << bit;
  }
  if (bits.mask == 0) return std::nullopt;
  return bits;
}

const std::vector<std::string>& Pmus::names() {
  if (!names_) names_ = entries_of(folder_);
  return *names_;
}

const Pmu* Pmus::find(const std::string& name) {
  const auto known = read_.find(name);
  if (known != read_.end()) return known->second ? &*known->second : nullptr;
  if (!std::binary_search(names().begin(), names().end(), name)) return nullptr;
  const auto& pmu = read_.emplace(name, read(name)).first->second;
  return pmu ? &*pmu : nullptr;
}

std::vector<const Pmu*> Pmus::match(const std::string& name) {
  if (const Pmu* pmu = find(name)) return {pmu};
  std::vector<const Pmu*> found;
  for (const std::string& each : names()) {
    if (!meant(name, each)) continue;
    if (const Pmu* pmu = find(each)) found.push_back(pmu);
  }
  return found;
}

std::vector<const Pmu*> Pmus::with_event(const std::string& event) {
  std::vector<const Pmu*> found;
  for (const std::string& name : names()) {
    const Pmu* pmu = find(name);
    if (pmu && std::binary_search(pmu->events.begin(), pmu->events.end(), event)) found.push_back(pmu);
  }
  return found;
}

base::Result<std::string> Pmus::definition(const Pmu& pmu, const std::string& event) const {
  TEPHRA_TRY(std::string text, base::read_small_file(folder_ + "/" + pmu.name + "/events/" + event, kMaxFile));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<Pmu> Pmus::read(const std::string& name) const {
  const std::string folder = folder_ + "/" + name;
  const auto type = base::read_small_file(folder + "/type", kMaxFile);
  if (!type) return std::nullopt;
  Pmu pmu{.name = name};
  if (std::from_chars(type->data(), type->data() + type->size(), pmu.type).ec != std::errc()) return std::nullopt;
  for (const std::string& term : entries_of(folder + "/format")) {
    const auto text = base::read_small_file(folder + "/format/" + term, kMaxFile);
    if (const auto bits = text ? parse_term_bits(*text) : std::nullopt) pmu.terms.emplace(term, *bits);
  }
  pmu.events = entries_of(folder + "/events");
  std::erase_if(pmu.events, describes_event);
  const auto one_each_socket = base::read_small_file(folder + "/cpumask", kMaxFile);
  const auto own_cpus = base::read_small_file(folder + "/cpus", kMaxFile);
  if (one_each_socket || own_cpus) {
    pmu.cpus = parse_cpu_list(one_each_socket ? *one_each_socket : *own_cpus).value_or(std::vector<int>());
  }
  pmu.core = name == "cpu" || own_cpus.ok();
  return pmu;
}

}  // namespace tephra::kernel
