#!/usr/bin/env python3
"""What recording waits costs: `perf bench sched pipe`, pinned to one CPU, alone and while waits are recorded by tephra,
by perf and by bpftrace, in alternating rounds. Two switches an operation; the cost of a switch is half of what an
operation takes longer than alone. Unpinned figures jump on virtual machines.

Prints one line of JSON for each figure: the work, ours, the peer and theirs, the unit, and what is to be reached.

    bench/off_cpu_bench.py [--rounds 5] [--loops 200000]
"""

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEPHRA = os.path.join(ROOT, "build", "release", "tephra")
BPFTRACE = """
tracepoint:sched:sched_switch {
  @start[args->prev_pid] = nsecs; @kernel[args->prev_pid] = kstack; @user[args->prev_pid] = ustack;
  if (@start[args->next_pid]) {
    @off[@kernel[args->next_pid], @user[args->next_pid], args->next_pid] = sum(nsecs - @start[args->next_pid]);
    delete(@start[args->next_pid]); } }
"""


def pipe(loops):
    return [shutil.which("taskset"), "-c", "1", shutil.which("perf"), "bench", "-f", "simple", "sched", "pipe", "-l", str(loops)]


def microseconds(command, loops):
    """An operation's time, as the benchmark itself told it."""
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"^(\d+\.\d+)$", done.stdout, re.MULTILINE)
    if not found:
        sys.exit(f"{' '.join(command)[:200]}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return float(found[1]) * 1e6 / loops


class Ways:
    """How waits are recorded; each gives microseconds an operation."""

    def __init__(self, folder, loops):
        self.folder, self.loops = folder, loops
        self.sizes = {}

    def alone(self):
        return microseconds(pipe(self.loops), self.loops)

    def tephra(self, name, *words):
        out = os.path.join(self.folder, "out")
        time = microseconds([TEPHRA, "profile", "-t", "offcpu", "-o", out, *words, "--", *pipe(self.loops)], self.loops)
        recording = glob.glob(os.path.join(out, "*.perf.data"))[0]
        self.sizes[name] = os.path.getsize(recording)
        shutil.rmtree(out)
        return time

    def call_frames(self):
        return self.tephra("call_frames")

    def frame_pointers(self):
        return self.tephra("frame_pointers", "--call-graph", "fp")

    def perf(self):
        data = os.path.join(self.folder, "perf.data")
        command = ["perf", "record", "-B", "-N", "-e", "sched:sched_switch", "-g", "-o", data]
        time = microseconds([*command, *pipe(self.loops)], self.loops)
        self.sizes["perf"] = os.path.getsize(data)
        os.unlink(data)
        return time

    def bpftrace(self):
        script = os.path.join(self.folder, "off.bt")
        with open(script, "w") as file:
            file.write(BPFTRACE)
        command = ["bpftrace", "-o", "/dev/null", "-c", " ".join(pipe(self.loops)), script]
        return microseconds(command, self.loops)


def row(work, ours, peer, theirs, unit, goal):
    print(json.dumps({"work": work, "ours": ours, "peer": peer, "theirs": theirs, "unit": unit, "goal": goal}),
          flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--loops", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ways = Ways(folder, options.loops)
        names = ["alone", "frame_pointers", "call_frames", "perf"] + (["bpftrace"] if shutil.which("bpftrace") else [])
        times = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                times[name].append(getattr(ways, name)())
    best = {name: min(values) for name, values in times.items()}
    cost = {name: (best[name] - best["alone"]) / 2 for name in names}
    for name, values in times.items():
        print(f"{name}: best {best[name]:.2f} median {statistics.median(values):.2f} us an operation", file=sys.stderr)
    row("a switch by frame pointers", cost["frame_pointers"], "`perf record -e sched:sched_switch -g`", cost["perf"],
        "us", "below")
    if "bpftrace" in cost:
        row("the same", cost["frame_pointers"], "bpftrace", cost["bpftrace"], "us", "below")
        row("a switch with call-frame stacks", cost["call_frames"], "bpftrace", cost["bpftrace"], "us", "at most twice")
    row("bytes a switch", ways.sizes["frame_pointers"] / options.loops / 2, "perf", ways.sizes["perf"] / options.loops / 2,
        "bytes", "1/1000")


if __name__ == "__main__":
    main()
