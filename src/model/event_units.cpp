#include "model/event_units.h"

#include <algorithm>
#include <string>

namespace tephra::model {
namespace {

constexpr std::string_view kTime = "ns";
constexpr std::string_view kBytes = "bytes";

struct KnownUnit {
  std::string_view name;  // in lower case, of one
  CommonUnit common;
};

// As pprof has them: its kilobytes are of 1024 bytes.
constexpr KnownUnit kKnown[] = {
    {"", {kCountUnit}},
    {"count", {kCountUnit}},
    {"sample", {kCountUnit}},
    {"event", {kCountUnit}},
    {"n", {kTime}},
    {"nanosecond", {kTime}},
    {"u", {kTime, 1'000}},
    {"microsecond", {kTime, 1'000}},
    {"m", {kTime, 1'000'000}},
    {"millisecond", {kTime, 1'000'000}},
    {"second", {kTime, 1'000'000'000}},
    {"minute", {kTime, 60'000'000'000}},
    {"hour", {kTime, 3'600'000'000'000}},
    {"b", {kBytes}},
    {"byte", {kBytes}},
    {"kb", {kBytes, uint64_t{1} << 10}},
    {"kib", {kBytes, uint64_t{1} << 10}},
    {"kilobyte", {kBytes, uint64_t{1} << 10}},
    {"kibibyte", {kBytes, uint64_t{1} << 10}},
    {"mb", {kBytes, uint64_t{1} << 20}},
    {"mib", {kBytes, uint64_t{1} << 20}},
    {"megabyte", {kBytes, uint64_t{1} << 20}},
    {"mebibyte", {kBytes, uint64_t{1} << 20}},
    {"gb", {kBytes, uint64_t{1} << 30}},
    {"gib", {kBytes, uint64_t{1} << 30}},
    {"gigabyte", {kBytes, uint64_t{1} << 30}},
    {"gibibyte", {kBytes, uint64_t{1} << 30}},
};

// As the table has it: in lower case, without the letter of the plural.
std::string plain(std::string_view unit) {
  if (unit == "s") return "second";
  std::string text(unit);
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  if (text.ends_with('s')) text.pop_back();
  return text;
}

}  // namespace

CommonUnit common_unit(std::string_view unit) {
  const std::string name = plain(unit);
  // "n", "u" and "m" are what is left of abbreviations; by themselves they are none.
  if (name.size() == 1 && name != "b" && name.size() == unit.size()) return {unit};
  const auto* const found = std::ranges::find(kKnown, name, &KnownUnit::name);
  return found == std::end(kKnown) ? CommonUnit{unit} : found->common;
}

}  // namespace tephra::model
