#!/usr/bin/env python3
"""Unwinding copies of stacks: tephra against perf script on the same recordings. Prints rows for bench/run as JSON."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
TEPHRA = os.path.join(BUILD, "tephra")


def timed(command, rounds, **settings):
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **settings)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def perf_record(data, rate, size, command):
    subprocess.run(["perf", "record", "-q", "-N", "-e", "cpu-clock", "-F", str(rate), "-m", "16M", "--call-graph",
                    f"dwarf,{size}", "-o", data, "--", *command], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def large_project(folder, kinds, *words):
    """The folder of a program of one large compile unit."""
    project = os.path.join(folder, f"large{kinds}")
    script = os.path.join(ROOT, "bench", "make_large_project.py")
    subprocess.run([sys.executable, script, project, "--units", "1", "--kinds", str(kinds), *words], check=True)
    return project


def unwound(data):
    words = [os.path.join(BUILD, "bench", "unwind_bench"), data]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)


def bench_large_unit(folder, rounds, samples):
    binary = os.path.join(large_project(folder, 12), "large")
    data = os.path.join(folder, "unit.data")
    rate = 4000
    perf_record(data, rate, 8192, [binary, str(samples / rate)])
    count = unwound(data)["samples"]
    cold_cache = os.path.join(folder, "cache")
    times = []
    for round_number in range(rounds):
        environment = dict(os.environ, XDG_CACHE_HOME=f"{cold_cache}{round_number}")
        fold = [TEPHRA, "fold", "-q", data]
        times.append((timed(fold, 1, env=environment), timed(fold, rounds, env=environment)))
    theirs = timed(["perf", "script", "-i", data], 1)
    work = f"unwind and fold {count:,} copies of stacks, {os.path.getsize(binary) / 1e6:.1f} MB C++ unit, inlines"
    for name, place, goal in (("nothing cached", 0, "50 times"), ("cached", 1, "100 times")):
        yield dict(work=f"{work}, {name}", ours=statistics.median(t[place] for t in times), peer="`perf script`",
                   theirs=theirs, unit="s", goal=goal)


def bench_clang(folder, rounds, seconds):
    source = os.path.join(large_project(folder, 40, "--only-sources"), "unit_0.cpp")
    data = os.path.join(folder, "clang.data")
    perf_record(data, 999, 65528, ["/bin/sh", "-c", f"timeout {seconds} clang++-14 -std=c++20 -O2 -g -c {source} "
                                   f"-o {folder}/large.o || true"])
    ours = unwound(data)
    folding = timed([TEPHRA, "fold", "-q", "--no-inline", data], rounds)
    theirs = timed(["perf", "script", "--no-inline", "-i", data], 1)
    yield dict(work=f"{ours['samples']:,} samples of clang with copies of 64 KB, "
                    f"{ours['frames'] / ours['samples']:.0f} frames each, time a sample",
               ours=ours["seconds"] / ours["samples"] * 1e6, peer="`perf script --no-inline`",
               theirs=theirs / ours["samples"] * 1e6, unit="µs", goal="6.7 µs (150,000 a second)")
    yield dict(work="the same to folded stacks, whole processes", ours=folding, peer="`perf script --no-inline`",
               theirs=theirs, unit="s", goal="")
    sys.stderr.write(f"clang: {ours['samples'] / ours['seconds']:,.0f} samples a second, "
                     f"{100 * ours['whole'] / ours['samples']:.2f} % whole, first {ours['first_seconds']:.3f} s\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tephra-unwind-bench-") as folder:
        for rows in (bench_large_unit(folder, options.rounds, options.samples),
                     bench_clang(folder, options.rounds, options.seconds)):
            for row in rows:
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
