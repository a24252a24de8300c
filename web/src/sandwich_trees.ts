// The two halves of a sandwich: who called a function, and what it called, from wherever it was called.

import { type CallTree, TreeGrower } from "./call_tree";
import type { Profile } from "./profile";

// The nodes of a function (a row of names.function) that are not within another call of it. Each stack passes through at
// most one of them.
export function outermostNodes(profile: Profile, tree: CallTree, name: number): number[] {
  const of = profile.names.function;
  const nodes: number[] = [];
  for (let node = 1; node < tree.count; ) {
    const found = of[tree.name[node]] === name && tree.total[node] > 0;
    if (found) nodes.push(node);
    node = found ? tree.end[node] : node + 1;
  }
  return nodes;
}

function grower(profile: Profile, tree: CallTree, name: number, nodes: number[]): TreeGrower {
  return new TreeGrower(profile, name, nodes.length > 0 ? tree.frame[nodes[0]] : 0);
}

// The root is the function; its children called it, theirs called those.
export function callersOf(profile: Profile, tree: CallTree, name: number): CallTree {
  const nodes = outermostNodes(profile, tree, name);
  const callers = grower(profile, tree, name, nodes);
  for (const node of nodes) {
    let to = 0;
    for (let at = tree.parent[node]; at !== 0; at = tree.parent[at]) to = callers.child(to, tree.name[at], tree.frame[at]);
    callers.addSelf(to, tree.total[node]);
  }
  return callers.finish(true);
}

// The root is the function; its children are what it called.
export function calleesOf(profile: Profile, tree: CallTree, name: number): CallTree {
  const nodes = outermostNodes(profile, tree, name);
  const callees = grower(profile, tree, name, nodes);
  const placeOf = new Uint32Array(tree.count);
  for (const node of nodes) {
    callees.addSelf(0, tree.self[node]);
    for (let at = node + 1; at < tree.end[node]; ++at) {
      if (tree.total[at] === 0) continue;
      placeOf[at] = callees.child(placeOf[tree.parent[at]], tree.name[at], tree.frame[at]);
      callees.addSelf(placeOf[at], tree.self[at]);
    }
  }
  return callees.finish(false);
}
