#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/call_tree.h"
#include "analysis/wait_kind.h"

namespace tephra::views {

// A set of colours for frames. kKind tells kinds of code apart, kModule, kPackage and kSource where it comes from
// (views/flame_node_colors.h); the others carry the names, and about the looks, that users of flame graphs know.
enum class Palette : uint8_t {
  kKind,
  kHot,
  kMem,
  kIo,
  kRed,
  kGreen,
  kBlue,
  kAqua,
  kYellow,
  kPurple,
  kOrange,
  kJava,
  kJs,
  kPerl,
  kChain,
  kWakeup,
  kModule,
  kPackage,
  kSource,
};

std::span<const std::string_view> palette_names();
std::optional<Palette> palette_named(std::string_view name);

// A group of frames that share a hue, as a legend names it.
struct Tone {
  std::string_view meaning;  // empty where the hue means nothing
  float hue[2];              // degrees, from and to
  float saturation;
  float lightness[2];  // from and to
};

// The colour of a kind of wait: cool ones, warm for what runs, and grey for several.
const Tone& wait_tone(std::optional<analysis::WaitKind> kind);

const Tone& frame_tone(Palette palette, const analysis::CallName& name);

// "#rrggbb" within the tone, chosen by the name alone: the same name has the same colour in every picture, and other
// names differ a little.
std::string frame_color(const Tone& tone, std::string_view label);
// Where in a tone the colour of a name is, for pictures that mix it themselves: the low byte says how far from the
// first hue to the last, the high byte how far from the first lightness to the last, of 255.
uint16_t frame_shade(std::string_view label);
// A colour as an SVG takes it: hue in degrees, the others from 0 to 1.
std::string hsl_color(float hue, float saturation, float lightness);
// The same of channels from 0 to 255.
std::string rgb_color(int red, int green, int blue);
// A number of a text that is the same in every version and on every machine.
uint64_t stable_hash(std::string_view text);
// The middle of the tone, for legends.
std::string tone_color(const Tone& tone);

// The background of a picture, from the top to the bottom. `name` is yellow, blue, green, grey or #rrggbb; nothing when
// it is none of them.
struct Background {
  std::string top;
  std::string bottom;
};
std::optional<Background> background_named(std::string_view name);

}  // namespace tephra::views
