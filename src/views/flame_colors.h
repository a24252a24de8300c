#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "analysis/call_tree.h"

namespace tephra::views {

// A set of colours for frames. kKind tells kinds of code apart; the others carry the names, and about the looks, that
// users of flame graphs know.
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

const Tone& frame_tone(Palette palette, const analysis::CallName& name);

// "#rrggbb" within the tone, chosen by the name alone: the same name has the same colour in every picture, and other
// names differ a little.
std::string frame_color(const Tone& tone, std::string_view label);
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
