#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "analysis/call_tree.h"
#include "base/result.h"
#include "model/profile.h"
#include "views/flame_picture.h"

namespace tephra::cli {

// What `tephra flame` draws.
enum class FlameShape : uint8_t {
  kTree,      // a flame graph, an icicle graph, callers of the leaf
  kSandwich,  // one function
  kChart,     // time from left to right
  kRatio,     // two events
};

// The words of the command line. Those of flamegraph.pl keep its meaning.
struct FlameWords {
  std::string output;
  std::string title;  // empty: what the shape is called
  std::string base = "comm";
  std::string colors = "kind";
  std::string background;
  std::string min_width = "0.1";
  std::string weight;  // empty: as the event says
  std::string function;
  std::string ratio;  // "A/B"
  uint32_t width = 0;
  bool reverse = false;
  bool bottom_up = false;
  bool chart = false;
  bool cpi = false;
  bool consistent_palette = false;
  bool html = false;
  views::FlameSvgOptions view;  // those that need no second look

  void declare(CLI::App& parser);
  // The shape, after a look at which words exclude each other.
  base::Result<FlameShape> shape() const;
  // How the picture looks; width by samples or value is for the profile to decide.
  base::Result<views::FlameSvgOptions> looks(FlameShape shape) const;
  analysis::CallTreeOptions tree_options() const;
  // What the HTML report shows first, in the words of its address.
  std::string first_view() const;
  // What widths mean for this profile.
  analysis::Weight weight_for(const model::Profile& profile) const;

 private:
  void declare_looks(CLI::App& parser);
  void declare_shapes(CLI::App& parser);
  std::string title_of(FlameShape shape) const;
};

}  // namespace tephra::cli
