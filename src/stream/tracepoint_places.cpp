#include "stream/tracepoint_places.h"

#include <bit>
#include <charconv>

namespace tephra::stream {
namespace {

// Every event keeps the name of its group, which a file tells once for many.
constexpr size_t kLongestGroup = 128;

constexpr std::string_view kMagic("\x17\x08\x44tracing", 10);

bool within(uint64_t offset, uint64_t size, base::Bytes raw) {
  return offset <= raw.size() && size <= raw.size() - offset;
}

template <class Unsigned, class Signed>
int64_t number_at(const std::byte* at, bool is_signed) {
  const auto value = base::load<Unsigned>(at);
  return is_signed ? static_cast<int64_t>(static_cast<Signed>(value)) : static_cast<int64_t>(value);
}

// A length in the file, then that many bytes.
template <class Length>
std::string_view sized(base::ByteReader& reader) {
  const Length length = reader.read<Length>();
  if (length > reader.remaining()) {
    reader.fail();
    return {};
  }
  return base::as_text(reader.bytes(static_cast<size_t>(length)));
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Decimal, or with 0x in front.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  const int base = take_prefix(text, "0x") ? 16 : 10;
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// The next part of `rest` up to a separator, which is taken too.
std::string_view take_until(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return part;
}

// "char prev_comm[16]" to "prev_comm", "__data_loc char[] name" to "name".
std::string_view declared_name(std::string_view declaration) {
  if (!declaration.empty() && declaration.back() == ']') declaration = declaration.substr(0, declaration.rfind('['));
  declaration = trimmed(declaration);
  const size_t space = declaration.find_last_of(" \t*");
  return space == std::string_view::npos ? declaration : declaration.substr(space + 1);
}

// "field:int common_pid;\toffset:4;\tsize:4;\tsigned:1;", from behind "field:".
std::optional<std::pair<std::string, TracepointPlaces::Place>> parse_field(std::string_view line) {
  const std::string_view declaration = trimmed(take_until(line, ';'));
  TracepointPlaces::Place place;
  place.relative = declaration.substr(0, 9) == "__rel_loc";
  place.dynamic = place.relative || declaration.substr(0, 10) == "__data_loc";
  bool has_offset = false;
  bool has_size = false;
  while (!line.empty()) {
    std::string_view part = trimmed(take_until(line, ';'));
    if (take_prefix(part, "offset:")) {
      const auto number = parse_number<uint32_t>(part);
      has_offset = number.has_value();
      place.offset = number.value_or(0);
    } else if (take_prefix(part, "size:")) {
      const auto number = parse_number<uint32_t>(part);
      has_size = number.has_value();
      place.size = number.value_or(0);
    } else if (take_prefix(part, "signed:")) {
      place.is_signed = part == "1";
    }
  }
  const std::string_view name = declared_name(declaration);
  if (name.empty() || !has_offset || !has_size) return {};
  return std::pair(std::string(name), place);
}

}  // namespace

base::Result<TracepointPlaces> TracepointPlaces::parse(base::Bytes tracing_data) {
  TracepointPlaces fields;
  if (tracing_data.empty()) return fields;
  base::ByteReader reader(tracing_data);
  if (base::as_text(reader.bytes(kMagic.size())) != kMagic) {
    return base::failed("cannot read the tracepoint formats", "", "they do not begin as perf's tracing data does");
  }
  reader.c_string();  // the version
  const bool big_endian = reader.u8() != 0;
  if (big_endian != (std::endian::native == std::endian::big)) {
    return base::failed("cannot read the tracepoint formats", "", "they are of a machine with the other byte order");
  }
  reader.u8();        // the size of long
  reader.u32();       // of a page
  reader.c_string();  // "header_page"
  sized<uint64_t>(reader);
  reader.c_string();  // "header_event"
  sized<uint64_t>(reader);
  for (uint32_t left = reader.u32(); left > 0 && reader.ok(); --left) fields.add(sized<uint64_t>(reader), "ftrace");
  for (uint32_t systems = reader.u32(); systems > 0 && reader.ok(); --systems) {
    const std::string_view system = reader.c_string();
    for (uint32_t left = reader.u32(); left > 0 && reader.ok(); --left) fields.add(sized<uint64_t>(reader), system);
  }
  return fields;
}

void TracepointPlaces::add(std::string_view description, std::string_view system) {
  if (system.size() > kLongestGroup) return;
  Event event;
  std::optional<uint64_t> id;
  while (!description.empty()) {
    std::string_view line = trimmed(take_until(description, '\n'));
    if (take_prefix(line, "name: ")) {
      event.name = std::string(system) + ":" + std::string(line);
    } else if (take_prefix(line, "ID: ")) {
      id = parse_number<uint64_t>(line);
    } else if (take_prefix(line, "field:")) {
      if (auto field = parse_field(line)) event.fields.push_back(std::move(*field));
    } else if (take_prefix(line, "print fmt: ")) {
      event.print = line;
    }
  }
  if (id && !event.name.empty()) events_.insert_or_assign(*id, std::move(event));
}

std::optional<TracepointPlaces::Place> TracepointPlaces::place(uint64_t id, std::string_view field) const {
  const auto event = events_.find(id);
  if (event == events_.end()) return {};
  for (const auto& [name, place] : event->second.fields) {
    if (name == field) return place;
  }
  return {};
}

std::string_view TracepointPlaces::name(uint64_t id) const {
  const auto event = events_.find(id);
  return event == events_.end() ? std::string_view() : event->second.name;
}

// __print_flags(REC->prev_state & 0xff, "|", { 0x00000001, "S" }, { 0x00000002, "D" } …)
TracepointPlaces::Flags TracepointPlaces::printed_flags(uint64_t id) const {
  Flags flags;
  const auto event = events_.find(id);
  if (event == events_.end()) return flags;
  std::string_view rest = event->second.print;
  const size_t begin = rest.find("__print_flags(");
  if (begin == std::string_view::npos) return flags;
  rest.remove_prefix(begin);
  take_until(rest, '{');
  while (!rest.empty()) {
    const auto value = parse_number<uint64_t>(trimmed(take_until(rest, ',')));
    take_until(rest, '"');
    const std::string_view text = take_until(rest, '"');
    if (value) flags.emplace_back(*value, text);
    take_until(rest, '}');
    rest = trimmed(rest);
    if (!take_prefix(rest, ",")) break;
    rest = trimmed(rest);
    if (!take_prefix(rest, "{")) break;
  }
  return flags;
}

std::optional<int64_t> TracepointPlaces::Place::number(base::Bytes raw) const {
  if (dynamic || !within(offset, size, raw)) return {};
  const std::byte* at = raw.data() + offset;
  switch (size) {
    case 1:
      return number_at<uint8_t, int8_t>(at, is_signed);
    case 2:
      return number_at<uint16_t, int16_t>(at, is_signed);
    case 4:
      return number_at<uint32_t, int32_t>(at, is_signed);
    case 8:
      return number_at<uint64_t, int64_t>(at, is_signed);
    default:
      return {};
  }
}

std::string_view TracepointPlaces::Place::text(base::Bytes raw) const {
  uint64_t begin = offset;
  uint64_t length = size;
  if (dynamic) {
    if (!within(offset, sizeof(uint32_t), raw)) return {};
    const auto location = base::load<uint32_t>(raw.data() + offset);
    length = location >> 16;
    begin = (relative ? uint64_t{offset} + sizeof(uint32_t) : 0) + (location & 0xffff);
  }
  if (!within(begin, length, raw)) return {};
  const std::string_view all = base::as_text(raw.subspan(begin, length));
  return all.substr(0, all.find('\0'));
}

}  // namespace tephra::stream
