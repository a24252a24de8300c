// The colours of boxes: the tones that the picture of `tephra flame` has, mixed by name. A colour is a pixel as canvases
// store them: red, green, blue and opacity from the lowest byte on.

import { Kind, type Profile, type Tone } from "./profile";
import type { Coloring } from "./state";

const byName: Tone = { meaning: "", hue: [4, 50], saturation: 0.88, lightness: [0.56, 0.66] };
const noModule: Tone = { meaning: "", hue: [215, 235], saturation: 0.06, lightness: [0.74, 0.8] };
const darkDim = 0.86; // lightness on a dark ground

export interface Palette {
  // Of a box; frame may be noFrame.
  color(name: number, frame: number): number;
}

export function pixel(red: number, green: number, blue: number): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

export function css(color: number): string {
  return `rgb(${color & 255} ${(color >> 8) & 255} ${(color >> 16) & 255})`;
}

// Half of each, or any share of the first in 256 parts.
export function blended(color: number, ground: number, share = 128): number {
  const mix = (shift: number) => (((color >> shift) & 255) * share + ((ground >> shift) & 255) * (256 - share)) >> 8;
  return pixel(mix(0), mix(8), mix(16));
}

// Whether dark text reads better on it.
export function isLight(color: number): boolean {
  return (color & 255) * 3 + ((color >> 8) & 255) * 6 + ((color >> 16) & 255) > 1300;
}

function fromHsl(hue: number, saturation: number, lightness: number): number {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return pixel(channel(0), channel(8), channel(4));
}

function mixed(tone: Tone, shade: number, dim: number): number {
  const between = (range: [number, number], bits: number) => range[0] + ((range[1] - range[0]) * (bits & 255)) / 255;
  return fromHsl(between(tone.hue, shade), tone.saturation, between(tone.lightness, shade >> 8) * dim);
}

// The middle of a tone, for legends.
export function toneColor(tone: Tone, dark: boolean): string {
  return css(mixed(tone, 0x8080, dark ? darkDim : 1));
}

function moduleTone(path: string): Tone {
  let hash = 2166136261;
  for (let i = 0; i < path.length; ++i) hash = Math.imul(hash ^ path.charCodeAt(i), 16777619) >>> 0;
  const hue = (hash ^ (hash >>> 13)) % 360;
  return { meaning: "", hue: [hue, hue + 4], saturation: 0.55, lightness: [0.66, 0.72] };
}

// Colours are mixed when they are first asked for.
export function palette(profile: Profile, coloring: Coloring, dark: boolean): Palette {
  const { names, frames, modules, facts } = profile;
  const dim = dark ? darkDim : 1;
  const known = new Uint32Array(names.count);
  const ofModule: (Tone | undefined)[] = [noModule];
  const toneOf = (name: number) =>
    coloring === "kind" || names.kind[name] === Kind.Base ? facts.tones[names.tone[name]] : byName;
  const ofName = (name: number) => (known[name] ||= mixed(toneOf(name), names.shade[name], dim));
  if (coloring !== "module") return { color: ofName };
  return {
    color(name, frame) {
      if (names.kind[name] === Kind.Base) return ofName(name);
      const module = frame < frames.count ? frames.module[frame] : 0;
      const tone = (ofModule[module] ??= moduleTone(modules.path.get(module)));
      return mixed(tone, names.shade[name], dim);
    },
  };
}
