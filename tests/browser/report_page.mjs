// An HTML report as Chromium shows it, for report_test.mjs: where things are, and hands to use them with.

import { pathToFileURL } from "node:url";

export const rowHeight = 18; // of flame graphs

export let checks = 0;

export function check(actual, expected, what) {
  ++checks;
  const [found, wanted] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (found !== wanted) throw new Error(`${what}: expected ${wanted}, got ${found}`);
}

export function checkThat(truth, what) {
  check(Boolean(truth), true, what);
}

export class Report {
  // What went wrong in any page: errors, messages of the browser, requests that leave, dialogs.
  static problems = [];

  constructor(page, path) {
    this.page = page;
    this.path = path;
  }

  static async open(browser, path, options = {}) {
    const { hash = "", ...settings } = options;
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...settings });
    const page = await context.newPage();
    const report = new Report(page, path);
    report.watch();
    await report.go(hash);
    return report;
  }

  watch() {
    const tell = (text) => Report.problems.push(`${this.path}: ${text}`);
    const own = pathToFileURL(this.path).href;
    this.page.on("pageerror", (error) => tell(error.stack));
    this.page.on("console", (message) => tell(`${message.type()}: ${message.text()}`));
    this.page.on("dialog", (dialog) => {
      tell(`a dialog opened: ${dialog.message()}`);
      void dialog.dismiss();
    });
    this.page.on("request", (request) => {
      if (request.url().split("#")[0] !== own) tell(`asked for ${request.url()}`);
    });
  }

  async go(hash) {
    await this.page.goto("about:blank");
    await this.page.goto(pathToFileURL(this.path).href + (hash ? `#${hash}` : ""));
    await this.ready();
  }

  async ready() {
    // The page's policy forbids Playwright's own way to wait for this.
    const drawn = () => Boolean(window.tephra && document.querySelector("#share")?.textContent);
    for (let tries = 0; !(await this.page.evaluate(drawn)); ++tries) {
      if (tries > 300) throw new Error(`${this.path} was not drawn`);
      await this.page.waitForTimeout(100);
    }
    await this.settle();
  }

  // Until pauses after typing, and animations, are over.
  async settle() {
    await this.page.waitForTimeout(400);
    await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  async close() {
    await this.page.context().close();
  }

  async openTab(view) {
    await this.page.click(`#tab-${view}`);
    await this.settle();
  }

  // Where the tabs are not seen, as in print.
  async openTabByAddress(view) {
    await this.page.evaluate((name) => (location.hash = `#view=${name}&theme=dark`), view);
    await this.settle();
  }

  async type(field, text) {
    await this.page.click(`#${field}`);
    await this.page.fill(`#${field}`, "");
    await this.page.keyboard.type(text);
    await this.settle();
  }

  text(selector) {
    return this.page.textContent(selector);
  }

  share() {
    return this.text("#share");
  }

  chips() {
    return this.page.$$eval(".chip", (chips) => chips.map((chip) => chip.querySelector(".chip-text").textContent));
  }

  hash() {
    return this.page.evaluate(() => decodeURIComponent(location.hash));
  }

  boxes() {
    return this.page.evaluate(() => window.tephra.boxes());
  }

  totals() {
    return this.page.evaluate(() => [window.tephra.total(), window.tephra.whole()]);
  }

  // The middle of the first box of a name in the whole graph, on the screen.
  async boxPoint(name, canvas = "canvas.flame-canvas", up = true) {
    const box = (await this.boxes()).find((one) => one.name === name);
    if (!box) throw new Error(`no box ${name}`);
    const [total] = await this.totals();
    const area = await this.page.locator(canvas).first().boundingBox();
    const fromBase = (box.depth + 0.5) * rowHeight;
    return [
      area.x + ((box.x + box.width / 2) / total) * area.width,
      up ? area.y + area.height - fromBase : area.y + fromBase,
    ];
  }

  // The rows of the table that have elements, as [self, total, name, module].
  rows() {
    return this.page.$$eval(".table-body > .table-row", (rows) =>
      rows
        .map((row) => [Number(row.dataset.place), [0, 2, 4, 5].map((i) => row.children[i].textContent)])
        .sort((a, b) => a[0] - b[0])
        .map(([, cells]) => cells),
    );
  }

  // The colour of a canvas at a share of its width and height.
  pixel(canvas, x, y) {
    return this.page.$eval(
      canvas,
      (element, [dx, dy]) => {
        const copy = document.createElement("canvas");
        copy.width = element.width;
        copy.height = element.height;
        copy.getContext("2d").drawImage(element, 0, 0);
        const at = [Math.floor(dx * element.width), Math.floor(dy * element.height)];
        return [...copy.getContext("2d").getImageData(...at, 1, 1).data.slice(0, 3)];
      },
      [x, y],
    );
  }

  picture(canvas = "canvas.flame-canvas") {
    return this.page.$eval(canvas, (element) => element.toDataURL());
  }
}
