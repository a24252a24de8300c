#!/usr/bin/env python3
"""Tests the method of `tephra diff` on itself: recordings of one program against each other, where nothing changed, and
against recordings of a slower one, where it is known what did.

    tests/live/diff_truth.py --folder DIR                records what is missing there, compares, prints the figures
    tests/live/diff_truth.py --pairs 4 --slower 3:2      fewer

What is found is compared with what the statistics predict: a pair of the same program has a finding in at most one of
twenty cases, and a slower function is found as often as its size, the number of samples and the number of tests say.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import tempfile

from support import TEPHRA, program

SECONDS = 3
FREQUENCY = 1999
SLOW = "look_up"
SHARE = 0.15  # of the program's time


def record(path, percent):
    """One recording of a program that comes before all others on its CPU, as far as the machine lets us."""
    before = []
    if shutil.which("chrt") and subprocess.run(["chrt", "-f", "5", "true"], capture_output=True).returncode == 0:
        before = ["taskset", "-c", str(max(os.sched_getaffinity(0))), "chrt", "-f", "5"]
    command = [os.environ.get("TEPHRA_RECORDER", TEPHRA), "record", "-q", "-e", "cpu-clock:u", "-F", str(FREQUENCY),
               "--call-graph", "fp", "-o", path + ".part", "--", *before,
               os.environ.get("KNOWN_MIX", program("known_mix")), str(SECONDS * 1000), str(percent)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.rename(path + ".part", path)


def recordings(folder, percent, count):
    paths = [os.path.join(folder, f"slower{percent}-{number}.data") for number in range(count)]
    for path in paths:
        if not os.path.exists(path):
            record(path, percent)
    return paths


def compare(before, after):
    done = subprocess.run([TEPHRA, "diff", "--json", "-q", *before, "--", *after], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def findings(result):
    """Names of the functions and paths that are said to have changed."""
    found = [f["name"] for f in result["functions"] if f["self"]["finding"] or f["total"]["finding"]]
    return found + ["path to " + p["name"] for p in result["paths"] if p["total"]["finding"]]


def same_program(pairs):
    """Of pairs without a change, how many have a finding; and how many of the 95 % intervals miss the truth, zero."""
    wrong, missed, intervals = [], 0, 0
    for before, after in pairs:
        result = compare(before, after)
        found = findings(result)
        if found:
            wrong.append((before, after, found))
        for function in result["functions"]:
            for value in (function["self"], function["total"]):
                if "low" in value:
                    intervals += 1
                    missed += not value["low"] <= 0 <= value["high"]
    return wrong, missed, intervals


def normal(x):
    return (1 + math.erf(x / math.sqrt(2))) / 2


def slower_program(pairs, percent):
    """How often the slower function is found, what `diff` itself predicted, and how often its interval holds the truth."""
    truth = (SHARE + percent / 100) / (1 + percent / 100) - SHARE
    found, covered, powers = 0, 0, []
    for before, after in pairs:
        result = compare(before, after)
        value = next(f["self"] for f in result["functions"] if f["name"] == SLOW)
        found += value["finding"]
        covered += value["low"] <= truth <= value["high"]
        # `detectable` is the change that is found with a power of 80 %.
        error = value["detectable"] / (value["threshold"] + 0.8416)
        powers.append(normal(truth / error - value["threshold"]))
    return found, statistics.mean(powers), covered


def in_pairs(paths, size=1):
    """([before…], [after…]) of `size` recordings a side."""
    groups = [paths[i:i + size] for i in range(0, len(paths), size)]
    return [(groups[i], groups[i + 1]) for i in range(0, len(groups) - 1, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="where recordings are kept; else they are thrown away")
    parser.add_argument("--pairs", type=int, default=40, help="of the same program")
    parser.add_argument("--slower", default="3:20,10:20", help="PERCENT:PAIRS of slower programs")
    parser.add_argument("--only-record", action="store_true")
    options = parser.parse_args()
    folder = options.folder or tempfile.mkdtemp(prefix="tephra-truth-")
    os.makedirs(folder, exist_ok=True)
    try:
        same = recordings(folder, 0, 2 * options.pairs)
        slower = {}
        for word in options.slower.split(","):
            percent, count = map(int, word.split(":"))
            slower[percent] = recordings(folder, percent, count)
        if options.only_record:
            return
        for size in (1, 4):
            pairs = in_pairs(same, size)
            if not pairs:
                continue
            wrong, missed, intervals = same_program(pairs)
            print(f"same program, {size} a side: {len(wrong)} of {len(pairs)} pairs have a finding; "
                  f"{missed} of {intervals} intervals miss zero ({missed / max(1, intervals):.1%})")
            for before, after, found in wrong:
                print("   ", [os.path.basename(path) for path in before + after], found)
            for percent, paths in slower.items():
                ends = [paths[i:i + size] for i in range(0, len(paths) - size + 1, size)]
                begins = [same[i:i + size] for i in range(0, len(same) - size + 1, size)]
                pairs = list(zip(begins, ends))
                found, power, covered = slower_program(pairs, percent)
                print(f"{percent} % slower, {size} a side: found in {found} of {len(pairs)} pairs, predicted "
                      f"{power * len(pairs):.1f}; {covered} intervals hold the true change")
    finally:
        if not options.folder:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
