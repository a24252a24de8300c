"""Live tests of `tephra profile -t mem`: programs that make a known amount of memory resident in named functions."""

import ctypes
import glob
import os
import re
import unittest

from support import LiveTest, TEPHRA, parse_folded, program, run

PAGE = os.sysconf("SC_PAGESIZE")
HUGE = 2 << 20
RESIDENT = program("resident")
CLASSES = ("heap", "anonymous", "stack", "file", "shared", "copy-on-write", "swap-in", "zero-page", "permission",
           "unknown")


class MemTest(LiveTest):
    def profile(self, *words, options=(), command=None):
        """Profiles the program, which begins once the recorder knows its code, and returns what was printed."""
        environment = dict(os.environ, RESIDENT_WAIT_MS="500")
        result = self.tephra("profile", "-t", "mem", *options, "-o", "out", "--", *(command or [RESIDENT, *words]),
                             env=environment)
        return result.stdout

    def recording(self):
        paths = glob.glob(self.path("out/*.perf.data"))
        self.assertEqual(len(paths), 1)
        return paths[0]

    def sum_of(self, function, *words):
        result = run([*self.fold_command(), "--focus", f"^{function}$", *words, self.recording()])
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return sum(parse_folded(result.stdout).values())

    def fold_command(self):
        return [TEPHRA, "fold", "-q", "--event-filter", "resident-memory"]

    def faults_in(self, function):
        """By class, how many faults the function had and their bytes; and whether classes come to all of them."""
        counts, sizes = {}, {}
        for name in CLASSES:
            label = ("--tagfocus", f"^class:{name}$")
            count = self.sum_of(function, "--counts", *label)
            if count:
                counts[name] = count
                sizes[name] = self.sum_of(function, "--periods", *label)
        self.assertEqual(sum(counts.values()), self.sum_of(function, "--counts"))
        self.assertEqual(sum(sizes.values()), self.sum_of(function, "--periods"))
        return counts, sizes


class KnownPages(MemTest):
    def setUp(self):
        super().setUp()
        self.need_root()

    def assert_exact(self, function, kind, count, size):
        self.assertEqual(self.faults_in(function), ({kind: count}, {kind: size}))

    def assert_grown(self, output, size):
        """The program's own opinion: its resident memory before and after. The kernel sums that up in batches of 32 pages
        for each CPU, and what reads it may map some of its own code."""
        grown = int(re.search(r"^(\d+)$", output, re.MULTILINE)[1])
        self.assertLessEqual(abs(grown - size), (32 * os.cpu_count() + 16) * PAGE)

    def test_pages_of_a_region(self):
        output = self.profile("region", "5000")
        self.assert_exact("touch_region", "anonymous", 5000, 5000 * PAGE)
        self.assert_grown(output, 5000 * PAGE)
        self.assertRegex(output, r"where memory became resident: \S+ MiB in [\d,]+ faults\n")
        self.assertRegex(output, r"  anonymous +\S+ MiB  in +5,\d+ faults")
        self.assertIn("heap profile", output)

    def test_huge_pages_are_few_faults_of_their_size(self):
        with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
            if "[never]" in file.read():
                self.skipTest("huge pages are off")
        output = self.profile("huge", "32")
        self.assert_grown(output, 64 << 20)
        counts, sizes = self.faults_in("touch_huge")
        self.assertEqual(list(counts), ["anonymous"])
        self.assertEqual(sizes["anonymous"], 64 << 20)
        # On a machine whose memory is in pieces some huge pages cannot be had; their bytes are counted all the same.
        small = (counts["anonymous"] - 32) / (HUGE // PAGE - 1)
        self.assertEqual(small, int(small), counts)
        self.assertLess(small, 8, counts)

    def test_heap_and_stacks_of_threads(self):
        self.profile("heap", "700")
        self.assert_exact("touch_heap", "heap", 700, 700 * PAGE)

    def test_stack_of_a_thread(self):
        self.profile("stack", "300")
        self.assert_exact("grow_stack", "stack", 300, 300 * PAGE)

    def test_copies_after_a_fork(self):
        self.profile("fork", "2000")
        self.assert_exact("touch_region", "anonymous", 2000, 2000 * PAGE)
        self.assert_exact("copy_region", "copy-on-write", 2000, 2000 * PAGE)

    def test_memory_that_is_only_read_takes_none(self):
        self.profile("read", "900")
        self.assert_exact("read_fresh", "zero-page", 900, 0)

    def test_shared_memory(self):
        self.profile("shared", "400")
        self.assert_exact("touch_shared", "shared", 400, 400 * PAGE)

    def file_without_cache(self, pages):
        path = self.path("mapped")
        with open(path, "wb") as file:
            file.write(os.urandom(pages * PAGE))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        # Whether the pages are really gone is asked of the kernel; on tmpfs they stay.
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
        with open(path, "rb") as file:
            memory = libc.mmap(None, pages * PAGE, 1, 1, file.fileno(), 0)
            present = ctypes.create_string_buffer(pages)
            self.assertEqual(libc.mincore(memory, pages * PAGE, present), 0)
            libc.munmap(memory, pages * PAGE)
        if any(byte & 1 for byte in present.raw):
            self.skipTest("the file cannot be dropped from memory here")
        return path

    def test_major_faults_of_a_mapped_file(self):
        path = self.file_without_cache(250)
        output = self.profile("mapped", "250", path, options=("--major",))
        self.assert_exact("read_mapped", "file", 250, 250 * PAGE)
        self.assertRegex(output, r"file +\S+ [KM]iB  in +\d+ faults, \d+ of them major")
        # Now it is in memory: no major fault is left.
        self.assertEqual(self.sum_of("read_mapped", "--counts", "--tagfocus", "^fault:minor$"), 0)

    def test_minor_alone(self):
        path = self.file_without_cache(50)
        self.profile("mapped", "50", path, options=("--minor",))
        self.assertEqual(self.sum_of("read_mapped", "--counts"), 0)

    def test_as_many_as_perf_counts(self):
        self.need_perf()
        environment = dict(os.environ, RESIDENT_WAIT_MS="0")
        data = self.path("theirs.data")
        counted = {}
        result = run(["perf", "record", "-q", "-N", "-e", "page-faults", "-c", "1", "-g", "-o", data, RESIDENT, "region",
                      "3000"], env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        names = run(["perf", "script", "-i", data, "-F", "ip,sym"]).stdout.split("\n\n")
        counted["perf"] = sum("touch_region" in stack for stack in names)
        self.profile("region", "3000")
        counted["tephra"] = self.sum_of("touch_region", "--counts")
        self.assertEqual(counted, {"perf": 3000, "tephra": 3000})

    def test_classes_as_frames(self):
        self.profile("heap", "100")
        words = ("--event-filter", "resident-memory", "--counts", self.recording())
        roots = self.folded("--tagroot", "class", *words)
        self.assertEqual(sum(n for stack, n in roots.items() if stack.startswith("resident;class:heap;")
                             and "touch_heap" in stack), 100)
        leaves = self.folded("--tagleaf", "fault", *words)
        self.assertEqual(sum(n for stack, n in leaves.items() if stack.endswith(";fault:minor")
                             and "touch_heap" in stack), 100)
        self.assertEqual(sum(roots.values()), sum(leaves.values()))

    def test_beside_cpu_time(self):
        result = self.tephra("profile", "-t", "cpu,mem", "-o", "out", "--", RESIDENT, "region", "2000",
                             env=dict(os.environ, RESIDENT_WAIT_MS="300"))
        self.assertIn("where memory became resident", result.stdout)
        self.assertEqual(self.sum_of("touch_region", "--counts"), 2000)


class WithoutTheKernelsHelp(MemTest):
    """Where nothing can be walked in the kernel, the class of a fault follows from what was mapped."""

    def test_by_frame_pointers(self):
        self.profile("region", "1000", options=("--call-graph", "fp"))
        self.assertEqual(self.faults_in("touch_region"), ({"anonymous": 1000}, {"anonymous": 1000 * PAGE}))

    def test_what_may_be_a_copy_is_not_guessed(self):
        self.profile("fork", "500", options=("--call-graph", "fp"))
        self.assertEqual(self.faults_in("touch_region")[0], {"anonymous": 500})
        self.assertEqual(self.faults_in("copy_region")[0], {"unknown": 500})


class Words(MemTest):
    def test_nothing_to_see(self):
        result = self.tephra("profile", "-t", "mem", "--major", "-o", "out", "--", RESIDENT, "region", "1", status=1)
        self.assertIn("no page faults", result.stderr)


if __name__ == "__main__":
    unittest.main()
