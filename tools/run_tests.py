#!/usr/bin/env python3
"""Builds and runs the suites, adds up their results, and ends with one line: N passed, N failed, N skipped."""

import argparse
import collections
import glob
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIPPED_STATUS = 77
SLOWEST_TOLD = 12  # live tests
MOST_TRIED_AGAIN = 6  # live tests; when more fail, it is not the machine

Result = collections.namedtuple("Result", "passed failed skipped")


def build(preset, *targets):
    """Builds a preset; the output is shown only when that fails."""
    folder = os.path.join(ROOT, "build", preset)
    steps = [["cmake", "--preset", preset],
             ["cmake", "--build", "--preset", preset] + (["--target", *targets] if targets else [])]
    for step in steps:
        done = subprocess.run(step, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            print(done.stdout)
            raise SystemExit(f"building '{preset}' failed\n0 passed, 1 failed, 0 skipped")
    return folder


def run_gtest(program, shards=1, **environment):
    """Runs a GoogleTest program, in parts at the same time where asked, and counts by its own reports; a crash is a
    failure."""
    with tempfile.TemporaryDirectory() as folder:
        parts = []
        for index in range(shards):
            report = os.path.join(folder, f"report-{index}.json")
            log = open(os.path.join(folder, f"log-{index}"), "w+")
            settings = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)} if shards > 1 else {}
            process = subprocess.Popen([program, f"--gtest_output=json:{report}", "--gtest_brief=1"], cwd=ROOT,
                                       stdout=log, stderr=subprocess.STDOUT,
                                       env={**os.environ, **environment, **settings})
            parts.append((process, log, report))
        results = [gtest_result(program, *part) for part in parts]
    return Result(*map(sum, zip(*results)))


def gtest_result(program, process, log, report):
    try:
        status = process.wait(timeout=1800)
    except subprocess.TimeoutExpired:
        process.kill()
        status = process.wait()
    with log:
        if status != 0:
            log.seek(0)
            print(log.read()[-20000:])
    if not os.path.exists(report):
        print(f"  {program} ended with status {status} before it could report")
        return Result(0, 1, 0)
    with open(report) as file:
        suites = json.load(file)["testsuites"]
    passed = failed = skipped = 0
    for case in (case for suite in suites for case in suite["testsuite"]):
        if case.get("failures"):
            failed += 1
        elif case.get("result") == "SKIPPED":
            skipped += 1
            print(f"  skipped {case['classname']}.{case['name']}")
        elif case.get("result") == "COMPLETED":
            passed += 1
    if status != 0 and failed == 0:
        failed = 1
    return Result(passed, failed, skipped)


def run_unit_tests(preset, *targets, shards=1, **environment):
    """The unit tests, and those that play a machine with hardware counters."""
    folder = build(preset, *targets, "tephra_tests", "tephra_pmu_tests", "test_programs")
    results = [run_gtest(os.path.join(folder, "tephra_tests"), shards, **environment),
               run_gtest(os.path.join(folder, "tephra_pmu_tests"), **environment)]
    return Result(*map(sum, zip(*results)))


def suite_layers(_):
    return run_scripts([[sys.executable, os.path.join(ROOT, "tools", "check_layers.py")]])


def suite_unit(_):
    return run_unit_tests("release", "tephra")


def suite_unit_asan(_):
    return run_unit_tests("asan", shards=2, ASAN_OPTIONS="detect_stack_use_after_return=1")


def suite_unit_tsan(_):
    """Without the fake machine: it plays the kernel, which writes to rings and looks at descriptors as it likes. And
    without the tests of the in-kernel walk, which walk the code of the test program itself, signal handlers included:
    instrumented it is other code. Tests that account for every thread of a program would count the sanitizer's, too."""
    folder = build("tsan", "tephra_tests", "test_programs")
    return run_gtest(os.path.join(folder, "tephra_tests"), 2,
                     GTEST_FILTER="-StackProgramTest*:StackWalkElsewhereTest*:OffCpuProgramTest*")


def suite_live(options):
    if options.all or options.long:
        os.environ["TEPHRA_FULL"] = "1"  # as many killed recorders as promised
    if options.long:
        os.environ["TEPHRA_LONG"] = "1"  # as many pairs of recordings as docs/diff.md tells of
    os.environ["TEPHRA"] = os.path.join(build("release", "tephra", "test_programs"), "tephra")
    sys.path.insert(0, os.path.join(ROOT, "tests", "live"))
    tests = unittest.defaultTestLoader.discover(os.path.join(ROOT, "tests", "live"), pattern="*_test.py")
    outcome = unittest.TextTestRunner(verbosity=1, buffer=True, resultclass=TimedResult).run(tests)
    for seconds, name in sorted(outcome.times, reverse=True)[:SLOWEST_TOLD]:
        print(f"  took {seconds:.0f} s: {name}")
    for test, reason in outcome.skipped:
        print(f"  skipped {test.id()}: {reason}")
    bad = failed_tests(outcome)
    worth_it = 0 < len(bad) <= MOST_TRIED_AGAIN and all("." in name for name in bad)  # else no test by itself
    still_bad = try_again(bad) if worth_it else bad
    return Result(outcome.testsRun - len(still_bad) - len(outcome.skipped), len(still_bad), len(outcome.skipped))


class TimedResult(unittest.TextTestResult):
    """Remembers how long each test took, for those who want the suite to be quicker."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.times = []

    def startTest(self, test):
        self.begun = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.times.append((time.monotonic() - self.begun, test.id()))


def failed_tests(outcome):
    """A failing sub-test and its test are one failure each in unittest; a test counts once here."""
    return {case.id().split(" ")[0] for case, _ in outcome.failures + outcome.errors}


def try_again(names):
    """Live tests sample a machine that may stall at any moment. What failed is shown above, and said to have been tried
    again; what fails twice, or is skipped the second time, has failed."""
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    outcome = unittest.TextTestRunner(verbosity=1, buffer=True).run(tests)
    still_bad = failed_tests(outcome) | {test.id() for test, _ in outcome.skipped}
    for name in sorted(names):
        print(f"  tried again {name}: {'failed again' if name in still_bad else 'passed'}")
    return still_bad


# Folders of public profiles that fuzzers begin with, where they are at hand; see tests/live/support.py.
FIXTURES = os.environ.get("TEPHRA_FIXTURES", os.path.join(os.path.dirname(ROOT), "shared", "fixtures"))
FIXTURES_OF_FUZZERS = {
    "bcc_stacks_fuzzer": ["folded"],
    "bpftrace_fuzzer": ["folded"],
    "chrome_fuzzer": ["firefox", "speedscope"],
    "elf_fuzzer": ["elf"],
    "firefox_fuzzer": ["firefox"],
    "folded_fuzzer": ["folded", "diff-folded"],
    "gperftools_cpu_fuzzer": ["gperftools-cpu"],
    "jitdump_fuzzer": ["jitdump"],
    "json_fuzzer": ["firefox", "speedscope"],
    "legacy_heap_fuzzer": ["heap"],
    "legacy_text_fuzzer": ["legacy-text"],
    "perf_data_fuzzer": ["perf-data"],
    "perf_map_fuzzer": ["perf-map"],
    "perf_script_fuzzer": ["perf-script"],
    "pprof_fuzzer": ["pprof"],
    "speedscope_fuzzer": ["speedscope"],
}


def seeds_of(fuzzer):
    folders = [os.path.join(ROOT, "tests", "fuzz", "seeds", fuzzer)]
    folders += [os.path.join(FIXTURES, name) for name in FIXTURES_OF_FUZZERS.get(fuzzer, [])]
    return [folder for folder in folders if os.path.isdir(folder)]


def suite_fuzz(options):
    folder = build("asan", "fuzzers")
    seconds = 120 if options.long else 5
    commands = []
    fuzzers = sorted(glob.glob(os.path.join(folder, "fuzzers", "*_fuzzer")))
    strangers = FIXTURES_OF_FUZZERS.keys() - {os.path.basename(fuzzer) for fuzzer in fuzzers}
    if strangers:
        sys.exit(f"no such fuzzers: {', '.join(sorted(strangers))}")
    for fuzzer in fuzzers:
        name = os.path.basename(fuzzer)
        corpus = os.path.join(folder, "corpus", name)
        os.makedirs(corpus, exist_ok=True)
        commands.append([fuzzer, f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=10", "-verbosity=0",
                         "-error_exitcode=1", "-timeout_exitcode=1",
                         f"-artifact_prefix={folder}/", corpus] + seeds_of(name))
    return run_scripts(commands)


def suite_browser(_):
    os.environ["TEPHRA"] = os.path.join(build("release"), "tephra")
    scripts = sorted(glob.glob(os.path.join(ROOT, "tests", "browser", "*_test.py")))
    return run_scripts([[sys.executable, script] for script in scripts])


def suite_vm(_):
    """Debian's kernels in emulation, and first what judges them."""
    judge = run_scripts([[sys.executable, os.path.join(ROOT, "tests", "vm", "harness_test.py")]])
    folder = build("release", "tephra", "tephra_tests", "test_programs")
    sys.path.insert(0, os.path.join(ROOT, "tests", "vm"))
    import suite
    return Result(*map(sum, zip(judge, suite.run(ROOT, folder))))


def run_scripts(commands):
    """Runs programs that pass with status 0 and are skipped with 77; each is one test."""
    counts = collections.Counter()
    for command in commands:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=1800)
        name = os.path.basename(command[1] if command[0] == sys.executable else command[0])
        if done.returncode == 0:
            counts["passed"] += 1
        elif done.returncode == SKIPPED_STATUS:
            counts["skipped"] += 1
            print(f"  skipped {name}: {done.stdout.strip()}")
        else:
            counts["failed"] += 1
            print(f"  FAILED {name} (status {done.returncode}):\n{done.stdout[-20000:]}")
    return Result(counts["passed"], counts["failed"], counts["skipped"])


EVERYDAY = {"layers": suite_layers, "unit": suite_unit, "live": suite_live, "unit-asan": suite_unit_asan,
            "fuzz": suite_fuzz}
HEAVY = {"browser": suite_browser, "vm": suite_vm}
LONG = {"unit-tsan": suite_unit_tsan}  # a build of its own, which does not fit beside the others in an hour


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="also the suites with heavy peers")
    parser.add_argument("--long", action="store_true", help="also long fuzzing and ThreadSanitizer; implies --all")
    parser.add_argument("word", nargs="*", help="only these suites: " + ", ".join({**EVERYDAY, **HEAVY, **LONG}))
    options = parser.parse_args()
    suites = dict(EVERYDAY)
    if options.all or options.long or options.word:
        suites.update(HEAVY)
    if options.long or options.word:
        suites.update(LONG)
    total = Result(0, 0, 0)
    for name, suite in suites.items():
        if options.word and name not in options.word:
            continue
        print(f"== {name}", flush=True)
        begin = time.monotonic()
        result = suite(options)
        print(f"   {result.passed} passed, {result.failed} failed, {result.skipped} skipped"
              f" in {time.monotonic() - begin:.0f} s", flush=True)
        total = Result(*(a + b for a, b in zip(total, result)))
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
