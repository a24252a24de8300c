#!/usr/bin/env python3
"""Differential flame graph of two recordings: tephra against perf script, stackcollapse-perf.pl, difffolded.pl and
flamegraph.pl on the same files. Prints rows for bench/run as JSON.

FLAMEGRAPH_DIR says where the scripts are; without it the chain is not run.
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
TEPHRA = os.environ.get("TEPHRA", os.path.join(BUILD, "tephra"))
WORKLOAD = os.environ.get("WORKLOAD", os.path.join(BUILD, "demo", "workload"))
SAMPLES = 750_000
RATE = 30_000


def record(folder, name, samples):
    """A recording by perf of about so many samples with frame-pointer stacks."""
    path = os.path.join(folder, name)
    seconds = samples / RATE / min(2, os.cpu_count()) * 1.06
    subprocess.run(["perf", "record", "-q", "-N", "-F", str(RATE), "-m", "8M", "-g", "-o", path, "--", WORKLOAD,
                    f"{seconds:.1f}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


def timed(command, **settings):
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **settings)
    return time.perf_counter() - begin


def chain(scripts, folder, before, after):
    """Seconds of the chain of scripts."""
    paths = {name: shlex.quote(os.path.join(folder, name)) for name in ("before.folded", "after.folded", "chain.svg")}
    quoted = shlex.quote(scripts)
    lines = [f"perf script -i {shlex.quote(data)} | {quoted}/stackcollapse-perf.pl > {paths[name]}"
             for data, name in ((before, "before.folded"), (after, "after.folded"))]
    lines.append(f"{quoted}/difffolded.pl {paths['before.folded']} {paths['after.folded']} | "
                 f"{quoted}/flamegraph.pl > {paths['chain.svg']}")
    return timed(["/bin/sh", "-ec", "\n".join(lines)])


def row(**entry):
    print(json.dumps(entry), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=SAMPLES, help="of each recording, about")
    options = parser.parse_args()
    scripts = os.environ.get("FLAMEGRAPH_DIR")
    with tempfile.TemporaryDirectory(prefix="tephra-bench-") as folder:
        before, after = (record(folder, name, options.samples) for name in ("before.data", "after.data"))
        svg = os.path.join(folder, "diff.svg")
        command = [TEPHRA, "diff", "-q", before, after]
        report = json.loads(subprocess.run([*command, "--json"], check=True, capture_output=True).stdout)
        counts = [report[side]["samples"] for side in ("before", "after")]
        caches = [os.path.join(folder, f"cache{number}") for number in range(options.rounds)]
        cold = statistics.median(timed([*command, "-o", svg], env={**os.environ, "XDG_CACHE_HOME": cache})
                                 for cache in caches)
        ours = statistics.median(timed([*command, "-o", svg], env={**os.environ, "XDG_CACHE_HOME": caches[0]})
                                 for _ in range(options.rounds))
        theirs = chain(scripts, folder, before, after) if scripts else None
    work = f"differential flame graph of {counts[0]:,} and {counts[1]:,} samples, with tests of all changes"
    peer = "`perf script \\| stackcollapse-perf.pl` twice, `difffolded.pl \\| flamegraph.pl`"
    row(work=work + ", nothing cached", ours=cold, peer=peer, theirs=theirs, unit="s", goal="80 times")
    row(work=work + ", cached", ours=ours, peer=peer, theirs=theirs, unit="s", goal="80 times")


if __name__ == "__main__":
    main()
