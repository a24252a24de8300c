#include "views/report_html.h"

#include <algorithm>

#include "base/base64.h"
#include "base/escape.h"
#include "base/gzip.h"
#include "base/json_writer.h"
#include "model/event_weight.h"
#include "model/shown_event.h"
#include "views/printable.h"
#include "views/report_data.h"
#include "views/report_page_css.h"
#include "views/report_page_js.h"
#include "views/verdict_json.h"

namespace tephra::views {
namespace {

// The page may run its own script and style and reach nothing else, whatever a name in it says.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

// Every whole number up to this has a double of its own.
constexpr uint64_t kExactMost = uint64_t{1} << 53;

void write_events(base::JsonWriter& json, const model::Profile& profile) {
  json.key("events").begin_array();
  model::for_each_id(profile.events, [&](model::EventId id) {
    const model::Event& event = profile.events[id];
    const model::Totals total = model::totals(profile, id);
    json.begin_object()
        .member("name", printable(profile.text(event.name)))
        .member("unit", printable(profile.text(event.unit)))
        .member("counted", printable(profile.text(event.counted)))
        .member("uncounted", event.uncounted)
        .member("by_value", !model::counts_samples(event))
        .member("count", total.count)
        .member("value", total.value)
        .member("rounded", std::max(total.count, total.value) > kExactMost)
        .end_object();
  });
  json.end_array();
  const auto shown = model::shown_event(profile);
  json.member("shown_event", shown ? shown->value : 0);
}

void write_recording(base::JsonWriter& json, const model::RecordingFacts& facts) {
  json.key("recording").begin_object();
  const auto text = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) json.member(key, printable(value));
  };
  text("format", facts.format);
  text("engine", facts.engine);
  text("clock", facts.clock);
  text("host", facts.host);
  text("os_release", facts.os_release);
  text("arch", facts.arch);
  text("command_line", facts.command_line);
  if (facts.started_unix_ns != 0) json.member("started_unix_ms", facts.started_unix_ns / 1'000'000);
  if (facts.duration_ns != 0) json.member("duration_ns", facts.duration_ns);
  if (facts.last_time > facts.first_time) json.member("sampled_ns", facts.last_time - facts.first_time);
  if (facts.period.value != 0) {
    json.key("period").begin_object().member("event", printable(facts.period.event));
    json.member("unit", printable(facts.period.unit)).member("value", facts.period.value).end_object();
  }
  if (facts.recorder_cpu_seconds) json.member("recorder_cpu_seconds", *facts.recorder_cpu_seconds);
  if (facts.steal_share) json.member("steal_share", *facts.steal_share);
  json.key("comments").begin_array();
  for (const std::string& comment : facts.comments) json.value(printable(comment));
  json.end_array().end_object();
}

void write_tones(base::JsonWriter& json, const std::vector<const Tone*>& tones) {
  json.key("tones").begin_array();
  for (const Tone* tone : tones) {
    json.begin_object().member("meaning", tone->meaning).key("hue").begin_array();
    json.value(tone->hue[0]).value(tone->hue[1]).end_array().member("saturation", tone->saturation);
    json.key("lightness").begin_array().value(tone->lightness[0]).value(tone->lightness[1]).end_array().end_object();
  }
  json.end_array();
}

std::string facts_json(const model::Profile& profile, const analysis::Verdict& verdict,
                       const ReportHtmlOptions& options, const ReportData& data) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object().member("version", 1).member("generator", "tephra " TEPHRA_VERSION);
  json.member("title", printable(options.title)).member("selection", printable(options.selection));
  json.member("first_view", options.first_view).key("verdict");
  write_verdict(json, verdict);
  json.member("verdict_line", analysis::one_line(verdict)).member("verdict_details", analysis::details(verdict));
  write_recording(json, profile.facts);
  write_events(json, profile);
  json.member("timed", data.timed).member("first_time_ns", std::to_string(data.first_time));
  json.member("time_unit_ns", data.time_unit_ns);
  write_tones(json, data.tones);
  if (!data.wait_kinds.empty()) {
    json.key("wait_kinds").begin_array();
    for (const std::string_view kind : data.wait_kinds) json.value(kind);
    json.end_array();
    json.member("wait_event", data.wait_event);
  }
  json.key("columns");
  data.columns.write_list(json);
  json.end_object();
  return out;
}

}  // namespace

base::Result<std::string> report_html(const model::Profile& profile, const analysis::Verdict& verdict,
                                      const ReportHtmlOptions& options) {
  const ReportData data = report_data(profile, options.palette, options.full_names);
  TEPHRA_TRY(const std::string packed, base::gzip(base::as_bytes(data.columns.bytes()), base::Packing::kSmall));
  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + std::string(kPolicy) + "\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"generator\" content=\"tephra " TEPHRA_VERSION "\">\n<title>";
  base::append_xml(page, options.title);
  page += "</title>\n<style>";
  page += embedded::kReportPageStyle;
  page += "</style>\n</head>\n<body>\n<noscript><p>";
  base::append_xml(page, analysis::one_line(verdict));
  page += "</p><p>This report is drawn by a script, and scripts are off here.</p></noscript>\n";
  page += "<script type=\"application/json\" id=\"tephra-facts\">";
  page += facts_json(profile, verdict, options, data);
  page += "</script>\n<script type=\"text/plain\" id=\"tephra-columns\">";
  base::append_base64(page, base::as_bytes(packed));
  page += "</script>\n<script>";
  page += embedded::kReportPageScript;
  page += "</script>\n</body>\n</html>\n";
  return page;
}

}  // namespace tephra::views
