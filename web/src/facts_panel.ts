import { make } from "./elements";
import type { MakePanel } from "./panel";
import type { EventFacts, Facts, Verdict } from "./profile";
import { duration, percent, quantity, withSeparators } from "./text";

type Fact = [label: string, text: string | undefined, style?: string];

// Labels with their texts; those without one are left out.
function list(facts: Fact[]): HTMLElement {
  const made = make("dl");
  for (const [label, text, style] of facts) {
    if (text) made.append(make("dt", {}, label), make("dd", style ? { class: style } : {}, text));
  }
  return made;
}

// "caller_unsure" as people say it.
function words(reason: string): string {
  return reason.replace(/_/g, " ");
}

function verdictFigures(verdict: Verdict): Fact[] {
  const some = (count: number) => (count > 0 ? withSeparators(count) : undefined);
  return [
    ["samples", withSeparators(verdict.samples)],
    // Who imports stacks cannot tell.
    ["stacks that are whole", verdict.engine === "imported" ? undefined : percent(verdict.stacks_rooted, 1)],
    ["frames with names", percent(verdict.frames_named, 1)],
    ["samples lost", withSeparators(verdict.lost)],
    ["stacks cut", some(verdict.stacks_truncated)],
    ["stacks whose caller is unsure", some(verdict.caller_unsure)],
    ["times the kernel slowed sampling", some(verdict.throttled)],
    ["samples of idle CPUs", some(verdict.idle)],
    ["samples of the recorder, left out", some(verdict.own)],
    ["taken by the hypervisor", verdict.steal === undefined ? undefined : percent(verdict.steal, 1)],
  ];
}

function verdictCard(facts: Facts): HTMLElement {
  const { verdict } = facts;
  const card = make(
    "section",
    { class: "card", attributes: { "aria-label": "verdict" } },
    make("h2", {}, "Verdict ", make("span", { class: `grade ${verdict.grade}` }, verdict.grade)),
    make("p", {}, facts.verdict_line),
  );
  for (const { problem, fix } of verdict.advice) {
    card.append(make("div", { class: "advice" }, make("p", {}, problem), fix ? make("p", { class: "muted" }, fix) : null));
  }
  card.append(make("h3", {}, "Figures"), list(verdictFigures(verdict)));
  const reasons = Object.entries(verdict.reasons).sort((a, b) => b[1] - a[1]);
  if (reasons.length > 0) {
    card.append(make("h3", {}, "What is missing, by reason"));
    card.append(list(reasons.map(([reason, count]): Fact => [words(reason), withSeparators(count)])));
  }
  if (verdict.stack_ends.length > 0) {
    card.append(make("h3", {}, "Where walks ended too early"));
    card.append(list(verdict.stack_ends.map((end): Fact => [end.module, `${words(end.reason)}: ${withSeparators(end.samples)}`])));
  }
  return card;
}

function eventText(event: EventFacts): string {
  const counted = quantity(event.count, "", event.counted || "samples");
  return event.by_value ? `${counted}, ${quantity(event.value, event.unit)}` : counted;
}

function periodText(facts: Facts): string | undefined {
  const period = facts.recording.period;
  if (!period || period.value <= 0) return undefined;
  if (period.unit === "ns" || period.unit === "nanoseconds") {
    return `every ${duration(period.value)} (${withSeparators(Math.round(1e9 / period.value))} Hz)`;
  }
  return `every ${quantity(period.value, period.unit)} ${period.unit === "bytes" ? "" : period.event}`.trim();
}

function recordingCard(facts: Facts): HTMLElement {
  const { recording } = facts;
  const machine = [recording.os_release, recording.arch].filter(Boolean).join(", ");
  const started = recording.started_unix_ms;
  const card = make(
    "section",
    { class: "card", attributes: { "aria-label": "recording" } },
    make("h2", {}, "Recording"),
    list([
      ["command", recording.command_line, "code"],
      ["host", recording.host],
      ["kernel", machine],
      ["started", started ? new Date(started).toISOString().replace("T", " ").replace(/\..*/, " UTC") : undefined],
      ["duration", recording.duration_ns ? duration(recording.duration_ns) : undefined],
      ["first to last sample", recording.sampled_ns ? duration(recording.sampled_ns) : undefined],
      ["stacks by", recording.engine],
      ["clock", recording.clock],
      ["sampled", periodText(facts)],
      ["cost of recording", recording.recorder_cpu_seconds === undefined
        ? undefined
        : `${recording.recorder_cpu_seconds.toFixed(2)} s of CPU time`],
    ]),
  );
  const events = facts.events.filter((event) => event.count > 0);
  card.append(make("h3", {}, events.length === 1 ? "Event" : "Events"));
  card.append(list(events.map((event): Fact => [event.name || "samples", eventText(event)])));
  if (recording.comments.length > 0) {
    card.append(make("h3", {}, "Comments"), make("ul", {}, ...recording.comments.map((text) => make("li", {}, text))));
  }
  return card;
}

function makingCard(facts: Facts): HTMLElement {
  return make(
    "section",
    { class: "card", attributes: { "aria-label": "how it was made" } },
    make("h2", {}, "This report"),
    list([
      ["made by", facts.generator],
      ["from", facts.recording.format],
    ]),
    make("p", { class: "muted" }, "The file holds everything it shows, and loads nothing from elsewhere."),
  );
}

// The verdict in full, what is known of the recording, and how the report was made.
export const makeFactsPanel: MakePanel = ({ facts }) => {
  const side = make("div", { class: "card-column" }, recordingCard(facts), makingCard(facts));
  return { element: make("div", { class: "facts" }, verdictCard(facts), side), update() {} };
};
