#!/usr/bin/env python3
"""CPU time of `tephra record` and of `perf record -B -N` on the same load, in alternating rounds.

Each round records the whole machine for some seconds while every CPU spins. The CPU time is that of the recorder
process as the kernel counts it, its start included; the load runs apart from it. Prints ours, theirs and the ratio.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "build", "release")
RATE_LIMIT = "/proc/sys/kernel/perf_event_max_sample_rate"
CPU_LIMIT = "/proc/sys/kernel/perf_cpu_time_max_percent"


def cpu_seconds(command):
    """Runs a command to its end and returns the CPU time of it and of what it waited for."""
    with open(os.devnull, "w") as null:
        process = subprocess.Popen(command, stdout=null, stderr=null)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} failed with status {process.returncode}: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def count_samples(path):
    text = subprocess.run(["perf", "script", "-F", "comm", "-i", path], capture_output=True, text=True).stdout
    return sum(1 for line in text.splitlines() if line.strip())


def raise_limits(frequency):
    """Lets the kernel sample that often; returns what to write back."""
    saved = {}
    for path, value in ((CPU_LIMIT, "0"), (RATE_LIMIT, str(frequency))):
        try:
            with open(path) as file:
                saved[path] = file.read().strip()
            if path == RATE_LIMIT and int(saved[path]) >= frequency:
                continue
            with open(path, "w") as file:
                file.write(value)
        except OSError as error:
            print(f"note: {path} stays as it is ({error.strerror})")
    return saved


def restore_limits(saved):
    for path, value in saved.items():
        try:
            with open(path, "w") as file:
                file.write(value)
        except OSError:
            pass


def measure(options, frequency, folder):
    common = ["-a", "-g", "-e", "cpu-clock", "-F", str(frequency)]
    duration = ["--", "sleep", str(options.seconds)]
    recorders = {
        "tephra": [options.tephra, "record", "-q"] + common + ["-o", os.path.join(folder, "tephra.data")] + duration,
        "perf": ["perf", "record", "-q", "-B", "-N"] + common + ["-o", os.path.join(folder, "perf.data")] + duration,
    }
    times = {name: [] for name in recorders}
    for index in range(options.rounds):
        # The order changes each round, so that neither always comes second.
        for name in sorted(recorders, reverse=index % 2 == 1):
            times[name].append(cpu_seconds(recorders[name]))
    return times, {name: count_samples(os.path.join(folder, name + ".data")) for name in recorders}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tephra", default=os.path.join(BUILD, "tephra"))
    parser.add_argument("--load", default=os.path.join(BUILD, "programs", "spin"))
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frequencies", default="999,20000")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each frequency")
    options = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("perf is not installed")
    load = [subprocess.Popen([options.load, str(10**9)]) for _ in range(os.cpu_count())]
    try:
        for frequency in map(int, options.frequencies.split(",")):
            saved = raise_limits(frequency)
            try:
                with tempfile.TemporaryDirectory() as folder:
                    times, samples = measure(options, frequency, folder)
            finally:
                restore_limits(saved)
            ours, theirs = (statistics.median(times[name]) for name in ("tephra", "perf"))
            if options.json:
                print(json.dumps({"frequency": frequency, "seconds": options.seconds, "ours": ours, "theirs": theirs}))
                continue
            print(f"{frequency} Hz, {options.seconds:g} s, {os.cpu_count()} CPUs, median of {options.rounds}: "
                  f"tephra {ours * 1000:.1f} ms, perf {theirs * 1000:.1f} ms, ratio {ours / theirs:.2f}; "
                  f"samples {samples['tephra']} and {samples['perf']}")
            for name in times:
                print(f"  {name}: {' '.join(f'{t * 1000:.1f}' for t in times[name])} ms")
    finally:
        for process in load:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
