// Single waits on the lanes of threads: which of them are where, how they look, and what is said about one.

import { wholeName } from "./panel";
import type { Profile, Waits } from "./profile";
import { quantity } from "./text";
import { timeText } from "./time_text";

// Cool colours, which nothing that runs has; by the kinds of views/report_data.h. Others take the last.
const colors: Record<string, [light: string, dark: string]> = {
  lock: ["#7a5bd0", "#a78bfa"],
  disk: ["#1f6fb5", "#5aa9ee"],
  network: ["#118a8a", "#3cc5c5"],
  pipe: ["#3d7f9a", "#7fc0da"],
  sleep: ["#93a4b8", "#5c6b80"],
  "page fault": ["#3b50b8", "#7f93ff"],
  "run queue": ["#c04b8a", "#f08bc0"],
  other: ["#7c8795", "#8a94a3"],
};

export function waitColor(kind: string, dark: boolean): string {
  return (colors[kind] ?? colors.other)[dark ? 1 : 0];
}

// The waits of each lane, in the order of time.
export class LaneWaits {
  readonly kinds: string[]; // that are there, in the usual order
  private readonly ofLane: number[][];

  constructor(
    private readonly profile: Profile,
    private readonly waits: Waits,
    laneOf: Int32Array,
    lanes: number,
  ) {
    this.ofLane = Array.from({ length: lanes }, () => []);
    for (let row = 0; row < waits.count; ++row) {
      const lane = laneOf[waits.thread[row]];
      if (lane >= 0) this.ofLane[lane].push(row);
    }
    const seen = new Set(this.ofLane.flatMap((rows) => rows.map((row) => this.kind(row))));
    this.kinds = Object.keys(colors).filter((kind) => seen.has(kind));
  }

  of(lane: number): readonly number[] {
    return this.ofLane[lane] ?? [];
  }

  kind(row: number): string {
    return this.profile.facts.wait_kinds?.[this.waits.kind[row]] ?? "other";
  }

  // The wait of a lane at a time, or the next within `reach` of it; -1: none. Later ones lie above.
  at(lane: number, time: number, reach: number): number {
    const { begin, length } = this.waits;
    let best = -1;
    let away = reach;
    for (const row of this.of(lane)) {
      const distance = Math.max(begin[row] - time, time - begin[row] - length[row], 0);
      if (distance <= away) [best, away] = [row, distance];
    }
    return best;
  }

  // What it is, in a line.
  line(row: number, offset: number): string {
    const { begin, length } = this.waits;
    const what = this.kind(row) === "run queue" ? "ready to run, waited for a CPU" : `waited: ${this.kind(row)}`;
    return `${what}, ${quantity(length[row], "ns", "")} from ${timeText(begin[row] + offset)} on`;
  }

  // Its stack, the innermost first.
  frames(row: number): string[] {
    const { stacks } = this.profile;
    const names: string[] = [];
    for (let at = this.waits.stack[row]; at > 0; at = stacks.parent[at]) names.push(wholeName(this.profile, stacks.name[at]));
    return names;
  }
}
