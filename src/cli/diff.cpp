#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <list>
#include <optional>

#include "analysis/diff.h"
#include "base/file.h"
#include "base/lower_case.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output_packing.h"
#include "cli/output_path.h"
#include "formats/diff_folded.h"
#include "model/event_weight.h"
#include "views/diff_flame.h"
#include "views/diff_json.h"
#include "views/diff_text.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

using analysis::DiffBy;
using analysis::DiffSide;

constexpr const char* kSummary = "compare profiles: what changed, and is it more than noise";
constexpr const char* kExamples =
    "  tephra diff before.data after.data                    what changed between two recordings\n"
    "  tephra diff old1.data old2.data -- new1.data new2.data  several runs of each: less noise, and totals count\n"
    "  tephra diff old.data new.data -o diff.svg             a flame graph of both: red grew, blue shrank\n"
    "  tephra diff --by work=50000,52000 old.data new.data   for each request, of 50,000 before and 52,000 after\n"
    "  tephra diff --fail-if 'regression>2%' old.data new.data  for a build: status 4 where a function grew\n"
    "  tephra diff --folded -n old.folded new.folded         two numbers a line, as difffolded.pl writes them\n";

// Stands for -- among the words, which a parser would take for itself.
constexpr const char* kBetween = "\x1e--";

constexpr uint64_t kTimeStep = 250'000'000;

struct DiffArguments {
  InputOptions input;
  std::vector<std::string> words;  // files, and kBetween
  std::vector<std::string> paths[analysis::kDiffSides];
  bool columns = false;  // one file has both sides, in two numbers a line
  analysis::DiffOptions diff;
  views::DiffTextOptions text;
  formats::DiffFoldedOptions folded;
  std::string by = "share";
  std::vector<double> work;  // of each file, or of each side
  std::string weight;
  std::string base = "comm";
  std::vector<std::string> matches;
  std::string fail_if;
  std::optional<double> limit;  // of --fail-if
  std::string output = "-";
  views::DiffFlameOptions flame;
  std::string width = "both";
  bool as_json = false;
  bool as_folded = false;
  bool as_svg = false;
};

void declare_meaning(CLI::App& parser, DiffArguments& arguments) {
  parser
      .add_option(
          "--by", arguments.by,
          "what makes sides comparable: share (default) of all samples; time: as recorded, a run each; second:\n"
          "for each second recorded; work=N,M: for each unit of work, N before and M after, or one number a file")
      ->type_name("share|time|second|work=N,M");
  parser.add_option("--base", arguments.base, "what stacks stand on: comm (default), none")
      ->check(CLI::IsMember({"comm", "none"}).description(""))
      ->type_name("NAME");
  parser.add_option("--match", arguments.matches, "this function was renamed; may be given several times")
      ->allow_extra_args(false)
      ->type_name("OLD=NEW");
}

void declare_output(CLI::App& parser, DiffArguments& arguments) {
  parser.add_option("-o,--output", arguments.output, "where to write; - is standard output")->type_name("FILE");
  parser.add_option("--limit", arguments.text.limit, "rows of each table (20); 0: all")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 62).description(""))
      ->type_name("N");
  parser.add_flag("--all", arguments.text.all, "list functions that are within noise, too");
  parser.add_flag("--json", arguments.as_json, "print JSON: all functions and call paths");
  parser
      .add_option("--fail-if", arguments.fail_if,
                  "exit with status 4 where the 95 % interval of a function's change lies above this much of all that\n"
                  "is before")
      ->type_name("'regression>N%'");
  parser.add_flag("--folded", arguments.as_folded, "folded stacks with two numbers, as difffolded.pl writes them");
  parser.add_flag("-n,--normalise,--normalize", arguments.folded.normalise,
                  "--folded: scale the first numbers to the sum of the second");
  parser.add_flag("-s,--strip-hex", arguments.folded.strip_hex, "--folded: addresses become 0x...");
}

void declare_flame(CLI::App& parser, DiffArguments& arguments) {
  arguments.flame.picture.title.clear();
  parser.add_flag("--svg", arguments.as_svg,
                  "draw a flame graph of both sides; also where the output's name ends in .svg");
  parser
      .add_option(
          "--width", arguments.width,
          "--svg: which side frames are as wide as: both (the mean, default: what is new and what is gone can be "
          "seen),\nbefore or after")
      ->check(CLI::IsMember({"both", "before", "after"}).description(""))
      ->type_name("SIDE");
  parser.add_flag("--negate", arguments.flame.negate, "--svg: blue grew and red shrank");
  parser.add_flag("--inverted", arguments.flame.picture.inverted, "--svg: callers at the top");
  parser
      .add_option("--title", arguments.flame.picture.title,
                  "--svg: the title (Differential Flame Graph, and the names of the files)")
      ->type_name("TEXT");
  parser.add_option("--subtitle", arguments.flame.picture.subtitle, "--svg: a line below the title")->type_name("TEXT");
}

void declare(CLI::App& parser, DiffArguments& arguments) {
  arguments.input.weight_words =
      ";\nor value (its period: time, events, bytes; default where all profiles have it) or samples (1)";
  arguments.input.declare(parser);
  arguments.input.declare_stacks(parser);
  parser.remove_option(parser.get_option("--input"));
  parser
      .add_option("files", arguments.words,
                  "the profiles before, then --, then those after; of two, -- can be left out. - is standard input")
      ->type_name("BEFORE… -- AFTER…");
  declare_meaning(parser, arguments);
  declare_output(parser, arguments);
  declare_flame(parser, arguments);
}

base::Status split_sides(DiffArguments& arguments) {
  const auto& words = arguments.words;
  const auto between = std::find(words.begin(), words.end(), kBetween);
  constexpr const char* kHow = "Say: tephra diff BEFORE… -- AFTER…";
  if (between == words.end()) {
    if (words.empty()) return base::usage_error("two sides are compared", "", "no file is named", kHow);
    if (words.size() == 1) {
      arguments.columns = true;
      arguments.paths[0] = arguments.paths[1] = {words[0]};
      return {};
    }
    if (words.size() > 2) {
      return base::usage_error("nothing says which files are before and which after", "",
                               fmt::format("there are {} of them and no --", words.size()), kHow);
    }
    arguments.paths[0] = {words[0]};
    arguments.paths[1] = {words[1]};
    return {};
  }
  arguments.paths[0].assign(words.begin(), between);
  arguments.paths[1].assign(between + 1, words.end());
  for (const auto& side : arguments.paths) {
    if (side.empty()) {
      return base::usage_error("two sides are compared", "",
                               &side == &arguments.paths[0] ? "no file is before --" : "no file is behind --", kHow);
    }
  }
  if (std::count(words.begin(), words.end(), kBetween) > 1) {
    return base::usage_error("two sides are compared", "", "there are several --", kHow);
  }
  return {};
}

base::Status refuse_input_twice(const std::vector<std::string>& words) {
  if (std::count(words.begin(), words.end(), "-") < 2) return {};
  return base::usage_error("standard input can be read once", "", "it is named twice",
                           "Write one of the profiles to a file.");
}

// What a name asks for that cannot be written: text in a file of that name would deceive.
base::Status refuse_ending(const DiffArguments& arguments) {
  static constexpr std::string_view kNotText[] = {".html", ".htm",  ".png",   ".pdf",  ".jpg", ".jpeg",
                                                  ".gif",  ".webp", ".pprof", ".data", ".pb",  ".pftrace"};
  std::string name = base::lower_case(arguments.output);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (std::none_of(std::begin(kNotText), std::end(kNotText), ends)) return {};
  return base::usage_error("cannot write", arguments.output, "a comparison is a picture (.svg), JSON, or text",
                           "Name it .svg, .json, .folded or .txt.");
}

// The name says the form, where no option does.
void take_form_of_name(DiffArguments& arguments) {
  if (arguments.as_json || arguments.as_folded || arguments.as_svg) return;
  std::string name = base::lower_case(arguments.output);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  arguments.as_svg = name.ends_with(".svg");
  arguments.as_json = name.ends_with(".json");
  arguments.as_folded = name.ends_with(".folded");
}

base::Result<double> number_of(std::string_view text, std::string_view what) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || !(number > 0) || number > 1e300) {
    return base::usage_error(std::string(what), std::string(text));
  }
  return number;
}

base::Status apply_work(DiffArguments& arguments, std::string_view numbers) {
  const size_t files = arguments.paths[0].size() + arguments.paths[1].size();
  while (true) {
    const size_t comma = numbers.find(',');
    TEPHRA_TRY(const double number, number_of(numbers.substr(0, comma), "--by work= takes positive numbers, not"));
    arguments.work.push_back(number);
    if (comma == std::string_view::npos) break;
    numbers.remove_prefix(comma + 1);
  }
  if (arguments.work.size() != 2 && arguments.work.size() != files) {
    return base::usage_error("--by work= takes two numbers, or one a file", "",
                             fmt::format("there are {} numbers and {} files", arguments.work.size(), files));
  }
  return {};
}

base::Status apply_by(DiffArguments& arguments) {
  DiffBy& by = arguments.diff.tree.by;
  const std::string& word = arguments.by;
  if (word == "share") {
    by = DiffBy::kShare;
  } else if (word == "time") {
    by = DiffBy::kTime;
  } else if (word == "second") {
    by = DiffBy::kSecond;
  } else if (word.starts_with("work=")) {
    by = DiffBy::kWork;
    return apply_work(arguments, std::string_view(word).substr(5));
  } else {
    return base::usage_error("--by takes share, time, second or work=N,M, not", word);
  }
  return {};
}

// "regression>2%", with spaces wherever.
base::Status apply_fail_if(DiffArguments& arguments) {
  if (arguments.fail_if.empty()) return {};
  std::string text = arguments.fail_if;
  std::erase(text, ' ');
  constexpr std::string_view kStart = "regression>";
  const std::string_view number = text.size() > kStart.size() + 1
                                      ? std::string_view(text).substr(kStart.size(), text.size() - kStart.size() - 1)
                                      : std::string_view();
  double percent = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  const bool whole = error == std::errc{} && end == number.data() + number.size();
  if (!text.starts_with(kStart) || !text.ends_with('%') || !whole || !(percent >= 0) || percent > 1e9) {
    return base::usage_error("--fail-if takes 'regression>N%', not", arguments.fail_if);
  }
  arguments.limit = percent / 100;
  return {};
}

base::Status apply_matches(DiffArguments& arguments) {
  analysis::DiffMatchOptions& match = arguments.diff.tree.match;
  for (const std::string& word : arguments.matches) {
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == word.size()) {
      return base::usage_error("--match takes OLD=NEW, not", word);
    }
    const auto key = [&](std::string_view name) { return analysis::name_across_builds(name, match.names); };
    match.renamed[key(std::string_view(word).substr(0, equals))] = key(std::string_view(word).substr(equals + 1));
  }
  return {};
}

base::Status apply(DiffArguments& arguments) {
  TEPHRA_CHECK_OK(refuse_input_twice(arguments.words));
  TEPHRA_CHECK_OK(split_sides(arguments));
  TEPHRA_CHECK_OK(refuse_ending(arguments));
  take_form_of_name(arguments);
  arguments.diff.tree.match.names.merge_templates = arguments.input.stacks.merge_templates;
  TEPHRA_CHECK_OK(apply_by(arguments));
  TEPHRA_CHECK_OK(apply_fail_if(arguments));
  TEPHRA_CHECK_OK(apply_matches(arguments));
  if (!arguments.as_folded && (arguments.folded.normalise || arguments.folded.strip_hex)) {
    return base::usage_error("-n and -s are about folded stacks", "", "",
                             "Add --folded; --by says what else is divided.");
  }
  if (arguments.as_folded + arguments.as_json + arguments.as_svg > 1) {
    return base::usage_error("choose one of --svg, --json and --folded");
  }
  arguments.flame.width = arguments.width == "before"  ? views::DiffWidth::kBefore
                          : arguments.width == "after" ? views::DiffWidth::kAfter
                                                       : views::DiffWidth::kBoth;
  arguments.flame.picture.full_names = arguments.input.symbols.full_names;
  if (arguments.as_folded && arguments.limit) return base::usage_error("--fail-if and --folded do not go together");
  arguments.diff.tree.threads = arguments.base == "comm";
  arguments.weight =
      arguments.input.weight.empty() || arguments.input.weight == "samples" ? arguments.input.weight : "value";
  arguments.diff.weight_is_chosen = !arguments.weight.empty();
  arguments.diff.tree.weight =
      arguments.weight == "samples" ? analysis::DiffWeight::kSamples : analysis::DiffWeight::kValue;
  TEPHRA_CHECK_OK(refuse_packing(arguments.output));
  for (const auto& side : arguments.paths) {
    for (const std::string& path : side) TEPHRA_CHECK_OK(refuse_input(arguments.output, path));
  }
  return {};
}

// All profiles that are compared, read.
struct Sides {
  std::list<Input> inputs;  // those before first
  std::vector<analysis::DiffProfile> profiles;
  std::vector<analysis::Verdict> verdicts;
  views::DiffSideText texts[analysis::kDiffSides];
};

double work_of(const DiffArguments& arguments, size_t side, size_t number) {
  if (arguments.work.empty()) return 1;
  return arguments.work.size() == 2 ? arguments.work[side] : arguments.work[number];
}

void note_verdict(views::DiffSideText& text, const std::string& path, const analysis::Verdict& verdict, bool several) {
  const bool first = text.files.empty();
  text.files.push_back(path);
  text.all_alike = first || (text.all_alike && verdict.grade == text.verdict.grade);
  if (!first && verdict.grade <= text.verdict.grade) return;
  text.verdict = verdict;
  if (several) text.worst = path;
}

// One file is enough where it has two numbers a line.
base::Status require_columns(DiffArguments& arguments) {
  const std::string& path = arguments.paths[0][0];
  constexpr const char* kHow = "Say: tephra diff BEFORE… -- AFTER…";
  if (path == "-") {
    return base::usage_error("two sides are compared", "", "one file is named, and standard input can be read once",
                             kHow);
  }
  arguments.input.path = path;
  TEPHRA_TRY(const auto content, formats::InputFile::open(path));
  TEPHRA_TRY(const model::Profile profile, load_all_events(arguments.input, content));
  const bool two = profile.facts.format == "folded" && profile.events.size() == 2;
  if (two) return {};
  return base::usage_error("two sides are compared", "",
                           "one file is named, and it is not folded stacks with two numbers a line", kHow);
}

base::Result<Sides> read_sides(DiffArguments& arguments) {
  if (arguments.columns) TEPHRA_CHECK_OK(require_columns(arguments));
  Sides sides;
  for (size_t s = 0; s < analysis::kDiffSides; ++s) {
    const auto& paths = arguments.paths[s];
    // Several recordings tell by themselves how much they differ; of one, its seconds do.
    const bool times = paths.size() == 1 && !arguments.as_folded;
    // Shares do not mind where exactly a second ends, and such profiles are read faster.
    const bool shares = arguments.diff.tree.by == DiffBy::kShare;
    arguments.input.build.time_step = times && shares ? kTimeStep : 0;
    arguments.input.build.keep_every_sample = times && !shares;
    for (const std::string& path : paths) {
      arguments.input.path = path;
      if (arguments.columns) arguments.input.event = s == 0 ? "before" : "after";
      TEPHRA_TRY(Input input, load(arguments.input));
      Input& kept = sides.inputs.emplace_back(std::move(input));
      sides.profiles.push_back({.profile = &kept.profile,
                                .named = kept.named ? &*kept.named : &kept.profile,
                                .side = static_cast<DiffSide>(s),
                                .work = work_of(arguments, s, sides.profiles.size())});
      sides.verdicts.push_back(kept.verdict);
      note_verdict(sides.texts[s], path, kept.verdict, paths.size() > 1);
    }
  }
  return sides;
}

std::string folded_text(const DiffArguments& arguments, const Sides& sides) {
  std::vector<const model::Profile*> of_side[analysis::kDiffSides];
  formats::DiffFoldedOptions options = arguments.folded;
  for (const analysis::DiffProfile& input : sides.profiles) {
    of_side[static_cast<size_t>(input.side)].push_back(input.profile);
    options.by_value = options.by_value || arguments.weight == "value" ||
                       (arguments.weight.empty() && model::weighs_by_value(*input.profile));
  }
  return formats::write_diff_folded(of_side[0], of_side[1], options);
}

// Prints the verdict on each side where conclude() does, and gives the worse status.
int conclude_sides(const InputOptions& options, const Sides& sides, VerdictShown shown) {
  int status = kExitDone;
  for (size_t s = 0; s < analysis::kDiffSides; ++s) {
    const analysis::Verdict& verdict = sides.texts[s].verdict;
    const bool refused = options.strict && verdict.grade != analysis::Grade::kGood;
    const bool printed = options.verbose || refused || (!options.quiet && shown == VerdictShown::kNo);
    const std::string& worst = sides.texts[s].worst;
    if (printed) {
      fmt::print(stderr, "{}{}: ", s == 0 ? "before" : "after",
                 worst.empty() ? "" : " (" + views::printable(worst) + ")");
    }
    status = std::max(status, conclude(options, verdict, shown));
  }
  return status;
}

// What --match names and the profiles do not have.
void tell_of_matches(const DiffArguments& arguments, const analysis::Diff& diff) {
  if (arguments.input.quiet) return;
  for (const std::string& word : arguments.matches) {
    const std::string_view old_name = std::string_view(word).substr(0, word.find('='));
    if (!diff.tree.not_renamed.contains(analysis::name_across_builds(old_name, arguments.diff.tree.match.names))) {
      continue;
    }
    fmt::print(stderr, "tephra: --match {} matches nothing: the first name must be before, the second after\n",
               views::printable(word));
  }
}

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (no_color == nullptr || *no_color == 0);
}

// "old.data", "old1.data and 2 more".
std::string short_name(const views::DiffSideText& text) {
  const std::string& first = text.files[0];
  const std::string name = first.substr(first.rfind('/') + 1);
  return text.files.size() == 1 ? name : fmt::format("{} and {} more", name, text.files.size() - 1);
}

// The picture says what it shows, and carries the worse verdict.
std::string draw(DiffArguments& arguments, const analysis::Diff& diff, const Sides& sides) {
  std::string& subtitle = arguments.flame.picture.subtitle;
  if (subtitle.empty()) subtitle = views::normalisation_text(diff);
  std::string& title = arguments.flame.picture.title;
  if (title.empty()) {
    title = fmt::format("Differential Flame Graph: {} → {}", short_name(sides.texts[0]), short_name(sides.texts[1]));
  }
  const analysis::Grade grades[] = {sides.texts[0].verdict.grade, sides.texts[1].verdict.grade};
  const size_t worse = grades[0] > grades[1] ? 0 : 1;
  const char* side = worse == 0 ? "before" : "after";
  arguments.flame.picture.verdict_of =
      grades[0] == grades[1] ? std::string(side) + " (before is no better)" : std::string(side) + ", the worse side";
  return views::diff_flame(diff, sides.texts[worse].verdict, arguments.flame);
}

base::Result<int> compare(DiffArguments& arguments, const Sides& sides) {
  TEPHRA_TRY(analysis::Diff diff, analysis::diff(sides.profiles, arguments.diff));
  tell_of_matches(arguments, diff);
  diff.warnings = analysis::stack_warnings(sides.profiles, sides.verdicts);
  std::vector<analysis::Regression> found;
  if (arguments.limit) found = analysis::regressions(diff, *arguments.limit);
  const bool to_screen = arguments.output == "-";
  arguments.text.color = to_screen && wants_color();
  arguments.text.shorten = to_screen && ::isatty(STDOUT_FILENO) == 1 && !arguments.input.symbols.full_names;
  VerdictShown shown = VerdictShown::kNo;
  std::string text;
  if (arguments.as_json) {
    text = views::diff_json(diff, sides.texts[0], sides.texts[1], found);
  } else if (arguments.as_svg) {
    text = draw(arguments, diff, sides);
  } else {
    text = views::diff_text(diff, sides.texts[0], sides.texts[1], arguments.text);
    shown = VerdictShown::kYes;
  }
  TEPHRA_CHECK_OK(write_output(arguments.output, std::move(text)));
  if (arguments.as_svg && !to_screen && !arguments.input.quiet) fmt::print(stderr, "wrote {}\n", arguments.output);
  if (arguments.limit && !diff.tests.spread.tested) {
    fmt::print(stderr, "--fail-if: nothing was tested, so nothing can fail. Give several profiles a side.\n");
  }
  if (arguments.limit) fmt::print(stderr, "{}", views::regressions_text(diff, found, *arguments.limit));
  const int status = conclude_sides(arguments.input, sides, shown);
  // Where the profiles cannot be trusted, nor can what was found in them.
  if (status != kExitDone) return status;
  return found.empty() ? kExitDone : kExitRegression;
}

base::Result<int> diff(std::span<const std::string> words) {
  auto parser =
      make_parser("diff", "Compare profiles of any format: what changed, and is it more than noise?", kExamples);
  DiffArguments arguments;
  declare(*parser, arguments);
  std::vector<std::string> marked(words.begin(), words.end());
  std::replace(marked.begin(), marked.end(), std::string("--"), std::string(kBetween));
  TEPHRA_TRY(const bool go_on, parse(*parser, marked));
  if (!go_on) return kExitDone;
  TEPHRA_CHECK_OK(apply(arguments));
  TEPHRA_TRY(const Sides sides, read_sides(arguments));
  if (!arguments.as_folded) return compare(arguments, sides);
  TEPHRA_CHECK_OK(write_output(arguments.output, folded_text(arguments, sides)));
  return conclude_sides(arguments.input, sides, VerdictShown::kNo);
}

}  // namespace

extern const Command kDiffCommand;
const Command kDiffCommand{"diff", kSummary, diff};

}  // namespace tephra::cli
