#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/flame_layout.h"
#include "analysis/verdict.h"
#include "analysis/wait_kind.h"
#include "base/json_writer.h"
#include "views/flame_colors.h"
#include "views/palette_map.h"

namespace tephra::views {

struct FlameSvgOptions {
  std::string title = "Flame Graph";
  std::string subtitle;
  std::string verdict_of;         // whose verdict it is, where there are several: "after, new.data"
  std::optional<uint32_t> width;  // pixels; unset: 1200, and as wide as the window where scripts run
  uint32_t frame_height = 18;
  double min_width = 0.1;  // pixels; narrower frames are left out and counted
  std::string font = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Verdana, sans-serif";
  double font_size = 12;
  std::string count_name = "samples";  // of the weight, when frames are weighted by samples
  std::string name_type = "Function:";
  Palette palette = Palette::kKind;
  std::optional<Background> background;
  bool inverted = false;    // roots at the top
  bool full_names = false;  // whole names in the picture, too, not only in the details
  analysis::Weight weight = analysis::Weight::kSamples;
  std::string notes;    // kept in the picture's metadata, not shown
  double factor = 1;    // numbers are shown multiplied by it
  uint64_t total = 0;   // what the whole width stands for, where that is more than the tree holds
  bool negate = false;  // swaps the colours of more and less
  // Colours by what is waited for: of each node of the call tree, what most of it is, or nothing where it is several
  // things. Empty: by the palette.
  std::vector<std::optional<analysis::WaitKind>> waits;
  PaletteMap* palette_map = nullptr;  // colours that names had in earlier pictures; those of other names are added
};

inline constexpr uint32_t kDefaultFlameWidth = 1200;

// The least weight that is as wide as options.min_width in a picture of `total`.
uint64_t narrowest_weight(const FlameSvgOptions& options, uint64_t total);

// What a picture shows of one box. All of it is text of any bytes: the drawer escapes it.
struct FlameBox {
  std::string name;     // whole; searches look at it
  std::string shown;    // what stands in the box as far as it fits; mostly the name
  std::string color;    // "#rrggbb"
  std::string details;  // what the tooltip says below the name; lines end with '\n'

  void add_detail(std::string_view line);
  void clear();
};

// The colours of a picture and what they mean: single ones, or a scale from one end to another.
struct FlameLegend {
  struct Entry {
    std::string meaning;
    std::string color;
  };
  std::vector<Entry> entries;
  // From left to right, drawn as one bar, with what its ends mean beside them. Empty: there is none.
  std::vector<std::string> scale;
  std::string scale_begin;
  std::string scale_end;
};

// What is drawn: says for each box of a layout how it looks. The drawer calls describe() once for each box, row by row,
// and only then legend().
class FlameSubject {
 public:
  virtual ~FlameSubject() = default;
  // `box` comes empty.
  virtual void describe(const analysis::FlameRect& rect, FlameBox& box) = 0;
  // The colours that the described boxes have.
  virtual FlameLegend legend() const = 0;
  // Members of the picture's metadata that say what the boxes are.
  virtual void write_metadata(base::JsonWriter& json) const = 0;
};

// One self-contained interactive SVG of the boxes: zoom, search and details by its own script, and readable with
// scripts off. The verdict is drawn on it and is in its metadata. Deterministic: the same input gives the same bytes.
// Names may hold any bytes; the result is well-formed XML.
std::string draw_flame(FlameSubject& subject, const analysis::FlameLayout& layout, const analysis::Verdict& verdict,
                       const FlameSvgOptions& options);

// How wide text is at most, whichever font the reader has.
double text_width(std::string_view text, double font_size, bool monospaced);

}  // namespace tephra::views
