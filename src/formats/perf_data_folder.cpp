#include "formats/perf_data_folder.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file.h"
#include "stream/perf_file.h"

namespace tephra::formats {
namespace {

using base::Bytes;
namespace fs = std::filesystem;

constexpr std::string_view kMagic = "PERFILE2";
constexpr size_t kHeaderSize = 104;
constexpr size_t kDataSection = 40;  // where the header tells offset and size of the data
constexpr size_t kFeatureBits = 72;
constexpr size_t kSectionSize = 16;

base::Error damaged() { return base::failed("cannot read", "", "the perf.data header is truncated or damaged"); }

size_t feature_count(Bytes file) {
  size_t count = 0;
  for (const std::byte bits : file.subspan(kFeatureBits, stream::kFeatureBits / 8)) {
    count += static_cast<size_t>(__builtin_popcount(static_cast<unsigned>(bits)));
  }
  return count;
}

void put(std::string& out, uint64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

// The number N of a file data.N.
std::optional<unsigned> part_number(const std::string& name) {
  constexpr std::string_view kPrefix = "data.";
  if (!name.starts_with(kPrefix)) return {};
  unsigned number = 0;
  const char* end = name.data() + name.size();
  const auto result = std::from_chars(name.data() + kPrefix.size(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return {};
  return number;
}

}  // namespace

bool is_perf_data_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) && fs::is_regular_file(fs::path(path) / "data", ignored);
}

base::Result<std::string> join_perf_data(Bytes file, std::span<const Bytes> parts) {
  if (file.size() < kHeaderSize || !base::as_text(file).starts_with(kMagic)) return damaged();
  const auto offset = base::load<uint64_t>(file.data() + kDataSection);
  const auto size = base::load<uint64_t>(file.data() + kDataSection + 8);
  if (offset > file.size() || size > file.size() - offset) return damaged();
  const size_t end = offset + size;
  const size_t table_size = feature_count(file) * kSectionSize;
  if (table_size > file.size() - end) return damaged();
  uint64_t added = 0;
  for (const Bytes part : parts) added += part.size();
  std::string out;
  out.reserve(file.size() + added);
  out.append(base::as_text(file.first(end)));
  for (const Bytes part : parts) out.append(base::as_text(part));
  const uint64_t new_size = size + added;
  std::memcpy(out.data() + kDataSection + 8, &new_size, sizeof new_size);
  // What stood behind the data moves.
  base::ByteReader table(file.subspan(end, table_size));
  while (!table.at_end()) {
    const uint64_t section = table.u64();
    put(out, section >= end ? section + added : section);
    put(out, table.u64());
  }
  out.append(base::as_text(file.subspan(end + table_size)));
  return out;
}

base::Result<std::string> read_perf_data_folder(const std::string& path) {
  TEPHRA_TRY(const auto file, base::FileContent::open((fs::path(path) / "data").string()));
  std::vector<std::pair<unsigned, std::string>> names;
  std::error_code error;
  for (auto at = fs::directory_iterator(path, error); !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (const auto number = part_number(at->path().filename().string()); number && at->is_regular_file(ignored)) {
      names.emplace_back(*number, at->path().string());
    }
  }
  if (error) return base::system_error("cannot read", path, error.value());
  std::ranges::sort(names);
  std::vector<base::FileContent> contents;
  std::vector<Bytes> parts;
  for (const auto& [number, name] : names) {
    TEPHRA_TRY(auto content, base::FileContent::open(name));
    contents.push_back(std::move(content));
  }
  for (const base::FileContent& content : contents) parts.push_back(content.bytes());
  auto joined = join_perf_data(file.bytes(), parts);
  if (!joined) joined.error().on = path;
  return joined;
}

}  // namespace tephra::formats
