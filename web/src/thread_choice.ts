// The threads as they are offered for choosing: one by one, or those of one name together.

import type { Profile } from "./profile";
import type { Selection, Weight } from "./selection";
import { weightColumn } from "./selection";

export interface ThreadEntry {
  label: string; // "worker", "worker 123/125"
  rows: number[];
  weight: number; // of the event, whatever else is filtered
}

// Weight by row of threads.
export function threadWeights(profile: Profile, event: number, weight: Weight): Float64Array {
  const sums = new Float64Array(profile.threads.count);
  const column = weightColumn(profile, weight);
  const { samples } = profile;
  for (let i = 0; i < samples.count; ++i) {
    if (samples.event[i] === event) sums[samples.thread[i]] += column[i];
  }
  return sums;
}

export function commOf(profile: Profile, row: number): string {
  const name = profile.threads.comm[row];
  return name < 0 ? "(no name)" : profile.names.text(name);
}

function labelOf(profile: Profile, row: number): string {
  const { threads } = profile;
  const comm = commOf(profile, row);
  const pid = threads.pid(row);
  const tid = threads.tid(row);
  if (tid < 0 && pid < 0) return comm;
  return `${comm} ${pid < 0 ? "?" : pid}/${tid < 0 ? "?" : tid}`;
}

// Those with the most weight first. Threads without weight are left out.
export function threadEntries(profile: Profile, weights: Float64Array, byName: boolean): ThreadEntry[] {
  const entries = new Map<string, ThreadEntry>();
  for (let row = 0; row < weights.length; ++row) {
    if (weights[row] === 0) continue;
    const label = byName ? commOf(profile, row) : labelOf(profile, row);
    const entry = entries.get(label);
    if (entry) {
      entry.rows.push(row);
      entry.weight += weights[row];
    } else {
      entries.set(label, { label, rows: [row], weight: weights[row] });
    }
  }
  return [...entries.values()].sort((a, b) => b.weight - a.weight || (a.label < b.label ? -1 : 1));
}

// "worker", "worker and 3 more", for chips and buttons.
export function choiceText(profile: Profile, rows: Selection["filters"]["threads"]): string {
  if (!rows) return "all threads";
  const names = [...new Set(rows.map((row) => commOf(profile, row)))];
  if (rows.length === 1) return labelOf(profile, rows[0]);
  if (names.length === 1) return `${names[0]} (${rows.length} threads)`;
  return `${names[0]} and ${names.length - 1} more`;
}
