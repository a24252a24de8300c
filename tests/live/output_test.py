"""Recordings as collect::RecordingOutput writes them, compressed, cut, rotated or piped, against perf: a recording of
perf is written anew by the program write_recording, and perf must read the same from both."""

import collections
import glob
import os
import re
import resource
import subprocess
import time
import unittest

from support import LiveTest, TEPHRA, program, run

FIELDS = ["-F", "comm,pid,tid,time,period,event,ip,sym,symoff,dso"]


def samples(text):
    return collections.Counter(text.rstrip("\n").split("\n\n"))


class OutputTest(LiveTest):
    recorded = None  # a recording and perf's reading of it, made once

    def setUp(self):
        super().setUp()
        self.need_perf()
        if not os.path.exists(program("write_recording")):
            self.skipTest("write_recording is not built")
        if OutputTest.recorded is None:
            OutputTest.recorded = self.record()
        content, self.expected = OutputTest.recorded
        self.source = self.path("source.data")
        with open(self.source, "wb") as file:
            file.write(content)

    def record(self):
        # Small rings make many rounds. A busy machine takes longer for as many samples.
        for milliseconds in (1500, 3000, 6000, 12000):
            data = self.perf_record("-e", "task-clock", "-e", "page-faults", "-c", "100000", "-g", "-m", "16", "--",
                                    program("spin"), str(milliseconds))
            text = self.script(data)
            if len(text) > 1_000_000:
                with open(data, "rb") as file:
                    return file.read(), text
        self.fail("too few samples")

    def script(self, path):
        done = run(["perf", "script", "-i", path, *FIELDS])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def write(self, output, *options, source=None, status=0, **settings):
        """Writes the recording anew; returns what the program tells about it."""
        done = run([program("write_recording"), source or self.source, output, *options], **settings)
        self.assertEqual(done.returncode, status, done.stderr)
        return dict(line.split("=", 1) for line in done.stderr.splitlines() if "=" in line)

    def pipe(self, reader, *options):
        """Writes the recording into the standard input of a reader."""
        writer = subprocess.Popen([program("write_recording"), self.source, "-", *options], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        done = run(reader, stdin=writer.stdout)
        writer.stdout.close()
        told = writer.stderr.read().decode()
        writer.stderr.close()
        self.assertEqual(writer.wait(), 0, told)
        return done.stdout

    def assert_part(self, text):
        """Whole samples of the recording, none twice. Not its start: samples near the end of a round, of two CPUs, are
        in the order of time only within one reading."""
        self.assertEqual(samples(text) - samples(self.expected), collections.Counter())

    def test_a_copy_is_the_same(self):
        self.write(self.path("copy"))
        self.assertEqual(self.script(self.path("copy")), self.expected)

    def test_compressed_it_is_the_same_and_smaller(self):
        for level in (1, 9, 22):
            self.write(self.path("copy"), f"level={level}")
            self.assertEqual(self.script(self.path("copy")), self.expected)
            self.assertLess(os.path.getsize(self.path("copy")), os.path.getsize(self.source) / 2)
            header = run(["perf", "report", "--header-only", "-i", self.path("copy")]).stdout
            self.assertRegex(header, rf"compressed : Zstd, level = {level}, ratio = [1-9]")

    def test_rounds_larger_than_a_compressed_record_may_unpack_to(self):
        big = self.path("big.data")
        done = run(["perf", "record", "-q", "-N", "-o", big, "-e", "task-clock", "-c", "50000", "-g", "-m", "4096",
                    program("spin"), "2000"])
        self.assertEqual(done.returncode, 0, done.stderr)
        told = self.write(self.path("copy"), "level=1", source=big)
        self.assertGreater(int(told["ring_bytes"]), 1 << 20)
        self.assertEqual(self.script(self.path("copy")), self.script(big))
        reports = [run(["perf", "report", "--stdio", "-i", path]).stdout for path in (big, self.path("copy"))]
        self.assertEqual(*(re.sub("(?m)^#.*\n", "", report) for report in reports))

    def test_killed_at_any_round_it_is_readable(self):
        for options in ([], ["level=1"]):
            for kill_round in (1, 2, 7):
                copy = self.path(f"killed{kill_round}")
                done = run([program("write_recording"), self.source, copy, f"kill_round={kill_round}", *options])
                self.assertEqual(done.returncode, -9)
                if kill_round == 1:  # nothing but the description of events is in it
                    continue
                kept = self.script(copy)
                self.assert_part(kept)
                self.assertGreater(len(kept), 1000)
                self.tephra("report", "-q", "-i", copy)

    def test_a_size_limit_is_kept(self):
        for options in ([], ["level=1", "repeat=20"]):
            told = self.write(self.path("copy"), "max_size=250K", *options)
            self.assertEqual(told["full"], "true")
            size = os.path.getsize(self.path("copy"))
            self.assertLessEqual(size, 250 << 10)
            self.assertGreater(size, 200 << 10)
            kept = self.script(self.path("copy"))
            if not options:
                self.assert_part(kept)
            self.assertEqual(int(told["bytes_kept"]), size)

    def test_rotated_files_are_each_whole(self):
        for options in (["rotate=100K"], ["rotate=8K", "level=1"]):
            told = self.write(self.path("r"), *options)
            files = sorted(glob.glob(self.path("r.*")))
            self.assertEqual(len(files), int(told["files_kept"]))
            self.assertGreater(len(files), 3)
            self.assertFalse(os.path.exists(self.path("r")))
            for path in files:
                self.assertRegex(path, r"/r\.20\d{14}$")
            self.assertEqual(samples("".join(self.script(path) for path in files)), samples(self.expected))
            for path in files:
                os.unlink(path)

    def test_old_files_are_deleted(self):
        told = self.write(self.path("r"), "rotate=100K", "max_files=2")
        files = sorted(glob.glob(self.path("r*")))
        self.assertEqual(len(files), 2)
        self.assertEqual(files[-1], told["last"])
        self.assertGreater(int(told["files_deleted"]), 0)
        kept = "".join(self.script(path) for path in files)
        self.assert_part(kept)
        last = self.expected.rstrip("\n").rpartition("\n\n")[2]
        self.assertIn(last, kept)

    def test_a_limit_on_file_sizes_leaves_whole_rounds(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200 << 10, resource.RLIM_INFINITY))
        for options in ([], ["level=1", "repeat=30"]):
            told = self.write(self.path("copy"), *options, status=1, preexec_fn=limit)
            self.assertIn("File too large", told["error"])
            self.assertEqual(told["kept"], "true")
            kept = self.script(self.path("copy"))
            self.assertGreater(len(kept), 10_000)
            if not options:
                self.assert_part(kept)

    def test_a_full_disk_leaves_whole_rounds(self):
        self.need_root()
        disk = self.path("disk")
        os.mkdir(disk)
        if run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", disk]).returncode != 0:
            self.skipTest("cannot mount a small disk")
        self.addCleanup(run, ["umount", "-l", disk])
        for options in ([], ["level=1", "repeat=30"], ["rotate=60K"]):
            told = self.write(disk + "/perf.data", *options, status=1)
            self.assertIn("No space left", told["error"])
            files = sorted(glob.glob(disk + "/*"))
            self.assertEqual(len(files), int(told["files_kept"]))
            kept = "".join(self.script(path) for path in files)
            self.assertGreater(len(kept), 10_000)
            if "repeat=30" not in options:
                self.assert_part(kept)
            for path in files:
                os.unlink(path)

    def test_a_pipe_is_the_same(self):
        for options in ([], ["level=1"]):
            self.assertEqual(self.pipe(["perf", "script", "-i", "-", *FIELDS], *options), self.expected)
            report = ["perf", "report", "--stdio", "--no-children", "-g", "none", "-i"]
            texts = [self.pipe([*report, "-"], *options), run([*report, self.source]).stdout]
            self.assertEqual(*(re.sub("(?m)^#.*\n", "", text) for text in texts))
            ours = ["script", "-q", "-i"]
            self.assertEqual(self.pipe([TEPHRA, *ours, "-"], *options), self.tephra(*ours, self.source).stdout)

    def test_tracepoints_go_through_a_pipe(self):
        self.need_root()
        self.source = self.perf_record("-e", "sched:sched_process_exec", "--", "sh", "-c", "/bin/true; /bin/true")
        text = self.pipe(["perf", "script", "-i", "-"])
        self.assertEqual(text, self.script_default())
        self.assertGreaterEqual(text.count("filename=/bin/true"), 2)

    def script_default(self):
        return run(["perf", "script", "-i", self.source]).stdout

    def test_a_reader_that_leaves_ends_it_without_an_error(self):
        writer = subprocess.Popen([program("write_recording"), self.source, "-", "repeat=1000", "pause_ms=1"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(len(writer.stdout.buffer.read(100_000)), 100_000)
        writer.stdout.close()
        begun = time.monotonic()
        told = writer.stderr.read()
        writer.stderr.close()
        self.assertEqual(writer.wait(), 0, told)
        self.assertIn("reader_gone=true", told)
        self.assertLess(time.monotonic() - begun, 10)

    def test_perf_reads_our_sections(self):
        self.write(self.path("copy"), "group=1")
        self.assertEqual(run(["perf", "evlist", "--group", "-i", self.path("copy")]).stdout.split("\n")[0],
                         "{task-clock,page-faults}")
        theirs, ours = ({line for line in run(["perf", "report", "-I", "--header-only", "-i", path]).stdout.split("\n")}
                        for path in (self.source, self.path("copy")))
        kinds = ("# hostname", "# os release", "# arch", "# nrcpus", "# cpudesc", "# cpuid", "# total memory",
                 "# sibling", "# CPU ", "# node0 cpu")
        for kind in kinds:
            self.assertEqual({line for line in theirs if line.startswith(kind) and "cache" not in line},
                             {line for line in ours if line.startswith(kind) and "cache" not in line})
        pmus = [sorted(re.findall(r"[\w-]+ = \d+", next(line for line in lines if "pmu mappings" in line)))
                for lines in (theirs, ours)]
        self.assertEqual(*pmus)
        self.assertTrue(any(line.startswith("# node0 meminfo") for line in ours))


if __name__ == "__main__":
    unittest.main()
