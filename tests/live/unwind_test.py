"""Live tests of stacks that are walked in the kernel by call-frame tables (--call-graph bpf and auto)."""

import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from recording import SUMMARY, RecordTest
from support import TEPHRA, parse_folded, program, run
from walks import Walks

CASES = program("unwind_cases")
RATE = ("-e", "cpu-clock", "-F", "997")
# For so long unwind_cases does nothing at first.
WAIT_S = float(os.environ.get("UNWIND_CASES_WAIT_MS", "0")) / 1000

# Code without call-frame information that is called with a value for the frame pointer: 0, or where data lies.
BARE = """
#include <cstdlib>
#include <ctime>
extern "C" void bare_leaf(long rounds, void* frame_pointer);
asm(R"(
.text
.skip 64, 0x90
.globl bare_leaf
.type bare_leaf, @function
bare_leaf: push %rbp
 mov %rsi, %rbp
1: dec %rdi
 jnz 1b
 pop %rbp
 ret
.size bare_leaf, . - bare_leaf
.skip 64, 0x90
)");
__attribute__((noinline)) void middle(bool data) {
  volatile long words[4] = {0x1111, 0xdeadbeef00, 1, 2};
  bare_leaf(30000000, data ? (void*)words : nullptr);
}
int main(int, char** words) {
  for (const time_t end = time(nullptr) + 2; time(nullptr) < end;) middle(atoi(words[1]) != 0);
}
"""
# The first thread ends at once, or waits; another one works.
LEADER = """
#include <pthread.h>
#include <cstdlib>
#include <ctime>
#include <unistd.h>
extern "C" __attribute__((noinline)) void leaf(long n) { for (volatile long i = 0; i < n; i = i + 1) {} }
extern "C" __attribute__((noinline)) void middle(long n) { leaf(n); asm volatile(""); }
extern "C" void* body(void* seconds) {
  for (const time_t end = time(nullptr) + (long)seconds; time(nullptr) < end;) middle(3000000);
  _exit(0);
}
int main(int, char** words) {
  pthread_t thread;
  pthread_create(&thread, nullptr, body, (void*)atol(words[1]));
  pthread_exit(nullptr);
}
"""
# Calls through a copy of one of CPython's trampolines, in memory without a file.
TRAMPOLINE = """
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
static const unsigned char by_stack[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3};
static const unsigned char by_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3};
using Work = void (*)(long);
using Trampoline = void (*)(long, long, long, Work);
extern "C" __attribute__((noinline)) void work(long n) { for (volatile long i = 0; i < n; i = i + 1) {} }
static Trampoline trampoline;
extern "C" __attribute__((noinline)) void caller() { trampoline(3000000, 0, 0, work); asm volatile(""); }
int main(int, char** words) {
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (atoi(words[1])) memcpy(code, by_pointer, sizeof by_pointer); else memcpy(code, by_stack, sizeof by_stack);
  trampoline = (Trampoline)code;
  for (const time_t end = time(nullptr) + 2; time(nullptr) < end;) caller();
}
"""
# Each signal's handler is interrupted by the next.
NESTED_SIGNALS = """
#include <csignal>
#include <ctime>
#include <unistd.h>
static int left = 900;
static void handler(int) {
  if (--left > 0) asm volatile("ud2");
  for (const time_t end = time(nullptr) + 2; time(nullptr) < end;) for (volatile int i = 0; i < 1000000; i = i + 1) {}
  _exit(0);
}
int main() {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
  raise(SIGILL);
}
"""
# Page faults without end, in the same few pages, on deep stacks, whose records soon fill a ring.
FAULTS = """
import mmap
memory = mmap.mmap(-1, 16 << 20)
def deep(left):
    if left: return next(map(deep, [left - 1]))
    while True:
        for at in range(0, len(memory), 4096): memory[at] = 1
        memory.madvise(mmap.MADV_DONTNEED)
deep(60)
"""
# Maps a file as code, and cuts it a little later, again and again.
CUTTER = """
import mmap, os, shutil, sys, time
source, path = sys.argv[1:]
for round in range(12):
    shutil.copy(source, path)
    with open(path, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
        end = time.monotonic() + 0.005 * round
        while time.monotonic() < end: pass
        os.ftruncate(file.fileno(), 4096)
        end = time.monotonic() + 0.05
        while time.monotonic() < end: pass
    os.remove(path)
"""


def bpf_works():
    probe = run([TEPHRA, "record", "-q", "--call-graph", "bpf", "-e", "cpu-clock", "-o", "/dev/null", "true"])
    why_not = "" if probe.returncode == 0 else probe.stderr.strip()
    if why_not and os.environ.get("TEPHRA_TEST_BPF_LOADS"):
        raise AssertionError("programs must load here: " + why_not)
    return why_not


class UnwindTest(RecordTest):
    @classmethod
    def setUpClass(cls):
        why_not = bpf_works()
        if why_not:
            raise unittest.SkipTest("stacks cannot be walked in the kernel here: " + why_not)

    def walk(self, *words, rate=RATE, **settings):
        samples, lost, _ = self.record("--call-graph", "bpf", *rate, *words, **settings)
        self.assertEqual(lost, 0)
        walks = Walks(self.data)
        self.assertEqual(len(walks.all), samples, "the summary and the file agree")
        return walks

    def assert_complete(self, walks, least=0.99, enough=100):
        self.assertGreater(len(walks.walked), enough, walks)
        self.assertGreaterEqual(walks.complete(), least, walks)

    def folded(self, *words):
        result = run([TEPHRA, "fold", "-q", *words, self.data])
        self.assertEqual(result.returncode, 0, result.stderr)
        return parse_folded(result.stdout)

    def assert_all_through(self, function, least=0.99):
        """Of the samples of the program's own code, those whose stack leads through a function."""
        stacks = {stack: count for stack, count in self.folded().items() if "time_left" not in stack}
        through = sum(count for stack, count in stacks.items() if function in stack and "main" in stack)
        work = sum(count for stack, count in stacks.items() if ";work" in stack or function in stack)
        self.assertGreater(work, 50, stacks)
        self.assertGreaterEqual(through / work, least, str(stacks)[-2000:])

    def built(self, name):
        """A variant that tests/programs builds where its compiler is installed."""
        path = program(name)
        if not os.path.exists(path):
            self.skipTest(f"{name} was not built: its compiler is not installed")
        return path


class Cases(UnwindTest):
    """C++ -O2 without frame pointers, each way that makes stacks hard to walk."""

    def check(self, name, binary=CASES, through=None):
        walks = self.walk(binary, name, "800")
        self.assert_complete(walks)
        self.assert_all_through(through or f"case_{name}")

    def test_recursion(self):
        self.check("recursion")
        self.assertGreater(max(stack.count("descend") for stack in self.folded()), 60)

    def test_exceptions(self):
        self.check("exceptions")

    def test_lambdas(self):
        self.check("lambdas")

    def test_tail_calls(self):
        self.check("tail")

    def test_alloca(self):
        self.check("alloca")

    def test_signal_handlers(self):
        self.check("signals")
        handlers = [stack for stack in self.folded() if "on_signal" in stack]
        self.assertTrue(any("case_signals" in stack.split("on_signal")[0] for stack in handlers), handlers)

    def test_threads(self):
        walks = self.walk(CASES, "threads", "800")
        self.assert_complete(walks)
        work = {stack: count for stack, count in self.folded().items() if ";work" in stack}
        through = sum(count for stack, count in work.items() if "thread_body" in stack)
        self.assertGreaterEqual(through / sum(work.values()), 0.99, work)

    def test_vdso(self):
        self.check("vdso")

    def test_linkage_table(self):
        self.check("plt", self.built("unwind_cases_lazy"))
        self.check("plt", self.built("unwind_cases_lazy_ibt"))

    def test_a_frame_pointer_program_in_memcpy_shows_its_real_caller(self):
        self.assert_complete(self.walk(self.built("unwind_cases_frame_pointers"), "memcpy", "600"))
        # A libc without its debug file has no name for what is behind memcpy.
        copying = r"(mem(move|cpy)[^;]*|\[unknown\] libc[^;]*)$"
        stacks = {stack: count for stack, count in self.folded().items() if re.search(copying, stack)}
        right = sum(count for stack, count in stacks.items() if re.search("main;case_memcpy;[^;]*" + copying, stack))
        self.assertGreater(right, 100, stacks)
        self.assertGreaterEqual(right / sum(stacks.values()), 0.99, stacks)

    def test_plugins_that_come_and_go(self):
        plugin = self.built("unwind_plugin.so")
        walks = self.walk(CASES, "plugin", "1200", plugin)
        self.assert_complete(walks)
        stacks = self.folded()
        deep = sum(count for stack, count in stacks.items() if "plugin_deeper" in stack)
        self.assertGreater(deep, 200, stacks)
        self.assertGreaterEqual(sum(count for stack, count in stacks.items() if "plugin_deeper" in stack and
                                    "main;case_plugin" in stack) / deep, 0.99, stacks)

    def other_builds(self, variant):
        binary = self.built(variant)
        for name in ("recursion", "exceptions", "lambdas", "alloca", "signals"):
            with self.subTest(case=name):
                self.check(name, binary)

    def test_static(self):
        self.other_builds("unwind_cases_static")

    def test_not_position_independent(self):
        self.other_builds("unwind_cases_no_pie")

    def test_clang(self):
        self.other_builds("unwind_cases_clang")

    def test_clang_static_pie(self):
        self.other_builds("unwind_cases_clang_static_pie")


class Programs(UnwindTest):
    """Programs as a distribution ships them."""

    def test_python(self):
        code = ("import json\ndef deep(n):\n return deep(n - 1) if n else json.dumps(list(range(3000)))\n"
                "for i in range(1500): deep(20)")
        self.assert_complete(self.walk(sys.executable, "-c", code))

    def test_clang_compiling_a_large_file(self):
        if shutil.which("clang++") is None:
            self.skipTest("clang++ is not installed")
        source = os.path.join(self.folder, "large.cpp")
        with open(source, "w") as file:
            file.write("#include <algorithm>\n#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n")
            for i in range(60):
                file.write(f"int f{i}(std::map<int, std::string>& m) {{ std::regex r(\"a{i}[b-d]+\"); int n = 0;\n"
                           f" for (auto& [k, v] : m) n += std::regex_search(v, r) + k * {i}; std::vector<int> s{{n, {i}}};\n"
                           " std::sort(s.begin(), s.end(), [](int a, int b) { return a % 7 < b % 7; }); return s[0]; }\n")
        walks = self.walk("clang++", "-O2", "-c", source, "-o", "/dev/null", timeout=300)
        self.assert_complete(walks, least=0.995, enough=1000)
        # Tables of a compiler take a moment; what was sampled meanwhile was copied.
        self.assertLess(len(walks.copied), len(walks.all) / 5, walks)


class Processes(UnwindTest):
    def test_nothing_is_lost_at_the_start(self):
        # A fixed number of page faults, each of them sampled, in processes that nobody knew.
        words = ("-e", "page-faults:u", "-c", "1", program("touch_pages"), "20000")
        samples, lost, _ = self.record("--call-graph", "bpf", *words)
        plain, _, _ = self.record(*words)
        self.assertEqual(lost, 0)
        self.assertGreaterEqual(samples, 20000)
        self.assertLess(abs(samples - plain), 50)

    def test_a_program_of_fifty_milliseconds(self):
        walks = self.walk(CASES, "recursion", "50", rate=("-e", "cpu-clock", "-F", "5000"))
        self.assertGreater(len(walks.all), 100, walks)
        if walks.walked:
            self.assertGreaterEqual(walks.complete(), 0.99, walks)

    def test_programs_that_exec(self):
        script = f"{CASES} recursion 300; exec {CASES} alloca 300"
        walks = self.walk("sh", "-c", script)
        self.assert_complete(walks)
        stacks = self.folded()
        for name in ("case_recursion", "case_alloca"):
            self.assertGreater(sum(count for stack, count in stacks.items() if name in stack), 100, stacks)

    def test_a_running_process_is_walked_from_its_first_sample(self):
        process = subprocess.Popen([CASES, "recursion", "600000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3 + WAIT_S)
        walks = self.walk("-p", str(process.pid), "--", "sleep", "0.7")
        self.assert_complete(walks)
        self.assertLess(len(walks.copied), 10, walks)

    def test_the_whole_machine(self):
        self.need_root()
        process = subprocess.Popen([CASES, "lambdas", "600000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(WAIT_S)
        # What else runs here may be more than the machine can copy the stacks of.
        self.record("--call-graph", "bpf", *RATE, "-a", "--", "sleep", "1")
        walks = Walks(self.data)
        of_it = [s for s in walks.walked if s.pid == process.pid]
        self.assertGreater(len(of_it), 100, walks)
        self.assertGreaterEqual(sum(s.walk_end == 1 for s in of_it) / len(of_it), 0.99, walks)

    def test_a_storm_of_forks(self):
        samples, lost, _ = self.record("--call-graph", "bpf", "-e", "cpu-clock", "-F", "3999", program("fork_storm"), "6000")
        self.assertEqual(lost, 0)
        walks = Walks(self.data)
        self.assertEqual(len(walks.all), samples)
        self.assertGreater(len(walks.walked), 0, walks)
        # A child that was just born is walked by what is known of its parent.
        parent = collections.Counter(s.pid for s in walks.all).most_common(1)[0][0]
        children = [s for s in walks.all if s.pid != parent and (s.walk_end != 0 or s.copied)]
        self.assertGreater(len(children), 10, walks)
        self.assertLess(sum(s.walk_end == 0 for s in children) / len(children), 0.1, walks)


# Frames of different sizes at the same addresses.
PLUGIN = """
extern "C" __attribute__((noinline)) unsigned plugin_inner(volatile unsigned* words, unsigned n) {
  unsigned sum = 0;
  while (n--) words[n % WORDS] = sum += n;
  return sum;
}
extern "C" unsigned plugin_work(unsigned n) {
  volatile unsigned words[WORDS];
  return plugin_inner(words, n) + words[0];
}
"""
EXCHANGE = """
#include <dlfcn.h>
int main(int, char** paths) {
  unsigned sum = 0;
  for (int i = 0; i < 10; ++i) {
    void* plugin = dlopen(paths[1 + i % 2], RTLD_NOW);
    sum += reinterpret_cast<unsigned (*)(unsigned)>(dlsym(plugin, "plugin_work"))(300000000);
    dlclose(plugin);
  }
  return sum == 1;
}
"""


class Hard(UnwindTest):
    """What must not be called whole, and what must not be lost."""

    def compile(self, name, text, *words):
        if shutil.which("g++") is None:
            self.skipTest("g++ is not installed")
        out = os.path.join(self.folder, name)
        done = run(["g++", "-O2", "-g", "-fomit-frame-pointer", "-o", out, "-x", "c++", "-", "-pthread", *words], input=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_code_that_takes_the_place_of_other_code(self):
        plugins = [self.compile(f"{name}.so", PLUGIN.replace("WORDS", words), "-shared", "-fPIC")
                   for name, words in (("small", "3"), ("large", "700"))]
        self.record("--call-graph", "bpf", *RATE, self.compile("exchange", EXCHANGE, "-ldl"), *plugins)
        stacks = {stack: count for stack, count in self.folded().items() if "plugin_inner" in stack}
        whole = sum(count for stack, count in stacks.items() if "_start;" in stack)
        self.assertGreater(sum(stacks.values()), 200, stacks)
        self.assertGreaterEqual(whole, 0.5 * sum(stacks.values()), stacks)
        # The others are not taken for whole ones.
        verdict = json.loads(run([TEPHRA, "report", "--json", self.data]).stdout)["verdict"]
        broken = sum(stacks.values()) - whole
        self.assertGreaterEqual(verdict["samples"] * (1 - verdict["stacks_rooted"]), broken - 0.5, verdict)

    def test_a_stack_that_ends_in_code_without_rows_is_not_called_whole(self):
        binary = self.compile("bare", BARE)
        for way in ("bpf", "dwarf"):
            for value in ("0", "1"):
                with self.subTest(way=way, value=value):
                    self.record("--call-graph", way, *RATE, binary, value)
                    stacks = {stack: count for stack, count in self.folded().items() if "bare_leaf" in stack}
                    self.assertGreater(sum(stacks.values()), 100, stacks)
                    # Nothing is known beyond it, and nothing is made up.
                    self.assertTrue(all(stack.startswith("bare;bare_leaf") for stack in stacks), stacks)
                    verdict = json.loads(run([TEPHRA, "report", "--json", self.data]).stdout)["verdict"]
                    self.assertEqual(verdict["grade"], "poor", verdict)
                    self.assertLess(verdict["stacks_rooted"], 0.2, verdict)
                    self.assertGreater(verdict["reasons"].get("walk_no_rule", 0), 100, verdict)

    def test_a_caller_that_is_only_guessed_is_told(self):
        # The frame pointer is that of the caller's frame, so the caller itself is missing.
        binary = self.compile("guess", BARE.replace("data ? (void*)words : nullptr", "__builtin_frame_address(0)"))
        for way in ("bpf", "dwarf"):
            with self.subTest(way=way):
                samples, _, _ = self.record("--call-graph", way, *RATE, binary, "0")
                stacks = {stack: count for stack, count in self.folded().items() if "bare_leaf" in stack}
                self.assertGreater(sum(stacks.values()), 100, stacks)
                self.assertTrue(any(stack.endswith("main;bare_leaf") for stack in stacks), stacks)
                verdict = json.loads(run([TEPHRA, "report", "--json", self.data]).stdout)["verdict"]
                guessed = verdict["reasons"].get("caller_guessed", 0)
                self.assertGreaterEqual(guessed, 0.99 * sum(stacks.values()), verdict)
                self.assertEqual(verdict["grade"], "fair", verdict)
                self.assertRegex(verdict["advice"][0]["problem"], "caller that was guessed by frame pointer, in guess")

    def test_perf_reads_samples_with_guessed_callers(self):
        self.need_perf()
        binary = self.compile("guess", BARE.replace("data ? (void*)words : nullptr", "__builtin_frame_address(0)"))
        self.record("--call-graph", "bpf", *RATE, binary, "0")
        self.assertGreater(sum(s.misc >> 8 & 1 for s in Walks(self.data).all), 100)
        self.assert_tephra_opens(self.data)
        self.assert_perf_opens(self.data)

    def test_ordinary_programs_have_hardly_a_guessed_caller(self):
        # Only the few instructions of _init and _fini in libraries have no call-frame information.
        walks = self.walk(CASES, "recursion", "800")
        verdict = json.loads(run([TEPHRA, "report", "--json", self.data]).stdout)["verdict"]
        self.assertLess(verdict["reasons"].get("caller_guessed", 0), 0.01 * len(walks.all), verdict)

    def test_a_process_whose_first_thread_has_ended(self):
        binary = self.compile("leader", LEADER)
        self.assert_complete(self.walk(binary, "2"))
        process = subprocess.Popen([binary, "20"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.5)
        self.assert_complete(self.walk("-p", str(process.pid), "--", "sleep", "1.5"), enough=50)
        stacks = {stack: count for stack, count in self.folded().items() if "leaf" in stack}
        through = sum(count for stack, count in stacks.items() if "body;middle;leaf" in stack)
        self.assertGreater(through, 50, stacks)

    def test_trampolines_of_two_kinds_at_once(self):
        binary = self.compile("trampoline", TRAMPOLINE)
        walks = self.walk("sh", "-c", f"{binary} 0 & {binary} 1; wait")
        self.assert_complete(walks)
        stacks = {stack: count for stack, count in self.folded().items() if "work" in stack}
        through = sum(count for stack, count in stacks.items() if ";main;caller;" in stack)
        # Copies of the first moments are walked without the trampolines' bytes.
        self.assertGreaterEqual(through + len(walks.copied), 0.99 * sum(stacks.values()), stacks)

    def test_stacks_full_of_signal_frames(self):
        binary = self.compile("signals", NESTED_SIGNALS)
        walks = self.walk("--max-stack", "1024", binary)
        self.assertGreater(walks.ends["depth"], 100, walks)
        verdict = json.loads(run([TEPHRA, "report", "--json", self.data]).stdout)["verdict"]
        self.assertNotIn("malformed_records", verdict["reasons"])

    def test_files_that_are_cut_while_their_tables_are_made(self):
        cutter = os.path.join(self.folder, "cutter.py")
        with open(cutter, "w") as file:
            file.write(CUTTER)
        result = run([TEPHRA, "record", "--call-graph", "bpf", *RATE, "-o", self.data, sys.executable, cutter, TEPHRA,
                      os.path.join(self.folder, "code.so")], env={**os.environ, "TEPHRA_NO_CACHE": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(int(SUMMARY.search(result.stderr)[1]), 100, result.stderr)


class Files(UnwindTest):
    """The file is one that perf reads, and whatever output does works for walked samples too."""

    def test_perf_shows_whole_stacks(self):
        self.need_perf()
        walks = self.walk(CASES, "recursion", "800")
        self.assert_perf_opens(self.data)
        text = self.perf_script("--no-inline", "-F", "comm,tid,time,ip,sym")
        stacks = [stack for stack in text.strip().split("\n\n") if " work" in stack]
        whole = sum("case_recursion" in stack and " main\n" in stack + "\n" for stack in stacks)
        self.assertGreater(len(stacks), 100, text[:2000])
        # perf does not unwind all of the first samples, which are copies.
        self.assertGreaterEqual(whole + len(walks.copied), 0.99 * len(stacks))

    def test_tephra_and_perf_read_the_same(self):
        self.need_perf()
        self.walk(CASES, "alloca", "500")
        self.assert_tephra_opens(self.data)

    def test_compressed(self):
        samples, _, _ = self.record("-z", "--call-graph", "bpf", *RATE, CASES, "recursion", "500")
        self.assertEqual(sum(self.folded().values()), samples)

    def test_compression_pays(self):
        self.need_perf()
        sizes = []
        for words in (["-z"], []):
            found = self.record(*words, "--no-embed", "--call-graph", "bpf", *RATE, CASES, "recursion", "800")
            self.assertEqual(sum(self.folded().values()), found[0])
            self.assert_perf_opens(self.data)
            sizes.append(os.path.getsize(self.data) / found[0])
        self.assertLess(sizes[0], sizes[1] / 2, "bytes a sample")

    def test_a_file_that_was_cut_off_is_read_up_to_its_last_whole_record(self):
        samples, _, _ = self.record("-z", "--call-graph", "bpf", *RATE, CASES, "recursion", "800")
        whole = os.path.getsize(self.data)
        counts = []
        for size in range(whole // 2, whole, max(1, whole // 40)):
            shutil.copy(self.data, self.data + ".cut")
            os.truncate(self.data + ".cut", size)
            result = run([TEPHRA, "fold", "-q", self.data + ".cut"])
            self.assertEqual(result.returncode, 0, result.stderr)
            counts.append(sum(parse_folded(result.stdout).values()))
        self.assertEqual(counts, sorted(counts), "more of the file is never less of the recording")
        self.assertGreater(counts[-1], 0.5 * samples, counts)

    def test_a_stream(self):
        recorder = subprocess.Popen([TEPHRA, "record", "--call-graph", "bpf", *RATE, "-o", "-", CASES, "recursion", "500"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = recorder.communicate(timeout=60)
        samples = int(SUMMARY.search(err.decode())[1])
        with open(self.data, "wb") as file:
            file.write(out)
        self.assertEqual(sum(self.folded().values()), samples)

    def test_a_size_limit(self):
        result = run([TEPHRA, "record", "--call-graph", "bpf", *RATE, "--max-size", "300K", "-o", self.data, CASES,
                      "recursion", "5000"])
        self.assertIn("the size limit ended the recording", result.stderr)
        self.assertLessEqual(os.path.getsize(self.data), 300 << 10)
        self.assertEqual(len(Walks(self.data).all), int(SUMMARY.search(result.stderr)[1]))

    def test_switching_files(self):
        samples, _, _ = self.record("--call-graph", "bpf", *RATE, "--switch-output=200K", CASES, "recursion", "1500")
        files = [os.path.join(self.folder, name) for name in os.listdir(self.folder)]
        self.assertGreater(len(files), 2)
        self.assertEqual(sum(len(Walks(path).all) for path in files), samples)

    def test_a_flight_recorder(self):
        recorder = subprocess.Popen([TEPHRA, "record", "--call-graph", "bpf", *RATE, "--overwrite", "-o", self.data,
                                     CASES, "recursion", "2500"], stderr=subprocess.PIPE, text=True)
        time.sleep(1.2 + WAIT_S)
        recorder.send_signal(signal.SIGUSR2)
        _, err = recorder.communicate(timeout=60)
        self.assertIn("snapshot of the last", err)
        names = sorted(os.listdir(self.folder))
        self.assertEqual(len(names), 2, err)
        for name in names:
            walks = Walks(os.path.join(self.folder, name))
            self.assert_complete(walks)
            times = [s.time for s in walks.all]
            self.assertEqual(times, sorted(times))

    def test_a_flight_recorder_tells_what_it_lost(self):
        """A recorder that is stopped cannot take samples: the snapshots say how many are missing."""
        recorder = subprocess.Popen([TEPHRA, "record", "--call-graph", "bpf", "-e", "page-faults:u", "-c", "1",
                                     "--overwrite", "-o", self.data, sys.executable, "-c", FAULTS],
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        time.sleep(1)
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        recorder.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        recorder.send_signal(signal.SIGUSR2)
        time.sleep(0.7)
        recorder.send_signal(signal.SIGINT)
        errors = recorder.stderr.read()
        recorder.wait(60)
        lost = int(SUMMARY.search(errors)[4])
        self.assertGreater(lost, 0, errors)
        for path in [*glob.glob(self.data + ".2*"), self.data]:
            verdict = json.loads(run([TEPHRA, "report", "--json", path]).stdout)["verdict"]
            self.assertGreater(verdict["lost"], 0, path)
            self.assertLessEqual(verdict["lost"], lost, path)

    def test_checking_takes_every_stack_twice(self):
        samples, _, _ = self.record("--call-graph", "bpf,check", *RATE, CASES, "recursion", "500")
        walks = Walks(self.data)
        self.assertEqual(len(walks.all), samples)
        self.assertGreater(len(walks.walked), 100)
        self.assertGreaterEqual(len(walks.copied), len(walks.walked))


class Choice(RecordTest):
    """--call-graph auto: what is taken, and what is said about it."""

    def test_walks_in_the_kernel_where_that_works(self):
        if bpf_works():
            self.skipTest("stacks cannot be walked in the kernel here")
        result = run([TEPHRA, "record", "-g", *RATE, "-o", self.data, CASES, "recursion", "300"])
        self.assertIn("stacks are walked in the kernel by call-frame tables (--call-graph bpf)", result.stderr)
        header = run([TEPHRA, "report", "-v", self.data]).stdout
        self.assertIn("samples", header)

    def test_a_user_without_rights_gets_copies_of_frameless_programs(self):
        self.need_rights_of_plain_users()
        result = run(self.as_nobody(TEPHRA, "record", "-g", "-o", self.data, CASES, "recursion", "300"))
        self.assertIn("stacks are copied", result.stderr)
        self.assertIn("keeps no frame pointers", result.stderr)
        self.assertIn("cap_bpf", result.stderr)

    def test_a_user_without_rights_gets_frame_pointers_where_they_are_kept(self):
        self.need_rights_of_plain_users()
        spin = self.compile("spin", "int main(void) { for (volatile long n = 0; n < 300000000; ++n) {} }")
        result = run(self.as_nobody(TEPHRA, "record", "-g", "-o", self.data, spin))
        self.assertIn("stacks are taken by frame pointers, which this program and its libraries keep", result.stderr)
        self.assertIn("cap_bpf", result.stderr)

    def test_a_user_without_rights_gets_copies_where_a_library_keeps_none_started_or_attached(self):
        self.need_rights_of_plain_users()
        self.compile("libframeless.so", "int work(int (*f)(int)) { int s = 0; for (int i = 0; i < 9; ++i) s += f(i);"
                     " return s; }", "-fPIC", "-shared", "-fomit-frame-pointer")
        spin = self.compile("spin", """
            int work(int (*)(int));
            int one(int n) { return n; }
            int two(int n) { return work(one) + n; }
            int three(int n) { return two(n) + 1; }
            int main(int words, char** w) { for (volatile long n = 5000000; words > 2 || n > 0; --n) three(1); }
            """, "-L" + self.folder, "-lframeless", "-Wl,-rpath,$ORIGIN")
        script = os.path.join(self.folder, "script")
        with open(script, "w") as file:
            file.write(f"#!{spin}\n")
        os.chmod(script, 0o755)
        spinning = subprocess.Popen(self.as_nobody(spin, "for", "ever"))
        self.addCleanup(spinning.wait)
        self.addCleanup(spinning.kill)
        attached = ["-p", str(spinning.pid), "sleep", "0.2"]
        for words in ([spin], [script], attached):
            result = run(self.as_nobody(TEPHRA, "record", "-g", "-o", self.data, *words))
            self.assertIn("stacks are copied", result.stderr, words)
            self.assertIn("libframeless.so keeps no frame pointers", result.stderr, words)
        told = run(self.as_nobody(TEPHRA, "doctor", "-p", str(spinning.pid)))
        self.assertIn("--call-graph auto takes copies of them (dwarf)", " ".join(told.stdout.split()))

    def compile(self, name, source, *flags):
        """A program of C, with frame pointers unless told otherwise."""
        if shutil.which("cc") is None:
            self.skipTest("there is no compiler")
        path = os.path.join(self.folder, name)
        os.chmod(self.folder, 0o777)
        made = run(["cc", "-O1", "-fno-omit-frame-pointer", "-x", "c", "-", "-x", "none", *flags, "-o", path], input=source)
        self.assertEqual(made.returncode, 0, made.stderr)
        return path

    def test_stacks_deeper_than_the_kernels_limit_may_be_asked_for(self):
        result = run([TEPHRA, "record", "-g", "--max-stack", "300", "-o", self.data, "true"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.need_rights_of_plain_users()
        spin = self.compile("spin", "int main(void) { for (volatile long n = 0; n < 30000000; ++n) {} }")
        result = run(self.as_nobody(TEPHRA, "record", "-g", "--max-stack", "900", "-o", self.data, spin))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"frame pointers are cut at \d+ frames, not at 900: that is the kernel's limit")
        result = run([TEPHRA, "record", "--call-graph", "fp", "--max-stack", "900", "-o", self.data, "true"])
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("Use --call-graph bpf", result.stderr)

    def test_asked_for_by_name_it_is_an_error_to_go_without(self):
        result = run(self.as_nobody(TEPHRA, "record", "--call-graph", "bpf", "-o", self.data, "true"))
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("cannot walk stacks inside the kernel", result.stderr)

    def test_events_that_cannot_be_walked_go_another_way(self):
        if bpf_works():
            self.skipTest("stacks cannot be walked in the kernel here")
        self.need_tracepoints()
        result = run([TEPHRA, "record", "-g", "-e", "cpu-clock,sched:sched_process_exit", "-o", self.data, CASES,
                      "recursion", "200"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("the stacks of sched:sched_process_exit are taken by frame pointers", result.stderr)


class AdaptedCopies(RecordTest):
    """Copies of stacks whose size follows the stacks, where `auto` cannot walk in the kernel."""

    DEEP = program("deep_stacks")
    RATE = ("-e", "cpu-clock:u", "-F", "499")

    def setUp(self):
        super().setUp()
        self.need_rights_of_plain_users()

    def record_as_nobody(self, *words):
        """Samples, and the notes."""
        result = run(self.as_nobody(TEPHRA, "record", "--no-embed", "-o", self.data, *words), timeout=400)
        self.assertEqual(result.returncode, 0, result.stderr)
        found = SUMMARY.search(result.stderr)
        self.assertIsNotNone(found, result.stderr)
        self.assertEqual(int(found[4]), 0, result.stderr)
        return int(found[1]), result.stderr

    def verdict(self):
        result = run([TEPHRA, "report", "--json", self.data])
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["verdict"]

    def total_period(self):
        result = run([TEPHRA, "script", "-q", "-G", "-F", "period", self.data])
        self.assertEqual(result.returncode, 0, result.stderr)
        return sum(int(line) for line in result.stdout.split())

    def assert_adapts(self, kind, milliseconds, short_lived=False):
        """What is recorded of deep stacks is whole after a while, and as much as with a fixed size."""
        samples, notes = self.record_as_nobody("-g", *self.RATE, self.DEEP, kind, milliseconds, "40")
        self.assertIn("stacks are copied, 16.0 KiB each at first", notes)
        self.assertIn("from now on", notes)
        verdict = self.verdict()
        first, *others = verdict["copy_sizes"]
        self.assertEqual(first["bytes"], 16384)
        self.assertGreater(first["cut"], 0.9 * first["samples"])
        self.assertGreaterEqual(others[-1]["bytes"], 40 << 10)
        self.assertGreater(others[-1]["samples"], samples / 4, verdict["copy_sizes"])
        self.assertLess(others[-1]["cut"], 0.02 * others[-1]["samples"], verdict["copy_sizes"])
        self.assertEqual(sum(size["samples"] for size in verdict["copy_sizes"]), samples)
        self.assertNotIn("unknown_event", verdict["reasons"])
        # What the recorder counted as cut is what walking finds, and stacks of processes that ended before it looked.
        cut = sum(size["cut"] for size in verdict["copy_sizes"])
        found = verdict["reasons"].get("stack_copy_too_short", 0)
        self.assertLessEqual(found, cut + 0.03 * samples, verdict["copy_sizes"])
        if not short_lived:
            self.assertAlmostEqual(found, cut, delta=0.03 * samples)
        period = self.total_period()
        # Time is the program's own: what no sample stands for is less than a period for each thread and CPU, and what
        # a child had left of one when it ended.
        self.assertAlmostEqual(period / 1e6, float(milliseconds), delta=0.1 * float(milliseconds))
        self.record_as_nobody("--call-graph", "dwarf,65528", *self.RATE, self.DEEP, kind, milliseconds, "40")
        self.assertAlmostEqual(period, self.total_period(), delta=0.05 * period)

    def test_first_thread(self):
        self.assert_adapts("first", "2500")

    def test_threads(self):
        self.assert_adapts("threads", "3000")

    def test_short_lived_children(self):
        self.assert_adapts("children", "3000", short_lived=True)

    def test_grandchildren_whose_parent_has_ended(self):
        self.assert_adapts("family", "3600", short_lived=True)

    def test_a_running_process(self):
        deep = subprocess.Popen(self.as_nobody(self.DEEP, "threads", "20000", "40"))
        self.addCleanup(deep.wait)
        self.addCleanup(deep.kill)
        time.sleep(0.3)
        _, notes = self.record_as_nobody("-g", *self.RATE, "-p", str(deep.pid), "--", "sleep", "3")
        self.assertIn("from now on", notes)
        first, *others = self.verdict()["copy_sizes"]
        self.assertGreater(others[-1]["samples"], first["samples"])
        self.assertEqual(others[-1]["cut"], 0)

    def test_shallow_stacks_stay_small(self):
        samples, notes = self.record_as_nobody("-g", *self.RATE, self.DEEP, "first", "7000", "0")
        sizes = self.verdict()["copy_sizes"]
        self.assertEqual(sum(size["cut"] for size in sizes), 0)
        self.assertEqual([size["bytes"] for size in sizes], [16384, 4096], notes)
        self.assertEqual(sum(size["samples"] for size in sizes), samples)
        self.assertLess(os.path.getsize(self.data), samples * 17000)

    def test_a_size_that_was_asked_for_stays(self):
        _, notes = self.record_as_nobody("--call-graph", "dwarf", *self.RATE, self.DEEP, "first", "1500", "40")
        self.assertNotIn("from now on", notes)
        self.assertNotIn("copy_sizes", self.verdict())

    def test_more_than_can_be_paid_for_is_told(self):
        result = run(self.as_nobody(TEPHRA, "record", "--no-embed", "-o", self.data, "-g", "-e", "cpu-clock:u", "-F",
                                    "4000", "-m", "512K", self.DEEP, "first", "1500", "60"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("of the stacks go on beyond their copies"), 1, result.stderr)

    def test_too_few_descriptors_are_told(self):
        limited = ["prlimit", "--nofile=24:24"]
        result = run(self.as_nobody(*limited, TEPHRA, "record", "--no-embed", "-g", *self.RATE, "-o", self.data,
                                    self.DEEP, "first", "2000", "40"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("copies of stacks stay at 16.0 KiB"), 1, result.stderr)
        self.assertEqual(len(self.verdict()["copy_sizes"]), 1)

    def test_a_killed_recorder_leaves_events_that_are_known(self):
        words = self.as_nobody(TEPHRA, "record", "--no-embed", "-g", *self.RATE, "-o", self.data, self.DEEP, "first",
                               "20000", "40")
        recorder = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self.addCleanup(recorder.stderr.close)
        # The program outlives its recorder.
        self.addCleanup(os.killpg, recorder.pid, signal.SIGKILL)
        for line in recorder.stderr:
            if "from now on" in line:
                break
        time.sleep(1.5)
        recorder.kill()
        recorder.wait()
        verdict = self.verdict()
        self.assertNotIn("unknown_event", verdict["reasons"])
        # Stacks of the second size are whole.
        self.assertGreater(verdict["stacks_rooted"], 0.3)

    def test_files_that_follow_each_other_tell_their_own_sizes(self):
        _, notes = self.record_as_nobody("-g", *self.RATE, "--switch-output=2s", self.DEEP, "first", "5000", "40")
        files = sorted(name for name in os.listdir(self.folder) if name.startswith("out.data."))
        self.assertGreater(len(files), 1, notes)
        sizes = []
        for name in files:
            self.data = os.path.join(self.folder, name)
            verdict = self.verdict()
            self.assertNotIn("unknown_event", verdict["reasons"])
            sizes.append([size["bytes"] for size in verdict["copy_sizes"]])
            self.assertEqual(sum(size["samples"] for size in verdict["copy_sizes"]), verdict["samples"])
        self.assertEqual(sizes[0][0], 16384)
        self.assertEqual(sizes[-1], sizes[0][1:], "the last one knows the last size alone")

    def test_perf_opens_what_was_adapted(self):
        self.need_perf()
        samples, _ = self.record_as_nobody("-g", *self.RATE, self.DEEP, "first", "3000", "40")
        os.chown(self.data, 0, 0)
        self.assertEqual(self.perf_samples(), samples)


if __name__ == "__main__":
    unittest.main()
