"""Live tests of what kernels with kprobes add: probes as events, beside stacks that are walked in the kernel."""

import os
import re
import subprocess
import unittest

from recording import RecordTest
from support import TEPHRA, program, run
from walks import Walks

PROBES = "/sys/kernel/tracing/kprobe_events"
CASES = program("unwind_cases")
PAGES = program("touch_pages")
GROUP = "tephra_live"


class KernelProbes(RecordTest):
    def setUp(self):
        super().setUp()
        self.need_tracepoints()
        if not os.path.exists(PROBES):
            self.skipTest("this kernel has no kprobes")

    def probe(self, kind, name, function):
        """Makes a probe, and takes it away after the test."""
        self.write(f"{kind}:{GROUP}/{name} {function}")
        self.addCleanup(self.write, f"-:{GROUP}/{name}")
        return f"{GROUP}:{name}"

    def write(self, line):
        # Not by open(): it looks for the end, which this file does not have.
        file = os.open(PROBES, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, line.encode() + b"\n")
        finally:
            os.close(file)

    def samples_of(self, event):
        script = run([TEPHRA, "script", "-q", "-G", "-F", "event", self.data])
        self.assertEqual(script.returncode, 0, script.stderr)
        return sum(line.strip().rstrip(":") == event for line in script.stdout.splitlines())

    def test_every_hit_of_a_probe_is_a_sample(self):
        entry = self.probe("p", "entry", "do_sys_openat2")
        back = self.probe("r", "back", "do_sys_openat2")
        opened = "for i in range(300): open('/dev/null').close()"
        samples, lost, _ = self.record("-e", f"{entry},{back}", "-c", "1", "python3", "-c", opened)
        self.assertEqual(lost, 0)
        hits = self.samples_of(entry)
        self.assertGreaterEqual(hits, 300)
        # The first way back may be that of a call made before the events were on.
        self.assertLessEqual(abs(hits - self.samples_of(back)), 1)
        self.assertEqual(samples, hits + self.samples_of(back))

    def test_kernel_stacks_at_a_probe(self):
        entry = self.probe("p", "entry", "do_sys_openat2")
        self.record("-g", "-e", entry, "-c", "1", "cat", "/dev/null")
        folded = run([TEPHRA, "fold", "-q", self.data])
        self.assertEqual(folded.returncode, 0, folded.stderr)
        stacks = [line for line in folded.stdout.splitlines() if re.search(r"sys_open", line)]
        self.assertTrue(stacks, folded.stdout)

    def test_stacks_are_walked_beside_probes_that_fire(self):
        """Probes and their ways back on page faults, which interrupt the program where it is being sampled."""
        entry = self.probe("p", "fault", "handle_mm_fault")
        back = self.probe("r", "fault_done", "handle_mm_fault")
        with subprocess.Popen([TEPHRA, "record", "-q", "-a", "-e", f"{entry},{back}", "-c", "1", "-o",
                               self.path_of("probes.data"), "--", PAGES, "20000"], stderr=subprocess.PIPE) as beside:
            _, lost, _ = self.record("--call-graph", "bpf", "-e", "cpu-clock", "-F", "997", CASES, "recursion", "1500")
            beside.communicate(timeout=300)
        self.assertEqual(beside.returncode, 0)
        self.assertEqual(lost, 0)
        walks = Walks(self.data)
        self.assertGreater(len(walks.walked), 300, walks)
        self.assertGreaterEqual(walks.complete(), 0.99, walks)

    def test_probes_and_walked_stacks_in_one_recording(self):
        entry = self.probe("p", "fault", "handle_mm_fault")
        result = run([TEPHRA, "record", "-g", "-e", f"cpu-clock,{entry}", "-c", "1000000", "-o", self.data, CASES,
                      "recursion", "800"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"the stacks of {entry} are taken by frame pointers", result.stderr)
        self.assertGreater(self.samples_of("cpu-clock"), 100)

    def path_of(self, name):
        return os.path.join(self.folder, name)


if __name__ == "__main__":
    unittest.main()
