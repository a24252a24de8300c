#include "views/flame_svg.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "base/escape.h"
#include "base/json_writer.h"
#include "base/names.h"
#include "base/units.h"
#include "views/flame_svg_js.h"
#include "views/verdict_json.h"

namespace tephra::views {
namespace {

using analysis::CallName;
using analysis::CallNode;
using analysis::CallTree;
using analysis::FlameLayout;
using analysis::FlameRect;
using analysis::FrameKind;

constexpr double kSide = 12;       // free space left and right
constexpr double kTextInset = 4;   // from a frame's edge to its text
constexpr double kLine = 16;       // from line to line of the verdict
constexpr double kFrameGap = 0.8;  // between neighbours, where both are wide enough to spare it
constexpr std::string_view kMiddleDot = " \u00B7 ";

// Text escaped line by line, since append_xml shows a line break as a character.
void append_xml_lines(std::string& out, std::string_view text) {
  while (true) {
    const size_t end = text.find('\n');
    base::append_xml(out, text.substr(0, end));
    if (end == std::string_view::npos) return;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

// At most two decimals, as few as needed; 0.004 and less is 0.
std::string pixels(double value) {
  std::string text = fmt::format("{:.2f}", value);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

// How wide a character may be, in parts of the font size: that of wide fonts (Verdana, DejaVu Sans), so that text fits
// whichever font the reader has. The script measures and fits again.
double character_width(std::string_view character, bool monospaced) {
  if (character.size() > 1) return 1.0;
  if (monospaced) return 0.62;
  const char c = character[0];
  if (std::string_view("ijl'|").find(c) != std::string_view::npos) return 0.34;
  if (std::string_view("Ifrt.,:;!()[]-/ ").find(c) != std::string_view::npos) return 0.47;
  if (std::string_view("mwMW@%<>=+#~&").find(c) != std::string_view::npos) return 0.98;
  return c >= 'A' && c <= 'Z' ? 0.76 : 0.64;
}

// The text as far as it fits into `room`, with ".." where it was cut; empty when too little would be left.
std::string fit(std::string_view text, double room, double font_size, bool monospaced) {
  const double dots = 2 * character_width(".", monospaced) * font_size;
  double width = 0;
  size_t cut = 0;
  size_t characters_before_cut = 0;
  for (size_t at = 0, count = 0; at < text.size(); ++count) {
    const size_t length = std::max<size_t>(base::utf8_length(text.substr(at)), 1);
    width += character_width(text.substr(at, length), monospaced) * font_size;
    if (width > room) return characters_before_cut < 2 ? "" : std::string(text.substr(0, cut)) + "..";
    at += length;
    if (width + dots <= room) {
      cut = at;
      characters_before_cut = count + 1;
    }
  }
  return std::string(text);
}

// Folded stacks mark kinds of code at the end of a name; the colour shows them, so the mark need not be read.
std::string_view without_mark(std::string_view label) {
  for (const std::string_view mark : {"_[k]", "_[j]", "_[i]", "_[w]"}) {
    if (label.size() > mark.size() && label.ends_with(mark)) return label.substr(0, label.size() - mark.size());
  }
  return label;
}

std::string_view grade_color(analysis::Grade grade) {
  switch (grade) {
    case analysis::Grade::kGood:
      return "#2e9e4f";
    case analysis::Grade::kFair:
      return "#e0a100";
    case analysis::Grade::kPoor:
      return "#d43a2f";
  }
  return "#888";
}

// The text broken between words into at most `most` lines, the last cut where more would be needed.
std::vector<std::string> wrap(std::string_view text, double room, double font_size, size_t most) {
  std::vector<std::string> lines;
  while (lines.size() + 1 < most) {
    const std::string line = fit(text, room, font_size, false);
    if (line == text) break;
    const size_t end = text.rfind(' ', line.size() - 2);
    if (line.empty() || end == std::string_view::npos || end == 0) break;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.push_back(fit(text, room, font_size, false));
  return lines;
}

// Where everything is, from the top: title, subtitle, verdict, frames, details, legend.
struct Places {
  double width;
  double title = 28;
  double subtitle = 47;
  double verdict;
  double frames;
  double details;
  double legend;
  double height;
};

Places place(const FlameSvgOptions& options, uint32_t rows, size_t verdict_lines) {
  Places at{.width = static_cast<double>(options.width.value_or(kDefaultFlameWidth))};
  at.verdict = options.subtitle.empty() ? 49 : 66;
  at.frames = at.verdict + kLine * static_cast<double>(verdict_lines - 1) + 16;
  at.details = at.frames + static_cast<double>(rows) * options.frame_height + 20;
  at.legend = at.details + 22;
  at.height = at.legend + 14;
  return at;
}

class Picture {
 public:
  Picture(const model::Profile& profile, const CallTree& tree, const analysis::Verdict& verdict,
          const FlameSvgOptions& options)
      : profile_(profile), tree_(tree), verdict_(verdict), options_(options), layout_(lay_out()) {
    // Room is left at the right for what the script says about a search.
    const double width = options.width.value_or(kDefaultFlameWidth);
    verdict_lines_ = wrap(analysis::one_line(verdict), std::max(width - 400, 300.0), 12, 3);
    at_ = place(options, layout_.depth, verdict_lines_.size());
    monospaced_ = options.font.find("ono") != std::string::npos || options.font.find("Courier") != std::string::npos;
    if (profile.samples.size() > 0) unit_ = profile.text(profile.events[profile.samples.event[0]].unit);
  }

  std::string draw() {
    head();
    style();
    metadata();
    background();
    heading();
    verdict_line();
    frames();
    footer();
    script();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  FlameLayout lay_out() const {
    const double drawn = options_.width.value_or(kDefaultFlameWidth) - 2 * kSide;
    const double total = static_cast<double>(analysis::weight_of(tree_.root().total, options_.weight));
    const double narrowest = std::ceil(options_.min_width * total / std::max(drawn, 1.0));
    return analysis::flame_layout(tree_, options_.weight, static_cast<uint64_t>(std::max(narrowest, 0.0)));
  }

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  void text(std::string_view any) { base::append_xml(out_, any); }

  void head() {
    out_ += "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n";
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" data-total=\"{2}\" data-side=\"{3}\" data-inset=\"{4}\" data-gap=\"{5}\" "
        "data-inverted=\"{6:d}\" data-fluid=\"{7:d}\" data-name-type=\"",
        pixels(at_.width), pixels(at_.height), layout_.total, kSide, kTextInset, kFrameGap, options_.inverted,
        !options_.width.has_value());
    text(options_.name_type);
    out_ += "\">\n";
  }

  void style() {
    out_ += "<style>\nsvg{font-family:";
    text(options_.font);
    add(";font-size:{}px;background:{}}}\n", options_.font_size,
        options_.background ? options_.background->bottom : "#fdfcfa");
    out_ +=
        "svg:focus{outline:none}\n"
        "text{fill:#1d1d1f;white-space:pre}\n"
        ".title{font-size:18px;font-weight:600}\n"
        ".quiet{fill:#6b6b70}\n"
        ".small{font-size:12px}\n"
        ".f{cursor:pointer;outline:none}\n"
        ".f rect{rx:2px}\n"
        ".f text{pointer-events:none}\n"
        ".f:hover rect,.f:focus rect{stroke:#1d1d1f;stroke-width:1.2px}\n"
        ".f.outer{opacity:.5}\n"
        ".f.hit rect{fill:#e15be8}\n"
        ".searching .f:not(.hit) rect{opacity:.5}\n"
        ".button{cursor:pointer;outline:none}\n"
        ".button rect{fill:#fff;stroke:#c9c9ce;rx:6px}\n"
        ".button:hover rect,.button:focus rect{stroke:#6b6b70}\n"
        ".button.on rect{fill:#1d1d1f;stroke:#1d1d1f}\n"
        ".button.on text{fill:#fff}\n"
        ".hidden{display:none}\n"
        ".tip{pointer-events:none}\n"
        ".tip rect{fill:#1d1d1f;opacity:.94;rx:6px}\n"
        ".tip text{fill:#fff}\n"
        ".tip .more{fill:#c9c9ce}\n"
        "</style>\n";
  }

  void metadata() {
    out_ += "<metadata id=\"tephra\">";
    base::JsonWriter json(out_);
    json.begin_object().member("generator", "tephra " TEPHRA_VERSION);
    json.key("verdict");
    write_verdict(json, verdict_);
    json.member("weight", options_.weight == analysis::Weight::kSamples ? "samples" : "value");
    json.member("unit", unit_).member("total", layout_.total);
    json.member("frames", layout_.rects.size()).member("frames_not_drawn", layout_.culled).end_object();
    out_ += "</metadata>\n";
  }

  void background() {
    const auto& colors = options_.background;
    if (colors) {
      add("<defs><linearGradient id=\"bg\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"1\"><stop offset=\"0\" stop-color=\"{}\"/>"
          "<stop offset=\"1\" stop-color=\"{}\"/></linearGradient></defs>\n",
          colors->top, colors->bottom);
    }
    add("<rect id=\"back\" width=\"100%\" height=\"100%\" fill=\"{}\"/>\n", colors ? "url(#bg)" : "#fdfcfa");
  }

  void heading() {
    add("<text class=\"title\" x=\"{}\" y=\"{}\">", kSide, at_.title);
    text(options_.title);
    out_ += "</text>\n";
    if (options_.subtitle.empty()) return;
    add("<text class=\"quiet small\" x=\"{}\" y=\"{}\">", kSide, at_.subtitle);
    text(options_.subtitle);
    out_ += "</text>\n";
  }

  void verdict_line() {
    out_ += "<g id=\"verdict\"><title>";
    append_xml_lines(out_, analysis::details(verdict_));
    add("</title><circle cx=\"{}\" cy=\"{}\" r=\"4\" fill=\"{}\"/>", kSide + 4, at_.verdict - 4,
        grade_color(verdict_.grade));
    double y = at_.verdict;
    for (const std::string& line : verdict_lines_) {
      add("<text class=\"small\" x=\"{}\" y=\"{}\">", kSide + 14, y);
      text(line);
      out_ += "</text>";
      y += kLine;
    }
    out_ += "</g>\n";
  }

  // The frames of a row are one group, moved to its place, so that they need no y of their own.
  void frames() {
    std::vector<std::vector<const FlameRect*>> rows(layout_.depth);
    for (const FlameRect& rect : layout_.rects) rows[rect.depth].push_back(&rect);
    out_ += "<g id=\"frames\">\n";
    for (size_t depth = 0; depth < rows.size(); ++depth) {
      const size_t from_top = options_.inverted ? depth : rows.size() - 1 - depth;
      add("<g transform=\"translate(0 {})\">\n",
          pixels(at_.frames + static_cast<double>(from_top) * options_.frame_height));
      for (const FlameRect* rect : rows[depth]) frame(*rect);
      out_ += "</g>\n";
    }
    out_ += "</g>\n";
  }

  void frame(const FlameRect& rect) {
    const CallNode& node = tree_.nodes[rect.node];
    const CallName& name = tree_.name(node);
    const Tone& tone = frame_tone(options_.palette, name);
    if (rect.node != 0 && !tone.meaning.empty()) used_tones_.emplace(tone.meaning, &tone);
    const std::string_view whole = without_mark(name.label);
    const std::string shown = options_.full_names ? std::string(whole) : base::shorten_cpp_name(whole);
    add("<g class=\"f\" data-x=\"{}\" data-w=\"{}\"", rect.x, rect.width);
    if (shown != whole) {
      out_ += " data-short=\"";
      text(shown);
      out_ += '"';
    }
    out_ += "><title>";
    details(node, name);
    out_ += "</title>";
    box(rect, frame_color(tone, name.label), shown);
    out_ += "</g>\n";
  }

  void box(const FlameRect& rect, const std::string& color, std::string_view shown) {
    const double total = static_cast<double>(std::max<uint64_t>(layout_.total, 1));
    const double scale = (at_.width - 2 * kSide) / total;
    const double x = kSide + static_cast<double>(rect.x) * scale;
    const double width = layout_.total == 0 ? at_.width - 2 * kSide : static_cast<double>(rect.width) * scale;
    add("<rect x=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/>", pixels(x),
        pixels(width > 4 * kFrameGap ? width - kFrameGap : width), options_.frame_height - 1, color);
    const std::string fitted = fit(shown, width - 2 * kTextInset, options_.font_size, monospaced_);
    if (fitted.empty()) return;
    add("<text x=\"{}\" y=\"{}\">", pixels(x + kTextInset), pixels(baseline()));
    text(fitted);
    out_ += "</text>";
  }

  double baseline() const { return (options_.frame_height - 1) / 2.0 + options_.font_size * 0.36; }

  // The tooltip of a frame, one fact a line; the script takes its details from here, too: the first line is the name.
  void details(const CallNode& node, const CallName& name) {
    text(without_mark(name.label));
    out_ += '\n';
    const uint64_t weight = analysis::weight_of(node.total, options_.weight);
    const uint64_t self = analysis::weight_of(node.self, options_.weight);
    text(weight_text(node.total));
    add(", {} of all", base::percent(weight, layout_.total));
    if (self > 0) add(" (self {})", base::percent(self, layout_.total));
    if (const std::string other = other_weight_text(node.total); !other.empty()) {
      out_ += kMiddleDot;
      text(other);
    }
    if (const std::string where = place_text(node, name); !where.empty()) {
      out_ += '\n';
      text(where);
    }
  }

  std::string samples_text(const model::Totals& totals) const {
    return base::with_separators(totals.count) + " " + options_.count_name;
  }
  std::string weight_text(const model::Totals& totals) const {
    return options_.weight == analysis::Weight::kSamples ? samples_text(totals) : value_text(totals);
  }
  std::string value_text(const model::Totals& totals) const {
    const std::string text = base::quantity(totals.value, unit_);
    return unit_.empty() || unit_ == "ns" || unit_ == "bytes" ? text : text + " " + std::string(unit_);
  }
  std::string other_weight_text(const model::Totals& totals) const {
    if (options_.weight == analysis::Weight::kValue) return samples_text(totals);
    return totals.value == 0 || totals.value == totals.count ? "" : value_text(totals);
  }

  std::string place_text(const CallNode& node, const CallName& name) const {
    std::string text;
    const auto join = [&](std::string_view part) {
      if (!text.empty()) text += kMiddleDot;
      text += part;
    };
    if (node.mapping && profile_.mappings[node.mapping].kind != model::CodeKind::kImported) {
      join(analysis::module_name(profile_, node.mapping));
    }
    if (node.file) {
      std::string file(profile_.text(node.file));
      if (node.first_line != 0) file += fmt::format(":{}", node.first_line);
      if (node.last_line != node.first_line) file += fmt::format("\u2013{}", node.last_line);
      join(file);
    }
    if (name.inlined) join("inlined");
    if (name.kind == FrameKind::kKernel) join("kernel");
    if (name.kind == FrameKind::kJit) join("generated code");
    return text;
  }

  void footer() {
    add("<text id=\"details\" class=\"small\" x=\"{}\" y=\"{}\"> </text>\n", kSide, pixels(at_.details));
    out_ += "<g id=\"legend\">\n";
    const double x = legend(kSide);
    if (layout_.culled > 0) {
      add("<text class=\"quiet small\" x=\"{}\" y=\"{}\">{} {} narrower than {} px not drawn</text>\n", pixels(x),
          pixels(at_.legend), base::with_separators(layout_.culled), layout_.culled == 1 ? "frame" : "frames",
          pixels(options_.min_width));
    }
    out_ += "</g>\n";
  }

  // Draws the colours that are in the picture and mean something from x on; returns where they end.
  double legend(double x) {
    if (used_tones_.size() < 2) return x;
    for (const auto& [meaning, tone] : used_tones_) {
      add("<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>", pixels(x),
          pixels(at_.legend - 10), tone_color(*tone));
      add("<text class=\"quiet small\" x=\"{}\" y=\"{}\">{}</text>\n", pixels(x + 17), pixels(at_.legend), meaning);
      x += 17 + 16;
      for (const char c : meaning) x += character_width({&c, 1}, false) * 12;
    }
    return x;
  }

  void script() {
    out_ += "<script><![CDATA[\n";
    out_ += embedded::kFlameSvgScript;
    out_ += "\n]]></script>\n";
  }

  const model::Profile& profile_;
  const CallTree& tree_;
  const analysis::Verdict& verdict_;
  const FlameSvgOptions& options_;
  FlameLayout layout_;
  std::vector<std::string> verdict_lines_;
  Places at_{};
  bool monospaced_ = false;
  std::string_view unit_;
  std::map<std::string_view, const Tone*> used_tones_;
  std::string out_;
};

}  // namespace

std::string flame_svg(const model::Profile& profile, const CallTree& tree, const analysis::Verdict& verdict,
                      const FlameSvgOptions& options) {
  return Picture(profile, tree, verdict, options).draw();
}

}  // namespace tephra::views
