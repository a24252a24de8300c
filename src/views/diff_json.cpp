#include "views/diff_json.h"

#include <cmath>

#include "base/json_writer.h"
#include "views/verdict_json.h"

namespace tephra::views {
namespace {

using analysis::Diff;
using analysis::DiffBy;
using analysis::DiffValue;
using base::JsonWriter;

std::string_view by_name(DiffBy by) {
  switch (by) {
    case DiffBy::kShare:
      return "share";
    case DiffBy::kTime:
      return "time";
    case DiffBy::kSecond:
      return "second";
    case DiffBy::kWork:
      return "work";
  }
  return "";
}

void write_side(JsonWriter& json, std::string_view name, const analysis::DiffSums& sums, const DiffSideText& text) {
  json.key(name).begin_object();
  json.key("files").begin_array();
  for (const std::string& file : text.files) json.value(file);
  json.end_array();
  json.member("samples", sums.whole.count).member("value", sums.whole.value);
  json.member("effective_samples", sums.effective_samples);
  json.member("seconds", sums.seconds).member("divisor", sums.divisor);
  json.member("replicates", uint64_t{sums.replicates ? sums.units.size() : 1});
  json.member("parts", uint64_t{sums.replicates ? 0 : sums.units.size()}).member("part_seconds", sums.unit_seconds);
  json.key("verdict");
  write_verdict(json, text.verdict);
  json.end_object();
}

void write_value(JsonWriter& json, std::string_view name, const DiffValue& value) {
  json.key(name).begin_object();
  json.member("before", value.before).member("after", value.after).member("change", value.change());
  json.member("tested", value.tested).member("finding", value.finding);
  if (value.tested) {
    json.member("low", value.low).member("high", value.high).member("p", value.p).member("q", value.q);
    json.member("dispersion", value.dispersion).member("detectable", value.detectable);
    json.member("threshold", value.threshold);
    json.key("freedom").value(value.freedom);  // null: the variance is taken as known
  }
  json.end_object();
}

void write_counts(JsonWriter& json, std::string_view name, const model::Totals (&totals)[analysis::kDiffSides]) {
  json.key(name).begin_object();
  json.member("before", totals[0].count).member("after", totals[1].count);
  json.member("before_value", totals[0].value).member("after_value", totals[1].value);
  json.end_object();
}

void write_functions(JsonWriter& json, const Diff& diff) {
  json.key("functions").begin_array();
  for (size_t i = 0; i < diff.tree.functions.size(); ++i) {
    const analysis::DiffFunctionName& row = diff.tree.functions[i];
    if (row.base) continue;
    const analysis::DiffFunctionSums& sums = diff.tree.sums[i];
    if (sums.total[0].count == 0 && sums.total[1].count == 0) continue;
    json.begin_object().member("id", uint64_t{i}).member("name", row.name);
    if (!row.before_name.empty()) json.member("name_before", row.before_name);
    json.member("module", row.module).member("kernel", row.kernel);
    write_value(json, "self", diff.tests.self[i]);
    write_value(json, "total", diff.tests.total[i]);
    write_counts(json, "self_samples", sums.self);
    write_counts(json, "total_samples", sums.total);
    json.end_object();
  }
  json.end_array();
}

void write_paths(JsonWriter& json, const Diff& diff) {
  json.key("paths").begin_array();
  for (size_t i = 0; i < diff.tree.nodes.size(); ++i) {
    const analysis::DiffNode& node = diff.tree.nodes[i];
    json.begin_object().member("id", uint64_t{i}).member("parent", node.parent);
    json.member("name", i == 0 ? std::string_view("all") : std::string_view(diff.tree.functions[node.function].name));
    if (i != 0 && !diff.tree.functions[node.function].base) json.member("function", node.function);
    write_value(json, "total", diff.tests.paths[i]);
    write_counts(json, "self_samples", node.self);
    if (diff.moves.shifted_within[i] != 0) json.member("shifted_within", diff.moves.shifted_within[i]);
    json.end_object();
  }
  json.end_array();
}

void write_proposals(JsonWriter& json, const Diff& diff) {
  json.key("renamed").begin_array();
  for (const analysis::DiffRename& rename : diff.moves.renames) {
    json.begin_object().member("before", rename.before).member("after", rename.after).member("score", rename.score);
    json.member("name_before", diff.tree.functions[rename.before].name);
    json.member("name_after", diff.tree.functions[rename.after].name).end_object();
  }
  json.end_array().key("moved").begin_array();
  for (const analysis::DiffMove& move : diff.moves.moves) {
    json.begin_object().member("from", move.from).member("to", move.to).member("score", move.score);
    json.member("name", diff.tree.functions[diff.tree.nodes[move.from].function].name).end_object();
  }
  json.end_array();
}

}  // namespace

std::string diff_json(const Diff& diff, const DiffSideText& before, const DiffSideText& after,
                      const std::vector<analysis::Regression>& regressions) {
  const analysis::DiffSpread& spread = diff.tests.spread;
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kPretty);
  json.begin_object().member("event", diff.event).member("unit", diff.unit);
  json.member("by", by_name(diff.tree.by)).member("normalisation", normalisation_text(diff));
  json.member("total_before", diff.base_total).member("total_after", diff.after_total);
  write_side(json, "before", diff.tree.sides[0], before);
  write_side(json, "after", diff.tree.sides[1], after);
  json.key("tests").begin_object();
  json.member("counts_are_values", diff.counts_are_values);
  json.member("done", spread.tested).member("number", spread.tests).member("findings", spread.findings);
  json.member("false_discovery_rate", analysis::kFalseDiscoveryRate).member("power", analysis::kPower);
  json.member("dispersion", spread.dispersion).member("prior_freedom", spread.prior);
  json.member("run_variation", spread.run_variation);
  json.member("within_noise", diff.within_noise).member("too_small", spread.too_small);
  json.member("least_detectable", diff.least_detectable).member("largest_detectable", diff.largest_detectable);
  json.member("no_more_than", diff.no_more_than).end_object();
  json.key("warnings").begin_array();
  for (const std::string& warning : diff.warnings) json.value(warning);
  json.end_array().key("changed_functions").begin_array();
  for (const uint32_t function : diff.changed_functions) json.value(function);
  json.end_array().key("changed_paths").begin_array();
  for (const uint32_t node : diff.changed_paths) json.value(node);
  json.end_array().key("regressions").begin_array();
  for (const analysis::Regression& one : regressions) {
    json.begin_object().member("function", one.function).member("name", diff.tree.functions[one.function].name);
    json.member("of", one.is_self ? "self" : "total").member("low", one.low).end_object();
  }
  json.end_array();
  write_proposals(json, diff);
  write_functions(json, diff);
  write_paths(json, diff);
  json.end_object();
  out += '\n';
  return out;
}

}  // namespace tephra::views
