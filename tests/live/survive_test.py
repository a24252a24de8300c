"""Names that survive the process: recordings are read when what ran is deleted, replaced or elsewhere."""

import os
import re
import shutil
import signal
import subprocess
import time
import unittest

from elsewhere import Elsewhere
from recording import RecordTest, SPIN
from support import TEPHRA, parse_folded, program, run

ONE = program("version_one")
TWO = program("version_two")


def functions_in(folded):
    return {name for stack in folded for name in stack.split(";")}


class SurviveHelpers(RecordTest):
    def copy(self, source, name="app"):
        path = os.path.join(self.folder, name)
        shutil.copy(source, path)
        return path

    def read(self, command="fold", *words, status=0):
        result = run([TEPHRA, command, *words, self.data], env={**os.environ, "TEPHRA_NO_CACHE": "1"})
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def functions(self, *words):
        return functions_in(parse_folded(self.read("fold", "-q", *words).stdout))

    def start(self, *command):
        process = subprocess.Popen(command)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def record_in_background(self, *words):
        recorder = subprocess.Popen([TEPHRA, "record", "-o", self.data, *words], stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        for _ in range(1000):
            if os.path.exists(self.data):
                break
            time.sleep(0.01)
        return recorder

    def finish(self, recorder):
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate(timeout=60)
        return errors


    def overwrite(self, path, new):
        """The same file, other content."""
        with open(path, "r+b") as file, open(new, "rb") as other:
            file.write(other.read())
            file.truncate()


class SurviveTest(SurviveHelpers):
    def test_a_program_deleted_after_it_ran_has_its_names(self):
        app = self.copy(SPIN)
        self.record("-g", "-F", "999", app, "300")
        os.unlink(app)
        names = self.functions()
        self.assertLessEqual({"main", "heavy", "light", "work"}, names)
        lines = self.read("script", "-F", "ip,sym,srcline").stdout
        self.assertIn("spin.cpp:", lines)

    def test_without_embedding_they_are_lost(self):
        app = self.copy(SPIN)
        self.record("-g", "-F", "999", "--no-embed", app, "300")
        os.unlink(app)
        self.assertNotIn("heavy", self.functions())
        self.assertIn("file_missing", self.read("report", "--json").stdout)
        # The advice is about what is wrong: no debug symbols help where the file is gone.
        verdict = self.read("fold").stderr
        self.assertIn("files that ran are not here any more", verdict)
        self.assertNotIn("Install the debug symbols", verdict)

    def test_without_embedding_an_upgraded_program_is_what_the_verdict_tells_of(self):
        app = self.copy(ONE)
        self.record("-g", "-F", "999", "--no-embed", app, "300")
        self.overwrite(app, TWO)
        verdict = self.read("fold").stderr
        self.assertIn("files on disk are not those that ran", verdict)
        self.assertNotIn("Install the debug symbols", verdict)

    def test_a_file_without_a_build_id_that_was_changed_after_the_recording_is_not_used(self):
        app = self.copy(program("unmarked_one"))
        self.record("-g", "-F", "999", "--no-embed", app, "300")
        self.assertIn("work_of_unmarked_one", self.functions())
        verdict = self.read("fold").stderr
        self.assertRegex(verdict, r"verdict: good\..* % of frames named by files that may not be those that ran")
        self.overwrite(app, program("unmarked_two"))
        names = self.functions()
        self.assertNotIn("work_of_unmarked_one", names)
        self.assertNotIn("work_of_unmarked_two", names)
        packed = run([TEPHRA, "archive", "--unproven", "-o", os.path.join(self.folder, "all.tar"), self.data])
        self.assertIn(f"not in the archive: {app}", packed.stderr)
        told = self.read("fold", "-v").stderr
        self.assertIn("build_id_mismatch", told)
        self.assertIn(f"{app}: not used: it was changed after the recording was made", told)

    def test_no_build_ids_means_no_embedding(self):
        app = self.copy(SPIN)
        self.record("-g", "-B", "-F", "999", app, "200")
        os.unlink(app)
        self.assertNotIn("heavy", self.functions())

    def test_a_program_deleted_while_it_runs(self):
        self.need_root()
        app = self.copy(SPIN)
        process = self.start(app, "10000")
        time.sleep(0.1)
        os.unlink(app)
        self.record("-g", "-F", "999", "--duration", "0.5", "-p", str(process.pid))
        self.assertLessEqual({"main", "heavy", "work"}, self.functions())

    def test_a_program_deleted_while_it_is_recorded(self):
        app = self.copy(SPIN)
        process = self.start(app, "10000")
        recorder = self.record_in_background("-g", "-F", "999", "-p", str(process.pid))
        os.unlink(app)
        time.sleep(0.5)
        self.finish(recorder)
        self.assertLessEqual({"main", "heavy", "work"}, self.functions())

    def test_programs_that_live_for_a_moment(self):
        app = self.copy(ONE)
        self.record("-g", "-F", "4000", "sh", "-c", f"for i in 1 2 3 4 5 6 7 8 9 10; do {app} 30; done")
        os.unlink(app)
        self.assertIn("work_of_version_one", self.functions())

    def test_a_program_upgraded_after_it_was_recorded(self):
        for old, new, name in ((ONE, TWO, "version"), (program("unmarked_one"), program("unmarked_two"), "unmarked")):
            with self.subTest(name):
                app = self.copy(old)
                self.record("-g", "-F", "999", app, "300")
                self.overwrite(app, new)
                names = self.functions()
                self.assertIn(f"work_of_{name}_one", names)
                self.assertNotIn(f"work_of_{name}_two", names)

    def test_a_program_upgraded_while_it_is_recorded(self):
        for old, new, name in ((ONE, TWO, "version"), (program("unmarked_one"), program("unmarked_two"), "unmarked")):
            with self.subTest(name):
                app = self.copy(old)
                script = f"{app} 300 & sleep 0.1; cp {new} {app}.new; mv {app}.new {app}; wait; {app} 300"
                self.record("-g", "-F", "999", "sh", "-c", script)
                os.unlink(app)
                samples = parse_folded(self.read("fold", "-q", "--comm", "app").stdout)
                seen = {stack.split(";")[-1] for stack in samples}
                counts = {version: sum(n for stack, n in samples.items() if f"work_of_{name}_{version}" in stack)
                          for version in ("one", "two")}
                # Both ran as long; one that was replaced before we saw it may be unknown, but never the other.
                unknown = sum(n for stack, n in samples.items() if "[unknown]" in stack)
                self.assertGreater(counts["two"], 0, seen)
                self.assertGreater(counts["one"] + unknown, 0, seen)
                self.assertLess(counts["two"], sum(samples.values()))

    def test_no_pipe_or_huge_file_in_place_of_a_program_holds_the_recorder(self):
        self.need_root()
        for kind in ("fifo", "sparse", "device", "directory"):
            with self.subTest(kind):
                app = self.copy(ONE)
                process = self.start(app, "10000")
                time.sleep(0.1)
                os.unlink(app)
                if kind == "fifo":
                    os.mkfifo(app)
                elif kind == "device":
                    os.symlink("/dev/zero", app)
                elif kind == "directory":
                    os.mkdir(app)
                else:
                    with open(app, "wb") as file:
                        file.truncate(100 << 30)
                begun = time.monotonic()
                self.record("-g", "-F", "999", "--duration", "0.3", "-p", str(process.pid))
                self.assertLess(time.monotonic() - begun, 60)
                self.assertIn("work_of_version_one", self.functions())
                process.kill()
                shutil.rmtree(app) if kind == "directory" else os.unlink(app)

    def test_a_killed_recorder_leaves_no_names_but_a_recording(self):
        app = self.copy(ONE)
        process = self.start(app, "10000")
        recorder = self.record_in_background("-g", "-F", "999", "-p", str(process.pid))
        time.sleep(1.5)
        recorder.kill()
        recorder.wait()
        self.assertIn("work_of_version_one", self.functions())  # late, from the file

    def test_each_file_of_a_rotation_has_names(self):
        app = self.copy(ONE)
        self.record("-g", "-F", "999", "--switch-output=1s", app, "2500")
        os.unlink(app)
        files = [name for name in os.listdir(self.folder) if name.startswith("out.data.")]
        self.assertGreaterEqual(len(files), 2)
        for name in files:
            self.data = os.path.join(self.folder, name)
            self.assertIn("work_of_version_one", self.functions(), name)

    def test_a_snapshot_has_names(self):
        app = self.copy(ONE)
        self.record("-g", "-F", "999", "--overwrite", app, "500")
        os.unlink(app)
        self.assertIn("work_of_version_one", self.functions())

    def test_a_compressed_recording_has_names(self):
        app = self.copy(ONE)
        self.record("-g", "-z", "-F", "999", app, "500")
        os.unlink(app)
        self.assertIn("work_of_version_one", self.functions())

    def test_perf_opens_a_recording_with_names(self):
        self.need_perf()
        self.record("-g", "-F", "999", SPIN, "300")
        self.assert_perf_opens(self.data)
        self.assert_tephra_opens(self.data)

    def test_a_size_limit_holds_with_names(self):
        self.record("-g", "-F", "999", "--max-size", "200K", SPIN, "3000")
        self.assertLessEqual(os.path.getsize(self.data), 200 << 10)

    def test_it_reads_the_same_elsewhere(self):
        self.need_root()
        app = self.copy(SPIN)
        for mode in (["-g"], ["--call-graph", "dwarf"]):
            with self.subTest(mode):
                self.record(*mode, "-F", "999", app, "400")
                place = Elsewhere(os.path.join(self.folder, "root-" + mode[-1]))
                for command, words in (("fold", ["-q"]), ("fold", ["-q", "--addrs", "--all"]),
                                       ("report", []), ("report", ["--json"]), ("report", ["--no-inline"]),
                                       ("report", ["--full-names", "--sort", "srcline,sym"]),
                                       ("script", ["-q"]), ("flame", ["-q", "-o", "-"])):
                    here = run([TEPHRA, command, *words, self.data])
                    there = place.tephra(self.data, command, *words)
                    self.assertEqual(here.returncode, there.returncode, there.stderr)
                    tidy = lambda text: text.replace(self.data, "FILE").replace("/reader/recording.data", "FILE")
                    self.assertEqual(tidy(here.stdout), tidy(there.stdout), f"{command} {words}")
                there = place.tephra(self.data, "fold", "-q")
                self.assertLessEqual({"main", "heavy", "work"}, functions_in(parse_folded(there.stdout)))


class RedactTest(SurviveHelpers):
    """Names replaced by hashes."""

    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.folder, "key")
        with open(self.key, "w") as file:
            file.write("a key that nobody guesses\n")

    def test_no_name_is_left_in_any_output(self):
        self.record("-g", "-F", "999", SPIN, "300")
        for command, words in (("fold", ["-q"]), ("report", []), ("report", ["--json"]), ("script", ["-q", "--header"]),
                               ("flame", ["-q", "-o", "-"])):
            with self.subTest(command):
                text = self.read(command, *words, f"--redact={self.key}").stdout
                text = text.replace(self.data, "")
                for name in ("heavy", "light", "spin", "main", os.uname().nodename):
                    self.assertIsNone(re.search(rf"\b{re.escape(name)}\b", text), f"{name} in {text[:3000]}")
                self.assertRegex(text, r"fn_[0-9a-f]{16}")

    def test_with_the_same_key_profiles_compare(self):
        self.record("-g", "-F", "999", SPIN, "300")
        first = self.functions(f"--redact={self.key}")
        self.record("-g", "-F", "999", SPIN, "300")
        second = self.functions(f"--redact={self.key}")
        self.assertGreaterEqual(len(first & second), 4)
        self.assertNotEqual(self.functions("--redact"), self.functions("--redact"))

    def test_sums_stay(self):
        self.record("-g", "-F", "999", SPIN, "300")
        plain = parse_folded(self.read("fold", "-q").stdout)
        hidden = parse_folded(self.read("fold", "-q", f"--redact={self.key}").stdout)
        self.assertEqual(sorted(plain.values()), sorted(hidden.values()))

    def test_a_short_key_is_refused(self):
        self.record("-g", "-F", "999", SPIN, "200")
        with open(self.key, "w") as file:
            file.write("short\n")
        result = self.read("fold", f"--redact={self.key}", status=2)
        self.assertIn("too short", result.stderr)


if __name__ == "__main__":
    unittest.main()
