"""Live tests of the names of locks: waits for a lock that lies in the data of a program or a library tell its name."""

import collections
import os
import shutil
import subprocess
import unittest

from support import parse_folded, program
from off_cpu_test import OffCpuTest

NAMED = ("queue_mutex", "company::queue+0x8", "plugin_mutex")


class NamedLocks(OffCpuTest):
    def locks(self, path):
        """Nanoseconds by the frame that tells what is waited for; of locks without a name, those of wait_for_lock."""
        folded = self.tephra("fold", "-i", path, "--event-filter", "offcpu-time", "--waits", "frame").stdout
        sums = collections.Counter()
        for stack, value in parse_folded(folded).items():
            frames = stack.split(";")
            if frames[1].startswith("[lock ") or any(frame.endswith("wait_for_lock") for frame in frames):
                sums[frames[1]] += value
        return sums

    def check(self, binary, library, named):
        _, truth, path = self.profile("-t", "offcpu", target=("--", binary, "4", library), first_ms=300)
        sums = self.locks(path)
        self.assertEqual({name for name in sums if name.startswith("[lock ")}, {f"[lock {name}]" for name in named})
        for name in named:
            self.assert_near(sums[f"[lock {name}]"], truth[name][0], 0.02, name)
        nameless = sum(ns for name, (ns, _) in truth.items() if name not in named)
        self.assert_near(sums["[lock]"], nameless, 0.02)
        return path

    def test_position_independent(self):
        self.check(program("named_locks"), program("lock_plugin.so"), NAMED)

    def test_at_a_fixed_address(self):
        self.check(program("named_locks_no_pie"), program("lock_plugin.so"), NAMED)

    def test_table_of_waits(self):
        result, _, _ = self.profile("-t", "offcpu", target=("--", program("named_locks"), "4"), first_ms=300)
        self.assertRegex(result.stdout, r"ms +4  lock queue_mutex +\(anonymous namespace\)::wait_for_lock +named_locks\n")

    def test_files_that_are_gone(self):
        binary = shutil.copy(program("named_locks"), self.path("gone"))
        library = shutil.copy(program("lock_plugin.so"), self.path("gone.so"))
        path = self.check(binary, library, NAMED)
        before = self.locks(path)
        os.remove(binary)
        os.remove(library)
        self.assertEqual(self.locks(path), before)

    def test_redacted(self):
        path = self.check(program("named_locks"), program("lock_plugin.so"), NAMED)
        folded = self.tephra("fold", "-i", path, "--event-filter", "offcpu-time", "--waits", "frame", "--redact").stdout
        self.assertIn(";[lock];", folded)
        for name in ("queue_mutex", "company", "plugin_mutex"):
            self.assertNotIn(name, folded)


class StrippedFiles(OffCpuTest):
    def test_locks_keep_their_addresses(self):
        binary = shutil.copy(program("named_locks"), self.path("stripped"))
        subprocess.run(["strip", binary], check=True)
        _, _, path = self.profile("-t", "offcpu", target=("--", binary, "2"))
        folded = self.tephra("fold", "-i", path, "--event-filter", "offcpu-time", "--waits", "frame").stdout
        self.assertIn(";[lock];", folded)
        self.assertNotIn("[lock ", folded)


if __name__ == "__main__":
    unittest.main()
