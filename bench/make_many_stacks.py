#!/usr/bin/env python3
"""Writes folded stacks as a large C++ program has them: `make_many_stacks.py FILE [COUNT]`.

All stacks are different. They are walks through one fixed graph of calls, in which a few callees are likely and many are
rare, so that they share their outer frames as real ones do.
"""

import random
import sys

FUNCTIONS = 6000
CALLEES = 12
SPACES = ["engine", "net", "storage", "query", "base", "render", "codec", "index"]
KINDS = ["Reader", "Writer", "Cache", "Planner", "Session", "Scheduler", "Encoder", "Visitor", "Pool", "Router"]
VERBS = ["run", "process", "read", "flush", "lookup", "merge", "resolve", "apply", "visit", "dispatch", "parse", "commit"]
PARTS = ["Batch", "Row", "Block", "Frame", "Request", "Segment", "Page", "Token", "Node", "Chunk"]


def function_name(numbers, index):
    space, kind = numbers.choice(SPACES), numbers.choice(KINDS)
    verb, part = numbers.choice(VERBS), numbers.choice(PARTS)
    if index % 10 == 0:
        return f"std::vector<{space}::{part}{kind}{index}, std::allocator<{space}::{part}{kind}{index}> >::_M_{verb}"
    if index % 7 == 0:
        return f"{space}_{verb}_{part.lower()}_{index}"
    return f"{space}::{part}{kind}{index}::{verb}({space}::{part} const&, unsigned long)"


def call_graph(numbers):
    """A name and the callees of each function, likely ones first. Callees are near by, so the graph has regions."""
    names = [function_name(numbers, index) for index in range(FUNCTIONS)]
    callees = [[(index + 1 + int(numbers.expovariate(1 / 60))) % FUNCTIONS for _ in range(CALLEES)]
               for index in range(FUNCTIONS)]
    return names, callees


def stacks(count):
    """Pairs of a stack, outermost frame first, and its number of samples."""
    numbers = random.Random(1)
    names, callees = call_graph(numbers)
    seen = set()
    while len(seen) < count:
        thread = numbers.randrange(8)
        at = thread * 700
        stack = [f"worker-{thread}", "__clone3", "start_thread", names[at]]
        depth = max(2, int(numbers.gauss(21, 4)))
        for step in range(depth):
            surprise = 0.25 + 1.6 * (step / depth) ** 2  # most stacks part near their inner end
            likely = min(int(numbers.expovariate(1 / surprise)), CALLEES - 1)
            at = callees[at][likely]
            stack.append(names[at])
        key = ";".join(stack)
        if key not in seen:
            seen.add(key)
            yield key, 1 + int(numbers.expovariate(0.3))


def write(path, count):
    with open(path, "w") as file:
        for stack, samples in stacks(count):
            file.write(f"{stack} {samples}\n")


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100_000)
