"""Profiles for the Firefox Profiler: what was recorded is in the file, is read back, and is what the Firefox Profiler
itself shows, by its command-line reader."""

import collections
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import support

READER = os.environ.get("TEPHRA_PROFILER_CLI", os.path.join(
    support.ROOT, "build", "npm", "node_modules", "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js"))
OLDEST_NODE = 20


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

    def without_names(self, profile, name):
        """Writes the profile as a recorder leaves it that looks nothing up in a library: a function is its address."""
        shared = profile["shared"]
        spin = next(i for i, lib in enumerate(profile["libs"]) if lib["name"] == name)
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
        return spin

    def test_addresses_without_names_are_looked_up_by_build_id(self):
        self.record()
        expected = self.folded("--own", self.path("perf.data"))
        profile = self.written()
        spin = self.without_names(profile, "spin")
        self.assertEqual(self.folded(self.path("unnamed.json")), expected)
        # Of another build, the file is not used.
        profile["libs"][spin]["codeId"] = "00" * 20
        with open(self.path("other.json"), "w") as file:
            json.dump(profile, file)
        self.assertFalse(any(";work" in stack for stack in self.folded(self.path("other.json"))))

    def test_addresses_are_those_of_the_code_as_loaded_whatever_the_linker(self):
        if shutil.which("clang") is None or shutil.which("ld.lld") is None:
            self.skipTest("clang and lld are not installed")
        binary = self.path("lldspin")
        source = os.path.join(support.ROOT, "tests", "programs", "spin.cpp")
        for kind in ("-pie", "-no-pie"):
            with self.subTest(kind):
                done = support.run(["clang++", "-std=c++20", "-O1", "-g", "-fno-omit-frame-pointer", "-fuse-ld=lld", kind,
                                    "-Wl,--build-id", source, "-o", binary])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.tephra("record", "-g", "-F", "500", "-o", self.path("perf.data"), "--", binary, "300")
                self.check_addresses(binary)

    def check_addresses(self, binary):
        headers = support.run(["readelf", "-lW", binary]).stdout
        loads = [[int(word, 16) for word in line.split()[1:3]] for line in headers.splitlines() if "LOAD" in line]
        first = loads[0][1]
        self.assertTrue(any(offset != address - first for offset, address in loads), headers)
        symbols = {}
        for line in support.run(["nm", "-SC", binary]).stdout.splitlines():
            words = line.split(maxsplit=3)
            if len(words) == 4 and words[2] in "tT":
                symbols[words[3].split("(")[0]] = (int(words[0], 16), int(words[1], 16))
        profile = self.written()
        shared = profile["shared"]
        checked = 0
        for function, address in zip(shared["frameTable"]["func"], shared["frameTable"]["address"]):
            name = shared["stringArray"][shared["funcTable"]["name"][function]]
            resource = shared["funcTable"]["resource"][function]
            if resource < 0 or profile["libs"][resource]["name"] != "lldspin" or name not in symbols:
                continue
            start, size = symbols[name]
            self.assertTrue(start <= first + address < start + size, (name, hex(address), hex(start), size))
            checked += 1
        self.assertGreater(checked, 1)
        # And back: offsets in the file, by which names are found.
        expected = self.folded("--own", self.path("perf.data"))
        self.without_names(profile, "lldspin")
        self.assertEqual(self.folded(self.path("unnamed.json")), expected)
        # What was read is written as it was.
        self.tephra("convert", "-q", self.path("out.firefox.json"), "-o", self.path("again.firefox.json"))
        with open(self.path("again.firefox.json")) as file:
            again = json.load(file)["shared"]["frameTable"]["address"]
        self.assertEqual(sorted(set(again)), sorted(set(shared["frameTable"]["address"])))

    def test_simpleperf_writes_what_its_recording_holds(self):
        folder = os.path.join(support.FIXTURES, "perf-data", "aosp-simpleperf")
        if not os.path.isdir(folder):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        for name in ("perf_with_jit_symbol", "perf_with_tracepoint_event"):
            with self.subTest(name):
                path = os.path.join(folder, name)
                counts = []
                for ending in (".data", ".gecko.json"):  # the second has no events: samples of all of them
                    text = self.tephra("convert", "-q", path + ending, "--to", "json").stdout
                    counts.append(sum(json.loads(text)["samples"]["count"]))
                self.assertEqual(counts[0], counts[1])


class FirefoxProfilerTest(support.LiveTest):
    def setUp(self):
        super().setUp()
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        version = support.run(["node", "--version"]).stdout
        if int(re.match(r"v(\d+)", version)[1]) < OLDEST_NODE:
            self.skipTest(f"the Firefox Profiler's reader needs a newer node than {version.strip()}")
        if not os.path.exists(READER):
            self.skipTest("the npm package @firefox-devtools/profiler-cli is not installed: ./test --all does it")

    def reader(self, *words):
        """The Firefox Profiler's reader, which keeps its sessions in the test's folder and asks no server for names."""
        return ["node", READER, *words], {**os.environ, "PROFILER_CLI_SESSION_DIR": self.folder,
                                          "PROFILER_CLI_NO_SYMBOLICATE": "1"}

    def ask(self, *words):
        command, environment = self.reader(*words, "--session", self.session)
        result = support.run(command, env=environment)
        self.assertEqual(result.returncode, 0, f"{words}: {result.stdout}{result.stderr}")
        return result.stdout

    def load(self, path):
        """Starts the reader on a file, waits until it answers, and returns the threads of the profile."""
        self.sessions = getattr(self, "sessions", 0) + 1
        self.session = f"s{self.sessions}"
        command, environment = self.reader("--daemon", path, "--session", self.session)
        daemon = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        # Asked too early, it takes the session for one that has died.
        log = self.path(self.session + ".log")
        deadline = time.monotonic() + 60
        while daemon.poll() is None and time.monotonic() < deadline and not self.says(log, "Profile loaded"):
            time.sleep(0.1)
        answer = self.ask("thread", "list", "--limit", "0", "--json")
        return [thread["threadHandle"] for thread in json.loads(answer)["threads"]]

    def says(self, path, text):
        if not os.path.exists(path):
            return False
        with open(path) as file:
            return text in file.read()

    def functions(self, threads):
        """By name: own and total weight in all threads."""
        sums = collections.defaultdict(lambda: [0, 0])
        for thread in threads:
            shown = self.ask("thread", "functions", "--thread", thread, "--include-idle", "--limit", "0", "--json")
            for function in json.loads(shown)["functions"]:
                sums[function["name"]][0] += function["selfSamples"]
                sums[function["name"]][1] += function["totalSamples"]
        return sums

    def functions_of_folded(self, folded):
        sums = collections.defaultdict(lambda: [0, 0])
        for stack, count in folded.items():
            frames = stack.split(";")[1:]
            for name in set(frames):
                sums[name][1] += count
            if frames:
                sums[frames[-1]][0] += count
        return sums

    def test_it_shows_what_was_recorded(self):
        self.tephra("record", "-g", "-F", "500", "-o", self.path("perf.data"), "--", support.program("spin"), "300")
        self.tephra("convert", "-q", self.path("perf.data"), "-o", self.path("out.firefox.json"))
        threads = self.load(self.path("out.firefox.json"))
        recorded = self.functions_of_folded(self.folded("--own", "--periods", self.path("perf.data")))
        self.assertGreater(recorded["work"][0], 0)
        shown = self.functions(threads)
        # What has no name is told by its address there, and by its file here.
        named = {name for name in recorded if not name.startswith("[unknown]")}
        self.assertEqual({name for name in shown if not name.startswith("0x")}, named)
        for name in named:
            own, total = recorded[name]
            self.assertAlmostEqual(shown[name][0], own / 1e6, places=3, msg=name)
            self.assertAlmostEqual(shown[name][1], total / 1e6, places=3, msg=name)
        meta = self.ask("profile", "meta")
        self.assertIn("verdict: ", meta)
        self.assertIn("Sampling interval: 2ms", meta)

    def test_both_read_the_same_of_files_of_others(self):
        if not os.path.isdir(support.FIXTURES):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        for name in ("firefox/firefox-devtools-profiler/processed-3.json",
                     "firefox/firefox-devtools-profiler/argument-values.json",
                     "firefox/mstange-samply/ls-profile.json",
                     "perf-data/aosp-simpleperf/perf_with_jit_symbol.gecko.json",
                     "perf-data/aosp-simpleperf/perf_with_tracepoint_event.gecko.json"):
            with self.subTest(name):
                path = os.path.join(support.FIXTURES, name)
                theirs = self.functions(self.load(path))
                ours = self.functions_of_folded(self.folded("-i", path))
                # What has no name is told by its address there, and by its file here.
                named = {function for function in theirs if not function.startswith("0x")}
                self.assertEqual({function: tuple(theirs[function]) for function in named},
                                 {function: tuple(ours[function]) for function in named})


if __name__ == "__main__":
    unittest.main()
