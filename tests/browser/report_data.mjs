// Profiles with known sums for report_test.mjs, written as text that tephra reads.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

// Names, and expressions that the page must understand as the command line does.
const patternNames = ["shop::checksum", "shop::{lambda()#1}::operator()", "Box::operator-", "std::vector<Order[2]>::push",
  "workshop", "C", "c", "caf\u00e9 \u03b1", "a.b(c)", "12"];
export const patterns = ["{lambda", "operator\\-", "shop\\:\\:checksum", "2]", "\\Ashop", "shop\\z", "[[:alpha:]]{5}", "^[[:^alpha:]]+$",
  "^\\pL$", "\\p{Greek}", "^\\PL+$", "\\Qa.b(c)\\E", "(?P<x>c)hecksum", "(?s)a.b", "(?i)^c$|(?i)BOX", "^C$", "(?i)^C$", "[]}]", "\\x{41}|\\061",
  "a{,2}|C{1}", "}"];

export const hostile = [
  "<script>window.hacked = 1</script>",
  "\"><img src=x onerror=\"window.hacked = 2\">",
  "</script><script>window.hacked = 3</script>",
  "it's \"quoted\" & <b>bold</b>",
  "right \u202e to left \u05d0\u05d1",
  "\u0007bell and \u001b[31mred",
  "javascript:window.hacked=4",
  "__proto__",
  "${window.hacked = 5}",
  "long_" + "x".repeat(10000),
];

const seconds = (ns) => (ns / 1e9).toFixed(6);

// Text of perf script. A sample is [comm, pid, tid, seconds, event, period, [innermost, …, outermost]].
function perfScript(samples) {
  return samples
    .map(([comm, pid, tid, time, event, period, frames]) => {
      const lines = frames.map((frame, i) => `\t    ${(4096 + i).toString(16)} ${frame} (/usr/bin/app)`);
      return `${comm} ${pid}/${tid} [000] ${seconds(time)}: ${period} ${event}: \n${lines.join("\n")}\n`;
    })
    .join("\n");
}

// Times are from 100.25 s on. In second s of 0 to 9, `busy` runs s + 1 times in the first half of the second, and `idle_work`
// once near its end.
export function timedSamples() {
  const samples = [];
  for (let s = 0; s < 10; ++s) {
    for (let i = 0; i <= s; ++i) {
      const time = (100 + s) * 1e9 + 2.6e8 + i * 2e7;
      samples.push(["worker", 7, 8 + (i % 2), time, "cycles", 1000, ["busy", "loop", "main"]]);
    }
    samples.push(["app", 7, 7, (100 + s) * 1e9 + 9.1e8, "cycles", 3000, ["idle_work", "main"]]);
    samples.push(["app", 7, 7, (100 + s) * 1e9 + 9.3e8, "cache-misses", 50, ["touch", "main"]]);
  }
  return samples.sort((a, b) => a[3] - b[3]);
}

// Functions that are inlined at one place and called at another, in the module `app` and elsewhere.
function inlinedSamples() {
  const frame = (name, i, module) =>
    name.endsWith("*") ? `\t    ${(4096 + i).toString(16)} ${name.slice(0, -1)} (inlined)` : `\t    ${(4096 + i).toString(16)} ${name} (${module})`;
  const sample = (module, ...frames) =>
    `app 7/7 [000] 100.000000: 10 cycles: \n${frames.map((name, i) => frame(name, i, module)).join("\n")}\n`;
  const [app, lib] = ["/usr/bin/app", "/usr/lib/libother.so"];
  return [
    ...Array(4).fill(sample(app, "mix", "twice", "main")),
    ...Array(3).fill(sample(app, "mix*", "thrice", "main")),
    ...Array(2).fill(sample(app, "mix*", "inner", "mix", "main")),
    ...Array(1).fill(sample(lib, "alone*", "outer", "twice", "main")),
  ].join("\n");
}

const recursive = ["app;main;f;f;f 4", "app;main;f;g;f 3", "app;main;g 2", "app;main;f;h 1"];

function manyFunctions(count) {
  return Array.from({ length: count }, (_, i) => `app;main;group_${i % 100};function_${i} ${1 + (i % 7)}`);
}

// Writes the profile, makes its report and returns where both are.
export class Maker {
  constructor(tephra, folder, flame) {
    this.tephra = tephra;
    this.folder = folder;
    this.flame = flame;
  }

  report(name, text, ...options) {
    const source = join(this.folder, `${name}.txt`);
    writeFileSync(source, text);
    return this.reportOf(name, source, ...options);
  }

  reportOf(name, source, ...options) {
    const page = join(this.folder, `${name}.html`);
    execFileSync(this.tephra, ["flame", "-q", "--html", "-o", page, source, ...options]);
    return { source, page };
  }

  all() {
    return {
      small: this.reportOf("small", this.flame),
      hostile: this.report("hostile", hostile.map((name, i) => `app;main;${name} ${i + 1}`).join("\n") + "\n"),
      recursive: this.report("recursive", recursive.join("\n") + "\n"),
      patterns: this.report("patterns", patternNames.map((name, i) => `app;main;${name} ${2 ** i}`).join("\n") + "\n"),
      inlined: this.report("inlined", inlinedSamples()),
      timed: this.report("timed", perfScript(timedSamples())),
      many: this.report("many", manyFunctions(100_000).join("\n") + "\n"),
    };
  }

  // Samples by stack, as `tephra fold` counts them.
  folded(source, ...options) {
    const text = execFileSync(this.tephra, ["fold", "-q", source, ...options], { maxBuffer: 1 << 28 }).toString();
    return text.split("\n").filter(Boolean).map((line) => {
      const end = line.lastIndexOf(" ");
      return [line.slice(0, end), Number(line.slice(end + 1))];
    });
  }

  // Samples by function, as `tephra report` counts them: [self, total, symbol], sorted.
  functions(source) {
    const text = execFileSync(this.tephra, ["report", "-q", "--json", "--sort", "symbol", source], { maxBuffer: 1 << 28 });
    return JSON.parse(text).entries.map((row) => [row.self.count, row.total.count, row.symbol]).sort();
  }

  // Boxes of the picture that `tephra flame` draws, as [x, width].
  svgBoxes(source) {
    const path = join(this.folder, "picture.svg");
    execFileSync(this.tephra, ["flame", "-q", "--minwidth", "0", "-o", path, source]);
    const text = execFileSync("cat", [path], { maxBuffer: 1 << 28 }).toString();
    return [...text.matchAll(/data-x="(\d+)" data-w="(\d+)"/g)].map((found) => [Number(found[1]), Number(found[2])]);
  }
}
