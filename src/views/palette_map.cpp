#include "views/palette_map.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "views/flame_colors.h"

namespace tephra::views {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

// "rgb(1,2,3)", with spaces or without.
std::optional<std::string> parse_color(std::string_view text) {
  if (!text.starts_with("rgb(") || !text.ends_with(')')) return std::nullopt;
  text = text.substr(4, text.size() - 5);
  std::array<int, 3> channels{};
  for (size_t i = 0; i < channels.size(); ++i) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), channels[i]);
    if (error != std::errc{} || channels[i] < 0 || channels[i] > 255) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty() != (i + 1 == channels.size())) return std::nullopt;
    if (!text.empty() && text[0] != ',') return std::nullopt;
    if (!text.empty()) text.remove_prefix(1);
  }
  return rgb_color(channels[0], channels[1], channels[2]);
}

}  // namespace

PaletteMap PaletteMap::parse(std::string_view text) {
  PaletteMap map;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    // Names may hold arrows: C++ has an operator of that name.
    const size_t arrow = line.rfind("->");
    if (arrow == std::string_view::npos) continue;
    if (const auto color = parse_color(line.substr(arrow + 2)))
      map.colors_[std::string(line.substr(0, arrow))] = *color;
  }
  return map;
}

std::string PaletteMap::text() const {
  std::string text;
  for (const auto& [name, color] : colors_) {
    const unsigned long number = std::stoul(color.substr(1), nullptr, 16);
    text += fmt::format("{}->rgb({},{},{})\n", name, number >> 16, number >> 8 & 255, number & 255);
  }
  return text;
}

std::string PaletteMap::color(std::string_view name, const std::string& otherwise) {
  const auto known = colors_.find(name);
  if (known != colors_.end()) return known->second;
  // A name of several lines cannot be kept.
  if (name.find('\n') == std::string_view::npos) colors_.emplace(name, otherwise);
  return otherwise;
}

}  // namespace tephra::views
