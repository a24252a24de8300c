#!/usr/bin/env python3
"""What stacks without frame pointers cost: walked in the kernel by tephra, copied by perf, and cut by frame pointers.

Prints one line of JSON for each figure, as recorder_bench.py does. Run it as root: the time inside the kernel is the
kernel's own count (kernel.bpf_stats_enabled).

    bench/stack_bench.py [--seconds S] [--rounds N]
"""

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile

from recorder_bench import BUILD, TEPHRA, cpu_seconds, raised_limits, row, samples_in, sysctl

CASES = os.path.join(BUILD, "programs", "unwind_cases")
FREQUENCY = 999


def walk_cost(folder, options):
    """Microseconds in the program for each sample, by depth."""
    path = os.path.join(folder, "walk.data")
    for frames in (20, 40):
        # Under it: main, the case, what starts a program (three frames), and the function that works.
        depth = str(frames - 6)
        costs = []
        for _ in range(options.rounds):
            command = [TEPHRA, "record", "-v", "--call-graph", "bpf", "-e", "cpu-clock", "-F", str(FREQUENCY), "-o", path,
                       CASES, "depth", str(int(options.seconds * 1000)), depth]
            _, text = cpu_seconds(command)
            costs.append(float(re.search(r"walking took ([\d.]+) us a sample", text)[1]))
        row(f"walking a stack of {frames} frames inside the kernel, C++ without frame pointers", statistics.median(costs),
            None, "us a sample", f"under {15 if frames == 20 else 30} us", "")


# How stacks are recorded: by us, with and without compression, and by perf.
OURS = {"bpf": ["--call-graph", "bpf"], "packed": ["--call-graph", "bpf", "-z"]}
THEIRS = {"dwarf": ["--call-graph", "dwarf"], "dwarf,65528": ["--call-graph", "dwarf,65528"], "fp": ["--call-graph", "fp"]}


def recording_cost(folder, options):
    """CPU of the recorder alone, and bytes a sample, beside perf's ways."""
    ours, theirs = os.path.join(folder, "tephra.data"), os.path.join(folder, "perf.data")
    program = [CASES, "depth", str(int(options.seconds * 1000)), "14"]
    rate = ["-e", "cpu-clock", "-F", str(FREQUENCY)]
    commands = {name: ([TEPHRA, "record", *words, *rate, "-o", ours, *program], ours) for name, words in OURS.items()}
    commands |= {name: (["perf", "record", "-B", "-N", *words, *rate, "-o", theirs, *program], theirs)
                 for name, words in THEIRS.items()}
    cpu = {name: [] for name in commands}
    size = {name: [] for name in commands}
    for index in range(options.rounds):
        for name in sorted(commands, reverse=index % 2 == 1):
            command, path = commands[name]
            # The program itself is a child, too, and works for a fixed time: what is over is the recorder's.
            total, _ = cpu_seconds(command)
            alone, _ = cpu_seconds(program)
            cpu[name].append(max(0.0, total - alone) * 1e3)
            size[name].append(os.path.getsize(path) / samples_in(path))
    middle = {name: statistics.median(values) for name, values in cpu.items()}
    bytes_each = {name: statistics.median(values) for name, values in size.items()}
    what = f"C++ without frame pointers, 20 frames deep, {options.seconds:g} s at {FREQUENCY} Hz"
    for name, words in THEIRS.items():
        peer = f"`perf record -B -N {' '.join(words)}`"
        copies = name.startswith("dwarf")
        row(f"CPU time of recording {what}: start and tables included", middle["bpf"], middle[name], "ms",
            "below perf's" if copies else "", peer)
        row(f"bytes a sample of recording {what}: all else in the file included", bytes_each["bpf"], bytes_each[name],
            "bytes", "1/50 of perf's" if copies else "", peer)
    peer = "`perf record -B -N --call-graph dwarf`"
    row(f"CPU time of recording {what}, with `-z`", middle["packed"], middle["dwarf"], "ms", "", peer)
    row(f"bytes a sample of recording {what}, with `-z`", bytes_each["packed"], bytes_each["dwarf"], "bytes",
        "1/50 of perf's", peer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("perf is not installed")
    saved = sysctl("bpf_stats_enabled")
    sysctl("bpf_stats_enabled", "1")
    try:
        with raised_limits(), tempfile.TemporaryDirectory(prefix="tephra-bench-") as folder:
            walk_cost(folder, options)
            sysctl("bpf_stats_enabled", "0")
            recording_cost(folder, options)
    finally:
        sysctl("bpf_stats_enabled", saved)


if __name__ == "__main__":
    main()
