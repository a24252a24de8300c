// How the parts of the page plug into it.

import { bottomUpTree, callTree, type CallTree } from "./call_tree";
import { layout, type Layout } from "./layout";
import { compilePattern, patternProblem, plainPattern } from "./pattern";
import type { Profile } from "./profile";
import { matchNames, sameFilters, select, type Selection } from "./selection";
import type { Store, ViewState } from "./state";

// A part of the page: a view of its own, or a bar. It makes its element once; update() is called when the state changed
// and the part is seen, and before it is seen for the first time. It changes the state by store.set().
export interface Panel {
  readonly element: HTMLElement;
  update(model: ViewModel): void;
  // Keys that the element with the focus did not take; true: taken.
  key?(event: KeyboardEvent): boolean;
}

export type MakePanel = (profile: Profile, store: Store) => Panel;

// What is shown, for one state. Everything is made when it is asked for, and once.
export interface ViewModel {
  readonly profile: Profile;
  readonly state: ViewState;
  readonly selection: Selection;
  readonly tree: CallTree; // from the root
  readonly bottomUp: CallTree;
  readonly layout: Layout; // of tree
  readonly bottomUpLayout: Layout;
  // By name: 1 where the search matches; null: nothing is searched for. An expression that is none matches as plain
  // text.
  readonly matches: Uint8Array | null;
  readonly unit: string; // of weights: "ns", "bytes", "count", or "" for samples
}

class LazyModel implements ViewModel {
  private kept: Partial<Record<string, unknown>> = {};

  constructor(
    readonly profile: Profile,
    readonly state: ViewState,
    before: LazyModel | null,
  ) {
    if (!before) return;
    if (sameFilters(state, before.state)) {
      for (const key of ["selection", "tree", "bottomUp", "layout", "bottomUpLayout"]) this.kept[key] = before.kept[key];
    }
    if (state.search === before.state.search) this.kept["matches"] = before.kept["matches"];
  }

  get selection(): Selection {
    return this.keep("selection", () => select(this.profile, this.state));
  }
  get tree(): CallTree {
    return this.keep("tree", () => callTree(this.profile, this.selection));
  }
  get bottomUp(): CallTree {
    return this.keep("bottomUp", () => bottomUpTree(this.profile, this.selection));
  }
  get layout(): Layout {
    return this.keep("layout", () => layout(this.tree));
  }
  get bottomUpLayout(): Layout {
    return this.keep("bottomUpLayout", () => layout(this.bottomUp));
  }
  get matches(): Uint8Array | null {
    return this.keep("matches", () => searchMatches(this.profile, this.state.search));
  }
  get unit(): string {
    return this.state.weight === "samples" ? "" : (this.profile.facts.events[this.state.event]?.unit ?? "");
  }

  private keep<T>(key: string, make: () => T): T {
    if (this.kept[key] === undefined) this.kept[key] = make();
    return this.kept[key] as T;
  }
}

// All of a name, without the mark of its kind that folded stacks have: colours tell that.
export function wholeName(profile: Profile, name: number): string {
  return profile.names.text(name).replace(/(?<=.)_\[[kjiw]\]$/, "");
}

// A name as the reader wants to see it.
export function shownName({ profile, state }: ViewModel, name: number): string {
  return state.wholeNames ? wholeName(profile, name) : profile.names.shown(name);
}

function searchMatches(profile: Profile, search: string): Uint8Array | null {
  if (search === "") return null;
  const isPattern = patternProblem(search) === undefined;
  return matchNames(profile, isPattern ? compilePattern(search) : plainPattern(search));
}

// Makes the model of each state, and lets what did not change be used again.
export function modelMaker(profile: Profile): (state: ViewState) => ViewModel {
  let last: LazyModel | null = null;
  return (state) => (last = last?.state === state ? last : new LazyModel(profile, state, last));
}
