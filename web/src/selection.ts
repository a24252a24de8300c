// Which samples are looked at, and which of their frames: what a set of filters leaves of a profile.

import { compilePattern, patternProblem } from "./pattern";
import { Kind, type Numbers, type Profile, type Texts } from "./profile";

export type Weight = "samples" | "value";
export type Base = "comm" | "pid" | "tid" | "none";
export const patternFields = ["focus", "ignore", "hide", "show"] as const;
export type PatternField = (typeof patternFields)[number];

export interface Filters {
  event: number; // row of facts.events
  weight: Weight;
  threads: readonly number[] | null; // rows of threads; null: all
  range: readonly [number, number] | null; // nanoseconds from the first sample, from and before; null: all
  // Regular expressions, empty: none. They are looked for in the name of a function, the path of its source file and that
  // of its module, and never in what stacks stand on. Samples with a frame that matches `focus` stay, those with one that
  // matches `ignore` go; frames that match `hide` go, and those that do not match `show`; samples that lose all their
  // frames by that go, too.
  focus: string;
  ignore: string;
  hide: string;
  show: string;
  foldRecursion: boolean; // a function that calls itself is one frame
  base: Base; // what stacks stand on
}

export function sameFilters(a: Filters, b: Filters): boolean {
  const same = (x: readonly number[] | null, y: readonly number[] | null) =>
    x === y || (x !== null && y !== null && x.length === y.length && x.every((value, i) => value === y[i]));
  return (
    a.event === b.event &&
    a.weight === b.weight &&
    a.focus === b.focus &&
    a.ignore === b.ignore &&
    a.hide === b.hide &&
    a.show === b.show &&
    a.foldRecursion === b.foldRecursion &&
    a.base === b.base &&
    same(a.threads, b.threads) &&
    same(a.range, b.range)
  );
}

// Samples whose stacks stand on the same name.
export interface BaseGroup {
  base: number; // a name, -1: none
  stack: Uint32Array;
  weight: Float64Array;
}

export interface Selection {
  filters: Filters;
  total: number; // of what is selected
  whole: number; // of the event
  weight: Float64Array; // by stack: its own, not that of the stacks above it
  // By stack: whether its frame is shown, and the nearest stack below it whose frame is, 0 for none. Null: all are, and
  // it is the parent.
  shape: { keep: Uint8Array; up: Uint32Array } | null;
  groups: BaseGroup[] | null; // where the base depends on more than the stack
  errors: Partial<Record<PatternField, string>>; // of expressions that cannot be used, and are not
}

// By name, 1 where it matches. Each name is tested once.
export function matchNames(profile: Profile, pattern: RegExp): Uint8Array {
  const matches = new Uint8Array(profile.names.count);
  for (let i = 0; i < matches.length; ++i) matches[i] = pattern.test(profile.names.text(i)) ? 1 : 0;
  return matches;
}

// By frame, 1 where its name, module or source file matches.
function matchFrames(profile: Profile, pattern: RegExp): Uint8Array {
  const { frames, modules, files, names } = profile;
  const inNames = matchNames(profile, pattern);
  const test = (texts: Texts) => {
    const matches = new Uint8Array(texts.length);
    for (let i = 1; i < texts.length; ++i) matches[i] = pattern.test(texts.get(i)) ? 1 : 0;
    return matches;
  };
  const inModules = test(modules.path);
  const inFiles = test(files);
  const matches = new Uint8Array(frames.count);
  for (let i = 0; i < frames.count; ++i) {
    if (names.kind[frames.name[i]] === Kind.Base) continue;
    matches[i] = inNames[frames.name[i]] | inModules[frames.module[i]] | inFiles[frames.file[i]];
  }
  return matches;
}

function compileAll(filters: Filters): { patterns: Partial<Record<PatternField, RegExp>>; errors: Selection["errors"] } {
  const patterns: Partial<Record<PatternField, RegExp>> = {};
  const errors: Selection["errors"] = {};
  for (const field of patternFields) {
    if (filters[field] === "") continue;
    const problem = patternProblem(filters[field]);
    if (problem === undefined) patterns[field] = compilePattern(filters[field]);
    else errors[field] = problem;
  }
  return { patterns, errors };
}

export function weightColumn(profile: Profile, weight: Weight): Numbers {
  return weight === "samples" ? profile.samples.samples : profile.samples.value;
}

// The first row whose time is not before `time`.
export function firstAt(times: Float64Array, time: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Calls visit(row) for every sample of the event, the threads and the time that are selected.
function eachSample(profile: Profile, filters: Filters, visit: (row: number) => void): void {
  const { event, thread, time, count } = profile.samples;
  let wanted: Uint8Array | null = null;
  if (filters.threads) {
    wanted = new Uint8Array(profile.threads.count);
    for (const row of filters.threads) wanted[row] = 1;
  }
  const from = filters.range && time ? firstAt(time, filters.range[0]) : 0;
  const to = filters.range && time ? firstAt(time, filters.range[1]) : count;
  for (let i = from; i < to; ++i) {
    if (event[i] === filters.event && (!wanted || wanted[thread[i]])) visit(i);
  }
}

// By stack: whether it, or one below it, has a frame that matches.
function onPath(profile: Profile, matches: Uint8Array): Uint8Array {
  const { parent, frame, count } = profile.stacks;
  const found = new Uint8Array(count);
  for (let i = 1; i < count; ++i) found[i] = matches[frame[i]] | found[parent[i]];
  return found;
}

function isBase(profile: Profile, stack: number): boolean {
  return profile.stacks.depth[stack] === 1 && profile.names.kind[profile.stacks.name[stack]] === Kind.Base;
}

// By name: a number that names share whose functions are the same when recursion is folded; 0 for what has no name.
function recursionKeys({ names }: Profile): Uint32Array {
  const keys = new Uint32Array(names.count);
  for (let i = 0; i < names.count; ++i) if (names.kind[i] !== Kind.Unnamed) keys[i] = names.function[i] + 1;
  return keys;
}

function shapeOf(
  profile: Profile,
  filters: Filters,
  hide: Uint8Array | null,
  show: Uint8Array | null,
): Selection["shape"] {
  if (!hide && !show && !filters.foldRecursion && filters.base === "comm") return null;
  const { parent, name, frame, count } = profile.stacks;
  const keys = filters.foldRecursion ? recursionKeys(profile) : null;
  const keep = new Uint8Array(count);
  const up = new Uint32Array(count);
  keep[0] = 1;
  for (let i = 1; i < count; ++i) {
    const below = keep[parent[i]] ? parent[i] : up[parent[i]];
    up[i] = below;
    if (isBase(profile, i)) {
      keep[i] = filters.base === "comm" ? 1 : 0;
      continue;
    }
    if (hide && hide[frame[i]]) continue;
    if (show && !show[frame[i]]) continue;
    if (keys && below !== 0 && keys[name[i]] !== 0 && keys[name[below]] === keys[name[i]]) continue;
    keep[i] = 1;
  }
  return { keep, up };
}

// By stack, whether it had functions and all are hidden.
function emptied(profile: Profile, hide: Uint8Array | null, show: Uint8Array | null): Uint8Array {
  const { parent, frame, count } = profile.stacks;
  const gone = new Uint8Array(count);
  for (let i = 1; i < count; ++i) {
    const below = parent[i];
    if (isBase(profile, i)) continue;
    const hidden = (hide !== null && hide[frame[i]] !== 0) || (show !== null && show[frame[i]] === 0);
    gone[i] = hidden && (below === 0 || isBase(profile, below) || gone[below] !== 0) ? 1 : 0;
  }
  return gone;
}

function groupByBase(profile: Profile, filters: Filters, passes: Uint8Array | null): BaseGroup[] {
  const { stack, thread } = profile.samples;
  const column = weightColumn(profile, filters.weight);
  const baseOf = filters.base === "pid" ? profile.threads.commPid : profile.threads.commPidTid;
  const rows = new Map<number, number[]>();
  const rowsOf = Array.from(baseOf, (base) => {
    const known = rows.get(base) ?? [];
    rows.set(base, known);
    return known;
  });
  eachSample(profile, filters, (row) => {
    if (!passes || passes[stack[row]]) rowsOf[thread[row]].push(row);
  });
  const weight = new Float64Array(profile.stacks.count);
  return [...rows].map(([base, list]) => {
    const used: number[] = [];
    for (const row of list) {
      if (column[row] === 0) continue;
      if (weight[stack[row]] === 0) used.push(stack[row]);
      weight[stack[row]] += column[row];
    }
    used.sort((a, b) => a - b);
    const group = { base, stack: Uint32Array.from(used), weight: Float64Array.from(used, (at) => weight[at]) };
    for (const at of used) weight[at] = 0;
    return group;
  });
}

type Matches = Record<PatternField, Uint8Array | null>;

// By stack, 1 where its samples stay; null: all do.
function passing(profile: Profile, { focus, ignore, hide, show }: Matches): Uint8Array | null {
  if (!focus && !ignore && !hide && !show) return null;
  const wanted = focus && onPath(profile, focus);
  const unwanted = ignore && onPath(profile, ignore);
  const gone = hide || show ? emptied(profile, hide, show) : null;
  const passes = new Uint8Array(profile.stacks.count);
  for (let i = 0; i < passes.length; ++i) {
    passes[i] = (!wanted || wanted[i]) && (!unwanted || !unwanted[i]) && (!gone || !gone[i]) ? 1 : 0;
  }
  return passes;
}

export function select(profile: Profile, filters: Filters): Selection {
  const { patterns, errors } = compileAll(filters);
  const matches: Matches = { focus: null, ignore: null, hide: null, show: null };
  for (const field of patternFields) {
    const pattern = patterns[field];
    if (pattern) matches[field] = matchFrames(profile, pattern);
  }
  const passes = passing(profile, matches);
  const weight = new Float64Array(profile.stacks.count);
  const stack = profile.samples.stack;
  const column = weightColumn(profile, filters.weight);
  let total = 0;
  eachSample(profile, filters, (row) => {
    const at = stack[row];
    if (passes && !passes[at]) return;
    weight[at] += column[row];
    total += column[row];
  });
  const event = profile.facts.events[filters.event];
  const split = filters.base === "pid" || filters.base === "tid";
  return {
    filters,
    total,
    whole: !event ? 0 : filters.weight === "samples" ? event.count : event.value,
    weight,
    shape: shapeOf(profile, filters, matches.hide, matches.show),
    groups: split ? groupByBase(profile, filters, passes) : null,
    errors,
  };
}
