"""What is kept on disk between reports changes their speed, never what they say."""

import os
import shutil
import subprocess
import unittest

from support import LiveTest, program, run


class CacheTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_perf()
        if shutil.which("objcopy") is None:
            self.skipTest("binutils are not installed")
        self.program = self.path("spinner")
        shutil.copy(program("spin_inlined"), self.program)
        self.cache = self.path("cache")

    def record(self):
        data = self.path("perf.data")
        recorded = run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "2000", "-g", "-o", data, "--", self.program, "200"])
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        return data

    def said(self, data, **variables):
        """All that the readers print, names, inlined functions and lines included."""
        settings = {"env": {**os.environ, "XDG_CACHE_HOME": self.cache, **variables}}
        return [self.tephra(*words, "-q", data, **settings).stdout
                for words in (["script"], ["fold"], ["report", "-s", "symbol,srcline", "-g", "none"])]

    def entries(self):
        folder = os.path.join(self.cache, "tephra", "symbols")
        build_id = subprocess.run(["readelf", "-n", self.program], capture_output=True, text=True).stdout
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.split("-")[0] in build_id
                ] if os.path.isdir(folder) else []

    def test_the_same_without_with_and_after_damage(self):
        data = self.record()
        without = self.said(data, TEPHRA_NO_CACHE="1")
        self.assertIn("step", without[0])
        self.assertIn("(inlined)", without[0])
        self.assertEqual(self.entries(), [])
        self.assertEqual(self.said(data), without)
        [entry] = self.entries()
        self.assertEqual(self.said(data), without)
        for damage in (b"", b"x" * 100, os.urandom(5000)):
            with open(entry, "r+b") as file:
                file.seek(len(damage) % 64)
                file.write(damage or b"\xff")
            self.assertEqual(self.said(data), without)
        os.remove(entry)
        os.mkfifo(entry)
        self.assertEqual(self.said(data), without)

    def test_what_strangers_have_written_is_not_kept(self):
        # They could give their file the build id of another, and its names would be shown for that one.
        self.need_root()
        data = self.record()
        os.chown(self.program, 65534, 65534)
        names = self.said(data)
        self.assertIn("(inlined)", names[0])
        self.assertEqual(self.entries(), [])
        os.chown(self.program, 0, 0)
        self.assertEqual(self.said(data), names)
        self.assertEqual(len(self.entries()), 1)

    def test_a_debug_file_that_comes_later_is_used(self):
        whole = self.path("whole")
        shutil.copy(self.program, whole)
        subprocess.run(["objcopy", "--strip-debug", self.program], check=True)
        data = self.record()
        bare = self.said(data)
        self.assertNotIn("spin_inlined.cpp", bare[2])
        debug = self.path("spinner.debug")
        subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
        inode = os.stat(self.program).st_ino
        linked = self.path("linked")
        subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", self.program, linked], check=True)
        with open(linked, "rb") as file:
            content = file.read()
        with open(self.program, "wb") as file:
            file.write(content)
        self.assertEqual(os.stat(self.program).st_ino, inode)
        for _ in range(2):
            self.assertIn("spin_inlined.cpp", self.said(data)[2])
        self.assertEqual(self.said(data), self.said(data, TEPHRA_NO_CACHE="1"))
        os.remove(debug)
        self.assertEqual(self.said(data), bare)

    def test_files_without_build_id_are_not_kept(self):
        subprocess.run(["objcopy", "--remove-section=.note.gnu.build-id", self.program], check=True)
        data = self.record()
        self.said(data)
        self.assertEqual(self.entries(), [])

    def test_a_cache_that_cannot_be_written_is_no_error(self):
        data = self.record()
        with open(self.cache, "w") as file:
            file.write("not a folder")
        self.assertEqual(self.said(data), self.said(data, TEPHRA_NO_CACHE="1"))


if __name__ == "__main__":
    unittest.main()
