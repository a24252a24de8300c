import { copyText } from "./copy_text";
import { button, make, setText } from "./elements";
import type { MakePanel, Panel, ViewModel } from "./panel";
import { patternProblem } from "./pattern";
import type { Profile } from "./profile";
import { type Base, type PatternField, patternFields, type Weight } from "./selection";
import { defaultState, type Store, type Theme, type ViewState } from "./state";
import { percent, quantity } from "./text";
import { ThreadPicker } from "./thread_picker";
import { choiceText } from "./thread_choice";
import { rangeText } from "./time_text";

const typingPause = 200; // milliseconds without a key before what is typed counts

const patternHints: Record<PatternField, string> = {
  focus: "Keep samples with a function, source file or module that matches",
  ignore: "Drop samples with a function, source file or module that matches",
  hide: "Leave out functions that match; their callees move to the callers",
  show: "Leave out functions that do not match",
};

type Choice<T extends string> = [value: T, text: string];
const bases: Choice<Base>[] = [
  ["comm", "name"],
  ["pid", "process"],
  ["tid", "thread"],
  ["none", "nothing"],
];
const themeChoices: Choice<Theme>[] = [
  ["auto", "as system"],
  ["light", "light"],
  ["dark", "dark"],
];

function field(label: string, id: string, input: HTMLElement): HTMLElement {
  input.id = id;
  return make("div", { class: "filter-field" }, make("label", { attributes: { for: id } }, label), input);
}

function select<T extends string>(choices: Choice<T>[], chosen: (value: T) => void): HTMLSelectElement {
  const made = make("select", {}, ...choices.map(([value, text]) => make("option", { attributes: { value } }, text)));
  made.addEventListener("change", () => chosen(made.value as T));
  return made;
}

// Event, weight, threads, the four expressions and the search, and what of the profile they keep.
class FilterBar implements Panel {
  readonly element: HTMLElement;
  private readonly inputs = new Map<PatternField | "search", HTMLInputElement>();
  private readonly problem = make("div", { class: "filter-problem", id: "filter-problem", attributes: { role: "alert" } });
  private readonly event: HTMLSelectElement;
  private readonly weight: HTMLSelectElement;
  private readonly base = select(bases, (base) => this.change({ base }));
  private readonly theme = select(themeChoices, (theme) => this.store.set({ theme }));
  private readonly threads: ThreadPicker;
  private readonly fold = this.toggle("Fold recursion", "A function that calls itself is one frame", () =>
    this.change({ foldRecursion: !this.store.state.foldRecursion }),
  );
  private readonly whole = this.toggle("Whole names", "Show template arguments in full", () =>
    this.store.set({ wholeNames: !this.store.state.wholeNames }),
  );
  private readonly reset = button("Reset", () => this.resetAll(), { id: "reset-all", title: "Show everything again" });
  private readonly link = button("Copy link", () => void this.copyLink(), { id: "copy-link", title: "Copy the address of this view" });
  private readonly share = make("span", { class: "share", id: "share", attributes: { role: "status" } });
  private readonly weighed = make("span", { class: "muted", id: "weighed" });
  private readonly chips = make("span", { class: "chips" });
  private readonly words = make("span", { class: "print-words", attributes: { "aria-hidden": "true" } });
  private pending = 0;

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    const { events } = profile.facts;
    const offered = events.flatMap((event, row): Choice<string>[] =>
      event.count > 0 || row === profile.facts.shown_event ? [[String(row), event.name || "samples"]] : [],
    );
    this.event = select(offered, (row) => this.chooseEvent(Number(row)));
    this.weight = select<Weight>([["samples", "samples"], ["value", "value"]], (weight) => this.change({ weight }));
    this.threads = new ThreadPicker(profile, store);
    const parts = [this.textField("search", "Search", "Mark functions that match (press /)")];
    for (const name of patternFields) parts.push(this.textField(name, name[0].toUpperCase() + name.slice(1), patternHints[name]));
    if (offered.length > 1) parts.push(field("Event", "event", this.event));
    // Where every value is the number of samples there is nothing to choose.
    if (events.some((event) => event.value !== 0 && event.value !== event.count)) parts.push(field("Weight", "weight", this.weight));
    if (profile.threads.count > 1) parts.push(this.threads.element);
    parts.push(field("Stacks stand on", "base", this.base));
    parts.push(this.reset);
    this.element = make(
      "div",
      { class: "filters" },
      make("div", { class: "filter-bar", attributes: { role: "search" } }, ...parts, this.problem),
      make("div", { class: "share-line" }, this.share, this.weighed, this.chips, this.words, this.pageTools()),
    );
  }

  update(model: ViewModel): void {
    const { state, selection } = model;
    for (const [name, input] of this.inputs) {
      if (input !== document.activeElement || this.pending === 0) input.value = state[name];
      input.classList.toggle("set", state[name] !== "");
      const error = name === "search" ? patternProblem(state.search) : selection.errors[name];
      input.setAttribute("aria-invalid", String(error !== undefined));
    }
    this.showProblems(state, selection.errors);
    this.event.value = String(state.event);
    this.showWeights(state);
    this.base.value = state.base;
    this.theme.value = state.theme;
    this.fold.setAttribute("aria-pressed", String(state.foldRecursion));
    this.whole.setAttribute("aria-pressed", String(state.wholeNames));
    this.threads.update(state);
    this.showShare(model);
    this.showWeighed(state);
    this.showChips(state);
    setText(this.words, this.otherwise(state).join(", "));
  }

  private showProblems(state: ViewState, errors: Partial<Record<PatternField, string>>): void {
    const told = patternFields.flatMap((name) =>
      errors[name] === undefined ? [] : [`${name}: ${errors[name]}; it is not used.`],
    );
    const problem = patternProblem(state.search);
    if (problem !== undefined) told.unshift(`search: ${problem}; it is searched as plain text.`);
    setText(this.problem, told.join(" "));
    this.problem.hidden = told.length === 0;
  }

  // On paper there are no fields to read these from.
  private otherwise(state: ViewState): string[] {
    const words = [this.profile.facts.events[state.event]?.name || "samples"];
    if (state.foldRecursion) words.push("recursion folded");
    if (state.base !== "comm") words.push(`stacks stand on ${bases.find(([base]) => base === state.base)![1]}`);
    if (state.search !== "") words.push(`search ${state.search}`);
    return words;
  }

  private pageTools(): HTMLElement {
    this.theme.id = "theme";
    return make(
      "span",
      { class: "page-tools" },
      this.fold,
      this.whole,
      this.link,
      make("label", { attributes: { for: "theme" } }, "Theme"),
      this.theme,
    );
  }

  private toggle(text: string, title: string, act: () => void): HTMLButtonElement {
    return button(text, act, { title, attributes: { "aria-pressed": "false" } });
  }

  private textField(name: PatternField | "search", label: string, hint: string): HTMLElement {
    const input = make("input", {
      title: hint,
      attributes: {
        type: name === "search" ? "search" : "text",
        spellcheck: "false",
        autocomplete: "off",
        placeholder: name === "search" ? "/" : ".*",
        "aria-describedby": "filter-problem",
      },
    });
    input.addEventListener("input", () => {
      clearTimeout(this.pending);
      this.pending = window.setTimeout(() => this.take(name, input, false), typingPause);
    });
    input.addEventListener("change", () => this.take(name, input, true));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.take(name, input, true);
      else if (event.key === "Escape") {
        if (input.value === "") input.blur();
        input.value = "";
        this.take(name, input, true);
      } else return;
      event.stopPropagation();
    });
    this.inputs.set(name, input);
    return field(label, name, input);
  }

  private take(name: PatternField | "search", input: HTMLInputElement, keep: boolean): void {
    clearTimeout(this.pending);
    this.pending = 0;
    if (input.value === this.store.state[name]) return;
    if (name === "search") this.store.set({ search: input.value }, keep);
    else this.change({ [name]: input.value }, keep);
  }

  // Filters change what the picture is of, so that the part of it that was seen means nothing any more.
  private change(change: Partial<ViewState>, keep = true): void {
    this.store.set({ ...change, zoom: [0, 1], scroll: 0 }, keep);
  }

  private chooseEvent(event: number): void {
    this.change({ event, weight: this.profile.facts.events[event].by_value ? "value" : "samples" });
  }

  private showWeights(state: ViewState): void {
    const event = this.profile.facts.events[state.event];
    if (!event) return;
    const [samples, value] = this.weight.options;
    setText(samples, event.counted || "samples");
    setText(value, event.unit && event.unit !== "count" ? `value (${event.unit})` : "value");
    value.disabled = event.value === 0;
    this.weight.value = state.weight;
  }

  private showShare(model: ViewModel): void {
    const { total, whole } = model.selection;
    const counted = this.profile.facts.events[model.state.event]?.counted || "samples";
    const all = quantity(whole, model.unit, counted);
    setText(this.share, total === whole ? `100 % of ${all}` : `${percent(total, whole).replace("%", " %")} of ${all}`);
  }

  // Shares differ by weight: another one, as `tephra report` tells it by values, is understood by this.
  private showWeighed(state: ViewState): void {
    const event = this.profile.facts.events[state.event];
    const choice = event !== undefined && event.value !== 0 && event.value !== event.count;
    setText(this.weighed, !choice ? "" : `weighed by ${state.weight === "value" ? "value" : event.counted || "samples"}`);
    this.weighed.title = "tephra flame weighs by samples unless told otherwise, tephra report by value";
  }

  private showChips(state: ViewState): void {
    const chips: HTMLElement[] = [];
    if (state.range) chips.push(this.chip("range", rangeText(this.profile, state.range), () => this.change({ range: null })));
    if (state.threads) {
      chips.push(this.chip("threads", choiceText(this.profile, state.threads), () => this.change({ threads: null })));
    }
    for (const name of patternFields) {
      if (state[name] !== "") chips.push(this.chip(name, `${name} ${state[name]}`, () => this.change({ [name]: "" })));
    }
    this.chips.replaceChildren(...chips);
    this.reset.disabled = chips.length === 0 && !changedOtherwise(state, defaultState(this.profile));
  }

  private chip(kind: string, text: string, clear: () => void): HTMLElement {
    const close = button("×", clear, { title: "Remove this filter", attributes: { "aria-label": `Remove ${text.slice(0, 200)}` } });
    return make(
      "span",
      { class: "chip", attributes: { "data-kind": kind } },
      make("span", { class: "chip-text name", title: text.slice(0, 2000) }, text.slice(0, 300)),
      close,
    );
  }

  private resetAll(): void {
    const { view, theme, selected, sort } = this.store.state;
    this.store.set({ ...defaultState(this.profile), view, theme, selected, sort });
  }

  private async copyLink(): Promise<void> {
    const copied = await copyText(location.href);
    this.link.textContent = copied ? "Copied" : "Not allowed";
    setTimeout(() => (this.link.textContent = "Copy link"), 1500);
  }
}

function changedOtherwise(state: ViewState, standard: ViewState): boolean {
  return (
    state.search !== "" ||
    state.event !== standard.event ||
    state.weight !== standard.weight ||
    state.base !== standard.base ||
    state.foldRecursion ||
    state.wholeNames ||
    state.colors !== standard.colors ||
    state.zoom[0] !== 0 ||
    state.zoom[1] !== 1
  );
}

export const makeFilterBar: MakePanel = (profile, store) => new FilterBar(profile, store);
