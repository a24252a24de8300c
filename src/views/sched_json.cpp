#include "views/sched_json.h"

#include "base/json_writer.h"

namespace tephra::views {
namespace {

using analysis::SchedLatency;
using analysis::SchedThread;
using base::JsonWriter;

std::string name_of(const SchedLatency& latency, int32_t tid) {
  const auto found = latency.names.find(tid);
  return found == latency.names.end() ? std::string() : found->second;
}

const char* kind_name(stream::InterruptKind kind) {
  switch (kind) {
    case stream::InterruptKind::kSoft:
      return "softirq";
    case stream::InterruptKind::kVector:
      return "vector";
    case stream::InterruptKind::kHard:
      return "irq";
  }
  return "";
}

template <class Row>
void write_others(JsonWriter& json, const SchedLatency& latency, const std::vector<Row>& rows) {
  json.begin_array();
  for (const Row& row : rows) {
    json.begin_object().member("tid", row.tid).member("comm", name_of(latency, row.tid));
    json.member("times", row.times).member("waited_ns", row.waited).end_object();
  }
  json.end_array();
}

void write_delays(JsonWriter& json, const analysis::RunQueueDelays& delays) {
  json.key("delay").begin_object();
  json.member("count", delays.count()).member("total_ns", delays.total).member("average_ns", delays.average());
  json.member("p50_ns", delays.quantile(0.5)).member("p99_ns", delays.quantile(0.99));
  json.member("worst_ns", delays.worst).member("worst_from_ns", delays.worst_from);
  json.member("worst_to_ns", delays.worst_to).end_object();
}

void write_interrupts(JsonWriter& json, const SchedThread& row) {
  json.key("interrupts").begin_array();
  for (const analysis::InterruptTime& time : row.interrupts) {
    json.begin_object().member("kind", kind_name(time.kind)).member("number", time.number).member("name", time.name);
    json.member("times", time.times).member("total_ns", time.total).member("worst_ns", time.worst).end_object();
  }
  json.end_array();
}

void write_row(JsonWriter& json, const SchedLatency& latency, const SchedThread& row) {
  json.begin_object().member("comm", row.comm).member("threads", row.threads);
  if (row.threads == 1) json.member("tid", row.tid).member("pid", row.pid);
  json.member("run_ns", row.run).member("edge_run_ns", row.edge_run).member("runs", row.runs);
  json.member("unknown_runs", row.unknown_runs).member("accounted_ns", row.accounted);
  write_delays(json, row.delays);
  json.member("woken", row.woken).member("preempted", row.preempted);
  json.member("preempted_waited_ns", row.preempted_waited).member("unknown_delays", row.unknown_delays);
  json.member("runs_without_a_wakeup", row.runs_without_a_wakeup);
  json.member("first_seen_switched_in", row.first_seen_switched_in).member("migrations", row.migrations);
  if (row.waiting_since) json.member("waiting_at_the_end_ns", latency.end - *row.waiting_since);
  write_others(json.key("preempted_by"), latency, row.preemptors);
  write_others(json.key("ran_instead"), latency, row.ran_instead);
  write_interrupts(json, row);
  json.end_object();
}

}  // namespace

std::string sched_json(const SchedLatency& latency, const std::vector<SchedThread>& rows, bool merged) {
  std::string out;
  JsonWriter json(out, JsonWriter::Style::kPretty);
  json.begin_object().member("begin_ns", latency.begin).member("end_ns", latency.end);
  json.member("cpus", latency.cpus).member("switches", latency.switches).member("idle_ns", latency.idle);
  json.member("lost_records", latency.lost).member("unknown_runs", latency.unknown_runs);
  json.member("delays_from", latency.from_waking ? "sched_waking" : "sched_wakeup");
  json.member("wakeups_recorded", latency.wakeups_recorded).member("merged_by_name", merged);
  json.member("interrupts_recorded", latency.interrupts_recorded);
  if (latency.steal_share) json.member("steal_share", *latency.steal_share);
  json.key("rows").begin_array();
  for (const SchedThread& row : rows) write_row(json, latency, row);
  json.end_array().end_object();
  return out + '\n';
}

}  // namespace tephra::views
