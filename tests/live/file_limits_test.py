"""A limit on the size of files (`ulimit -f`) is told in one line, and leaves nothing behind."""

import os
import resource
import unittest

from support import LiveTest, TEPHRA, program, run

LIMIT = 16 << 10


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))


class FileLimits(LiveTest):
    def setUp(self):
        super().setUp()
        self.stacks = self.path("many.folded")
        with open(self.stacks, "w") as file:
            for i in range(5000):
                file.write(f"main;caller_number_{i};callee_number_{i * 7919} {i + 1}\n")

    def limited(self, *command):
        # What is remembered on disk is limited as well.
        environment = {**os.environ, "XDG_CACHE_HOME": self.path("cache")}
        return run(command, preexec_fn=limit_files, env=environment)

    def refused(self, *words):
        before = sorted(os.listdir(self.folder))
        done = self.limited(TEPHRA, *words)
        self.assertEqual(done.returncode, 1, (words, done.stderr))
        self.assertIn("File too large", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(sorted(set(os.listdir(self.folder)) - {"cache"}), before)

    def test_what_every_command_writes_is_whole_or_absent(self):
        self.refused("convert", "-q", self.stacks, "-o", self.path("out.json"))
        self.refused("convert", "-q", self.stacks, "-o", self.path("out.data"))
        self.refused("fold", "-q", self.stacks, "-o", self.path("out.folded"))
        self.refused("flame", "-q", self.stacks, "-o", self.path("out.svg"))

    def test_an_archive_is_whole_or_absent(self):
        data = self.path("spin.data")
        self.tephra("record", "-q", "-g", "-o", data, "--", program("spin"), "200")
        self.refused("archive", "-q", data, "-o", self.path("out.tar"))

    def test_standard_output(self):
        for words in (("report", "-q"), ("fold", "-q"), ("script", "-q")):
            with self.subTest(words):
                done = self.limited("sh", "-c", 'exec "$@" > "$0"', self.path("printed"), TEPHRA, *words, self.stacks)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("cannot write 'standard output': File too large", done.stderr)

    def test_a_program_that_is_recorded_has_the_signal_as_it_was(self):
        script = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
        expected = run(["sh", "-c", script]).stdout
        recorded = self.tephra("record", "-q", "-o", self.path("perf.data"), "--", "sh", "-c", script).stdout
        self.assertEqual(recorded, expected)


if __name__ == "__main__":
    unittest.main()
