"""Live tests of `tephra convert` to pprof: what Go's pprof makes of it, beside what it makes of the original."""

import glob
import json
import os
import re
import unittest

import go_pprof
from support import FIXTURES, LiveTest, program

# Formats that Go's pprof reads itself.
LEGACY = ["gperftools-cpu/google-pprof/cppbench.cpu", "gperftools-cpu/google-pprof/go.crc32.cpu",
          "heap/google-pprof/cppbench.heap", "heap/google-pprof/gobench.heap",
          "legacy-text/google-pprof/cppbench.contention", "legacy-text/google-pprof/cppbench.thread",
          "legacy-text/google-pprof/cppbench.thread.all"]


class ConvertTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.pprof, why = go_pprof.find()
        if self.pprof is None:
            self.skipTest(why)

    def need_fixtures(self, folder):
        if not os.path.isdir(os.path.join(FIXTURES, folder)):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")

    def convert(self, *inputs):
        output = self.path("out.pb.gz")
        self.tephra("convert", "-q", *inputs, "-o", output)
        return output

    def assert_same(self, ours, theirs):
        """Numbers of locations, the order of samples and those that agree in everything may differ. The verdict is a
        comment more; a default that is the last type need not be named."""
        self.assertEqual([line for line in ours.facts if not line.startswith("Comment: verdict")], theirs.facts)
        for raw in (ours, theirs):
            raw.types[-1] = raw.types[-1].replace("[dflt]", "")
        self.assertEqual(ours.types, theirs.types)
        self.assertEqual(ours.samples, theirs.samples)
        self.assertEqual(ours.mappings, theirs.mappings)


class OfProfiles(ConvertTest):
    def test_keeps_all_that_pprof_shows(self):
        self.need_fixtures("pprof")
        paths = [path for path in glob.glob(os.path.join(FIXTURES, "pprof", "**", "*"), recursive=True)
                 if os.path.isfile(path)]
        self.assertGreater(len(paths), 10)
        for path in sorted(paths):
            with self.subTest(path):
                output = self.convert(path)
                self.assert_same(go_pprof.raw(self.pprof, output), go_pprof.raw(self.pprof, path))
                self.assertEqual(go_pprof.top(self.pprof, output)[0], go_pprof.top(self.pprof, path)[0])

    def test_reads_old_formats_as_pprof_does(self):
        self.need_fixtures("heap")
        for name in LEGACY:
            path = os.path.join(FIXTURES, name)
            with self.subTest(name):
                ours, theirs = go_pprof.raw(self.pprof, self.convert(path)), go_pprof.raw(self.pprof, path)
                # pprof invents a mapping of all memory where none is known, and tells no comments of its own.
                ours.facts = [line for line in ours.facts if not line.startswith("Comment: left out")]
                theirs.mappings = {each for each in theirs.mappings if each[:2] != (0, 2**64 - 1)}
                self.assert_same(ours, theirs)

    def test_every_type_is_selected_by_its_name(self):
        self.need_fixtures("pprof")
        profile = os.path.join(FIXTURES, "pprof/parca-dev-parca/alloc_objects.pb.gz")
        raw = go_pprof.raw(self.pprof, profile)
        self.assertEqual(len(raw.types), 4)
        for type_and_unit, total in zip(raw.types, raw.totals()):
            name = type_and_unit.split("/")[0]
            with self.subTest(type=name):
                report = json.loads(self.tephra("report", "--json", "--event-filter", name, profile).stdout)
                self.assertEqual((report["event"], report["total"]["value"]), (name, total))

    def test_jemalloc_dumps_have_the_sum_that_jeprof_prints(self):
        self.need_fixtures("heap")
        # jeprof sums the threads of a stack before it scales up, which is a little more: 174090.1 MB.
        raw = go_pprof.raw(self.pprof, self.convert(os.path.join(FIXTURES, "heap/google-pprof/jemalloc.heap")))
        self.assertEqual(raw.types, ["objects/count", "space/bytes"])
        self.assertAlmostEqual(raw.totals()[1] / 2**20, 174090.1, delta=174090.1 * 0.001)

    def test_joins_as_pprof_does(self):
        self.need_fixtures("pprof")
        paths = sorted(glob.glob(os.path.join(FIXTURES, "pprof", "parca-dev-parca", "many", "*.pb.gz")))
        ours, theirs = go_pprof.raw(self.pprof, self.convert(*paths)), go_pprof.raw(self.pprof, *paths)
        self.assertEqual(ours.totals(), theirs.totals())
        self.assertEqual(ours.types, theirs.types)
        output = self.convert(*paths)
        for index in ("alloc_space", "inuse_objects"):
            words = [f"-sample_index={index}"]
            self.assertEqual(go_pprof.top(self.pprof, *words, output)[0], go_pprof.top(self.pprof, *words, *paths)[0])

    def test_refuses_what_is_damaged(self):
        bad = self.path("bad.pb.gz")
        with open(bad, "wb") as file:
            file.write(b"\x1f\x8b\x08\x00junk")
        result = self.tephra("convert", bad, "-o", self.path("x.pb.gz"), status=1)
        self.assertIn("bad.pb.gz", result.stderr)
        self.assertIn("gzip data is damaged", result.stderr)


class OfRecordings(ConvertTest):
    def test_pprof_shows_what_report_shows(self):
        self.tephra("record", "-q", "-e", "cpu-clock", "-F", "999", "-g", "-o", "perf.data", program("spin"), "600",
                    timeout=60)
        output = self.convert("perf.data")
        report = json.loads(self.tephra("report", "-q", "--json", "-s", "symbol", "--own", "perf.data").stdout)
        ours = {row["symbol"]: row for row in report["entries"]}
        rows, head = go_pprof.top(self.pprof, "-sample_index=samples", output)
        self.assertIn("Type: samples", head)
        self.assertTrue(head.startswith("File: spin\n"), head)
        heavy = [name for name, row in ours.items() if row["self"]["count"] > 20]
        self.assertTrue(heavy)
        for name in heavy:
            self.assertEqual((int(rows[name][0]), int(rows[name][1])),
                             (ours[name]["self"]["count"], ours[name]["total"]["count"]), name)
        self.assertEqual(go_pprof.raw(self.pprof, output).totals()[0], report["verdict"]["samples"])

    def test_the_verdict_goes_along(self):
        self.tephra("record", "-q", "-e", "cpu-clock", "-g", "-o", "perf.data", program("spin"), "200", timeout=60)
        facts = go_pprof.raw(self.pprof, self.convert("perf.data")).facts
        self.assertTrue(any(re.match(r"Comment: verdict: (good|fair|poor)\. ", line) for line in facts), facts)


if __name__ == "__main__":
    unittest.main()
