"""Every public file at hand, whatever it is: read or refused with a reason, quickly and in bounded memory."""

import os
import resource
import subprocess
import unittest

from support import FIXTURES, LiveTest, TEPHRA

# Beside what is mapped of the file. The largest public file is 4 MB.
MOST_MEMORY = 2 << 30
MOST_SECONDS = 60


def bounded():
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class EveryFile(LiveTest):
    def paths(self):
        if not os.path.isdir(FIXTURES):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(FIXTURES) for name in names)

    def test_is_read_or_refused_with_a_reason(self):
        read = 0
        for path in self.paths():
            with self.subTest(path=os.path.relpath(path, FIXTURES)):
                done = subprocess.run([TEPHRA, "convert", "--to", "folded", path], capture_output=True,
                                      timeout=MOST_SECONDS, preexec_fn=bounded)
                self.assertIn(done.returncode, (0, 1), done.stderr[-500:])
                # Refused: one line that names the file. Read: the verdict comes last.
                said = done.stderr.decode(errors="replace").rstrip("\n").split("\n")
                if done.returncode == 1:
                    self.assertRegex(said[-1], "^tephra: ")
                    self.assertEqual(done.stdout, b"")
                else:
                    self.assertRegex("\n".join(said), "(?m)^verdict: ")
                    read += 1
        self.assertGreater(read, 150)


if __name__ == "__main__":
    unittest.main()
