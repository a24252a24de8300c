import { button, make, setText } from "./elements";
import type { Profile } from "./profile";
import type { Store, ViewState } from "./state";
import { choiceText, type ThreadEntry, threadEntries, threadWeights } from "./thread_choice";
import { percent } from "./text";

const mostListed = 500;

// A button that opens a list of threads with a search; any number can be chosen.
export class ThreadPicker {
  readonly element: HTMLElement;
  private readonly opener = button("all threads", () => this.toggle(), {
    id: "threads",
    attributes: { "aria-haspopup": "dialog", "aria-expanded": "false" },
  });
  private readonly search = make("input", {
    attributes: { type: "search", placeholder: "Name or number", "aria-label": "Search threads" },
  });
  private readonly byName = make("input", { id: "threads-by-name", attributes: { type: "checkbox" } });
  private readonly list = make("ul", { class: "thread-list" });
  private readonly popup: HTMLElement;
  private entries: ThreadEntry[] = [];
  private weights: Float64Array | null = null;
  private weightsFor = "";

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    this.byName.checked = true;
    const tools = make(
      "div",
      { class: "popup-tools" },
      make("label", {}, this.byName, " merge by name"),
      button("All", () => this.choose(null)),
      button("Only these", () => this.choose(this.found().flatMap((entry) => entry.rows)), {
        title: "Choose what the search finds",
      }),
    );
    this.popup = make(
      "div",
      { class: "popup", attributes: { role: "dialog", "aria-label": "Threads" } },
      this.search,
      tools,
      this.list,
    );
    this.popup.hidden = true;
    this.element = make(
      "div",
      { class: "filter-field" },
      make("label", { attributes: { for: "threads" } }, "Threads"),
      this.opener,
      this.popup,
    );
    this.search.addEventListener("input", () => this.showList());
    this.byName.addEventListener("change", () => this.showList());
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || this.popup.hidden) return;
      this.toggle();
      this.opener.focus();
      event.stopPropagation();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!this.popup.hidden && !this.element.contains(event.target as Node)) this.toggle();
    });
  }

  update(state: ViewState): void {
    setText(this.opener, shortened(choiceText(this.profile, state.threads)));
    this.opener.title = choiceText(this.profile, state.threads).slice(0, 1000);
    if (!this.popup.hidden) this.showList();
  }

  private toggle(): void {
    this.popup.hidden = !this.popup.hidden;
    this.opener.setAttribute("aria-expanded", String(!this.popup.hidden));
    if (this.popup.hidden) return;
    this.showList();
    // Within the window, wherever the button is.
    this.popup.style.left = "0";
    const over = this.popup.getBoundingClientRect().right - (document.documentElement.clientWidth - 8);
    if (over > 0) this.popup.style.left = `${-over}px`;
    this.search.focus({ preventScroll: true }); // the page stays where it is
  }

  private choose(rows: readonly number[] | null): void {
    const all = rows !== null && this.weights !== null && rows.length === this.weights.filter((sum) => sum > 0).length;
    this.store.set({ threads: all || rows?.length === 0 ? null : rows, zoom: [0, 1], scroll: 0 });
  }

  private found(): ThreadEntry[] {
    const text = this.search.value.toLowerCase();
    return this.entries.filter((entry) => entry.label.toLowerCase().includes(text));
  }

  private showList(): void {
    const { event, weight } = this.store.state;
    if (this.weightsFor !== `${event} ${weight}`) {
      this.weightsFor = `${event} ${weight}`;
      this.weights = threadWeights(this.profile, event, weight);
    }
    this.entries = threadEntries(this.profile, this.weights!, this.byName.checked);
    const whole = this.entries.reduce((sum, entry) => sum + entry.weight, 0);
    const chosen = this.store.state.threads && new Set(this.store.state.threads);
    const found = this.found();
    const focused = this.list.contains(document.activeElement) ? document.activeElement!.getAttribute("data-label") : null;
    this.list.replaceChildren(...found.slice(0, mostListed).map((entry) => this.item(entry, chosen, whole)));
    if (found.length > mostListed) {
      this.list.append(make("li", { class: "muted" }, `and ${found.length - mostListed} more; search to find them`));
    }
    if (found.length === 0) this.list.append(make("li", { class: "muted" }, "No thread matches."));
    if (focused !== null) {
      for (const box of this.list.querySelectorAll("input")) if (box.getAttribute("data-label") === focused) box.focus();
    }
  }

  private item(entry: ThreadEntry, chosen: Set<number> | null, whole: number): HTMLElement {
    const box = make("input", { attributes: { type: "checkbox", "data-label": entry.label } });
    const held = chosen ? entry.rows.filter((row) => chosen.has(row)).length : entry.rows.length;
    box.checked = chosen !== null && held === entry.rows.length;
    box.indeterminate = chosen !== null && held > 0 && held < entry.rows.length;
    box.addEventListener("change", () => this.change(entry, box.checked));
    const text = entry.rows.length > 1 ? `${entry.label} (${entry.rows.length})` : entry.label;
    return make(
      "li",
      {},
      make(
        "label",
        {},
        box,
        make("span", { class: "name", title: entry.label.slice(0, 1000) }, text.slice(0, 300)),
        make("span", { class: "number muted" }, percent(entry.weight, whole)),
      ),
    );
  }

  // The first box that is checked chooses that entry alone; the last that is cleared, all again.
  private change(entry: ThreadEntry, checked: boolean): void {
    const chosen = new Set(this.store.state.threads ?? []);
    for (const row of entry.rows) {
      if (checked) chosen.add(row);
      else chosen.delete(row);
    }
    this.choose([...chosen].sort((a, b) => a - b));
  }
}

function shortened(text: string): string {
  return text.length > 28 ? `${text.slice(0, 27)}…` : text;
}
