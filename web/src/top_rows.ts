// The rows of the top table: which functions, in which order.

import type { FunctionTotals } from "./function_totals";
import { noFrame } from "./call_tree";
import type { Profile } from "./profile";

export const topColumns = ["self", "total", "name", "module"] as const;
export type TopColumn = (typeof topColumns)[number];

export interface Order {
  column: TopColumn;
  descending: boolean;
}

// "-total" and the like, as the state holds it.
export function orderOf(text: string): Order {
  const column = topColumns.find((one) => one === text.replace(/^-/, ""));
  return column ? { column, descending: text.startsWith("-") } : { column: "self", descending: true };
}

export function orderText(order: Order): string {
  return (order.descending ? "-" : "") + order.column;
}

// A second choice of the same column turns the order; a first one, and any of a share, shows what matters most: large numbers, small names.
export function nextOrder(before: Order, column: TopColumn): Order {
  if (before.column === column) return { column, descending: !before.descending };
  return { column, descending: column === "self" || column === "total" };
}

export function moduleOf(profile: Profile, totals: FunctionTotals, name: number): number {
  const frame = totals.frame[name];
  return frame === noFrame ? 0 : profile.frames.module[frame];
}

// Names, those that match, sorted. Equal rows are in the order of the other sum, then of names.
export function topRows(
  profile: Profile,
  totals: FunctionTotals,
  matches: Uint8Array | null,
  order: Order,
): Uint32Array {
  const rows = matches ? totals.names.filter((name) => matches[name] !== 0) : totals.names.slice();
  const sign = order.descending ? -1 : 1;
  const { self, total } = totals;
  const compare = comparison(profile, totals, order.column);
  return rows.sort((a, b) => sign * compare(a, b) || total[b] - total[a] || self[b] - self[a] || a - b);
}

function comparison(profile: Profile, totals: FunctionTotals, column: TopColumn): (a: number, b: number) => number {
  switch (column) {
    case "self":
      return (a, b) => totals.self[a] - totals.self[b];
    case "total":
      return (a, b) => totals.total[a] - totals.total[b];
    case "name":
      return (a, b) => a - b; // rows of names are sorted
    case "module":
      return moduleComparison(profile, totals);
  }
}

function moduleComparison(profile: Profile, totals: FunctionTotals): (a: number, b: number) => number {
  const { name } = profile.modules;
  const sorted = Array.from({ length: name.length }, (_, row) => row).sort((a, b) =>
    name.get(a) < name.get(b) ? -1 : name.get(a) > name.get(b) ? 1 : 0,
  );
  const rank = new Uint32Array(name.length);
  sorted.forEach((row, place) => (rank[row] = place));
  return (a, b) => rank[moduleOf(profile, totals, a)] - rank[moduleOf(profile, totals, b)];
}
