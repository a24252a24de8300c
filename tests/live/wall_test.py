"""Live tests of `tephra profile -t wall`: running and waiting of each thread come to its elapsed time."""

import glob
import os
import re
import unittest

from off_cpu_test import OffCpuTest
from support import parse_folded, program
import waits


class WallTest(OffCpuTest):
    def test_sums_of_threads_are_elapsed_time(self):
        child = self.start(program("known_waits"), "mix", "60000")
        self.assertEqual(child.stdout.readline(), "ready\n")
        result, _, path = self.profile("-t", "wall", "-f", "999", "-d", "1", target=("-p", str(child.pid)))
        recorded = waits.Waits(path)
        sums = recorded.of_thread()
        self.assertEqual(len(sums), 3)
        for ns in sums.values():
            self.assert_near(ns, max(sums.values()), 0.001)
        self.assertGreater(min(sums.values()), 1_000_000_000)
        told = re.search(r"3 threads at the end come to its elapsed time within ([0-9.]+) %", result.stderr)
        self.assertLess(float(told[1]), 1, result.stderr)
        # The picture holds all of it.
        with open(path.replace(".perf.data", ".folded")) as file:
            stacks = parse_folded(file.read())
        self.assertEqual(sum(stacks.values()), sum(sums.values()))
        for function in ("compute_until", "sleep_in_named_function"):
            self.assertGreater(sum(ns for stack, ns in stacks.items() if function in stack), 0.3e9)

    def test_running_is_what_the_kernel_counts(self):
        child = self.start(program("known_waits"), "mix", "60000")
        self.assertEqual(child.stdout.readline(), "ready\n")

        def ran():
            files = glob.glob(f"/proc/{child.pid}/task/*/schedstat")
            sums = {}
            for file in files:
                with open(file) as text:
                    sums[int(file.split("/")[4])] = int(text.read().split()[0])
            return sums

        before = ran()
        _, _, path = self.profile("-t", "wall", "-d", "1", target=("-p", str(child.pid)))
        after = ran()
        recorded = waits.Waits(path)
        self.assertEqual(set(recorded.ran) - set(before), set())
        for tid, ns in recorded.ran.items():
            self.assertLessEqual(ns, (after[tid] - before[tid]) * 1.01 + 5_000_000)

    def test_files_are_shown_as_wall_clock_time(self):
        _, _, path = self.profile("-t", "wall", target=("--", program("known_waits"), "mutex", "4"))
        drawn = self.folded(path)
        folded = self.tephra("fold", path)
        self.assertIn("showing event wall-clock", folded.stderr)
        self.assertEqual(parse_folded(folded.stdout), drawn)
        chosen = self.tephra("fold", "--event-filter", "wall-clock", path)
        self.assertEqual(parse_folded(chosen.stdout), drawn)
        waits_alone = parse_folded(self.tephra("fold", "--event-filter", "offcpu-time", path).stdout)
        self.assertLess(sum(waits_alone.values()), sum(drawn.values()))
        report = self.tephra("report", "-g", "none", path).stdout
        self.assertIn(f"# Event count (approx.): {sum(drawn.values())}", report)
        self.tephra("convert", path, "-o", "all.pb.gz")
        self.assertEqual(parse_folded(self.tephra("fold", "all.pb.gz").stdout), drawn)
        script = self.tephra("script", "--event-filter", "wall-clock", path).stdout
        self.assertEqual(sum(int(ns) for ns in re.findall(r" (\d+) wall-clock:", script)), sum(drawn.values()))
        self.assertNotIn("wall-clock:", self.tephra("script", path).stdout)

    def test_a_recording_without_running_has_no_wall_clock_time(self):
        _, _, path = self.profile("-t", "offcpu", target=("--", program("known_waits"), "sleep", "1"))
        result = self.tephra("report", "--event-filter", "wall-clock", path, status=1)
        self.assertIn("it has no event 'wall-clock'. There is: offcpu-time", result.stderr)

    def test_the_verdict_says_that_times_add_up(self):
        result, _, path = self.profile("-t", "wall", "-v", target=("--", program("known_waits"), "mutex", "4"))
        said = r"running and waiting of each of (\d+) threads come to its elapsed time within ([0-9.]+) %"
        told = re.search(said, result.stdout)
        self.assertGreater(int(told[1]), 1)  # of threads that ended, too
        self.assertLess(float(told[2]), 1)
        later = re.search(said, self.tephra("report", "-v", path).stderr)
        self.assertEqual(told.groups(), later.groups())

    def test_times_that_do_not_add_up_are_told(self):
        _, _, path = self.profile("-t", "wall", target=("--", program("known_waits"), "sleep", "2"))
        with open(path, "rb") as file:
            data = bytearray(file.read())
        longest = max(waits.Waits(path).waits, key=lambda wait: wait.ns)
        at = data.index(longest.ns.to_bytes(8, "little"))
        data[at:at + 8] = (longest.ns // 2).to_bytes(8, "little")
        with open(self.path("short.perf.data"), "wb") as file:
            file.write(data)
        result = self.tephra("report", "-v", "short.perf.data")
        verdict = result.stdout + result.stderr
        self.assertRegex(verdict, r"verdict: (fair|poor).*the times of 1 of \d+ threads do not add up")
        self.assertIn(f"thread {longest.tid} comes to", verdict)

    def test_a_full_map_is_a_frame(self):
        os.environ["TEPHRA_OFF_CPU_SUMS"] = "1"
        self.addCleanup(os.environ.pop, "TEPHRA_OFF_CPU_SUMS")
        result, _, path = self.profile("-t", "wall", target=("--", program("known_waits"), "pipe", "2000"))
        stacks = self.folded(path)
        self.assertGreater(sum(ns for stack, ns in stacks.items() if "[stack map full]" in stack), 0)
        self.assertIn("[stack map full]", result.stdout + result.stderr)
        self.assertEqual(sum(stacks.values()), sum(waits.Waits(path).of_thread().values()))

    def test_limits_are_refused(self):
        result = self.tephra("profile", "-t", "wall", "--min-us", "5", "--", "true", status=2)
        self.assertIn("accounts for all time", result.stderr)


if __name__ == "__main__":
    unittest.main()
