#!/usr/bin/env python3
"""Folding text of perf script: tephra against stackcollapse-perf.pl on the same text. Prints rows for bench/run as JSON.

The text is that of a recording made here, repeated until it is long enough, each time with later times. `share` of the
samples get an innermost address of their own, as long recordings have them; the rest return.
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
BUILD = os.path.join(ROOT, "build", "release")
TEPHRA = os.path.join(BUILD, "tephra")
WORKLOAD = os.path.join(BUILD, "demo", "workload")
SIZE = 1_200_000_000
EVENT_LINE = re.compile(r"(.*?\s)(\d+)(\.\d+: .*)$")
INNERMOST = re.compile(r"(\s*)([0-9a-f]+)(.*)", re.S)


def recorded_text(folder):
    data = os.path.join(folder, "text.data")
    subprocess.run(["perf", "record", "-q", "-N", "-F", "4999", "-g", "-o", data, "--", WORKLOAD, "4"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return subprocess.run(["perf", "script", "-i", data], check=True, capture_output=True).stdout.decode("latin1")


def blocks_of(text):
    blocks = []
    for block in text.split("\n\n"):
        head, _, body = block.partition("\n")
        found, inner = EVENT_LINE.match(head), INNERMOST.match(body)
        if found and inner:
            blocks.append((found.group(1), int(found.group(2)), found.group(3), body, inner.group(1), inner.group(3)))
    return blocks


def write_text(path, blocks, size, share):
    """The number of samples, and of those with different stacks."""
    numbers = random.Random(1)
    samples, own = 0, 0
    with open(path, "w", encoding="latin1") as file:
        round_number = 0
        while file.tell() < size:
            text = []
            for who, seconds, rest, body, before, behind in blocks:
                if numbers.random() < share:
                    own += 1
                    body = f"{before}{numbers.randrange(1 << 44):x}{behind}"
                text.append(f"{who}{seconds + round_number}{rest}\n{body}\n\n")
            file.write("".join(text))
            samples += len(blocks)
            round_number += 1
    return samples, own + len({block[3] for block in blocks})


def run(command, output):
    """Wall-clock seconds and CPU seconds of one run."""
    with open(output, "w") as file:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime


def peak_memory(command):
    """Peak resident and peak anonymous memory in MB, by looking all the time: what wait4 tells is at least what this
    process had when it forked. The first holds pages of the program, of its libraries and of a mapped input, which the
    kernel may take back at any time."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    resident, anonymous = 0, 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as file:
                status = dict(line.split(":", 1) for line in file)
            if not status["Name"].strip().startswith("python"):
                resident = max(resident, int(status["VmHWM"].split()[0]))
                anonymous = max(anonymous, int(status["RssAnon"].split()[0]))
        except (OSError, KeyError):
            pass
        time.sleep(0.001)
    return resident / 1000, anonymous / 1000


def row(**entry):
    print(json.dumps(entry), flush=True)


def bench(folder, blocks, rounds, size, share, script):
    path = os.path.join(folder, "stacks.txt")
    samples, stacks = write_text(path, blocks, size, share)
    length = os.path.getsize(path)
    ours, theirs = os.path.join(folder, "ours.folded"), os.path.join(folder, "theirs.folded")
    runs = [run([TEPHRA, "fold", "-q", path], ours) for _ in range(rounds)]
    wall, cpu = (statistics.median(figures) for figures in zip(*runs))
    resident, anonymous = peak_memory([TEPHRA, "fold", "-q", path])
    peer = run(["perl", script, path], theirs) + peak_memory(["perl", script, path]) if script else None
    if peer:
        with open(ours) as one, open(theirs) as other:
            if one.read() != other.read():
                raise RuntimeError("the two do not agree")
    work = f"fold {length / 1e9:.2f} GB of perf script text, {samples:,} samples with {stacks:,} different stacks"
    name = "`stackcollapse-perf.pl`"
    row(work=work, ours=wall, peer=name, theirs=peer and peer[0], unit="s",
        goal=f"{length / 2**31:.2f} s (2 GiB/s)" if share == 0 else "")
    row(work="CPU time of it", ours=cpu, peer=name, theirs=peer and peer[1], unit="s", goal="")
    row(work="memory for it, anonymous", ours=anonymous, peer=name, theirs=peer and peer[3], unit="MB", goal="below")
    row(work="memory for it, resident", ours=resident, peer=name, theirs=peer and peer[2], unit="MB", goal="below")
    report = statistics.median(run([TEPHRA, "report", "-q", path], os.devnull)[0] for _ in range(rounds))
    row(work="report of the same text", ours=report, peer="", theirs=None, unit="s", goal="")
    os.unlink(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", type=float, default=SIZE, help="bytes of text")
    options = parser.parse_args()
    scripts = os.environ.get("FLAMEGRAPH_DIR")
    script = scripts and os.path.join(scripts, "stackcollapse-perf.pl")
    with tempfile.TemporaryDirectory(prefix="tephra-bench-") as folder:
        blocks = blocks_of(recorded_text(folder))
        for share in (0, 0.2):
            bench(folder, blocks, options.rounds, options.size, share, script)


if __name__ == "__main__":
    main()
