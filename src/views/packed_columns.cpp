#include "views/packed_columns.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tephra::views {
namespace {

static_assert(std::endian::native == std::endian::little, "the page reads numbers of little-endian machines");

struct Width {
  std::string_view type;
  size_t bytes;
  uint64_t most;
};
constexpr Width kWidths[] = {
    {"u8", 1, UINT8_MAX}, {"u16", 2, UINT16_MAX}, {"u32", 4, UINT32_MAX}, {"f64", 8, UINT64_MAX}};

const Width& width_for(uint64_t most) {
  return *std::find_if(std::begin(kWidths), std::end(kWidths), [&](const Width& width) { return most <= width.most; });
}

template <class T>
std::string stored(std::span<const uint64_t> numbers) {
  std::string bytes(numbers.size() * sizeof(T), '\0');
  char* to = bytes.data();
  for (const uint64_t number : numbers) {
    const T value = static_cast<T>(number);
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
  return bytes;
}

std::string stored(std::span<const uint64_t> numbers, const Width& width) {
  switch (width.bytes) {
    case 1:
      return stored<uint8_t>(numbers);
    case 2:
      return stored<uint16_t>(numbers);
    case 4:
      return stored<uint32_t>(numbers);
    default:
      return stored<double>(numbers);
  }
}

std::vector<uint64_t> differences(std::span<const uint64_t> numbers) {
  std::vector<uint64_t> steps(numbers.begin(), numbers.end());
  for (size_t i = steps.size(); --i > 0;) steps[i] -= steps[i - 1];
  return steps;
}

}  // namespace

void PackedColumns::add(std::string_view name, std::span<const uint64_t> numbers) {
  const uint64_t most = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
  if (std::all_of(numbers.begin(), numbers.end(), [&](uint64_t number) { return number == most; })) {
    columns_.push_back({.name = std::string(name), .count = numbers.size(), .type = "", .constant = most});
    return;
  }
  const Width& plain = width_for(most);
  if (std::is_sorted(numbers.begin(), numbers.end())) {
    const auto steps = differences(numbers);
    const Width& width = width_for(*std::max_element(steps.begin(), steps.end()));
    if (width.bytes < plain.bytes) return add_bytes(name, width.type, numbers.size(), true, stored(steps, width));
  }
  add_bytes(name, plain.type, numbers.size(), false, stored(numbers, plain));
}

void PackedColumns::add_texts(std::string_view name, std::span<const std::string> texts) {
  std::string all;
  std::vector<uint64_t> lengths;
  lengths.reserve(texts.size());
  for (const std::string& text : texts) {
    all += text;
    lengths.push_back(text.size());
  }
  add_bytes(name, "u8", all.size(), false, all);
  add(std::string(name) + "_length", lengths);
}

void PackedColumns::add_bytes(std::string_view name, std::string_view type, size_t count, bool delta,
                              std::string_view bytes) {
  // Typed arrays must begin at a multiple of their elements' size.
  bytes_.resize((bytes_.size() + 7) / 8 * 8);
  columns_.push_back({.name = std::string(name),
                      .count = count,
                      .type = type,
                      .constant = 0,
                      .offset = bytes_.size(),
                      .delta = delta});
  bytes_ += bytes;
}

void PackedColumns::write_list(base::JsonWriter& json) const {
  json.begin_array();
  for (const Column& column : columns_) {
    json.begin_object().member("name", column.name).member("count", column.count);
    if (column.type.empty()) {
      json.member("constant", column.constant);
    } else {
      json.member("type", column.type).member("offset", column.offset);
      if (column.delta) json.member("delta", true);
    }
    json.end_object();
  }
  json.end_array();
}

}  // namespace tephra::views
