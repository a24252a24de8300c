#include "stream/tracepoint_fields.h"

#include <algorithm>
#include <charconv>

#include "stream/tracing_data.h"

namespace tephra::stream {
namespace {

// The next line of a text, which is cut off it.
std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// The number behind a word of a line: "offset:8;".
std::optional<uint32_t> number_behind(std::string_view line, std::string_view word) {
  const size_t at = line.find(word);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + word.size());
  uint32_t number = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::optional<uint64_t> id_of(std::string_view description) {
  while (!description.empty()) {
    const std::string_view line = next_line(description);
    if (line.starts_with("ID: ")) return number_behind(line, "ID: ");
    if (line.starts_with("format:")) return {};
  }
  return {};
}

struct Field {
  std::string_view name;
  TracepointField place;
};

// "	field:unsigned long nr_bytes;	offset:8;	size:8;	signed:0;". Arrays, and what points to other data, are
// no numbers.
std::optional<Field> field_of(std::string_view line) {
  constexpr std::string_view kField = "field:";
  const size_t begin = line.find(kField);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + kField.size());
  const std::string_view declaration = line.substr(0, line.find(';'));
  const size_t space = declaration.find_last_of(" *");
  const bool elsewhere = declaration.starts_with("__data_loc") || declaration.starts_with("__rel_loc");
  const auto offset = number_behind(line, "offset:");
  const auto size = number_behind(line, "size:");
  if (space == std::string_view::npos || elsewhere || declaration.ends_with(']') || !offset || !size) return {};
  if (*size != 1 && *size != 2 && *size != 4 && *size != 8) return {};
  return Field{declaration.substr(space + 1), {*offset, *size, number_behind(line, "signed:").value_or(0) != 0}};
}

// "	field:char rwbs[8];	offset:28;	size:8;	signed:1;"
std::optional<Field> letters_of(std::string_view line) {
  constexpr std::string_view kField = "field:char ";
  const size_t begin = line.find(kField);
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin + kField.size());
  const auto offset = number_behind(line, "offset:");
  const size_t bracket = line.find('[');
  if (bracket == std::string_view::npos || bracket > line.find(';') || !offset) return {};
  return Field{line.substr(0, bracket), {*offset, 1, false}};
}

}  // namespace

TracepointFields::TracepointFields(base::Bytes tracing_data) {
  if (tracing_data.empty()) return;
  const auto data = read_tracing_data(tracing_data);
  if (!data) return;
  for (const TracingData::Description& description : data->events) {
    const std::string_view text = base::as_text(description.text);
    if (const auto id = id_of(text)) descriptions_.emplace(*id, text);
  }
}

template <class Read>
std::optional<TracepointField> TracepointFields::find(uint64_t id, std::string_view name, Read read) const {
  const auto found = descriptions_.find(id);
  if (found == descriptions_.end()) return {};
  for (std::string_view text = found->second; !text.empty();) {
    const std::string_view line = next_line(text);
    if (line.starts_with("print fmt:")) return {};
    const auto field = read(line);
    if (field && field->name == name) return field->place;
  }
  return {};
}

std::optional<TracepointField> TracepointFields::number(uint64_t id, std::string_view field) const {
  return find(id, field, field_of);
}

std::optional<TracepointField> TracepointFields::first_letter(uint64_t id, std::string_view field) const {
  return find(id, field, letters_of);
}

std::vector<std::string> TracepointFields::numbers(uint64_t id) const {
  std::vector<std::string> names;
  const auto found = descriptions_.find(id);
  if (found == descriptions_.end()) return names;
  for (std::string_view text = found->second; !text.empty();) {
    const std::string_view line = next_line(text);
    if (line.starts_with("print fmt:")) break;
    const auto field = field_of(line);
    if (field && !field->name.starts_with("common_")) names.emplace_back(field->name);
  }
  return names;
}

}  // namespace tephra::stream
