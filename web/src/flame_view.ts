// Flame, icicle and bottom-up graphs on a canvas. Only what is seen is drawn, at most one box a pixel, so that the cost of
// a picture depends on the screen and not on the profile.

import { noFrame, type CallTree } from "./call_tree";
import { blended, isLight, palette, pixel, toneColor, type Palette } from "./colors";
import { firstEndingAfter, nodeAt, type Layout } from "./layout";
import { type MakePanel, type Panel, shownName, type ViewModel, wholeName } from "./panel";
import { Kind, type Profile } from "./profile";
import { colorings, sandwichOf, type Coloring, type Store } from "./state";
import { percent, quantity, withSeparators } from "./text";
import { isDark, onThemeChange } from "./theme";

export type Direction = "up" | "down"; // where callees are

export const rowHeight = 18;
const font = "12px system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Verdana, sans-serif";
const textInset = 4;
const frameGap = 0.8;
const darkText = "#1d1d1f";
const lightText = "#f2f2f5";
const hitColor = pixel(0xe1, 0x5b, 0xe8);
const lightGround = pixel(0xfd, 0xfc, 0xfa);
const darkGround = pixel(0x1b, 0x1b, 0x1f);
const narrowestZoom = 1e-9; // of the whole width

export const makeFlame: MakePanel = (profile, store) =>
  new FlameView(profile, store, "up", (model) => model.layout, "Flame graph");
export const makeIcicle: MakePanel = (profile, store) =>
  new FlameView(profile, store, "down", (model) => model.layout, "Icicle graph");
export const makeBottomUp: MakePanel = (profile, store) =>
  new FlameView(profile, store, "down", (model) => model.bottomUpLayout, "Bottom-up graph");

declare global {
  interface Window {
    tephraFirstPicture?: number; // milliseconds from the start of the page to the first picture
  }
}

function make<K extends keyof HTMLElementTagNameMap>(tag: K, className: string): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  element.className = className;
  return element;
}

export class FlameView implements Panel {
  readonly element = make("section", "flame");
  private readonly bar = make("div", "flame-bar");
  private readonly matched = make("output", "matched");
  private readonly dropped = make("span", "dropped");
  private readonly reset = make("button", "reset");
  private readonly coloring = make("select", "coloring");
  private readonly area = make("div", "flame-area");
  private readonly canvas = make("canvas", "flame-canvas");
  private readonly tip = make("div", "tip");
  private readonly live = make("div", "live");
  private readonly legend = make("div", "legend");
  private readonly context: CanvasRenderingContext2D;
  private image = new ImageData(1, 1);
  private pixels = new Uint32Array(1); // of the image
  private line = new Uint32Array(1); // of one row of boxes
  private readonly texts: number[] = []; // to be drawn: name, left, right, top and ground of each

  private model: ViewModel | null = null;
  private place: Layout | null = null;
  private colors: Palette | null = null;
  private coloringUsed = "";
  private textWidth: Float32Array; // of shown names, 0: not measured yet
  private wholeNames = false;
  private width = 0; // of the canvas, in CSS pixels
  private height = 0;
  // What is seen: from and to, as shares of the whole width; and how many rows are scrolled away.
  private from = 0;
  private to = 1;
  private scroll = 0;
  private hovered = -1;
  private focused = -1;
  private frameWanted = 0;
  private saveTimer = 0;
  private animation = 0;

  constructor(
    private readonly profile: Profile,
    private readonly store: Pick<Store, "set">,
    private readonly direction: Direction,
    private readonly layoutOf: (model: ViewModel) => Layout,
    label: string,
  ) {
    this.context = this.canvas.getContext("2d", { alpha: false, willReadFrequently: true })!;
    this.textWidth = new Float32Array(profile.names.count);
    this.build(label);
    this.listen();
  }

  update(model: ViewModel): void {
    const place = this.layoutOf(model);
    const fresh = place !== this.place;
    this.model = model;
    this.place = place;
    if (this.wholeNames !== model.state.wholeNames) {
      this.wholeNames = model.state.wholeNames;
      this.textWidth.fill(0);
    }
    if (fresh) {
      this.hovered = -1;
      this.focused = -1;
      this.stopAnimation();
    }
    const { zoom, scroll } = model.state;
    const saving = this.saveTimer !== 0 && !fresh;
    if (!saving && (fresh || zoom[0] !== this.from || zoom[1] !== this.to || scroll !== this.scroll)) {
      const first = this.width === 0;
      if (fresh || first) [this.from, this.to, this.scroll] = [zoom[0], zoom[1], scroll];
      else this.moveTo(zoom[0], zoom[1], scroll);
    }
    this.measure();
    this.tellAround();
    this.draw();
  }

  key(event: KeyboardEvent): boolean {
    if (!this.place) return false;
    const { tree } = this.place;
    const node = this.focused;
    const outward = this.direction === "up" ? "ArrowUp" : "ArrowDown";
    const inward = this.direction === "up" ? "ArrowDown" : "ArrowUp";
    switch (event.key) {
      case outward:
        this.focusNode(node < 0 ? 0 : widestChild(tree, node));
        return true;
      case inward:
        this.focusNode(node <= 0 ? 0 : tree.parent[node]);
        return true;
      case "ArrowLeft":
      case "ArrowRight":
        this.focusNode(node < 0 ? 0 : this.neighbour(node, event.key === "ArrowRight" ? 1 : -1));
        return true;
      case "Home":
        this.focusNode(0);
        return true;
      case "Enter":
        if (node < 0) return false;
        if (event.shiftKey) this.openSandwich(node);
        else this.zoomTo(node);
        return true;
      case "Escape":
        this.resetZoom();
        return true;
      case "+":
      case "=":
        this.zoomBy(0.6, 0.5);
        return true;
      case "-":
        this.zoomBy(1 / 0.6, 0.5);
        return true;
      case "PageUp":
      case "PageDown": {
        const page = Math.max(Math.floor(this.height / rowHeight) - 1, 1);
        const down = event.key === "PageDown";
        this.scrollTo(this.scroll + (down === (this.direction === "down") ? page : -page));
        return true;
      }
      default:
        return false;
    }
  }

  private build(label: string): void {
    this.reset.type = "button";
    this.reset.textContent = "Reset zoom";
    this.reset.title = "Show the whole graph (Esc)";
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "application");
    this.canvas.setAttribute("aria-roledescription", "graph");
    this.canvas.setAttribute(
      "aria-label",
      `${label}. Arrow keys move between frames, Enter zooms, Shift and Enter opens the sandwich, Escape resets, slash searches.`,
    );
    this.live.setAttribute("aria-live", "polite");
    this.tip.setAttribute("aria-hidden", "true");
    this.tip.hidden = true;
    const names: Record<Coloring, string> = { kind: "Kind of code", module: "Module", name: "Name" };
    for (const value of colorings) this.coloring.append(new Option(names[value], value));
    const colorLabel = make("label", "coloring-label");
    colorLabel.append("Colours ", this.coloring);
    this.bar.append(this.matched, this.dropped, this.reset, this.legend, colorLabel);
    this.area.append(this.canvas, this.tip);
    this.element.append(this.bar, this.area, this.live);
  }

  private listen(): void {
    new ResizeObserver(() => {
      if (!this.measure()) return;
      this.tellAround();
      this.draw();
    }).observe(this.area);
    onThemeChange(() => {
      if (!this.model || !this.element.isConnected) return;
      this.tellAround();
      this.draw();
    });
    this.reset.addEventListener("click", () => this.resetZoom());
    this.coloring.addEventListener("change", () => this.store.set({ colors: this.coloring.value as Coloring }));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => this.press(event));
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.setHovered(-1));
    this.canvas.addEventListener("dblclick", () => this.resetZoom());
    this.canvas.addEventListener("blur", () => this.setFocused(-1));
  }

  // Whether the size of the canvas changed.
  private measure(): boolean {
    if (!this.place || !this.area.isConnected) return false;
    const width = this.area.clientWidth;
    const room = this.area.clientHeight;
    const height = Math.min(Math.max(room, rowHeight * 3), this.place.rows * rowHeight);
    const ratio = devicePixelRatio || 1;
    const changed = this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio);
    this.width = width;
    this.height = height;
    if (changed) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    this.scroll = this.scrollWithin(this.scroll);
    return changed;
  }

  private scrollWithin(scroll: number): number {
    const most = this.place ? Math.max(this.place.rows - Math.floor(this.height / rowHeight), 0) : 0;
    return Math.min(Math.max(Math.round(scroll), 0), most);
  }

  // --- What is seen

  private rowTop(row: number): number {
    const fromBase = (row - this.scroll) * rowHeight;
    return this.direction === "down" ? fromBase : this.height - fromBase - rowHeight;
  }

  private rowAt(y: number): number {
    const fromBase = this.direction === "down" ? y : this.height - y;
    return Math.floor(fromBase / rowHeight) + this.scroll;
  }

  private nodeAtPoint(x: number, y: number): number {
    if (!this.place || this.place.total === 0) return -1;
    const share = this.from + (x / this.width) * (this.to - this.from);
    return nodeAt(this.place, this.rowAt(y), share * this.place.total);
  }

  private setSeen(from: number, to: number): void {
    const size = Math.min(Math.max(to - from, narrowestZoom), 1);
    this.from = Math.min(Math.max(from, 0), 1 - size);
    this.to = this.from + size;
  }

  private zoomBy(factor: number, at: number): void {
    this.stopAnimation();
    const size = this.to - this.from;
    const centre = this.from + at * size;
    const next = Math.min(Math.max(size * factor, narrowestZoom), 1);
    this.setSeen(centre - at * next, centre + (1 - at) * next);
    this.changed();
  }

  private scrollTo(row: number): void {
    this.scroll = this.scrollWithin(row);
    this.changed();
  }

  // Draws, and writes the address once things are quiet.
  private changed(): void {
    this.wantFrame();
    clearTimeout(this.saveTimer);
    this.saveTimer = window.setTimeout(() => {
      this.saveTimer = 0;
      this.store.set({ zoom: this.rounded(this.from, this.to), scroll: this.scroll }, false);
    }, 200);
  }

  // As the address holds it, so that reading it again changes nothing.
  private rounded(from: number, to: number): [number, number] {
    return [Number(from.toPrecision(9)), Number(to.toPrecision(9))];
  }

  private zoomTo(node: number): void {
    const { tree, x, total } = this.place!;
    if (total === 0) return;
    const [from, to] = this.rounded(x[node] / total, (x[node] + tree.total[node]) / total);
    const seen = Math.floor(this.height / rowHeight);
    const row = tree.depth[node];
    const scroll = row < this.scroll || row >= this.scroll + seen - 2 ? this.scrollWithin(row - 2) : this.scroll;
    if (from < to) this.store.set({ zoom: [from, to], scroll });
  }

  private resetZoom(): void {
    this.store.set({ zoom: [0, 1], scroll: 0 });
  }

  private openSandwich(node: number): void {
    if (node !== 0) this.store.set(sandwichOf(this.place!.tree.name[node]));
  }

  private moveTo(from: number, to: number, scroll: number): void {
    this.scroll = this.scrollWithin(scroll);
    this.stopAnimation();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.setSeen(from, to);
      return this.wantFrame();
    }
    const start = performance.now();
    const [fromBefore, toBefore] = [this.from, this.to];
    const step = (now: number) => {
      const part = Math.min((now - start) / 160, 1);
      const eased = 1 - (1 - part) ** 3;
      this.setSeen(fromBefore + (from - fromBefore) * eased, toBefore + (to - toBefore) * eased);
      if (part === 1) [this.from, this.to] = [from, to];
      this.draw();
      this.animation = part < 1 ? requestAnimationFrame(step) : 0;
    };
    this.animation = requestAnimationFrame(step);
  }

  private stopAnimation(): void {
    cancelAnimationFrame(this.animation);
    this.animation = 0;
  }

  // --- Pointer

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? this.height : 1;
    const [dx, dy] = event.shiftKey ? [event.deltaY || event.deltaX, 0] : [event.deltaX, event.deltaY];
    if (dx !== 0 && Math.abs(dx) > Math.abs(dy)) {
      this.stopAnimation();
      const shift = ((dx * pixels) / this.width) * (this.to - this.from);
      this.setSeen(this.from + shift, this.to + shift);
      this.changed();
    } else if (dy !== 0) {
      this.zoomBy(Math.exp(Math.min(Math.max(dy * pixels, -200), 200) * 0.004), event.offsetX / this.width);
    }
    this.setHovered(this.nodeAtPoint(event.offsetX, event.offsetY), event);
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const start = { x: event.clientX, y: event.clientY, from: this.from, to: this.to, scroll: this.scroll };
    const { canvas } = this;
    let dragged = false;
    const move = (now: PointerEvent) => {
      const dx = now.clientX - start.x;
      const dy = now.clientY - start.y;
      if (!dragged && Math.hypot(dx, dy) < 4) return;
      dragged = true;
      this.stopAnimation();
      canvas.classList.add("dragging");
      this.setHovered(-1);
      const shift = (dx / this.width) * (start.to - start.from);
      this.setSeen(start.from - shift, start.to - shift);
      const rows = (this.direction === "down" ? -dy : dy) / rowHeight;
      this.scroll = this.scrollWithin(start.scroll + rows);
      this.changed();
    };
    const stop = (end: PointerEvent) => {
      canvas.removeEventListener("pointermove", move);
      canvas.removeEventListener("pointerup", stop);
      canvas.removeEventListener("pointercancel", stop);
      canvas.classList.remove("dragging");
      if (dragged || end.type === "pointercancel") return;
      const node = this.nodeAtPoint(end.offsetX, end.offsetY);
      if (node < 0) return;
      if (end.shiftKey) this.openSandwich(node);
      else this.zoomTo(node);
    };
    canvas.setPointerCapture(event.pointerId);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", stop);
    canvas.addEventListener("pointercancel", stop);
  }

  private hover(event: PointerEvent): void {
    if (!this.canvas.classList.contains("dragging")) {
      this.setHovered(this.nodeAtPoint(event.offsetX, event.offsetY), event);
    }
  }

  private setHovered(node: number, at?: MouseEvent): void {
    if (node !== this.hovered) {
      this.hovered = node;
      this.wantFrame();
      this.tip.hidden = node < 0;
      if (node >= 0) this.fillTip(node);
    }
    if (node >= 0 && at) this.placeTip(at.offsetX, at.offsetY);
  }

  private placeTip(x: number, y: number): void {
    const { offsetWidth, offsetHeight } = this.tip;
    const left = Math.max(Math.min(x + 14, this.width - offsetWidth - 4), 4);
    const here = this.canvas.offsetTop + y;
    const below = here + 18;
    const top = below + offsetHeight > this.area.clientHeight ? Math.max(here - offsetHeight - 8, 0) : below;
    this.tip.style.transform = `translate(${left}px, ${top}px)`;
  }

  private fillTip(node: number): void {
    const [name, ...more] = this.describe(node);
    const head = make("strong", "tip-name");
    head.textContent = name;
    this.tip.replaceChildren(head);
    for (const line of more) {
      const element = make("div", "tip-line");
      element.textContent = line;
      this.tip.append(element);
    }
  }

  // The name of a node, its weights and where its code is, one a line.
  private describe(node: number): string[] {
    const { tree, total } = this.place!;
    const { profile } = this;
    const model = this.model!;
    const counted = profile.facts.events[model.state.event]?.counted || "samples";
    const name = tree.name[node];
    const lines = [wholeName(profile, name)];
    const self = tree.self[node];
    let weights = `${quantity(tree.total[node], model.unit, counted)}, ${percent(tree.total[node], total)} of all`;
    if (self > 0) weights += ` (self ${percent(self, total)})`;
    lines.push(weights);
    const where = this.whereIs(name, tree.frame[node]);
    if (where) lines.push(where);
    return lines;
  }

  private whereIs(name: number, frame: number): string {
    const { frames, modules, files, names } = this.profile;
    const parts: string[] = [];
    if (frame !== noFrame && frames.module[frame] !== 0) parts.push(modules.name.get(frames.module[frame]));
    if (frame !== noFrame && frames.file[frame] !== 0) {
      const [first, last] = [frames.firstLine[frame], frames.lastLine[frame]];
      const lines = first === 0 ? "" : first === last ? `:${first}` : `:${first}–${last}`;
      parts.push(files.get(frames.file[frame]) + lines);
    }
    if (names.inlined[name]) parts.push("inlined");
    if (names.kind[name] === Kind.Kernel) parts.push("kernel");
    if (names.kind[name] === Kind.Jit) parts.push("generated code");
    return parts.join(" · ");
  }

  // --- Keyboard

  private setFocused(node: number): void {
    if (node === this.focused) return;
    this.focused = node;
    this.live.textContent = node < 0 ? "" : this.describe(node).join(", ");
    this.wantFrame();
  }

  private focusNode(node: number): void {
    if (document.activeElement !== this.canvas) this.canvas.focus({ preventScroll: true });
    this.setFocused(node);
    this.bringIntoView(node);
  }

  private bringIntoView(node: number): void {
    const { tree, x, total } = this.place!;
    const row = tree.depth[node];
    const seen = Math.floor(this.height / rowHeight);
    if (row < this.scroll) this.scrollTo(row);
    if (row >= this.scroll + seen) this.scrollTo(row - seen + 1);
    const from = x[node] / total;
    const to = (x[node] + tree.total[node]) / total;
    if (to > this.from && from < this.to) return;
    const size = this.to - this.from;
    const centre = (from + to) / 2;
    this.setSeen(centre - size / 2, centre + size / 2);
    this.changed();
  }

  // The next box of the same row; the node itself at the end of it.
  private neighbour(node: number, step: number): number {
    const place = this.place!;
    const row = place.tree.depth[node];
    const at = firstEndingAfter(place, row, place.x[node]) + step;
    return at >= place.rowStart[row] && at < place.rowStart[row + 1] ? place.nodes[at] : node;
  }

  // --- Around the picture

  private tellAround(): void {
    const model = this.model!;
    const { selection, state } = model;
    this.reset.hidden = state.zoom[0] === 0 && state.zoom[1] === 1 && state.scroll === 0;
    this.coloring.value = state.colors;
    this.matched.hidden = !model.matches;
    if (model.matches) {
      const found = matchedWeight(this.profile, this.place!.tree, model.matches);
      this.matched.textContent = `matched ${percent(found, selection.total)}`;
    }
    const { whole, total } = selection;
    const cut = this.place!.tree.cutDepth;
    const notes: string[] = [];
    if (total < whole) notes.push(`${percent(total, whole)} of ${quantity(whole, model.unit)} selected`);
    if (cut > 0) notes.push(`frames beyond ${withSeparators(cut)} levels are not shown`);
    if (total === 0) notes.push("nothing is selected");
    const { rows } = this.place!;
    if (rows * rowHeight > this.height + 1) notes.push(`${withSeparators(rows)} levels: drag, or Page up and down`);
    this.dropped.textContent = notes.join(" · ");
    this.usePalette();
  }

  private isDark(): boolean {
    return isDark(this.model!.state.theme);
  }

  private usePalette(): void {
    const { colors } = this.model!.state;
    const wanted = `${colors} ${this.isDark()}`;
    if (wanted === this.coloringUsed) return;
    this.coloringUsed = wanted;
    this.colors = palette(this.profile, colors, this.isDark());
    this.legend.replaceChildren();
    const tones = this.profile.facts.tones.filter((tone) => tone.meaning !== "");
    if (colors !== "kind" || tones.length < 2) return;
    for (const tone of tones) {
      const entry = make("span", "legend-entry");
      const mark = make("span", "legend-mark");
      mark.style.background = toneColor(tone, this.isDark());
      entry.append(mark, tone.meaning);
      this.legend.append(entry);
    }
  }

  // --- Drawing

  private wantFrame(): void {
    if (this.frameWanted !== 0) return;
    this.frameWanted = requestAnimationFrame(() => {
      this.frameWanted = 0;
      this.draw();
    });
  }

  // Boxes are painted into an image, a row at a time: one line of pixels is made and copied down. That takes the time of
  // a few thousand box calls, however many boxes there are.
  private draw(): void {
    const { place, context, canvas } = this;
    if (!place || !this.model || this.width === 0 || canvas.width === 0 || canvas.height === 0) return;
    const ratio = canvas.width / this.width;
    this.useImage(canvas.width, canvas.height);
    this.pixels.fill(this.ground());
    this.texts.length = 0;
    const last = Math.min(place.rows, this.scroll + Math.ceil(this.height / rowHeight) + 1);
    for (let row = this.scroll; row < last; ++row) {
      this.paintRow(row, ratio);
      this.copyRow(row, ratio);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = font;
    context.textBaseline = "middle";
    const { texts } = this;
    for (let i = 0; i < texts.length; i += 5) {
      context.fillStyle = isLight(texts[i + 4]) ? darkText : lightText;
      this.drawText(texts[i], texts[i + 1], texts[i + 2], texts[i + 3]);
    }
    for (const node of [this.hovered, this.focused]) if (node >= 0) this.outline(node, node === this.focused);
    if (window.tephraFirstPicture === undefined) {
      window.tephraFirstPicture = performance.now();
      performance.mark("first-picture");
    }
  }

  private useImage(width: number, height: number): void {
    if (this.image.width === width && this.image.height === height) return;
    this.image = new ImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.line = new Uint32Array(width);
  }

  private ground(): number {
    return this.isDark() ? darkGround : lightGround;
  }

  private paintRow(row: number, ratio: number): void {
    const place = this.place!;
    const { tree, x, nodes, total } = place;
    const { line } = this;
    const matches = this.model!.matches;
    const colors = this.colors!;
    const ground = this.ground();
    const scale = total === 0 ? 0 : line.length / ((this.to - this.from) * total);
    const seenFrom = this.from * total;
    const top = this.rowTop(row);
    const end = place.rowStart[row + 1];
    const gap = Math.max(Math.round(frameGap * ratio), 1);
    line.fill(ground);
    for (let at = firstEndingAfter(place, row, seenFrom); at < end; ) {
      const node = nodes[at];
      const left = (x[node] - seenFrom) * scale;
      if (left >= line.length) break;
      const width = total === 0 ? line.length : tree.total[node] * scale;
      const name = tree.name[node];
      let color = colors.color(name, tree.frame[node]);
      if (matches) {
        color = matches[name] ? hitColor : blended(color, ground);
      } else if (left < -0.5 && left + width > line.length + 0.5) {
        color = blended(color, ground, 154); // callers of all that is seen stand back
      }
      if (width < 1) {
        // All that ends within the same pixel is drawn as one.
        const column = Math.max(Math.floor(left), 0);
        line[column] = color;
        at = firstEndingAfter(place, row, seenFrom + (column + 1) / scale, at + 1);
        continue;
      }
      const start = Math.max(Math.round(left), 0);
      const stop = Math.min(Math.round(left + width), line.length);
      line.fill(color, start, width > 4 * gap ? stop - gap : stop);
      if (width > 24 * ratio) {
        this.texts.push(name, Math.max(left / ratio, 0), Math.min((left + width) / ratio, this.width), top, color);
      }
      ++at;
    }
  }

  private copyRow(row: number, ratio: number): void {
    const { line, pixels, image } = this;
    const top = this.rowTop(row);
    const from = Math.max(Math.round(top * ratio), 0);
    const to = Math.min(Math.round((top + rowHeight) * ratio) - 1, image.height);
    for (let y = from; y < to; ++y) pixels.set(line, y * image.width);
  }

  private drawText(name: number, left: number, right: number, top: number): void {
    const text = shownName(this.model!, name);
    const room = right - left - 2 * textInset;
    let width = this.textWidth[name];
    if (width === 0) width = this.textWidth[name] = this.context.measureText(text).width;
    let shown = text;
    if (width > room) {
      const fits = Math.floor((room / width) * text.length) - 1;
      if (fits < 2) return;
      // A character of two units stays whole.
      const cut = (text.charCodeAt(fits - 1) & 0xfc00) === 0xd800 ? fits - 1 : fits;
      shown = `${text.slice(0, cut)}…`;
    }
    this.context.fillText(shown, left + textInset, top + rowHeight / 2, room + 2);
  }

  private outline(node: number, strong: boolean): void {
    const { tree, x, total } = this.place!;
    const scale = total === 0 ? 0 : this.width / ((this.to - this.from) * total);
    const left = Math.max((x[node] - this.from * total) * scale, -2);
    const right = Math.min((x[node] + tree.total[node] - this.from * total) * scale, this.width + 2);
    if (right < 0 || left > this.width) return;
    const { context } = this;
    context.lineWidth = strong ? 2 : 1.2;
    context.strokeStyle = strong ? (this.isDark() ? "#8ab4ff" : "#0b57d0") : this.isDark() ? "#fff" : "#1d1d1f";
    context.strokeRect(left + 0.5, this.rowTop(tree.depth[node]) + 0.5, Math.max(right - left - 1.5, 1), rowHeight - 2);
  }
}

// The node itself where it has no children.
export function widestChild(tree: CallTree, node: number): number {
  let widest = node;
  for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
    if (tree.total[child] > 0 && (widest === node || tree.total[child] > tree.total[widest])) widest = child;
  }
  return widest;
}

// The weight below names that match; what is below two of them counts once. The root may match where it is a function, as
// in the sandwich; "all" is none.
export function matchedWeight(profile: Profile, tree: CallTree, matches: Uint8Array): number {
  let sum = 0;
  for (let node = tree.name[0] === profile.stacks.name[0] ? 1 : 0; node < tree.count; ) {
    if (matches[tree.name[node]]) {
      sum += tree.total[node];
      node = tree.end[node];
    } else {
      ++node;
    }
  }
  return sum;
}
