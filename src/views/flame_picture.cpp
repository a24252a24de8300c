#include "views/flame_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/escape.h"
#include "base/units.h"
#include "views/flame_svg_js.h"
#include "views/verdict_json.h"

namespace tephra::views {
namespace {

using analysis::FlameLayout;
using analysis::FlameRect;
using analysis::FlameRow;

constexpr double kSide = 12;       // free space left and right
constexpr double kTextInset = 4;   // from a frame's edge to its text
constexpr double kLine = 16;       // from line to line of the verdict
constexpr double kFrameGap = 0.8;  // between neighbours, where both are wide enough to spare it
constexpr double kLaneGap = 10;    // between the lanes of a picture
constexpr double kBelowLegend = 14;
constexpr double kAxis = 20;  // for the times above a chart

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

// At most two decimals, as few as needed; less than 0.005 is 0. Written often, so by hand.
void append_pixels(std::string& out, double value) {
  const auto hundredths = std::llround(value * 100);
  const auto size = static_cast<unsigned long long>(std::llabs(hundredths));
  if (hundredths < 0) out += '-';
  out += fmt::format_int(size / 100).c_str();
  if (size % 100 == 0) return;
  out += '.';
  out += static_cast<char>('0' + size / 10 % 10);
  if (size % 10 != 0) out += static_cast<char>('0' + size % 10);
}

std::string pixels(double value) {
  std::string text;
  append_pixels(text, value);
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

// Where everything is, from the top: title, subtitle, verdict, times, frames, details, legend.
struct Places {
  double width;
  double title = 28;
  double subtitle = 47;
  double verdict;
  double frames;
  double details;
  double legend;
};

Places place(const FlameSvgOptions& options, double frames_height, size_t verdict_lines, bool time_axis) {
  Places at{.width = static_cast<double>(options.width.value_or(kDefaultFlameWidth))};
  at.verdict = options.subtitle.empty() ? 49 : 66;
  at.frames = at.verdict + kLine * static_cast<double>(verdict_lines - 1) + 16 + (time_axis ? kAxis : 0);
  at.details = at.frames + frames_height + 20;
  at.legend = at.details + 22;
  return at;
}

// The step between times that are written beside each other: 1, 2 or 5 times a power of ten.
double tick_step(double range, double pixels_wide) {
  const double rough = range / std::max(pixels_wide / 110, 1.0);
  const double power = std::pow(10, std::floor(std::log10(std::max(rough, 1.0))));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

// In the unit that suits the whole range, with the decimals that the step needs.
std::string tick_text(double nanoseconds, double range, double step) {
  const bool seconds = range >= 1e9;
  const bool milli = range >= 1e6;
  const double unit = seconds ? 1e9 : milli ? 1e6 : 1e3;
  const int decimals = std::max(0, static_cast<int>(std::ceil(std::log10(unit / step) - 1e-9)));
  return fmt::format("{:.{}f} {}", nanoseconds / unit, decimals, seconds ? "s" : milli ? "ms" : "us");
}

// Where each row is, from the top of the first one.
std::vector<double> row_places(const FlameLayout& layout, const FlameSvgOptions& options) {
  int32_t least = 0;
  int32_t most = 0;
  for (const FlameRow& row : layout.rows) {
    least = std::min(least, row.level);
    most = std::max(most, row.level);
  }
  std::vector<double> places;
  for (const FlameRow& row : layout.rows) {
    const int32_t from_top = options.inverted ? row.level - least : most - row.level;
    places.push_back(static_cast<double>(from_top) * options.frame_height + kLaneGap * row.lane);
  }
  return places;
}

class Picture {
 public:
  Picture(FlameSubject& subject, const FlameLayout& layout, const analysis::Verdict& verdict,
          const FlameSvgOptions& options)
      : subject_(subject), layout_(layout), verdict_(verdict), options_(options), rows_(row_places(layout, options)) {
    // Room is left at the right for what the script says about a search.
    const double width = options.width.value_or(kDefaultFlameWidth);
    verdict_lines_ = wrap((options.verdict_of.empty() ? "" : options.verdict_of + ": ") + analysis::one_line(verdict),
                          std::max(width - 400, 300.0), 12, 3);
    const double lowest = *std::max_element(rows_.begin(), rows_.end());
    frames_height_ = lowest + options.frame_height;
    at_ = place(options, frames_height_, verdict_lines_.size(), layout.time_axis);
    after_width_ = fmt::format("\" height=\"{}\" fill=\"", options.frame_height - 1);
    after_text_x_ = fmt::format("\" y=\"{}\">", pixels(baseline()));
    monospaced_ = options.font.find("ono") != std::string::npos || options.font.find("Courier") != std::string::npos;
  }

  std::string draw() {
    constexpr size_t kBytesOfBox = 230;  // about
    constexpr size_t kBytesAround = 64 << 10;
    // How much room the legend needs is known when all boxes are.
    out_.reserve(layout_.rects.size() * kBytesOfBox);
    frames();
    footer();
    const std::string body = std::exchange(out_, {});
    out_.reserve(body.size() + kBytesAround);
    head();
    style();
    metadata();
    background();
    heading();
    verdict_line();
    if (layout_.time_axis) axis();
    out_ += body;
    script();
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }
  void text(std::string_view any) { base::append_xml(out_, any); }

  void head() {
    out_ += "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n";
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
        "viewBox=\"0 0 {0} {1}\" data-total=\"{2}\" data-side=\"{3}\" data-inset=\"{4}\" data-gap=\"{5}\" "
        "data-inverted=\"{6:d}\" data-fluid=\"{7:d}\"{8} data-name-type=\"",
        pixels(at_.width), pixels(at_.legend + legend_height_), layout_.total, kSide, kTextInset, kFrameGap,
        options_.inverted, !options_.width.has_value(), layout_.time_axis ? " data-chart=\"1\"" : "");
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
    subject_.write_metadata(json);
    json.member("total", layout_.total);
    if (!options_.notes.empty()) json.member("notes", options_.notes);
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

  // The times above a chart, with a line down through it. The script draws them anew for what it shows.
  void axis() {
    const double drawn = at_.width - 2 * kSide;
    const auto range = static_cast<double>(std::max<uint64_t>(layout_.total, 1));
    const double step = tick_step(range, drawn);
    add("<g id=\"axis\" data-y=\"{}\" data-height=\"{}\">", pixels(at_.frames), pixels(frames_height_ + 6));
    for (double time = 0; time <= range; time += step) {
      const double x = kSide + time / range * drawn;
      add("<path d=\"M{} {}v{}\" stroke=\"#dcdce0\"/>", pixels(x), pixels(at_.frames - 6), pixels(frames_height_ + 6));
      if (x + 60 > at_.width - kSide) break;
      add("<text class=\"quiet small\" x=\"{}\" y=\"{}\">{}</text>", pixels(x), pixels(at_.frames - 8),
          tick_text(time, range, step));
    }
    out_ += "</g>\n";
  }

  // The frames of a row are one group, moved to its place, so that they need no y of their own.
  void frames() {
    std::vector<std::vector<const FlameRect*>> rows(layout_.rows.size());
    for (const FlameRect& rect : layout_.rects) rows[rect.depth].push_back(&rect);
    out_ += "<g id=\"frames\">\n";
    for (size_t row = 0; row < rows.size(); ++row) {
      add("<g transform=\"translate(0 {})\"", pixels(at_.frames + rows_[row]));
      // The script takes the row before where nothing else is said.
      if (row != 0 && layout_.rows[row].parent + 1 != row) add(" data-on=\"{}\"", layout_.rows[row].parent);
      out_ += ">\n";
      for (const FlameRect* rect : rows[row]) frame(*rect);
      out_ += "</g>\n";
    }
    out_ += "</g>\n";
  }

  void frame(const FlameRect& rect) {
    box_.clear();
    subject_.describe(rect, box_);
    out_.append("<g class=\"f\" data-x=\"").append(fmt::format_int(rect.x).c_str());
    out_.append("\" data-w=\"").append(fmt::format_int(rect.width).c_str()).append("\"");
    if (box_.shown != box_.name) {
      out_ += " data-short=\"";
      text(box_.shown);
      out_ += '"';
    }
    out_ += "><title>";
    text(box_.name);
    out_ += '\n';
    append_xml_lines(out_, std::string_view(box_.details).substr(0, box_.details.find_last_not_of('\n') + 1));
    out_ += "</title>";
    rectangle(rect);
    out_ += "</g>\n";
  }

  void rectangle(const FlameRect& rect) {
    const double total = static_cast<double>(std::max<uint64_t>(layout_.total, 1));
    const double scale = (at_.width - 2 * kSide) / total;
    const double x = kSide + static_cast<double>(rect.x) * scale;
    const double width = layout_.total == 0 ? at_.width - 2 * kSide : static_cast<double>(rect.width) * scale;
    out_ += "<rect x=\"";
    append_pixels(out_, x);
    out_ += "\" width=\"";
    append_pixels(out_, width > 4 * kFrameGap ? width - kFrameGap : width);
    out_.append(after_width_).append(box_.color).append("\"/>");
    const std::string fitted = fit(box_.shown, width - 2 * kTextInset, options_.font_size, monospaced_);
    if (fitted.empty()) return;
    out_ += "<text x=\"";
    append_pixels(out_, x + kTextInset);
    out_ += after_text_x_;
    text(fitted);
    out_ += "</text>";
  }

  double baseline() const { return (options_.frame_height - 1) / 2.0 + options_.font_size * 0.36; }

  void footer() {
    add("<text id=\"details\" class=\"small\" x=\"{}\" y=\"{}\"> </text>\n", kSide, pixels(at_.details));
    out_ += "<g id=\"legend\">\n";
    const FlameLegend legend = subject_.legend();
    for (const FlameLegend::Entry& entry : legend.entries) {
      begin_in_legend(17 + text_width(entry.meaning, 12, false));
      swatch(legend_x_, 12, entry.color);
      legend_text(17, entry.meaning);
      legend_x_ += 16;
    }
    scale(legend);
    if (layout_.culled > 0) {
      const std::string text = fmt::format("{} {} narrower than {} px not drawn", base::with_separators(layout_.culled),
                                           layout_.culled == 1 ? "frame" : "frames", pixels(options_.min_width));
      begin_in_legend(text_width(text, 12, false));
      legend_text(0, text);
    }
    out_ += "</g>\n";
  }

  // Goes to the next line of the legend where what comes would not fit.
  void begin_in_legend(double width) {
    if (legend_x_ == kSide || legend_x_ + width <= at_.width - kSide) return;
    legend_x_ = kSide;
    legend_height_ += 18;
  }
  double legend_y() const { return at_.legend + legend_height_ - kBelowLegend; }

  // Text from legend_x_ + inset on, which moves behind it.
  void legend_text(double inset, std::string_view words) {
    add("<text class=\"quiet small\" x=\"{}\" y=\"{}\">", pixels(legend_x_ + inset), pixels(legend_y()));
    text(words);
    out_ += "</text>\n";
    legend_x_ += inset + text_width(words, 12, false);
  }

  void swatch(double x, double width, std::string_view color) {
    add("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"12\" rx=\"2\" fill=\"{}\"/>", pixels(x), pixels(legend_y() - 10),
        pixels(width), color);
  }

  void scale(const FlameLegend& legend) {
    if (legend.scale.empty()) return;
    constexpr double kStep = 16;
    legend_text(0, legend.scale_begin);
    legend_x_ += 5;
    for (const std::string& color : legend.scale) {
      swatch(legend_x_, kStep, color);
      legend_x_ += kStep;
    }
    out_ += '\n';
    legend_text(5, legend.scale_end);
    legend_x_ += 16;
  }

  void script() {
    out_ += "<script><![CDATA[\n";
    out_ += embedded::kFlameSvgScript;
    out_ += "\n]]></script>\n";
  }

  FlameSubject& subject_;
  const FlameLayout& layout_;
  const analysis::Verdict& verdict_;
  const FlameSvgOptions& options_;
  std::vector<double> rows_;
  std::vector<std::string> verdict_lines_;
  Places at_{};
  double frames_height_ = 0;
  std::string after_width_;   // of a frame's rectangle, up to its colour
  std::string after_text_x_;  // of a frame's text
  bool monospaced_ = false;
  double legend_x_ = kSide;
  double legend_height_ = kBelowLegend;
  FlameBox box_;
  std::string out_;
};

}  // namespace

uint64_t narrowest_weight(const FlameSvgOptions& options, uint64_t total) {
  const double drawn = options.width.value_or(kDefaultFlameWidth) - 2 * kSide;
  const double narrowest = std::ceil(options.min_width * static_cast<double>(total) / std::max(drawn, 1.0));
  return static_cast<uint64_t>(std::max(narrowest, 0.0));
}

void FlameBox::add_detail(std::string_view line) {
  const size_t begin = details.size();
  details += line;
  std::replace(details.begin() + static_cast<ptrdiff_t>(begin), details.end(), '\n', ' ');
  details += '\n';
}

void FlameBox::clear() {
  name.clear();
  shown.clear();
  color.clear();
  details.clear();
}

double text_width(std::string_view text, double font_size, bool monospaced) {
  double width = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t length = std::max<size_t>(base::utf8_length(text.substr(at)), 1);
    width += character_width(text.substr(at, length), monospaced) * font_size;
    at += length;
  }
  return width;
}

std::string draw_flame(FlameSubject& subject, const FlameLayout& layout, const analysis::Verdict& verdict,
                       const FlameSvgOptions& options) {
  return Picture(subject, layout, verdict, options).draw();
}

}  // namespace tephra::views
