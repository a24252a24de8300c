// A tree of paths: they are divided by their first names, each part by its second ones, and so on; every part is a node.
// Parts are taken in depth-first order, so that nothing needs to be looked up or sorted afterwards.

import { CallTree, commonFrame } from "./call_tree";
import type { Paths } from "./paths";
import type { Profile } from "./profile";

// A name and a path below this are one number below 2^53.
const mostPaths = 2 ** 26;

export function treeOfPaths(profile: Profile, paths: Paths, leafFirst: boolean): CallTree {
  return new PathTree(profile, paths).grow(leafFirst);
}

class PathTree {
  private readonly order: Uint32Array; // paths, those of a part side by side
  private readonly keys: Float64Array; // for sorting
  // As long as they may become; what is not used takes no memory.
  private readonly parent: Uint32Array;
  private readonly name: Uint32Array;
  private readonly frame: Uint32Array;
  private readonly depth: Uint32Array;
  private readonly self: Float64Array;
  private count = 1;
  // Parts that are still to be taken, as (from, to, parent).
  private readonly open: number[] = [];

  constructor(
    private readonly profile: Profile,
    private readonly paths: Paths,
  ) {
    const most = paths.names.length + 1;
    this.order = new Uint32Array(paths.count);
    for (let i = 0; i < paths.count; ++i) this.order[i] = i;
    this.keys = new Float64Array(paths.count);
    this.parent = new Uint32Array(most);
    this.name = new Uint32Array(most);
    this.frame = new Uint32Array(most);
    this.depth = new Uint32Array(most);
    this.self = new Float64Array(most);
    this.name[0] = profile.stacks.name[0];
    this.frame[0] = profile.stacks.frame[0];
  }

  grow(leafFirst: boolean): CallTree {
    this.divide(0, this.order.length, 0);
    const { open } = this;
    while (open.length > 0) {
      const parent = open.pop()!;
      const to = open.pop()!;
      const from = open.pop()!;
      if (to - from === 1) this.addChain(parent, this.order[from]);
      else this.divide(from, to, this.addPart(parent, from, to));
    }
    const { count } = this;
    return new CallTree({
      leafFirst,
      parent: this.parent.subarray(0, count),
      name: this.name.subarray(0, count),
      frame: this.frame.subarray(0, count),
      depth: this.depth.subarray(0, count),
      self: this.self.subarray(0, count),
      cutDepth: this.paths.cutDepth,
    });
  }

  // The rest of a path that no other shares.
  private addChain(parent: number, path: number): void {
    const { start, names, frames, weight } = this.paths;
    let node = parent;
    let level = this.depth[parent];
    for (let at = start[path] + level; at < start[path + 1]; ++at) {
      const next = this.count++;
      this.parent[next] = node;
      this.name[next] = names[at];
      this.frame[next] = frames[at];
      this.depth[next] = ++level;
      node = next;
    }
    this.self[node] += weight[path];
  }

  private addPart(parent: number, from: number, to: number): number {
    const { start, names, frames } = this.paths;
    const level = this.depth[parent];
    const node = this.count++;
    const first = start[this.order[from]] + level;
    let frame = frames[first];
    for (let k = from + 1; k < to; ++k) {
      const other = frames[start[this.order[k]] + level];
      if (other !== frame) frame = commonFrame(this.profile, frame, other);
    }
    this.parent[node] = parent;
    this.name[node] = names[first];
    this.frame[node] = frame;
    this.depth[node] = level + 1;
    return node;
  }

  // Gives paths that end here to the node, and opens a part for each name among the others.
  private divide(from: number, to: number, node: number): void {
    const { start, names, weight } = this.paths;
    const { order, keys, open } = this;
    const level = this.depth[node];
    const size = to - from;
    let sorted = true;
    let before = -1;
    for (let k = 0; k < size; ++k) {
      const path = order[from + k];
      const at = start[path] + level;
      let name = 0; // plus one; 0 for what ends here
      if (at < start[path + 1]) name = names[at] + 1;
      else this.self[node] += weight[path];
      keys[k] = name * mostPaths + path;
      if (name < before) sorted = false;
      before = name;
    }
    if (!sorted) {
      keys.subarray(0, size).sort();
      for (let k = 0; k < size; ++k) order[from + k] = keys[k] % mostPaths;
    }
    let end = to;
    for (let k = size - 1; k >= 0; --k) {
      const name = Math.floor(keys[k] / mostPaths);
      if (name === 0) break;
      if (k > 0 && Math.floor(keys[k - 1] / mostPaths) === name) continue;
      open.push(from + k, end, node);
      end = from + k;
    }
  }
}
