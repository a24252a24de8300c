"""Live tests of `tephra convert` to perf.data and JSON, and of perf's folders: perf and hotspot's parser must see what
tephra wrote, and tephra must read its own files back."""

import collections
import json
import os
import re
import unittest

from support import FIXTURES, LiveTest, parse_folded, program, run

PERFPARSER = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"


def fixture(*parts):
    return os.path.join(FIXTURES, *parts)


class PerfData(LiveTest):
    def recorded(self):
        """A program of known behaviour, recorded with stacks."""
        data = self.path("spin.data")
        self.tephra("record", "-q", "--call-graph", "fp", "-F", "1000", "-o", data, "--", program("spin"), "900")
        return data

    def convert(self, source, name="out.data"):
        self.tephra("convert", "-q", source, "-o", self.path(name))
        return self.path(name)

    def perf_script(self, data, *words):
        done = run(["perf", "script", "-i", data, *words])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def periods(self, data):
        """The sum of periods of each event, as perf prints them."""
        sums = collections.Counter()
        for line in self.perf_script(data, "-F", "period,event").splitlines():
            if line.strip():
                period, event = line.split()[:2]
                sums[event.rstrip(":")] += int(period)
        return sums

    def test_recordings_are_the_same_again(self):
        source = self.recorded()
        data = self.convert(source)
        again = self.convert(data, "again.data")
        first = self.folded(source, "--own")
        self.assertGreater(sum(first.values()), 20)
        self.assertEqual(self.folded(data, "--own"), first)
        self.assertEqual(self.folded(again, "--own"), first)

    def test_perf_sees_periods_times_threads_and_names(self):
        self.need_perf()
        source = self.recorded()
        data = self.convert(source)
        self.assertEqual(self.periods(data), self.periods(source))
        fields = ("-F", "comm,pid,tid,cpu,time,period")
        self.assertEqual(sorted(self.perf_script(data, *fields).splitlines()),
                         sorted(self.perf_script(source, *fields).splitlines()))
        # The program's own functions are found in its file, by where we say that it is mapped.
        names = lambda text: collections.Counter(re.findall(r"\b(heavy|light|main)\b", text))
        ours = names(self.perf_script(data, "-F", "ip,sym", "--no-inline"))
        theirs = names(self.perf_script(source, "-F", "ip,sym", "--no-inline"))
        self.assertTrue(theirs)
        self.assertEqual(ours, theirs)

    def test_perf_reports(self):
        self.need_perf()
        data = self.convert(self.recorded())
        done = run(["perf", "report", "--stdio", "-i", data, "--no-children", "-g", "none"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\d+\.\d+%\s+spin\s")
        self.assertNotIn("incompatible", done.stderr)

    def test_names_only(self):
        """Folded stacks have no addresses: perf sees the sums, tephra also the names and the counts."""
        folded = self.path("in.folded")
        with open(folded, "w") as out:
            out.write("main;work;inner 30\nmain;work 12\nmain;wait 5\n")
        data = self.convert(folded)
        self.assertEqual(self.folded(data), parse_folded("main;work;inner 30\nmain;work 12\nmain;wait 5\n"))
        self.need_perf()
        self.assertEqual(self.periods(data), {"samples": 47})

    def test_public_recordings(self):
        """Rows with counts, several events, other machines: sums are those of what was read."""
        files = ("google-perf_data_converter/quipper/perf.data.busy.0-3.4",
                 "google-perf_data_converter/quipper/perf.data.i686-3.4",
                 "google-perf_data_converter/quipper/perf.data.armv7-3.4",
                 "google-perf_data_converter/quipper/perf.data.callgraph-3.4",
                 "aosp-simpleperf/perf_display_bitmaps.data", "aosp-simpleperf/perf_with_jit_symbol.data",
                 "KDAB-perfparser/parallel_static_gcc/perf.data.zstd")
        if not os.path.exists(fixture("perf-data", files[0])):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        self.need_perf()
        for name in files:
            with self.subTest(name):
                source = fixture("perf-data", name)
                data = self.convert(source)
                self.assertEqual(self.folded(data, "--own", "--idle"), self.folded(source, "--own", "--idle"))
                plain = lambda sums: {event.removesuffix("HG").rstrip(":"): value for event, value in sums.items()}
                converted = plain(self.periods(data))
                # Waits that are read from switches are an event of their own.
                waits = converted.pop("offcpu-time", None)
                self.assertEqual(waits is not None, name.startswith("KDAB"))
                self.assertEqual(converted, plain(self.periods(source)))

    def test_profiles_of_pprof(self):
        source = fixture("pprof", "google-pprof", "sample.cpu")
        if not os.path.exists(source):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        data = self.convert(source)
        self.assertEqual(self.folded(data), self.folded(source))
        self.need_perf()
        self.assertEqual(sum(self.periods(data).values()), 1760000000)

    def test_hotspot_counts_the_same(self):
        if not os.path.exists(PERFPARSER):
            self.skipTest("hotspot is not installed")
        source = self.recorded()
        data = self.convert(source)
        counted = {}
        for path in (source, data):
            done = run([PERFPARSER, "--input", path, "--print-stats"])
            self.assertEqual(done.returncode, 0, done.stderr)
            counted[path] = int(re.search(r"samples:\s+(\d+)", done.stdout + done.stderr)[1])
        self.assertEqual(counted[data], counted[source])


class Folders(LiveTest):
    def test_recordings_of_several_threads(self):
        """`perf record --threads` writes a folder."""
        self.need_perf()
        self.need_root()
        for options in ((), ("-z",)):
            with self.subTest(options):
                data = self.path("folder" + "".join(options))
                done = run(["perf", "record", "-q", "--threads", *options, "-F", "500", "-a", "-o", data, "--",
                            program("spin"), "600"])
                if done.returncode != 0:
                    self.skipTest("this perf does not write folders: " + done.stderr[-200:])
                theirs = run(["perf", "script", "-i", data, "-F", "comm,tid,time,period,event"]).stdout.splitlines()
                ours = self.tephra("script", "-q", "--own", "--idle", "-F", "comm,tid,time,period,event", data)
                squeeze = lambda lines: sorted(" ".join(line.split()) for line in lines if line.strip())
                self.assertGreater(len(theirs), 20)
                self.assertEqual(squeeze(ours.stdout.splitlines()), squeeze(theirs))


class Json(LiveTest):
    def load(self, source, *words):
        self.tephra("convert", "-q", *words, source, "-o", self.path("out.json"))
        with open(self.path("out.json")) as file:
            return json.load(file)

    def folded_json(self, profile):
        """Folds the tables by their documentation alone."""
        frames, stacks, samples = profile["frames"], profile["stacks"], profile["samples"]
        counts = collections.Counter()
        for row in range(samples["length"]):
            stack, names = samples["stack"][row], []
            while stack >= 0:
                frame = stacks["frame"][stack]
                name = profile["functions"]["name"][frames["function"][frame]].replace(";", ":")
                names.append(name + ("_[i]" if frames["inlined"][frame] else ""))
                stack = stacks["parent"][stack]
            comm = profile["threads"][samples["thread"][row]]["comm"].replace(" ", "_")
            counts[";".join(([comm] if comm else []) + names[::-1])] += samples["count"][row]
        return counts

    def test_whole_profile(self):
        source = fixture("perf-data", "aosp-simpleperf", "perf_display_bitmaps.data")
        if not os.path.exists(source):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        profile = self.load(source)
        self.assertEqual((profile["format"], profile["version"]), ("tephra.profile", 1))
        samples = profile["samples"]
        for column in ("stack", "event", "thread", "count", "value", "time_ns", "cpu"):
            self.assertEqual(len(samples[column]), samples["length"], column)
        self.assertEqual(sum(samples["count"]), 525)
        self.assertEqual(sum(samples["value"]), 525 * 250000)
        self.assertEqual(profile["events"][0]["name"], "cpu-clock")
        self.assertEqual(profile["events"][0]["unit"], "ns")
        self.assertEqual(min(samples["time_ns"]), 0)
        self.assertEqual(int(samples["time_origin_ns"]) // 10**9, 684943)
        for table, columns in (("frames", ("function", "module", "address", "return_address", "inlined", "file", "line")),
                               ("stacks", ("parent", "frame")), ("functions", ("name", "system_name", "named"))):
            self.assertEqual(len({len(profile[table][column]) for column in columns}), 1, table)
        for child, parent in enumerate(profile["stacks"]["parent"]):
            self.assertLess(parent, child)
        self.assertEqual(self.folded_json(profile), self.folded(source, "--idle", "--own"))
        self.assertTrue(any("samples" in comment for comment in profile["facts"]["comments"]))

    def test_folded_stacks(self):
        with open(self.path("in.folded"), "w") as out:
            out.write("main;work 12\nmain;wait 5\n")
        profile = self.load(self.path("in.folded"))
        self.assertEqual(self.folded_json(profile), {"main;work": 12, "main;wait": 5})
        self.assertNotIn("time_ns", profile["samples"])


if __name__ == "__main__":
    unittest.main()
