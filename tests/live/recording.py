"""What the tests of recording share: a folder, a file, and the summary that `tephra record` prints."""

import os
import re
import shutil
import tempfile
import unittest

from support import TEPHRA, program, run

SPIN = program("spin")
FAMILY = program("family")
FAULTS = program("touch_pages")
STORM = program("thread_storm")
SUMMARY = re.compile(r"recorded (\d+) samples? of (.+) in ([\d.]+) s, (\d+) lost")


def paranoid():
    with open("/proc/sys/kernel/perf_event_paranoid") as file:
        return int(file.read())


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tephra-record-")
        self.data = os.path.join(self.folder, "out.data")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def need_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")

    def need_perf(self):
        if shutil.which("perf") is None:
            self.skipTest("perf is not installed")

    def need_tracepoints(self):
        self.need_root()
        probe = run([TEPHRA, "record", "-q", "-e", "sched:sched_process_exit", "-o", self.data, "true"])
        if "cannot read tracepoints" in probe.stderr:
            self.skipTest("tracefs cannot be read: " + probe.stderr.strip())
        if os.path.exists(self.data):
            os.unlink(self.data)

    def record(self, *words, status=0, **settings):
        """Records into self.data and returns the summary's numbers."""
        result = run([TEPHRA, "record", "-o", self.data, *words], **settings)
        self.assertEqual(result.returncode, status, result.stderr)
        found = SUMMARY.search(result.stderr)
        self.assertIsNotNone(found, result.stderr)
        self.seconds = float(found[3])
        return int(found[1]), int(found[4]), found[2]

    def fails(self, *words, status, says):
        """Runs `tephra record` and expects one line on standard error with every text of `says`, and no file."""
        result = run([TEPHRA, "record", *words], cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr)
        lines = [line for line in result.stderr.splitlines() if "this machine counts no cycles" not in line]
        self.assertEqual(len(lines), 1, result.stderr)
        for text in says:
            self.assertIn(text, lines[0])
        return lines[0]

    def assert_no_leftovers(self, *expected):
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(expected))

    def perf_script(self, *words, path=None):
        result = run(["perf", "script", "-i", path or self.data, *words])
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def perf_samples(self, path=None):
        return sum(1 for line in self.perf_script("-F", "tid", path=path).splitlines() if line.strip())

    def assert_perf_opens(self, path):
        for command in (["perf", "report", "--stdio", "-i", path], ["perf", "script", "-i", path],
                        ["perf", "report", "--header-only", "-i", path]):
            result = run(command)
            self.assertEqual(result.returncode, 0, f"{command}: {result.stderr}")
            for word in ("incompatible", "failed to process", "truncated", "unexpected", "corrupt"):
                self.assertNotIn(word, result.stderr, f"{command}: {result.stderr}")


    def assert_tephra_opens(self, path):
        """tephra reads as many samples as perf does."""
        script = run([TEPHRA, "script", "-q", "-G", path])
        samples = sum(1 for line in script.stdout.splitlines() if line.strip())
        if samples == 0:
            self.assertIn("holds none", script.stderr)
        else:
            self.assertEqual(script.returncode, 0, script.stderr)
        self.assertEqual(samples, self.perf_samples(path))

    def need_rights_of_plain_users(self):
        if paranoid() > 2:
            self.skipTest(f"perf_event_paranoid is {paranoid()}: users without rights record nothing")

    def as_nobody(self, *words):
        """The words that run others as a user without rights."""
        self.need_root()
        if shutil.which("setpriv") is None:
            self.skipTest("setpriv is not installed")
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
        if run([*nobody, "test", "-x", TEPHRA]).returncode != 0:
            self.skipTest("the program under test cannot be reached by another user")
        os.chmod(self.folder, 0o777)
        return [*nobody, *words]
