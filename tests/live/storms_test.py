"""Live tests of recording under stress: storms of threads and processes, full rings, exact counts."""

import os
import re
import signal
import subprocess
import time
import unittest

from recording import FAULTS, SPIN, STORM, SUMMARY, RecordTest
from support import TEPHRA, program, run

FORKS = program("fork_storm")


def open_descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Storms(RecordTest):
    def records(self, kind):
        words = ["perf", "script", "-i", self.data, "--show-task-events", "-F", "comm,tid,event"]
        return sum(f"PERF_RECORD_{kind}" in line for line in run(words).stdout.splitlines())

    def test_ten_thousand_forks(self):
        self.need_perf()
        samples, lost, _ = self.record("-e", "page-faults", "-c", "1", FORKS, "10000")
        self.assertEqual(lost, 0)
        # One more tells of the program itself.
        self.assertEqual(self.records("FORK"), 10001)
        self.assertEqual(self.records("EXIT"), 10001)
        self.assertGreater(samples, 10000)

    def test_ten_thousand_execs(self):
        self.need_perf()
        _, lost, _ = self.record("-e", "page-faults", "-c", "1", FORKS, "10000", "exec")
        self.assertEqual(lost, 0)
        comms = self.perf_script("--show-task-events", "-F", "comm,event")
        self.assertEqual(len(re.findall(r"PERF_RECORD_COMM exec: exe:", comms)), 10000)
        names = run([TEPHRA, "report", "-q", "--sort", "comm", self.data]).stdout
        self.assertRegex(names, r"\bexe\b")

    def test_five_thousand_threads(self):
        samples, lost, _ = self.record("-e", "cpu-clock", "-F", "1000", STORM, "5000", timeout=120)
        self.assertEqual(lost, 0)
        self.assertGreater(samples, 1000)

    def test_exec_chain(self):
        """Each program of a chain of execs keeps its own name and mappings."""
        chain = f"{SPIN} 100; exec sh -c '{SPIN} 100; exec {SPIN} 200'"
        self.record("-e", "cpu-clock", "-F", "1000", "-g", "sh", "-c", chain)
        folded = run([TEPHRA, "fold", "-q", self.data]).stdout
        spinning = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()
                       if line.startswith("spin;") and ";main" in line)
        everything = sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines() if line.startswith("spin;"))
        self.assertGreater(spinning, 0.8 * everything)
        self.assertGreater(spinning, 50)

    def test_descriptors_stay_few(self):
        """A recorder of a user's processes closes the events of those that ended."""
        self.need_root()
        recorder = subprocess.Popen([TEPHRA, "record", "-q", "-e", "cpu-clock", "-F", "99", "-o", self.data, "-u",
                                     "65533"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        time.sleep(0.5)
        few = open_descriptors(recorder.pid)
        for _ in range(3):
            run(["setpriv", "--reuid=65533", "--clear-groups", "sh", "-c", "for i in $(seq 40); do sleep 1 & done; wait"])
        time.sleep(2.5)
        many = open_descriptors(recorder.pid)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(20), 0)
        self.assertLess(many, few + 20)


class Losses(RecordTest):
    """What the kernel counts is what was kept and what was lost, together."""

    def kernel_count(self, event, *words):
        result = run(["perf", "stat", "-x,", "-e", event, *words])
        return int(result.stderr.strip().splitlines()[-1].split(",")[0])

    def test_page_faults_in_a_ring_of_one_page(self):
        self.need_perf()
        expected = self.kernel_count("page-faults", FAULTS, "300000")
        kept, lost, _ = self.record("-e", "page-faults", "-c", "1", "-m", "1", FAULTS, "300000")
        self.assertGreater(lost, 0)
        self.assertLess(abs(kept + lost - expected), 12, (kept, lost, expected))
        self.assertEqual(self.perf_samples(), kept)

    def test_tracepoints_in_a_ring_of_one_page(self):
        self.need_tracepoints()
        self.need_perf()
        words = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=300000"]
        expected = self.kernel_count("syscalls:sys_enter_write", *words)
        kept, lost, _ = self.record("-e", "syscalls:sys_enter_write", "-m", "1", *words)
        self.assertGreater(lost, 0)
        self.assertLess(abs(kept + lost - expected), 5, (kept, lost, expected))

    def test_rings_grow_before_anything_is_lost(self):
        """Hundreds of thousands of records a second, with the usual rings."""
        self.need_root()
        words = [TEPHRA, "record", "-v", "-e", "page-faults", "-c", "1", "--call-graph", "fp", "-o", self.data, FAULTS, "300000"]
        result = run(words)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = SUMMARY.search(result.stderr)
        self.assertEqual(found[4], "0", result.stderr)
        self.assertGreaterEqual(int(found[1]), 300000)

    def test_live_warning(self):
        result = run([TEPHRA, "record", "-e", "page-faults", "-c", "1", "--call-graph", "fp", "-m", "1", "-o", self.data, FAULTS,
                      "100000"])
        self.assertIn("records are being lost", result.stderr)
        self.assertIn("records were lost: use larger rings", result.stderr)

    def test_cost_is_told(self):
        result = run([TEPHRA, "record", "-o", self.data, SPIN, "700"])
        self.assertRegex(result.stderr, r"recording took [\d.]+ s of CPU .* wake-ups a second")


if __name__ == "__main__":
    unittest.main()
