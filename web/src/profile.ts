// What the page shows: tables of columns, as views/report_data.h writes them, and the facts beside them. Nothing here
// changes after it was read.

export interface EventFacts {
  name: string;
  unit: string; // of values: "ns", "bytes", "count"
  counted: string; // what counts are the number of; empty: samples
  uncounted: boolean;
  by_value: boolean; // values are what the event is about, not counts
  count: number;
  value: number;
  rounded: boolean; // sums are above 2^53, so that they are exact to 16 digits only
}

export interface RecordingFacts {
  format?: string;
  engine?: string;
  clock?: string;
  host?: string;
  os_release?: string;
  arch?: string;
  command_line?: string;
  started_unix_ms?: number;
  duration_ns?: number;
  sampled_ns?: number; // from the first sample to the last
  period?: { event: string; unit: string; value: number };
  recorder_cpu_seconds?: number;
  steal_share?: number;
  comments: string[];
}

export type Grade = "good" | "fair" | "poor";

export interface Verdict {
  grade: Grade;
  engine: string;
  samples: number;
  lost: number;
  throttled: number;
  idle: number;
  own: number;
  stacks_rooted: number;
  stacks_truncated: number;
  caller_unsure: number;
  frames_named: number;
  steal?: number;
  recorder_cpu_seconds?: number;
  reasons: Record<string, number>;
  stack_ends: { module: string; reason: string; samples: number }[];
  advice: { problem: string; fix: string }[];
}

// A group of frames that share a hue.
export interface Tone {
  meaning: string; // for the legend; empty where the hue means nothing
  hue: [number, number]; // degrees
  saturation: number;
  lightness: [number, number];
}

export interface ColumnFacts {
  name: string;
  count: number;
  constant?: number;
  type?: "u8" | "u16" | "u32" | "f64";
  offset?: number;
  delta?: boolean;
}

export interface Facts {
  version: number;
  generator: string;
  title: string;
  first_view: string; // the state to begin with, as an address has it behind #; empty: the default
  selection: string; // what of the profile was left in before it was written; empty: all
  verdict: Verdict;
  verdict_line: string;
  verdict_details: string;
  recording: RecordingFacts;
  events: EventFacts[];
  shown_event: number;
  timed: boolean;
  first_time_ns: string; // of the recording's clock; text, since it may be above 2^53
  time_unit_ns: number;
  tones: Tone[];
  wait_kinds?: string[]; // what Waits.kind numbers; absent: no single wait is known
  wait_event?: number; // whose samples they are
  columns: ColumnFacts[];
}

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

// Texts that are decoded when they are asked for.
export interface Texts {
  readonly length: number;
  get(row: number): string;
}

export const enum Kind {
  Base = 0, // a thread at the base of a stack, or the whole profile
  Native = 1,
  Kernel = 2,
  Jit = 3,
  Interpreted = 4,
  Waiting = 5,
  Unnamed = 6,
}

// What frames are merged by. Rows are sorted as siblings are drawn, so that comparing rows compares names.
export interface Names {
  readonly count: number;
  text(row: number): string; // whole
  shown(row: number): string; // shortened for the eye
  // The first row of the same function: the same text, whether it was inlined, called or generated. Tables count by it.
  function: Numbers;
  kind: Numbers; // of Kind
  inlined: Numbers;
  tone: Numbers;
  shade: Numbers; // low byte: place between the tone's hues; high byte: between its lightnesses
}

// A name in a module and source file; sorted by name.
export interface Frames {
  readonly count: number;
  name: Numbers;
  module: Numbers; // 0: unknown, or different ones
  file: Numbers; // 0: unknown, or different ones
  firstLine: Numbers; // 0: unknown
  lastLine: Numbers;
}

// The call tree of all samples, with the names of threads at its base, depth first with sorted siblings. Row 0 is the
// root ("all").
export interface Stacks {
  readonly count: number;
  depth: Numbers;
  frame: Numbers;
  name: Uint32Array;
  parent: Uint32Array; // the root's is itself
}

export interface Threads {
  readonly count: number;
  // -1: unknown
  pid(row: number): number;
  tid(row: number): number;
  // Names that stacks of the thread may stand on, -1 for none: "comm", "comm-pid", "comm-pid/tid".
  comm: Int32Array;
  commPid: Int32Array;
  commPidTid: Int32Array;
}

export interface Samples {
  readonly count: number;
  stack: Numbers;
  thread: Numbers;
  event: Numbers;
  samples: Numbers; // how many samples a row stands for
  value: Numbers;
  time: Float64Array | null; // nanoseconds from the first sample, ascending; null: unknown
}

// Single waits of threads, which are among the samples, too. Times are nanoseconds from the first sample.
export interface Waits {
  readonly count: number;
  stack: Numbers;
  thread: Numbers;
  kind: Numbers;
  begin: Float64Array;
  length: Float64Array;
}

export interface Profile {
  facts: Facts;
  names: Names;
  modules: { name: Texts; path: Texts };
  files: Texts;
  frames: Frames;
  stacks: Stacks;
  threads: Threads;
  samples: Samples;
  waits: Waits | null;
}
