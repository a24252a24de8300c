// The samples that filters keep, one by one.

import type { Profile } from "./profile";
import { type Filters, select } from "./selection";

// The filters that decide about samples when neither their time nor how their stacks are drawn matters.
export function timelessFilters(filters: Filters): Filters {
  return { ...filters, range: null, foldRecursion: false, base: "comm" };
}

// Calls visit(row) for every sample that `filters` keep. Whether they do depends on its event, its thread and its stack.
export function eachKept(profile: Profile, filters: Filters, visit: (row: number) => void): void {
  const { count, event, thread, stack } = profile.samples;
  const weight = select(profile, { ...timelessFilters(filters), weight: "samples" }).weight;
  const threads = filters.threads && new Set(filters.threads);
  for (let i = 0; i < count; ++i) {
    if (event[i] === filters.event && weight[stack[i]] !== 0 && (!threads || threads.has(thread[i]))) visit(i);
  }
}
