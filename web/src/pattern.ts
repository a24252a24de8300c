// Regular expressions as RE2 has them, which the command line uses, made into those of JavaScript. What is written here
// is strict: braces and brackets that mean nothing, and escapes of signs, are fine for RE2 and not for JavaScript.

// Throws where it is no expression; patternProblem() tells why. `flags`: "i", or none.
export function compilePattern(text: string, flags = ""): RegExp {
  const made = new Translation(text).make();
  const all = new Set([...made.flags, ...flags, "u"]);
  return new RegExp(made.source, [...all].join(""));
}

// A pattern that finds the text itself.
export function plainPattern(text: string): RegExp {
  return new RegExp(quoted(text), "u");
}

// Why a text is no expression, in the browser's words; undefined where it is one.
export function patternProblem(text: string): string | undefined {
  try {
    compilePattern(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return message.replace(/^Invalid regular expression: \/[^]*\/[a-z]*: /, "");
  }
}

const syntax = /[\\^$.*+?()[\]{}|/]/g;

function quoted(text: string): string {
  return text.replace(syntax, "\\$&");
}

type Range = [number, number];
const span = (text: string): Range => [text.charCodeAt(0), text.charCodeAt(1)];
const [upper, lower, digit] = [span("AZ"), span("az"), span("09")];
const lastCharacter = 0x10ffff;

// [[:name:]]
const classes: Record<string, Range[]> = {
  alnum: [digit, upper, lower],
  alpha: [upper, lower],
  ascii: [[0, 127]],
  blank: [[9, 9], [32, 32]],
  cntrl: [[0, 31], [127, 127]],
  digit: [digit],
  graph: [[33, 126]],
  lower: [lower],
  print: [[32, 126]],
  punct: [[33, 47], [58, 64], [91, 96], [123, 126]],
  space: [[9, 13], [32, 32]],
  upper: [upper],
  word: [digit, upper, [95, 95], lower],
  xdigit: [digit, span("AF"), span("af")],
};

// Ranges are sorted and apart.
function complement(ranges: Range[]): Range[] {
  const out: Range[] = [];
  let next = 0;
  for (const [from, to] of ranges) {
    if (from > next) out.push([next, from - 1]);
    next = to + 1;
  }
  out.push([next, lastCharacter]);
  return out;
}

function rangeText(ranges: Range[]): string {
  const one = (code: number) => `\\u{${code.toString(16)}}`;
  return ranges.map(([from, to]) => `${one(from)}-${one(to)}`).join("");
}

// One letter, or a general category, or a script: \pL, \p{Lu}, \p{Greek}, \p{^Greek}.
function property(negated: boolean, name: string): string {
  const plain = name.replace(/^\^/, "");
  const letter = negated !== name.startsWith("^") ? "P" : "p";
  return `\\${letter}{${/^[A-Z][a-z]?$/.test(plain) ? plain : `Script=${plain}`}}`;
}

class Translation {
  private at = 0;
  private out = "";
  private flags = new Set<string>(); // those of the whole expression
  private active = new Set<string>(); // those at this place
  private openFlags = 0; // groups that were opened for flags in this group, to be closed with it
  private readonly groups: { active: Set<string>; openFlags: number; prefixes: string[] }[] = [];
  private prefixes: string[] = []; // of those groups, to open them again behind `|`

  constructor(private readonly text: string) {}

  make(): { source: string; flags: Set<string> } {
    while (this.at < this.text.length) this.step();
    this.closeFlags();
    return { source: this.out, flags: this.flags };
  }

  // What the rest begins with is taken, where it matches.
  private take(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found) this.at += found[0].length;
    return found;
  }

  private step(): void {
    const quote = this.take(/\\Q([^]*?)(?:\\E|$)/y);
    if (quote) return this.put(quoted(quote[1]));
    if (this.take(/\\A/y)) return this.put("(?<![^])");
    if (this.take(/\\z/y)) return this.put("(?![^])");
    if (this.text[this.at] === "\\") return this.put(this.escape());
    if (this.text[this.at] === "[") return this.put(this.characterClass());
    if (this.take(/\(\?P</y)) return this.open("(?<");
    const flags = this.take(/\(\?([ims]*)(?:-([ims]+))?([:)])/y);
    if (flags && flags[0] !== "(?:") return this.setFlags(flags[1], flags[2] ?? "", flags[3] === ":");
    const repeat = this.take(/\{\d+(?:,\d*)?\}/y);
    if (repeat) return this.put(repeat[0]);
    const character = flags ? flags[0] : this.take(/[^]/uy)![0];
    if (character[0] === "(") this.open(character);
    else if (character === ")") this.close();
    else if (character === "|") this.alternative();
    else this.put(/[{}\]]/.test(character) ? `\\${character}` : character);
  }

  private put(source: string): void {
    this.out += source;
  }

  private open(source: string, active = this.active): void {
    this.groups.push({ active: this.active, openFlags: this.openFlags, prefixes: this.prefixes });
    this.active = active;
    this.openFlags = 0;
    this.prefixes = [];
    this.put(source);
  }

  private close(): void {
    this.closeFlags();
    this.put(")");
    const around = this.groups.pop();
    if (around) ({ active: this.active, openFlags: this.openFlags, prefixes: this.prefixes } = around);
  }

  private closeFlags(): void {
    this.put(")".repeat(this.openFlags));
  }

  // Flags hold to the end of the group, behind `|` as well.
  private alternative(): void {
    this.closeFlags();
    this.put(`|${this.prefixes.join("")}`);
  }

  private setFlags(on: string, off: string, group: boolean): void {
    const next = new Set([...this.active, ...on].filter((flag) => !off.includes(flag)));
    if (this.out === "" && !group) {
      this.flags = this.active = next;
      return;
    }
    const added = [...next].filter((flag) => !this.active.has(flag)).join("");
    const removed = [...this.active].filter((flag) => !next.has(flag)).join("");
    const prefix = `(?${added}${removed && `-${removed}`}:`;
    if (group) return this.open(prefix, next);
    if (prefix === "(?:") return;
    this.active = next;
    ++this.openFlags;
    this.prefixes = [...this.prefixes, prefix];
    this.put(prefix);
  }

  // Of what is meant by a backslash, within brackets and without.
  private escape(): string {
    const named = this.take(/\\([pP])(?:\{(\^?\w+)\}|(\w))/y);
    if (named) return property(named[1] === "P", named[2] ?? named[3]);
    const code = this.take(/\\x\{([0-9a-fA-F]+)\}/y);
    if (code) return `\\u{${code[1]}}`;
    const octal = this.take(/\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y);
    if (octal) return `\\u{${parseInt(octal[1], 8).toString(16)}}`;
    if (this.take(/\\a/y)) return "\\x07";
    const other = this.take(/\\([^])/uy);
    if (!other) return this.take(/[^]/uy)![0]; // a single one at the end, which is an error
    if (/[0-9A-Za-z]/.test(other[1])) return other[0];
    return other[1] === "-" ? "\\x2d" : quoted(other[1]);
  }

  private characterClass(): string {
    const start = this.take(/\[(\^?)(\]?)/y)!;
    let out = `[${start[1]}${start[2] && "\\]"}`;
    while (this.at < this.text.length) {
      const named = this.take(/\[:(\^?)(\w+):\]/y);
      if (named) {
        const ranges = classes[named[2]];
        if (!ranges) throw new SyntaxError(`there is no class [:${named[2]}:]`);
        out += rangeText(named[1] ? complement(ranges) : ranges);
      } else if (this.text[this.at] === "\\") {
        const escape = this.escape();
        out += escape;
        // Behind a set there is no range.
        if (/^\\[dDwWsSpP]/.test(escape) && this.take(/-(?!\])/y)) out += "\\-";
      } else {
        const character = this.take(/[^]/uy)![0];
        out += character;
        if (character === "]") return out;
      }
    }
    return out;
  }
}
