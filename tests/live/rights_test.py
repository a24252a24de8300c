"""Live tests of recording without rights: each case says what is missing and the command that gives it."""

import os
import re
import shutil
import subprocess
import unittest

from recording import SPIN, RecordTest, paranoid
from support import TEPHRA, program, run

PARANOID = "/proc/sys/kernel/perf_event_paranoid"
WITHOUT_PERF = program("without_perf")


class Rights(RecordTest):
    def set_paranoid(self, level):
        self.need_root()
        before = paranoid()
        try:
            self.write_paranoid(level)
        except OSError as error:
            self.skipTest(f"perf_event_paranoid cannot be set: {error}")
        self.addCleanup(self.write_paranoid, before)

    def write_paranoid(self, level):
        with open(PARANOID, "w") as file:
            file.write(str(level))

    def nobody(self, *words):
        return run(self.as_nobody(TEPHRA, "record", "-o", self.data, *words))

    def one_line(self, result, *says):
        lines = [line for line in result.stderr.splitlines() if "counts no cycles" not in line]
        self.assertEqual(len(lines), 1, result.stderr)
        for text in says:
            self.assertIn(text, lines[0])

    def test_paranoid_2_own_programs_in_user_space(self):
        self.set_paranoid(2)
        result = self.nobody("-g", SPIN, "300")
        self.assertEqual(result.returncode, 0, result.stderr)
        for text in ("only user code is sampled: perf_event_paranoid is 2", "sysctl kernel.perf_event_paranoid=1",
                     "setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog+ep"):
            self.assertIn(text, result.stderr)

    def test_paranoid_2_not_the_machine(self):
        self.set_paranoid(2)
        result = self.nobody("-a", "sleep", "0.1")
        self.assertEqual(result.returncode, 125)
        self.one_line(result, "everything on the CPUs", "sysctl kernel.perf_event_paranoid=0", "setcap")

    def test_paranoid_1_kernel_code_too(self):
        self.set_paranoid(1)
        result = self.nobody("-g", SPIN, "200")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("only user code", result.stderr)

    def test_paranoid_0_the_machine(self):
        self.set_paranoid(0)
        result = self.nobody("-a", "-e", "cpu-clock", "-F", "99", "sleep", "0.3")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_the_capability_alone(self):
        self.need_root()
        self.set_paranoid(2)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all,+perfmon",
                 "--ambient-caps=-all,+perfmon", TEPHRA, "record", "-a", "-g", "-F", "99", "-o", self.data, "sleep",
                 "0.3"]
        self.as_nobody()
        result = run(words)
        if "unknown capability" in result.stderr or "set ambient" in result.stderr:
            self.skipTest(result.stderr.strip())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("only user code", result.stderr)

    def test_the_command_that_is_advised_gives_all_that_is_needed(self):
        self.set_paranoid(2)
        if shutil.which("setcap") is None:
            self.skipTest("setcap is not installed")
        told = self.nobody("--call-graph", "bpf", "true").stderr
        command = re.search(r"(setcap \S+\+ep) \$\(which tephra\)", told)
        self.assertTrue(command, told)
        self.assertIn(f"'{command[1]}' on the tephra program", self.nobody("-a", "sleep", "0.1").stderr)
        copy = os.path.join(self.folder, "tephra")
        shutil.copy(TEPHRA, copy)
        granted = run(["sh", "-c", f"{command[1]} {copy}"])
        if granted.returncode != 0:
            self.skipTest(granted.stderr.strip())
        spinning = subprocess.Popen(self.as_nobody(SPIN, "30000"))
        self.addCleanup(spinning.wait)
        self.addCleanup(spinning.kill)
        others = subprocess.Popen([SPIN, "30000"])
        self.addCleanup(others.wait)
        self.addCleanup(others.kill)
        for words in (["-a"], ["-p", str(spinning.pid)], ["-p", str(others.pid)]):
            with self.subTest(words):
                result = run(self.as_nobody(copy, "record", "--call-graph", "bpf", "-F", "499", "-o", self.data, *words,
                                            "sleep", "0.5"))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertNotIn("only user code", result.stderr)
                folded = run(self.as_nobody(copy, "fold", "-v", self.data))
                self.assertEqual(folded.returncode, 0, folded.stderr)
                self.assertNotIn("kernel_symbols_hidden", folded.stderr)
                if words != ["-a"]:
                    self.assertIn("__libc_start_call_main;main;heavy", folded.stdout)
                os.unlink(self.data)

    def test_where_perf_event_open_is_refused(self):
        for refusal in ("eperm", "enosys"):
            with self.subTest(refusal):
                result = run([WITHOUT_PERF, refusal, TEPHRA, "record", "-o", self.data, SPIN, "100"])
                self.assertEqual(result.returncode, 125, result.stderr)
                self.one_line(result, "seccomp", "perf_event_open", "--security-opt", "inside the process")
        self.assert_no_leftovers()

    def test_paranoid_3_where_the_kernel_knows_it(self):
        self.set_paranoid(3)
        result = self.nobody(SPIN, "100")
        if result.returncode == 0:
            self.skipTest("this kernel treats 3 as 2")
        self.one_line(result, "perf_event_paranoid is 3", "sysctl kernel.perf_event_paranoid=2", "inside the process")


if __name__ == "__main__":
    unittest.main()
