#!/usr/bin/env python3
"""Drawing folded stacks: tephra against flamegraph.pl on the same lines. Prints rows for bench/run as JSON.

The stacks are made up: all differ, and each begins like another one, as stacks of one program do. FLAMEGRAPH_DIR is the
folder of flamegraph.pl; without it only tephra runs. Both pictures must have the same number of frames.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEPHRA = os.path.join(ROOT, "build", "release", "tephra")
FUNCTIONS = 4000
WORDS = "read write find insert parse visit update resize merge hash lock send table node queue buffer cache".split()


def function_names(numbers):
    names = set()
    while len(names) < FUNCTIONS:
        name = "_".join(numbers.choice(WORDS) for _ in range(numbers.randint(1, 3)))
        if numbers.random() < 0.5:
            name = f"{numbers.choice(WORDS)}::{numbers.choice(WORDS).title()}::{name}"
        names.add(f"{name}{numbers.randrange(100)}")
    return sorted(names)


def write_stacks(path, count, deepest):
    """Stacks of up to so many functions, sorted, as those who fold stacks write them. Returns how deep they are."""
    numbers = random.Random(1)
    names = function_names(numbers)
    stacks = {("app", "_start", "main")}
    order = list(stacks)
    while len(order) < count:
        stack = list(numbers.choice(order))
        stack = stack[:numbers.randint(3, max(3, min(len(stack), deepest * 3 // 4)))]
        size = len(stack) + numbers.randint(1, deepest // 2)
        size = min(size, deepest)
        while len(stack) < size:
            stack.append(numbers.choice(names))
        stack = tuple(stack)
        if stack not in stacks:
            stacks.add(stack)
            order.append(stack)
    with open(path, "w") as file:
        for stack in sorted(order):
            file.write(";".join(stack) + f" {1 + int(numbers.expovariate(0.2))}\n")
    return sum(map(len, order)) / count


def run(command, rounds, output):
    times = []
    for _ in range(rounds):
        with open(output, "w") as file:
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=file, stderr=subprocess.DEVNULL)
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


def frames_in(path, pattern):
    with open(path) as file:
        return len(re.findall(pattern, file.read()))


def bench(folder, count, deepest, rounds, script, goal):
    path, ours, theirs = (os.path.join(folder, name) for name in ("stacks.folded", "ours.svg", "theirs.svg"))
    depth = write_stacks(path, count, deepest)
    # As many pixels as flamegraph.pl has between its borders.
    mine = run([TEPHRA, "flame", "-q", path, "-o", "-", "--width", "1204"], rounds, ours)
    peer = run(["perl", os.path.join(script, "flamegraph.pl"), "--hash", path], 1 if count > 10_000 else rounds,
               theirs) if script else None
    if peer:
        drawn, expected = frames_in(ours, r'class="f"'), frames_in(theirs, r"<title>")
        if abs(drawn - expected) > 0.001 * expected:
            raise RuntimeError(f"the two do not agree: {drawn} frames against {expected}")
    work = f"SVG from {count:,} folded stacks of {depth:.0f} frames, {frames_in(ours, 'class=.f.'):,} drawn"
    print(json.dumps({"work": work, "ours": mine * 1e3, "peer": "`flamegraph.pl`", "theirs": peer and peer * 1e3,
                      "unit": "ms", "goal": goal}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    script = os.environ.get("FLAMEGRAPH_DIR")
    with tempfile.TemporaryDirectory(prefix="tephra-flame-") as folder:
        bench(folder, 2_000, 24, options.rounds, script, "15 ms or less")
        bench(folder, 200_000, 60, options.rounds, script, "80 times")


if __name__ == "__main__":
    main()
