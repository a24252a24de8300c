#include "formats/java_profile.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/names.h"
#include "formats/heap_sampling.h"
#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

enum class Kind { kHeap, kContention };

std::optional<Kind> kind_of(std::string_view header) {
  header = trimmed(header);
  if (header == "--- heapz 1 ---") return Kind::kHeap;
  if (header == "--- contentionz 1 ---") return Kind::kContention;
  return std::nullopt;
}

struct Attribute {
  std::string_view key;
  std::string_view value;
};

std::optional<Attribute> parse_attribute(std::string_view line) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return Attribute{trimmed(line.substr(0, equals)), trimmed(line.substr(equals + 1))};
}

// Whether one of the lines before the samples says so.
bool says_java(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (line.empty()) continue;
    const auto attribute = parse_attribute(line);
    if (!attribute) return false;
    if (attribute->key == "format") return attribute->value == "java";
  }
  return false;
}

// "Work.java:12" is a place in a source file, anything else the path of a library.
void add_name(LegacyProfile& profile, uint64_t place, std::string_view text) {
  const size_t open = text.ends_with(')') ? text.rfind(" (") : std::string_view::npos;
  if (open == std::string_view::npos) {
    const bool stub = text.find("generated stub/JIT") != std::string_view::npos;
    return profile.add_name(place, stub ? "STUB" : text, {}, 0);
  }
  const std::string_view function = trimmed(text.substr(0, open));
  const std::string_view where = text.substr(open + 2, text.size() - open - 3);
  const size_t colon = where.rfind(':');
  int32_t line = 0;
  if (colon != std::string_view::npos) {
    std::from_chars(where.data() + colon + 1, where.data() + where.size(), line);
    profile.add_name(place, function, where.substr(0, colon), static_cast<uint32_t>(std::max(line, 0)));
  } else {
    profile.add_name(place, function, base::path_base_name(where), 0);
  }
}

class Reader {
 public:
  explicit Reader(Kind kind) : kind_(kind) {}

  // `text`: behind the header.
  base::Result<model::Profile> read(std::string_view text) && {
    std::string_view rest = text;
    std::string_view line;
    // `text` begins with the first line that was not taken.
    for (; !rest.empty(); text = rest) {
      line = trimmed(take_line(rest));
      if (line.empty()) continue;
      const auto attribute = parse_attribute(line);
      if (!attribute) break;
      if (!take(*attribute)) return malformed(line);
    }
    add_event();
    for (rest = text; !rest.empty(); text = rest) {
      line = trimmed(take_line(rest));
      if (line.empty()) continue;
      if (line.starts_with("0x")) break;
      if (!add_sample(line)) return malformed(line);
    }
    add_java_names(text, profile_);
    return std::move(profile_).finish({});
  }

 private:
  static base::Error malformed(std::string_view line) {
    return base::failed("cannot read", "", fmt::format("'{}' is no line of a profile of Java", line.substr(0, 60)));
  }

  bool take(const Attribute& attribute) {
    const auto number = TextScanner(attribute.value).decimal();
    if (attribute.key == "format") return attribute.value == "java";
    if (attribute.key == "resolution") {
      unit_ = attribute.value == "nanoseconds" ? "ns" : attribute.value;
    } else if (attribute.key == "sampling period" && kind_ == Kind::kContention && number && *number <= INT64_MAX) {
      period_ = *number;
    } else if (attribute.key == "ms since reset" && kind_ == Kind::kContention && number) {
      constexpr uint64_t kNanoseconds = 1'000'000;
      profile_.facts().duration_ns = static_cast<int64_t>(std::min(*number, INT64_MAX / kNanoseconds) * kNanoseconds);
    } else {
      return false;
    }
    return true;
  }

  void add_event() {
    if (kind_ == Kind::kHeap) {
      profile_.add_event("inuse_space", unit_, "inuse_objects");
    } else {
      profile_.add_event("delay", unit_, "contentions");
      profile_.facts().period = {"contentions", "count", static_cast<int64_t>(period_)};
    }
  }

  // "BYTES OBJECTS @ 0x1 0x2", or "DELAY CONTENTIONS @ …".
  bool add_sample(std::string_view line) {
    constexpr uint64_t kHeapPeriod = 512 << 10;
    TextScanner scanner(line);
    const auto value = scanner.decimal();
    scanner.blanks();
    const auto count = scanner.decimal();
    scanner.blanks();
    places_.clear();
    if (!value || !count || !scanner.skip("@") || !take_addresses(scanner.rest(), places_)) return false;
    if (*value > INT64_MAX || *count > INT64_MAX) return false;
    LegacyProfile::Amount amount{*count, *value};
    std::vector<model::Label> labels;
    if (kind_ == Kind::kHeap) {
      if (*count == 0) return false;
      labels.push_back(profile_.number_label("bytes", static_cast<int64_t>(*value / *count)));
      amount = unbiased(amount, kHeapPeriod);
    } else if (period_ != 0) {
      if (*value > INT64_MAX / period_ || *count > INT64_MAX / period_) return false;
      amount = {*count * period_, *value * period_};
    }
    profile_.add_sample(places_, LegacyProfile::Leaf::kPlaces, std::span(&amount, 1), std::move(labels));
    return true;
  }

  Kind kind_;
  LegacyProfile profile_{"java"};
  std::string_view unit_ = "count";
  uint64_t period_ = 0;
  std::vector<uint64_t> places_;
};

base::Result<model::Profile> read(base::Bytes bytes) {
  std::string_view text = base::as_text(bytes);
  const auto kind = kind_of(take_line(text));
  if (!kind) return base::failed("cannot read", "", "it is no profile of Java");
  return Reader(*kind).read(text);
}

std::string refusal(base::Bytes bytes) {
  std::string_view text = base::as_text(bytes);
  std::string_view header = beginning_of_header(bytes);
  if (!kind_of(take_line(header))) return "it begins with neither '--- heapz 1 ---' nor '--- contentionz 1 ---'";
  take_line(text);
  return says_java(text) ? "" : "it does not say 'format = java'";
}

}  // namespace

void add_java_names(std::string_view text, LegacyProfile& profile) {
  while (!text.empty()) {
    TextScanner scanner(trimmed(take_line(text)));
    if (!scanner.rest().starts_with("0x")) continue;
    const auto place = scanner.hexadecimal();
    const std::string_view name = trimmed(scanner.rest());
    if (place && !name.empty()) add_name(profile, *place, name);
  }
}

const Format kJavaProfile{
    .name = "java",
    .summary = "heap and contention profiles of Java as text (heapz, contentionz)",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
