import type { ColumnFacts, Facts, Numbers, Profile, Stacks, Texts, Waits } from "./profile";

// What the browser cannot do; its message is for the reader of the page.
export class Unsupported extends Error {}

// Reads the profile that stands in the page.
export async function readPage(page: Document): Promise<Profile> {
  const facts = JSON.parse(page.getElementById("tephra-facts")!.textContent!) as Facts;
  const block = page.getElementById("tephra-columns")!;
  const packed = fromBase64(block.textContent!);
  block.remove();
  return decode(facts, await unpack(packed));
}

const digits = new Uint8Array(128);
for (let i = 0; i < 64; ++i) {
  digits["ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".charCodeAt(i)] = i;
}

type Base64 = { fromBase64?: (text: string) => Uint8Array };

export function fromBase64(text: string): Uint8Array {
  const native = (Uint8Array as unknown as Base64).fromBase64;
  if (native) return native.call(Uint8Array, text);
  let end = text.length;
  while (end > 0 && text[end - 1] === "=") --end;
  const out = new Uint8Array(Math.floor((end * 3) / 4));
  let to = 0;
  for (let at = 0; at < end; at += 4) {
    const group =
      (digits[text.charCodeAt(at)] << 18) |
      (digits[text.charCodeAt(at + 1)] << 12) |
      (at + 2 < end ? digits[text.charCodeAt(at + 2)] << 6 : 0) |
      (at + 3 < end ? digits[text.charCodeAt(at + 3)] : 0);
    out[to++] = group >> 16;
    if (to < out.length) out[to++] = group >> 8;
    if (to < out.length) out[to++] = group;
  }
  return out;
}

// The last four bytes of a gzip file tell how long its content is.
function unpackedSize(packed: Uint8Array): number {
  const n = packed.length;
  return (packed[n - 4] | (packed[n - 3] << 8) | (packed[n - 2] << 16) | (packed[n - 1] << 24)) >>> 0;
}

export async function unpack(packed: Uint8Array): Promise<ArrayBuffer> {
  if (typeof DecompressionStream === "undefined") {
    throw new Unsupported(
      "This browser cannot unpack the data of this report. It needs DecompressionStream: Chrome or Edge 80, Firefox 113, Safari 16.4, or later.",
    );
  }
  const stream = new DecompressionStream("gzip");
  const writer = stream.writable.getWriter();
  // What goes wrong is told to the reader below.
  writer.write(packed as BufferSource).catch(() => {});
  writer.close().catch(() => {});
  const reader = stream.readable.getReader();
  const out = new Uint8Array(unpackedSize(packed));
  for (let at = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return out.buffer;
    out.set(value, at);
    at += value.length;
  }
}

class Columns {
  private readonly facts = new Map<string, ColumnFacts>();

  constructor(
    list: ColumnFacts[],
    private readonly buffer: ArrayBuffer,
  ) {
    for (const column of list) this.facts.set(column.name, column);
  }

  get(name: string): Numbers {
    const column = this.facts.get(name);
    if (!column) throw new Error(`the report has no column ${name}`);
    if (column.type === undefined) return constantColumn(column.count, column.constant!);
    const stored = this.view(column);
    return column.delta ? summedUp(stored) : stored;
  }

  texts(name: string): Texts {
    return new LazyTexts(this.get(name) as Uint8Array, this.get(`${name}_length`));
  }

  private view({ type, offset, count }: ColumnFacts): Numbers {
    switch (type) {
      case "u8":
        return new Uint8Array(this.buffer, offset, count);
      case "u16":
        return new Uint16Array(this.buffer, offset, count);
      case "u32":
        return new Uint32Array(this.buffer, offset, count);
      default:
        return new Float64Array(this.buffer, offset, count);
    }
  }
}

function constantColumn(count: number, value: number): Numbers {
  const column =
    value < 256 ? new Uint8Array(count) : value < 2 ** 32 ? new Uint32Array(count) : new Float64Array(count);
  return value === 0 ? column : column.fill(value);
}

function summedUp(steps: Numbers): Numbers {
  let sum = 0;
  for (let i = 0; i < steps.length; ++i) sum += steps[i];
  const out = sum < 2 ** 32 ? new Uint32Array(steps.length) : new Float64Array(steps.length);
  sum = 0;
  for (let i = 0; i < steps.length; ++i) out[i] = sum += steps[i];
  return out;
}

class LazyTexts implements Texts {
  private readonly ends: Uint32Array;
  private readonly known: (string | undefined)[];
  private readonly decoder = new TextDecoder();

  constructor(
    private readonly bytes: Uint8Array,
    lengths: Numbers,
  ) {
    this.ends = new Uint32Array(lengths.length);
    this.known = new Array(lengths.length);
    let end = 0;
    for (let i = 0; i < lengths.length; ++i) this.ends[i] = end += lengths[i];
  }

  get length(): number {
    return this.ends.length;
  }

  get(row: number): string {
    const known = this.known[row];
    if (known !== undefined) return known;
    const text = this.decoder.decode(this.bytes.subarray(row === 0 ? 0 : this.ends[row - 1], this.ends[row]));
    this.known[row] = text;
    return text;
  }
}

// Stored plus one, 0 for none.
function minusOne(column: Numbers): Int32Array {
  const out = new Int32Array(column.length);
  for (let i = 0; i < out.length; ++i) out[i] = column[i] - 1;
  return out;
}

function decodeStacks(depth: Numbers, frame: Numbers, nameOfFrame: Numbers): Stacks {
  const count = depth.length;
  const name = new Uint32Array(count);
  const parent = new Uint32Array(count);
  const last = new Uint32Array(count + 1); // of each depth
  for (let i = 0; i < count; ++i) {
    name[i] = nameOfFrame[frame[i]];
    const at = depth[i];
    last[at] = i;
    if (at > 0) parent[i] = last[at - 1];
  }
  return { count, depth, frame, name, parent };
}

function decodeTime(facts: Facts, column: Numbers): Float64Array | null {
  if (!facts.timed) return null;
  const time = new Float64Array(column.length);
  for (let i = 0; i < time.length; ++i) time[i] = column[i] * facts.time_unit_ns;
  return time;
}

function decodeWaits(facts: Facts, columns: Columns): Waits | null {
  if (!facts.wait_kinds) return null;
  const stack = columns.get("wait.stack");
  const nanoseconds = (name: string) => Float64Array.from(columns.get(name), (steps) => steps * facts.time_unit_ns);
  return {
    count: stack.length,
    stack,
    thread: columns.get("wait.thread"),
    kind: columns.get("wait.kind"),
    begin: nanoseconds("wait.begin"),
    length: nanoseconds("wait.length"),
  };
}

export function decode(facts: Facts, buffer: ArrayBuffer): Profile {
  const columns = new Columns(facts.columns, buffer);
  const texts = columns.texts("name.text");
  const shorts = columns.texts("name.short");
  const frameName = columns.get("frame.name");
  const pid = minusOne(columns.get("thread.pid"));
  const tid = minusOne(columns.get("thread.tid"));
  const sampleStack = columns.get("sample.stack");
  return {
    facts,
    names: {
      count: texts.length,
      text: (row) => texts.get(row),
      shown: (row) => shorts.get(row) || texts.get(row),
      function: columns.get("name.function"),
      kind: columns.get("name.kind"),
      inlined: columns.get("name.inlined"),
      tone: columns.get("name.tone"),
      shade: columns.get("name.shade"),
    },
    modules: { name: columns.texts("module.name"), path: columns.texts("module.path") },
    files: columns.texts("file.path"),
    frames: {
      count: frameName.length,
      name: frameName,
      module: columns.get("frame.module"),
      file: columns.get("frame.file"),
      firstLine: columns.get("frame.first_line"),
      lastLine: columns.get("frame.last_line"),
    },
    stacks: decodeStacks(columns.get("stack.depth"), columns.get("stack.frame"), frameName),
    threads: {
      count: pid.length,
      pid: (row) => pid[row],
      tid: (row) => tid[row],
      comm: minusOne(columns.get("thread.comm")),
      commPid: minusOne(columns.get("thread.comm_pid")),
      commPidTid: minusOne(columns.get("thread.comm_pid_tid")),
    },
    samples: {
      count: sampleStack.length,
      stack: sampleStack,
      thread: columns.get("sample.thread"),
      event: columns.get("sample.event"),
      samples: columns.get("sample.count"),
      value: columns.get("sample.value"),
      time: decodeTime(facts, columns.get("sample.time")),
    },
    waits: decodeWaits(facts, columns),
  };
}
