"""Live tests of `tephra profile -t offcpu`: waits of programs that know how long they waited."""

import collections
import glob
import os
import subprocess
import unittest

from support import LiveTest, TEPHRA, parse_folded, program, run
import waits


class OffCpuTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_root()

    def profile(self, *words, target, status=0, first_ms=None):
        """Runs it; what it printed, the program's own account {name: (ns, count)}, and the recording's path. Programs wait
        `first_ms` before they begin, in which the recorder gets to know their code."""
        environment = dict(os.environ) if first_ms is None else dict(os.environ, FIRST_WAIT_MS=str(first_ms))
        result = self.tephra("profile", *words, "-o", "out", *target, status=status, env=environment)
        truth = {}
        for line in result.stdout.splitlines():
            parts = line.split()
            if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
                truth[parts[0]] = (int(parts[1]), int(parts[2]))
        found = glob.glob(self.path("out/*.perf.data"))
        return result, truth, found[0] if found else None

    def folded(self, path):
        with open(path.replace(".perf.data", ".folded")) as file:
            return parse_folded(file.read())

    def ns_in(self, path, function):
        return sum(ns for stack, ns in self.folded(path).items() if function in stack)

    def assert_near(self, value, truth, share, text=""):
        self.assertLess(abs(value - truth), share * truth, f"{value} is not {truth} {text}")

    def start(self, *command):
        child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child


class KnownWaits(OffCpuTest):
    def test_sleep_in_a_named_function(self):
        _, truth, path = self.profile("-t", "offcpu", target=("--", program("known_waits"), "sleep", "4"))
        ns, count = truth["sleep"]
        self.assert_near(self.ns_in(path, "sleep_in_named_function"), ns, 0.02)
        long = [wait for wait in waits.Waits(path).waits if wait.ns > 150_000_000]
        self.assertEqual(len(long), count)
        for wait in long:
            self.assertEqual((wait.state, wait.flags, wait.count), (waits.SLEEPING, waits.SINGLE, 1))
            self.assertEqual(wait.began + wait.ns, wait.time)
        stacks = [stack for stack in self.folded(path) if "sleep_in_named_function" in stack]
        for stack in stacks:
            self.assertRegex(stack, r"_start;.*main;.*sleeps;.*sleep_in_named_function;.*__schedule$")

    def test_two_threads_on_one_mutex(self):
        _, truth, path = self.profile("-t", "offcpu", target=("--", program("known_waits"), "mutex", "8"))
        ns, count = truth["mutex"]
        self.assert_near(self.ns_in(path, "wait_for_lock"), ns, 0.02)
        # The last wait for a futex is that for the end of the other thread.
        locked = [wait for wait in waits.Waits(path).waits if wait.address and wait.ns > 10_000_000]
        addresses = collections.Counter(wait.address for wait in locked)
        self.assertEqual(addresses.most_common(1)[0][1], count)
        self.assertGreater(self.ns_in(path, "hold_lock"), 0.9 * 8 * 40_000_000)

    def test_every_wait_of_a_ping_pong_is_counted(self):
        rounds = 20_000
        _, truth, path = self.profile("-t", "offcpu",
                                      target=("--", "taskset", "-c", "0", program("known_waits"), "pipe", str(rounds)))
        recorded = waits.Waits(path)
        blocked = [wait for wait in recorded.waits
                   if wait.state in (waits.SLEEPING, waits.UNINTERRUPTIBLE) and wait.syscall in (0, 1)
                   and not wait.flags & waits.FOR_IO]
        self.assertEqual(sum(wait.count for wait in blocked), truth["pipe"][1])
        self.assertGreater(truth["pipe"][1], rounds)
        # Sums, not a record each.
        self.assertLess(recorded.bytes, 40_000)

    def test_thread_that_sleeps_all_along(self):
        child = self.start(program("known_waits"), "sleeper", "60000")
        self.assertEqual(child.stdout.readline(), "ready\n")
        _, _, path = self.profile("-t", "offcpu", "-d", "1", target=("-p", str(child.pid)))
        recorded = waits.Waits(path).waits
        self.assertEqual(len(recorded), 2)
        for wait in recorded:
            self.assertEqual(wait.flags, waits.SINGLE | waits.OPEN_BEGIN | waits.OPEN_END)
            self.assertGreater(wait.ns, 1_000_000_000)
        self.assertEqual(len({wait.ns for wait in recorded}), 1)
        self.assertEqual(self.ns_in(path, "asleep_all_along"), recorded[0].ns)
        self.assertEqual(self.ns_in(path, "sleep_in_named_function"), recorded[0].ns)

    def test_by_frame_pointers(self):
        _, truth, path = self.profile("-t", "offcpu", "--call-graph", "fp",
                                      target=("--", program("known_waits"), "sleep", "2"))
        total = sum(wait.ns for wait in waits.Waits(path).waits)
        self.assertGreater(total, 0.98 * truth["sleep"][0])

    def test_perf_reads_it(self):
        self.need_perf()
        _, _, path = self.profile("-t", "offcpu", target=("--", program("known_waits"), "sleep", "2"))
        told = run(["perf", "script", "-i", path, "-F", "period,event"]).stdout.split()
        self.assertEqual(set(told[1::2]), {"offcpu-time:"})
        self.assertEqual(sum(map(int, told[0::2])), sum(wait.ns for wait in waits.Waits(path).waits))

    def test_with_cpu_in_one_recording(self):
        result, _, path = self.profile("-t", "cpu,offcpu", "-f", "999",
                                       target=("--", program("known_waits"), "mix", "600"))
        self.assertIn("CPU profile", result.stdout)
        self.assertIn("Off-CPU time", result.stdout)
        with open(path.replace(".perf.data", ".offcpu.folded")) as file:
            self.assertIn("sleep_in_named_function", file.read())
        with open(path.replace(".perf.data", ".cpu.folded")) as file:
            self.assertIn("compute_until", file.read())

    def test_threads_that_come_and_go(self):
        count = 5000 if os.environ.get("TEPHRA_FULL") else 300
        _, truth, path = self.profile("-t", "offcpu", target=("--", program("known_waits"), "threads", str(count)))
        # One that lost its CPU on the way there, or back, did not give it up.
        slept = [wait for wait in waits.Waits(path).waits if wait.syscall == 230 and wait.state == waits.SLEEPING]
        self.assertEqual(sum(wait.count for wait in slept), truth["threads"][1])
        self.assertLessEqual(abs(truth["threads"][1] - count), 0.1 * count)
        self.assert_near(sum(wait.ns for wait in slept), truth["threads"][0], 0.15, "(the rest is waking up)")


class Words(OffCpuTest):
    def test_limits_leave_out_waits(self):
        result, _, _ = self.profile("-t", "offcpu", "--min-us", "400000", status=1,
                                    target=("--", program("known_waits"), "sleep", "1"))
        self.assertIn("no waits", result.stderr)
        result, _, path = self.profile("-t", "offcpu", "--state", "blocked", "--max-us", "100000",
                                       target=("--", program("known_waits"), "pipe", "500"))
        for wait in waits.Waits(path).waits:
            self.assertIn(wait.state, (waits.SLEEPING, waits.UNINTERRUPTIBLE))

    def test_wrong_words(self):
        for words, text in ((("--state", "tired"), "no such state of threads 'tired'"), (("--min-us", "x"), "not a time"),
                            (("--threshold", "-1"), "not a time"), (("--budget", "200"), "not a budget"),
                            (("--min-us", "2", "--max-us", "1"), "--min-us is more")):
            with self.subTest(words=words):
                result = self.tephra("profile", "-t", "offcpu", *words, "--", "true", status=2)
                self.assertIn(text.split("'")[0].strip(), result.stderr)
        self.assertIn("-t offcpu", self.tephra("profile", "--wakers", "--", "true", status=2).stderr)

    def test_without_rights(self):
        result = run(["setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps=-all", TEPHRA, "profile", "-t",
                      "offcpu", "--", "true"], cwd="/tmp")
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        self.assertIn("off-CPU time needs BPF or the tracepoint sched:sched_switch", result.stderr)


if __name__ == "__main__":
    unittest.main()
