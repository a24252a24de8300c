#include "views/health_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.h"
#include "base/units.h"
#include "views/printable.h"

namespace tephra::views {
namespace {

using analysis::Finding;
using symbols::ModuleFacts;
using Level = Finding::Level;

constexpr size_t kModulesShown = 10;
constexpr size_t kFirstColumn = 4;  // mark and blanks
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kReset = "\x1b[0m";

struct Mark {
  const char* utf8;
  const char* ascii;
  const char* color;
};
const Mark& mark_of(Level level) {
  static constexpr std::array kMarks{Mark{"✓", "+", "\x1b[32m"}, Mark{"!", "!", "\x1b[33m"},
                                     Mark{"✗", "x", "\x1b[31m"}};
  return kMarks[static_cast<size_t>(level)];
}

// Characters beyond ASCII that our own texts hold, for terminals that cannot show them.
std::string as_ascii(std::string text) {
  static constexpr std::array<std::array<std::string_view, 2>, 2> kReplacements{{{"…", "..."}, {"–", "-"}}};
  for (const auto& [from, to] : kReplacements) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
    }
  }
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

class Page {
 public:
  explicit Page(const HealthTextOptions& options) : options_(options) {}

  void title(std::string_view text) { line(styled(kBold, shown(text))); }
  void blank() { out_ += '\n'; }
  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }

  // Text behind a margin, broken between words; further lines begin below the first.
  void wrapped(const std::string& margin, size_t margin_columns, std::string_view raw, const char* style = nullptr) {
    const std::string text = shown(raw);
    const size_t room = options_.width > margin_columns + 20 ? options_.width - margin_columns : 20;
    std::string_view rest = text;
    std::string before = margin;
    do {
      const size_t taken = fitting(rest, room);
      line(before + styled(style, rest.substr(0, taken)));
      rest.remove_prefix(taken);
      rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
      before.assign(margin_columns, ' ');
    } while (!rest.empty());
  }

  void findings(std::span<const Finding> all) {
    size_t widest = 0;
    for (const Finding& finding : all) widest = std::max(widest, columns(finding.topic));
    for (const Level level : {Level::kGood, Level::kLimited, Level::kMissing}) {
      bool first = true;
      for (const Finding& finding : all) {
        if (finding.level != level) continue;
        if (first) blank();
        first = false;
        write(finding, widest);
      }
    }
  }

  std::string shown(std::string_view text) const { return options_.utf8 ? printable(text) : as_ascii(printable(text)); }
  std::string styled(const char* style, std::string_view text) const {
    return options_.color && style != nullptr ? fmt::format("{}{}{}", style, text, kReset) : std::string(text);
  }
  std::string mark(Level level) const {
    const Mark& each = mark_of(level);
    return styled(each.color, options_.utf8 ? each.utf8 : each.ascii);
  }
  std::string take() { return std::move(out_); }

 private:
  // How many bytes of the text stand on a line of so many columns; whole words where one fits.
  static size_t fitting(std::string_view text, size_t room) {
    if (columns(text) <= room) return text.size();
    size_t bytes = 0;
    size_t used = 0;
    size_t last_blank = 0;
    while (bytes < text.size() && used <= room) {
      if (text[bytes] == ' ') last_blank = bytes;
      ++bytes;
      while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) ++bytes;
      ++used;
    }
    if (last_blank > 0) return last_blank;
    // One word longer than the line, a path for example: it is not broken, so that it can be copied.
    return std::min(text.find(' '), text.size());
  }

  void write(const Finding& finding, size_t widest) {
    const size_t gap = widest - columns(finding.topic);
    const size_t text_at = kFirstColumn + widest + 2;
    const std::string margin = fmt::format("  {} {}{}  ", mark(finding.level), finding.topic, std::string(gap, ' '));
    wrapped(margin, text_at, finding.what);
    const std::string indent(text_at, ' ');
    if (!finding.lost.empty()) wrapped(indent + styled(kDim, "lost: "), text_at + 6, finding.lost, kDim);
    if (!finding.fix.empty()) wrapped(indent + "fix:  ", text_at + 6, finding.fix);
  }

  HealthTextOptions options_;
  std::string out_;
};

std::string names_text(const ModuleFacts& module) {
  if (!module.readable) return "?";
  if (module.names == ModuleFacts::Names::kAll) return "all";
  return module.names == ModuleFacts::Names::kExportsOnly ? "exported" : "none";
}

std::string share_text(uint64_t part, uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{} %", (part * 100 + whole / 2) / whole);
}

void write_modules(Page& page, const std::vector<ModuleFacts>& modules) {
  if (modules.empty()) return;
  page.blank();
  size_t widest = 6;
  const size_t count = std::min(modules.size(), kModulesShown);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    std::string name = page.shown(base::path_base_name(modules[i].path));
    if (modules[i].deleted) name += " (deleted)";
    widest = std::max(widest, columns(names.emplace_back(std::move(name))));
  }
  const auto row = [&](const std::string& name, auto... cells) {
    const std::string padded = name + std::string(widest - std::min(widest, columns(name)), ' ');
    page.line(fmt::format("  {}  {:>9}  {:<8}  {:<5}  {:>11}  {:>14}", padded, cells...));
  };
  row("file", "code", "names", "lines", "call frames", "frame pointers");
  for (size_t i = 0; i < count; ++i) {
    const ModuleFacts& module = modules[i];
    const auto& frames = module.frames;
    row(names[i], base::bytes_text(module.code_bytes), names_text(module),
        module.readable ? (module.debug_info ? "yes" : "no") : "?", share_text(frames.described, frames.places),
        module.go ? std::string("kept") : share_text(frames.keep_frame_pointer, frames.functions));
  }
  if (modules.size() > count)
    page.line(fmt::format("  and {} smaller files; --json has them all", modules.size() - count));
}

std::string_view state_text(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
    case 'I':
      return "waiting";
    case 'D':
      return "blocked";
    case 'T':
      return "stopped";
    case 't':
      return "traced";
    case 'Z':
    case 'X':
      return "ended";
    default:
      return "in a state not known";
  }
}

// The answer before the details.
std::string summary_of(const kernel::MachineFacts& facts, std::span<const Finding> findings) {
  const auto problems = std::count_if(findings.begin(), findings.end(),
                                      [](const Finding& finding) { return finding.level != Level::kGood; });
  if (!analysis::cpu_profiling_works(facts)) return "Profiling the CPU does not work here.";
  if (problems == 0) return "Profiling the CPU works here, and so does all else that was tried.";
  return fmt::format("Profiling the CPU works here; {} could be better.",
                     problems == 1 ? std::string("1 thing") : fmt::format("{} things", problems));
}

}  // namespace

std::string machine_health_text(const kernel::MachineFacts& facts, std::span<const Finding> findings,
                                const HealthTextOptions& options) {
  Page page(options);
  const std::string who = facts.user.uid == 0 ? "root" : fmt::format("user {}", facts.user.uid);
  page.title(fmt::format("Linux {} on {}, {} CPUs, as {}{}", facts.release, facts.machine, facts.cpus, who,
                         facts.user.uid != 0 && facts.user.perfmon ? " with CAP_PERFMON" : ""));
  page.line(page.shown(summary_of(facts, findings)));
  page.findings(findings);
  return page.take();
}

std::string process_health_text(const ProcessHealth& process, const HealthTextOptions& options) {
  Page page(options);
  const auto& facts = process.facts;
  page.title(fmt::format("Process {} ({}), {} {}, {}", facts.pid, facts.comm, facts.threads,
                         facts.threads == 1 ? "thread" : "threads", state_text(facts.state)));
  write_modules(page, facts.modules);
  page.findings(process.findings);
  if (process.advice && process.activity) {
    page.blank();
    page.wrapped(fmt::format("Seen in {:.1f} s: ", process.activity->seconds), 15, process.advice->text());
    if (process.activity->ended) page.line("It ended meanwhile.");
  } else if (process.activity) {
    page.line("It ended before it could be looked at.");
  }
  return page.take();
}

}  // namespace tephra::views
