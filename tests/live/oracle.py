"""What the live tests of report and script share: recordings made by perf, and how to run things.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

from support import TEPHRA, program

WORKERS = program("workers")


def run(command, status=0):
    """Runs a command and returns its standard output; another exit status is an error."""
    done = subprocess.run(command, capture_output=True, timeout=300)
    if done.returncode != status:
        raise AssertionError(
            "%s: status %d\n%s" % (command, done.returncode, done.stderr.decode(errors="replace")))
    return done.stdout.decode(errors="replace")


def tephra(*words, status=0):
    return run([TEPHRA, *words], status)


def perf(*words):
    return run(["perf", *words])


class OracleTest(unittest.TestCase):
    """Recordings are made once for a class, in a folder that goes with it."""

    @classmethod
    def setUpClass(cls):
        if shutil.which("perf") is None:
            raise unittest.SkipTest("perf, the oracle, is not installed")
        for needed in (TEPHRA, WORKERS):
            if not os.path.exists(needed):
                raise AssertionError(needed + " is not built")
        cls.folder = tempfile.mkdtemp(prefix="tephra-oracle-")
        cls.recordings = {}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def recording(cls, name, *words, program=WORKERS):
        """Records `program` with perf under `name`, unless that was done before; skips where perf cannot."""
        if name not in cls.recordings:
            path = os.path.join(cls.folder, name + ".data")
            command = ["perf", "record", "-q", "-o", path, *words, program]
            done = subprocess.run(command, capture_output=True, timeout=120)
            error = None if done.returncode == 0 else done.stderr.decode(errors="replace").strip()
            cls.recordings[name] = (path, error)
        path, error = cls.recordings[name]
        if error is not None:
            raise unittest.SkipTest("perf cannot record %s here: %s" % (" ".join(words), error[-300:]))
        return path

    def stacks(self):
        return self.recording("stacks", "-F", "999", "-e", "cpu-clock", "-g")

    def flat(self):
        return self.recording("flat", "-F", "999", "-e", "cpu-clock")
