"""tephra archive: a recording and the files it sampled, in one file that tar unpacks."""

import os
import re
import shutil
import unittest

from recording import RecordTest, SPIN
from support import TEPHRA, parse_folded, run


class ArchiveTest(RecordTest):
    def record_and_archive(self, end, *words):
        app = os.path.join(self.folder, "app")
        shutil.copy(SPIN, app)
        self.record("-g", "-F", "999", *words, app, "300")
        out = self.data + end
        result = run([TEPHRA, "archive", self.data, "-o", out])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.said = result.stderr
        return app, out

    def unpack(self, out):
        result = run(["tar", "xf", out, "-C", self.folder])
        if "zstd" in result.stderr and shutil.which("zstd") is None:
            self.skipTest("tar needs zstd, which is not installed")
        self.assertEqual(result.returncode, 0, result.stderr)
        return os.path.join(self.folder, "out.data-archive")

    def test_tar_unpacks_what_was_sampled(self):
        for end in (".tar.zst", ".tar.gz", ".tar"):
            with self.subTest(end):
                app, out = self.record_and_archive(end)
                unpacked = self.unpack(out)
                with open(self.data, "rb") as here, open(unpacked + "/out.data", "rb") as there:
                    self.assertEqual(here.read(), there.read())
                with open(app, "rb") as here, open(unpacked + app, "rb") as there:
                    self.assertEqual(here.read(), there.read())
                self.assertIn("tar xf", self.said)
                shutil.rmtree(unpacked)

    def test_files_are_found_by_build_id(self):
        app, out = self.record_and_archive(".tar.gz", "--no-embed")
        unpacked = self.unpack(out)
        notes = run(["readelf", "-n", app]).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        for folder in ("/.build-id/", "/.debug/.build-id/"):
            path = unpacked + folder + build_id[:2] + "/" + build_id[2:]
            with open(app, "rb") as here, open(path, "rb") as there:
                self.assertEqual(here.read(), there.read())
        shutil.rmtree(unpacked + self.folder)  # by path it is not found any more

    def test_perf_reads_it_with_its_build_id_folder(self):
        self.need_perf()
        app, out = self.record_and_archive(".tar.gz", "--no-embed")
        unpacked = self.unpack(out)
        os.unlink(app)
        shutil.rmtree(unpacked + self.folder)
        result = run(["perf", "--buildid-dir", unpacked + "/.debug", "script", "-i", unpacked + "/out.data", "-F", "ip,sym"])
        self.assertIn("heavy", result.stdout, result.stderr)

    def test_symfs_names_a_recording_without_names(self):
        if "--symfs" not in run([TEPHRA, "fold", "--help"]).stdout:
            self.skipTest("this program has no --symfs")
        app, out = self.record_and_archive(".tar.gz", "--no-embed")
        unpacked = self.unpack(out)
        os.unlink(app)
        result = run([TEPHRA, "fold", "-q", "--symfs", unpacked, unpacked + "/out.data"])
        names = {name for stack in parse_folded(result.stdout) for name in stack.split(";")}
        self.assertLessEqual({"main", "heavy"}, names)

    def test_an_archive_of_nothing_but_the_recording_says_so(self):
        self.record("--all-kernel", "-F", "999", SPIN, "100")
        result = run([TEPHRA, "archive", self.data, "-o", os.path.join(self.folder, "bare.tar")])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("holds the recording alone", result.stderr)

    def test_folded_stacks_have_no_files_to_archive(self):
        with open(os.path.join(self.folder, "app.folded"), "w") as folded:
            folded.write("app;main;heavy 7\n")
        result = run([TEPHRA, "archive", os.path.join(self.folder, "app.folded")])
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("folded files tell of no programs", result.stderr)
        self.assert_no_leftovers("app.folded")

    def test_the_recording_is_not_written_over(self):
        self.record("-F", "999", SPIN, "100")
        os.rename(self.data, os.path.join(self.folder, "recording.tar"))
        with open(os.path.join(self.folder, "recording.tar"), "rb") as before:
            content = before.read()
        result = run([TEPHRA, "archive", "recording.tar", "-o", "./recording.tar"], cwd=self.folder)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("it is the file that is read", result.stderr)
        with open(os.path.join(self.folder, "recording.tar"), "rb") as after:
            self.assertEqual(after.read(), content)

    def test_what_is_missing_is_said(self):
        app = os.path.join(self.folder, "app")
        shutil.copy(SPIN, app)
        self.record("-g", "-F", "999", app, "300")
        os.unlink(app)
        result = run([TEPHRA, "archive", self.data])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("not in the archive: " + app, result.stderr)
        self.assertTrue(os.path.exists(self.data + ".tar.zst"))

    def record_without_build_id(self):
        """A program without a build id; where it is now stands what the test puts there."""
        app = os.path.join(self.folder, "app")
        self.assertEqual(run(["objcopy", "--remove-section", ".note.gnu.build-id", SPIN, app]).returncode, 0)
        self.record("-g", "-F", "999", "--no-embed", app, "300")
        return app

    def test_what_nothing_proves_is_left_out_unless_asked_for(self):
        app = self.record_without_build_id()
        out = self.data + ".tar.gz"
        result = run([TEPHRA, "archive", self.data, "-o", out])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, re.escape(app) + " .*--unproven")
        self.assertNotIn(app[1:] + "\n", run(["tar", "tf", out]).stdout)
        result = run([TEPHRA, "archive", "--unproven", self.data, "-o", out])
        self.assertNotIn(app, result.stderr)
        self.assertIn(app[1:] + "\n", run(["tar", "tf", out]).stdout)

    def test_what_is_no_program_is_never_put_in(self):
        app = self.record_without_build_id()
        with open(app, "r+") as file:  # the same inode
            file.truncate(0)
            file.write("something else\n")
        os.utime(app, (1, 1))  # as if it had been so before the recording
        out = self.data + ".tar.gz"
        result = run([TEPHRA, "archive", "--unproven", self.data, "-o", out])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(app + " (what is there now is no program or library)", result.stderr)
        names = run(["tar", "tf", out]).stdout
        self.assertNotIn(app[1:] + "\n", names)
        # What is counted is there: files by path, each once.
        said = int(re.search(r"(\d+) files? and", result.stderr)[1])
        by_path = [name for name in names.split() if "/.build-id/" not in name and not name.endswith("/out.data")]
        self.assertEqual(said, len(by_path), names)

    def test_an_unknown_packing_is_refused(self):
        self.record("-g", "-F", "999", SPIN, "200")
        result = run([TEPHRA, "archive", self.data, "-o", self.data + ".zip"])
        self.assertEqual(result.returncode, 2)
        self.assertFalse(os.path.exists(self.data + ".zip"))


if __name__ == "__main__":
    unittest.main()
