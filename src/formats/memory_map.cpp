#include "formats/memory_map.h"

#include <algorithm>
#include <map>
#include <optional>

#include "formats/legacy_text.h"

namespace tephra::formats {
namespace {

// "I0102 03:04:05 file.cc:67] " before a line that went through a log.
std::string_view without_log_prefix(std::string_view line) {
  const size_t end = line.find("] ");
  if (end == std::string_view::npos || line.substr(0, end).find('[') != std::string_view::npos) return line;
  const size_t colon = line.substr(0, end).rfind(':');
  if (colon == std::string_view::npos || colon + 1 == end) return line;
  const std::string_view number = line.substr(colon + 1, end - colon - 1);
  const bool digits = number.find_first_not_of("0123456789") == std::string_view::npos;
  return digits ? line.substr(end + 2) : line;
}

// Texts that stand for $NAME.
class Variables {
 public:
  // `size`: of the text, which may grow by a few times that.
  explicit Variables(size_t size) : growth_left_(kLeastGrowth + kGrowth * size) {}

  void define(std::string_view line) {
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = trimmed(line.substr(0, equals));
    if (name.empty() || name.size() > kLongestName || values_.size() == kMost) return;
    values_[std::string(name)] = trimmed(line.substr(equals + 1)).substr(0, kLongest);
  }

  // A text is replaced once: a value is not looked at again. The longest name counts.
  std::string replaced(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      const size_t dollar = text.find('$');
      out += text.substr(0, dollar);
      if (dollar == std::string_view::npos) break;
      text.remove_prefix(dollar + 1);
      const auto* found = longest_at(text);
      if (found == nullptr || found->second.size() > growth_left_) {
        out += '$';
        continue;
      }
      out += found->second;
      growth_left_ -= found->second.size();
      text.remove_prefix(found->first.size());
    }
    return out;
  }

 private:
  // What people write; a file that means harm must not grow by it.
  static constexpr size_t kMost = 64;
  static constexpr size_t kLongest = 4096;
  static constexpr size_t kLongestName = 256;
  static constexpr size_t kGrowth = 4;
  static constexpr size_t kLeastGrowth = 64 << 10;

  const std::pair<const std::string, std::string>* longest_at(std::string_view text) const {
    const std::pair<const std::string, std::string>* best = nullptr;
    for (const auto& each : values_) {
      if (text.starts_with(each.first) && (best == nullptr || each.first.size() > best->first.size())) best = &each;
    }
    return best;
  }

  std::map<std::string, std::string> values_;
  size_t growth_left_;
};

bool is_hexadecimal(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

struct Line {
  MappedRange range;
  std::string_view permissions;
};

// What follows the addresses in /proc/PID/maps: "r-xp 00000000 08:01 1234  /path"; false when it is something else.
bool take_proc_fields(TextScanner scanner, Line& line) {
  scanner.blanks();
  const std::string_view permissions = scanner.word();
  scanner.blanks();
  const auto offset = scanner.hexadecimal();
  scanner.blanks();
  const std::string_view device = scanner.word();
  scanner.blanks();
  const std::string_view inode = scanner.word();
  const size_t colon = device.find(':');
  if (!offset || colon == std::string_view::npos || !is_hexadecimal(device.substr(0, colon)) ||
      inode.find_first_not_of("0123456789") != std::string_view::npos || inode.empty()) {
    return false;
  }
  line.permissions = permissions;
  line.range.offset = *offset;
  line.range.path = trimmed(scanner.rest());
  return true;
}

// The short form: ": /path (@offset) build-id", all of it optional.
void take_short_fields(TextScanner scanner, Line& line) {
  scanner.skip(":");
  scanner.blanks();
  std::string_view word = scanner.word();
  if (!word.empty() && word.find_first_not_of("-rwxp") == std::string_view::npos) {
    line.permissions = word;
    scanner.blanks();
    word = scanner.word();
  }
  line.range.path = word;
  scanner.blanks();
  if (scanner.skip("(@")) {
    line.range.offset = scanner.hexadecimal().value_or(0);
    scanner.skip(")");
    scanner.blanks();
  }
  if (const std::string_view id = scanner.word(); is_hexadecimal(id)) line.range.build_id = id;
}

std::optional<Line> parse(std::string_view text) {
  TextScanner scanner(text);
  scanner.blanks();
  Line line;
  const auto start = scanner.hexadecimal();
  if (!scanner.skip("-")) scanner.blanks();
  const auto limit = scanner.hexadecimal();
  const bool ends = scanner.rest().empty() || scanner.rest().find_first_of(" \t:\r") == 0;
  if (!start || !limit || !ends) return std::nullopt;
  line.range.start = *start;
  line.range.limit = *limit;
  if (line.range.limit < line.range.start) return std::nullopt;
  if (!take_proc_fields(scanner, line)) take_short_fields(scanner, line);
  constexpr std::string_view kDeleted = " (deleted)";
  if (line.range.path.ends_with(kDeleted)) line.range.path.resize(line.range.path.size() - kDeleted.size());
  return line;
}

bool continues(const MappedRange& a, const MappedRange& b) {
  const bool same_path = a.path.empty() || b.path.empty() || a.path == b.path;
  const bool same_id = a.build_id.empty() || b.build_id.empty() || a.build_id == b.build_id;
  const bool fits = a.offset == 0 || b.offset == 0 || a.offset + (a.limit - a.start) == b.offset;
  return a.limit == b.start && same_path && same_id && fits;
}

std::vector<MappedRange> joined(const std::vector<MappedRange>& ranges) {
  std::vector<MappedRange> out;
  for (const MappedRange& range : ranges) {
    if (out.empty() || !continues(out.back(), range)) {
      out.push_back(range);
      continue;
    }
    out.back().limit = range.limit;
    if (!range.path.empty()) out.back().path = range.path;
    if (!range.build_id.empty()) out.back().build_id = range.build_id;
  }
  return out;
}

// libfoo.so, libfoo.so.6 and libfoo.so_1
bool is_library(std::string_view path) {
  for (size_t at = path.find(".so"); at != std::string_view::npos; at = path.find(".so", at + 1)) {
    const std::string_view rest = path.substr(at + 3);
    if (rest.empty()) return true;
    if ((rest[0] == '.' || rest[0] == '_') && rest.size() > 1 && rest[1] >= '0' && rest[1] <= '9') return true;
  }
  return false;
}

void put_program_first(std::vector<MappedRange>& ranges) {
  const auto program = std::find_if(ranges.begin(), ranges.end(), [](const MappedRange& range) {
    return !range.path.empty() && range.path.front() != '[' && !is_library(range.path);
  });
  if (program != ranges.end()) std::swap(*program, ranges.front());
  // Old kernels show pages of the program that were replaced by huge ones as a mapping of their own.
  if (ranges.size() > 1 && ranges[0].path.starts_with("/anon_hugepage") && ranges[0].limit == ranges[1].start) {
    ranges.erase(ranges.begin());
  }
  // Where programs without position-independent code begin: what is before the range was mapped as well.
  constexpr uint64_t kUsualStart = 0x400000;
  if (!ranges.empty() && ranges[0].start - ranges[0].offset == kUsualStart) {
    ranges[0].start = kUsualStart;
    ranges[0].offset = 0;
  }
}

}  // namespace

std::vector<MappedRange> read_memory_map(std::string_view text) {
  std::vector<MappedRange> ranges;
  Variables variables(text.size());
  while (!text.empty()) {
    const std::string line = variables.replaced(without_log_prefix(take_line(text)));
    auto parsed = parse(line);
    if (!parsed) {
      variables.define(line);
    } else if (parsed->permissions.empty() || parsed->permissions.find('x') != std::string_view::npos) {
      ranges.push_back(std::move(parsed->range));
    }
  }
  ranges = joined(ranges);
  put_program_first(ranges);
  return ranges;
}

bool begins_memory_map(std::string_view line) {
  return line.find("--- Memory map: ---") != std::string_view::npos ||
         line.find("MAPPED_LIBRARIES:") != std::string_view::npos;
}

}  // namespace tephra::formats
