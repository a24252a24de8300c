"""What --redact lets through: nothing that a recording calls by a name of its own."""

import os
import re
import shutil
import unittest

from recording import RecordTest, SPIN
from support import TEPHRA, run

OUTPUTS = (
    ("fold", "--all", "--addrs", "-v"),
    ("fold", "--tid"),
    ("report", "-v"),
    ("report", "--sort", "comm,pid,event,dso,symbol,srcline"),
    ("report", "--json", "-g"),
    ("script", "-v", "--header", "-F", "+srcline,+symoff"),
    ("script", "-G"),
    ("flame", "-v", "-o", "-"),
    ("flame", "-o", "-", "--base", "tid", "--reverse"),
)


def names_in(script):
    """Names of threads, user functions and files in the output of `script -F comm,event,ip,sym,dso`."""
    names, kernels = set(), set()
    for line in script.splitlines():
        frame = re.match(r"\s+[0-9a-f]+ (.*) \((.*)\)$", line)
        if not frame:
            if line.strip():
                names.add(line.rsplit(None, 1)[0].strip())
            continue
        symbol, file = frame.groups()
        if file.startswith("[") and ("kernel" in file or "vdso" in file):
            kernels.add(symbol)
        elif file.startswith("/") and not file.startswith("/tmp/perf-"):
            names |= {file, os.path.basename(file), symbol}
    return {name for name in names - kernels if len(name) > 3 and not name.startswith("[unknown]")}


class RedactEverythingTest(RecordTest):
    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.folder, "key")
        with open(self.key, "w") as file:
            file.write("a key that nobody guesses\n")
        for name in (":topsecret", "[secretapp]"):
            shutil.copy(SPIN, os.path.join(self.folder, name))
        self.assertEqual(run(["strip", os.path.join(self.folder, "[secretapp]")]).returncode, 0)

    def redacted(self, command, *words):
        """All that a command prints, without the code of the picture and the name of the file that was asked for."""
        result = run([TEPHRA, command, *words, f"--redact={self.key}", self.data])
        self.assertEqual(result.returncode, 0, result.stderr)
        text = re.sub(r"<(script|style).*?</\1>", "", result.stdout, flags=re.S)
        return (text + result.stderr).replace(self.data, "")

    def record_secrets(self, *words):
        command = f"'{self.folder}/:topsecret' 300; '{self.folder}/[secretapp]' 300"
        self.record("-g", "-F", "999", *words, "sh", "-c", command)

    def test_no_name_of_the_recording_is_in_any_output(self):
        self.record_secrets()
        plain = run([TEPHRA, "script", "-q", "-F", "comm,event,ip,sym,dso", self.data]).stdout
        names = names_in(plain)
        self.assertLessEqual({":topsecret", "[secretapp]", "heavy"}, names)
        for command in OUTPUTS:
            with self.subTest(command):
                text = self.redacted(*command)
                self.assertRegex(text, r"comm_[0-9a-f]{16}")
                for name in sorted(names | {os.uname().nodename, self.folder}):
                    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
                    self.assertIsNone(found, f"{name} in {text[max(0, found.start() - 200):found.end() + 100]}"
                                      if found else "")

    def test_names_that_users_give_to_events_are_replaced(self):
        self.record_secrets("-e", "cpu-clock/name=secretname/", "-e", "task-clock")
        for command in OUTPUTS:
            with self.subTest(command):
                self.assertNotIn("secretname", self.redacted(*command))
        # It is still chosen by the name it has.
        text = self.redacted("script", "-G", "--event-filter", "secretname")
        self.assertRegex(text, r"event_[0-9a-f]{16}:")
        result = run([TEPHRA, "fold", "--redact", "--event-filter", "nothing", self.data])
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertNotIn("secretname", result.stderr)
        self.assertIn("task-clock", result.stderr)

    def test_reports_are_filtered_by_real_names(self):
        self.record_secrets()
        for filter, row in ((("-S", "heavy"), r"fn_"), (("-d", ":topsecret"), r"file_"), (("--comm", ":topsecret"), r"comm_")):
            with self.subTest(filter):
                words = ("-g", "none", "--sort", "comm,dso,symbol", *filter)
                plain = run([TEPHRA, "report", *words, self.data])
                rows = [line.split()[0] for line in plain.stdout.splitlines() if line and line[0] != "#"]
                self.assertTrue(rows, plain.stderr)
                text = self.redacted("report", *words)
                # The same shares, under other names.
                shares = [line.split()[0] for line in text.splitlines() if re.match(r"\s+[\d.]+%", line)]
                self.assertEqual(shares, rows)
                self.assertRegex(text, row)
                self.assertNotIn(filter[1], text)

    def test_files_that_were_refused_are_not_told(self):
        self.record_secrets("--no-embed")
        shutil.copy("/bin/true", os.path.join(self.folder, "[secretapp]"))
        self.assertIn("secretapp", run([TEPHRA, "fold", "-v", self.data]).stderr)
        self.assertNotIn("secretapp", self.redacted("fold", "-v"))

    def test_what_writes_recordings_says_what_to_use(self):
        for command in (["record", "--redact", "true"], ["record", f"--redact={self.key}", "true"],
                        ["profile", "--redact", "--", "true"], ["archive", "--redact", self.data]):
            with self.subTest(command):
                result = run([TEPHRA, *command])
                self.assertIn(result.returncode, (2, 125), result.stderr)
                self.assertIn("tephra fold --redact", result.stderr)
                self.assertTrue(result.stderr.startswith("tephra: --redact: a recording holds"), result.stderr)


if __name__ == "__main__":
    unittest.main()
