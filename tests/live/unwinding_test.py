"""Copies of stacks, unwound: against libunwind and perf on the same recordings, and against what programs are known to do."""

import json
import os
import re
import shutil
import unittest

from support import FIXTURES, LiveTest, program, run
from unwinding_programs import VARIANTS, UnwindingPrograms

# A period below the slices of time that a busy machine gives: the clock begins anew with each.
CLOCK = ["-e", "cpu-clock", "-c", "250000"]
PERF = ["perf", "record", "-q", "-N", "-m", "4M", *CLOCK]


LATE = """
#include <time.h>
#define FILL(n) __attribute__((noinline, used)) int fill##n(int x) { for (int i = 0; i < x; i++) x ^= x * 7 + n; return x; }
#define TEN(n) FILL(n##0) FILL(n##1) FILL(n##2) FILL(n##3) FILL(n##4) FILL(n##5) FILL(n##6) FILL(n##7) FILL(n##8) FILL(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9) TEN(10) TEN(11) TEN(12) TEN(13) TEN(14) TEN(15) TEN(16) TEN(17)
TEN(18) TEN(19) TEN(20) TEN(21) TEN(22) TEN(23) TEN(24) TEN(25) TEN(26) TEN(27) TEN(28) TEN(29) TEN(30)
__attribute__((noinline)) long leaf(long n) { long s = 0; for (volatile long i = 0; i < n; i++) s += i; return s; }
__attribute__((noinline)) long middle(long n) { return leaf(n) + 1; }
__attribute__((noinline)) long outer(long n) { return middle(n) * 2; }
int main(void) { long s = 0; for (time_t end = time(0) + 2; time(0) < end;) s += outer(100000); return s == 3; }
"""


class Unwinding(UnwindingPrograms):
    def setUp(self):
        super().setUp()
        self.need_perf()

    def recorded(self, *command, size=16384):
        data = self.path("perf.data")
        done = run([*PERF, "--call-graph", f"dwarf,{size}", "-o", data, *command])
        self.assertEqual(done.returncode, 0, done.stderr)
        return data

    def verdict(self, data, **settings):
        result = self.tephra("report", "--json", "-q", "-i", data, **settings)
        return json.loads(result.stdout)["verdict"]

    def compare_with_libunwind(self, data):
        """Of the stacks that ours says are whole, how many are the same and how many part."""
        tables, text = self.compared(data)
        self.assertIn("outermost", tables["libunwind"], text)
        return *tables["libunwind"]["outermost"], text

    def assert_whole(self, data, least=0.99):
        verdict = self.verdict(data)
        self.assertEqual(verdict["engine"], "stack copies")
        self.assertGreater(verdict["samples"], 20)
        self.assertGreaterEqual(verdict["stacks_rooted"], least, verdict)
        self.assertNotIn("leaf_without_frame", verdict["reasons"])
        self.assertNotIn("stack_copy_not_unwound", verdict["reasons"])
        # What is not whole is counted by reason, and by module.
        cut = round(verdict["samples"] * (1 - verdict["stacks_rooted"]))
        self.assertEqual(sum(end["samples"] for end in verdict["stack_ends"]), cut, verdict)

    def assert_agrees(self, data):
        same, longer, shorter, other, text = self.compare_with_libunwind(data)
        self.assertGreater(same, 20, text)
        self.assertLessEqual(other + shorter, (same + longer) * 0.01, text)

    def stacks_through(self, data, *functions):
        """How many samples have these functions one below the other, and how many have the last one at all."""
        found = having = 0
        wanted = ";".join(functions)
        for stack, count in self.folded("--no-inline", "-i", data).items():
            if functions[-1] in stack.split(";"):
                having += count
                found += count if wanted in stack else 0
        return found, having

    def test_every_shape_in_every_build(self):
        for name, words in VARIANTS.items():
            with self.subTest(variant=name):
                path = self.compiled(name, *words)
                data = self.recorded(path, "all", "0.8", *([] if "static" in name else [self.plugin()]))
                self.assert_whole(data)
                self.assert_agrees(data)

    def test_as_perf_unwinds(self):
        """Address by address; perf prints callers one byte back. Where a system call makes a thread or returns from a
        signal, perf takes the wrong row and ends there, or adds an address of nothing: such stacks may differ behind."""
        data = self.recorded(self.compiled("gcc", "g++"), "all", "0.8", self.plugin())
        theirs = self.chains(run(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", data]).stdout)
        ours = self.chains(self.tephra("script", "-q", "--no-inline", "-F", "ip", "-i", data).stdout)
        self.assertEqual(len(ours), len(theirs))
        perf_lost = 0
        different = []
        for own, other in zip(ours, theirs):
            together = list(zip(own, other))
            if len(own) != len(other) and together[-1][1][1] in ("clone3", "__restore_rt"):
                perf_lost += 1
            elif len(own) != len(other) or any(mine - his not in (0, 1) for (mine, _), (his, _) in together):
                different.append((own, other))
        self.assertLessEqual(len(different), 0.005 * len(ours), different[:3])
        self.assertLess(perf_lost, 0.1 * len(ours))

    @staticmethod
    def chains(text):
        """The (address, symbol) of each frame of each sample."""
        chains = [[]]
        for line in text.splitlines():
            address, _, symbol = line.strip().partition(" ")
            if address:
                chains[-1].append((int(address, 16), symbol.strip()))
            elif chains[-1]:
                chains.append([])
        return [chain for chain in chains if chain]

    def test_callers_that_are_known(self):
        path = self.compiled("gcc", "g++")
        for shape, functions in {
            "recursion": ["recurse"] * 31 + ["burn"],
            "exceptions": ["catches", "burn"],
            "tail": ["before_tail_call", "tail_called", "burn"],
            "alloca": ["with_alloca", "burn"],
            "realigned": ["realigned", "burn"],
        }.items():
            with self.subTest(shape=shape):
                data = self.recorded(path, shape, "0.3")
                found, having = self.stacks_through(data, *functions)
                # Exceptions burn in two places, and run destructors while they pass.
                least = 0.2 if shape == "exceptions" else 0.98
                self.assertGreater(having, 20)
                self.assertGreaterEqual(found, least * having)

    def test_the_caller_of_memcpy_is_there(self):
        data = self.recorded(self.compiled("gcc", "g++"), "memcpy", "0.3")
        stacks = self.folded("--no-inline", "-i", data)
        copying = {stack: n for stack, n in stacks.items() if re.search(r"mem(cpy|move)[^;]*$", stack)}
        self.assertGreater(sum(copying.values()), 20, stacks)
        direct = sum(n for stack, n in copying.items() if re.search(r";copies;[^;]*mem(cpy|move)[^;]*$", stack))
        self.assertEqual(direct, sum(copying.values()), copying)

    def test_through_signal_handlers(self):
        data = self.recorded(self.compiled("gcc", "g++"), "signals", "0.5")
        stacks = self.folded("--no-inline", "-i", data)
        handled = {stack: n for stack, n in stacks.items() if ";handles" in stack}
        self.assertGreater(sum(handled.values()), 20, stacks)
        through = sum(n for stack, n in handled.items() if re.search(r";main;.*;__restore_rt;handles(;|$)", stack))
        self.assertGreaterEqual(through, 0.95 * sum(handled.values()), handled)

    def test_a_copy_that_is_too_small_says_so(self):
        data = self.recorded(self.compiled("gcc", "g++"), "recursion", "0.3", size=1024)
        verdict = self.verdict(data)
        self.assertLess(verdict["stacks_rooted"], 0.5)
        self.assertGreater(verdict["reasons"]["stack_copy_too_short"], 20)
        self.assertEqual(verdict["stack_ends"][0]["reason"], "stack_copy_too_short")
        self.assertEqual(verdict["stack_ends"][0]["module"], "gcc")
        self.assertIn("record larger ones", verdict["advice"][0]["fix"])

    def test_a_file_that_is_gone_says_so(self):
        path = self.path("gone")
        shutil.copy(self.compiled("gcc", "g++"), path)
        data = self.recorded(path, "recursion", "0.3")
        os.unlink(path)
        # Its table may be in the cache, by its build id, and would serve.
        verdict = self.verdict(data, env=dict(os.environ, TEPHRA_NO_CACHE="1"))
        self.assertGreater(verdict["reasons"].get("walk_no_file", 0), 20, verdict)
        self.assertIn("gone", {end["module"] for end in verdict["stack_ends"]})

    def test_a_debug_file_that_is_installed_later_is_used(self):
        """Rows of a stripped program whose call frames are in its debug file alone."""
        program, debug = self.path("late"), self.path("late.debug")
        done = run(["gcc", "-g", "-O1", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-Wl,--build-id", "-o",
                    program, "-x", "c", "-"], input=LATE)
        self.assertEqual(done.returncode, 0, done.stderr)
        data = self.recorded(program)
        run(["objcopy", "--only-keep-debug", program, debug])
        run(["strip", program])
        build_id = re.search(r"Build ID: (\w+)", run(["readelf", "-n", program]).stdout)[1]
        installed = self.path(f"root/.build-id/{build_id[:2]}/{build_id[2:]}.debug")
        env = {**os.environ, "XDG_CACHE_HOME": self.path("cache")}
        self.assertNotIn("main;outer;middle;leaf", self.tephra("fold", "-q", data, env=env).stdout)
        os.makedirs(os.path.dirname(installed))
        os.rename(debug, installed)
        folded = self.tephra("fold", "-q", "--debug-root", self.path("root"), data, env=env).stdout
        self.assertIn("main;outer;middle;leaf", folded)

    def test_our_own_recordings(self):
        data = self.path("own.data")
        self.tephra("record", "-q", *CLOCK, "--call-graph", "dwarf,16384", "-o", data,
                    self.compiled("clang", "clang++-14"), "all", "0.6")
        self.assert_whole(data)
        self.assert_agrees(data)

    def test_python(self):
        data = self.recorded(*self.python(), size=32768)
        self.assert_whole(data)
        self.assert_agrees(data)

    def test_node(self):
        self.assert_whole(self.recorded(*self.node(), size=32768))

    def test_java(self):
        self.assert_whole(self.recorded(*self.java(), size=32768))


class BranchRecords(LiveTest):
    """Recordings with the processor's record of calls, made on machines that have one."""

    def setUp(self):
        super().setUp()
        self.need_perf()
        self.data = os.path.join(FIXTURES, "perf-data", "KDAB-perfparser", "vector_static_gcc", "perf.lbr.data")
        if not os.path.exists(self.data):
            self.skipTest("no fixtures: set TEPHRA_FIXTURES")

    def test_callers_are_those_that_perf_prints(self):
        """perf shows where the innermost function begins in the place of where the sample was; all else is the same."""
        theirs = Unwinding.chains(run(["perf", "script", "--no-inline", "-F", "ip", "-i", self.data]).stdout)
        ours = Unwinding.chains(self.tephra("script", "-q", "--no-inline", "-F", "ip", "-i", self.data).stdout)
        self.assertEqual(len(ours), len(theirs))
        in_user = 0
        for our, their in zip(ours, theirs):
            our_user = [a for a, _ in our if a >> 47 == 0]
            their_user = [a for a, _ in their if a >> 47 == 0]
            self.assertEqual([a for a, _ in our if a >> 47], [a for a, _ in their if a >> 47][:len(our) - len(our_user)])
            if len(their_user) > 1:
                in_user += 1
                self.assertEqual(our_user[1:len(their_user)], their_user[1:])
        self.assertGreater(in_user, 5)


if __name__ == "__main__":
    unittest.main()
