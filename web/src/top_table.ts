import type { CallTree } from "./call_tree";
import { copyText } from "./copy_text";
import { button, make, setText } from "./elements";
import { type FunctionTotals, functionTotals } from "./function_totals";
import { type MakePanel, type Panel, shownName, type ViewModel, wholeName } from "./panel";
import type { Profile } from "./profile";
import { sandwichOf, type Store } from "./state";
import { percent, quantity, withSeparators } from "./text";
import { moduleOf, nextOrder, orderOf, orderText, type TopColumn, topRows } from "./top_rows";

const rowHeight = 26;
const mostRows = 500_000; // browsers do not scroll further than some millions of pixels
const mostCopied = 20_000;
const mostPrinted = 200;

interface Column {
  key: string;
  title: string;
  sort: TopColumn;
  style: string;
  hint: string;
}

const columns: Column[] = [
  { key: "self", title: "Self", sort: "self", style: "number", hint: "while it ran itself" },
  { key: "self-share", title: "Self %", sort: "self", style: "", hint: "share of what is selected" },
  { key: "total", title: "Total", sort: "total", style: "number", hint: "with what it called; recursion counts once" },
  { key: "total-share", title: "Total %", sort: "total", style: "", hint: "share of what is selected" },
  { key: "name", title: "Function", sort: "name", style: "", hint: "" },
  { key: "module", title: "Module", sort: "module", style: "", hint: "" },
];

/** Functions with what they come to. Only the rows that are seen have elements. */
class TopTable implements Panel {
  readonly element: HTMLElement;
  private readonly count = make("span", { class: "muted", attributes: { role: "status" } });
  private readonly head = make("div", { class: "table-row table-head", attributes: { role: "row" } });
  private readonly body = make("div", { class: "table-body", attributes: { role: "rowgroup" } });
  private readonly scroller: HTMLElement;
  private readonly shownRows = new Map<number, HTMLElement>(); // by place
  private model: ViewModel | null = null;
  private totalsOf: CallTree | null = null;
  private totals: FunctionTotals | null = null;
  private rows = new Uint32Array(0);
  private rowsFor = "";
  private current = 0; // the place that the keyboard is at
  private printing = false;

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    this.makeHead();
    this.scroller = make(
      "div",
      { class: "table-scroll", attributes: { role: "grid", "aria-label": "functions" } },
      make("div", { attributes: { role: "rowgroup" } }, this.head),
      this.body,
    );
    const tools = make(
      "div",
      { class: "table-tools" },
      button("Copy table", () => void this.copy()),
      this.count,
    );
    this.element = make("div", { class: "top-table" }, tools, this.scroller);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("click", (event) => this.onClick(event));
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    addEventListener("beforeprint", () => this.showForPrint());
    addEventListener("afterprint", () => this.endPrint());
  }

  update(model: ViewModel): void {
    const first = this.model === null;
    this.model = model;
    if (this.totalsOf !== model.tree) {
      this.totalsOf = model.tree;
      this.totals = functionTotals(this.profile, model.tree);
      this.rowsFor = "";
    }
    const wanted = `${model.state.sort} ${model.state.search}`;
    if (this.rowsFor !== wanted) {
      this.rowsFor = wanted;
      this.rows = topRows(this.profile, this.totals!, model.matches, orderOf(model.state.sort));
      this.current = Math.max(this.rows.indexOf(this.selectedFunction()), 0);
      if (!first) this.scroller.scrollTop = 0;
    }
    this.showOrder();
    this.showCount();
    this.redraw();
  }

  private selectedFunction(): number {
    const { selected } = this.model!.state;
    return selected < 0 ? -1 : this.profile.names.function[selected];
  }

  private makeHead(): void {
    for (const { key, title, sort, style, hint } of columns) {
      const cell = make(
        "div",
        { class: style, title: hint, attributes: { role: "columnheader", "data-column": key } },
        button(title, () => this.sortBy(key, sort)),
      );
      this.head.append(cell);
    }
  }

  // The mark of the order is at the sums: only there does a second click turn it.
  private sortBy(key: string, column: TopColumn): void {
    const before = orderOf(this.store.state.sort);
    const order = key.endsWith("-share") ? { column, descending: true } : nextOrder(before, column);
    this.store.set({ sort: orderText(order) });
  }

  private showOrder(): void {
    const order = orderOf(this.model!.state.sort);
    columns.forEach(({ key, sort }, i) => {
      const by = sort === order.column && !key.endsWith("-share");
      this.head.children[i].setAttribute("aria-sort", by ? (order.descending ? "descending" : "ascending") : "none");
    });
  }

  private showCount(): void {
    const all = this.totals!.names.length;
    const found = this.rows.length;
    const functions = `${withSeparators(all)} ${all === 1 ? "function" : "functions"}`;
    const text = found === all ? functions : `${withSeparators(found)} of ${functions}`;
    setText(this.count, found > mostRows ? `${text}; the first ${withSeparators(mostRows)} are listed` : text);
    this.scroller.setAttribute("aria-rowcount", String(found + 1));
    this.body.style.height = `${Math.min(found, mostRows) * rowHeight}px`;
  }

  // On paper there is no scrolling: what is printed begins with the row that is seen first.
  private showForPrint(): void {
    if (!this.model || !this.element.isConnected) return;
    const from = Math.floor(this.scroller.scrollTop / rowHeight);
    const to = Math.min(from + mostPrinted, this.rows.length, mostRows);
    this.printing = true;
    for (const row of this.shownRows.values()) row.remove();
    this.shownRows.clear();
    for (let place = from; place < to; ++place) this.addRow(place, place - from);
    this.body.style.height = `${(to - from) * rowHeight}px`;
  }

  private endPrint(): void {
    if (!this.printing) return;
    this.printing = false;
    this.showCount();
    this.redraw();
  }

  private redraw(): void {
    for (const row of this.shownRows.values()) row.remove();
    this.shownRows.clear();
    if (this.rows.length === 0) this.body.replaceChildren(make("div", { class: "nothing" }, "No function matches."));
    else this.body.replaceChildren();
    this.draw();
  }

  private draw(): void {
    if (!this.model || this.printing) return;
    const spare = 12;
    const top = Math.max(this.scroller.scrollTop - this.head.offsetHeight, 0);
    const from = Math.max(Math.floor(top / rowHeight) - spare, 0);
    const seen = Math.ceil(this.scroller.clientHeight / rowHeight) + 2 * spare;
    const to = Math.min(from + seen, this.rows.length, mostRows);
    for (const [place, row] of this.shownRows) {
      if (place >= from && place < to) continue;
      if (row === document.activeElement) continue;
      row.remove();
      this.shownRows.delete(place);
    }
    for (let place = from; place < to; ++place) {
      if (!this.shownRows.has(place)) this.addRow(place);
    }
    this.placeTabStop(from, to);
  }

  // One row can be reached by the Tab key: the current one, or the first that is seen.
  private placeTabStop(from: number, to: number): void {
    const stop = this.current >= from && this.current < to ? this.current : from;
    for (const [place, row] of this.shownRows) row.tabIndex = place === stop ? 0 : -1;
  }

  // `line`: where the row is, of those that can be scrolled to.
  private addRow(place: number, line = place): void {
    const name = this.rows[place];
    const { self, total } = this.totals!;
    const whole = this.model!.selection.total;
    const unit = this.model!.unit;
    const module = moduleOf(this.profile, this.totals!, name);
    const path = this.profile.modules.path.get(module);
    const row = make(
      "div",
      {
        class: "table-row",
        attributes: {
          role: "row",
          "aria-rowindex": String(place + 2),
          "aria-selected": String(name === this.selectedFunction()),
        },
      },
      cell("number", shownWeight(self[name], unit)),
      bar("self", self[name], whole),
      cell("number", shownWeight(total[name], unit)),
      bar("total", total[name], whole),
      this.nameCell(name),
      cell("module", this.profile.modules.name.get(module), path),
    );
    row.dataset.place = String(place);
    row.style.top = `${line * rowHeight}px`;
    this.shownRows.set(place, row);
    this.body.append(row);
  }

  private nameCell(name: number): HTMLElement {
    const whole = wholeName(this.profile, name);
    const text = shownName(this.model!, name);
    return cell("name", text, whole.length > 2000 ? `${whole.slice(0, 2000)}…` : whole);
  }

  private onClick(event: MouseEvent): void {
    const row = (event.target as Element).closest<HTMLElement>(".table-row");
    if (!row) return;
    this.current = Number(row.dataset.place);
    // Who marks text to copy it does not want to leave.
    if (String(getSelection()) !== "") return;
    this.open();
  }

  private open(): void {
    if (this.rows.length > 0) this.store.set(sandwichOf(this.rows[this.current]));
  }

  private onKey(event: KeyboardEvent): void {
    if (!(event.target as Element).closest(".table-body")) return;
    const page = Math.max(Math.floor(this.scroller.clientHeight / rowHeight) - 2, 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key === "Enter") this.open();
    else if (event.key === "Home") this.go(0);
    else if (event.key === "End") this.go(this.rows.length - 1);
    else if (event.key in steps) this.go(this.current + steps[event.key]);
    else if (event.key === "c" && (event.ctrlKey || event.metaKey) && String(getSelection()) === "") {
      void copyText(this.lines([this.rows[this.current]]));
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private go(place: number): void {
    this.current = Math.min(Math.max(place, 0), Math.min(this.rows.length, mostRows) - 1);
    const top = this.current * rowHeight;
    const room = this.scroller.clientHeight - this.head.offsetHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + rowHeight > this.scroller.scrollTop + room) this.scroller.scrollTop = top + rowHeight - room;
    this.draw();
    this.shownRows.get(this.current)?.focus({ preventScroll: true });
  }

  private lines(names: ArrayLike<number>): string {
    const { self, total } = this.totals!;
    return Array.from(names, (name) => {
      const module = this.profile.modules.name.get(moduleOf(this.profile, this.totals!, name));
      return [self[name], total[name], wholeName(this.profile, name), module].join("\t");
    }).join("\n");
  }

  private async copy(): Promise<void> {
    const rows = this.rows.subarray(0, mostCopied);
    const copied = await copyText(`self\ttotal\tfunction\tmodule\n${this.lines(rows)}\n`);
    setText(this.count, copied ? `${withSeparators(rows.length)} rows copied` : "The browser does not let this page copy.");
  }
}

// The unit of counts is said once, not in each row.
function shownWeight(weight: number, unit: string): string {
  return unit === "" ? withSeparators(weight) : quantity(weight, unit);
}

function cell(style: string, text: string, title = ""): HTMLElement {
  return make("div", { class: style, title, attributes: { role: "gridcell" } }, text);
}

function bar(style: string, part: number, whole: number): HTMLElement {
  const share = whole > 0 ? part / whole : 0;
  const fill = make("i");
  fill.style.width = `${100 * share}%`;
  const made = cell(`bar ${style}`, "");
  made.append(make("span", {}, percent(part, whole)), make("div", { class: "track" }, fill));
  return made;
}

export const makeTopTable: MakePanel = (profile, store) => new TopTable(profile, store);
