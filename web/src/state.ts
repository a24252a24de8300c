// The whole state of the view, and how it stands in the page's address, so that a link shows the same view.

import type { Profile } from "./profile";
import { sameFilters, type Base, type Filters } from "./selection";

export const views = ["flame", "icicle", "bottom-up", "sandwich", "top", "heat", "threads", "facts"] as const;
export type View = (typeof views)[number];
export const colorings = ["kind", "module", "name"] as const;
export type Coloring = (typeof colorings)[number];
export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export interface ViewState extends Filters {
  view: View;
  search: string; // a regular expression; what matches is marked
  // The part of the flame graph that is seen: shares of its width, and how many rows are scrolled away.
  zoom: readonly [number, number];
  scroll: number;
  selected: number; // any row of names of the function that the sandwich is about, -1: none
  // As zoom and scroll, of the callers in the sandwich.
  callersZoom: readonly [number, number];
  callersScroll: number;
  sort: string; // of the top table: a column, `-` in front for descending
  colors: Coloring;
  theme: Theme;
  wholeNames: boolean; // template arguments are not shortened for the eye
}

export function defaultState(profile: Profile): ViewState {
  const event = profile.facts.shown_event;
  return {
    view: "flame",
    event,
    weight: profile.facts.events[event]?.by_value ? "value" : "samples",
    threads: null,
    range: null,
    focus: "",
    ignore: "",
    hide: "",
    show: "",
    foldRecursion: false,
    base: "comm",
    search: "",
    zoom: [0, 1],
    scroll: 0,
    selected: -1,
    callersZoom: [0, 1],
    callersScroll: 0,
    sort: "-self",
    colors: "kind",
    theme: "auto",
    wholeNames: false,
  };
}

const bases: readonly Base[] = ["comm", "pid", "tid", "none"];

function oneOf<T extends string>(all: readonly T[], text: string | null, otherwise: T): T {
  return all.find((one) => one === text) ?? otherwise;
}

function wholeNumber(text: string | null, below: number, otherwise: number): number {
  const number = text !== null && /^\d{1,10}$/.test(text) ? Number(text) : NaN;
  return number < below ? number : otherwise;
}

// Two numbers, the first below the second.
function span(text: string | null): [number, number] | null {
  const parts = (text ?? "").split("~").map((part) => (part === "" ? NaN : Number(part)));
  return parts.length === 2 && parts.every(Number.isFinite) && parts[0] < parts[1] ? [parts[0], parts[1]] : null;
}

const isPart = (part: readonly [number, number]) => part[0] >= 0 && part[1] <= 1;

// Rows as 0.1.5-9, so that a long selection stays short.
function rowsText(rows: readonly number[]): string {
  const parts: string[] = [];
  const sorted = [...new Set(rows)].sort((a, b) => a - b);
  for (let i = 0; i < sorted.length; ) {
    let last = i;
    while (last + 1 < sorted.length && sorted[last + 1] === sorted[last] + 1) ++last;
    parts.push(last > i ? `${sorted[i]}-${sorted[last]}` : `${sorted[i]}`);
    i = last + 1;
  }
  return parts.join(".");
}

function rowsOf(text: string | null, count: number): number[] | null {
  if (text === null) return null;
  const rows = new Set<number>();
  for (const part of text.split(".")) {
    const ends = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part);
    if (!ends) continue;
    const last = Math.min(Number(ends[2] ?? ends[1]), count - 1);
    for (let row = Number(ends[1]); row <= last; ++row) rows.add(row);
  }
  return rows.size === 0 ? null : [...rows];
}

const short = (number: number) => String(Number(number.toPrecision(9)));
// Whole nanoseconds, so that the same samples are within.
const secondsText = (ns: number) => String(Number((ns / 1e9).toFixed(9)));

// What differs from the default, behind `#`; empty for the default.
export function stateToHash(state: ViewState, defaults: ViewState): string {
  const words = new URLSearchParams();
  const put = (key: string, value: string | number, standard: string | number) => {
    if (value !== standard) words.set(key, String(value));
  };
  put("view", state.view, defaults.view);
  put("event", state.event, defaults.event);
  put("weight", state.weight, defaults.weight);
  if (state.threads) words.set("threads", rowsText(state.threads));
  if (state.range) words.set("range", state.range.map(secondsText).join("~"));
  for (const key of ["focus", "ignore", "hide", "show", "search", "base", "sort", "colors", "theme"] as const) {
    put(key, state[key], defaults[key]);
  }
  if (state.foldRecursion) words.set("fold", "1");
  if (state.zoom[0] !== 0 || state.zoom[1] !== 1) words.set("zoom", state.zoom.map(short).join("~"));
  put("scroll", state.scroll, 0);
  put("function", state.selected, -1);
  const { callersZoom } = state;
  if (callersZoom[0] !== 0 || callersZoom[1] !== 1) words.set("callers", callersZoom.map(short).join("~"));
  put("callers-scroll", state.callersScroll, 0);
  if (state.wholeNames) words.set("names", "whole");
  return words.toString();
}

// Understands what stateToHash wrote; anything else stands for the default.
export function stateFromHash(hash: string, profile: Profile): ViewState {
  const defaults = defaultState(profile);
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const event = wholeNumber(words.get("event"), profile.facts.events.length, defaults.event);
  const byValue = profile.facts.events[event]?.by_value ?? false;
  const range = span(words.get("range"));
  const zoom = span(words.get("zoom"));
  const callersZoom = span(words.get("callers"));
  return {
    view: oneOf(views, words.get("view"), defaults.view),
    event,
    weight: oneOf(["samples", "value"], words.get("weight"), byValue ? "value" : "samples"),
    threads: rowsOf(words.get("threads"), profile.threads.count),
    range: range && profile.samples.time ? [Math.round(range[0] * 1e9), Math.round(range[1] * 1e9)] : null,
    focus: words.get("focus") ?? "",
    ignore: words.get("ignore") ?? "",
    hide: words.get("hide") ?? "",
    show: words.get("show") ?? "",
    foldRecursion: words.get("fold") === "1",
    base: oneOf(bases, words.get("base"), defaults.base),
    search: words.get("search") ?? "",
    zoom: zoom && isPart(zoom) ? zoom : defaults.zoom,
    scroll: wholeNumber(words.get("scroll"), 1e6, 0),
    selected: wholeNumber(words.get("function"), profile.names.count, -1),
    callersZoom: callersZoom && isPart(callersZoom) ? callersZoom : defaults.callersZoom,
    callersScroll: wholeNumber(words.get("callers-scroll"), 1e6, 0),
    sort: words.get("sort") ?? defaults.sort,
    colors: oneOf(colorings, words.get("colors"), defaults.colors),
    theme: oneOf(themes, words.get("theme"), defaults.theme),
    wholeNames: words.get("names") === "whole",
  };
}

// The sandwich of a function (row of names), seen whole.
export function sandwichOf(selected: number): Partial<ViewState> {
  return { view: "sandwich", selected, zoom: [0, 1], scroll: 0, callersZoom: [0, 1], callersScroll: 0 };
}

type Listener = (state: ViewState, before: ViewState) => void;

// Holds the state, keeps the address in step with it, and tells who listens.
export class Store {
  private listeners: Listener[] = [];
  private current: ViewState;
  private written = "";

  constructor(private readonly profile: Profile) {
    this.written = location.hash.replace(/^#/, "");
    this.current = this.read(this.written);
    // The back button, and links within the page.
    addEventListener("popstate", () => this.reread());
    addEventListener("hashchange", () => this.reread());
  }

  get state(): ViewState {
    return this.current;
  }

  // `keep`: a step of its own for the back button. Small steps, as while typing or dragging, replace the last one. What
  // is seen of the flame graph starts over when other samples or frames are selected.
  set(change: Partial<ViewState>, keep = true): void {
    const before = this.current;
    const next = { ...before, ...change };
    this.current = sameFilters(before, next) ? next : { ...next, zoom: [0, 1], scroll: 0, ...change };
    const hash = this.hashOf(this.current);
    if (hash !== this.written) {
      this.written = hash;
      const address = hash === "" ? location.pathname + location.search : `#${hash}`;
      if (keep) history.pushState(null, "", address);
      else history.replaceState(null, "", address);
    }
    this.tell(before);
  }

  listen(listener: Listener): void {
    this.listeners.push(listener);
  }

  // An empty address would be the first view, whatever the default is.
  private hashOf(state: ViewState): string {
    // The weight that is not written is that of the event.
    const byValue = this.profile.facts.events[state.event]?.by_value;
    const defaults: ViewState = { ...defaultState(this.profile), weight: byValue ? "value" : "samples" };
    const hash = stateToHash(state, defaults);
    return hash === "" && this.profile.facts.first_view !== "" ? `view=${state.view}` : hash;
  }

  private reread(): void {
    const hash = location.hash.replace(/^#/, "");
    if (hash === this.written) return;
    this.written = hash;
    const before = this.current;
    this.current = this.read(hash);
    this.tell(before);
  }

  // An address without a state is the view that the report was written for.
  private read(hash: string): ViewState {
    return stateFromHash(hash || this.profile.facts.first_view, this.profile);
  }

  private tell(before: ViewState): void {
    for (const listener of this.listeners) listener(this.current, before);
  }
}
