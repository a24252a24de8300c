// Measures in Chromium, for bench/page_bench.py: how long two pages take from the start of their navigation to the first
// picture, alternating, and how evenly ours draws while it is panned and zoomed. Prints one line of JSON.
//
//   page_bench.mjs PLAYWRIGHT CHROMIUM OURS THEIRS ROUNDS     (OURS and THEIRS are file:// addresses; THEIRS may be "")
//
// Our picture counts when the page says that it is drawn and the browser has begun the frame after that one. speedscope"s
// counts when it issues its first draw call, whether or not anything is on the screen by then, which is in its favour.

const [playwright, executablePath, ours, theirs, rounds] = process.argv.slice(2);
const { chromium } = await import(playwright);

/** Notes when a page draws for the first time on any canvas that WebGL draws to. */
function noteFirstDraw() {
  window.firstDraw = null;
  for (const type of [window.WebGLRenderingContext, window.WebGL2RenderingContext]) {
    for (const name of ["drawArrays", "drawElements", "drawArraysInstanced", "drawElementsInstanced"]) {
      const draw = type && type.prototype[name];
      if (!draw) continue;
      type.prototype[name] = function (...words) {
        if (window.firstDraw === null) window.firstDraw = performance.now();
        return draw.apply(this, words);
      };
    }
  }
}

/** What `look` finds in the page, once it finds something. Our page's policy forbids Playwright's own way to wait. */
async function until(page, look) {
  for (let tries = 0; tries < 600; ++tries) {
    const found = await page.evaluate(look);
    if (found) return found;
    await page.waitForTimeout(200);
  }
  throw new Error("nothing was drawn");
}

async function firstDrawOfTheirs() {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.addInitScript(noteFirstDraw);
    await page.goto(theirs, { waitUntil: "commit" });
    return await until(page, () => window.firstDraw);
  } finally {
    await browser.close();
  }
}

async function firstDrawOfOurs() {
  const browser = await launch();
  try {
    const page = await browser.newPage();
    await page.addInitScript(() => {
      window.firstFrame = null;
      const look = () => {
        if (window.tephraFirstPicture === undefined) return requestAnimationFrame(look);
        requestAnimationFrame(() => (window.firstFrame = performance.now()));
      };
      requestAnimationFrame(look);
    });
    await page.goto(ours, { waitUntil: "commit" });
    return await until(page, () => window.firstFrame);
  } finally {
    await browser.close();
  }
}

function launch() {
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--allow-file-access-from-files", "--enable-unsafe-swiftshader", "--window-size=1400,900"],
  });
}

/** Milliseconds between frames while `act` moves the picture. */
async function framesDuring(page, act) {
  await page.evaluate(() => {
    window.deltas = [];
    window.stopFrames = false;
    let last = performance.now();
    const tick = (now) => {
      window.deltas.push(now - last);
      last = now;
      if (!window.stopFrames) requestAnimationFrame(tick);
    };
    requestAnimationFrame((now) => { last = now; requestAnimationFrame(tick); });
  });
  await act();
  return page.evaluate(() => { window.stopFrames = true; return window.deltas; });
}

function summary(deltas) {
  const sorted = [...deltas].sort((a, b) => a - b);
  const sum = sorted.reduce((a, b) => a + b, 0);
  return {
    frames: sorted.length,
    rate: (1000 * sorted.length) / sum,
    p99: sorted[Math.floor(sorted.length * 0.99)],
    late: sorted.filter((delta) => delta > 25).length,
  };
}

async function smoothness() {
  const browser = await launch();
  try {
    const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
    await page.goto(ours);
    await until(page, () => window.tephraFirstPicture);
    const box = await page.locator("canvas").first().boundingBox();
    const x = box.x + box.width / 2;
    const y = box.y + Math.min(box.height, 700) / 2;
    await page.mouse.move(x, y);
    const zoom = await framesDuring(page, async () => {
      await page.keyboard.down("Control");
      for (let step = 0; step < 120; ++step) await page.mouse.wheel(0, step < 60 ? -60 : 60);
      await page.keyboard.up("Control");
    });
    await page.keyboard.down("Control");
    for (let step = 0; step < 20; ++step) await page.mouse.wheel(0, -100);
    await page.keyboard.up("Control");
    const pan = await framesDuring(page, async () => {
      await page.mouse.down();
      for (let step = 0; step < 120; ++step) await page.mouse.move(x + 300 * Math.sin(step / 15), y + 5 * Math.sin(step / 9));
      await page.mouse.up();
    });
    return { zoom: summary(zoom), pan: summary(pan) };
  } finally {
    await browser.close();
  }
}

const results = { ours: [], theirs: [] };
for (let round = 0; round < Number(rounds); ++round) {
  if (ours) results.ours.push(await firstDrawOfOurs());
  if (theirs) results.theirs.push(await firstDrawOfTheirs());
}
if (ours) results.smooth = await smoothness();
console.log(JSON.stringify(results));
