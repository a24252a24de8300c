"""Profiles for the Firefox Profiler. There is no viewer to ask here: structure is checked by unit tests, and these check
that what was recorded is in the file, and is read back."""

import json
import os
import re
import unittest

import support


class ConvertFirefoxTest(support.LiveTest):
    def record(self):
        self.tephra("record", "-g", "-F", "500", "-o", self.path("perf.data"), "--", support.program("spin"), "300")

    def written(self):
        self.tephra("convert", "-q", self.path("perf.data"), "-o", self.path("out.firefox.json"))
        with open(self.path("out.firefox.json")) as file:
            return json.load(file)

    def test_a_recording_there_and_back(self):
        self.record()
        profile = self.written()
        self.assertEqual(self.folded(self.path("out.firefox.json")), self.folded("--own", self.path("perf.data")))
        script = self.tephra("script", "--own", "--idle", "-i", self.path("perf.data"), "-F", "tid,time").stdout
        times = [float(time) for time in re.findall(r"(\d+\.\d+):", script)]
        seen = sorted(time for thread in profile["threads"] for time in thread["samples"]["time"])
        self.assertEqual(len(seen), len(times))
        self.assertEqual(seen[0], 0)
        self.assertAlmostEqual(seen[-1], (max(times) - min(times)) * 1e3, places=2)
        comments = [entry["value"] for section in profile["meta"]["extra"] for entry in section["entries"]]
        self.assertTrue(any(comment.startswith("verdict:") for comment in comments), comments)

    def test_addresses_without_names_are_looked_up_by_build_id(self):
        self.record()
        expected = self.folded("--own", self.path("perf.data"))
        profile = self.written()
        shared = profile["shared"]
        spin = next(i for i, lib in enumerate(profile["libs"]) if lib["name"] == "spin")
        # As a recorder leaves it that looks nothing up: a function is its address.
        functions = [i for i, resource in enumerate(shared["funcTable"]["resource"]) if resource == spin]
        unnamed = 0
        for frame, function in enumerate(shared["frameTable"]["func"]):
            address = shared["frameTable"]["address"][frame]
            if function not in functions or address < 0:
                continue
            shared["stringArray"].append(hex(address))
            for column, values in shared["funcTable"].items():
                if column != "length":
                    values.append(values[function])
            shared["funcTable"]["name"][-1] = len(shared["stringArray"]) - 1
            shared["funcTable"]["length"] += 1
            shared["frameTable"]["func"][frame] = shared["funcTable"]["length"] - 1
            shared["frameTable"]["nativeSymbol"][frame] = None
            unnamed += 1
        self.assertGreater(unnamed, 2)
        with open(self.path("unnamed.json"), "w") as file:
            json.dump(profile, file)
        self.assertEqual(self.folded(self.path("unnamed.json")), expected)
        # Of another build, the file is not used.
        profile["libs"][spin]["codeId"] = "00" * 20
        with open(self.path("other.json"), "w") as file:
            json.dump(profile, file)
        self.assertFalse(any(";work" in stack for stack in self.folded(self.path("other.json"))))

    def test_simpleperf_writes_what_its_recording_holds(self):
        folder = os.path.join(support.FIXTURES, "perf-data", "aosp-simpleperf")
        if not os.path.isdir(folder):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        for name in ("perf_with_jit_symbol", "perf_with_tracepoint_event"):
            with self.subTest(name):
                recorded = self.tephra("convert", "-q", os.path.join(folder, name + ".data"), "--to", "folded").stdout
                converted = self.tephra("convert", "-q", os.path.join(folder, name + ".gecko.json"), "--to", "folded").stdout
                self.assertEqual(sum(support.parse_folded(recorded).values()),
                                 sum(support.parse_folded(converted).values()))


if __name__ == "__main__":
    unittest.main()
