#!/usr/bin/env python3
"""What recording costs, loses and delays: `tephra record` and `perf record` on the same load, in alternating rounds.

Prints one line of JSON for each figure: the work, ours, the peer and theirs, the unit, and what is to be reached.

    bench/recorder_bench.py [cost] [loss] [start] [flight]
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
TEPHRA = os.path.join(BUILD, "tephra")
SPIN = os.path.join(BUILD, "programs", "spin")
FIXED_WORK = os.path.join(BUILD, "bench", "fixed_work_bench")
PEER = "`perf record -B -N`"
LIMITS = {"perf_event_max_sample_rate": "100000", "perf_cpu_time_max_percent": "0"}


def row(work, ours, theirs, unit, goal, peer=PEER):
    print(json.dumps({"work": work, "ours": ours, "peer": peer, "theirs": theirs, "unit": unit, "goal": goal}),
          flush=True)


def sysctl(name, value=None):
    path = f"/proc/sys/kernel/{name}"
    if value is not None:
        with open(path, "w") as file:
            file.write(value)
    with open(path) as file:
        return file.read().strip()


@contextlib.contextmanager
def raised_limits():
    saved = {name: sysctl(name) for name in LIMITS}

    def write(limits):
        # The kernel takes a new rate only while it watches the time sampling takes.
        sysctl("perf_cpu_time_max_percent", "25")
        for name, value in limits.items():
            sysctl(name, value)

    write(LIMITS)
    try:
        yield
    finally:
        write(saved)


@contextlib.contextmanager
def running(*commands):
    processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def busy_machine():
    return running(*([SPIN, str(10**9)] for _ in range(os.cpu_count())))


def cpu_seconds(command):
    """Runs a command to its end and returns the CPU time of it and of what it waited for, and its standard error."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed with status {process.returncode}: {text}")
    return usage.ru_utime + usage.ru_stime, text


def recorders(folder, *words):
    """Both with the same words, and without build ids."""
    ours, theirs = os.path.join(folder, "tephra.data"), os.path.join(folder, "perf.data")
    return {"tephra": ([TEPHRA, "record", "-B", "-N", "-o", ours, *words], ours),
            "perf": (["perf", "record", "-B", "-N", "-o", theirs, *words], theirs)}


def samples_in(path):
    text = subprocess.run(["perf", "report", "--stats", "-i", path], capture_output=True, text=True).stdout
    return int(re.search(r"SAMPLE events:\s+(\d+)", text)[1])


def alternate(pair, rounds):
    """CPU seconds and bytes a sample of both, by name. Neither records for exactly the same time."""
    times = {name: [] for name in pair}
    sizes = {name: [] for name in pair}
    for index in range(rounds):
        # The order changes each round, so that neither always comes second.
        for name in sorted(pair, reverse=index % 2 == 1):
            command, path = pair[name]
            times[name].append(cpu_seconds(command)[0])
            sizes[name].append(os.path.getsize(path) / samples_in(path))
    return times, sizes


def bench_cost(folder, options):
    with busy_machine():
        for frequency in (99, 999, 20000):
            words = ["-a", "--call-graph", "fp", "-e", "cpu-clock", "-F", str(frequency), "--", "sleep", str(options.seconds)]
            times, sizes = alternate(recorders(folder, *words), options.rounds)
            what = f"the machine for {options.seconds:g} s at {frequency:,} Hz, stacks by frame pointers"
            ours, theirs = (statistics.median(times[name]) * 1e3 for name in ("tephra", "perf"))
            row(f"CPU time of recording {what}", ours, theirs, "ms", "not above")
            ours, theirs = (statistics.median(sizes[name]) for name in ("tephra", "perf"))
            row(f"bytes a sample, all else in the file included, of recording {what}", ours, theirs, "bytes", "not above")
        words = ["-a", "--call-graph", "fp", "-e", "cpu-clock", "-F", "20000", "--", "sleep", str(options.seconds)]
        pair = recorders(folder, *words)
        pair["tephra"] = ([*pair["tephra"][0][:2], "-z", *pair["tephra"][0][2:]], pair["tephra"][1])
        times, sizes = alternate(pair, options.rounds)
        ours, theirs = (statistics.median(sizes[name]) for name in ("tephra", "perf"))
        row("bytes a sample at 20,000 Hz with `-z` (perf without)", ours, theirs, "bytes", "3 times less")
        ours, theirs = (statistics.median(times[name]) * 1e3 for name in ("tephra", "perf"))
        row("CPU time at 20,000 Hz with `-z` (perf without)", ours, theirs, "ms", "")


def lost_samples(path):
    """Kept and lost samples as perf itself counts them in a file; it tells the same losses twice."""
    text = subprocess.run(["perf", "report", "-D", "-i", path], capture_output=True, text=True, errors="replace").stdout
    kept = len(re.findall(r"PERF_RECORD_SAMPLE\(", text))
    lost = sum(int(count) for count in re.findall(r"PERF_RECORD_LOST.*?lost[: ]+(\d+)", text))
    return kept, lost


def bench_loss(folder, options):
    """At 50,000 Hz, with every CPU busy twice over so that recorders have to wait for theirs."""
    words = ["-a", "--call-graph", "fp", "-e", "cpu-clock", "-F", "50000", "--", "sleep", str(options.seconds)]
    lost = {"tephra": [], "perf": []}
    with busy_machine(), busy_machine():
        for _ in range(options.rounds):
            for name, (command, path) in recorders(folder, *words).items():
                cpu_seconds(command)
                lost[name].append(lost_samples(path)[1])
    row(f"records lost in {options.seconds:g} s at 50,000 Hz, usual buffers, two programs a CPU (worst of "
        f"{options.rounds})", max(lost["tephra"]), max(lost["perf"]), "", "none", "`perf record`")


def first_sample(command, path):
    """Seconds from the start of a recorder to its first sample."""
    begin = time.clock_gettime(time.CLOCK_MONOTONIC)
    cpu_seconds(command)
    script = subprocess.run(["perf", "script", "-F", "time", "--ns", "-i", path], capture_output=True, text=True).stdout
    return min(float(line.strip().rstrip(":")) for line in script.splitlines() if line.strip()) - begin


def bench_start(folder, options):
    words = ["-a", "--call-graph", "fp", "-e", "cpu-clock", "-F", "999", "--", "sleep", "0.5"]
    times = {"tephra": [], "perf": []}
    with busy_machine(), running(*(["sleep", "1000"] for _ in range(options.processes))):
        for index in range(options.rounds):
            pair = recorders(folder, *words)
            pair["perf"] = ([*pair["perf"][0][:2], "-k", "mono", *pair["perf"][0][2:]], pair["perf"][1])
            for name in sorted(pair, reverse=index % 2 == 1):
                times[name].append(first_sample(*pair[name]))
    ours, theirs = (statistics.median(times[name]) * 1e3 for name in ("tephra", "perf"))
    row(f"start to first sample with {options.processes:,} processes", ours, theirs, "ms", "not slower",
        "`perf record -a`")


def time_for_work():
    """Seconds for a fixed piece of work, one on each CPU."""
    processes = [subprocess.Popen(["taskset", "-c", str(cpu), FIXED_WORK], stdout=subprocess.PIPE,
                                  text=True) for cpu in sorted(os.sched_getaffinity(0))]
    return [float(process.communicate()[0]) for process in processes]


def bench_flight(folder, options):
    """What waiting in flight costs: the recorder's own CPU, and what the kernel's sampling takes from a busy machine."""
    words = ["-q", "-a", "--call-graph", "fp", "-e", "cpu-clock", "-F", "999", "--overwrite", "-o"]
    waiting = {"tephra": [TEPHRA, "record", "-B", *words, os.path.join(folder, "flight.data"), "sleep", "1000"],
               "perf": ["perf", "record", *words, os.path.join(folder, "perf.data"), "sleep", "1000"]}
    own = []
    times = {"alone": [], "tephra": [], "perf": []}
    for _ in range(options.rounds * 2):
        times["alone"] += time_for_work()
        for name, command in waiting.items():
            recorder = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            before, begin = ticks(recorder.pid), time.monotonic()
            times[name] += time_for_work()
            if name == "tephra":
                own.append((ticks(recorder.pid) - before, time.monotonic() - begin))
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
    share = sum(cpu for cpu, _ in own) / sum(seconds for _, seconds in own)
    row("flight recorder waiting at 999 Hz: CPU of the recorder", share * 100, None, "% of a CPU",
        "under 0.5 %", "")
    more = {name: (min(times[name]) / min(times["alone"]) - 1) * 100 for name in ("tephra", "perf")}
    row("flight recorder waiting at 999 Hz: time that fixed work on every CPU takes more, the kernel's sampling included",
        more["tephra"], more["perf"], "%", "", "`perf record --overwrite`")


def ticks(pid):
    """CPU seconds of a process so far, in nanosecond steps."""
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--processes", type=int, default=2000)
    parser.add_argument("part", nargs="*", help="cost loss start flight (all)")
    options = parser.parse_args()
    if shutil.which("perf") is None:
        sys.exit("perf is not installed")
    parts = {"cost": bench_cost, "loss": bench_loss, "start": bench_start, "flight": bench_flight}
    with raised_limits(), tempfile.TemporaryDirectory(prefix="tephra-bench-") as folder:
        for name, part in parts.items():
            if not options.part or name in options.part:
                part(folder, options)


if __name__ == "__main__":
    main()
