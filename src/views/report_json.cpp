#include "views/report_json.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "views/verdict_json.h"

namespace tephra::views {
namespace {

using analysis::ChainNode;
using analysis::Report;
using analysis::ReportEntry;
using analysis::SortKey;
using base::JsonWriter;

void write_weight(JsonWriter& json, std::string_view name, const model::Totals& weight) {
  json.key(name).begin_object().member("count", weight.count).member("value", weight.value).end_object();
}

// Text, since a time in nanoseconds does not fit the numbers of JavaScript.
std::string seconds(uint64_t time) { return fmt::format("{}.{:09}", time / 1'000'000'000, time % 1'000'000'000); }

void write_facts(JsonWriter& json, const model::RecordingFacts& facts) {
  json.key("recording").begin_object();
  json.member("format", facts.format).member("engine", facts.engine).member("clock", facts.clock);
  json.member("host", facts.host).member("os_release", facts.os_release).member("arch", facts.arch);
  json.member("command_line", facts.command_line);
  json.member("first_time", seconds(facts.first_time)).member("last_time", seconds(facts.last_time));
  json.end_object();
}

void write_key(JsonWriter& json, const ReportEntry& entry, SortKey key) {
  const auto name = analysis::sort_key_name(key);
  switch (key) {
    case SortKey::kComm:
      json.member(name, entry.comm);
      break;
    case SortKey::kPid:
      json.member(name, entry.pid);
      break;
    case SortKey::kTid:
      json.member(name, entry.tid);
      break;
    case SortKey::kCpu:
      json.member(name, entry.cpu);
      break;
    case SortKey::kEvent:
      json.member(name, entry.event);
      break;
    case SortKey::kDso:
      json.member(name, entry.dso);
      break;
    case SortKey::kSymbol:
      json.member(name, entry.symbol).member("kernel", entry.kernel);
      break;
    case SortKey::kSrcline:
      json.member("file", entry.file).member("line", entry.line);
      break;
  }
}

void write_chains(JsonWriter& json, const std::vector<ChainNode>& nodes) {
  json.key("chains").begin_array();
  for (const ChainNode& node : nodes) {
    json.begin_object().member("name", node.name);
    json.member("count", node.weight.count).member("value", node.weight.value);
    if (!node.children.empty()) write_chains(json, node.children);
    json.end_object();
  }
  json.end_array();
}

void write_entry(JsonWriter& json, const Report& report, const ReportEntry& entry) {
  json.begin_object();
  for (const SortKey key : report.sort) write_key(json, entry, key);
  write_weight(json, "self", entry.self);
  if (report.children) write_weight(json, "total", entry.total);
  if (!entry.chains.empty()) write_chains(json, entry.chains);
  json.end_object();
}

}  // namespace

std::string report_json(const Report& report, const model::RecordingFacts& facts, const analysis::Verdict& verdict) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kPretty);
  json.begin_object().member("event", report.event).member("unit", report.unit);
  write_weight(json, "total", report.whole);
  write_weight(json, "shown", report.shown);
  json.member("rows_below_limit", report.rows_below_limit);
  json.key("sort").begin_array();
  for (const SortKey key : report.sort) json.value(analysis::sort_key_name(key));
  json.end_array();
  write_facts(json, facts);
  json.key("verdict");
  write_verdict(json, verdict);
  json.key("entries").begin_array();
  for (const ReportEntry& entry : report.entries) write_entry(json, report, entry);
  json.end_array().end_object();
  out += '\n';
  return out;
}

}  // namespace tephra::views
