#!/usr/bin/env python3
"""What recording every page fault costs: `tephra profile -t mem` and `perf record -e page-faults -c 1 -g` on a program
that touches 4 GiB, page by page, pinned to one CPU, in alternating rounds of which the best counts. The program tells
its own CPU time, in which faults are handled and recorded; what recorders do meanwhile elsewhere is not in it.

Prints one line of JSON for each figure: the work, ours, the peer and theirs, the unit, and what is to be reached.

    bench/mem_bench.py [--rounds 5] [--mib 4096]
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
BUILD = os.path.join(ROOT, "build", "release")
TEPHRA = os.path.join(BUILD, "tephra")
RESIDENT = os.path.join(BUILD, "programs", "resident")
PEER = "`perf record -e page-faults -c 1 -g`"


def row(work, ours, theirs, unit, goal, peer=PEER):
    print(json.dumps({"work": work, "ours": ours, "peer": peer, "theirs": theirs, "unit": unit, "goal": goal}),
          flush=True)


def run(command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: {result.stderr}")
    return float(re.search(r"^([\d.]+) s$", result.stderr, re.MULTILINE)[1]), result.stdout + result.stderr


def faults_of_perf(path):
    """Samples and losses, as perf counts them; it tells losses twice."""
    text = subprocess.run(["perf", "report", "--stats", "-i", path], capture_output=True, text=True).stdout
    numbers = {name: int(count) for name, count in re.findall(r"(\w+) events:\s+(\d+)", text)}
    return numbers.get("SAMPLE", 0), numbers.get("LOST", 0)


def faults_of_tephra(path):
    text = subprocess.run([TEPHRA, "report", "--json", "-q", "--event-filter", "resident-memory", path],
                          capture_output=True, text=True, check=True).stdout
    report = json.loads(text)
    return report["total"]["count"], report["verdict"]["lost"]


def one_round(folder, program, times, counts):
    alone, _ = run(program)
    times["alone"].append(alone)
    data = os.path.join(folder, "perf.data")
    seconds, _ = run(["perf", "record", "-B", "-N", "-e", "page-faults", "-c", "1", "-g", "-o", data, *program])
    times["perf"].append(seconds)
    counts["perf"] = (*faults_of_perf(data), os.path.getsize(data))
    out = os.path.join(folder, "out")
    seconds, _ = run([TEPHRA, "profile", "-q", "-t", "mem", "-o", out, "--", *program])
    times["tephra"].append(seconds)
    path = glob.glob(os.path.join(out, "*.perf.data"))[0]
    counts["tephra"] = (*faults_of_tephra(path), os.path.getsize(path))
    shutil.rmtree(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mib", type=int, default=4096)
    options = parser.parse_args()
    pages = options.mib * 1024 * 1024 // os.sysconf("SC_PAGESIZE")
    times = {"alone": [], "perf": [], "tephra": []}
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            one_round(folder, ["taskset", "-c", "1", RESIDENT, "region", str(pages)], times, counts)
    best = {name: min(values) for name, values in times.items()}
    for name, values in times.items():
        print(f"{name}: best {best[name]:.2f} median {statistics.median(values):.2f} s", file=sys.stderr)
    what = f"every fault of a program that touches {options.mib} MiB, with stacks"
    row(f"recording {what}", best["tephra"], best["perf"], "s", "not slower")
    row("the same without a recorder", best["alone"], best["alone"], "s", "")
    cost = {name: (best[name] - best["alone"]) / pages * 1e6 for name in ("tephra", "perf")}
    row(f"cost of one fault while recording {what}", cost["tephra"], cost["perf"], "us", "not above")
    row(f"faults lost while recording {what}", counts["tephra"][1], counts["perf"][1], "faults", "told")
    row(f"faults kept while recording {what}", counts["tephra"][0], counts["perf"][0], "faults", "all")
    row(f"bytes of recording {what}", counts["tephra"][2] / 1e6, counts["perf"][2] / 1e6, "MB", "")


if __name__ == "__main__":
    main()
