#include <unistd.h>

#include <charconv>

#include "analysis/report.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "formats/filtered_profile.h"
#include "views/report_json.h"
#include "views/report_text.h"

namespace tephra::cli {
namespace {

using analysis::ChainOrder;
using analysis::SortKey;

struct ReportArguments {
  InputOptions input;
  analysis::ReportOptions report;
  views::ReportTextOptions text;
  std::string sort = "comm,dso,symbol";
  std::string call_graph;
  bool stdio = true;
  bool json = false;
};

// Calls take(word) for every word between commas.
template <class Take>
base::Status for_each_word(std::string_view list, Take take) {
  while (true) {
    const size_t comma = list.find(',');
    TEPHRA_CHECK_OK(take(list.substr(0, comma)));
    if (comma == std::string_view::npos) return {};
    list.remove_prefix(comma + 1);
  }
}

void declare(CLI::App& parser, ReportArguments& arguments) {
  arguments.input.declare(parser);
  arguments.input.declare_program(parser);
  arguments.input.declare_stacks(parser);
  arguments.input.declare_waits(parser, {"none", "frame"});
  parser.add_option("-s,--sort", arguments.sort, "rows by comm, pid, tid, cpu, event, dso, symbol, srcline")
      ->type_name("KEY,…");
  parser.add_flag("--children,!--no-children", arguments.report.children,
                  "rows for callers too, ranked by what they called (default)");
  parser
      .add_option("-g,--call-graph", arguments.call_graph,
                  "call chains below each row: caller, callee or none, and the smallest share shown (0.5)")
      ->expected(0, 1)
      ->type_name("ORDER,PERCENT");
  parser.add_option("-c,--comms", arguments.input.build.filter.comms, "as --comm")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  parser.add_option("-d,--dso,--dsos", arguments.report.dsos, "only rows of these files")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("FILE,…");
  parser.add_option("-S,--symbol,--symbols", arguments.report.symbols, "only rows of these functions")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,…");
  parser.add_option("--percent-limit", arguments.report.percent_limit, "only rows of at least this share")
      ->type_name("PERCENT");
  parser.add_flag("-n,--show-nr-samples", arguments.text.sample_counts, "a column with the number of samples");
  parser.add_flag("--stdio", arguments.stdio, "print text (default)");
  parser.add_flag("--json", arguments.json, "print JSON; call chains only with -g");
}

base::Status apply_sort(ReportArguments& arguments) {
  arguments.report.sort.clear();
  return for_each_word(arguments.sort, [&](std::string_view word) -> base::Status {
    const auto key = analysis::sort_key(word);
    if (!key) {
      return base::usage_error("cannot sort by", std::string(word), "",
                               "Keys are comm, pid, tid, cpu, event, dso, symbol and srcline.");
    }
    if (*key == SortKey::kCpu) arguments.input.build.keep_cpu = true;
    arguments.report.sort.push_back(*key);
    return {};
  });
}

base::Status apply_call_graph_word(std::string_view word, analysis::ReportOptions& report) {
  if (word == "caller") {
    report.chains = ChainOrder::kCaller;
  } else if (word == "callee") {
    report.chains = ChainOrder::kCallee;
  } else if (word == "none") {
    report.chains = ChainOrder::kNone;
  } else if (word != "graph" && word != "function" && word != "percent") {  // perf's defaults, which are tephra's too
    double percent = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), percent);
    if (error != std::errc() || end != word.data() + word.size() || !(percent >= 0)) {
      return base::usage_error("-g takes caller, callee or none, and a number of percent, not", std::string(word));
    }
    report.chain_percent_limit = percent;
  }
  return {};
}

// perf's default: chains from callers down where callers have rows, else from the row up to its callers.
base::Status apply_call_graph(const CLI::App& parser, ReportArguments& arguments) {
  analysis::ReportOptions& report = arguments.report;
  const bool asked = parser.count("--call-graph") > 0;
  if (asked || !arguments.json) report.chains = report.children ? ChainOrder::kCaller : ChainOrder::kCallee;
  if (parser.count("--percent-limit") > 0) report.chain_percent_limit = report.percent_limit;
  if (arguments.call_graph.empty()) return {};
  return for_each_word(arguments.call_graph,
                       [&](std::string_view word) { return apply_call_graph_word(word, report); });
}

// That no row is left, and why.
base::Error nothing_left(const ReportArguments& arguments, const model::Profile& profile) {
  const analysis::ReportOptions& report = arguments.report;
  base::Status told = formats::check_tasks(profile, {.pids = report.pids, .tids = report.tids, .comms = report.comms});
  if (told) return base::failed("no samples in", arguments.input.path, "the filters leave none");
  told.error().on = arguments.input.path;
  return std::move(told).error();
}

// Threads are chosen by the report, not by the reader, so that shares stay those of the whole recording.
void keep_the_whole(ReportArguments& arguments) {
  stream::SampleFilter& filter = arguments.input.build.filter;
  filter.asked_for = filter.pids;
  filter.asked_for.insert(filter.asked_for.end(), filter.tids.begin(), filter.tids.end());
  arguments.report.comms = std::exchange(filter.comms, {});
  arguments.report.pids = std::exchange(filter.pids, {});
  arguments.report.tids = std::exchange(filter.tids, {});
}

base::Result<int> report(std::span<const std::string> words) {
  auto parser = make_parser("report", "Show which functions took the time, as perf report does.",
                            "  tephra report perf.data                          functions, callers below callees\n"
                            "  tephra report --no-children -g none --sort dso   how much each library took\n");
  ReportArguments arguments;
  declare(*parser, arguments);
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  TEPHRA_CHECK_OK(apply_sort(arguments));
  TEPHRA_CHECK_OK(apply_call_graph(*parser, arguments));
  keep_the_whole(arguments);

  TEPHRA_TRY(const Input loaded, load(arguments.input));
  if (loaded.profile.facts.engine == "none") {  // no stacks were recorded: nothing calls anything
    arguments.report.children = false;
    arguments.report.chains = ChainOrder::kNone;
  }
  const model::Profile& named = loaded.named ? *loaded.named : loaded.profile;
  const analysis::Report result = analysis::make_report(loaded.profile, arguments.report, named);
  if (result.entries.empty() && result.rows_below_limit == 0) {
    return nothing_left(arguments, named);
  }
  arguments.text.selection = loaded.selection;
  arguments.text.shorten = ::isatty(STDOUT_FILENO) == 1 && !arguments.input.symbols.full_names;
  TEPHRA_CHECK_OK(base::write_file("-", arguments.json
                                            ? views::report_json(result, loaded.profile.facts, loaded.verdict)
                                            : views::report_text(result, loaded.verdict, arguments.text)));
  return conclude(arguments.input, loaded.verdict, arguments.json ? VerdictShown::kNo : VerdictShown::kYes);
}

}  // namespace

extern const Command kReportCommand{"report", "show which functions took the time", report};

}  // namespace tephra::cli
