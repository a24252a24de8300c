// Where the boxes of a flame graph are, in units of weight, as analysis/flame_layout.h places them: a node's own weight
// first, then its children by name.

import type { CallTree } from "./call_tree";

export interface Layout {
  tree: CallTree;
  total: number;
  rows: number; // in use
  x: Float64Array; // by node; its width is tree.total[node]
  // Row by row the nodes that have a width, from left to right: those of row r are nodes[rowStart[r]] to before
  // nodes[rowStart[r + 1]].
  rowStart: Uint32Array;
  nodes: Uint32Array;
}

export function layout(tree: CallTree): Layout {
  const { depth, self, total, count } = tree;
  const x = new Float64Array(count);
  const inRow: number[] = [];
  const nextX: number[] = [0]; // by depth, where the next node begins
  for (let i = 0; i < count; ++i) {
    const at = depth[i];
    const start = nextX[at];
    x[i] = start;
    nextX[at] = start + total[i];
    nextX[at + 1] = start + self[i];
    if (i === 0 || total[i] > 0) inRow[at] = (inRow[at] ?? 0) + 1;
  }
  const rows = inRow.length;
  const rowStart = new Uint32Array(rows + 1);
  for (let r = 0; r < rows; ++r) rowStart[r + 1] = rowStart[r] + inRow[r];
  const nodes = new Uint32Array(rowStart[rows]);
  const place = rowStart.slice();
  for (let i = 0; i < count; ++i) if (i === 0 || total[i] > 0) nodes[place[depth[i]]++] = i;
  return { tree, total: total[0], rows, x, rowStart, nodes };
}

// The place in `nodes` of the first box of a row that ends behind x; rowStart[row + 1] when none does.
export function firstEndingAfter(place: Layout, row: number, x: number, from = place.rowStart[row]): number {
  const { nodes, tree } = place;
  const end = place.rowStart[row + 1];
  let low = from;
  let high = Math.min(low + 1, end);
  // Often it is near.
  for (let step = 1; high < end && place.x[nodes[high]] + tree.total[nodes[high]] <= x; step *= 2) {
    low = high + 1;
    high = Math.min(high + step, end);
  }
  while (low < high) {
    const middle = (low + high) >> 1;
    if (place.x[nodes[middle]] + tree.total[nodes[middle]] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// The node whose box is at x in a row, -1 for none.
export function nodeAt(place: Layout, row: number, x: number): number {
  if (row < 0 || row >= place.rows) return -1;
  const at = firstEndingAfter(place, row, x);
  if (at >= place.rowStart[row + 1]) return -1;
  const node = place.nodes[at];
  return place.x[node] <= x ? node : -1;
}
