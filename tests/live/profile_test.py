"""Live tests of `tephra profile`: one command from a running program to a picture, and what it says when there is
nothing to show."""

import json
import os
import re
import signal
import subprocess
import time
import unittest
import xml.etree.ElementTree

from support import LiveTest, TEPHRA, parse_folded, program, run


class ProfileTest(LiveTest):
    def files(self, folder="out"):
        return sorted(os.listdir(self.path(folder))) if os.path.isdir(self.path(folder)) else []

    def assert_whole_set(self, pattern):
        """A recording, folded stacks, a picture and a report of one name, and nothing else; returns the path without
        ending."""
        files = self.files()
        self.assertEqual(len(files), 4, files)
        stems = {re.sub(r"\.(perf\.data|folded|svg|html)$", "", name) for name in files}
        self.assertEqual(len(stems), 1, files)
        stem = stems.pop()
        self.assertRegex(stem, pattern)
        path = os.path.join(self.path("out"), stem)
        xml.etree.ElementTree.parse(path + ".svg")
        with open(path + ".html", encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("<!doctype html>"))
        return path

    def start(self, *command):
        child = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child


class WholeRun(ProfileTest):
    def test_program_from_its_start(self):
        result = self.tephra("profile", "-t", "cpu", "-f", "999", "-o", "out", "--", program("split"), "0.7")
        stem = self.assert_whole_set(r"^cpu-split-\d+-\d{8}-\d{6}$")
        for text in ("heavy", "light", "verdict: ", ".svg", f"xdg-open {os.path.relpath(stem, self.folder)}.html"):
            self.assertIn(text, result.stdout)
        top = [line for line in result.stdout.splitlines() if "%" in line and "verdict" not in line]
        self.assertIn("heavy", top[0])
        with open(stem + ".folded") as file:
            folded = sum(parse_folded(file.read()).values())
        report = json.loads(self.tephra("report", "--json", "-q", stem + ".perf.data").stdout)
        self.assertEqual(report["verdict"]["samples"], folded)
        with open(stem + ".svg") as file:
            self.assertIn(f'"samples":{folded}', file.read().replace(" ", ""))
        with open(stem + ".html", encoding="utf-8") as file:
            facts = re.search(r'id="tephra-facts">(.*?)</script>', file.read())[1]
        self.assertEqual([event["count"] for event in json.loads(facts)["events"] if event["count"]], [folded])
        self.assertTrue(json.loads(facts)["timed"])

    def test_running_process(self):
        child = self.start(program("spin"), "20000")
        self.tephra("profile", "-p", str(child.pid), "-d", "1", "-o", "out")
        self.assert_whole_set(rf"^cpu-spin-{child.pid}-")

    def test_thread_and_whole_machine(self):
        self.need_root()
        child = self.start(program("spin"), "20000")
        self.tephra("profile", "--tid", str(child.pid), "-d", "0.5", "-o", "out")
        self.assert_whole_set(rf"^cpu-spin-{child.pid}-")
        self.tephra("profile", "-a", "-d", "0.5", "-o", "all")
        self.assertTrue(self.files("all")[0].startswith("cpu-all-0-"), self.files("all"))

    def test_command_line_for_the_shell(self):
        self.tephra("profile", "-f", "999", "-o", "out", "-c", f"{program('spin')} 300 && true")
        self.assert_whole_set(r"^cpu-spin-\d+-")

    def test_status_is_the_programs(self):
        self.tephra("profile", "-f", "999", "-o", "out", "--", program("family"), "200", "7", status=7)
        self.assert_whole_set("^cpu-family-")
        self.tephra("profile", "-o", "none", "--", self.path("missing"), status=127)
        self.assertEqual(self.files("none"), [])

    def test_interrupt_ends_early_and_still_draws(self):
        child = self.start(program("spin"), "20000")
        profile = subprocess.Popen([TEPHRA, "profile", "-p", str(child.pid), "-d", "60", "-o", "out"], cwd=self.folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        begin = time.monotonic()
        profile.send_signal(signal.SIGINT)
        output, errors = profile.communicate(timeout=30)
        self.assertLess(time.monotonic() - begin, 20)
        self.assertEqual(profile.returncode, 0, errors)
        self.assertIn("verdict: ", output)
        self.assert_whole_set("^cpu-spin-")

    def test_hostile_name_stays_in_the_folder(self):
        child = self.start(program("hostile_name"))
        child.stdout.readline()
        before = set(os.listdir(self.folder)) | {"out"}
        result = self.tephra("profile", "-p", str(child.pid), "-d", "0.5", "-f", "499", "-o", "out")
        self.assert_whole_set(rf"^cpu-[\w.+=-]+-{child.pid}-\d{{8}}-\d{{6}}$")
        self.assertEqual(set(os.listdir(self.folder)), before)
        self.assertNotIn("\x1b", result.stdout + result.stderr)

    def test_strict(self):
        self.tephra("profile", "--strict", "--call-graph", "fp", "-f", "999", "-o", "out", "--", "perl", "-e",
                    "$x++ while $x < 3e7;", status=3)


class NothingToShow(ProfileTest):
    def fails(self, *words, says, status=1):
        result = self.tephra("profile", "-o", "out", *words, status=status)
        choices = ("counts no cycles", "tephra: stacks are ")
        lines = [line for line in result.stderr.splitlines() if not any(choice in line for choice in choices)]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], says)
        self.assertEqual(self.files(), [])

    def test_idle_process(self):
        child = self.start("sleep", "60")
        self.fails("-p", str(child.pid), "-d", "0.5", says=r"idle.*Try")

    def test_program_that_ends_at_once(self):
        self.fails("--", "true", says=r"too little.*Try: tephra profile -f")

    def test_program_that_waits(self):
        self.fails("--", "sleep", "1", says=r"waited.*Try")

    def test_process_that_is_not_there(self):
        self.fails("-p", "4194000", "-d", "1", says=r"4194000.*(no such|No such|does not exist)")

    def test_folder_that_cannot_be_written(self):
        with open(self.path("file"), "w") as file:
            file.write("x")
        result = run([TEPHRA, "profile", "-o", "file/below", "-p", str(os.getpid()), "-d", "1"], cwd=self.folder)
        self.assertEqual(result.returncode, 1)
        self.assertIn("file/below", result.stderr)

    def test_wrong_words(self):
        for words in ([], ["-p", "1", "-a"], ["-f", "0", "--", "true"], ["-d", "-3", "-p", "1"], ["-t", "x", "-a"],
                      ["-p", "abc"], ["-d", "x", "-a"], ["-f", "99999999", "-a"]):
            with self.subTest(words=words):
                self.fails(*words, says=".", status=2)

    def test_full_disk(self):
        self.need_root()
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk])
        if mounted.returncode != 0:
            self.skipTest("cannot mount a small file system: " + mounted.stderr.strip())
        self.addCleanup(run, ["umount", disk])
        result = run([TEPHRA, "profile", "-f", "4000", "-o", disk, "--", program("spin"), "700"])
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("No space left", result.stderr)
        self.assertEqual(os.listdir(disk), [])

    def test_without_rights(self):
        self.need_root()
        os.chmod(self.folder, 0o777)
        result = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TEPHRA, "profile", "-o",
                      self.path("out"), "-p", "1", "-d", "1"])
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"perf_event_paranoid|CAP_PERFMON|permit")


if __name__ == "__main__":
    unittest.main()
