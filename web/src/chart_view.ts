import { make, setText } from "./elements";
import { eachKept, timelessFilters } from "./kept_samples";
import type { MakePanel, Panel, ViewModel } from "./panel";
import type { Profile } from "./profile";
import { type Filters, sameFilters, weightColumn } from "./selection";
import type { Store } from "./state";
import { percent, quantity } from "./text";
import { isDark, onThemeChange } from "./theme";
import { type ThreadEntry, threadEntries, threadWeights } from "./thread_choice";
import { firstOffset, rangeText, timeText } from "./time_text";
import { LaneWaits, waitColor } from "./waits";

const laneHeight = 22;
const waitTop = 13; // of waits, within a lane
const axisHeight = 24;
const slots = 1200; // that time is cut into
const mostLanes = 5000;

// Threads over time: a lane each, as high as it was busy, with what it waited for where single waits are known. What is
// selected is state.range and state.threads.
class ChartView implements Panel {
  readonly element: HTMLElement;
  private readonly canvas = make("canvas", {
    id: "chart",
    attributes: {
      tabindex: "0",
      role: "application",
      "aria-roledescription": "chart",
      "aria-label":
        "Threads over time, a lane each. Drag to select a range of time, click a name to choose the thread. Up and down" +
        " move between threads, Enter chooses, Shift with left and right selects time, Escape clears.",
    },
  });
  private readonly space = make("div", { class: "chart-space" }, this.canvas);
  private readonly scroller = make("div", { class: "chart-scroll" }, this.space);
  private readonly said = make("span", { class: "muted", attributes: { role: "status" } });
  private readonly tip = make("div", { class: "heat-tip", attributes: { "aria-hidden": "true" } });
  private readonly legend = make("span", { class: "wait-legend" });
  private readonly told = make("div", { class: "wait-told", attributes: { role: "status" } });
  private readonly offset: number;
  private readonly end: number; // of time
  private model: ViewModel | null = null;
  private countedFor: Filters | null = null;
  private lanes: ThreadEntry[] = [];
  private laneOf = new Int32Array(0); // by thread
  private waits: LaneWaits | null = null;
  private chosenWait = -1;
  private counts: Float64Array[] = []; // by lane and slot
  private largest = 0;
  private width = 0;
  private height = 0;
  private cursor: [lane: number, slot: number] = [0, 0];
  private anchor = 0;
  private dragged: [number, number] | null = null;

  constructor(
    private readonly profile: Profile,
    private readonly store: Store,
  ) {
    const time = profile.samples.time!;
    this.offset = firstOffset(profile);
    this.end = Math.max(time.length > 0 ? time[time.length - 1] + 1 : 1, lastEnd(profile), 1);
    this.tip.hidden = true;
    this.told.hidden = true;
    this.element = make(
      "div",
      { class: "chart" },
      make("div", { class: "table-tools" }, this.said, this.legend),
      this.scroller,
      this.told,
      this.tip,
    );
    this.listen();
  }

  update(model: ViewModel): void {
    this.model = model;
    this.count(model);
    this.showLegend();
    this.draw();
  }

  private listen(): void {
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    onThemeChange(() => this.draw());
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    for (const name of ["focus", "blur"]) this.canvas.addEventListener(name, () => this.draw());
  }

  // Which threads are chosen does not change what is counted: the others stand back.
  private count({ profile, state }: ViewModel): void {
    const filters = { ...timelessFilters(state), threads: null };
    if (this.countedFor && sameFilters(filters, this.countedFor)) return;
    this.countedFor = filters;
    this.lanes = threadEntries(profile, threadWeights(profile, state.event, state.weight), false).slice(0, mostLanes);
    this.addWaitingLanes();
    this.laneOf = new Int32Array(profile.threads.count).fill(-1);
    this.lanes.forEach((lane, i) => lane.rows.forEach((row) => (this.laneOf[row] = i)));
    this.waits = profile.waits && new LaneWaits(profile, profile.waits, this.laneOf, this.lanes.length);
    this.counts = this.lanes.map(() => new Float64Array(slots));
    this.largest = 0;
    // Waits are drawn one by one; as sums at the moment they began they would only hide that.
    if (this.waits && state.event === profile.facts.wait_event) return this.grow();
    const column = weightColumn(profile, state.weight);
    const { thread, time } = profile.samples;
    eachKept(profile, filters, (row) => {
      const lane = this.laneOf[thread[row]];
      if (lane < 0) return;
      const slot = this.slotOf(time![row]);
      const sum = (this.counts[lane][slot] += column[row]);
      if (sum > this.largest) this.largest = sum;
    });
    this.grow();
  }

  private grow(): void {
    this.space.style.height = `${this.lanes.length * laneHeight + axisHeight}px`;
  }

  private slotOf(time: number): number {
    return Math.min(Math.max(Math.floor((time / this.end) * slots), 0), slots - 1);
  }

  private get labelWidth(): number {
    return Math.min(Math.max(this.width * 0.2, 90), 240);
  }

  private xOf(time: number): number {
    return this.labelWidth + (time / this.end) * (this.width - this.labelWidth);
  }

  private timeAt(x: number): number {
    const part = (x - this.labelWidth) / (this.width - this.labelWidth);
    return Math.min(Math.max(part, 0), 1) * this.end;
  }

  private laneAt(y: number): number {
    const lane = Math.floor((y - axisHeight + this.scroller.scrollTop) / laneHeight);
    return y >= axisHeight && lane >= 0 && lane < this.lanes.length ? lane : -1;
  }

  private draw(): void {
    if (!this.model || !this.element.isConnected) return;
    this.width = this.scroller.clientWidth;
    this.height = Math.min(this.scroller.clientHeight, this.lanes.length * laneHeight + axisHeight);
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.width = `${this.width}px`;
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name);
    const first = Math.floor(this.scroller.scrollTop / laneHeight);
    const last = Math.min(first + Math.ceil(this.height / laneHeight) + 1, this.lanes.length);
    for (let lane = first; lane < last; ++lane) this.drawLane(context, lane, color);
    this.drawAxis(context, color);
    this.drawRange(context, color);
    const range = this.model.state.range;
    setText(this.said, range ? `${rangeText(this.profile, range)} selected` : "Drag to select a range of time, click a name to choose its thread.");
  }

  private drawLane(context: CanvasRenderingContext2D, lane: number, color: (name: string) => string): void {
    const top = axisHeight + lane * laneHeight - this.scroller.scrollTop;
    const { threads } = this.model!.state;
    const chosen = !threads || this.lanes[lane].rows.some((row) => threads.includes(row));
    const focused = document.activeElement === this.canvas && this.cursor[0] === lane;
    context.fillStyle = color(focused ? "--accent-soft" : lane % 2 === 0 ? "--paper" : "--sunken");
    context.fillRect(0, top, this.width, laneHeight);
    context.globalAlpha = chosen ? 1 : 0.35;
    this.drawWaits(context, lane, top);
    context.fillStyle = color("--bar-self");
    const step = (this.width - this.labelWidth) / slots;
    this.counts[lane].forEach((count, slot) => {
      if (count <= 0) return;
      const height = Math.max((count / this.largest) * (laneHeight - 3), 2);
      context.fillRect(this.labelWidth + slot * step, top + laneHeight - 1 - height, Math.max(step, 1), height);
    });
    context.fillStyle = color(chosen ? "--text" : "--muted");
    context.save();
    context.beginPath();
    context.rect(0, top, this.labelWidth - 6, laneHeight);
    context.clip();
    context.fillText(this.lanes[lane].label.slice(0, 100), 16, top + laneHeight / 2);
    context.restore();
    context.globalAlpha = 1;
  }

  // Along the foot of the lane, so that what ran meanwhile is seen above.
  private drawWaits(context: CanvasRenderingContext2D, lane: number, top: number): void {
    if (!this.waits) return;
    const { begin, length } = this.profile.waits!;
    const dark = isDark(this.model!.state.theme);
    for (const row of this.waits.of(lane)) {
      const from = this.xOf(begin[row]);
      const wide = Math.max(this.xOf(begin[row] + length[row]) - from, 1);
      context.fillStyle = waitColor(this.waits.kind(row), dark);
      context.fillRect(from, top + waitTop, wide, laneHeight - waitTop - 2);
      if (row !== this.chosenWait) continue;
      context.strokeStyle = context.fillStyle;
      context.lineWidth = 2;
      context.strokeRect(from - 1, top + 1, wide + 2, laneHeight - 2);
    }
  }

  private showLegend(): void {
    const kinds = this.waits?.kinds ?? [];
    const dark = isDark(this.model!.state.theme);
    this.legend.replaceChildren(
      ...kinds.map((kind) => {
        const mark = make("i", { class: "wait-mark" });
        mark.style.background = waitColor(kind, dark);
        return make("span", {}, mark, kind);
      }),
    );
  }

  // Threads that only waited have no weight of another event.
  private addWaitingLanes(): void {
    const { waits } = this.profile;
    if (!waits) return;
    const shown = new Set(this.lanes.flatMap((lane) => lane.rows));
    const sums = new Float64Array(this.profile.threads.count);
    for (let row = 0; row < waits.count; ++row) {
      if (!shown.has(waits.thread[row])) sums[waits.thread[row]] += waits.length[row];
    }
    const more = threadEntries(this.profile, sums, false).filter((lane) => lane.rows.every((row) => !shown.has(row)));
    this.lanes.push(...more.map((lane) => ({ ...lane, weight: 0 })).slice(0, mostLanes - this.lanes.length));
  }

  private waitAt(lane: number, x: number): number {
    if (!this.waits || lane < 0 || x < this.labelWidth) return -1;
    return this.waits.at(lane, this.timeAt(x), (3 * this.end) / Math.max(this.width - this.labelWidth, 1));
  }

  // Tells of a wait below the lanes; -1: of none.
  private tellWait(row: number): void {
    this.chosenWait = row;
    this.told.hidden = row < 0;
    if (row < 0 || !this.waits) return;
    const lane = this.lanes[this.laneOf[this.profile.waits!.thread[row]]];
    this.told.replaceChildren(
      make("p", {}, make("b", {}, lane.label.slice(0, 300)), ` ${this.waits.line(row, this.offset)}`),
      make("ol", {}, ...this.waits.frames(row).map((name) => make("li", {}, name.slice(0, 500)))),
    );
  }

  private drawAxis(context: CanvasRenderingContext2D, color: (name: string) => string): void {
    context.fillStyle = color("--paper");
    context.fillRect(0, 0, this.width, axisHeight);
    context.fillStyle = color("--muted");
    const seconds = this.end / 1e9;
    const about = (seconds * 80) / Math.max(this.width - this.labelWidth, 80);
    const power = 10 ** Math.floor(Math.log10(about));
    const step = power * ([1, 2, 5, 10].find((one) => one * power >= about) ?? 10);
    const first = Math.ceil(this.offset / 1e9 / step) * step;
    for (let at = first; at * 1e9 - this.offset <= this.end; at += step) {
      const x = this.xOf(at * 1e9 - this.offset);
      context.fillRect(x, axisHeight - 5, 1, 5);
      if (x + 50 < this.width) context.fillText(timeText(at * 1e9, step * 1e9), x + 3, axisHeight / 2 - 2);
    }
  }

  private drawRange(context: CanvasRenderingContext2D, color: (name: string) => string): void {
    const range = this.dragged ?? this.model!.state.range;
    if (!range) return;
    const [from, to] = [this.xOf(Math.max(range[0], 0)), this.xOf(Math.min(range[1], this.end))];
    context.globalAlpha = 0.66;
    context.fillStyle = color("--paper");
    context.fillRect(this.labelWidth, axisHeight, from - this.labelWidth, this.height);
    context.fillRect(to, axisHeight, this.width - to, this.height);
    context.globalAlpha = 1;
    context.fillStyle = color("--accent");
    context.fillRect(from - 1, 0, 1.5, this.height);
    context.fillRect(to, 0, 1.5, this.height);
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    if (event.offsetX < this.labelWidth) return this.choose(this.laneAt(event.offsetY));
    const { canvas } = this;
    const start = this.timeAt(event.offsetX);
    canvas.setPointerCapture(event.pointerId);
    const follow = (now: PointerEvent) => {
      const here = this.timeAt(now.offsetX);
      this.dragged = [Math.round(Math.min(start, here)), Math.round(Math.max(start, here))];
      this.draw();
    };
    const stop = (end: PointerEvent) => {
      canvas.removeEventListener("pointermove", follow);
      canvas.removeEventListener("pointerup", stop);
      canvas.removeEventListener("pointercancel", stop);
      const range = this.dragged;
      this.dragged = null;
      const wide = range !== null && this.xOf(range[1]) - this.xOf(range[0]) >= 2;
      if (end.type === "pointerup" && wide) return this.store.set({ range, zoom: [0, 1], scroll: 0 });
      if (end.type === "pointerup") this.tellWait(this.waitAt(this.laneAt(end.offsetY), end.offsetX));
      this.draw();
    };
    canvas.addEventListener("pointermove", follow);
    canvas.addEventListener("pointerup", stop);
    canvas.addEventListener("pointercancel", stop);
  }

  // Chooses a thread, or leaves it out again.
  private choose(lane: number): void {
    if (lane < 0) return;
    const chosen = new Set(this.model!.state.threads ?? []);
    const { rows } = this.lanes[lane];
    const held = rows.every((row) => chosen.has(row));
    for (const row of rows) {
      if (held) chosen.delete(row);
      else chosen.add(row);
    }
    const threads = chosen.size === 0 ? null : [...chosen].sort((a, b) => a - b);
    this.store.set({ threads, zoom: [0, 1], scroll: 0 });
  }

  private hover(event: PointerEvent): void {
    const lane = this.laneAt(event.offsetY);
    this.tip.hidden = lane < 0;
    if (lane < 0) return;
    const { state, unit } = this.model!;
    const counted = this.profile.facts.events[state.event]?.counted || "samples";
    const all = this.lanes.reduce((sum, one) => sum + one.weight, 0);
    let text = `${this.lanes[lane].label.slice(0, 300)}: ${percent(this.lanes[lane].weight, all)}`;
    if (event.offsetX >= this.labelWidth) {
      const time = this.timeAt(event.offsetX);
      const count = this.counts[lane][this.slotOf(time)];
      text += ` · at ${timeText(time + this.offset)}: ${quantity(count, unit, counted)}`;
      const wait = this.waitAt(lane, event.offsetX);
      if (wait >= 0) text += ` · ${this.waits!.line(wait, this.offset)}`;
    }
    setText(this.tip, text);
    const left = Math.min(event.clientX + 14, document.documentElement.clientWidth - this.tip.offsetWidth - 8);
    this.tip.style.left = `${left}px`;
    this.tip.style.top = `${event.clientY + 18}px`;
  }

  private onKey(event: KeyboardEvent): void {
    const [lane, slot] = this.cursor;
    const within = (value: number, most: number) => Math.min(Math.max(value, 0), most);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      this.cursor = [within(lane + (event.key === "ArrowDown" ? 1 : -1), this.lanes.length - 1), slot];
      this.bringIntoView();
    } else if (event.key === "Enter" || event.key === " ") {
      this.choose(lane);
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const step = slots / 60;
      if (!event.shiftKey) this.anchor = within(slot + (event.key === "ArrowRight" ? step : -step), slots);
      this.cursor = [lane, within(slot + (event.key === "ArrowRight" ? step : -step), slots)];
      if (event.shiftKey && this.anchor !== this.cursor[1]) this.selectSlots(this.anchor, this.cursor[1]);
    } else if (event.key === "Escape") {
      this.store.set({ range: null, zoom: [0, 1], scroll: 0 });
    } else return;
    this.draw();
    event.preventDefault();
    event.stopPropagation();
  }

  private selectSlots(a: number, b: number): void {
    const time = (slot: number) => Math.round((slot / slots) * this.end);
    this.store.set({ range: [time(Math.min(a, b)), time(Math.max(a, b))], zoom: [0, 1], scroll: 0 }, false);
  }

  private bringIntoView(): void {
    const top = this.cursor[0] * laneHeight;
    const room = this.scroller.clientHeight - axisHeight;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + laneHeight > this.scroller.scrollTop + room) this.scroller.scrollTop = top + laneHeight - room;
  }
}

function lastEnd({ waits }: Profile): number {
  let end = 0;
  for (let row = 0; row < (waits?.count ?? 0); ++row) end = Math.max(end, waits!.begin[row] + waits!.length[row]);
  return end;
}

export const makeChart: MakePanel = (profile, store) => {
  if (profile.samples.time) return new ChartView(profile, store);
  const sentence = "This profile does not say when its samples were taken, so its threads cannot be shown over time.";
  return { element: make("div", { class: "nothing" }, sentence), update() {} };
};
