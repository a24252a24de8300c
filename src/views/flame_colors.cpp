#include "views/flame_colors.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tephra::views {
namespace {

using analysis::CallName;
using analysis::FrameKind;

// In the order of Palette.
constexpr std::array<std::string_view, 19> kPaletteNames{
    "kind",   "hot",  "mem", "io",   "red",   "green",  "blue",   "aqua",    "yellow", "purple",
    "orange", "java", "js",  "perl", "chain", "wakeup", "module", "package", "source"};

constexpr Tone kBase{"thread", {210, 220}, .22f, {.82f, .86f}};
constexpr Tone kUnnamed{"no name", {215, 235}, .06f, {.74f, .80f}};
constexpr Tone kKernel{"kernel", {22, 31}, .92f, {.60f, .68f}};
constexpr Tone kC{"C", {2, 14}, .80f, {.66f, .74f}};
constexpr Tone kCpp{"C++", {42, 52}, .90f, {.58f, .67f}};
constexpr Tone kInlined{"inlined", {174, 188}, .52f, {.60f, .70f}};
constexpr Tone kJit{"JIT", {92, 124}, .50f, {.60f, .69f}};
constexpr Tone kNative{"native", {2, 14}, .80f, {.66f, .74f}};
constexpr Tone kInterpreted{"interpreter", {242, 256}, .62f, {.74f, .80f}};
constexpr Tone kWaiting{"waiting", {202, 214}, .72f, {.66f, .75f}};
constexpr Tone kSeparator{"", {0, 0}, 0.f, {.63f, .63f}};      // the frame "--" of chain graphs
constexpr Tone kSoftSeparator{"", {0, 0}, 0.f, {.78f, .78f}};  // the frame "-" between user and kernel stacks
constexpr Tone kOrigin{"", {0, 0}, 0.f, {.78f, .84f}};         // for palettes by origin, where that is not known
constexpr Tone kPerlCode{"Perl", {92, 124}, .50f, {.60f, .69f}};
constexpr Tone kScript{"script", {92, 124}, .50f, {.60f, .69f}};
constexpr Tone kBuiltin{"builtin", {174, 188}, .52f, {.60f, .70f}};
constexpr Tone kWaker{"waker", {174, 188}, .52f, {.60f, .70f}};
constexpr Tone kWaiter{"waiter", {210, 226}, .65f, {.66f, .76f}};

constexpr Tone kHot{"", {4, 50}, .88f, {.56f, .66f}};
constexpr Tone kMem{"", {118, 172}, .58f, {.48f, .62f}};
constexpr Tone kIo{"", {228, 246}, .62f, {.68f, .78f}};
constexpr Tone kRed{"", {0, 8}, .80f, {.60f, .74f}};
constexpr Tone kGreen{"", {100, 126}, .52f, {.52f, .68f}};
constexpr Tone kBlue{"", {208, 224}, .68f, {.62f, .76f}};
constexpr Tone kAqua{"", {174, 186}, .52f, {.52f, .68f}};
constexpr Tone kYellow{"", {48, 56}, .78f, {.54f, .68f}};
constexpr Tone kPurple{"", {280, 300}, .50f, {.64f, .76f}};
constexpr Tone kOrange{"", {24, 34}, .90f, {.58f, .68f}};

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

bool is_cpp(std::string_view label) { return contains(label, "::"); }

// Classes as perf's maps of generated Java spell them.
bool is_java(std::string_view label) {
  return label.starts_with('L') ? contains(label, "/") && contains(label, ";")
                                : contains(label, "/") && label[0] != '/';
}

bool is_javascript(std::string_view label) {
  return contains(label, ".js") || label.starts_with("LazyCompile:") || label.starts_with("JS:") ||
         label.starts_with("Function:") || label.starts_with("Script:");
}

const Tone& kind_tone(const CallName& name) {
  if (name.kind == FrameKind::kKernel) return kKernel;
  if (name.inlined) return kInlined;
  if (name.kind == FrameKind::kJit) return kJit;
  if (name.kind == FrameKind::kInterpreted) return kInterpreted;
  if (name.kind == FrameKind::kWaiting) return kWaiting;
  if (name.kind == FrameKind::kUnnamed) return kUnnamed;
  return is_cpp(name.label) ? kCpp : kC;
}

const Tone& java_tone(const CallName& name) {
  if (name.kind == FrameKind::kKernel) return kKernel;
  if (name.inlined) return kInlined;
  if (name.kind == FrameKind::kInterpreted) return kInterpreted;
  if (name.kind == FrameKind::kJit || is_java(name.label)) return kJit;
  return is_cpp(name.label) ? kCpp : kNative;
}

const Tone& js_tone(const CallName& name) {
  if (name.kind == FrameKind::kKernel) return kKernel;
  if (name.label.starts_with("Builtin:") || name.label.starts_with("Builtins_")) return kBuiltin;
  if (name.kind == FrameKind::kJit || is_javascript(name.label)) return kScript;
  return is_cpp(name.label) ? kCpp : kNative;
}

const Tone& perl_tone(const CallName& name) {
  if (name.kind == FrameKind::kKernel) return kKernel;
  if (contains(name.label, "Perl") || contains(name.label, ".pl")) return kPerlCode;
  return is_cpp(name.label) ? kCpp : kNative;
}

float between(const float range[2], uint64_t bits) {
  return range[0] + (range[1] - range[0]) * static_cast<float>(bits & 0xFF) / 255.f;
}

bool is_hex_color(std::string_view text) {
  return text.size() == 7 && text[0] == '#' && text.find_first_not_of("0123456789abcdefABCDEF", 1) == text.npos;
}

}  // namespace

// FNV-1a: colours must not change with the version of a hash that serves tables.
uint64_t stable_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash ^ hash >> 29;
}

std::string rgb_color(int red, int green, int blue) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "#000000";
  size_t at = 1;
  for (const int channel : {red, green, blue}) {
    const auto byte = static_cast<unsigned>(std::clamp(channel, 0, 255));
    text[at++] = kDigits[byte >> 4];
    text[at++] = kDigits[byte & 15];
  }
  return text;
}

std::string hsl_color(float hue, float saturation, float lightness) {
  const float spread = saturation * std::min(lightness, 1 - lightness);
  const auto channel = [&](float n) {
    const float k = std::fmod(n + hue / 30, 12.f);
    return static_cast<int>(std::lround(255 * (lightness - spread * std::clamp(std::min(k - 3, 9 - k), -1.f, 1.f))));
  };
  return rgb_color(channel(0), channel(8), channel(4));
}

std::span<const std::string_view> palette_names() { return kPaletteNames; }

std::optional<Palette> palette_named(std::string_view name) {
  const auto found = std::find(kPaletteNames.begin(), kPaletteNames.end(), name);
  if (found == kPaletteNames.end()) return std::nullopt;
  return static_cast<Palette>(found - kPaletteNames.begin());
}

const Tone& wait_tone(std::optional<analysis::WaitKind> kind) {
  // In the order of WaitKind.
  static constexpr std::array<Tone, analysis::kWaitKinds> kTones{{
      {"running", {4, 46}, .88f, {.58f, .68f}},
      {"waiting for a lock", {258, 268}, .60f, {.68f, .76f}},
      {"waiting for a disk", {208, 218}, .68f, {.58f, .67f}},
      {"waiting for the network", {186, 194}, .58f, {.56f, .65f}},
      {"waiting for a pipe", {160, 170}, .48f, {.56f, .65f}},
      {"sleeping", {222, 230}, .42f, {.78f, .84f}},
      {"waiting for a page", {292, 302}, .42f, {.68f, .76f}},
      {"waiting for a CPU", {100, 120}, .42f, {.58f, .67f}},
      {"waiting", {210, 220}, .12f, {.70f, .78f}},
  }};
  static constexpr Tone kSeveral{"several of these", {40, 48}, .16f, {.82f, .86f}};
  static constexpr Tone kEnder{"who ended it", {40, 50}, .74f, {.72f, .80f}};
  if (kind == analysis::WaitKind::kWaker) return kEnder;
  return kind ? kTones[static_cast<size_t>(*kind)] : kSeveral;
}

const Tone& frame_tone(Palette palette, const CallName& name) {
  if (name.kind == FrameKind::kBase) return kBase;
  if (name.label == "--") return kSeparator;
  if (name.label == "-") return kSoftSeparator;
  switch (palette) {
    case Palette::kKind:
      return kind_tone(name);
    case Palette::kJava:
      return java_tone(name);
    case Palette::kJs:
      return js_tone(name);
    case Palette::kPerl:
      return perl_tone(name);
    case Palette::kChain:
      return name.label.ends_with("_[w]") ? kWaker : kWaiter;
    case Palette::kHot:
      return kHot;
    case Palette::kMem:
      return kMem;
    case Palette::kIo:
      return kIo;
    case Palette::kRed:
      return kRed;
    case Palette::kGreen:
      return kGreen;
    case Palette::kBlue:
      return kBlue;
    case Palette::kAqua:
      return kAqua;
    case Palette::kYellow:
      return kYellow;
    case Palette::kPurple:
      return kPurple;
    case Palette::kOrange:
      return kOrange;
    case Palette::kWakeup:
      return kAqua;
    case Palette::kModule:
    case Palette::kPackage:
    case Palette::kSource:
      return kOrigin;
  }
  return kHot;
}

std::string frame_color(const Tone& tone, std::string_view label) {
  const uint16_t shade = frame_shade(label);
  return hsl_color(between(tone.hue, shade), tone.saturation, between(tone.lightness, shade >> 8));
}

uint16_t frame_shade(std::string_view label) { return static_cast<uint16_t>(stable_hash(label)); }

std::string tone_color(const Tone& tone) {
  return hsl_color((tone.hue[0] + tone.hue[1]) / 2, tone.saturation, (tone.lightness[0] + tone.lightness[1]) / 2);
}

std::optional<Background> background_named(std::string_view name) {
  if (name == "yellow") return Background{"#fdfdf4", "#f4f0c0"};
  if (name == "blue") return Background{"#f5f8fd", "#dbe6f7"};
  if (name == "green") return Background{"#f6fcf6", "#dcf0dc"};
  if (name == "grey" || name == "gray") return Background{"#f8f8f8", "#e6e6e6"};
  if (is_hex_color(name)) return Background{std::string(name), std::string(name)};
  return std::nullopt;
}

}  // namespace tephra::views
