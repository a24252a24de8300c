// Numbers for the eye, as base/units.h writes them.

// Above 2^53 numbers are rounded to 16 digits, and say so.
export function withSeparators(number: number): string {
  const digits = Math.round(number).toLocaleString("en-US");
  return number > Number.MAX_SAFE_INTEGER ? `≈${digits}` : digits;
}

// "12.34%"; what is not nothing is never shown as nothing.
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "0.00%";
  const share = (part / whole) * 100;
  if (part > 0 && share < 0.005) return "<0.01%";
  return `${share.toFixed(2)}%`;
}

function scaled(value: number, step: number, units: readonly string[]): string {
  let unit = 0;
  while (unit + 1 < units.length && value >= step) {
    value /= step;
    ++unit;
  }
  if (unit === 0) return `${withSeparators(value)} ${units[0]}`;
  return `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)} ${units[unit]}`;
}

export function duration(ns: number): string {
  if (ns < 1e12) return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
  const minutes = ns / 6e10;
  return minutes < 120 ? `${minutes.toFixed(1)} min` : `${(minutes / 60).toFixed(1)} h`;
}

export function bytes(count: number): string {
  return scaled(count, 1024, ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

// A weight in its unit; "" stands for samples, or what is counted in their place.
export function quantity(weight: number, unit: string, counted = "samples"): string {
  if (unit === "ns" || unit === "nanoseconds") return duration(weight);
  if (unit === "bytes") return bytes(weight);
  if (unit === "") return `${withSeparators(weight)} ${weight === 1 ? counted.replace(/s$/, "") : counted}`;
  return `${withSeparators(weight)} ${unit === "count" ? "" : unit}`.trim();
}
