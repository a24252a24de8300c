// Times as the page shows them: from the full second in which the recording begins, so that the offset within a second
// is that of the recording's clock.

import type { Profile } from "./profile";

// Nanoseconds from that second to the first sample.
export function firstOffset(profile: Profile): number {
  const digits = profile.facts.first_time_ns;
  return Number(/^\d+$/.test(digits) ? BigInt(digits) % 1_000_000_000n : 0n);
}

// "12.34 s", with as many decimals as tell steps of `step` nanoseconds apart.
export function timeText(nanoseconds: number, step = 1e7): string {
  const decimals = Math.min(Math.max(Math.ceil(9 - Math.log10(step) - 1e-9), 0), 9);
  return `${(nanoseconds / 1e9).toFixed(decimals)} s`;
}

// A range of state.range.
export function rangeText(profile: Profile, range: readonly [number, number]): string {
  const offset = firstOffset(profile);
  return `${timeText(range[0] + offset)} – ${timeText(range[1] + offset)}`;
}
