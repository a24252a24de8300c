#include "formats/go_count.h"

#include <fmt/format.h>

#include <optional>

#include "formats/legacy_profile.h"
#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

// The name of what is counted: "goroutine" of "goroutine profile: total 7".
std::optional<std::string_view> parse_header(std::string_view& text) {
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (is_blank_or_comment(line)) continue;
    TextScanner scanner(line);
    const std::string_view name = scanner.word();
    if (name.empty() || !scanner.skip(" profile: total ") || !scanner.decimal() || !scanner.rest().empty()) break;
    return name;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(std::string_view counted) {
    profile_.add_event(counted, "count");
    profile_.facts().period = {std::string(counted), "count", 1};
    profile_.facts().drop_frames = kProfilerFrames;
  }

  // `text`: behind the header.
  base::Result<model::Profile> read(std::string_view text) && {
    while (!text.empty()) {
      const std::string_view line = trimmed(take_line(text));
      if (line.starts_with('#')) profile_.add_name_comment(line);
      if (is_blank_or_comment(line)) continue;
      if (line.starts_with("---")) {
        for (std::string_view at = line; !text.empty() && !begins_memory_map(at);) at = take_line(text);
        return std::move(profile_).finish(read_memory_map(text));
      }
      if (!add_sample(line)) {
        return base::failed("cannot read", "", fmt::format("'{}' is no count of a stack", line.substr(0, 60)));
      }
    }
    return std::move(profile_).finish({});
  }

 private:
  bool add_sample(std::string_view line) {
    TextScanner scanner(line);
    const auto count = scanner.decimal();
    addresses_.clear();
    if (!count || *count > INT64_MAX || !scanner.skip(" @") || !take_addresses(scanner.rest(), addresses_))
      return false;
    // Threads that Go did not create from Go code have no stack.
    if (addresses_.empty() && !trimmed(scanner.rest()).empty()) return false;
    const LegacyProfile::Amount amount{*count, *count};
    profile_.add_sample(addresses_, LegacyProfile::Leaf::kCall, std::span(&amount, 1));
    return true;
  }

  LegacyProfile profile_{"go-count"};
  std::vector<uint64_t> addresses_;
};

base::Result<model::Profile> read(base::Bytes bytes) {
  std::string_view text = base::as_text(bytes);
  const auto counted = parse_header(text);
  if (!counted) return base::failed("cannot read", "", "it is no count profile of Go");
  return Reader(*counted).read(text);
}

std::string refusal(base::Bytes bytes) {
  std::string_view text = beginning_of_header(bytes);
  return parse_header(text) ? "" : "it does not begin with 'NAME profile: total' and a number";
}

}  // namespace

const Format kGoCount{
    .name = "go-count",
    .summary = "counts of Go as text (goroutine, threadcreate)",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
