#!/usr/bin/env python3
"""Reading and writing pprof: tephra beside Go's pprof on the same files.

Prints one line of JSON for each figure, as recorder_bench.py does. Go's pprof is built from Debian's source package
(tests/live/go_pprof.py says how), or named by $PPROF. $PPROF_PROFILE names a profile of random stacks that is there
already, $PERF_DATA a recording.

    bench/pprof_bench.py [--rounds N]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from recorder_bench import ROOT, TEPHRA, row

sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
import go_pprof  # noqa: E402


class Cost:
    """What a command took: seconds by the clock and of CPU, and its peak memory in MB."""

    def __init__(self, command):
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise SystemExit(f"{command} ended with {process.returncode}")
        self.wall = time.perf_counter() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / 1000


def median(command, rounds, figure):
    return statistics.median(getattr(Cost(command), figure) for _ in range(rounds))


def top_of_random_stacks(folder, options):
    path = os.environ.get("PPROF_PROFILE", os.path.join(folder, "random.pb.gz"))
    if not os.path.exists(path):
        subprocess.run([sys.executable, os.path.join(ROOT, "bench", "make_random_pprof.py"), path], check=True)
    # Flat and cumulative sums of every function, as -top has them.
    ours = [Cost([TEPHRA, "report", "-q", "-g", "none", path]) for _ in range(options.rounds)]
    program, why = go_pprof.find()
    theirs = Cost([program, "-top", path]) if program else None
    work = f"pprof file of random stacks ({os.path.getsize(path) / 1e6:.0f} MB): read, and the top printed"
    peer = "`pprof -top`" if program else f"`pprof -top` ({why})"
    for figure, unit, goal, name in (("wall", "s", "1.5 s or less", ""), ("cpu", "s", "", ", CPU time"),
                                     ("memory", "MB", "below", ", peak memory")):
        row(work + name, statistics.median(getattr(cost, figure) for cost in ours),
            theirs and getattr(theirs, figure), unit, goal, peer)


def recording_to_pprof(folder, options):
    """Beside the flame graph of the same file: writing must not cost more than 50 ms beyond reading."""
    data = os.environ.get("PERF_DATA")
    if not data:
        data = os.path.join(folder, "large.data")
        workload = os.path.join(os.path.dirname(TEPHRA), "demo", "workload")
        subprocess.run(["perf", "record", "-q", "-N", "-F", "30000", "-m", "8M", "-g", "-o", data, "--", workload, "13"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    flame = [TEPHRA, "flame", "-q", data, "-o", os.path.join(folder, "flame.svg")]
    convert = [TEPHRA, "convert", "-q", data, "-o", os.path.join(folder, "out.pb.gz")]
    Cost(flame)  # fills the cache
    size = os.path.getsize(data) / 1e6
    for figure, name, unit, scale, goal in (("wall", "", "ms", 1e3, "the peer's and 50 ms"),
                                            ("cpu", ", CPU time", "ms", 1e3, ""),
                                            ("memory", ", peak memory", "MB", 1, "")):
        row(f"perf.data ({size:.0f} MB) to pprof{name}", scale * median(convert, options.rounds, figure),
            scale * median(flame, options.rounds, figure), unit, goal, "`tephra flame` of the same file")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tephra-bench-") as folder:
        top_of_random_stacks(folder, options)
        recording_to_pprof(folder, options)


if __name__ == "__main__":
    main()
