"""Live tests of `tephra profile -t`: types of profiles that count events, and several of them in one recording."""

import glob
import json
import os
import re
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


    def assert_calls(self, stem, stacks, calls):
        """Every call is there, or is told to be lost."""
        report = self.tephra("report", "--json", "-q", "--event-filter", "raw_syscalls:sys_enter", stem + ".perf.data")
        lost = json.loads(report.stdout)["verdict"]["lost"]
        seen = sum(count for stack, count in stacks.items() if ";many_calls;" in stack)
        self.assertLessEqual(seen, calls)
        self.assertGreaterEqual(seen + lost, calls, stacks)


class Counts(TypesTest):
    def test_every_system_call_by_its_stack(self):
        self.need_root()
        self.profile("syscalls", program("known_calls"), "5000", "3")
        self.assert_calls(self.stem(), self.folded(self.stem()), 5000)

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
        self.assert_calls(stem, self.folded(stem + ".syscalls"), 20000)
        with open(stem + ".html", encoding="utf-8") as file:
            facts = json.loads(re.search(r'id="tephra-facts">(.*?)</script>', file.read())[1])
        seen = {event["name"] for event in facts["events"] if event["count"]}
        self.assertLessEqual({"context-switches", "raw_syscalls:sys_enter"}, seen)
        self.assertEqual(len(seen), 3, seen)

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
