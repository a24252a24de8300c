// What each function comes to in a call tree, whoever called it.

import { type CallTree, noFrame } from "./call_tree";
import { Kind, type Profile } from "./profile";

export interface FunctionTotals {
  // One row a function (names.function) that has any weight; the bases of stacks are no functions.
  names: Uint32Array;
  // By that row. A stack in which a function appears more than once counts once.
  self: Float64Array;
  total: Float64Array;
  frame: Uint32Array; // noFrame where frames of several modules were met
}

// Of a tree from the root.
export function functionTotals(profile: Profile, tree: CallTree): FunctionTotals {
  const { names, frames } = profile;
  const self = new Float64Array(names.count);
  const total = new Float64Array(names.count);
  const frame = new Uint32Array(names.count);
  const outermostEnd = new Uint32Array(names.count); // nodes before it are within a call of the function
  const met = new Uint8Array(names.count);
  for (let node = 1; node < tree.count; ++node) {
    if (tree.total[node] === 0) continue;
    const name = names.function[tree.name[node]];
    self[name] += tree.self[node];
    if (!met[name]) {
      met[name] = 1;
      frame[name] = tree.frame[node];
    } else if (frame[name] !== noFrame && !sameModule(frames.module, frame[name], tree.frame[node])) {
      frame[name] = noFrame;
    }
    if (node < outermostEnd[name]) continue;
    total[name] += tree.total[node];
    outermostEnd[name] = tree.end[node];
  }
  const rows: number[] = [];
  for (let name = 0; name < names.count; ++name) {
    if (met[name] && names.kind[name] !== Kind.Base) rows.push(name);
  }
  return { names: Uint32Array.from(rows), self, total, frame };
}

function sameModule(module: ArrayLike<number>, a: number, b: number): boolean {
  return a === b || (b !== noFrame && module[a] === module[b]);
}
