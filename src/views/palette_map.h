#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tephra::views {

// The colours that names had in other pictures, as flamegraph.pl keeps them in palette.map: lines `name->rgb(1,2,3)`.
class PaletteMap {
 public:
  // Lines that are no such pair are left out, so that nothing but a colour can get into a picture.
  static PaletteMap parse(std::string_view text);
  std::string text() const;

  // The colour of a name; `otherwise`, "#rrggbb", becomes that of a name without one.
  std::string color(std::string_view name, const std::string& otherwise);

 private:
  std::map<std::string, std::string, std::less<>> colors_;  // "#rrggbb"
};

}  // namespace tephra::views
