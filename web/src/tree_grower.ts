// Makes trees of any shape. Those of whole profiles are made faster by path_tree.ts.

import { CallTree, commonFrame } from "./call_tree";
import type { Numbers, Profile } from "./profile";

// Makes a tree node by node, in any order. The root is there from the start.
export class TreeGrower {
  private parent = new Uint32Array(1024);
  private name = new Uint32Array(1024);
  private frame = new Uint32Array(1024);
  private self = new Float64Array(1024);
  private count = 1;
  private slots = new Uint32Array(4096); // open addressing; 0 is free, since the root is nobody's child

  constructor(
    private readonly profile: Profile,
    rootName: number,
    rootFrame: number,
  ) {
    this.name[0] = rootName;
    this.frame[0] = rootFrame;
  }

  // The child of a node that has this name; frame: where it is, or noFrame.
  child(parent: number, name: number, frame: number): number {
    const mask = this.slots.length - 1;
    let at = hash(parent, name) & mask;
    for (let node; (node = this.slots[at]) !== 0; at = (at + 1) & mask) {
      if (this.parent[node] === parent && this.name[node] === name) {
        if (this.frame[node] !== frame) this.frame[node] = commonFrame(this.profile, this.frame[node], frame);
        return node;
      }
    }
    const node = this.append(parent, name, frame);
    this.slots[at] = node;
    if (this.count * 2 > this.slots.length) this.rehash();
    return node;
  }

  addSelf(node: number, weight: number): void {
    this.self[node] += weight;
  }

  finish(leafFirst: boolean): CallTree {
    const order = this.depthFirst();
    const count = this.count;
    const place = new Uint32Array(count);
    for (let i = 0; i < count; ++i) place[order[i]] = i;
    const parent = new Uint32Array(count);
    const name = new Uint32Array(count);
    const frame = new Uint32Array(count);
    const self = new Float64Array(count);
    for (let i = 0; i < count; ++i) {
      const from = order[i];
      parent[i] = place[this.parent[from]];
      name[i] = this.name[from];
      frame[i] = this.frame[from];
      self[i] = this.self[from];
    }
    return new CallTree({ leafFirst, parent, name, frame, self, depth: depths(parent), cutDepth: 0 });
  }

  private append(parent: number, name: number, frame: number): number {
    if (this.count === this.parent.length) this.grow();
    const node = this.count++;
    this.parent[node] = parent;
    this.name[node] = name;
    this.frame[node] = frame;
    return node;
  }

  private grow(): void {
    const more = <T extends Uint32Array | Float64Array>(old: T, fresh: T): T => {
      fresh.set(old);
      return fresh;
    };
    const size = this.parent.length * 2;
    this.parent = more(this.parent, new Uint32Array(size));
    this.name = more(this.name, new Uint32Array(size));
    this.frame = more(this.frame, new Uint32Array(size));
    this.self = more(this.self, new Float64Array(size));
  }

  private rehash(): void {
    this.slots = new Uint32Array(this.slots.length * 4);
    const mask = this.slots.length - 1;
    for (let node = 1; node < this.count; ++node) {
      let at = hash(this.parent[node], this.name[node]) & mask;
      while (this.slots[at] !== 0) at = (at + 1) & mask;
      this.slots[at] = node;
    }
  }

  // Nodes by name, the greatest first.
  private byNameDown(): Uint32Array {
    const names = this.profile.names.count;
    const start = new Uint32Array(names + 1);
    for (let node = 0; node < this.count; ++node) ++start[names - 1 - this.name[node] + 1];
    for (let i = 1; i <= names; ++i) start[i] += start[i - 1];
    const sorted = new Uint32Array(this.count);
    for (let node = 0; node < this.count; ++node) sorted[start[names - 1 - this.name[node]]++] = node;
    return sorted;
  }

  private depthFirst(): Uint32Array {
    const firstChild = new Uint32Array(this.count);
    const nextSibling = new Uint32Array(this.count);
    for (const node of this.byNameDown()) {
      if (node === 0) continue;
      nextSibling[node] = firstChild[this.parent[node]];
      firstChild[this.parent[node]] = node;
    }
    const order = new Uint32Array(this.count);
    let node = 0;
    for (let i = 0; i < this.count; ++i) {
      order[i] = node;
      if (firstChild[node] !== 0) {
        node = firstChild[node];
        continue;
      }
      while (node !== 0 && nextSibling[node] === 0) node = this.parent[node];
      node = nextSibling[node];
    }
    return order;
  }
}

function hash(parent: number, name: number): number {
  let mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

function depths(parent: Uint32Array): Numbers {
  const depth = new Uint32Array(parent.length);
  for (let i = 1; i < parent.length; ++i) depth[i] = depth[parent[i]] + 1;
  return depth;
}
