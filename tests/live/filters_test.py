"""Live tests of the options that change stacks (--focus, --hide …), beside Go's pprof, whose words they are."""

import json
import os
import unittest

import go_pprof
from support import FIXTURES, LiveTest, parse_folded, program, run

FOLDED = """\
app;main;parse;read 50
app;main;parse;number 30
app;main;write;memcpy 15
app;main;fact;fact;fact;fact 4
app;idle 1
"""


class OfFolded(LiveTest):
    def fold(self, *words):
        with open(self.path("in.folded"), "w") as file:
            file.write(FOLDED)
        return parse_folded(self.tephra("fold", *words, self.path("in.folded")).stdout)

    def test_words_of_pprof(self):
        self.assertEqual(self.fold("--focus", "parse", "--ignore", "number"), {"app;main;parse;read": 50})
        self.assertEqual(self.fold("--hide", "^(app|main|fact)$", "--ignore", "idle"),
                         {"parse;read": 50, "parse;number": 30, "write;memcpy": 15})
        self.assertEqual(self.fold("--show", "main|number"), {"main": 69, "main;number": 30})
        self.assertEqual(self.fold("--show_from", "parse"), {"parse;read": 50, "parse;number": 30})
        self.assertEqual(self.fold("--prune-from", "parse|write|fact"),
                         {"app;main;parse": 80, "app;main;write": 15, "app;main;fact;fact;fact;fact": 4, "app;idle": 1})

    def test_recursion_and_base(self):
        self.assertEqual(self.fold("--fold-recursion", "--base-frame", "main", "--focus", "fact|idle"),
                         {"main;fact": 4, "app;idle": 1})

    def test_recursion_as_inferno_folds_it(self):
        folder = os.path.join(FIXTURES, "folded", "jonhoo-inferno", "collapse-recursive")
        if not os.path.isdir(folder):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        ours = self.tephra("fold", "-q", "--fold-recursion", os.path.join(folder, "basic.txt")).stdout
        with open(os.path.join(folder, "results", "basic-collapsed.txt")) as file:
            self.assertEqual(parse_folded(ours), parse_folded(file.read()))

    def test_says_what_is_left(self):
        with open(self.path("in.folded"), "w") as file:
            file.write(FOLDED)
        done = self.tephra("report", "--focus", "parse", "--hide", "nothing", self.path("in.folded"))
        self.assertIn("80 of 100 samples (80.00%), by --focus 'parse'", done.stdout)
        self.assertIn("showing 80 of 100 samples", done.stderr)
        self.assertIn("--hide 'nothing' matches nothing", done.stderr)
        picture = self.tephra("flame", "--focus", "parse", self.path("in.folded"), "-o", "-").stdout
        self.assertIn("80 of 100 samples", picture)

    def test_wrong_expressions_are_told(self):
        with open(self.path("in.folded"), "w") as file:
            file.write(FOLDED)
        bad = self.tephra("report", "--focus", "operator(", self.path("in.folded"), status=2)
        self.assertRegex(bad.stderr, r"--focus is no regular expression 'operator\('")
        none = self.tephra("report", "--focus", "nobody", self.path("in.folded"), status=1)
        self.assertIn("--focus 'nobody' matches no function", none.stderr)

    def test_negative_numbers_are_refused(self):
        with open(self.path("in.folded"), "w") as file:
            file.write(FOLDED)
        self.assertIn("-5", self.tephra("flame", "--total", "-5", self.path("in.folded"), status=2).stderr)
        self.assertIn("-1", self.tephra("diff", "--limit", "-1", self.path("in.folded"), self.path("in.folded"),
                                        status=2).stderr)

    def test_redacted_pictures_do_not_tell_the_words(self):
        with open(self.path("in.folded"), "w") as file:
            file.write(FOLDED)
        picture = self.tephra("flame", "--redact", "--focus", "parse", self.path("in.folded"), "-o", "-").stdout
        self.assertIn("80 of 100 samples", picture)
        self.assertNotIn("parse", picture.split("<script>")[0])


class OfRecordings(LiveTest):
    def test_the_verdict_is_that_of_whole_stacks(self):
        self.tephra("record", "-F", "999", "-g", "-q", "-o", self.path("perf.data"), "--", program("spin"), "500")
        whole = json.loads(self.tephra("report", "--json", self.path("perf.data")).stdout)
        part = json.loads(self.tephra("report", "--json", "--hide", "main|_start|libc", self.path("perf.data")).stdout)
        self.assertEqual(part["verdict"], whole["verdict"])
        self.assertFalse([row for row in part["entries"] if row["symbol"] == "main"])
        self.assertTrue([row for row in whole["entries"] if row["symbol"] == "main"])

    def test_threads_of_numbered_names_are_one(self):
        self.tephra("record", "-F", "999", "-g", "-q", "-o", self.path("perf.data"), "--", program("workers"), "500")
        report = json.loads(self.tephra("report", "--json", "--sort", "comm", self.path("perf.data")).stdout)
        names = {row["comm"] for row in report["entries"]}
        merged = json.loads(
            self.tephra("report", "--json", "--sort", "comm", "--merge-threads", self.path("perf.data")).stdout)
        self.assertEqual(merged["total"], report["total"])
        self.assertFalse([row for row in merged["entries"] if any(c.isdigit() for c in row["comm"])])
        self.assertLessEqual(len(merged["entries"]), len(names))


class BesidePprof(LiveTest):
    """What tephra keeps of a profile is what pprof keeps of it."""

    WORDS = [("focus", "runtime"), ("ignore", "runtime"), ("hide", "runtime"), ("show", "runtime|main"),
             ("show_from", "runtime"), ("prune_from", "runtime.*")]

    def setUp(self):
        super().setUp()
        self.pprof, why = go_pprof.find()
        if self.pprof is None:
            self.skipTest(why)
        if not os.path.isdir(os.path.join(FIXTURES, "pprof")):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")

    def stacks(self, path):
        """Values by the names of functions."""
        sums = {}
        for (stack, _), values in go_pprof.raw(self.pprof, path).samples.items():
            names = tuple(line.split()[0] for location in stack for line in location[2:] if line)
            sums[names] = [a + b for a, b in zip(sums.get(names, [0] * len(values)), values)]
        return sums

    def test_same_stacks(self):
        for name in ("profile1.pb.gz", "alloc_objects.pb.gz"):
            source = os.path.join(FIXTURES, "pprof", "parca-dev-parca", name)
            for word, expression in self.WORDS:
                # pprof takes lines away from a location that other stacks use, too, where inlined functions match.
                if (name, word) == ("alloc_objects.pb.gz", "show_from"):
                    continue
                with self.subTest(file=name, word=word):
                    theirs = self.path("theirs.pb.gz")
                    done = run([self.pprof, "-proto", "-symbolize=none", f"-{word}={expression}",
                                            f"-output={theirs}", source])
                    self.assertEqual(done.returncode, 0, done.stderr)
                    ours = self.path("ours.pb.gz")
                    self.tephra("convert", "-q", f"--{word}", expression, source, "-o", ours)
                    self.assertEqual(self.stacks(ours), self.stacks(theirs))


if __name__ == "__main__":
    unittest.main()
