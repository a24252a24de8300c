"""What the live tests share: where things are, how to run them, and a second opinion on perf's recordings."""

import collections
import os
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEPHRA = os.path.abspath(os.environ.get("TEPHRA", os.path.join(ROOT, "build", "release", "tephra")))
PROGRAMS = os.path.join(os.path.dirname(TEPHRA), "programs")
FIXTURES = os.environ.get("TEPHRA_FIXTURES", os.path.join(os.path.dirname(ROOT), "shared", "fixtures"))


def program(name):
    return os.path.join(PROGRAMS, name)


def run(command, **settings):
    settings.setdefault("timeout", 120)
    return subprocess.run(command, capture_output=True, text=True, errors="replace", **settings)


def parse_folded(text):
    """Folded lines to a counter of stacks."""
    counts = collections.Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[stack] += int(count)
    return counts


def fold_perf_script(text):
    """Folds `perf script --no-inline` output by its own rules, independent of tephra's."""
    counts = collections.Counter()
    comm, frames = None, []
    for line in text.splitlines() + [""]:
        if not line.strip():
            if comm is not None:
                counts[";".join([comm] + frames[::-1])] += 1
            comm, frames = None, []
        elif comm is None:
            comm = re.match(r"\s*(\S.*?)\s+-?\d+(?:/-?\d+)?\s", line)[1].replace(" ", "_")
        else:
            name = re.match(r"\s*[0-9a-f]+ (.*) \(.*?\)$", line)[1]
            frames.append(re.sub(r"\+0x[0-9a-f]+$", "", name).replace(";", ":"))
    return counts


class LiveTest(unittest.TestCase):
    """A test with a folder of its own."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tephra-live-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def need_perf(self):
        if shutil.which("perf") is None:
            self.skipTest("perf is not installed")

    def need_root(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")

    def tephra(self, *words, status=0, **settings):
        """Runs tephra in the test's folder and checks its exit status."""
        settings.setdefault("cwd", self.folder)
        result = run([TEPHRA, *words], **settings)
        self.assertEqual(result.returncode, status, f"{words}: {result.stdout[-2000:]}{result.stderr[-2000:]}")
        return result

    def folded(self, *words):
        return parse_folded(self.tephra("fold", "-q", *words).stdout)

    def perf_record(self, *words):
        data = self.path("perf.data")
        done = run(["perf", "record", "-q", "-N", "-o", data, *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return data
