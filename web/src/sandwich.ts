import type { CallTree } from "./call_tree";
import { make, setText } from "./elements";
import { FlameView } from "./flame_view";
import { type FunctionTotals, functionTotals } from "./function_totals";
import { layout, type Layout } from "./layout";
import { type MakePanel, type Panel, shownName, type ViewModel } from "./panel";
import { compilePattern, patternProblem } from "./pattern";
import type { Profile } from "./profile";
import { calleesOf, callersOf } from "./sandwich_trees";
import { sandwichOf, type Store, type ViewState } from "./state";
import { percent, quantity } from "./text";

const mostOffered = 50;

interface Halves {
  tree: CallTree;
  name: number;
  callers: Layout;
  callees: Layout;
}

// Callers above and callees below one function, state.selected, from wherever it was called.
class Sandwich implements Panel {
  readonly element: HTMLElement;
  private readonly input = make("input", {
    id: "sandwich-function",
    attributes: {
      type: "search",
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "sandwich-choices",
      "aria-autocomplete": "list",
      "aria-label": "Function",
      placeholder: "Name of a function",
      autocomplete: "off",
      spellcheck: "false",
    },
  });
  private readonly choices = make("ul", { class: "choice-list", id: "sandwich-choices", attributes: { role: "listbox" } });
  private readonly said = make("span", { class: "muted", attributes: { role: "status" } });
  private readonly nothing = make("div", { class: "nothing" });
  private readonly parts: HTMLElement;
  private readonly callers: FlameView;
  private readonly callees: FlameView;
  private halves: Halves | null = null;
  private model: ViewModel | null = null;
  private totalsOf: CallTree | null = null;
  private totals: FunctionTotals | null = null;
  private offered: number[] = [];
  private marked = 0;

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    this.callers = new FlameView(profile, callersStore(store), "up", () => this.halves!.callers, "Callers");
    this.callees = new FlameView(profile, store, "down", () => this.halves!.callees, "Callees");
    this.parts = make(
      "div",
      { class: "sandwich-parts" },
      this.part("Callers", "callers", this.callers),
      this.part("Callees", "callees", this.callees),
    );
    this.choices.hidden = true;
    const tools = make(
      "div",
      { class: "sandwich-tools" },
      make("div", { class: "sandwich-choice" }, this.input, this.choices),
      this.said,
    );
    this.element = make("div", { class: "sandwich" }, tools, this.nothing, this.parts);
    this.listen();
  }

  update(model: ViewModel): void {
    this.model = model;
    const { tree, state } = model;
    if (this.totalsOf !== tree) {
      this.totalsOf = tree;
      this.totals = functionTotals(this.profile, tree);
    }
    const name = state.selected < 0 ? -1 : this.profile.names.function[state.selected];
    if (document.activeElement !== this.input) this.input.value = name < 0 ? "" : shownName(model, name);
    const found = name >= 0 && this.totals!.total[name] > 0;
    this.parts.hidden = !found;
    this.nothing.hidden = found;
    setText(
      this.nothing,
      name < 0
        ? "Choose a function above, in the table, or by Shift and a click in a flame graph."
        : "This function is not in what is selected.",
    );
    this.tell(found ? name : -1);
    if (!found) return;
    if (this.halves?.tree !== tree || this.halves.name !== name) {
      const callers = layout(callersOf(this.profile, tree, name));
      this.halves = { tree, name, callers, callees: layout(calleesOf(this.profile, tree, name)) };
    }
    this.callers.update(withState(model, { zoom: state.callersZoom, scroll: state.callersScroll }));
    this.callees.update(model);
  }

  key(event: KeyboardEvent): boolean {
    return this.callers.element.contains(document.activeElement) ? this.callers.key(event) : this.callees.key(event);
  }

  private part(title: string, style: string, view: FlameView): HTMLElement {
    return make("section", { class: `sandwich-part ${style}`, attributes: { "aria-label": title } },
      make("h2", {}, title), view.element);
  }

  private tell(name: number): void {
    if (name < 0) return setText(this.said, "");
    const { selection, unit, state } = this.model!;
    const counted = this.profile.facts.events[state.event]?.counted || "samples";
    const { self, total } = this.totals!;
    setText(
      this.said,
      `total ${quantity(total[name], unit, counted)}, ${percent(total[name], selection.total)}` +
        ` · self ${percent(self[name], selection.total)}`,
    );
  }

  private listen(): void {
    this.input.addEventListener("focus", () => this.input.select());
    this.input.addEventListener("input", () => this.offer());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        this.close();
        if (this.model) this.input.value = this.model.state.selected < 0 ? "" : shownName(this.model, this.model.state.selected);
      } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (this.choices.hidden) this.offer();
        else this.mark(this.marked + (event.key === "ArrowDown" ? 1 : -1));
      } else if (event.key === "Enter") {
        if (this.choices.hidden) this.offer();
        else this.choose(this.marked);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    });
    // Before the input loses the focus.
    this.choices.addEventListener("pointerdown", (event) => {
      const item = (event.target as Element).closest("li");
      event.preventDefault();
      if (item) this.choose([...this.choices.children].indexOf(item));
    });
  }

  // Offers the heaviest functions whose name has what is typed; all of it as an expression where it is one.
  private offer(): void {
    const text = this.input.value.trim();
    const matches = matcher(text);
    const { names, total } = this.totals!;
    const found = [...names].filter((name) => matches(this.profile.names.text(name)));
    found.sort((a, b) => total[b] - total[a]);
    this.offered = found.slice(0, mostOffered);
    const whole = this.model!.selection.total;
    this.choices.replaceChildren(
      ...this.offered.map((name, i) =>
        make(
          "li",
          { id: `sandwich-choice-${i}`, attributes: { role: "option", "aria-selected": "false" } },
          make("span", { class: "name" }, shownName(this.model!, name).slice(0, 400)),
          make("span", { class: "number muted" }, percent(total[name], whole)),
        ),
      ),
    );
    if (this.offered.length === 0) this.choices.append(make("li", { class: "muted" }, "No function matches."));
    this.choices.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(0);
  }

  private mark(place: number): void {
    if (this.offered.length === 0) return;
    this.marked = (place + this.offered.length) % this.offered.length;
    [...this.choices.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === this.marked)));
    this.choices.children[this.marked].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", `sandwich-choice-${this.marked}`);
  }

  private choose(place: number): void {
    const name = this.offered[place];
    if (name === undefined) return;
    this.close();
    this.input.value = shownName(this.model!, name);
    this.store.set(sandwichOf(name));
  }

  private close(): void {
    this.choices.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }
}

function matcher(text: string): (name: string) => boolean {
  const plain = text.toLowerCase();
  const inText = (name: string) => name.toLowerCase().includes(plain);
  if (patternProblem(text) !== undefined) return inText;
  const pattern = compilePattern(text, "i");
  return (name) => pattern.test(name) || inText(name);
}

// The same model with another part of the picture in view.
function withState(model: ViewModel, change: Partial<ViewState>): ViewModel {
  return Object.create(model, { state: { value: { ...model.state, ...change } } }) as ViewModel;
}

// The store as the upper half sees it: zoom and scroll are its own, unless another function is chosen.
function callersStore(store: Store): Pick<Store, "set"> {
  return {
    set(change, keep) {
      const { zoom, scroll, ...others } = change;
      if (others.view !== undefined) return store.set(change, keep);
      const own: Partial<ViewState> = others;
      if (zoom) own.callersZoom = zoom;
      if (scroll !== undefined) own.callersScroll = scroll;
      store.set(own, keep);
    },
  };
}

export const makeSandwich: MakePanel = (profile, store) => new Sandwich(profile, store);
