// How far the profile can be trusted: one line that is always seen, all figures when it is opened.

import type { Profile } from "./profile";
import { withSeparators } from "./text";

export function makeVerdictBar(profile: Profile): HTMLElement {
  const { verdict, verdict_line, verdict_details, events } = profile.facts;
  const bar = document.createElement("details");
  bar.className = `verdict ${verdict.grade}`;
  bar.id = "verdict";
  const line = document.createElement("summary");
  const dot = document.createElement("span");
  dot.className = "dot";
  dot.setAttribute("aria-hidden", "true");
  line.append(dot, ...withLoss(verdict_line, `${withSeparators(verdict.lost)} lost`, verdict.lost > 0));
  const all = document.createElement("pre");
  all.textContent = verdict_details;
  bar.append(line, all);
  if (events.some((event) => event.rounded)) {
    const note = document.createElement("p");
    note.textContent = "Sums above 2^53 are rounded to 16 digits; ≈ marks them.";
    bar.append(note);
  }
  return bar;
}

// The words about lost samples stand out.
function withLoss(line: string, words: string, any: boolean): (string | Node)[] {
  const at = any ? line.indexOf(words) : -1;
  if (at < 0) return [line];
  const strong = document.createElement("strong");
  strong.className = "loss";
  strong.textContent = words;
  return [line.slice(0, at), strong, line.slice(at + words.length)];
}
