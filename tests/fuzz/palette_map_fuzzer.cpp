#include <cstdlib>

#include "views/palette_map.h"

// What was read is written so that it is read as the same, and only colours come out.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tephra::views::PaletteMap;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  PaletteMap map = PaletteMap::parse(text);
  const std::string written = map.text();
  if (PaletteMap::parse(written).text() != written) std::abort();
  const std::string color = map.color(text.substr(0, text.find("->")), "#000000");
  if (color.size() != 7 || color.find_first_not_of("0123456789abcdef", 1) != std::string::npos) std::abort();
  return 0;
}
