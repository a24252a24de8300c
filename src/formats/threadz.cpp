#include "formats/threadz.h"

#include <fmt/format.h>

#include "formats/legacy_profile.h"
#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

// "--- Thread 7f794ab90940 (name: main/14748) stack: ---"
bool begins_thread(std::string_view line) {
  return line.starts_with("--- Thread ") && line.find(" (name: ") != std::string_view::npos &&
         line.ends_with(") stack: ---");
}

bool is_header(std::string_view line) { return line.starts_with("--- threadz ") && line.ends_with(" ---"); }

// The first line that says something.
std::string_view first_line(std::string_view& text) {
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (!is_blank_or_comment(line)) return line;
  }
  return {};
}

class Reader {
 public:
  base::Result<model::Profile> read(std::string_view text) && {
    profile_.add_event("thread", "count");
    profile_.facts().period = {"thread", "count", 1};
    profile_.facts().drop_frames = kProfilerFrames;
    std::string_view line = first_line(text);
    if (is_header(line)) line = next_section(text);
    while (begins_thread(line)) {
      if (!add_thread(text, line)) {
        return base::failed("cannot read", "", fmt::format("'{}' holds no address", line.substr(0, 60)));
      }
    }
    const bool ends = line.empty() || begins_memory_map(line) || line.starts_with("---- no stack trace for");
    if (!ends) return base::failed("cannot read", "", fmt::format("'{}' begins no thread", line.substr(0, 60)));
    while (!text.empty() && !begins_memory_map(line)) line = take_line(text);
    return std::move(profile_).finish(read_memory_map(text));
  }

 private:
  static std::string_view next_section(std::string_view& text) {
    while (!text.empty()) {
      const std::string_view line = trimmed(take_line(text));
      if (line.starts_with('-') || begins_memory_map(line)) return line;
    }
    return {};
  }

  // Reads up to the next section, which becomes `line`.
  bool add_thread(std::string_view& text, std::string_view& line) {
    bool same = false;
    addresses_.clear();
    line = {};
    while (!text.empty()) {
      line = trimmed(take_line(text));
      if (line.starts_with("---")) break;
      same = same || line.find("same as previous thread") != std::string_view::npos;
      if (!take_addresses(line, addresses_)) return false;
      line = {};
    }
    if (same || addresses_.empty()) {
      profile_.repeat_sample();
      return true;
    }
    if (addresses_.size() > 1 && addresses_[0] == addresses_[1]) addresses_.erase(addresses_.begin());
    const LegacyProfile::Amount one{1, 1};
    profile_.add_sample(addresses_, LegacyProfile::Leaf::kInstruction, std::span(&one, 1));
    return true;
  }

  LegacyProfile profile_{"threadz"};
  std::vector<uint64_t> addresses_;
};

base::Result<model::Profile> read(base::Bytes bytes) { return Reader().read(base::as_text(bytes)); }

std::string refusal(base::Bytes bytes) {
  std::string_view text = beginning_of_header(bytes);
  const std::string_view line = first_line(text);
  return is_header(line) || begins_thread(line) ? "" : "it does not begin with '--- threadz' or '--- Thread'";
}

}  // namespace

const Format kThreadz{
    .name = "threadz",
    .summary = "the stacks of all threads as text",
    .endings = "",
    .refusal = refusal,
    .read = read,
};

}  // namespace tephra::formats
