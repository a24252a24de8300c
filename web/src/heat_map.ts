import { make, setText } from "./elements";
import { FlameView } from "./flame_view";
import { beginOf, cellOf, countInto, emptyGrid, type HeatGrid, rows } from "./heat_grid";
import { eachKept, timelessFilters } from "./kept_samples";
import type { MakePanel, Panel, ViewModel } from "./panel";
import type { Profile } from "./profile";
import { type Filters, sameFilters, weightColumn } from "./selection";
import type { Store } from "./state";
import { quantity } from "./text";
import { isDark, onThemeChange } from "./theme";
import { firstOffset, rangeText, timeText } from "./time_text";

const axisWidth = 58;
const axisHeight = 22;
const widestCell = 44;
const spareWidth = 40; // for the last label
const narrowestCell = 3;
const shades = 48;
// From few to many.
const ramps = {
  light: [[255, 236, 209], [247, 168, 86], [222, 84, 24], [122, 26, 12]],
  dark: [[58, 36, 22], [142, 62, 20], [240, 132, 58], [255, 229, 178]],
} as const;

function rampColor(dark: boolean, part: number): string {
  const ramp = dark ? ramps.dark : ramps.light;
  const at = Math.min(part, 0.9999) * (ramp.length - 1);
  const low = Math.floor(at);
  const mixed = ramp[low].map((channel, i) => Math.round(channel + (ramp[low + 1][i] - channel) * (at - low)));
  return `rgb(${mixed.join(" ")})`;
}

// Cells of the map from one to another, both included, in the order of time.
type Cells = [number, number];

// When samples were taken: seconds across, the offset within the second down. What is selected is state.range.
class HeatMap implements Panel {
  readonly element: HTMLElement;
  private readonly canvas = make("canvas", {
    id: "heat",
    attributes: {
      tabindex: "0",
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label":
        "Heat map of samples over time: a column a second, the offset within the second down. Drag to select a range of" +
        " time. Arrow keys move, Shift and arrow keys select, Escape clears.",
    },
  });
  private readonly axis = make("canvas", { class: "heat-axis", attributes: { "aria-hidden": "true" } });
  private readonly scroller = make("div", { class: "heat-scroll" }, this.axis, this.canvas);
  private readonly tip = make("div", { class: "heat-tip", attributes: { "aria-hidden": "true" } });
  private readonly said = make("span", { class: "muted", attributes: { role: "status" } });
  private readonly most = make("span", { class: "number" });
  private readonly scale = make("canvas", { attributes: { width: "120", height: "12", "aria-hidden": "true" } });
  private readonly flame: FlameView;
  private readonly offset: number;
  private readonly picture = document.createElement("canvas"); // the cells without what is selected
  private model: ViewModel | null = null;
  private grid: HeatGrid | null = null;
  private gridFor: Filters | null = null;
  private cellWidth = 1;
  private cellHeight = 4;
  private width = 0;
  private cursor = 0;
  private anchor = 0;
  private dragged: Cells | null = null;

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    this.offset = firstOffset(profile);
    this.flame = new FlameView(profile, store, "up", (model) => model.layout, "Flame graph of the selected time");
    this.tip.hidden = true;
    const tools = make(
      "div",
      { class: "heat-tools" },
      make("span", { class: "scale" }, "0", this.scale, this.most),
      this.said,
    );
    this.element = make(
      "div",
      { class: "heat-view" },
      make("div", { class: "heat-map" }, tools, this.scroller, this.tip),
      this.flame.element,
    );
    this.listen();
  }

  update(model: ViewModel): void {
    this.model = model;
    this.countSamples(model);
    if (document.activeElement !== this.canvas) this.takeCursor();
    this.measure();
    this.paint();
    this.show();
    this.flame.update(model);
  }

  key(event: KeyboardEvent): boolean {
    return this.flame.key(event);
  }

  private listen(): void {
    new ResizeObserver(() => {
      if (!this.measure()) return;
      this.paint();
      this.show();
    }).observe(this.scroller);
    onThemeChange(() => {
      if (!this.model || !this.element.isConnected) return;
      this.paint();
      this.show();
    });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    for (const name of ["focus", "blur"]) this.canvas.addEventListener(name, () => this.model && this.show());
  }

  // Counts what the filters keep, the range of time aside.
  private countSamples({ profile, state }: ViewModel): void {
    const filters = timelessFilters(state);
    if (this.gridFor && sameFilters(filters, this.gridFor)) return;
    this.gridFor = filters;
    const { time, count } = profile.samples;
    const grid = emptyGrid((time && count > 0 ? time[count - 1] : 0) + this.offset);
    this.grid = grid;
    const column = weightColumn(profile, filters.weight);
    eachKept(profile, filters, (row) => countInto(grid, time![row] + this.offset, column[row]));
  }

  // Whether the size changed.
  private measure(): boolean {
    const grid = this.grid;
    if (!grid || !this.element.isConnected) return false;
    const room = Math.max(this.scroller.clientWidth - axisWidth - spareWidth - 2, 100);
    const cellWidth = Math.min(Math.max(Math.floor(room / grid.columns), narrowestCell), widestCell);
    const width = cellWidth * grid.columns + spareWidth;
    const cellHeight = Math.min(Math.max(Math.floor((innerHeight * 0.3) / rows), 4), 8);
    const ratio = devicePixelRatio || 1;
    const same =
      this.cellWidth === cellWidth && this.cellHeight === cellHeight && this.canvas.width === Math.round(width * ratio);
    this.cellWidth = cellWidth;
    this.cellHeight = cellHeight;
    this.width = width;
    if (same) return false;
    for (const [canvas, size] of [[this.canvas, width], [this.picture, width], [this.axis, axisWidth]] as const) {
      canvas.width = Math.round(size * ratio);
      canvas.height = Math.round((this.mapHeight + axisHeight) * ratio);
      canvas.style.width = `${size}px`;
      canvas.style.height = `${this.mapHeight + axisHeight}px`;
    }
    return true;
  }

  private get mapHeight(): number {
    return rows * this.cellHeight;
  }

  private context(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
    const context = canvas.getContext("2d")!;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "11px system-ui, sans-serif";
    return context;
  }

  private color(name: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(name);
  }

  private dark(): boolean {
    return isDark(this.model!.state.theme);
  }

  private paint(): void {
    const grid = this.grid!;
    const context = this.context(this.picture);
    context.clearRect(0, 0, this.width, this.mapHeight + axisHeight);
    context.fillStyle = this.color("--sunken");
    context.fillRect(0, 0, this.cellWidth * grid.columns, this.mapHeight);
    const byShade: number[][] = Array.from({ length: shades }, () => []);
    for (let cell = 0; cell < grid.counts.length; ++cell) {
      const count = grid.counts[cell];
      if (count <= 0) continue;
      byShade[Math.min(Math.floor((count / grid.largest) * shades), shades - 1)].push(cell);
    }
    const gap = this.cellWidth > 5 ? 1 : 0;
    byShade.forEach((cells, shade) => {
      context.fillStyle = rampColor(this.dark(), shade / (shades - 1));
      for (const cell of cells) {
        const [x, y] = this.corner(cell);
        context.fillRect(x, y, this.cellWidth - gap, this.cellHeight - 1);
      }
    });
    this.paintSeconds(context);
    this.paintOffsets();
    this.paintScale();
  }

  private paintSeconds(context: CanvasRenderingContext2D): void {
    const grid = this.grid!;
    context.fillStyle = this.color("--muted");
    context.textBaseline = "top";
    context.textAlign = "left";
    const seconds = grid.columnTime / 1e9;
    const apart = 64 / this.cellWidth; // columns between labels, at least
    const steps = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600];
    const step = steps.find((one) => one / seconds >= apart) ?? Math.ceil(apart) * seconds;
    for (let at = 0; at < grid.columns * seconds; at += step) {
      const x = (at / seconds) * this.cellWidth;
      context.fillRect(x, this.mapHeight, 1, 4);
      context.fillText(`${at} s`, x + 3, this.mapHeight + 6);
    }
  }

  private paintOffsets(): void {
    const context = this.context(this.axis);
    const time = this.grid!.columnTime;
    context.fillStyle = this.color("--paper");
    context.fillRect(0, 0, axisWidth, this.mapHeight + axisHeight);
    context.fillStyle = this.color("--muted");
    context.textAlign = "right";
    for (let part = 0; part <= 5; ++part) {
      const y = (part / 5) * this.mapHeight;
      context.textBaseline = part === 0 ? "top" : part === 5 ? "bottom" : "middle";
      const text = time === 1e9 ? `${part * 200} ms` : `${((time / 1e9) * part) / 5} s`;
      context.fillText(text, axisWidth - 7, y);
    }
  }

  private paintScale(): void {
    const context = this.scale.getContext("2d")!;
    for (let x = 0; x < 120; ++x) {
      context.fillStyle = rampColor(this.dark(), x / 119);
      context.fillRect(x, 0, 1, 12);
    }
    setText(this.most, this.amount(this.grid!.largest));
  }

  private amount(weight: number): string {
    const counted = this.profile.facts.events[this.model!.state.event]?.counted || "samples";
    return quantity(weight, this.model!.unit, counted);
  }

  private corner(cell: number): [number, number] {
    return [Math.floor(cell / rows) * this.cellWidth, (cell % rows) * this.cellHeight];
  }

  // The cells of state.range, or those that are being dragged over.
  private selectedCells(): Cells | null {
    if (this.dragged) return this.dragged;
    const { range } = this.model!.state;
    if (!range) return null;
    const last = this.grid!.counts.length - 1;
    const within = (cell: number) => Math.min(Math.max(cell, 0), last);
    return [within(cellOf(this.grid!, range[0] + this.offset)), within(cellOf(this.grid!, range[1] + this.offset - 1))];
  }

  private show(): void {
    const context = this.context(this.canvas);
    context.clearRect(0, 0, this.width, this.mapHeight + axisHeight);
    context.drawImage(this.picture, 0, 0, this.width, this.mapHeight + axisHeight);
    const cells = this.selectedCells();
    if (cells) this.showSelected(context, cells);
    if (document.activeElement === this.canvas) {
      const [x, y] = this.corner(this.cursor);
      context.strokeStyle = this.color("--accent");
      context.lineWidth = 2;
      context.strokeRect(x - 1, y - 1, this.cellWidth + 1, this.cellHeight + 1);
    }
    const range = this.model!.state.range;
    setText(this.said, range ? `${rangeText(this.profile, range)} selected` : "Drag over the map to look at a range of time.");
  }

  // What is not selected stands back.
  private showSelected(context: CanvasRenderingContext2D, [from, to]: Cells): void {
    const [left, top] = this.corner(from);
    const [right, low] = this.corner(to);
    const bottom = low + this.cellHeight;
    const width = this.cellWidth;
    context.fillStyle = this.color("--paper");
    context.globalAlpha = 0.66;
    context.fillRect(0, 0, left, this.mapHeight);
    context.fillRect(left, 0, width, top);
    context.fillRect(right, bottom, width, this.mapHeight - bottom);
    context.fillRect(right + width, 0, this.grid!.columns * width - right - width, this.mapHeight);
    context.globalAlpha = 1;
    context.strokeStyle = this.color("--accent");
    context.lineWidth = 1.5;
    context.beginPath();
    if (left === right) {
      context.rect(left, top, width, bottom - top);
    } else {
      const corners = [
        [left, top], [left + width, top], [left + width, 0], [right + width, 0], [right + width, bottom],
        [right, bottom], [right, this.mapHeight], [left, this.mapHeight],
      ];
      corners.forEach(([x, y], i) => (i === 0 ? context.moveTo(x, y) : context.lineTo(x, y)));
      context.closePath();
    }
    context.stroke();
  }

  private cellAt(x: number, y: number): number {
    const column = Math.min(Math.max(Math.floor(x / this.cellWidth), 0), this.grid!.columns - 1);
    const row = Math.min(Math.max(Math.floor(y / this.cellHeight), 0), rows - 1);
    return column * rows + row;
  }

  private select([from, to]: Cells, keep: boolean): void {
    const grid = this.grid!;
    const range: [number, number] = [
      Math.round(beginOf(grid, from) - this.offset),
      Math.round(beginOf(grid, to) + grid.rowTime - this.offset),
    ];
    this.store.set({ range, zoom: [0, 1], scroll: 0 }, keep);
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const { canvas } = this;
    const start = event.shiftKey ? this.anchor : this.cellAt(event.offsetX, event.offsetY);
    this.anchor = start;
    canvas.setPointerCapture(event.pointerId);
    const follow = (now: PointerEvent) => {
      const here = this.cellAt(now.offsetX, now.offsetY);
      this.cursor = here;
      this.dragged = [Math.min(start, here), Math.max(start, here)];
      this.show();
    };
    const stop = (end: PointerEvent) => {
      canvas.removeEventListener("pointermove", follow);
      canvas.removeEventListener("pointerup", stop);
      canvas.removeEventListener("pointercancel", stop);
      const cells = this.dragged;
      this.dragged = null;
      if (end.type === "pointerup" && cells) this.select(cells, true);
      else this.show();
    };
    follow(event);
    canvas.addEventListener("pointermove", follow);
    canvas.addEventListener("pointerup", stop);
    canvas.addEventListener("pointercancel", stop);
  }

  private hover(event: PointerEvent): void {
    const grid = this.grid!;
    if (event.offsetY >= this.mapHeight || event.offsetX >= grid.columns * this.cellWidth) {
      this.tip.hidden = true;
      return;
    }
    const cell = this.cellAt(event.offsetX, event.offsetY);
    const begin = beginOf(grid, cell);
    const end = begin + grid.rowTime;
    setText(this.tip, `${timeText(begin, grid.rowTime / 2)} – ${timeText(end, grid.rowTime / 2)}: ${this.amount(grid.counts[cell])}`);
    this.tip.hidden = false;
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${event.clientY + 18}px`;
  }

  private onKey(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowLeft: -rows, ArrowRight: rows, ArrowUp: -1, ArrowDown: 1 };
    const last = this.grid!.counts.length - 1;
    if (event.key === "Escape") {
      this.store.set({ range: null, zoom: [0, 1], scroll: 0 });
    } else if (event.key === "Enter") {
      this.anchor = this.cursor;
      this.select([this.cursor, this.cursor], true);
    } else if (event.key in steps || event.key === "Home" || event.key === "End") {
      const next = event.key === "Home" ? 0 : event.key === "End" ? last : this.cursor + steps[event.key];
      this.cursor = Math.min(Math.max(next, 0), last);
      if (event.shiftKey) this.select([Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor)], false);
      else this.anchor = this.cursor;
      this.bringIntoView();
      this.show();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private bringIntoView(): void {
    const [x] = this.corner(this.cursor);
    const room = this.scroller.clientWidth - axisWidth;
    if (x < this.scroller.scrollLeft) this.scroller.scrollLeft = x;
    else if (x + this.cellWidth > this.scroller.scrollLeft + room) this.scroller.scrollLeft = x + this.cellWidth - room;
  }

  // The keyboard goes on where the selection ends.
  private takeCursor(): void {
    const cells = this.selectedCells();
    if (cells) [this.anchor, this.cursor] = cells;
  }
}

export const makeHeatMap: MakePanel = (profile, store) => {
  if (profile.samples.time) return new HeatMap(profile, store);
  const sentence = "This profile does not say when its samples were taken, so there is no map of them over time.";
  return { element: make("div", { class: "nothing" }, sentence), update() {} };
};
