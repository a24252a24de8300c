"""Runs inside the guest: unit tests by a filter and live tests by name; ends with one line of counts as JSON."""

import io
import json
import os
import subprocess
import sys
import unittest

JOB = os.path.dirname(os.path.abspath(__file__))


def run_unit_tests(filters, counts):
    report = "/tmp/unit.json"
    done = subprocess.run([f"{JOB}/build/tephra_tests", f"--gtest_filter={filters}", "--gtest_brief=1",
                           f"--gtest_output=json:{report}"], capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        print(done.stdout[-8000:], done.stderr[-2000:])
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


def run_once(names):
    """Runs live tests; returns the outcome, the names of those that failed and what they printed."""
    text = io.StringIO()
    tests = unittest.defaultTestLoader.loadTestsFromNames(names)
    outcome = unittest.TextTestRunner(stream=text, verbosity=2, buffer=True).run(tests)
    return outcome, sorted({case.id().split(" ")[0] for case, _ in outcome.failures + outcome.errors}), text.getvalue()


def run_live_tests(names, counts):
    """What fails is tried again: emulation now and then stands still for longer than a recording lasts."""
    sys.path.insert(0, f"{JOB}/tests/live")
    os.environ["TEPHRA"] = f"{JOB}/build/tephra"
    outcome, bad, text = run_once(names)
    counts["skipped"] += [[case.id(), reason] for case, reason in outcome.skipped]
    ran = outcome.testsRun - len(outcome.skipped)
    for _ in range(2):
        if not bad:
            break
        print("trying again:", ", ".join(bad))
        _, bad, text = run_once(bad)
    if bad:
        print(text[-12000:])
    counts["failed"] += bad
    counts["passed"] += ran - len(bad)


def main():
    counts = {"passed": 0, "failed": [], "skipped": []}
    filters, *names = sys.argv[1:]
    if filters != "-":
        run_unit_tests(filters, counts)
    if names:
        run_live_tests(names, counts)
    print(f"@@COUNTS {json.dumps(counts)}@@", flush=True)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
