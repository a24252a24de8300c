"""Live tests of profiles that gperftools and jemalloc make of a program, beside what their own tools say of them."""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

from support import LiveTest, run

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) void* keep_large(size_t n) { char* p = malloc(n); *(volatile char*)p = 1; return p; }
__attribute__((noinline)) void* keep_small(size_t n) { char* p = malloc(n); *(volatile char*)p = 1; return p; }
__attribute__((noinline)) double burn_most(long n) {
  volatile double x = 1;
  for (long i = 0; i < n; ++i) x = x * 1.0000001;
  return x;
}
__attribute__((noinline)) double burn_some(long n) {
  volatile double x = 1;
  for (long i = 0; i < n; ++i) x = x * 1.0000002;
  return x;
}
void* kept[70000];
int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 0;
  int at = 0;
  for (int i = 0; i < 200; ++i) kept[at++] = keep_large(1 << 20);
  for (int i = 0; i < 60000; ++i) kept[at++] = keep_small(512);
  double sum = 0;
  for (int i = 0; i < rounds; ++i) sum += burn_most(9000000) + burn_some(3000000);
  printf("%f\n", sum);
  return 0;
}
"""


class OldProfile(LiveTest):
    def build(self, *libraries):
        """The program, linked with a library that profiles it."""
        with open(self.path("prog.c"), "w") as file:
            file.write(SOURCE)
        made = run(["gcc", "-O1", "-g", "prog.c", "-o", "prog", "-Wl,--no-as-needed", *libraries], cwd=self.folder)
        if made.returncode != 0 and "cannot find" in made.stderr:
            self.skipTest(f"{' '.join(libraries)} is not installed")
        self.assertEqual(made.returncode, 0, made.stderr)

    def need(self, tool):
        if shutil.which(tool) is None:
            self.skipTest(f"{tool} is not installed")

    def run_program(self, *words, **environment):
        subprocess.run(["./prog", *words], cwd=self.folder, check=True, env={**os.environ, **environment},
                       capture_output=True, timeout=120)

    def rows(self, *words):
        """Self and total by function, and the report."""
        report = json.loads(self.tephra("report", "-q", "--json", "-s", "symbol", *words).stdout)
        return {row["symbol"]: (row["self"], row["total"]) for row in report["entries"]}, report

    def peer(self, tool, *words):
        """Flat and cumulative numbers by function, and the total."""
        text = run([tool, "--text", *words], cwd=self.folder).stdout
        total = re.search(r"Total: ([\d.]+)", text)
        self.assertTrue(total, text)
        rows = [line.split() for line in text.splitlines() if re.match(r"\s*[\d.]+\s+[\d.]+%", line)]
        return {row[5]: (float(row[0]), float(row[3])) for row in rows if len(row) > 5}, float(total[1])


class GperftoolsTest(OldProfile):
    def setUp(self):
        super().setUp()
        self.need("google-pprof")
        self.build("-lprofiler")
        self.run_program("25", CPUPROFILE=self.path("cpu.prof"))

    def test_counts_what_google_pprof_counts(self):
        theirs, total = self.peer("google-pprof", "./prog", "cpu.prof")
        for words in (["prog", "cpu.prof"], ["cpu.prof"]):
            ours, report = self.rows(*words)
            self.assertEqual(report["recording"]["format"], "gperftools-cpu")
            self.assertEqual(report["total"]["count"], total)
            for name in ("burn_most", "burn_some"):
                self.assertEqual(ours[name][0]["count"], theirs[name][0], name)
        # The caller of nearly all samples is a frame as any other.
        self.assertGreater(ours["main"][1]["count"], 0.9 * total)

    def test_runs_at_other_addresses_are_joined(self):
        self.run_program("10", CPUPROFILE=self.path("second.prof"))
        self.tephra("convert", "-q", "prog", "cpu.prof", "second.prof", "-o", "both.pb.gz")
        parts = [self.rows("prog", name) for name in ("cpu.prof", "second.prof")]
        both, report = self.rows("both.pb.gz")
        self.assertEqual(report["total"]["count"], sum(part[1]["total"]["count"] for part in parts))
        for name in ("burn_most", "burn_some"):
            self.assertEqual(both[name][0]["count"], sum(part[0][name][0]["count"] for part in parts), name)
        # One file, though it was mapped elsewhere in each run.
        dsos = json.loads(self.tephra("report", "-q", "--json", "-s", "dso", "both.pb.gz").stdout)["entries"]
        self.assertEqual(len([row for row in dsos if row["dso"].endswith("/prog")]), 1, dsos)

    def test_a_program_of_another_build_is_refused(self):
        self.tephra("convert", "-q", "prog", "cpu.prof", "-o", "cpu.pb.gz")
        shutil.copy(self.path("prog"), self.path("kept"))
        run(["gcc", "-O2", "-g", "prog.c", "-o", "prog"], cwd=self.folder)
        result = self.tephra("report", "prog", "cpu.pb.gz", status=1)
        self.assertRegex(result.stderr, r"cannot use the program 'prog': its build id is [0-9a-f]+, and that of .*prog in")
        self.assertIn("burn_most", self.rows("kept", "cpu.pb.gz")[0])

    def test_folded_stacks_and_flame_graphs_take_a_program_too(self):
        counts = self.folded("prog", "cpu.prof")
        self.assertTrue(any(stack.endswith("main;burn_most") for stack in counts), list(counts)[:5])
        self.tephra("flame", "-q", "prog", "cpu.prof", "-o", "flame.svg")
        with open(self.path("flame.svg")) as file:
            self.assertIn("burn_some", file.read())
        self.tephra("report", "cpu.prof", "cpu.prof", status=2)


class JemallocTest(OldProfile):
    def test_sums_are_those_of_jeprof(self):
        self.need("jeprof")
        self.build("-ljemalloc")
        self.run_program(MALLOC_CONF=f"prof:true,prof_final:true,prof_prefix:{self.path('je')},lg_prof_sample:17")
        dumps = glob.glob(self.path("je*.heap"))
        if not dumps:
            self.skipTest("this jemalloc is built without profiling")
        dump = os.path.basename(dumps[0])
        theirs, total = self.peer("jeprof", "--show_bytes", "./prog", dump)
        ours, report = self.rows(dump)
        self.assertEqual((report["event"], report["unit"]), ("space", "bytes"))
        self.assertAlmostEqual(report["total"]["value"], total, delta=total * 0.002)
        for name in ("keep_large", "keep_small"):
            self.assertAlmostEqual(ours[name][1]["value"], theirs[name][1], delta=theirs[name][1] * 0.002 + 1, msg=name)
        # And they are what was allocated.
        self.assertAlmostEqual(ours["keep_large"][1]["value"], 200 * 2**20, delta=200 * 2**20 * 0.05)
        self.assertAlmostEqual(ours["keep_small"][1]["value"], 60000 * 512, delta=60000 * 512 * 0.3)


class TcmallocTest(OldProfile):
    def test_sums_are_those_of_google_pprof(self):
        self.need("google-pprof")
        self.build("-ltcmalloc")
        self.run_program(HEAPPROFILE=self.path("tc"))
        dumps = sorted(glob.glob(self.path("tc*.heap")))
        self.assertTrue(dumps)
        dump = os.path.basename(dumps[-1])
        theirs, total = self.peer("google-pprof", "--show_bytes", "--inuse_space", "./prog", dump)
        ours, report = self.rows("prog", dump)
        self.assertEqual(report["recording"]["format"], "heap")
        self.assertEqual(report["total"]["value"], total)
        for name in ("keep_large", "keep_small"):
            self.assertEqual(ours[name][1]["value"], theirs[name][1], name)


if __name__ == "__main__":
    unittest.main()
