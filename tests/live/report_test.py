"""`tephra report` against `perf report`: the same recording, the same shares."""

import collections
import json
import os
import re
import unittest

from oracle import TEPHRA, OracleTest, perf, tephra

SHARE = r" *(\d+\.\d\d)% "
UNKNOWN = re.compile(r"^(0x)?[0-9a-f]{8,}$")


def rows(text, shares, keys):
    """The rows of a report: {keys: [shares]}. Rows that look the same are added up, all unnamed ones of a file too."""
    found = collections.defaultdict(lambda: [0.0] * shares)
    for line in text.splitlines():
        match = re.match(r"^" + SHARE * shares + r" *(.*?)(?:  +-  +-)? *$", line)
        if match is None or line.startswith("#"):
            continue
        cells = re.split(r"  +", match.group(shares + 1).strip(), maxsplit=keys - 1)
        name = re.sub(r"^\[.\] ", "", cells[-1])
        if UNKNOWN.match(name) or name.startswith("[unknown]"):
            name = "[unknown]"
        cells[-1] = name
        for i in range(shares):
            found[tuple(cells)][i] += float(match.group(i + 1))
    return dict(found)


class ReportTest(OracleTest):
    def both(self, path, *words, shares=1, keys=3):
        theirs = perf("report", "--stdio", "--no-inline", "-g", "none", "-i", path, *words)
        ours = tephra("report", "-q", "--stdio", "--no-inline", "--idle", "-g", "none", "-i", path, *words)
        their_rows, our_rows = rows(theirs, shares, keys), rows(ours, shares, keys)
        self.assertTrue(their_rows, theirs)
        return their_rows, our_rows

    def assert_same(self, theirs, ours):
        for key in sorted(theirs.keys() | ours.keys()):
            their, our = theirs.get(key, [0.0]), ours.get(key, [0.0])
            if "[unknown]" in key:
                continue
            for a, b in zip(their, our):
                self.assertAlmostEqual(a, b, places=6, msg="%s: perf %s, tephra %s" % (key, their, our))

    def test_self_is_perfs(self):
        for path in (self.stacks(), self.flat()):
            theirs, ours = self.both(path, "--no-children")
            self.assert_same(theirs, ours)
            self.assertGreater(ours[("workers", "workers", "(anonymous namespace)::hot")][0], 10)
            self.assertAlmostEqual(sum(row[0] for row in ours.values()), 100, delta=0.5)

    def test_children_is_perfs(self):
        theirs, ours = self.both(self.stacks(), shares=2)
        # Where a call never returns, perf names the function behind it; see script_test.
        differing = [key for key in theirs.keys() ^ ours.keys() if "[unknown]" not in key]
        self.assertLessEqual(len(differing), 4, differing)
        same = theirs.keys() & ours.keys()
        self.assert_same({k: theirs[k] for k in same}, {k: ours[k] for k in same})
        recurse = ours[("workers", "workers", "(anonymous namespace)::recurse")]
        self.assertLess(recurse[0], 100)
        self.assertGreater(recurse[0], 5)

    def test_sort_keys(self):
        for sort, keys in (("dso", 1), ("comm", 1), ("comm,dso", 2), ("symbol", 1)):
            with self.subTest(sort=sort):
                self.assert_same(*self.both(self.flat(), "--no-children", "--sort", sort, keys=keys))

    def test_filters_keep_the_whole(self):
        theirs, ours = self.both(self.flat(), "--no-children", "--dso", "workers", "--sort", "dso,symbol", keys=1)
        self.assertEqual({row[0] for row in theirs.values()}, {row[0] for row in ours.values()})
        self.assert_same(*self.both(self.flat(), "--no-children", "--comm", "workers", "--sort", "dso,symbol", keys=2))
        self.assert_same(*self.both(self.flat(), "--no-children", "--percent-limit", "2"))
        self.assertEqual(tephra("report", "-q", "--comm", "nobody", self.flat(), status=1), "")

    def test_whole_system(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        path = self.recording("system", "-a", "-F", "199", "-e", "cpu-clock", "-g")
        self.assert_same(*self.both(path, "--no-children", "--sort", "comm", keys=1))
        theirs, ours = self.both(path, "--no-children", "--sort", "cpu", keys=1)
        self.assertEqual(sorted(row[0] for row in theirs.values()), sorted(row[0] for row in ours.values()))

    def test_chains_are_perfs(self):
        """The trees below the first rows, from callers down and from callees up."""
        for words in ((), ("--no-children",)):
            with self.subTest(words=words):
                theirs, ours = (
                    self.chains(report("report", "-q", "--stdio", "--no-inline", "-i", self.stacks(), *words))
                    for report in (perf, tephra))
                for symbol in ("hot", "cold", "recurse") if not words else ("hot", "cold"):
                    name = "(anonymous namespace)::" + symbol
                    self.assertTrue(ours[name])
                    self.assertEqual(sorted(theirs[name]), sorted(ours[name]))

    @staticmethod
    def chains(text):
        """{symbol: the lines below its row, without what draws the tree, since equal branches have no order}."""
        found, symbol = collections.defaultdict(list), None
        for line in text.splitlines():
            if re.match(SHARE, line):
                symbol = re.sub(r"^.*\[.\] ", "", line).rstrip()
            elif symbol is not None and line.strip() and line[0] != "#":
                found[symbol].append(re.sub(r"0x[0-9a-f]+|\[unknown\] \S+", "?", line.strip(" |-")))
        return found

    def test_json_adds_up(self):
        report = json.loads(tephra("report", "-q", "--json", self.stacks()))
        samples = len(re.findall(r"cpu-clock", tephra("script", "-q", "-G", self.stacks())))
        self.assertEqual(report["total"]["count"], samples)
        self.assertEqual(report["event"].split(":")[0], "cpu-clock")
        for part in ("count", "value"):
            self.assertEqual(sum(entry["self"][part] for entry in report["entries"]), report["total"][part])
            for entry in report["entries"]:
                self.assertLessEqual(entry["self"][part], entry["total"][part])
                self.assertLessEqual(entry["total"][part], report["total"][part])
        self.assertIn("grade", json.dumps(report["verdict"]))
        self.assertEqual(report["recording"]["format"], "perf.data")
        self.assertNotIn("chains", report["entries"][0])
        self.assertIn("chains", json.loads(tephra("report", "-q", "--json", "-g", "caller", self.stacks()))["entries"][0])

    def test_self_goes_to_the_innermost_inlined_function(self):
        def by_symbol(*words):
            report = json.loads(tephra("report", "-q", "--json", "--sort", "symbol", *words, self.stacks()))
            return {entry["symbol"]: entry["self"]["count"] for entry in report["entries"]}

        inlined, plain = by_symbol(), by_symbol("--no-inline")
        self.assertEqual(sum(inlined.values()), sum(plain.values()))
        self.assertGreater(len(inlined), len(plain))

    def test_time_is_of_the_recording(self):
        report = json.loads(tephra("report", "-q", "--json", self.flat()))
        begin, end = (float(report["recording"][key]) for key in ("first_time", "last_time"))
        middle = (begin + end) / 2
        halves = [json.loads(tephra("report", "-q", "--json", "--time", span, self.flat()))["total"]["count"]
                  for span in ("%.9f,%.9f" % (0, middle - 1e-6), "%.9f," % middle)]
        self.assertGreater(min(halves), 0)
        self.assertLessEqual(abs(report["total"]["count"] - sum(halves)), 1)

    def test_strict_and_wrong_words(self):
        tephra("report", "-q", "--strict", self.flat(), status=3)
        for words in (("--sort", "colour"), ("-g", "colour"), ("--percent-limit", "many"), ("--no-such-option",)):
            with self.subTest(words=words):
                tephra("report", *words, "-i", self.flat(), status=2)
        tephra("report", "-i", os.path.join(self.folder, "missing"), status=1)
        tephra("report", "-i", TEPHRA, status=1)
        self.assertIn("examples:", tephra("report", "--help"))


if __name__ == "__main__":
    unittest.main()
