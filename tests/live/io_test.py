"""Live tests of `tephra profile -t io`: a program that counts and times what it reads and writes itself."""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

from support import LiveTest, TEPHRA, parse_folded, program, run

KNOWN_IO = program("known_io")
PIECE = 64 << 10  # one request on any disk


def device_of(path):
    """The disk below a folder, as the kernel calls it; None where there is none."""
    number = os.stat(path).st_dev
    link = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
    if not os.path.exists(link):
        return None
    folder = os.path.realpath(link)
    if os.path.exists(os.path.join(folder, "partition")):
        folder = os.path.dirname(folder)
    return os.path.basename(folder)


class IoTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_root()
        self.disk = device_of(self.folder)
        if self.disk is None:
            self.skipTest(f"{self.folder} is on no disk")
        self.output = ""

    def file(self, size, name="data"):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(os.urandom(size))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return path

    def profile(self, what, path, size, count, options=(), types="io"):
        """Runs the program under the profiler. Returns what it says of itself: by function, calls, bytes, ns, longest,
        thread."""
        result = self.tephra("profile", "-t", types, *options, "-o", "out", "--", KNOWN_IO, what, path, str(size),
                             str(count), env=dict(os.environ, KNOWN_IO_WAIT_MS="500"))
        self.output = result.stdout
        self.errors = result.stderr
        return self.own(result.stdout)

    @staticmethod
    def own(text):
        told = {}
        for line in text.splitlines():
            words = line.split()
            if len(words) in (2, 6) and all(re.fullmatch(r"-?\d+", word) for word in words[1:]):
                numbers = [int(word) for word in words[1:]]
                told[words[0]] = numbers if len(numbers) > 1 else numbers[0]
        return told

    def recording(self):
        paths = glob.glob(self.path("out/*.perf.data"))
        self.assertEqual(len(paths), 1)
        return paths[0]

    def fold(self, event, *words):
        result = run([TEPHRA, "fold", "-q", "--event-filter", event, *words, self.recording()])
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return parse_folded(result.stdout)

    def sums(self, event, function, *words):
        """How many, and their values together."""
        focus = ("--focus", f"^{function}$", *words)
        return (sum(self.fold(event, "--counts", *focus).values()), sum(self.fold(event, "--periods", *focus).values()))


class Requests(IoTest):
    def test_direct_reads_are_exact(self):
        count = 200
        path = self.file(PIECE * count)
        told = self.profile("direct", path, PIECE, count)
        calls, size, ns, longest, _ = told["read_direct"]
        self.assertEqual((calls, size), (count, PIECE * count))
        self.assertEqual(told["read_bytes"], PIECE * count)
        reads = ("--tagfocus", "^operation:read$", "--tagfocus", f"^device:{self.disk}$")
        self.assertEqual(self.sums("block-bytes", "read_direct", *reads), (count, PIECE * count))
        requests, block_ns = self.sums("block-time", "read_direct", *reads)
        self.assertEqual(requests, count)
        self.assertGreater(block_ns, 0)
        self.assertLessEqual(block_ns, ns)
        self.assertEqual(self.sums("file-bytes", "read_direct"), (count, PIECE * count))
        calls, file_ns = self.sums("file-time", "read_direct")
        self.assertEqual(calls, count)
        self.assertLessEqual(block_ns, file_ns)
        self.assertLessEqual(file_ns, ns)
        line = re.search(rf"^  {self.disk} +read +{count} +(\S+ \S+)", self.output, re.MULTILINE)
        self.assertIsNotNone(line, self.output)
        self.assertIn("read_direct", self.output)

    def test_time_in_calls(self):
        """What the program measures is the call and what the recorder adds to it: taking the stack. That is the same for
        every call, so long ones tell."""
        size, count = 2 << 20, 40
        path = self.file(size * count)
        told = self.profile("direct", path, size, count)
        _, _, ns, longest, _ = told["read_direct"]
        _, file_ns = self.sums("file-time", "read_direct")
        self.assertLessEqual(abs(ns - file_ns), 0.02 * ns, (ns, file_ns))

    def test_stacks_are_whole(self):
        path = self.file(PIECE * 20)
        self.profile("direct", path, PIECE, 20)
        for event in ("block-time", "file-time"):
            stacks = [stack for stack in self.fold(event) if "read_direct" in stack]
            self.assertTrue(stacks)
            for stack in stacks:
                self.assertRegex(stack, r"_start;.*main;.*read_direct;.*pread", event)
        self.assertTrue(any("submit_bio" in stack for stack in self.fold("block-time")))

    def test_threads_apart(self):
        count = 50
        path = self.file(PIECE * 2 * count)
        told = self.profile("threads", path, PIECE, count)
        self.assertEqual(self.sums("block-bytes", "read_beside"), (2 * count, 2 * count * PIECE))
        self.assertEqual(self.sums("block-bytes", "read_direct"), (3 * count, 3 * count * PIECE))
        for function, calls in (("read_direct", count), ("read_beside", 2 * count)):
            tid = told[function][4]
            stacks = self.fold("block-bytes", "--counts", "--tid", "--focus", "^read_direct$")
            of_thread = sum(n for stack, n in stacks.items() if re.match(rf"known_io-(\d+/)?{tid};", stack))
            self.assertEqual(of_thread, calls, stacks)

    def test_direct_writes(self):
        count = 60
        path = self.file(PIECE * count)
        told = self.profile("write_direct", path, PIECE, count)
        self.assertEqual(told["write_bytes"], count * PIECE)
        self.assertEqual(self.sums("block-bytes", "write_direct", "--tagfocus", "^operation:write$"),
                         (count, count * PIECE))
        self.assertEqual(self.sums("file-bytes", "write_direct", "--tagfocus", "^operation:write$"),
                         (count, count * PIECE))

    def test_written_pages_go_to_the_disk_in_fsync(self):
        count = 40
        told = self.profile("sync", self.path("fresh"), PIECE, count)
        self.assertEqual(self.sums("file-bytes", "write_buffered", "--tagfocus", "^operation:write$"),
                         (count, count * PIECE))
        calls, ns = self.sums("file-time", "sync_file", "--tagfocus", "^operation:sync$")
        self.assertEqual(calls, 1)
        self.assertLessEqual(abs(told["sync_file"][2] - ns), max(0.02 * told["sync_file"][2], 50_000))
        self.assertGreaterEqual(self.sums("block-bytes", "sync_file", "--tagfocus", "^operation:write$")[1],
                                count * PIECE)
        with open(f"/sys/block/{self.disk}/queue/write_cache") as file:
            flushes = file.read().strip() == "write back"
        if flushes:
            self.assertIn("flush", self.output)

    def test_cached_reads_are_calls_alone(self):
        path = self.path("cached")
        with open(path, "wb") as file:
            file.write(os.urandom(PIECE * 30))
        self.profile("cached", path, PIECE, 30)
        self.assertEqual(self.sums("file-bytes", "read_cached"), (30, 30 * PIECE))
        self.assertEqual(self.sums("block-bytes", "read_cached"), (0, 0))

    def test_dropped_pages_are_read_from_the_disk(self):
        count = 64
        path = self.file(PIECE * count)
        told = self.profile("cached", path, PIECE, count)
        self.assertEqual(self.sums("file-bytes", "read_cached"), (count, PIECE * count))
        self.assertEqual(self.sums("block-bytes", "read_cached")[1], PIECE * count)
        self.assertEqual(told["read_bytes"], PIECE * count)

    def test_pipes_and_proc_are_no_files(self):
        self.profile("elsewhere", self.path("unused"), 4096, 50)
        self.assertEqual(self.sums("file-time", "read_elsewhere"), (0, 0))

    def test_errors(self):
        path = self.file(4096)
        self.profile("fail", path, 4096, 7)
        self.assertEqual(self.sums("file-bytes", "fail_to_read", "--tagfocus", "^error:failed$"), (7, 0))
        self.assertRegex(self.output, r"7 failed")

    def test_beside_cpu_time(self):
        count = 30
        path = self.file(PIECE * count)
        self.profile("direct", path, PIECE, count, types="cpu,io")
        self.assertEqual(self.sums("block-bytes", "read_direct"), (count, count * PIECE))

    def test_files(self):
        path = self.file(PIECE * 10)
        self.profile("direct", path, PIECE, 10)
        for name in ("io-block.svg", "io-file.svg", "io-block.folded", "io-file.folded", "html"):
            self.assertEqual(len(glob.glob(self.path(f"out/*.{name}"))), 1, name)
        self.assertIn("threads of the kernel", self.output)

    def test_as_bpftrace_counts(self):
        if shutil.which("bpftrace") is None:
            self.skipTest("bpftrace is not installed")
        count = 100
        path = self.file(PIECE * count)
        script = ('tracepoint:block:block_rq_issue /comm == "known_io" && args->rwbs == "RS"/ '
                  "{ @bytes = sum(args->bytes); @n = count(); } BEGIN { printf(\"ready\\n\"); }")
        with subprocess.Popen(["bpftrace", "-f", "json", "-e", script], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as peer:
            try:
                for line in peer.stdout:
                    if "ready" in line:
                        break
                self.profile("direct", path, PIECE, count)
            finally:
                peer.send_signal(2)
            rest = peer.stdout.read()
        theirs = {}
        for line in rest.splitlines():
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("type") == "map":
                theirs.update(told["data"])
        ours = self.sums("block-bytes", "read_direct")
        self.assertEqual((theirs["@n"], theirs["@bytes"]), ours)


class Attached(IoTest):
    def test_a_running_process(self):
        count = 100
        path = self.file(PIECE * count)
        with subprocess.Popen([KNOWN_IO, "direct", path, str(PIECE), str(count)], stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, KNOWN_IO_WAIT_MS="2500")) as target:
            self.tephra("profile", "-t", "io", "-p", str(target.pid), "-d", "6", "-o", "out")
            target.communicate()
        self.assertEqual(self.sums("block-bytes", "read_direct"), (count, PIECE * count))


class WithoutBpf(IoTest):
    def test_requests_by_the_tracepoint(self):
        count = 50
        path = self.file(PIECE * count)
        data = self.path("perf.data")
        result = self.tephra("record", "-q", "-e", "block:block_rq_issue", "-c", "1", "-g", "-o", data, "--", KNOWN_IO,
                             "direct", path, str(PIECE), str(count), env=dict(os.environ, KNOWN_IO_WAIT_MS="500"))
        self.assertEqual(self.own(result.stdout)["read_direct"][:2], [count, PIECE * count])
        for options, expected in ((("--counts",), count), (("--periods",), count * PIECE)):
            found = run([TEPHRA, "fold", "-q", "--event-filter", "block-bytes", *options, "--focus", "^read_direct$",
                         "--tagfocus", "^operation:read$", data])
            self.assertEqual(sum(parse_folded(found.stdout).values()), expected, found.stderr)


class Words(IoTest):
    def test_nothing_to_see(self):
        result = self.tephra("profile", "-t", "io", "-o", "out", "-p", str(os.getpid()), "-d", "0.3", status=1)
        self.assertIn("no input or output", result.stderr)


if __name__ == "__main__":
    unittest.main()
