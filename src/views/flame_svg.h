#pragma once

#include <optional>
#include <string>

#include "analysis/call_tree.h"
#include "analysis/flame_layout.h"
#include "analysis/verdict.h"
#include "model/profile.h"
#include "views/flame_colors.h"

namespace tephra::views {

struct FlameSvgOptions {
  std::string title = "Flame Graph";
  std::string subtitle;
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
};

inline constexpr uint32_t kDefaultFlameWidth = 1200;

// One self-contained interactive SVG of the tree, which was made from `profile`: zoom, search and details by its own
// script, and readable with scripts off. The verdict is drawn on it and is in its metadata. Deterministic: the same
// input gives the same bytes. Names may hold any bytes; the result is well-formed XML.
std::string flame_svg(const model::Profile& profile, const analysis::CallTree& tree, const analysis::Verdict& verdict,
                      const FlameSvgOptions& options);

}  // namespace tephra::views
