// The stacks of a selection as paths of names, from the root or from the leaf.

import { noFrame } from "./call_tree";
import type { Profile } from "./profile";
import type { Selection } from "./selection";

// Path i is names[start[i]] to before names[start[i + 1]].
export interface Paths {
  readonly count: number;
  start: Uint32Array;
  names: Uint32Array;
  frames: Uint32Array;
  weight: Float64Array;
  cutDepth: number; // 0: paths are whole; else they end at this length
}

// More frames than this are not kept: paths are cut instead.
const mostFrames = 8_000_000;

// A stack, what it stands on beside its own frames (-1: nothing) and a weight, for each path.
interface Rows {
  stack: Uint32Array;
  base: Int32Array | null;
  weight: Float64Array;
}

function rowsOf(selection: Selection): Rows {
  const { groups, weight } = selection;
  if (!groups) {
    let used = 0;
    for (let i = 0; i < weight.length; ++i) if (weight[i] !== 0) ++used;
    const rows = { stack: new Uint32Array(used), base: null, weight: new Float64Array(used) };
    for (let i = 0, to = 0; i < weight.length; ++i) {
      if (weight[i] === 0) continue;
      rows.stack[to] = i;
      rows.weight[to++] = weight[i];
    }
    return rows;
  }
  const count = groups.reduce((sum, group) => sum + group.stack.length, 0);
  const rows = { stack: new Uint32Array(count), base: new Int32Array(count), weight: new Float64Array(count) };
  let to = 0;
  for (const group of groups) {
    rows.stack.set(group.stack, to);
    rows.weight.set(group.weight, to);
    rows.base.fill(group.base, to, (to += group.stack.length));
  }
  return rows;
}

// The length that paths may have so that all together have at most mostFrames frames; 0: as long as they are.
function longestAllowed(lengths: Uint32Array): number {
  let sum = 0;
  let longest = 0;
  for (const length of lengths) {
    sum += length;
    if (length > longest) longest = length;
  }
  if (sum <= mostFrames) return 0;
  const ofLength = new Uint32Array(longest + 1);
  for (const length of lengths) ++ofLength[length];
  let longer = lengths.length; // paths that are at least `limit` long
  sum = 0;
  for (let limit = 1; limit <= longest; ++limit) {
    longer -= ofLength[limit - 1];
    sum += longer;
    if (sum > mostFrames) return Math.max(limit - 1, 1);
  }
  return 0;
}

// By stack, how many frames of it are shown.
function shownDepths(profile: Profile, selection: Selection): Uint32Array {
  const { parent, count } = profile.stacks;
  const keep = selection.shape?.keep;
  const depth = new Uint32Array(count);
  for (let i = 1; i < count; ++i) depth[i] = depth[parent[i]] + (keep ? keep[i] : 1);
  return depth;
}

// Cut paths are filled from their first frame on: `fromLeaf` says which end that is.
function pathsOf(profile: Profile, selection: Selection, fromLeaf: boolean): Paths {
  const { name, frame, parent } = profile.stacks;
  const { shape } = selection;
  const up = shape ? shape.up : parent;
  const rows = rowsOf(selection);
  const count = rows.stack.length;
  const depth = shownDepths(profile, selection);
  const lengths = new Uint32Array(count);
  for (let i = 0; i < count; ++i) lengths[i] = depth[rows.stack[i]] + (rows.base && rows.base[i] >= 0 ? 1 : 0);
  const cutDepth = longestAllowed(lengths);
  const start = new Uint32Array(count + 1);
  for (let i = 0; i < count; ++i) start[i + 1] = start[i] + (cutDepth ? Math.min(lengths[i], cutDepth) : lengths[i]);
  const names = new Uint32Array(start[count]);
  const frames = new Uint32Array(start[count]);
  for (let i = 0; i < count; ++i) {
    const end = start[i + 1];
    let at = rows.stack[i];
    if (shape && at !== 0 && !shape.keep[at]) at = up[at];
    // Which place of the whole path the frame has, and which step leads to that of its caller.
    let to = fromLeaf ? start[i] : start[i] + lengths[i] - 1;
    const step = fromLeaf ? 1 : -1;
    for (; at !== 0 && (!fromLeaf || to < end); at = up[at], to += step) {
      if (to >= end) continue;
      names[to] = name[at];
      frames[to] = frame[at];
    }
    if (rows.base && rows.base[i] >= 0 && to < end) {
      names[to] = rows.base[i];
      frames[to] = noFrame;
    }
  }
  return { count, start, names, frames, weight: rows.weight, cutDepth };
}

// What stacks stand on comes first.
export function pathsFromRoot(profile: Profile, selection: Selection): Paths {
  return pathsOf(profile, selection, false);
}

// What ran comes first.
export function pathsFromLeaf(profile: Profile, selection: Selection): Paths {
  return pathsOf(profile, selection, true);
}
