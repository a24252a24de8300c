#include "views/verdict_json.h"

namespace tephra::views {

void write_verdict(base::JsonWriter& json, const analysis::Verdict& verdict) {
  json.begin_object()
      .member("grade", analysis::grade_name(verdict.grade))
      .member("engine", verdict.engine)
      .member("samples", verdict.samples)
      .member("lost", verdict.lost)
      .member("throttled", verdict.throttled)
      .member("idle", verdict.idle)
      .member("own", verdict.own)
      .member("stacks_rooted", verdict.stacks_rooted)
      .member("stacks_truncated", verdict.stacks_truncated)
      .member("caller_unsure", verdict.caller_unsure)
      .member("frames_named", verdict.frames_named);
  // Only recordings of tephra tell these.
  if (verdict.steal) json.member("steal", *verdict.steal);
  if (verdict.recorder_cpu_seconds) json.member("recorder_cpu_seconds", *verdict.recorder_cpu_seconds);
  if (!verdict.copy_sizes.empty()) {
    json.key("copy_sizes").begin_array();
    for (const auto& size : verdict.copy_sizes) {
      json.begin_object().member("bytes", size.bytes).member("samples", size.samples).member("cut", size.cut);
      json.end_object();
    }
    json.end_array();
  }
  json.key("reasons").begin_object();
  for (const auto& [reason, count] : verdict.reasons) json.member(reason, count);
  json.end_object().key("stack_ends").begin_array();
  for (const auto& end : verdict.stack_ends) {
    json.begin_object().member("module", end.module).member("reason", end.reason).member("samples", end.samples);
    json.end_object();
  }
  json.end_array().key("advice").begin_array();
  for (const auto& advice : verdict.advice) {
    json.begin_object().member("problem", advice.problem).member("fix", advice.fix).end_object();
  }
  json.end_array();
  if (!verdict.notes.empty()) {
    json.key("notes").begin_array();
    for (const std::string& note : verdict.notes) json.value(note);
    json.end_array();
  }
  json.end_object();
}

}  // namespace tephra::views
