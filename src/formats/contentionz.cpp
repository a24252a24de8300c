#include "formats/contentionz.h"

#include <fmt/format.h>

#include <optional>

#include "formats/legacy_profile.h"
#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

bool is_header(std::string_view line) {
  return line.starts_with("--- contentionz ") || line.starts_with("--- mutex:") || line.starts_with("--- contention:");
}

// "cycles/second = 3201000000" and the like, before the samples.
struct Attributes {
  uint64_t cycles_per_second = 0;
  uint64_t period = 1;
  uint64_t milliseconds = 0;
};

enum class Taken { kYes, kNo, kMalformed };

Taken take_attribute(std::string_view line, Attributes& attributes) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return Taken::kNo;
  const std::string_view key = trimmed(line.substr(0, equals));
  const auto value = TextScanner(trimmed(line.substr(equals + 1))).decimal();
  if (!value || *value > INT64_MAX) return Taken::kMalformed;
  if (key == "cycles/second") {
    attributes.cycles_per_second = *value;
  } else if (key == "sampling period") {
    attributes.period = *value;
  } else if (key == "ms since reset") {
    attributes.milliseconds = *value;
  } else if (key != "discarded samples") {
    return Taken::kMalformed;
  }
  return Taken::kYes;
}

// One in `period` was recorded, and delays are told in cycles where their length is known.
std::optional<LegacyProfile::Amount> unsampled(uint64_t delay, uint64_t count, const Attributes& attributes) {
  constexpr double kMost = 9.2e18;
  if (attributes.period == 0) return LegacyProfile::Amount{count, delay};
  double nanoseconds = static_cast<double>(delay);
  if (attributes.cycles_per_second > 0) {
    const double per_nanosecond = static_cast<double>(attributes.cycles_per_second) / 1e9;
    nanoseconds = static_cast<double>(delay) * static_cast<double>(attributes.period) / per_nanosecond;
  }
  if (nanoseconds > kMost || count > INT64_MAX / attributes.period) return std::nullopt;
  const bool scaled = attributes.cycles_per_second > 0;
  return LegacyProfile::Amount{count * attributes.period, scaled ? static_cast<uint64_t>(nanoseconds) : delay};
}

class Reader {
 public:
  base::Result<model::Profile> read(std::string_view text) && {
    take_line(text);
    profile_.add_event("delay", "ns", "contentions");
    bool in_samples = false;
    while (!text.empty()) {
      const std::string_view line = trimmed(take_line(text));
      if (line.starts_with('#')) profile_.add_name_comment(line);
      if (is_blank_or_comment(line)) continue;
      if (line.starts_with("---")) {
        if (begins_memory_map(line)) break;
        text = skip_to_memory_map(text);
        break;
      }
      const Taken taken = in_samples ? Taken::kNo : take_attribute(line, attributes_);
      in_samples = in_samples || taken == Taken::kNo;
      if (taken == Taken::kMalformed || (in_samples && !add_sample(line))) {
        return base::failed("cannot read", "",
                            fmt::format("'{}' is no line of a contention profile", line.substr(0, 60)));
      }
    }
    set_facts();
    return std::move(profile_).finish(read_memory_map(text));
  }

 private:
  static std::string_view skip_to_memory_map(std::string_view text) {
    while (!text.empty() && !begins_memory_map(take_line(text))) {
    }
    return text;
  }

  bool add_sample(std::string_view line) {
    TextScanner scanner(line);
    const auto delay = scanner.decimal();
    scanner.blanks();
    const auto count = scanner.decimal();
    scanner.blanks();
    addresses_.clear();
    if (!delay || !count || *delay > INT64_MAX || !scanner.skip("@") || !take_addresses(scanner.rest(), addresses_)) {
      return false;
    }
    const auto amount = unsampled(*delay, *count, attributes_);
    if (!amount) return false;
    profile_.add_sample(addresses_, LegacyProfile::Leaf::kCall, std::span(&*amount, 1));
    return true;
  }

  void set_facts() {
    constexpr uint64_t kNanoseconds = 1'000'000;
    profile_.facts().period = {"contentions", "count", static_cast<int64_t>(attributes_.period)};
    if (attributes_.milliseconds <= INT64_MAX / kNanoseconds) {
      profile_.facts().duration_ns = static_cast<int64_t>(attributes_.milliseconds * kNanoseconds);
    }
    profile_.facts().drop_frames = kLockFrames;
  }

  LegacyProfile profile_{"contentionz"};
  Attributes attributes_;
  std::vector<uint64_t> addresses_;
};

base::Result<model::Profile> read(base::Bytes bytes) { return Reader().read(base::as_text(bytes)); }

std::string refusal(base::Bytes bytes) {
  std::string_view text = beginning_of_header(bytes);
  return is_header(take_line(text)) ? ""
                                    : "it does not begin with '--- contentionz', '--- mutex:' or '--- contention:'";
}

}  // namespace

const Format kContentionz{
    .name = "contentionz",
    .summary = "lock contention as text: contentionz, and Go's mutex and block profiles",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
