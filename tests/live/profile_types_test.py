"""Live tests of `tephra profile -t`: types of profiles that count events, and several of them in one recording."""

import glob
import json
import os
import re
import subprocess
import unittest

from support import LiveTest, parse_folded, program, run


class TypesTest(LiveTest):
    def profile(self, types, *command, status=0):
        return self.tephra("profile", "-t", types, "-o", "out", "--", *command, status=status)

    def stem(self):
        recordings = glob.glob(os.path.join(self.path("out"), "*.perf.data"))
        self.assertEqual(len(recordings), 1, recordings)
        return recordings[0].removesuffix(".perf.data")

    def folded(self, path):
        with open(path + ".folded") as file:
            return parse_folded(file.read())


    def assert_calls(self, stacks, calls, share):
        """Every call is there, and so much of them with the function that makes them."""
        counted = sum(count for stack, count in stacks.items() if stack.endswith(";[getppid]"))
        self.assertEqual(counted, calls, stacks)
        placed = sum(count for stack, count in stacks.items() if stack.endswith(";main;many_calls;[getppid]"))
        self.assertGreaterEqual(placed, share * calls, stacks)


class Counts(TypesTest):
    def test_every_system_call_by_its_stack(self):
        self.need_root()
        result = self.profile("syscalls", program("known_calls"), "2000000", "50")
        self.assertRegex(result.stderr, r"took [\d,]+ stacks at [\d.]+ µs each")
        stacks = self.folded(self.stem())
        # Until the recorder has learnt a new process, which takes some milliseconds, few stacks are copied.
        self.assert_calls(stacks, 2000000, 0.9)
        asleep = sum(count for stack, count in stacks.items() if ";many_sleeps;" in stack)
        self.assertEqual(asleep, 50, stacks)

    def test_time_in_system_calls(self):
        self.need_root()
        self.profile("syscalls", program("known_calls"), "1000", "500")
        report = self.tephra("fold", "-q", "--event-filter", "syscall-time", self.stem() + ".perf.data")
        stacks = parse_folded(report.stdout)
        asleep = sum(ns for stack, ns in stacks.items() if stack.endswith("[clock_nanosleep]"))
        # Each sleeps 200 microseconds at least.
        self.assertGreaterEqual(asleep, 500 * 200_000)

    def test_those_of_one_thread_or_process(self):
        self.need_root()
        spinner = subprocess.Popen([program("known_calls"), "100000000", "1"], stdout=subprocess.DEVNULL)
        try:
            self.tephra("profile", "-t", "syscalls", "-o", "out", "-d", "0.5", "-p", str(spinner.pid))
        finally:
            spinner.kill()
            spinner.wait()
        stacks = self.folded(self.stem())
        self.assertGreater(sum(stacks.values()), 1000)
        self.assertTrue(all(stack.startswith("known_calls;") for stack in stacks), stacks)

    def test_every_context_switch_by_its_stack(self):
        result = self.profile("ctx", program("known_calls"), "1", "400")
        switches = int(re.search(r"^(\d+)$", result.stdout, re.MULTILINE)[1])
        stacks = self.folded(self.stem())
        asleep = sum(count for stack, count in stacks.items() if ";many_sleeps;" in stack)
        self.assertGreaterEqual(asleep, 400)
        # What the program counted is what was sampled up to then, but for the moments before its main and after.
        self.assertLessEqual(abs(sum(stacks.values()) - switches), 8, stacks)

    def test_cache_misses_need_a_counter(self):
        result = run(["perf", "stat", "-x,", "-e", "cache-misses", "true"])
        if "<not supported>" not in result.stderr:
            self.skipTest("this machine counts cache misses")
        result = self.profile("cache", program("known_calls"), "1", "1", status=125)
        self.assertIn("this machine shows no hardware counters (no PMU)", result.stderr)
        self.assertFalse(os.path.exists(self.path("out")))


class Several(TypesTest):
    def test_are_in_one_file_and_drawn_each(self):
        self.need_root()
        result = self.profile("cpu,ctx,syscalls", program("known_calls"), "20000", "200")
        stem = self.stem()
        self.assertIn("/cpu+ctx+syscalls-known_calls-", stem)
        for name, title in (("cpu", "CPU profile"), ("ctx", "Context switches"), ("syscalls", "System calls")):
            self.assertIn(f"{stem[len(self.folder) + 1:]}.{name}.svg", result.stdout)
            self.assertIn(title, result.stdout)
            with open(f"{stem}.{name}.svg") as file:
                self.assertIn(title, file.read())
        self.assert_calls(self.folded(stem + ".syscalls"), 20000, 0)
        with open(stem + ".html", encoding="utf-8") as file:
            facts = json.loads(re.search(r'id="tephra-facts">(.*?)</script>', file.read())[1])
        seen = {event["name"] for event in facts["events"] if event["count"]}
        self.assertLessEqual({"context-switches", "syscall-count", "syscall-time"}, seen)
        self.assertEqual(len(seen), 4, seen)

    def test_one_without_samples_is_told(self):
        result = self.profile("cpu,ctx", program("spin"), "300")
        self.assertIn("CPU profile", result.stdout)
        self.assertEqual("Context switches: nothing was recorded" in result.stdout,
                         not os.path.exists(self.stem() + ".ctx.svg"), result.stdout)


class Words(TypesTest):
    def test_unknown_types_are_refused_with_what_there_is(self):
        for types in ("nosuch", "cpu,nosuch", "cpu,,ctx"):
            with self.subTest(types=types):
                result = self.tephra("profile", f"--type={types}", "--", "true", status=2)
                self.assertRegex(result.stderr, r"no such type of profile.*There are: cpu, .*ctx")

    def test_an_event_belongs_to_cpu(self):
        result = self.tephra("profile", "-t", "ctx", "-e", "page-faults", "--", "true", status=2)
        self.assertIn("-e chooses what -t cpu samples", result.stderr)

    def test_kinds_of_faults_belong_to_mem(self):
        for word in ("--minor", "--major"):
            result = self.tephra("profile", "-t", "cpu", word, "--", "true", status=2)
            self.assertIn("Add -t mem", result.stderr)

    def test_help_lists_the_types(self):
        text = self.tephra("profile", "--help").stdout
        for name in ("cpu", "ctx", "cache", "syscalls"):
            self.assertRegex(text, rf"\b{name}: ")


if __name__ == "__main__":
    unittest.main()
