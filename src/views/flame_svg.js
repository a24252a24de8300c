// What makes a flame graph's SVG interactive: zoom, search, keyboard, details. The picture is complete without it; the
// script reads everything it needs from the elements: data-x and data-w (in units of weight) and the <title> of each
// frame. Kept in ASCII, and free of the text that ends a CDATA section.
(function () {
  "use strict";

  const NS = "http://www.w3.org/2000/svg";
  const XHTML = "http://www.w3.org/1999/xhtml";
  const self = document.currentScript;
  const svg = (self && self.ownerSVGElement) || document.documentElement;
  const settings = svg.dataset;
  const side = Number(settings.side);
  const inset = Number(settings.inset);
  const gap = Number(settings.gap);
  const total = Math.max(Number(settings.total), 1);
  const chart = settings.chart === "1";  // x is time, and lanes show the same of it
  const fluid = settings.fluid === "1" && svg === document.documentElement;
  const byId = (id) => svg.getElementById(id);

  let width = Number(svg.getAttribute("width"));
  const height = Number(svg.getAttribute("height"));

  // ---- frames -------------------------------------------------------------------------------------------------

  // One object a frame; rows[depth] is sorted by x. A row stands on the row before it, or on that which it names: the
  // parts of a picture (callers, callees, threads) begin on the first row. Titles leave the document, so that the
  // browser's own tooltip does not cover ours.
  const rows = [];
  const places = [];  // of each row: the row it stands on, its part of the picture, and its height
  for (const group of byId("frames").children) {
    const depth = rows.length;
    const on = group.dataset.on === undefined ? depth - 1 : Number(group.dataset.on);
    const part = depth === 0 ? -1 : on === 0 ? depth : places[on].part;
    places.push({ on, part, y: group.transform.baseVal.getItem(0).matrix.f });
    rows.push(Array.from(group.children, (g, index) => readFrame(g, depth, index)));
  }
  const rowsOn = (depth) => places.flatMap((place, row) => (row !== 0 && place.on === depth ? [row] : []));

  function readFrame(g, depth, index) {
    const title = g.firstElementChild;
    const lines = title.textContent.split("\n");
    title.remove();
    const frame = {
      g, depth, index, lines,
      rect: g.firstElementChild,
      text: g.querySelector("text"),
      name: lines[0],
      shown: g.dataset.short || lines[0],
      x: Number(g.dataset.x),
      w: Number(g.dataset.w),
      hidden: false,
      hit: false,
    };
    g.frame = frame;
    return frame;
  }

  const root = rows[0][0];
  const textY = root.text ? root.text.getAttribute("y") : "12";
  let zoomed = root;

  // The last frame of a row that begins at or before x, when it reaches to x.
  function frameAt(row, x) {
    let low = 0;
    let high = row.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row[middle].x <= x) low = middle + 1;
      else high = middle;
    }
    const frame = row[low - 1];
    return frame && x < frame.x + frame.w ? frame : null;
  }

  const parentOf = (frame) => (frame.depth === 0 ? null : frameAt(rows[places[frame.depth].on], frame.x));

  function widestChild(frame, row) {
    let best = null;
    for (const child of rows[row]) {
      if (child.x >= frame.x + frame.w) break;
      if (child.x >= frame.x && !child.hidden && (!best || child.w > best.w)) best = child;
    }
    return best;
  }

  // ---- text that fits -----------------------------------------------------------------------------------------

  const widths = new Map();
  const ruler = document.createElementNS(XHTML, "canvas").getContext("2d");
  const style = getComputedStyle(svg);
  ruler.font = style.fontSize + " " + style.fontFamily;

  function widthOf(character) {
    let known = widths.get(character);
    if (known === undefined) {
      known = ruler.measureText(character).width;
      widths.set(character, known);
    }
    return known;
  }

  function fit(text, room) {
    const dots = 2 * widthOf(".");
    let used = 0;
    let cut = 0;
    let count = 0;
    let countAtCut = 0;
    let at = 0;
    for (const character of text) {
      used += widthOf(character);
      if (used > room) return countAtCut < 2 ? "" : text.slice(0, cut) + "..";
      at += character.length;
      count += 1;
      if (used + dots <= room) {
        cut = at;
        countAtCut = count;
      }
    }
    return text;
  }

  // ---- drawing ------------------------------------------------------------------------------------------------

  function setText(frame, x, room) {
    const label = room > 12 ? fit(frame.shown, room) : "";
    if (!label) {
      if (frame.text) frame.text.textContent = "";
      return;
    }
    if (!frame.text) {
      frame.text = document.createElementNS(NS, "text");
      frame.text.setAttribute("y", textY);
      frame.g.appendChild(frame.text);
    }
    frame.text.setAttribute("x", x + inset);
    frame.text.textContent = label;
  }

  function show(frame, x, w) {
    if (frame.hidden) frame.g.classList.remove("hidden");
    frame.hidden = false;
    frame.rect.setAttribute("x", x.toFixed(2));
    frame.rect.setAttribute("width", (w > 4 * gap ? w - gap : w).toFixed(2));
    setText(frame, x, w - 2 * inset);
  }

  function hide(frame) {
    if (!frame.hidden) frame.g.classList.add("hidden");
    frame.hidden = true;
  }

  // The rows on the way from the zoomed frame to the root.
  function rowsBelowZoomed() {
    const way = new Set();
    for (let row = zoomed.depth; row > 0; row = places[row].on) way.add(places[row].on);
    return way;
  }

  // Draws what the zoomed frame spans: its callers across the whole width, and all that it called. Other parts of the
  // picture stay as they are; those of a chart show the same time.
  function draw() {
    const drawn = width - 2 * side;
    const begin = zoomed.x;
    const end = zoomed === root ? total : zoomed.x + zoomed.w;
    const scale = drawn / (end - begin);
    const below = rowsBelowZoomed();
    const part = places[zoomed.depth].part;
    rows.forEach((row, depth) => {
      const apart = part !== -1 && depth !== 0 && places[depth].part !== part;
      for (const frame of row) {
        const spans = frame.x <= begin && frame.x + frame.w >= end;
        const outer = frame !== zoomed && below.has(depth) && spans;
        if (outer || frame === root) {
          show(frame, side, drawn);
        } else if (chart) {
          drawInTime(frame, begin, end, scale);
        } else if (apart) {
          show(frame, side + frame.x * (drawn / total), frame.w * (drawn / total));
        } else if (!below.has(depth) && frame.x >= begin && frame.x + frame.w <= end) {
          show(frame, side + (frame.x - begin) * scale, frame.w * scale);
        } else {
          hide(frame);
        }
        if (outer !== !!frame.outer) frame.g.classList.toggle("outer", outer);
        frame.outer = outer;
      }
    });
    if (chart) drawAxis(begin, end, scale);
  }

  // What a frame has of the time that is shown.
  function drawInTime(frame, begin, end, scale) {
    const from = Math.max(frame.x, begin);
    const to = Math.min(frame.x + frame.w, end);
    if (to > from) show(frame, side + (from - begin) * scale, (to - from) * scale);
    else hide(frame);
  }

  // Times above the lanes, as the file has them for the whole.
  function drawAxis(begin, end, scale) {
    const axis = byId("axis");
    const range = end - begin;
    const rough = range / Math.max((width - 2 * side) / 110, 1);
    const power = Math.pow(10, Math.floor(Math.log10(Math.max(rough, 1))));
    const step = ([1, 2, 5].find((factor) => factor * power >= rough) || 10) * power;
    const [unit, name] = range >= 1e9 ? [1e9, "s"] : range >= 1e6 ? [1e6, "ms"] : [1e3, "us"];
    const decimals = Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
    axis.textContent = "";
    for (let time = Math.ceil(begin / step) * step; time <= end; time += step) {
      const x = side + (time - begin) * scale;
      const top = Number(axis.dataset.y);
      make("path", { d: "M" + x.toFixed(2) + " " + (top - 6) + "v" + axis.dataset.height, stroke: "#dcdce0" }, axis);
      if (x + 60 > width - side) break;
      const text = make("text", { class: "quiet small", x: x.toFixed(2), y: top - 8 }, axis);
      text.textContent = (time / unit).toFixed(Math.min(decimals, 20)) + " " + name;
    }
  }

  function zoom(frame) {
    zoomed = frame;
    hideTip();
    draw();
    resetButton.g.classList.toggle("hidden", frame === root);
    // What is hidden must not keep the focus, or the next key would be its own until the picture is drawn again.
    if (frame === root && document.activeElement === resetButton.g) resetButton.g.blur();
    tellMatched();
    remember();
  }

  // ---- buttons and the search field ---------------------------------------------------------------------------

  function make(name, attributes, parent) {
    const element = document.createElementNS(NS, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    (parent || svg).appendChild(element);
    return element;
  }

  function makeButton(id, label, hint, size, action) {
    const g = make("g", { id, class: "button small", tabindex: "0", role: "button", "aria-label": hint });
    make("title", {}, g).textContent = hint;
    make("rect", { width: size, height: 24 }, g);
    make("text", { x: size / 2, y: 16.5, "text-anchor": "middle" }, g).textContent = label;
    g.addEventListener("click", action);
    g.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      action();
    });
    return { g, size };
  }

  const caseButton = makeButton("ignore-case", "ic", "Ignore case (Ctrl-I)", 28, toggleCase);
  const searchButton = makeButton("search", "Search", "Search by regular expression (Ctrl-F or /)", 64, openSearch);
  const resetButton = makeButton("reset", "Reset zoom", "Show everything again (Esc)", 88, () => zoom(root));
  resetButton.g.classList.add("hidden");
  const matched = make("text", { id: "matched", class: "small", "text-anchor": "end" });
  const fieldBox = make("foreignObject", { width: 260, height: 24, class: "hidden" });
  const field = document.createElementNS(XHTML, "input");
  field.setAttribute("id", "search-field");
  field.setAttribute("type", "text");
  field.setAttribute("placeholder", "regular expression");
  field.setAttribute("spellcheck", "false");
  field.setAttribute("aria-label", "Search frames by regular expression");
  field.setAttribute("style", "box-sizing:border-box;width:100%;height:24px;margin:0;padding:0 8px;border-radius:6px;" +
    "border:1px solid #c9c9ce;font:12px system-ui,sans-serif;background:#fff;color:#1d1d1f");
  fieldBox.appendChild(field);

  function placeButtons() {
    let x = width - side;
    for (const button of [caseButton, searchButton, resetButton]) {
      x -= button.size;
      button.g.setAttribute("transform", "translate(" + x + " 12)");
      if (button === searchButton) {
        fieldBox.setAttribute("x", x + button.size - 260);
        fieldBox.setAttribute("y", 12);
      }
      x -= 6;
    }
    moveResetButton();
    matched.setAttribute("x", width - side);
    matched.setAttribute("y", 53);
  }

  // The reset button makes room for the open search field.
  function moveResetButton() {
    const left = fieldBox.classList.contains("hidden") ? searchButton.size : 260;
    const x = width - side - caseButton.size - 6 - left - 6 - resetButton.size;
    resetButton.g.setAttribute("transform", "translate(" + x + " 12)");
  }

  // ---- search -------------------------------------------------------------------------------------------------

  let pattern = "";
  let ignoreCase = false;
  let searchTimer = 0;

  function openSearch() {
    fieldBox.classList.remove("hidden");
    searchButton.g.classList.add("hidden");
    moveResetButton();
    field.focus();
    field.select();
  }

  function closeSearch() {
    field.blur();
    fieldBox.classList.add("hidden");
    searchButton.g.classList.remove("hidden");
    searchButton.g.classList.toggle("on", pattern !== "");
    moveResetButton();
  }

  function clearSearch() {
    field.value = "";
    search("");
    closeSearch();
  }

  function compile(text) {
    try {
      return new RegExp(text, ignoreCase ? "iu" : "u");
    } catch (_) {
      try {
        return new RegExp(text, ignoreCase ? "i" : "");
      } catch (error) {
        return null;
      }
    }
  }

  function search(text) {
    clearTimeout(searchTimer);
    pattern = text;
    const expression = text === "" ? null : compile(text);
    field.style.borderColor = text !== "" && !expression ? "#d43a2f" : "#c9c9ce";
    const verdicts = new Map();  // a name is looked at once, however many frames bear it
    for (const row of rows) {
      for (const frame of row) {
        if (!verdicts.has(frame.name)) verdicts.set(frame.name, !!expression && expression.test(frame.name));
        const hit = frame !== root && verdicts.get(frame.name);
        if (hit !== frame.hit) frame.g.classList.toggle("hit", hit);
        frame.hit = hit;
      }
    }
    byId("frames").classList.toggle("searching", !!expression);
    tellMatched();
    remember();
  }

  // The weight under matched frames between begin and end; what stands on a matched frame is counted with it.
  function matchedWeight(begin, end) {
    const spans = [];
    for (const row of rows) {
      for (const frame of row) if (frame.hit) spans.push(frame);
    }
    spans.sort((a, b) => a.x - b.x || b.w - a.w);
    let sum = 0;
    let reached = begin;
    for (const span of spans) {
      const from = Math.max(span.x, reached);
      const to = Math.min(span.x + span.w, end);
      if (to <= from) continue;
      sum += to - from;
      reached = to;
    }
    return { sum, count: spans.length };
  }

  const percent = (part) => (100 * part).toFixed(2) + "%";

  function tellMatched() {
    if (pattern === "") {
      matched.textContent = "";
      return;
    }
    if (!compile(pattern)) {
      matched.textContent = "not a regular expression";
      return;
    }
    const all = matchedWeight(0, total);
    let text = "Matched: " + percent(all.sum / total) + " in " + all.count + (all.count === 1 ? " frame" : " frames");
    if (zoomed !== root) {
      text += ", " + percent(matchedWeight(zoomed.x, zoomed.x + zoomed.w).sum / zoomed.w) + " of this view";
    }
    matched.textContent = text;
  }

  function toggleCase() {
    ignoreCase = !ignoreCase;
    caseButton.g.classList.toggle("on", ignoreCase);
    search(pattern);
  }

  field.addEventListener("input", () => {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(() => search(field.value), 120);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      search(field.value);
      closeSearch();
      event.stopPropagation();
    } else if (event.key === "Escape") {
      clearSearch();
      event.stopPropagation();
    }
  });

  // ---- details ------------------------------------------------------------------------------------------------

  const details = byId("details");
  const tip = make("g", { id: "tip", class: "tip small hidden" });
  const tipBox = make("rect", {}, tip);
  const tipText = make("text", { y: 0 }, tip);
  let tipFrame = null;

  // Lines of at most `size` characters, broken behind a character where names may break if there is one.
  function wrap(text, size) {
    const lines = [];
    while (text.length > size) {
      const piece = text.slice(0, size);
      const at = Math.max(piece.lastIndexOf(" "), piece.lastIndexOf(","), piece.lastIndexOf("::") + 1);
      const cut = at > size / 2 ? at + 1 : size;
      lines.push(text.slice(0, cut));
      text = text.slice(cut);
    }
    lines.push(text);
    return lines.length > 12 ? lines.slice(0, 12).concat("...") : lines;
  }

  function fillTip(frame) {
    tipText.textContent = "";
    const line = (text, kind) => {
      const span = make("tspan", { x: 10, dy: "1.4em", class: kind }, tipText);
      span.textContent = text;
    };
    for (const text of wrap(frame.name, 90)) line(text, "");
    frame.lines.slice(1).forEach((text) => wrap(text, 90).forEach((part) => line(part, "more")));
    const inside = places[frame.depth].part === places[zoomed.depth].part && frame.depth >= zoomed.depth;
    if (zoomed !== root && inside && !chart) line(percent(frame.w / zoomed.w) + " of this view", "more");
  }

  // The part of the picture that is on the screen, in the picture's coordinates.
  function visibleArea() {
    const matrix = svg.getScreenCTM();
    const inverse = matrix.inverse();
    const corner = new DOMPoint(0, 0).matrixTransform(inverse);
    const far = new DOMPoint(innerWidth, innerHeight).matrixTransform(inverse);
    return { left: Math.max(corner.x, 0), top: Math.max(corner.y, 0), right: Math.min(far.x, width), bottom: far.y };
  }

  function showTip(frame, x, y) {
    if (tipFrame !== frame) {
      fillTip(frame);
      details.textContent = settings.nameType + " " + frame.name + "   " + frame.lines.slice(1).join("   ");
    }
    tipFrame = frame;
    tip.classList.remove("hidden");
    const size = tipText.getBBox();
    const w = size.width + 20;
    const h = size.height + 14;
    tipBox.setAttribute("width", w);
    tipBox.setAttribute("height", h);
    const area = visibleArea();
    const left = Math.max(area.left + 4, Math.min(x + 14, area.right - w - 8));
    const top = y + 20 + h > area.bottom ? Math.max(area.top + 4, y - h - 10) : y + 20;
    tip.setAttribute("transform", "translate(" + left + " " + top + ")");
  }

  function hideTip() {
    tip.classList.add("hidden");
    details.textContent = " ";
    tipFrame = null;
  }

  const frameOf = (target) => {
    const g = target instanceof Element && target.closest(".f");
    return g ? g.frame : null;
  };

  svg.addEventListener("pointermove", (event) => {
    const frame = frameOf(event.target);
    if (!frame) {
      if (tipFrame && frameOf(document.activeElement) !== tipFrame) hideTip();
      return;
    }
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    showTip(frame, at.x, at.y);
  });
  svg.addEventListener("pointerleave", hideTip);
  svg.addEventListener("click", (event) => {
    const frame = frameOf(event.target);
    if (frame) zoom(frame);
  });

  // ---- keyboard -----------------------------------------------------------------------------------------------

  let focused = null;
  root.g.setAttribute("tabindex", "0");

  function focus(frame) {
    (focused || root).g.setAttribute("tabindex", "-1");
    focused = frame;
    frame.g.setAttribute("tabindex", "0");
    frame.g.setAttribute("role", "button");
    frame.g.setAttribute("aria-label", frame.lines.join(", "));
    frame.g.focus();
  }

  svg.addEventListener("focusin", (event) => {
    const frame = frameOf(event.target);
    if (!frame) return;
    focused = frame;
    if (!frame.g.matches(":focus-visible")) return;
    const box = frame.rect.getBBox();
    const row = frame.g.parentNode.transform.baseVal.getItem(0).matrix.f;
    showTip(frame, box.x, row + box.height - 14);
  });

  function sibling(frame, step) {
    const row = rows[frame.depth];
    for (let i = frame.index + step; i >= 0 && i < row.length; i += step) if (!row[i].hidden) return row[i];
    return null;
  }

  // The frame next in reading order: along the row, then the row further from the root.
  function following(frame, step) {
    const beside = sibling(frame, step);
    if (beside) return beside;
    for (let depth = frame.depth + step; depth >= 0 && depth < rows.length; depth += step) {
      const open = rows[depth].filter((other) => !other.hidden);
      if (open.length > 0) return step > 0 ? open[0] : open[open.length - 1];
    }
    return null;
  }

  // The next frame above (-1) or below (1): the one that this stands on, or the widest of those that stand on it. At the
  // end of a chart's lane the next lane.
  function neighbour(frame, direction) {
    const isThere = (row) => (places[row].y - places[frame.depth].y) * direction > 0;
    if (frame.depth !== 0 && isThere(places[frame.depth].on)) return parentOf(frame);
    for (const row of rowsOn(frame.depth).filter(isThere)) {
      const child = frame.outer ? frameAt(rows[row], zoomed.x) : widestChild(frame, row);
      if (child && !child.hidden) return child;
    }
    if (!chart) return null;
    const lane = rowsOn(0).find((row) => row > frame.depth && isThere(row));
    return lane === undefined ? null : rows[lane][0];
  }

  function target(frame, event) {
    switch (event.key) {
      case "ArrowLeft": return sibling(frame, -1);
      case "ArrowRight": return sibling(frame, 1);
      case "ArrowUp": return neighbour(frame, -1);
      case "ArrowDown": return neighbour(frame, 1);
      case "Home": return root;
      case "Tab": return following(frame, event.shiftKey ? -1 : 1);
      default: return undefined;
    }
  }

  function onFrameKey(frame, event) {
    if (event.key === "Enter" || event.key === " ") {
      zoom(frame);
      focus(frame);
      event.preventDefault();
      return;
    }
    const next = target(frame, event);
    if (next === undefined || (next === null && event.key === "Tab")) return;  // Tab leaves at the last frame
    event.preventDefault();
    if (next) focus(next);
  }

  function escape() {
    if (zoomed !== root) zoom(root);
    else if (pattern !== "") clearSearch();
    else if (document.activeElement && document.activeElement.blur) document.activeElement.blur();
    hideTip();
  }

  // Frames are reached by Tab or an arrow from nowhere; on a button or in the search field keys keep their meaning.
  function moveByKey(event) {
    const active = document.activeElement;
    const frame = frameOf(active);
    if (frame) {
      onFrameKey(frame, event);
      return;
    }
    const nowhere = !active || active === svg || active === document.body;
    if (nowhere && ((event.key === "Tab" && !event.shiftKey) || event.key.startsWith("Arrow"))) {
      focus(focused && !focused.hidden ? focused : zoomed);
      event.preventDefault();
    }
  }

  addEventListener("keydown", (event) => {
    const control = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey;
    const key = event.key.toLowerCase();
    const typing = event.target === field;
    if (control && key === "f" && !typing) openSearch();  // once more is the browser's own search
    else if (control && key === "i") toggleCase();
    else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (key === "/") openSearch();
    else if (key === "escape") escape();
    else {
      moveByKey(event);
      return;
    }
    event.preventDefault();
  });

  // ---- the address remembers zoom and search, so that a link to a finding can be shared --------------------------

  function remember() {
    const words = [];
    if (zoomed !== root) words.push("zoom=" + zoomed.depth + "." + zoomed.index);
    if (pattern !== "") words.push("search=" + encodeURIComponent(pattern));
    if (ignoreCase) words.push("ic=1");
    try {
      history.replaceState(null, "", words.length > 0 ? "#" + words.join("&") : location.pathname + location.search);
    } catch (_) {
      // An embedded picture may not change the address; nothing depends on it.
    }
  }

  function recall() {
    const words = new URLSearchParams(location.hash.slice(1));
    const place = (words.get("zoom") || "").split(".");
    const text = words.get("search") || "";
    if (words.get("ic") === "1") toggleCase();
    if (text !== "") {
      field.value = text;
      search(text);
      searchButton.g.classList.add("on");
    }
    const frame = place.length === 2 && (rows[Number(place[0])] || [])[Number(place[1])];
    if (frame) zoom(frame);
  }

  const verdictLines = Array.from(byId("verdict").querySelectorAll("text"), (element) => ({
    element,
    text: element.textContent,
  }));

  // ---- size ---------------------------------------------------------------------------------------------------

  function resize() {
    if (fluid) {
      const scrollbar = height > innerHeight ? 16 : 0;
      width = Math.max(innerWidth - scrollbar, 400);
      svg.setAttribute("width", width);
      svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    }
    placeButtons();
    for (const line of verdictLines) line.element.textContent = fit(line.text, width - 2 * side - 14);
    draw();
  }

  addEventListener("resize", resize);
  const start = location.hash;
  resize();
  if (start) recall();
})();
