"""Names of generated code: real Node, Java and Python processes, and a program that uses one address twice.

Python's trampolines need a Python of 3.12 or later. The one that TEPHRA_TEST_PYTHON names is taken, else a python3.N on
the PATH; without one the tests are skipped.
"""

import glob
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import time
import unittest

from support import TEPHRA, LiveTest, program, run

MADE = program("generated_code")
FRAMELESS = program("frameless_code")

NODE_SCRIPT = """
const fs = require('fs');
function spinInScript(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * i % 7; return s; }
function askTheKernel(n) { for (let i = 0; i < n; i++) fs.statSync('/proc/self/status'); }
const end = Date.now() + Number(process.argv[2]);
let total = 0;
while (Date.now() < end) { total += spinInScript(100000); askTheKernel(500); }
console.log(total);
"""

JAVA_PROGRAM = """
public class Busy {
  static long spinInJava(int n) { long s = 0; for (int i = 0; i < n; i++) s += (i * 31L) % 17; return s; }
  public static void main(String[] words) {
    long end = System.currentTimeMillis() + Long.parseLong(words[0]);
    long total = 0;
    while (System.currentTimeMillis() < end) {
      total += spinInJava(200000);
      for (int i = 0; i < 50; i++) if (new java.io.File("/proc/self/status").exists()) total++;
    }
    System.out.println(total);
  }
}
"""

WHOLE_PYTHON = re.compile(r"Py_RunMain;.*py::<module>:.*py::drive:.*py::spin_in_python:")


def samples_with(counts, *texts):
    return sum(count for stack, count in counts.items() if all(text in stack for text in texts))


class JitTest(LiveTest):
    def remove_maps(self, data):
        """Those of the processes that were recorded, and of nobody else."""
        pids = {re.search(r"-(\d+)(;|$)", stack)[1] for stack in self.folded("--pid", data)}
        names = [f"/tmp/{name}" for pid in pids for name in (f"perf-{pid}.map", f"jit-{pid}.dump")]
        for path in names + glob.glob(self.path("*.dump")):
            if os.path.exists(path) and os.stat(path).st_uid == os.geteuid():
                os.unlink(path)

    def record(self, *words, name="out.data"):
        data = self.path(name)
        self.tephra("record", "-q", "-g", "-F", "997", "-o", data, *words)
        self.addCleanup(self.remove_maps, data)
        return data

    def stacks(self, data):
        """Folded stacks, read where none of the files that named the code are left."""
        self.remove_maps(data)
        return self.folded("--kernel", data)

    def append_when_there(self, path, content, size=0):
        for _ in range(1000):
            if os.path.exists(path) and os.path.getsize(path) > size:
                break
            time.sleep(0.01)
        with open(path, "ab") as file:
            file.write(content)

    def need(self, tool):
        if shutil.which(tool) is None:
            self.skipTest(f"{tool} is not installed")


class AddressUsedTwice(JitTest):
    def check(self, mode, doubt):
        counts = self.stacks(self.record("--", MADE, mode, "1500"))
        first, second = samples_with(counts, "run_first"), samples_with(counts, "run_second")
        self.assertGreater(first, 100)
        self.assertGreater(second, 100)
        self.assertEqual(samples_with(counts, "run_first", "second_made"), 0, counts)
        self.assertEqual(samples_with(counts, "run_second", "first_made"), 0, counts)
        self.assertGreater(samples_with(counts, "run_first", "first_made"), 0 if doubt else first * 0.95)
        self.assertGreater(samples_with(counts, "run_second", "second_made"), 0 if doubt else second * 0.95)

    def test_a_perf_map_names_each_by_its_time_and_marks_what_it_cannot_tell(self):
        self.check("map", True)

    def test_a_jitdump_names_every_sample(self):
        self.check("dump", False)

    def test_a_jitdump_is_preferred_to_a_map(self):
        self.check("both", False)

    def test_lines_of_a_jitdump(self):
        data = self.record("--", MADE, "dump", "500")
        self.stacks(data)
        report = self.tephra("report", "-q", "-g", "none", "--sort", "srcline", data).stdout
        self.assertIn("made.src:11", report)
        self.assertIn("made.src:22", report)

    def test_a_recording_of_perf_uses_the_map_that_is_there_and_says_so(self):
        self.need_perf()
        data = self.perf_record("-F", "499", "-g", "--", MADE, "map", "500")
        self.addCleanup(self.remove_maps, data)
        counts = self.folded(data)
        self.assertGreater(samples_with(counts, "second_made"), 50)
        verdict = self.tephra("report", "-v", data).stderr
        self.assertIn("jit_map_unproven", verdict)


class UnwindingInformation(JitTest):
    """Generated code that keeps no frame pointer: only the jitdump tells how to find its callers."""

    def setUp(self):
        super().setUp()
        if platform.machine() != "x86_64":
            self.skipTest("the program generates code of x86-64")

    def record_copies(self, mode, *words):
        data = self.path("copies.data")
        self.tephra("record", "-q", "--call-graph", "dwarf", "-F", "997", *words, "-o", data, "--", FRAMELESS, mode,
                    "700")
        return data

    def assert_whole(self, counts):
        """Also where an address was used twice: the frames of the second made_inner are larger."""
        for caller, other in (("run_first", "run_second"), ("run_second", "run_first")):
            chain = re.compile(rf"main;[^;]*{caller}[^;]*;(?:[^;]*;)*made_outer;made_inner$")
            whole = sum(count for stack, count in counts.items() if chain.search(stack) and other not in stack)
            self.assertGreater(whole, 100, counts)
        made = samples_with(counts, "made_")
        whole = samples_with(counts, ";main;", "made_outer")
        self.assertGreaterEqual(whole, 0.99 * made, counts)

    def no_rule(self, data):
        """In generated code alone: what starts a program has code without rules too (_init, crtstuff)."""
        ends = json.loads(self.tephra("report", "--json", "-q", data).stdout)["verdict"].get("stack_ends", [])
        return sum(end["samples"] for end in ends if (end["module"], end["reason"]) == ("[jit]", "walk_no_rule"))

    def test_stacks_are_whole(self):
        for mode in ("told", "linked"):
            with self.subTest(mode=mode):
                data = self.record_copies(mode)
                self.assert_whole(self.stacks(data))
                self.assertEqual(self.no_rule(data), 0)

    def test_what_the_recording_stores_is_enough(self):
        """Stacks that are walked when the recording is read, and no jitdump is left."""
        self.assert_whole(self.stacks(self.record_copies("told", "--no-embed")))

    def test_without_it_they_are_broken_and_counted(self):
        data = self.record_copies("bare")
        counts = self.stacks(data)
        made = samples_with(counts, "made_inner")
        self.assertGreater(made, 100)
        self.assertLess(samples_with(counts, "made_inner", "main"), 0.05 * made, counts)
        self.assertGreater(self.no_rule(data), 0.9 * made)

    def test_a_recording_of_perf(self):
        self.need_perf()
        data = self.path("perf.data")
        done = run(["perf", "record", "-q", "-N", "-k", "mono", "-F", "499", "--call-graph", "dwarf", "-o", data, "--",
                    FRAMELESS, "told", "700"], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_whole(self.folded("--kernel", data))


class HostileFiles(JitTest):
    """In place of a map there is something else: the recorder neither waits nor fails nor takes it for a map."""

    def spoil(self, make):
        code = ("import mmap,os,sys,time; m=mmap.mmap(-1, 4096, prot=7, flags=mmap.MAP_PRIVATE|mmap.MAP_ANON); "
                "end=time.time()+300\nwhile time.time()<end: pass")
        python = shutil.which("python3")
        process = subprocess.Popen([python, "-c", code])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        path = f"/tmp/perf-{process.pid}.map"
        self.addCleanup(lambda: os.path.isdir(path) and os.rmdir(path))
        self.addCleanup(lambda: os.path.lexists(path) and not os.path.isdir(path) and os.unlink(path))
        make(path)
        data = self.path("out.data")
        self.tephra("record", "-q", "-g", "-o", data, "-p", str(process.pid), "--duration", "1", timeout=120)
        return data

    def test_a_fifo(self):
        self.spoil(os.mkfifo)

    def test_a_device(self):
        self.need_root()
        self.spoil(lambda path: os.mknod(path, 0o20666, os.makedev(1, 5)))

    def test_a_folder(self):
        self.spoil(os.mkdir)

    def test_a_link(self):
        self.spoil(lambda path: os.symlink("/etc/passwd", path))

    def test_a_hundred_gigabytes_of_nothing(self):
        def make(path):
            with open(path, "w") as file:
                file.truncate(100 << 30)
        data = self.spoil(make)
        self.assertLess(os.path.getsize(data), 16 << 20)


class UnfinishedFiles(JitTest):
    """The last line or record of a file is only half there, and stays so."""

    def start(self, mode):
        process = subprocess.Popen([MADE, mode, "60000"], cwd=self.folder)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_half_a_line(self):
        process = self.start("map")
        self.append_when_there(f"/tmp/perf-{process.pid}.map", b"1000 10 unfinis")
        data = self.record("-p", str(process.pid), "--duration", "1")
        counts = self.stacks(data)
        self.assertGreater(samples_with(counts, "first_made"), 10)
        self.assertEqual(samples_with(counts, "unfinis"), 0)

    def test_half_a_record(self):
        process = self.start("dump")
        # A load of 4096 bytes, of which there are 32.
        self.append_when_there(self.path(f"jit-{process.pid}.dump"), struct.pack("<IIQQQ", 0, 4096, 0, 0, 0),
                               size=40)
        data = self.record("-p", str(process.pid), "--duration", "1")
        self.assertGreater(samples_with(self.stacks(data), "first_made"), 10)


class LongMaps(JitTest):
    def test_a_map_that_is_written_when_all_is_over(self):
        """What ran is named in the last line of a map that is longer than what is read at once."""
        data = self.record("--", MADE, "late", "1000")
        self.assertGreater(samples_with(self.stacks(data), "run_first", "first_made"), 10)
        self.assertNotIn("jit_names_left_out", self.tephra("report", "-v", data).stderr)

    def test_what_is_too_long_is_told(self):
        process = subprocess.Popen([MADE, "map", "60000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        path = f"/tmp/perf-{process.pid}.map"
        self.append_when_there(path, b"1000 10 ")
        os.truncate(path, 300 << 20)
        data = self.path("out.data")
        done = self.tephra("record", "-g", "-F", "997", "-o", data, "-p", str(process.pid), "--duration", "1")
        self.assertIn(f"{path} of process {process.pid} was not read to its end", done.stderr)
        self.assertGreater(samples_with(self.stacks(data), "first_made"), 10)
        self.assertRegex(self.tephra("report", "-v", data).stderr, r"jit_names_left_out\b")


class Node(JitTest):
    def script(self):
        self.need("node")
        path = self.path("busy.js")
        with open(path, "w") as file:
            file.write(NODE_SCRIPT)
        return path

    def check(self, data):
        counts = self.stacks(data)
        self.assertGreater(samples_with(counts, "spinInScript"), 50)
        mixed = samples_with(counts, "node::Start", "askTheKernel", "_[k]")
        self.assertGreater(mixed, 0, "native, generated and kernel frames in one stack")
        verdict = self.tephra("report", "-v", data).stderr
        self.assertNotIn("jit_map_unproven", verdict)

    def test_a_perf_map(self):
        self.check(self.record("--", "node", "--perf-basic-prof", "--interpreted-frames-native-stack", self.script(),
                               "1500"))

    def test_a_program_that_ends_at_once(self):
        data = self.record("--", "node", "--perf-basic-prof", "--interpreted-frames-native-stack", self.script(), "100")
        self.assertGreater(samples_with(self.stacks(data), "spinInScript"), 5)

    def test_a_jitdump(self):
        data = self.record("--", "node", "--perf-prof", "--interpreted-frames-native-stack", self.script(), "1500")
        self.check(data)
        report = self.tephra("report", "-q", "-g", "none", "--sort", "srcline", data).stdout
        # V8 gives sound lines for few functions; what is shown has to be right.
        self.assertNotIn("\\x", report)
        lines = {int(line) for line in re.findall(r"busy\.js:(\d+)", report)}
        self.assertLessEqual(lines, set(range(1, 8)))


class Java(JitTest):
    def classes(self):
        self.need("java")
        self.need("javac")
        with open(self.path("Busy.java"), "w") as file:
            file.write(JAVA_PROGRAM)
        done = run(["javac", self.path("Busy.java")])
        if done.returncode != 0:
            self.skipTest("javac does not work: " + done.stderr[-200:])
        version = run(["java", "-version"]).stderr
        if int(re.search(r'version "(\d+)', version)[1]) < 17:
            self.skipTest("Compiler.perfmap needs Java 17: " + version.splitlines()[0])

    def java(self, *words, milliseconds):
        keep = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Busy.spinInJava"]
        return ["java", "-XX:+PreserveFramePointer", *keep, *words, "-cp", self.folder, "Busy", str(milliseconds)]

    def start(self, *words, **settings):
        process = subprocess.Popen(self.java(*words, milliseconds=60000), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, **settings)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        time.sleep(1.5)
        return process

    def test_a_program_of_ours(self):
        self.classes()
        data = self.record("--", *self.java(milliseconds=4000))
        counts = self.stacks(data)
        self.assertGreater(samples_with(counts, "JavaMain", "Busy.spinInJava"), 100)
        self.assertGreater(samples_with(counts, "Interpreter", "_[k]"), 0, "native, generated and kernel in one stack")

    def test_a_process_that_runs(self):
        self.classes()
        process = self.start()
        counts = self.stacks(self.record("-p", str(process.pid), "--duration", "2"))
        self.assertGreater(samples_with(counts, "Busy.spinInJava"), 100)

    def test_a_process_of_another_user(self):
        self.need_root()
        self.classes()
        os.chmod(self.folder, 0o755)
        process = self.start(user=65534, group=65534, extra_groups=[], cwd="/")
        data = self.record("-p", str(process.pid), "--duration", "2")
        path = f"/tmp/perf-{process.pid}.map"
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        self.assertEqual(os.stat(path).st_uid, 65534)
        self.assertFalse(os.path.exists(f"/tmp/.attach_pid{process.pid}"))
        self.assertGreater(samples_with(self.folded(data), "Busy.spinInJava"), 10)

    def test_perf_shows_the_names_in_walked_stacks(self):
        """perf finds the map that the machine was let write, and the walked stack as it would its own."""
        self.need_perf()
        self.classes()
        data = self.path("walked.data")
        words = ["record", "-q", "--call-graph", "bpf", "-F", "499", "-o", data]
        probe = run([TEPHRA, *words, "true"])
        if probe.returncode != 0:
            self.skipTest("stacks cannot be walked in the kernel here: " + probe.stderr.strip())
        self.tephra(*words, "--", *self.java(milliseconds=4000))
        self.addCleanup(self.remove_maps, data)
        shown = run(["perf", "script", "-i", data])
        self.assertEqual(shown.returncode, 0, shown.stderr)
        stacks = [stack for stack in shown.stdout.split("\n\n") if "Busy.spinInJava" in stack]
        self.assertGreater(len(stacks), 10)
        self.assertGreater(sum("JavaMain" in stack for stack in stacks), 0.9 * len(stacks))

    def test_not_asked_when_told_not_to(self):
        self.classes()
        process = self.start()
        data = self.record("--no-java-perfmap", "-p", str(process.pid), "--duration", "1")
        self.assertFalse(os.path.exists(f"/tmp/perf-{process.pid}.map"))
        self.assertEqual(samples_with(self.stacks(data), "spinInJava"), 0)

    def test_a_machine_that_does_not_want_to_be_attached_to_is_left_alone(self):
        self.classes()
        for words in (["-XX:+DisableAttachMechanism"], ["-Xrs", "-XX:+DisableAttachMechanism"], ["-XX:-UsePerfData"]):
            process = self.start(*words)
            self.record("-p", str(process.pid), "--duration", "1.5")
            self.assertIsNone(process.poll(), words)
            process.kill()
            output = process.stdout.read()
            self.assertNotIn("Full thread dump", output, words)


class Python(JitTest):
    def interpreter(self, oldest):
        found = [os.environ.get("TEPHRA_TEST_PYTHON")]
        found += [shutil.which(f"python3.{minor}") for minor in range(oldest, 20)]
        for path in filter(None, found):
            version = run([path, "-c", "import sys; print(sys.version_info[1])"])
            if version.returncode == 0 and int(version.stdout) >= oldest:
                return path
        return self.skipTest(f"no Python of 3.{oldest} or later")

    def busy(self):
        script = self.path("busy.py")
        with open(script, "w") as file:
            file.write("import time\ndef spin_in_python():\n  return sum(i * i for i in range(20000))\n"
                       "def drive():\n  end = time.time() + 1.5\n  while time.time() < end: spin_in_python()\ndrive()\n")
        return script

    def test_trampolines(self):
        python = self.interpreter(12)
        counts = self.stacks(self.record("--", python, "-X", "perf", self.busy()))
        if samples_with(counts, "_PyEval_EvalFrameDefault;_PyEval") == 0 and samples_with(counts, "py::") == 0:
            self.skipTest("this Python keeps no frame pointers, so no stack reaches a trampoline")
        self.assertGreater(samples_with(counts, "py::spin_in_python"), 0)

    def check_whole(self, python, how):
        """Native and Python frames in one stack, from the first function of the program on, frame pointers or not."""
        data = self.path("walked.data")
        words = ["record", "-q", "--call-graph", "bpf", "-F", "499", "-o", data]
        probe = run([TEPHRA, *words, "true"])
        if probe.returncode != 0:
            self.skipTest("stacks cannot be walked in the kernel here: " + probe.stderr.strip())
        self.tephra(*words, "--", python, "-X", how, self.busy())
        # What is sampled before the walker knows of a piece of memory goes without its rows.
        self.assert_whole(data, 0.7)

    def assert_whole(self, data, least):
        counts = self.stacks(data)
        spinning = samples_with(counts, "py::spin_in_python:")
        whole = sum(count for stack, count in counts.items() if WHOLE_PYTHON.search(stack))
        self.assertGreater(spinning, 10)
        self.assertGreater(whole, spinning * least)

    def test_whole_stacks_through_trampolines(self):
        self.check_whole(self.interpreter(12), "perf")

    def test_whole_stacks_with_a_jitdump(self):
        self.check_whole(self.interpreter(13), "perf_jit")

    def test_whole_copies_of_stacks_with_a_jitdump(self):
        """Its unwinding information describes the trampolines, which keep no frame pointer."""
        python = self.interpreter(13)
        data = self.path("copies.data")
        self.tephra("record", "-q", "--call-graph", "dwarf,32768", "-F", "299", "-o", data, "--", python, "-X",
                    "perf_jit", self.busy())
        self.assert_whole(data, 0.99)


if __name__ == "__main__":
    unittest.main()
