// Uses an HTML report as a reader would: real clicks, keys and drags. Started by report_test.py:
//
//   report_test.mjs PLAYWRIGHT CHROMIUM TEPHRA FOLDER [folder for screenshots]

import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hostile, Maker, patterns, timedSamples } from "./report_data.mjs";
import { check, checks, checkThat, Report, rowHeight } from "./report_page.mjs";

const [playwright, executablePath, tephra, folder, shots] = process.argv.slice(2);
const { chromium } = await import(playwright);
const views = ["flame", "icicle", "bottom-up", "sandwich", "top", "heat", "threads", "facts"];
const maker = new Maker(tephra, folder, fileURLToPath(new URL("flame.folded", import.meta.url)));

const sum = (rows) => rows.reduce((all, [, count]) => all + count, 0);

async function testOpening(browser, made) {
  const report = await Report.open(browser, made.small.page, { offline: true });
  check(await report.page.$$eval("[role=tab]", (tabs) => tabs.map((tab) => tab.id)), views.map((view) => `tab-${view}`), "tabs");
  checkThat((await report.text("#verdict")).includes("100 samples"), "the verdict is told");
  checkThat(await report.page.evaluate(() => window.tephraFirstPicture > 0), "the first picture is marked");
  check(await report.share(), "100 % of 100 samples", "share without filters");
  await report.close();
}

async function testSums(browser, made) {
  for (const { source, page } of [made.small, made.timed, made.hostile]) {
    const report = await Report.open(browser, page);
    const timed = page === made.timed.page;
    const event = timed ? ["--event-filter", "cycles"] : [];
    if (timed) {
      check(await report.totals(), [65, 65], "samples of the first event");
      await report.page.selectOption("#weight", "value");
      await report.settle();
    }
    check(await report.totals(), Array(2).fill(sum(maker.folded(source, ...event))), `sum of ${page}`);
    check((await report.boxes())[0].width, (await report.totals())[0], "the root is all of it");
    await report.openTab("bottom-up");
    check((await report.boxes())[0].width, (await report.totals())[0], "from the leaf, too");
    await report.close();
  }
}

async function testLayout(browser, made) {
  for (const { source, page } of [made.small, made.recursive]) {
    const report = await Report.open(browser, page);
    const inOrder = (boxes) => boxes.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
    const drawn = inOrder((await report.boxes()).map((box) => [box.x, box.width]));
    check(drawn, inOrder(maker.svgBoxes(source)), "boxes are where the picture of tephra flame has them");
    await report.close();
  }
}

async function testZoom(browser, made) {
  const report = await Report.open(browser, made.small.page);
  const { page } = report;
  const before = await report.picture();
  const [x, y] = await report.boxPoint("beta");
  await page.mouse.move(x, y);
  checkThat((await report.text(".tip")).startsWith("beta"), "the tooltip names the box");
  checkThat((await report.text(".tip")).includes("30 samples, 30.00% of all"), "and tells its weight");
  await page.mouse.click(x, y);
  await report.settle();
  check(await report.hash(), "#zoom=0.4~0.7", "a click zooms, and the address tells it");
  checkThat((await report.picture()) !== before, "the picture changes");
  await page.click(".flame-bar .reset");
  await report.settle();
  check(await report.hash(), "", "the button resets");
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -240);
  await report.settle();
  checkThat((await report.hash()).startsWith("#zoom="), "the wheel zooms");
  const zoomed = await report.hash();
  await page.mouse.down();
  await page.mouse.move(x - 200, y, { steps: 8 });
  await page.mouse.up();
  await report.settle();
  const panned = await report.hash();
  checkThat(panned !== zoomed, "a drag pans");
  await page.keyboard.press("Escape");
  await report.settle();
  check(await report.hash(), "", "Escape resets");
  check(await report.picture(), before, "and the picture is as before");
  await page.goBack();
  await report.settle();
  check(await report.hash(), panned, "the back button goes back");
  await report.close();
}

async function testSearch(browser, made) {
  const report = await Report.open(browser, made.small.page);
  const { page } = report;
  await page.keyboard.press("/");
  check(await page.evaluate(() => document.activeElement.id), "search", "slash goes to the search");
  await page.keyboard.type("read");
  await report.settle();
  check(await report.text(".matched"), "matched 45.00%", "share that matches");
  checkThat((await report.hash()).includes("search=read"), "the address holds the search");
  await report.type("search", "(?i)read");
  check(await report.text(".matched"), "matched 55.00%", "without case");
  await report.type("search", "std::sort<int*, Less<int> >(");
  check(await report.text(".matched"), "matched 0.00%", "what is no expression is searched as text");
  await report.type("search", "std::sort<");
  check(await report.text(".matched"), "matched 30.00%", "in whole names");
  await page.keyboard.press("Escape");
  await report.settle();
  check(await report.hash(), "", "Escape clears the search");
  await report.close();
}

async function testKeyboard(browser, made) {
  const report = await Report.open(browser, made.small.page);
  const { page } = report;
  const said = () => page.textContent(".flame .live");
  await page.focus("canvas.flame-canvas");
  await page.keyboard.press("ArrowUp");
  checkThat((await said()).startsWith("all, 100 samples"), "the root is told first");
  await page.keyboard.press("ArrowUp");
  checkThat((await said()).startsWith("app"), "then its widest callee");
  await page.keyboard.press("ArrowRight");
  checkThat((await said()).startsWith("worker"), "and the neighbour");
  await page.keyboard.press("Enter");
  await report.settle();
  check(await report.hash(), "#zoom=0.9~1", "Enter zooms");
  await page.keyboard.press("Shift+Enter");
  await report.settle();
  check(await page.evaluate(() => window.tephra.view()), "sandwich", "with Shift it opens the sandwich");
  check(await page.inputValue("#sandwich-function"), "worker", "of that function");
  await page.focus("#tab-sandwich");
  await page.keyboard.press("ArrowRight");
  await report.settle();
  check(await page.evaluate(() => [window.tephra.view(), document.activeElement.id]), ["top", "tab-top"], "arrows change tabs");
  for (let i = 0; i < 40; ++i) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(() => document.activeElement.matches(".table-body > .table-row"))) break;
  }
  await page.keyboard.press("ArrowDown");
  const name = await page.evaluate(() => document.activeElement.querySelector(".name").textContent);
  await page.keyboard.press("Enter");
  await report.settle();
  check(await page.inputValue("#sandwich-function"), name, "Enter on a row opens its sandwich");
  await report.close();
}

async function testTable(browser, made) {
  const report = await Report.open(browser, made.small.page);
  const { page } = report;
  await report.openTab("top");
  const order = () => page.$$eval("[role=columnheader]", (heads) => heads.map((head) => head.getAttribute("aria-sort")));
  check(await order(), ["descending", "none", "none", "none", "none", "none"], "sorted by self at first");
  const rows = await report.rows();
  check(rows[0].slice(0, 3), ["25", "30", "std::sort<…>"], "the most self first, of equals the larger total");
  check(rows.map((row) => Number(row[0])).reduce((a, b) => a + b, 0), 100, "self adds up to all samples");
  await page.click("[data-column=self-share] button");
  await report.settle();
  check((await order())[0], "descending", "a click on the share does not turn the order");
  await page.click("[data-column=total] button");
  await report.settle();
  check((await report.rows()).slice(0, 2).map((row) => row.slice(0, 3)), [["0", "90", "app"], ["0", "90", "main"]], "by total");
  check((await order())[2], "descending", "and said so");
  await page.click("[data-column=name] button");
  await report.settle();
  const names = (await report.rows()).map((row) => row[2]);
  check((await order())[4], "ascending", "names ascend at first");
  await page.click("[data-column=name] button");
  await report.settle();
  check((await report.rows()).map((row) => row[2]), [...names].reverse(), "a second click turns the order");
  await report.type("search", "read");
  check((await report.rows()).map((row) => row[2]).sort(), ["read", "vfs_read"], "the search leaves what matches");
  checkThat((await page.textContent(".table-tools")).includes("2 of "), "and says how many");
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click("text=Copy table");
  await report.settle();
  const copied = (await page.evaluate(() => navigator.clipboard.readText())).split("\n").map((line) => line.split("\t"));
  check(copied.slice(0, 3).map((cells) => cells.slice(0, 3)),
    [["self", "total", "function"], ["20", "20", "vfs_read"], ["25", "25", "read"]], "the table can be copied");
  await page.click(".table-body > .table-row >> nth=0");
  await report.settle();
  check(await page.evaluate(() => window.tephra.view()), "sandwich", "a click on a row opens the sandwich");
  await report.close();
}

// A function is one row, whether it was inlined or called.
async function testInlined(browser, made) {
  const sources = [made.inlined, ...(process.env.RECORDINGS ?? "").split(":").filter(Boolean).map((path, i) => ({
    source: path, page: maker.reportOf(`recording-${i}`, path).page }))];
  for (const { source, page: path } of sources) {
    const report = await Report.open(browser, path, { hash: "view=top&names=whole" });
    const functions = maker.functions(source);
    await report.page.setViewportSize({ width: 1280, height: 200 + 30 * functions.length });
    await report.settle();
    const rows = (await report.rows()).map(([self, total, name]) => [Number(self), Number(total), name]).sort();
    check(rows, functions, "the table has what tephra report counts");
    await report.close();
  }
  const report = await Report.open(browser, made.inlined.page, { hash: "view=top" });
  const mix = (await report.rows()).find((row) => row[2] === "mix");
  check(mix, ["9", "9", "mix", "app"], "one row, with the module that all agree in");
  await report.page.click(".table-body .name >> text=mix");
  await report.settle();
  checkThat((await report.text(".sandwich-tools")).includes("total 9 samples, 90.00% · self 90.00%"), "the sandwich is of all of it");
  await report.page.keyboard.press("Tab");
  await report.type("search", "mix");
  check(await report.page.$$eval(".sandwich .matched", (all) => all.map((one) => one.textContent)),
    ["matched 90.00%", "matched 90.00%"], "where the function itself matches, all of it does");
  await report.close();
}

async function testRecursion(browser, made) {
  const report = await Report.open(browser, made.recursive.page);
  const { page } = report;
  await report.openTab("top");
  const f = (await report.rows()).find((row) => row[2] === "f");
  check(f.slice(0, 2), ["7", "8"], "a stack counts once, however often a function is in it");
  await report.openTab("sandwich");
  await page.click("#sandwich-function");
  await page.keyboard.type("^f$");
  await page.keyboard.press("Enter");
  await report.settle();
  checkThat((await page.textContent(".sandwich-tools")).includes("total 8 samples, 80.00%"), "in the sandwich, too");
  check(await page.$$eval(".sandwich-part canvas", (all) => all.map((one) => Math.round(one.height / devicePixelRatio))),
    [3 * rowHeight, 3 * rowHeight], "callers: main, app; callees: three levels");
  await report.openTab("flame");
  const deep = (await report.boxes()).filter((box) => box.name === "f").length;
  await page.click("text=Fold recursion");
  await report.settle();
  check([deep, (await report.boxes()).filter((box) => box.name === "f").length], [4, 2], "folded, f within f is one");
  check((await report.totals())[0], 10, "and nothing is lost");
  await report.close();
}

async function testFilters(browser, made) {
  const report = await Report.open(browser, made.small.page);
  const { page } = report;
  await report.type("focus", "beta|gamma");
  check(await report.share(), "50.00 % of 100 samples", "focus keeps samples");
  check(await report.chips(), ["focus beta|gamma"], "and says so");
  await report.type("ignore", "vfs_");
  check(await report.share(), "30.00 % of 100 samples", "ignore drops samples");
  await page.click(".chip[data-kind=focus] button");
  await report.settle();
  check(await report.share(), "80.00 % of 100 samples", "a chip's button takes its filter back");
  await page.click("#reset-all");
  await report.settle();
  check([await report.share(), await report.hash()], ["100 % of 100 samples", ""], "reset takes all back");
  await report.type("hide", "^(main|beta)$");
  const names = (await report.boxes()).map((box) => box.name);
  checkThat(!names.includes("main") && !names.includes("beta") && names.includes("alpha"), "hide removes frames");
  check((await report.totals())[0], 100, "not samples");
  await report.type("hide", "");
  await report.type("show", "alpha|read");
  check([...new Set((await report.boxes()).map((box) => box.name))].sort().filter((name) => name === "main"), [], "show removes the others");
  check((await report.totals())[0], 65, "and samples that lose all their frames");
  await report.type("show", "");
  await report.type("focus", "(unclosed");
  check(await page.getAttribute("#focus", "aria-invalid"), "true", "what is no expression is marked");
  checkThat((await report.text("#filter-problem")).startsWith("focus: "), "and told");
  check(await report.share(), "100 % of 100 samples", "and not used");
  await report.type("focus", "nothing at all");
  check(await report.share(), "0.00 % of 100 samples", "a filter may keep nothing");
  for (const view of views) await report.openTab(view);
  await report.close();
}

async function testPatterns(browser, made) {
  const report = await Report.open(browser, made.patterns.page);
  for (const pattern of patterns) {
    await report.go(`base=none&ignore=${encodeURIComponent(pattern)}`);
    check(await report.page.isHidden("#filter-problem"), true, `it is an expression: ${pattern}`);
    const wanted = sum(maker.folded(made.patterns.source, `--ignore=${pattern}`));
    check((await report.totals())[0], wanted, `the command line leaves the same: ${pattern}`);
  }
  await report.go("");
  for (const field of ["focus", "search"]) {
    await report.type(field, "(c");
    check(await report.page.getAttribute(`#${field}`, "aria-invalid"), "true", `an error is marked in ${field}`);
    await report.type(field, "");
  }
  await report.type("search", "(c");
  check(await report.text("#filter-problem"), "search: Unterminated group; it is searched as plain text.", "and told");
  check(await report.text(".matched"), "matched 25.02%", "as plain text");
  await report.close();
}

async function testThreadsAndEvents(browser, made) {
  const report = await Report.open(browser, made.timed.page);
  const { page } = report;
  check(await report.share(), "100 % of 65 samples", "samples of the first event");
  await page.selectOption("#weight", "value");
  await report.settle();
  check((await report.totals())[1], 55 * 1000 + 10 * 3000, "weighed by their values");
  check(await report.text("#weighed"), "weighed by value", "which is said");
  await page.selectOption("#event", { label: "cache-misses" });
  await report.settle();
  checkThat((await report.boxes()).some((box) => box.name === "touch"), "another event has other stacks");
  await page.click("#reset-all");
  await report.settle();
  await page.click("#threads");
  check(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Search threads", "the list opens");
  await page.keyboard.type("work");
  const entries = () => page.$$eval(".thread-list .name", (names) => names.map((name) => name.textContent));
  check(await entries(), ["worker (2)"], "threads of one name are one entry");
  await page.click(".thread-list input");
  await report.settle();
  check(await report.share(), "84.62 % of 65 samples", "and chosen together");
  await page.click("#threads-by-name");
  check(await entries(), ["worker 7/8", "worker 7/9"], "or one by one");
  await page.uncheck(".thread-list input >> nth=0");
  await report.settle();
  check(await report.share(), "38.46 % of 65 samples", "of which each can be left out");
  check(await report.chips(), ["worker 7/9"], "the chip tells it");
  await page.keyboard.press("Escape");
  checkThat(await page.isHidden(".popup"), "Escape closes the list");
  await page.click(".chip[data-kind=threads] button");
  await page.selectOption("#base", "tid");
  await report.settle();
  const bases = (await report.boxes()).filter((box) => box.depth === 1).map((box) => box.name);
  check(bases.length, 3, `stacks stand on threads: ${bases}`);
  check((await report.totals())[0], 65, "and none is lost");
  await report.close();
}

async function testHeatMap(browser, made) {
  const report = await Report.open(browser, made.timed.page);
  const { page } = report;
  await report.openTab("heat");
  const box = await page.locator("#heat").boundingBox();
  const sizes = await page.$eval("#heat", (canvas) => [canvas.clientWidth - 40, canvas.clientHeight - 22]);
  const [cell, row] = [sizes[0] / 10, sizes[1] / 50];
  const at = (second, offset) => [box.x + (second + 0.5) * cell, box.y + (Math.floor(offset / 20) + 0.5) * row];
  await page.mouse.move(...at(9, 280));
  check(await report.text(".heat-tip"), "9.28 s – 9.30 s: 1 sample", "the tooltip tells time and count");
  // From second 2, offset 300 ms, to second 4, offset 400 ms, in the order of time.
  await page.mouse.move(...at(2, 300));
  await page.mouse.down();
  await page.mouse.move(...at(4, 400), { steps: 6 });
  await page.mouse.up();
  await report.settle();
  const [from, to] = [102.3e9, 104.42e9];
  const inside = timedSamples().filter((one) => one[4] === "cycles" && one[3] >= from && one[3] < to);
  check((await report.totals())[0], inside.length, "a drag selects the samples of that time");
  check(await report.chips(), ["2.30 s – 4.42 s"], "and tells it");
  const names = (await report.boxes()).filter((one) => one.width > 0 && one.name === "busy");
  check(names.map((one) => one.width), [inside.filter((one) => one[6][0] === "busy").length], "the flame graph follows");
  await report.openTab("flame");
  check((await report.totals())[0], inside.length, "in every view");
  await page.click(".chip[data-kind=range] button");
  await report.settle();
  check((await report.totals())[0], 65, "the chip clears it");
  await report.openTab("heat");
  await page.focus("#heat");
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+End");
  await report.settle();
  check((await report.totals())[0], 65, "from the first cell to the last is everything");
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  for (let i = 0; i < 2; ++i) await page.keyboard.press("Shift+ArrowRight");
  await report.settle();
  const keyed = timedSamples().filter((one) => one[4] === "cycles" && one[3] >= 101e9 && one[3] < 103.02e9);
  check((await report.totals())[0], keyed.length, "Shift and arrows select, too");
  await page.keyboard.press("Escape");
  await report.settle();
  check((await report.totals())[0], 65, "Escape clears");
  await report.close();
  const untimed = await Report.open(browser, made.small.page, { hash: "view=heat" });
  checkThat((await untimed.text(".view")).includes("does not say when"), "a profile without times says so");
  await untimed.close();
}

// A recording with known times: each stack is called by its second and its offset.
async function testKnownTimes(browser) {
  const source = join(process.env.TEPHRA_FIXTURES ?? "", "perf-script/Netflix-flamescope/perf.test01");
  if (!existsSync(source)) return console.log(`skipped testKnownTimes: there is no ${source}`);
  const report = await Report.open(browser, maker.reportOf("known", source).page, { hash: "view=heat" });
  const { page } = report;
  const box = await page.locator("#heat").boundingBox();
  const [width, height] = [box.width - 40, box.height - 22];
  const pattern = /_at_time_(\d+)s_and_offset_(\d+)ms/;
  const timedNames = async () => [...new Set((await report.boxes()).map((one) => one.name))].filter((name) => pattern.test(name));
  const stacks = await timedNames();
  check(stacks.length, 5, "stacks with known times");
  const columns = Math.max(...stacks.map((name) => Number(pattern.exec(name)[1]))) + 1;
  for (const name of stacks) {
    const [, second, offset] = pattern.exec(name).map(Number);
    const x = box.x + ((second + 0.5) / columns) * width;
    const y = box.y + ((Math.floor(offset / 20) + 0.5) / 50) * height;
    await page.mouse.click(x, y);
    await report.settle();
    check(await timedNames(), [name], `what ran at ${second} s and ${offset} ms`);
  }
  await report.close();
}

async function testThreadsOverTime(browser, made) {
  const report = await Report.open(browser, made.timed.page);
  const { page } = report;
  await report.openTab("threads");
  const box = await page.locator("#chart").boundingBox();
  const lane = (place) => box.y + 24 + (place + 0.5) * 22;
  await page.mouse.move(box.x + 20, lane(1));
  checkThat((await report.text(".chart .heat-tip")).startsWith("worker 7/9: 38.46%"), "lanes are sorted by weight");
  await page.mouse.click(box.x + 20, lane(1));
  await report.settle();
  check(await report.share(), "38.46 % of 65 samples", "a click on a name chooses the thread");
  await page.mouse.click(box.x + 20, lane(1));
  await report.settle();
  check(await report.share(), "100 % of 65 samples", "a second one leaves it out again");
  // Half of the time is in the second 105.
  const label = Math.min(Math.max(box.width * 0.2, 90), 240);
  await page.mouse.move(box.x + label + (box.width - label) / 2, lane(0));
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 1, lane(0), { steps: 5 });
  await page.mouse.up();
  await report.settle();
  const later = timedSamples().filter((one) => one[4] === "cycles" && one[3] >= 105.1e9);
  check((await report.totals())[0], later.length, "a drag selects time");
  await page.keyboard.press("Tab");
  await page.focus("#chart");
  await page.keyboard.press("Escape");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await report.settle();
  check(await report.chips(), ["app 7/7"], "by keys, too");
  await report.close();
}

async function testLinks(browser, made) {
  const hashes = ["", "view=icicle&focus=busy", "view=top&sort=name&search=o", "view=heat&range=1.75~4.25&theme=dark",
    "view=bottom-up&threads=0&names=whole", "view=facts&theme=light", "zoom=0.1~0.6&colors=name&fold=1"];
  for (const hash of hashes) {
    const first = await Report.open(browser, made.timed.page, { hash });
    const [address, share, boxes] = [await first.page.evaluate(() => location.href), await first.share(), await first.boxes()];
    const shot = await first.page.screenshot({ caret: "hide" });
    await first.close();
    const second = await Report.open(browser, made.timed.page, { hash: address.split("#")[1] ?? "" });
    check([await second.share(), await second.boxes()], [share, boxes], `the link ${hash} shows the same`);
    checkThat(shot.equals(await second.page.screenshot({ caret: "hide" })), `and looks the same: ${hash}`);
    await second.close();
  }
  // What is done by hand is in the address, too.
  const report = await Report.open(browser, made.timed.page);
  await report.type("focus", "main");
  await report.openTab("top");
  await report.page.click(".table-body > .table-row >> nth=1");
  await report.settle();
  await report.page.click("#copy-link");
  const other = await Report.open(browser, made.timed.page, { hash: (await report.page.evaluate(() => location.hash)).slice(1) });
  check(await other.page.inputValue("#sandwich-function"), await report.page.inputValue("#sandwich-function"), "a link by hand");
  checkThat((await report.page.screenshot({ clip: clip(report) })).equals(await other.page.screenshot({ clip: clip(other) })), "looks the same");
  await other.close();
  for (const wrong of ["view=nothing&event=99&zoom=2~1&threads=x&range=a~b&function=-3&sort=&theme=pink", "%%%", "focus=("]) {
    await report.go(wrong);
    check((await report.totals())[0], 65, `a wrong link shows everything: ${wrong}`);
  }
  await report.close();
}

// Below the filters.
function clip() {
  return { x: 0, y: 260, width: 1280, height: 540 };
}

async function testHostileNames(browser, made) {
  const report = await Report.open(browser, made.hostile.page, { hash: "names=whole" });
  const { page } = report;
  const elements = await page.evaluate(() => document.querySelectorAll("img, b, iframe").length);
  check(elements, 0, "no name becomes an element");
  for (const view of views) await report.openTab(view);
  await report.openTab("top");
  const shown = (await report.rows()).map((row) => row[2]);
  for (const name of hostile.slice(0, 4)) checkThat(shown.includes(name), `a name is text: ${name}`);
  checkThat(shown.some((name) => name.startsWith("long_xxx")), "a long name is there");
  checkThat(shown.every((name) => !/[\u0000-\u001f]/.test(name)), "control characters are not");
  checkThat(shown.includes("right \\u202e to left \u05d0\u05d1"), "marks of direction are seen");
  await page.click("text=long_xxx");
  await report.settle();
  await report.openTab("flame");
  for (const name of hostile.slice(0, 4)) {
    await page.mouse.move(...(await report.boxPoint(name)));
    checkThat((await report.text(".tip")).startsWith(name), `in the tooltip: ${name}`);
  }
  await page.mouse.click(...(await report.boxPoint("main")), { modifiers: [] });
  await report.type("focus", "<script>");
  checkThat((await report.chips())[0] === "focus <script>", "in a chip");
  check(await page.evaluate(() => window.hacked), undefined, "no name was run");
  checkThat(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing is wider than the window");
  await report.close();
}

async function testManyFunctions(browser, made) {
  const report = await Report.open(browser, made.many.page, { hash: "view=top&sort=name" });
  const { page } = report;
  checkThat((await page.textContent(".table-tools")).includes("100,10"), "all functions are counted");
  const flame = await Report.open(browser, made.many.page);
  const first = await flame.page.evaluate(() => window.tephraFirstPicture);
  console.log(`first picture of 100,000 stacks after ${first.toFixed(0)} ms`);
  checkThat(first < 10_000, "a large profile opens");
  await flame.close();
  checkThat((await page.$$(".table-body > .table-row")).length < 120, "only what is seen has elements");
  const worst = await page.evaluate(async () => {
    const scroller = document.querySelector(".table-scroll");
    const gaps = [];
    let last = performance.now();
    for (let i = 0; i < 60; ++i) {
      scroller.scrollTop += 40_000;
      await new Promise((done) => requestAnimationFrame(done));
      gaps.push(performance.now() - last);
      last = performance.now();
    }
    return gaps.sort((a, b) => a - b)[30];
  });
  checkThat(worst < 100, `scrolling is prompt: ${worst.toFixed(1)} ms between frames`);
  await page.focus(".table-body > .table-row[tabindex='0']");
  await page.keyboard.press("End");
  await report.settle();
  const names = (await report.rows()).map((row) => row[2]);
  check(names.at(-1), "main", "the last row can be reached");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  checkThat(await page.$eval(".table-body", (body) => body.clientHeight < 6000), "a long table prints a few pages");
  check((await report.rows()).at(-1)[2], "main", "that begin with what is seen");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await report.close();
}

async function testLooks(browser, made) {
  const report = await Report.open(browser, made.timed.page, { colorScheme: "dark" });
  const { page } = report;
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const bright = (color) => color.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) > 380;
  const corner = async () => bright((await report.pixel("canvas.flame-canvas", 0.001, 0.001)).join(" "));
  check([bright(await ground()), await corner()], [false, false], "dark where the system is");
  await page.selectOption("#theme", "light");
  await report.settle();
  check([bright(await ground()), await corner()], [true, true], "light when told");
  check(await report.hash(), "#theme=light", "and the address remembers");
  await page.selectOption("#theme", "auto");
  await page.emulateMedia({ colorScheme: "light" });
  await report.settle();
  check([bright(await ground()), await corner()], [true, true], "as the system changes");
  for (const [width, height] of [[360, 640], [800, 600], [1280, 800], [2560, 1400]]) {
    await page.setViewportSize({ width, height });
    for (const view of views) {
      await report.openTab(view);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      checkThat(over <= 0, `${view} fits into ${width} × ${height}: ${over}`);
    }
  }
  await report.close();
}

async function testPrint(browser, made) {
  const report = await Report.open(browser, made.timed.page, { hash: "focus=main&theme=dark", colorScheme: "dark" });
  const { page } = report;
  const path = join(folder, "print.pdf");
  await page.pdf({ path, printBackground: true, format: "A4", landscape: true });
  checkThat(statSync(path).size > 10_000 && readFileSync(path).subarray(0, 4).toString() === "%PDF", "it prints");
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  for (const hash of ["#theme=auto", "#focus=main&theme=dark"]) {
    await page.evaluate((state) => (location.hash = state), hash);
    await report.settle();
    const paper = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    check(paper, "rgb(255, 255, 255)", `paper is white by style alone: ${hash}`);
  }
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  checkThat((await report.pixel("canvas.flame-canvas", 0.001, 0.001)).every((part) => part > 240), "on white");
  check(await page.isVisible("#search"), false, "without what cannot be used on paper");
  for (const what of [".title", "#verdict summary", "#share", ".chip", ".print-words"]) checkThat(await page.isVisible(what), `with ${what}`);
  if (shots) await page.screenshot({ path: join(shots, "print.png") });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await report.openTabByAddress("top");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  check(await page.isVisible(".table-body > .table-row"), true, "the table prints, too");
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  check(await page.evaluate(() => document.documentElement.dataset.theme), "dark", "and is dark again");
  await report.close();
}

async function takeScreenshots(browser, made) {
  mkdirSync(shots, { recursive: true });
  for (const colorScheme of ["light", "dark"]) {
    for (const view of views) {
      const hash = view === "sandwich" ? "view=sandwich&function=5" : `view=${view}`;
      const report = await Report.open(browser, made.timed.page, { hash, colorScheme });
      await report.page.screenshot({ path: join(shots, `${view}-${colorScheme}.png`) });
      await report.close();
    }
  }
}

const tests = [testOpening, testSums, testLayout, testZoom, testSearch, testKeyboard, testTable, testInlined, testRecursion, testFilters, testPatterns,
  testThreadsAndEvents, testHeatMap, testKnownTimes, testThreadsOverTime, testLinks, testHostileNames, testManyFunctions, testLooks, testPrint];

const begin = performance.now();
const made = maker.all();
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let failed = 0;
const wanted = process.env.ONLY;
for (const test of wanted ? tests.filter((one) => one.name === wanted) : tests) {
  try {
    await test(browser, made);
    check(Report.problems, [], `${test.name} without errors and requests`);
  } catch (error) {
    ++failed;
    Report.problems.length = 0;
    console.log(`FAILED ${test.name}: ${error.stack}`);
  }
}
if (shots) await takeScreenshots(browser, made);
await browser.close();
const seconds = ((performance.now() - begin) / 1000).toFixed(1);
console.log(`HTML report in the browser: ${checks} checks, ${failed} of ${tests.length} tests failed, in ${seconds} s`);
process.exit(failed === 0 ? 0 : 1);
