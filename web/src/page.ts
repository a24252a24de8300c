// Puts the page together: the head with the verdict, the filters, the tabs and the views behind them.

import { makeChart } from "./chart_view";
import { button, make } from "./elements";
import { makeFactsPanel } from "./facts_panel";
import { makeFilterBar } from "./filter_bar";
import { makeBottomUp, makeFlame, makeIcicle } from "./flame_view";
import { makeHeatMap } from "./heat_map";
import { modelMaker, type MakePanel, type Panel, type ViewModel } from "./panel";
import { offerProbe } from "./probe";
import type { Profile } from "./profile";
import { makeSandwich } from "./sandwich";
import { Store, views, type View, type ViewState } from "./state";
import { applyTheme } from "./theme";
import { makeTopTable } from "./top_table";
import { makeVerdictBar } from "./verdict_bar";

interface Tab {
  label: string;
  make: MakePanel;
  offered(profile: Profile): boolean;
}

const always = () => true;
const tabs: Record<View, Tab> = {
  flame: { label: "Flame", make: makeFlame, offered: always },
  icicle: { label: "Icicle", make: makeIcicle, offered: always },
  "bottom-up": { label: "Bottom-up", make: makeBottomUp, offered: always },
  sandwich: { label: "Sandwich", make: makeSandwich, offered: always },
  top: { label: "Top", make: makeTopTable, offered: always },
  heat: { label: "Heat map", make: makeHeatMap, offered: always },
  threads: { label: "Threads", make: makeChart, offered: always },
  facts: { label: "Recording", make: makeFactsPanel, offered: always },
};

// Makes the page, with what its address asks for on it.
export function makePage(profile: Profile, body: HTMLElement): void {
  new Page(profile, body);
}

class Page {
  private readonly store: Store;
  private readonly modelOf: (state: ViewState) => ViewModel;
  private readonly offered: View[];
  private readonly buttons = new Map<View, HTMLButtonElement>();
  private readonly panels = new Map<View, Panel>(); // those that were seen so far
  private readonly content = make("main", { class: "content", id: "content", attributes: { role: "tabpanel" } });
  private readonly bar = make("div", { class: "bar" });

  constructor(
    private readonly profile: Profile,
    body: HTMLElement,
  ) {
    this.store = new Store(profile);
    this.modelOf = modelMaker(profile);
    this.offered = views.filter((view) => tabs[view].offered(profile));
    body.append(this.makeHead(), this.bar, this.makeTabs(), this.content);
    this.showView();
    offerProbe(() => this.modelOf(this.store.state));
    document.addEventListener("keydown", (event) => this.key(event));
    // The picture comes first, what is around it right behind it.
    requestAnimationFrame(() => this.addFilters());
  }

  private makeHead(): HTMLElement {
    const { title, selection } = this.profile.facts;
    return make(
      "header",
      { class: "head" },
      make("h1", { class: "title" }, title),
      makeVerdictBar(this.profile),
      selection ? make("p", { class: "selection" }, selection) : null,
    );
  }

  private makeTabs(): HTMLElement {
    for (const view of this.offered) {
      const show = () => this.store.set({ view, zoom: [0, 1], scroll: 0 });
      const attributes = { role: "tab", "aria-controls": this.content.id };
      this.buttons.set(view, button(tabs[view].label, show, { class: "tab", id: `tab-${view}`, attributes: { ...attributes, "data-label": tabs[view].label } }));
    }
    const attributes = { role: "tablist", "aria-label": "Views" };
    const bar = make("nav", { class: "tabs", attributes }, ...this.buttons.values());
    bar.addEventListener("keydown", (event) => this.stepTab(event));
    return bar;
  }

  private stepTab(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const at = this.offered.indexOf(this.shownView()) + step + this.offered.length;
    const next = this.buttons.get(this.offered[at % this.offered.length])!;
    next.click();
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  private addFilters(): void {
    const filters = makeFilterBar(this.profile, this.store);
    this.bar.append(filters.element);
    const update = () => {
      this.showView();
      filters.update(this.modelOf(this.store.state));
    };
    this.store.listen(update);
    update();
  }

  private shownView(): View {
    const { view } = this.store.state;
    return this.offered.includes(view) ? view : "flame";
  }

  private panelOf(view: View): Panel {
    let panel = this.panels.get(view);
    if (!panel) {
      panel = tabs[view].make(this.profile, this.store);
      panel.element.classList.add("view", `view-${view}`);
      this.panels.set(view, panel);
    }
    return panel;
  }

  private showView(): void {
    const view = this.shownView();
    applyTheme(this.store.state.theme);
    for (const [other, tab] of this.buttons) {
      tab.setAttribute("aria-selected", String(other === view));
      tab.tabIndex = other === view ? 0 : -1;
    }
    this.content.setAttribute("aria-labelledby", `tab-${view}`);
    const panel = this.panelOf(view);
    if (this.content.firstChild !== panel.element) this.content.replaceChildren(panel.element);
    panel.update(this.modelOf(this.store.state));
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if ((event.target as HTMLElement).matches("input, select, textarea")) return;
    if (event.key === "/") {
      document.getElementById("search")?.focus();
      event.preventDefault();
    } else if (this.panels.get(this.shownView())?.key?.(event)) {
      event.preventDefault();
    }
  }
}
