// Stacks merged by name, from the root or from the leaf. Trees are columns, not objects: they may have millions of nodes.

import { treeOfPaths } from "./path_tree";
import { pathsFromLeaf, pathsFromRoot } from "./paths";
import type { Numbers, Profile } from "./profile";
import type { Selection } from "./selection";

// Nodes are in depth-first order with siblings sorted by name; node 0 is the root. So the subtree of a node is the nodes
// from it to before end[node]; its first child is the next node, the next sibling of a child is at its end.
export class CallTree {
  readonly leafFirst: boolean;
  readonly parent: Uint32Array; // the root's is itself
  readonly name: Uint32Array; // row of names
  readonly depth: Numbers; // the root's is 0
  readonly frame: Numbers; // row of frames, noFrame where frames of several modules or files were merged
  readonly self: Float64Array;
  readonly total: Float64Array;
  readonly cutDepth: number; // 0: whole; else weight whose stack goes on beyond this depth is `self` of its last node
  private ends: Uint32Array | null = null;

  constructor(columns: TreeColumns) {
    this.leafFirst = columns.leafFirst;
    this.parent = columns.parent;
    this.name = columns.name;
    this.depth = columns.depth;
    this.frame = columns.frame;
    this.self = columns.self;
    this.total = totals(columns.self, columns.depth);
    this.cutDepth = columns.cutDepth;
  }

  get count(): number {
    return this.parent.length;
  }

  get end(): Uint32Array {
    return (this.ends ??= ends(this.depth));
  }
}

export type TreeColumns = Pick<CallTree, "leafFirst" | "parent" | "name" | "depth" | "frame" | "self" | "cutDepth">;

function deepest(depth: Numbers): number {
  let most = 0;
  for (let i = 0; i < depth.length; ++i) if (depth[i] > most) most = depth[i];
  return most;
}

// From the last node to the first, with one sum for each depth: memory is read in order, which is what takes the time.
function totals(self: Float64Array, depth: Numbers): Float64Array {
  const total = new Float64Array(self.length);
  const above = new Float64Array(deepest(depth) + 2); // the nodes of a depth since the last of the depth below
  for (let i = self.length - 1; i >= 0; --i) {
    const at = depth[i];
    const sum = self[i] + above[at + 1];
    above[at + 1] = 0;
    above[at] += sum;
    total[i] = sum;
  }
  return total;
}

function ends(depth: Numbers): Uint32Array {
  const end = new Uint32Array(depth.length);
  const nearest = new Uint32Array(deepest(depth) + 2).fill(depth.length); // the next node that is not deeper
  for (let i = depth.length - 1; i >= 0; --i) {
    const at = depth[i];
    if (i + 1 < depth.length) for (let d = depth[i + 1] + 1; d <= at; ++d) nearest[d] = i + 1;
    end[i] = nearest[at];
    nearest[at] = i;
  }
  return end;
}

export const noFrame = 0xffffffff;


// Frames of one name stay one where module and file agree.
export function commonFrame(profile: Profile, a: number, b: number): number {
  if (a === b) return a;
  if (a === noFrame || b === noFrame) return noFrame;
  const { module, file } = profile.frames;
  return module[a] === module[b] && file[a] === file[b] ? a : noFrame;
}

// The tree from the root. Nodes may have no weight at all where the selection leaves stacks out.
export function callTree(profile: Profile, selection: Selection): CallTree {
  const { stacks } = profile;
  if (selection.shape || selection.groups) return treeOfPaths(profile, pathsFromRoot(profile, selection), false);
  // The stacks of the profile are this tree already.
  return new CallTree({
    leafFirst: false,
    parent: stacks.parent,
    name: stacks.name,
    depth: stacks.depth,
    frame: stacks.frame,
    self: selection.weight,
    cutDepth: 0,
  });
}

// The tree from the leaf: the root's children are what ran, their children who called it.
export function bottomUpTree(profile: Profile, selection: Selection): CallTree {
  return treeOfPaths(profile, pathsFromLeaf(profile, selection), true);
}

export { TreeGrower } from "./tree_grower";
