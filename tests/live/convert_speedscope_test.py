"""What tephra writes for speedscope, imported by speedscope itself; and what both read of the same files."""

import collections
import glob
import json
import os
import shutil
import unittest

import support

PACKAGE = os.environ.get("TEPHRA_SPEEDSCOPE", os.path.join(support.ROOT, "build", "npm", "node_modules", "speedscope"))
IMPORTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "speedscope_import.js")

# Prints nothing, and is long enough for some samples.
SCRIPT = """
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s }
function outer(n) { return inner(n) + inner(n / 2) }
const begin = Date.now(); let sum = 0
while (Date.now() - begin < 300) sum += outer(20000)
process.exit(sum > 0 ? 0 : 1)
"""


def by_stack(pairs):
    sums = collections.Counter()
    for stack, weight in pairs:
        sums[stack] += weight
    return sums


class WithSpeedscope(support.LiveTest):
    def setUp(self):
        super().setUp()
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        if not os.path.isdir(PACKAGE):
            self.skipTest("the npm package speedscope is not installed: ./test --all does it")

    def imported(self, path, status=0):
        result = support.run(["node", IMPORTER, PACKAGE, path], timeout=300)
        self.assertEqual(result.returncode, status, result.stderr)
        return json.loads(result.stdout) if status == 0 else result.stderr

    def written(self, source):
        """The file that tephra makes of `source`, and speedscope's view of it."""
        path = self.path("out.speedscope.json")
        self.tephra("convert", "-q", source, "-o", path)
        with open(path) as file:
            return json.load(file), self.imported(path)


class ConvertSpeedscopeTest(WithSpeedscope):
    def check(self, source):
        """speedscope sees the profiles, frames, stacks and weights that the file is meant to hold."""
        ours, theirs = self.written(source)
        self.assertEqual([each["name"] for each in theirs["profiles"]], [each["name"] for each in ours["profiles"]])
        names = [frame["name"] for frame in ours["shared"]["frames"]]
        for written, seen in zip(ours["profiles"], theirs["profiles"]):
            self.assertEqual(seen["unit"], written["unit"])
            samples = list(zip(written["samples"], written["weights"]))
            self.assertEqual(seen["weight"], sum(weight for stack, weight in samples if stack))
            self.assertEqual(
                by_stack((tuple(each["stack"]), each["weight"]) for each in seen["stacks"]),
                by_stack((tuple(names[frame] for frame in stack), weight)
                         for stack, weight in samples if stack and weight))
        return ours, theirs

    def test_folded_stacks(self):
        with open(self.path("in.folded"), "w") as file:
            file.write('main;a;b 3\nmain;a 2\nmain;"quoted" <é> 5\n')
        ours, theirs = self.check(self.path("in.folded"))
        self.assertEqual(theirs["profiles"][0]["total"], 10)
        frames = {frame["name"]: frame for frame in theirs["profiles"][0]["frames"]}
        self.assertEqual((frames["a"]["total"], frames["a"]["self"]), (5, 2))
        self.assertIn('"quoted" <é>', frames)
        self.assertTrue(any("verdict:" in comment for comment in ours["tephra"]["comments"]))

    def test_a_recording_in_the_order_of_time(self):
        self.tephra("record", "-o", self.path("perf.data"), "-g", "-F", "500", "--", support.program("spin"), "300")
        ours, theirs = self.check(self.path("perf.data"))
        script = self.tephra("script", "-i", self.path("perf.data"), "--own", "--idle").stdout
        samples = [line for line in script.splitlines() if line and not line[0].isspace()]
        self.assertEqual(sum(len(each["samples"]) for each in ours["profiles"]), len(samples))
        # Neighbours with the same stack are one call to speedscope: its stacks in time are ours, joined.
        names = [frame["name"] for frame in ours["shared"]["frames"]]
        for written, seen in zip(ours["profiles"], theirs["profiles"]):
            joined = []
            for stack, weight in zip(written["samples"], written["weights"]):
                stack = [names[frame] for frame in stack]
                if joined and joined[-1][0] == stack:
                    joined[-1][1] += weight
                elif stack and weight:
                    joined.append([stack, weight])
            self.assertEqual([[each["stack"], each["weight"]] for each in seen["stacks"]], joined)

    def test_public_recordings(self):
        files = glob.glob(os.path.join(support.FIXTURES, "perf-data", "*", "*.data"))
        if not files:
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        checked = 0
        for path in sorted(files)[:12]:
            with self.subTest(path):
                # Some are damaged on purpose.
                if support.run([support.TEPHRA, "convert", "-q", path, "--to", "folded", "-o", os.devnull]).returncode:
                    continue
                self.check(path)
                checked += 1
        self.assertGreater(checked, 3)


class ReadLikeSpeedscopeTest(WithSpeedscope):
    """Both read a file that neither wrote, and see the same."""

    def weights(self, imported):
        """Seconds by stack."""
        scale = {"nanoseconds": 1e-9, "microseconds": 1e-6, "milliseconds": 1e-3, "seconds": 1, "none": 1, "bytes": 1}
        return by_stack((tuple(each["stack"]), each["weight"] * scale[profile["unit"]])
                        for profile in imported["profiles"] for each in profile["stacks"])

    def check_same(self, path, rename=lambda name: name):
        theirs = by_stack((tuple(map(rename, stack)), weight)
                          for stack, weight in self.weights(self.imported(path)).items())
        _, seen = self.written(path)
        ours = self.weights(seen)
        self.assertEqual(set(theirs), set(ours))
        for stack, weight in theirs.items():
            self.assertAlmostEqual(ours[stack], weight, places=5, msg=str(stack))

    def test_its_own_files(self):
        folder = os.path.join(support.FIXTURES, "speedscope", "jlfwong-speedscope")
        if not os.path.isdir(folder):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")
        for name in ("0.0.1/simple.speedscope.json", "0.1.2/simple-sampled.speedscope.json",
                     "0.6.0/two-sampled.speedscope.json"):
            with self.subTest(name):
                self.check_same(os.path.join(folder, name))
        invalid = os.path.join(folder, "invalid", "out-of-order-events.json")
        self.assertIn("Tried to leave frame", self.imported(invalid, status=1))
        self.assertIn("out of order", self.tephra("convert", invalid, "--to", "folded", status=1).stderr)

    def test_cpu_profile_of_node(self):
        with open(self.path("busy.js"), "w") as file:
            file.write(SCRIPT)
        done = support.run(["node", "--cpu-prof", "--cpu-prof-name=node.cpuprofile", "busy.js"], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("node.cpuprofile")) as file:
            profile = json.load(file)
        folded = self.folded(self.path("node.cpuprofile"))
        self.assertEqual(sum(folded.values()), len(profile["samples"]))
        leaves = collections.Counter()
        nodes = {node["id"]: node["callFrame"]["functionName"] or "(anonymous)" for node in profile["nodes"]}
        for sample in profile["samples"]:
            leaves[nodes[sample]] += 1
        ours = collections.Counter()
        for stack, count in folded.items():
            ours[stack.split(";")[-1]] += count
        self.assertGreater(leaves["inner"], 10)
        self.assertEqual(ours["inner"], leaves["inner"])
        self.assertEqual(ours["outer"], leaves["outer"])
        # The time of a sample is that up to the next, or the end.
        now, times = profile["startTime"], []
        for delta, sample in zip(profile["timeDeltas"], profile["samples"]):
            now += delta
            times.append((now, sample))
        times.sort(key=lambda each: each[0])
        expected = collections.Counter()
        for (time, sample), (after, _) in zip(times, times[1:] + [(max(profile["endTime"], times[-1][0]), 0)]):
            expected[nodes[sample]] += after - time
        _, seen = self.written(self.path("node.cpuprofile"))
        own = collections.Counter()
        for frame in (frame for each in seen["profiles"] for frame in each["frames"]):
            own[frame["name"]] += frame["self"] / 1e3
        self.assertEqual(own["inner"], expected["inner"])
        self.assertEqual(own["(program)"], expected["(program)"])

    def test_trace_of_node(self):
        with open(self.path("busy.js"), "w") as file:
            file.write(SCRIPT)
        done = support.run(["node", "--trace-event-categories", "v8,node", "--trace-event-file-pattern",
                            "trace.json", "busy.js"], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        # speedscope adds the arguments of an event to its name.
        self.check_same(self.path("trace.json"), lambda name: name.split(" {")[0])


if __name__ == "__main__":
    unittest.main()
