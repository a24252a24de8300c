"""Programs whose stacks are hard to walk, in every way of building them, and the comparison of those who walk them."""

import os
import re
import shutil
import tempfile

from support import PROGRAMS, ROOT, LiveTest, run

SOURCE = os.path.join(ROOT, "tests", "programs", "unwinding.cpp")
COMPARE = os.path.join(PROGRAMS, "compare_unwinders")
FLAGS = ["-std=c++20", "-O2", "-g", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-w"]
VARIANTS = {
    "gcc": ["g++"],
    "gcc_no_pie": ["g++", "-no-pie"],
    "gcc_static": ["g++", "-static", "-Wl,--eh-frame-hdr"],  # libunwind needs the table
    "clang": ["clang++-14"],
    "clang_O3_static_pie": ["clang++-14", "-O3", "-static-pie"],
}
TABLE = re.compile(r"^(libunwind|in kernel)\s+our end")
ROW = re.compile(r"^\s+(outermost|[a-z0-9 ]+?)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)$")

PYTHON = ("import json, re, time\ndef f(n): return n if n < 2 else f(n - 1) + f(n - 2)\n"
          "while time.process_time() < 0.6: f(12); re.sub('[ab]+c', 'x', 'abc' * 200); json.dumps([1] * 500)")
NODE = "function f(n){return n<2?n:f(n-1)+f(n-2)};let s=0;while(process.cpuUsage().user<0.8e6)s+=f(20);"
JAVA = """class Work { static int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }
public static void main(String[] a) { long e = System.currentTimeMillis() + 2000; int s = 0;
while (System.currentTimeMillis() < e) s += f(25); System.exit(s == 1 ? 1 : 0); } }
"""


class UnwindingPrograms(LiveTest):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.mkdtemp(prefix="tephra-unwinding-")
        cls.addClassCleanup(shutil.rmtree, cls.built, ignore_errors=True)

    def compiled(self, name, *words):
        """A program or library of the source; skips where the compiler is absent."""
        path = os.path.join(self.built, name)
        if not os.path.exists(path):
            if shutil.which(words[0]) is None:
                self.skipTest(f"{words[0]} is not installed")
            done = run([words[0], *FLAGS, *words[1:], "-o", path, SOURCE, "-ldl", "-lpthread"])
            self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def plugin(self):
        return self.compiled("plugin.so", "g++", "-DPLUGIN", "-shared", "-fPIC")

    def python(self):
        return [shutil.which("python3"), "-c", PYTHON]

    def node(self):
        if shutil.which("node") is None:
            self.skipTest("node is not installed")
        return ["node", "--interpreted-frames-native-stack", "-e", NODE]

    def java(self):
        if shutil.which("java") is None:
            self.skipTest("java is not installed")
        with open(self.path("Work.java"), "w") as file:
            file.write(JAVA)
        return ["java", "-XX:+PreserveFramePointer", self.path("Work.java")]

    def compared(self, data):
        """By peer ("libunwind", "in kernel") and how the walk ended: how many are the same, longer, shorter, others."""
        if not os.path.exists(COMPARE):
            self.skipTest("compare_unwinders was not built: libunwind-dev is not installed")
        text = run([COMPARE, "-v", "3", data]).stdout
        tables = {}
        for line in text.splitlines():
            if TABLE.match(line):
                rows = tables[TABLE.match(line)[1]] = {}
            elif ROW.match(line):
                rows[ROW.match(line)[1].strip()] = [int(number) for number in ROW.match(line).groups()[1:]]
        self.assertIn("libunwind", tables, text)
        return tables, text
