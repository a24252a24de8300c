"""Runs inside the guest, by a plan (see suite.py): unit tests by a filter and live tests by name. Ends with one line of
counts as JSON."""

import json
import os
import re
import subprocess
import sys
import unittest

JOB = os.path.dirname(os.path.abspath(__file__))
# A kernel that refuses our programs is a failure here, and no reason to skip.
os.environ["TEPHRA_TEST_BPF_LOADS"] = "1"
# How often a live test may fail and be tried again. Guests are about ten times slower than a machine, and live tests
# count the samples of fractions of a second, in which a recorder has to learn of a program. Each such test is named in
# the result.
RETRIES = 2


def run_unit_tests(filters, counts):
    report = "/tmp/unit.json"
    # What it prints names the test at which a guest stood still.
    subprocess.run([f"{JOB}/build/tephra_tests", f"--gtest_filter={filters}", f"--gtest_output=json:{report}"])
    if not os.path.exists(report):
        counts["failed"].append("tephra_tests did not end by itself")
        return
    with open(report) as file:
        cases = [case for suite in json.load(file)["testsuites"] for case in suite["testsuite"]]
    for case in cases:
        name = f"{case['classname']}.{case['name']}"
        if case.get("failures"):
            counts["failed"].append(name)
        elif case.get("result") == "SKIPPED":
            counts["skipped"].append([name, "see the unit tests"])
        elif case.get("result") == "COMPLETED":
            counts["passed"] += 1


class Told(unittest.TextTestResult):
    """Says which test begins, so that a guest that stands still has named the one it stood still in."""

    def startTest(self, test):
        print("live test", test.id(), flush=True)
        super().startTest(test)


def reasons_of(outcome):
    """The tests that failed, and how each of them did; those of a test that has several parts are one."""
    return {case.id().split(" ")[0]: text for case, text in outcome.failures + outcome.errors}


def each_of(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from each_of(test)
        else:
            yield test


def run_once(names, left_out):
    tests = each_of(unittest.defaultTestLoader.loadTestsFromNames(names))
    chosen = unittest.TestSuite(test for test in tests if test.id() not in left_out)
    return unittest.TextTestRunner(stream=sys.stdout, verbosity=0, resultclass=Told).run(chosen)


def prepare():
    sys.path.insert(0, f"{JOB}/tests/live")
    os.environ["TEPHRA"] = f"{JOB}/build/tephra"
    # Time for the recorder to make the tables of a program before it works; it costs no processor.
    os.environ["UNWIND_CASES_WAIT_MS"] = "1500"
    # Linux's own default, where plain users may record their programs. Debian's is 3, and those tests that are about
    # such levels set them themselves.
    with open("/proc/sys/kernel/perf_event_paranoid", "w") as file:
        file.write("2")


def run_live_tests(names, left_out, counts):
    prepare()
    outcome = run_once(names, left_out)
    counts["skipped"] += [[case.id(), reason] for case, reason in outcome.skipped] + [*map(list, left_out.items())]
    ran = outcome.testsRun - len(outcome.skipped)
    bad = reasons_of(outcome)
    for _ in range(RETRIES):
        if not bad:
            break
        counts["retried"] += [[name, text.strip().splitlines()[-1][-300:]] for name, text in bad.items()]
        bad = reasons_of(run_once(sorted(bad), {}))
    counts["failed"] += sorted(bad)
    counts["passed"] += ran - len(bad)


def complaints_of_the_kernel():
    """Whatever tephra does, the kernel has no reason to warn."""
    log = subprocess.run(["dmesg"], capture_output=True, text=True, errors="replace").stdout
    return [line for line in log.splitlines() if re.search(r"\] (BUG:|WARNING:|Oops|general protection fault)", line)]


def main():
    counts = {"passed": 0, "failed": [], "skipped": [], "retried": []}
    plan = json.loads(sys.argv[1])
    if plan["unit"]:
        run_unit_tests(plan["unit"], counts)
    if plan["live"]:
        run_live_tests(plan["live"], plan["left_out"], counts)
    counts["failed"] += complaints_of_the_kernel()
    print(f"@@COUNTS {json.dumps(counts)}@@", flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
