// What tests and scripts in the browser's console may ask of the page: window.tephra. Nothing changes through it.

import type { Layout } from "./layout";
import type { ViewModel } from "./panel";
import type { View } from "./state";

export interface Box {
  name: string;
  depth: number;
  // In units of weight, as data-x and data-w of the picture that `tephra flame` draws.
  x: number;
  width: number;
}

export interface Probe {
  view(): View;
  total(): number; // of what is selected
  whole(): number; // of the event
  boxes(): Box[]; // of the flame graph, or of the bottom-up one where that is shown
}

declare global {
  interface Window {
    tephra?: Probe;
  }
}

function boxesOf(model: ViewModel, { tree, x, nodes }: Layout): Box[] {
  return Array.from(nodes, (node) => ({
    name: model.profile.names.text(tree.name[node]),
    depth: tree.depth[node],
    x: x[node],
    width: tree.total[node],
  }));
}

export function offerProbe(modelNow: () => ViewModel): void {
  window.tephra = Object.freeze({
    view: () => modelNow().state.view,
    total: () => modelNow().selection.total,
    whole: () => modelNow().selection.whole,
    boxes: () => {
      const model = modelNow();
      return boxesOf(model, model.state.view === "bottom-up" ? model.bottomUpLayout : model.layout);
    },
  });
}
