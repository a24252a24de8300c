"""Waits that are found in recordings of context switches, of perf and of tephra."""

import collections
import os
import re
import unittest

from support import LiveTest, parse_folded, program, run

# How wide a program's own measurement may be from what is recorded: it also holds what the clock and the scheduler take.
SHARE = 0.02


class SwitchWaitsTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_perf()
        self.need_root()

    def record(self, *words):
        """perf's recording of switches, or a skip where there is no tracefs."""
        data = self.path("perf.data")
        self.tephra("record", "-q", "-e", "sched:sched_switch", "-o", self.path("first.data"), "--", "true")
        done = run(["perf", "record", "-q", "-B", "-N", "-o", data, "-e", "sched:sched_switch", "-g", *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return data, done.stdout

    def waits(self, data, *words):
        """Nanoseconds of waiting by folded stack."""
        return self.folded("-i", data, "--event-filter", "offcpu-time", *words)

    def check_times(self, kind, frame, record):
        """The times that the program measured are found, as waits of this kind. Where the machine is busy with other
        things, a thread may be stopped between its clock and its wait: that is no wait of this function, and the next
        try is better."""
        function = f"wait_for_{kind}"
        for _ in range(4):
            data, measured = record()
            waits = self.waits(data, "--waits", "frame")
            kinds = collections.Counter()
            for stack, value in waits.items():
                if function in stack.split(";"):
                    kinds[stack.split(";")[1]] += value
            self.assertGreater(kinds[frame], 0, waits)
            # Another thread may have taken the CPU away meanwhile.
            self.assertLessEqual(set(kinds), {frame, "[run queue]"})
            share = sum(kinds.values()) / measured
            self.assertLessEqual(share, 1 + SHARE)
            if share >= 1 - SHARE:
                return kinds
        self.fail(f"{kind}: {share} of what the program measured was found: {waits}")

    def by_perf(self, *options, kind="sleep"):
        """Records the program with perf: how check_times wants it."""
        def record():
            data, stdout = self.record(*options, "--", program("kinds_of_wait"), kind)
            return data, int(stdout.split()[1])
        return record

    def check_kind(self, kind, frame):
        self.check_times(kind, frame, self.by_perf("-a", kind=kind))

    def test_locks(self):
        self.check_kind("lock", "[lock]")

    def test_sleep(self):
        self.check_kind("sleep", "[sleep]")

    def test_pipes(self):
        self.check_kind("pipe", "[pipe/IPC]")

    def test_local_sockets(self):
        self.check_kind("unix", "[pipe/IPC]")

    def test_tcp(self):
        self.check_kind("tcp", "[network]")

    def test_files(self):
        """How long a disk takes is not known, only what is waited for, and that it cannot be more than the time."""
        path = self.path("file")
        with open(path, "wb") as file:
            file.write(os.urandom(4 << 20))
            os.fsync(file.fileno())
        for kind, frame in ("disk", "[disk]"), ("fault", "[page fault]"):
            data, stdout = self.record("-a", "--", program("kinds_of_wait"), kind, "3", path)
            waits = self.waits(data, "--waits", "frame", "--comm", "kinds_of_wait")
            function = f"wait_for_{kind}"
            within = {stack: value for stack, value in waits.items() if function in stack.split(";")}
            self.assertLessEqual(sum(within.values()), int(stdout.split()[1]))
            blocked = {s: v for s, v in within.items() if s.split(";")[1] != "[run queue]"}
            if not blocked:
                continue  # the file's system never waits
            self.assertEqual({stack.split(";")[1] for stack in blocked}, {frame}, waits)

    def test_a_process_with_records_of_running(self):
        """Of one process, when it runs again is told by records of their own."""
        self.check_times("sleep", "[sleep]", self.by_perf("--switch-events"))

    def test_a_process_alone(self):
        """Without them the end of waits is not known: nothing is made up, and it is told."""
        data, _ = self.record("--", program("kinds_of_wait"), "sleep")
        refused = self.tephra("fold", "-i", data, "--event-filter", "offcpu-time", status=1)
        self.assertRegex(refused.stderr, r"\d+ waits left out, since their end was not recorded")
        shown = self.tephra("report", "-i", data)
        self.assertIn("sched:sched_switch", shown.stdout)

    def test_our_own_recordings(self):
        def record():
            data = self.path("own.data")
            done = self.tephra("record", "-q", "-e", "sched:sched_switch", "-g", "--switch-events", "-o", data, "--",
                               program("kinds_of_wait"), "sleep")
            return data, int(done.stdout.split()[1])
        self.check_times("sleep", "[sleep]", record)

    def test_agrees_with_perf_sched_timehist(self):
        """The time between runs of a thread, as perf sees it in the same file."""
        data, stdout = self.record("-a", "--", program("kinds_of_wait"), "pipe")
        tid = stdout.split()[0]
        told = run(["perf", "sched", "timehist", "-i", data, "--no-call-graph"])
        self.assertEqual(told.returncode, 0, told.stderr)
        theirs = 0
        for line in told.stdout.splitlines():
            row = re.match(r"\s*[\d.]+\s+\[\d+\]\s+.+?\[(\d+)(?:/\d+)?\]\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s*$", line)
            if row and row[1] == tid:
                theirs += float(row[2])
        self.assertGreater(theirs, 100, told.stdout[:2000])
        thread = f"kinds_of_wait-{tid}/{tid};"
        ours = sum(value for stack, value in self.waits(data, "--tid").items() if stack.startswith(thread)) / 1e6
        # perf rounds each of the waits to a microsecond.
        self.assertAlmostEqual(ours / theirs, 1, delta=0.002, msg=f"{ours} {theirs}")

    def test_wakeups_split_waits(self):
        """What follows the wakeup is time in the run queue, and the sum is the same."""
        kinds = self.check_times("sleep", "[sleep]", self.by_perf("-e", "sched:sched_wakeup", "-a"))
        self.assertGreater(kinds["[run queue]"], 0)

    def test_the_switches_are_still_there(self):
        data, _ = self.record("-a", "--", program("kinds_of_wait"), "sleep", "5")
        counted = self.folded("-i", data, "--event-filter", "sched:sched_switch", "--counts", "--idle")
        script = run(["perf", "script", "-i", data, "-F", "event", "-G"])
        self.assertEqual(sum(counted.values()), script.stdout.count("sched_switch"))


class WeightTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_root()

    def test_bytes_of_a_tracepoint(self):
        data = self.path("kmalloc.data")
        self.tephra("record", "-q", "-e", "kmem:kmalloc", "-g", "-o", data, "--", "ls", "/usr/lib")
        text = self.tephra("script", "-i", data, "-F", "event,trace", "-G").stdout
        wanted = sum(int(value) for value in re.findall(r"bytes_req=(\d+)", text))
        self.assertGreater(wanted, 0)
        self.assertEqual(sum(self.folded("-i", data, "--weight", "bytes_req", "--own").values()), wanted)
        done = self.tephra("report", "-i", data, "--weight", "bytes_req", "--json")
        self.assertIn("bytes", done.stdout)
        self.tephra("flame", "-q", "-i", data, "--weight", "bytes_req", "-o", self.path("kmalloc.svg"))

    def test_fields_that_are_not_there(self):
        data = self.path("kmalloc.data")
        self.tephra("record", "-q", "-e", "kmem:kmalloc,cpu-clock", "-o", data, "--", "ls", "/usr/lib")
        refused = self.tephra("report", "-i", data, "--weight", "bytes", status=1)
        self.assertRegex(refused.stderr, "no event has a number called 'bytes'.*There are: .*bytes_req")
        told = self.tephra("report", "-i", data, "--weight", "bytes_req")
        samples = self.folded("-i", data, "--event-filter", "cpu-clock", "--own")
        if samples:
            self.assertIn("of events without the field bytes_req left out", told.stdout + told.stderr)

    def test_profile(self):
        self.tephra("profile", "-e", "kmem:kmalloc", "--period", "1", "--weight", "bytes_req", "--", "ls", "/usr/lib")
        files = {os.path.splitext(name)[1]: self.path(os.path.join("tephra-out", name))
                 for name in os.listdir(self.path("tephra-out"))}
        text = self.tephra("script", "-i", files[".data"], "-F", "event,trace", "-G").stdout
        wanted = sum(int(value) for value in re.findall(r"bytes_req=(\d+)", text))
        with open(files[".folded"], encoding="utf-8") as folded:
            self.assertEqual(sum(parse_folded(folded.read()).values()), wanted)


if __name__ == "__main__":
    unittest.main()
