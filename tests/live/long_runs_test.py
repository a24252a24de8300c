"""Live tests of recordings that go on: limits, rotation, compression, pipes, control, the flight recorder."""

import glob
import os
import pty
import random
import signal
import subprocess
import time
import unittest

from recording import FAMILY, FAULTS, SPIN, SUMMARY, RecordTest
from support import TEPHRA, program, run

STALL = program("stall")


class Output(RecordTest):
    def test_size_limit(self):
        """The file never exceeds the limit, and what is in it is whole."""
        for extra in ([], ["-z"]):
            with self.subTest(extra):
                limit = 100 if extra else 300
                result = run([TEPHRA, "record", "-e", "page-faults", "-c", "1", "--call-graph", "fp", "--max-size", f"{limit}K", *extra, "-o",
                              self.data, FAULTS, "100000"])
                self.assertIn("the size limit ended the recording", result.stderr)
                samples = int(SUMMARY.search(result.stderr)[1])
                self.assertGreater(samples, 500)
                self.assertLessEqual(os.path.getsize(self.data), limit << 10)
                self.assert_perf_opens(self.data)
                self.assertEqual(self.perf_samples(), samples)

    def test_rotation_by_size(self):
        """Each file stands by itself and has samples, and only the newest are kept."""
        result = run([TEPHRA, "record", "-e", "page-faults", "-c", "1", "--call-graph", "fp", "--switch-output=200K",
                      "--switch-max-files", "3", "-o", self.data, FAULTS, "50000"])
        self.assertEqual(result.returncode, 0, result.stderr)
        files = sorted(glob.glob(self.data + ".*"))
        self.assertEqual(len(files), 3, os.listdir(self.folder))
        for path in files:
            self.assertRegex(path, r"\.\d{16}$")
            self.assert_perf_opens(path)
            self.assertIn("touch_pages", run([TEPHRA, "fold", "-q", path]).stdout)

    def test_a_full_file_is_the_last_one_when_nothing_more_is_sampled(self):
        """The next file begins with the next sample, which does not come."""
        for way in ("fp", "auto"):
            for pages in (1000, 3000, 5000):
                with self.subTest(way=way, pages=pages):
                    data = f"{self.data}-{way}-{pages}"
                    result = run([TEPHRA, "record", "-e", "page-faults:u", "-c", "1", "--call-graph", way,
                                  "--switch-output=60K", "-o", data, "sh", "-c", f"{FAULTS} {pages}; sleep 0.4"])
                    self.assertEqual(result.returncode, 0, result.stderr)
                    files = glob.glob(data + ".*")
                    self.assertTrue(files, result.stderr)
                    for path in files:
                        self.assertNotEqual(run([TEPHRA, "fold", "-q", path]).stdout, "", path)

    def test_every_file_knows_the_program(self):
        """A program's mappings are told before the first file ends; the others must have them too."""
        run([TEPHRA, "record", "-q", "-g", "-F", "999", "--switch-output=1s", "-o", self.data, SPIN, "2500"])
        files = glob.glob(self.data + ".*")
        self.assertGreaterEqual(len(files), 2)
        for path in files:
            self.assertIn("spin;", run([TEPHRA, "fold", "-q", path]).stdout)
            self.assertIn("heavy", run([TEPHRA, "fold", "-q", path]).stdout)

    def test_a_signal_that_nobody_asked_for(self):
        recorder = subprocess.Popen([TEPHRA, "record", "-q", "-o", self.data, SPIN, "1000"])
        time.sleep(0.4)
        recorder.send_signal(signal.SIGUSR2)
        self.assertEqual(recorder.wait(20), 0)
        self.assert_perf_opens(self.data)

    def test_closed_standard_output(self):
        result = run(["sh", "-c", f"{TEPHRA} record -o - {SPIN} 100 >&-"], timeout=20)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("cannot write", result.stderr)

    def test_rotation_keeps_every_sample(self):
        result = run([TEPHRA, "record", "-e", "page-faults", "-c", "1", "--switch-output=100K", "-o", self.data, FAULTS,
                      "20000"])
        samples, lost = (int(SUMMARY.search(result.stderr)[group]) for group in (1, 4))
        files = glob.glob(self.data + ".*")
        self.assertGreater(len(files), 3)
        self.assertEqual(sum(self.perf_samples(path) for path in files), samples)
        self.assertEqual(lost, 0)

    def test_rotation_by_time_and_signal(self):
        for how in ("=1s", ""):
            with self.subTest(how or "signal"):
                recorder = subprocess.Popen([TEPHRA, "record", "-q", "-F", "200", "--switch-output" + how, "-o",
                                             self.data, "--", SPIN, "2600"])
                if not how:
                    time.sleep(0.8)
                    recorder.send_signal(signal.SIGUSR2)
                self.assertEqual(recorder.wait(30), 0)
                files = glob.glob(self.data + ".*")
                self.assertEqual(len(files), 3 if how else 2)
                for path in files:
                    self.assert_perf_opens(path)
                    os.unlink(path)

    def test_compression(self):
        plain, _, _ = self.record("-e", "page-faults", "-c", "1", "--call-graph", "fp", FAULTS, "30000")
        size = os.path.getsize(self.data)
        packed, _, _ = self.record("-z", "-e", "page-faults", "-c", "1", "--call-graph", "fp", FAULTS, "30000")
        self.assertLess(abs(plain - packed), 20)
        self.assertLess(os.path.getsize(self.data), size / 3)
        self.assert_perf_opens(self.data)
        self.assertEqual(self.perf_samples(), packed)
        self.assert_tephra_opens(self.data)

    def test_pipe(self):
        """A stream that perf and tephra read; what the program prints is not in it."""
        self.need_perf()
        words = f"{TEPHRA} record -g -F 500 -o - sh -c 'echo hello; exec {SPIN} 400'"
        theirs = run(["sh", "-c", f"{words} | perf script -i - -F comm"])
        self.assertIn("spin", theirs.stdout)
        self.assertIn("hello", theirs.stderr)
        self.assertIn("main", run(["sh", "-c", f"{words} 2>/dev/null | {TEPHRA} fold -q -i -"]).stdout)

    def test_a_reader_that_goes_away(self):
        begin = time.monotonic()
        result = run(["sh", "-c", f"{TEPHRA} record -F 500 -o - {SPIN} 20000 | head -c 100 >/dev/null"])
        self.assertLess(time.monotonic() - begin, 15)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("went away", result.stderr)

    def test_wrong_words(self):
        for words, says in (
            (["--max-size", "big"], "big"),
            (["--switch-output=often"], "often"),
            (["--switch-max-files", "3"], "--switch-output"),
            (["-z23"], "1 (fast) to 22"),
            (["--trigger", "cpu>5%"], "--overwrite"),
            (["--overwrite", "--trigger", "cpu>lots"], "cpu>lots"),
            (["--control", "pipe:x"], "pipe:x"),
            (["-D", "soon"], "soon"),
            (["--duration", "never"], "never"),
            (["--max-stack", "100000"], "the limit is 1024 frames"),
            (["--call-graph", "fp", "--max-stack", "100000"], "perf_event_max_stack"),
            (["-j", "some"], "any_call"),
            (["-b", "-j", "any"], "-j any"),
            (["--filter", "x == 1", "-e", "cpu-clock"], "tracepoint"),
            (["-e", "cpu-clock", "--filter", "x == 1"], "tracepoint"),
            (["--all-user", "--all-kernel"], "nothing"),
            (["-C", "99"], "no such CPU"),
        ):
            with self.subTest(words):
                result = run([TEPHRA, "record", "-o", self.data, *words, "true"])
                self.assertIn(result.returncode, (2, 125), result.stderr)
                self.assertIn(says, result.stderr)
        self.assert_no_leftovers()


class Filters(RecordTest):
    def test_only_what_the_filter_names(self):
        self.need_tracepoints()
        event = ["-e", "syscalls:sys_enter_write"]
        every, _, _ = self.record(*event, "dd", "if=/dev/zero", "of=/dev/null", "bs=10", "count=500")
        some, _, _ = self.record(*event, "--filter", "count == 10", "dd", "if=/dev/zero", "of=/dev/null", "bs=10",
                                 "count=500")
        self.assertEqual(some, 500)
        self.assertGreater(every, 500)

    def test_a_filter_that_is_none(self):
        self.need_tracepoints()
        self.fails("-e", "sched:sched_switch", "--filter", "nosuchfield == 1", "true", status=2, says=["nosuchfield"])


class Control(RecordTest):
    def setUp(self):
        super().setUp()
        self.control, self.ack = (os.path.join(self.folder, name) for name in ("control", "ack"))
        os.mkfifo(self.control)
        os.mkfifo(self.ack)

    def command(self, text):
        with open(self.control, "w") as file:
            file.write(text + "\n")
        self.assertIn("ack", os.read(self.acks, 100).decode())

    def test_perfs_commands(self):
        self.acks = os.open(self.ack, os.O_RDWR)
        self.addCleanup(os.close, self.acks)
        recorder = subprocess.Popen([TEPHRA, "record", "-e", "cpu-clock", "-F", "1000", "-D", "-1", "-o", self.data,
                                     f"--control=fifo:{self.control},{self.ack}", "--", SPIN, "20000"],
                                    stderr=subprocess.PIPE, text=True)
        time.sleep(0.7)
        self.command("ping")
        self.command("enable")
        time.sleep(0.5)
        self.command("disable")
        time.sleep(1)
        self.command("stop")
        _, errors = recorder.communicate(timeout=30)
        samples = int(SUMMARY.search(errors)[1])
        self.assertGreater(samples, 100, errors)
        self.assertLess(samples, 900, "sampled while it was off")


class FlightRecorder(RecordTest):
    def setUp(self):
        super().setUp()
        self.need_root()

    def start(self, *words, frequency=999, **settings):
        recorder = subprocess.Popen([TEPHRA, "record", "-a", "-g", "-e", "cpu-clock", "-F", str(frequency),
                                     "--overwrite", "-o", self.data, *words], stderr=subprocess.PIPE, text=True,
                                    **settings)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        time.sleep(1)
        return recorder

    def finish(self, recorder):
        recorder.send_signal(signal.SIGINT)
        errors = recorder.stderr.read()
        self.assertEqual(recorder.wait(30), 0, errors)
        return errors

    def snapshots(self):
        return sorted(glob.glob(self.data + ".2*"))

    def assert_has_stall(self, path, begun):
        """The samples of the stall are there, under the function that stalled, at the time it did."""
        text = run([TEPHRA, "script", "-q", "-F", "comm,time,ip,sym", path]).stdout
        times = [float(block.split("\n")[0].split()[-1].rstrip(":")) for block in text.split("\n\n")
                 if "injected_stall" in block]
        inside = [time for time in times if begun / 1e9 - 0.001 <= time <= begun / 1e9 + 0.2]
        self.assertGreaterEqual(len(inside), 8, text[-2000:])

    def test_a_stall_is_in_the_snapshot_of_a_signal(self):
        recorder = self.start()
        stall = run([STALL, str(random.randint(200, 2500)), "signal", str(recorder.pid)])
        errors = self.finish(recorder)
        self.assertEqual(len(self.snapshots()), 1, errors)
        self.assertIn("SIGUSR2", errors)
        self.assert_has_stall(self.snapshots()[0], int(stall.stdout))
        self.assert_perf_opens(self.snapshots()[0])

    def test_a_stall_is_in_the_snapshot_of_a_trigger(self):
        """A thread waits while another one has its CPU: run queue latency tells."""
        recorder = self.start("--trigger", "runqlat>10ms")
        if recorder.poll() is not None:
            self.skipTest(recorder.stderr.read().strip())
        busy = [subprocess.Popen([SPIN, "20000"]) for _ in range(os.cpu_count())]
        stall = run([STALL, str(random.randint(500, 2500)), "hog"])
        for process in busy:
            process.kill()
            process.wait()
        errors = self.finish(recorder)
        self.assertRegex(errors, r"run queue")
        self.assertTrue(self.snapshots(), errors)
        self.assert_has_stall(self.data, int(stall.stdout))

    def test_busy_cpus(self):
        recorder = self.start("--trigger", "cpu>30%", "--snapshots", "1")
        run([SPIN, "1500"])
        errors = recorder.stderr.read()
        self.assertEqual(recorder.wait(20), 0, errors)
        self.assertEqual(len(self.snapshots()), 1)
        self.assertIn("busy", errors)
        self.assertEqual(os.listdir(self.folder), [os.path.basename(self.snapshots()[0])])

    def test_names_of_processes_that_are_gone(self):
        recorder = self.start()
        run([FAMILY, "300"])
        recorder.send_signal(signal.SIGUSR2)
        time.sleep(0.5)
        self.finish(recorder)
        folded = run([TEPHRA, "fold", "-q", self.snapshots()[0]]).stdout
        for frame in ("in_forked", "in_executed", "in_thread"):
            self.assertIn(frame, folded)

    def test_only_the_newest_is_kept(self):
        """Of thousands of samples a ring of 64 KB a CPU keeps what fits, and what fits is the end."""
        recorder = self.start("-m", "64K", frequency=4999)
        begun = time.monotonic()
        busy = [subprocess.Popen([SPIN, "20000"]) for _ in range(os.cpu_count())]
        time.sleep(2)
        recorder.send_signal(signal.SIGUSR2)
        time.sleep(0.5)
        for process in busy:
            process.kill()
            process.wait()
        errors = self.finish(recorder)
        self.assertRegex(errors, r"snapshot of the last [\d.]+ s")
        text = run([TEPHRA, "script", "-q", "-G", "-F", "comm,time", self.snapshots()[0]]).stdout
        times = [float(line.split()[-1].rstrip(":")) for line in text.splitlines() if line.split()[0] == "spin"]
        self.assertGreater(len(times), 20)
        smallest_sample = 48
        self.assertLess(len(times), os.cpu_count() * 65536 / smallest_sample)
        self.assertGreater(sum(times) / len(times), begun + 1, "the middle of what is kept is of the second half")

    def test_the_key(self):
        keys, terminal = pty.openpty()
        self.addCleanup(os.close, keys)
        recorder = self.start(stdin=terminal, start_new_session=False,
                              preexec_fn=lambda: (os.setsid(), __import__("fcntl").ioctl(0, 0x540E, 0)))
        os.close(terminal)
        os.write(keys, b"s")
        time.sleep(0.7)
        errors = self.finish(recorder)
        self.assertIn("key s", errors)
        self.assertEqual(len(self.snapshots()), 1)

    def test_a_program(self):
        """The program's own last moments, written when it ends."""
        result = run([TEPHRA, "record", "-g", "-e", "cpu-clock", "-F", "999", "--overwrite", "-o", self.data, SPIN,
                      "500"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("heavy", run([TEPHRA, "fold", "-q", self.data]).stdout)


if __name__ == "__main__":
    unittest.main()
