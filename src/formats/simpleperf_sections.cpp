#include "formats/simpleperf_sections.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

#include "formats/protobuf.h"

namespace tephra::formats {
namespace {

using base::ByteReader;
using base::Bytes;
using protobuf::Message;
using protobuf::number;
using protobuf::part;
using protobuf::text_of;
using protobuf::view_of;
using stream::FileSymbols;

// simpleperf's kinds of files.
enum FileType : uint32_t { kKernelModule = 1, kElfFile = 2, kDexFile = 3 };

enum class FileField : protozero::pbf_tag_type {
  kPath = 1,
  kType = 2,
  kCodeAddress = 3,
  kSymbol = 4,
  kDexFile = 5,
  kElfFile = 6,
  kKernelModule = 7,
};
enum class SymbolField : protozero::pbf_tag_type { kAddress = 1, kSize = 2, kName = 3 };
enum class PlaceField : protozero::pbf_tag_type { kCodeOffset = 1 };

void add(FileSymbols file, stream::Recording& recording) {
  if (file.symbols.empty()) return;
  std::ranges::stable_sort(file.symbols, {}, &FileSymbols::Symbol::start);
  recording.symbols.push_back(std::move(file));
}

bool read_file(Bytes bytes, stream::Recording& recording) {
  constexpr size_t kLeastSymbol = 13;  // bytes
  ByteReader reader(bytes);
  FileSymbols file;
  file.path = reader.c_string();
  const uint32_t type = reader.u32();
  file.code_address = reader.u64();
  const uint32_t count = reader.u32();
  if (!reader.ok() || count > reader.remaining() / kLeastSymbol) return false;
  file.symbols.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    FileSymbols::Symbol symbol;
    symbol.start = reader.u64();
    symbol.size = reader.u32();
    symbol.name = reader.c_string();
    if (reader.ok()) file.symbols.push_back(symbol);
  }
  if (type == kDexFile) reader.skip(size_t{reader.u32()} * 8);
  const bool has_place = type == kElfFile || type == kKernelModule;
  if (has_place && reader.ok() && !reader.at_end()) {
    const uint64_t offset = reader.u64();
    if (offset != UINT64_MAX) file.code_offset = offset;
  }
  const bool whole = reader.ok();
  add(std::move(file), recording);
  return whole;
}

FileSymbols::Symbol read_symbol(Message<SymbolField> message) {
  FileSymbols::Symbol symbol;
  while (message.next()) {
    switch (message.tag()) {
      case SymbolField::kAddress:
        symbol.start = number(message);
        break;
      case SymbolField::kSize:
        symbol.size = static_cast<uint32_t>(number(message));
        break;
      case SymbolField::kName:
        symbol.name = text_of(part(message));
        break;
      default:
        message.skip();
    }
  }
  return symbol;
}

uint64_t read_place(Message<PlaceField> message) {
  uint64_t offset = 0;
  while (message.next()) {
    if (message.tag() == PlaceField::kCodeOffset) {
      offset = number(message);
    } else {
      message.skip();
    }
  }
  return offset;
}

void read_file(Message<FileField> message, FileSymbols& file) {
  while (message.next()) {
    switch (message.tag()) {
      case FileField::kPath:
        file.path = text_of(part(message));
        break;
      case FileField::kCodeAddress:
        file.code_address = number(message);
        break;
      case FileField::kSymbol:
        file.symbols.push_back(read_symbol(Message<SymbolField>(part(message))));
        break;
      case FileField::kElfFile:
      case FileField::kKernelModule: {
        const uint64_t offset = read_place(Message<PlaceField>(part(message)));
        if (offset != UINT64_MAX) file.code_offset = offset;
        break;
      }
      default:
        message.skip();
    }
  }
}

bool read_file_message(Bytes bytes, stream::Recording& recording) {
  FileSymbols file;
  bool whole = true;
  try {
    read_file(Message<FileField>(view_of(bytes)), file);
  } catch (const protozero::exception&) {
    whole = false;
  }
  add(std::move(file), recording);
  return whole;
}

// Both layouts are files one after the other, each behind its length.
template <class Read>
bool for_each_file(Bytes section, Read read) {
  ByteReader reader(section);
  bool whole = true;
  while (reader.ok() && !reader.at_end()) {
    const uint32_t size = reader.u32();
    const Bytes file = reader.bytes(size);
    if (reader.ok()) whole = read(file) && whole;
  }
  return whole && reader.ok();
}

// Takes the text up to `end` off `text`.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view taken = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), taken.size() + 1));
  return taken;
}

// Events that have no name yet, by type and configuration. Others keep theirs: perf and simpleperf call the cycles
// differently.
using NamelessEvents = std::multimap<std::pair<uint32_t, uint64_t>, stream::RecordedEvent*>;

NamelessEvents nameless_events(stream::Recording& recording) {
  NamelessEvents nameless;
  for (stream::RecordedEvent& event : recording.events) {
    if (event.name.starts_with("type:")) nameless.emplace(std::pair(event.layout.type, event.layout.config), &event);
  }
  return nameless;
}

// Lines of NAME,TYPE,CONFIG.
void name_events(std::string_view lines, NamelessEvents& nameless) {
  while (!lines.empty()) {
    std::string_view line = take_until(lines, '\n');
    const std::string_view name = take_until(line, ',');
    const std::string_view type_text = take_until(line, ',');
    uint32_t type = 0;
    uint64_t config = 0;
    const auto type_end = std::from_chars(type_text.data(), type_text.data() + type_text.size(), type);
    const auto config_end = std::from_chars(line.data(), line.data() + line.size(), config);
    if (type_end.ec != std::errc() || config_end.ec != std::errc()) continue;
    const auto [first, last] = nameless.equal_range({type, config});
    for (auto at = first; at != last; ++at) at->second->name = name;
    nameless.erase(first, last);
  }
}

}  // namespace

bool read_simpleperf_files(Bytes section, stream::Recording& recording) {
  recording.interpreted_code = true;
  return for_each_file(section, [&](Bytes file) { return read_file(file, recording); });
}

bool read_simpleperf_file_messages(Bytes section, stream::Recording& recording) {
  recording.interpreted_code = true;
  return for_each_file(section, [&](Bytes file) { return read_file_message(file, recording); });
}

bool read_simpleperf_meta(Bytes section, stream::Recording& recording) {
  recording.interpreted_code = true;
  ByteReader reader(section);
  NamelessEvents nameless = nameless_events(recording);
  while (reader.ok() && !reader.at_end()) {
    const std::string_view key = reader.c_string();
    const std::string_view value = reader.c_string();
    if (reader.ok() && key == "event_type_info") name_events(value, nameless);
  }
  return reader.ok();
}

}  // namespace tephra::formats
