"""Live tests of reading and folding: what tephra makes of recordings, beside what perf makes of them."""

import re
import subprocess
import unittest

from support import LiveTest, TEPHRA, fold_perf_script, parse_folded, program, run


def known(counts):
    return {stack: count for stack, count in counts.items() if "[unknown]" not in stack}


# What perf 6.1 prints where it has no name: the padding before a kernel function, for a call that never returns and is
# the last of its function; and stubs whose target it cannot tell.
MISNAMED = re.compile(r"(?<=;)(__pfx_[^;]+|@plt)(?=;|$)")


class AgainstPerf(LiveTest):
    def settle_misnamed(self, ours, theirs):
        """Takes stacks with such a name out of both sides, if they agree in all other frames and in their count."""
        for stack in [stack for stack in theirs if MISNAMED.search(stack)]:
            parts = [re.escape(part) for part in MISNAMED.sub("\0", stack).split("\0")]
            alike = [own for own in ours if re.fullmatch("[^;]+".join(parts), own) and own not in theirs]
            self.assertEqual(sum(ours.pop(own) for own in alike), theirs.pop(stack), stack)

    def settle_bare(self, ours, theirs):
        """Where a chain ends in junk, or could not be walked, perf prints the thread's name and no frame at all; tephra
        keeps what it has. So a thread's such samples are its stacks that tephra alone has, one for one."""
        for comm in [stack for stack in theirs if ";" not in stack]:
            count = theirs.pop(comm)
            for stack in [stack for stack in ours if stack.split(";")[0] == comm and ours[stack] > theirs[stack]]:
                if "[unknown]" not in stack:
                    count -= ours[stack] - theirs[stack]
                    ours[stack] = theirs[stack]
            self.assertGreaterEqual(count, 0, comm)
        for counts in (ours, theirs):
            for stack in [stack for stack, count in counts.items() if count == 0]:
                del counts[stack]

    def compare(self, data):
        """Stack by stack and count by count, unknown frames aside; and no sample more or less."""
        script = run(["perf", "script", "--no-inline", "-i", data])
        self.assertEqual(script.returncode, 0, script.stderr)
        theirs = fold_perf_script(script.stdout)
        ours = self.folded("--no-inline", data)
        self.assertGreater(sum(theirs.values()), 50)
        self.assertEqual(sum(ours.values()), sum(theirs.values()))
        self.settle_misnamed(ours, theirs)
        self.settle_bare(ours, theirs)
        self.assertEqual(known(ours), known(theirs))

    def test_two_functions(self):
        self.need_perf()
        self.compare(self.perf_record("-F", "999", "-g", "--", program("split"), "0.6"))

    def test_inlined_chain(self):
        self.need_perf()
        self.compare(self.perf_record("-F", "999", "-g", "--", program("chain"), "400"))

    def test_threads_forks_and_execs(self):
        self.need_perf()
        self.compare(self.perf_record("-F", "999", "-g", "--", program("family"), "300"))

    def test_shell_that_starts_many_programs(self):
        self.need_perf()
        script = "for i in 1 2 3 4 5 6 7 8; do ls -R /usr/include/linux | sort | md5sum; done"
        self.compare(self.perf_record("-F", "4000", "-g", "--", "/bin/sh", "-c", script))

    def test_whole_machine(self):
        self.need_perf()
        self.need_root()
        self.compare(self.perf_record("-F", "499", "-a", "-g", "--", program("family"), "300"))

    def test_pipe(self):
        self.need_perf()
        piped = subprocess.run(["perf", "record", "-q", "-F", "999", "-g", "-o", "-", "--", program("spin"), "300"],
                               capture_output=True, timeout=60)
        data = self.path("piped")
        with open(data, "wb") as file:
            file.write(piped.stdout)
        from_file = self.folded("--no-inline", data)
        script = run(["perf", "script", "--no-inline", "-i", data])
        self.assertEqual(known(from_file), known(fold_perf_script(script.stdout)))
        from_pipe = subprocess.run([TEPHRA, "fold", "-q", "--no-inline", "-"], input=piped.stdout, capture_output=True,
                                   timeout=60)
        self.assertEqual(parse_folded(from_pipe.stdout.decode()), from_file)

    def test_compressed(self):
        self.need_perf()
        self.compare(self.perf_record("-z", "-F", "999", "-g", "--", program("spin"), "400"))


class OwnRecordings(LiveTest):
    def record(self, *words):
        data = self.path("own.data")
        self.tephra("record", "-q", "-o", data, *words)
        return data

    def test_seventy_and_thirty_percent(self):
        data = self.record("-e", "cpu-clock:u", "-F", "4000", "-g", "--", program("split"), "1.8")
        counts = self.folded(data)
        total = sum(counts.values())
        self.assertGreaterEqual(total, 5000)
        for function, share in (("heavy", 70), ("light", 30)):
            samples = sum(count for stack, count in counts.items() if stack.endswith(";" + function))
            self.assertAlmostEqual(100 * samples / total, share, delta=2)

    def test_perf_report_sees_the_same_program_in_both_recordings(self):
        self.need_perf()
        words = ["-e", "cpu-clock:u", "-F", "4000", "-g", "--", program("split"), "1.2"]
        shares = []
        for data in (self.record(*words), self.perf_record(*words)):
            report = run(["perf", "report", "--stdio", "--no-children", "-g", "none", "-s", "symbol", "-i", data])
            found = re.search(r"([\d.]+)%\s+\[\.\] heavy", report.stdout)
            self.assertIsNotNone(found, report.stdout + report.stderr)
            shares.append(float(found[1]))
        # Four standard errors of a difference of two shares of 70 % over 4,000 samples each.
        self.assertAlmostEqual(shares[0], shares[1], delta=4.1)

    def test_nested_and_inlined_calls_in_order(self):
        data = self.record("-e", "cpu-clock:u", "-F", "2000", "-g", "--", program("chain"), "500")
        counts = self.folded(data)
        whole = "main;chain::outer;chain::middle;chain::helper_[i];chain::inner_[i];chain::leaf"
        matched = sum(count for stack, count in counts.items() if stack.endswith(whole))
        self.assertGreater(matched, 0.9 * sum(counts.values()), counts)
        plain = self.folded("--no-inline", data)
        self.assertFalse([stack for stack in plain if "_[i]" in stack])
        self.assertEqual(sum(plain.values()), sum(counts.values()))

    def test_threads_and_children_under_their_names(self):
        data = self.record("-e", "cpu-clock:u", "-F", "1000", "-g", "--", program("family"), "300")
        counts = self.folded("--tid", data)
        for function, comm, threads in (("in_thread", "family", 2), ("in_forked", "family", 1),
                                        ("in_executed", "exe", 1)):
            own = {stack.split(";")[0] for stack in counts if f";{function};" in stack}
            self.assertEqual(len(own), threads, counts)
            for first in own:
                self.assertRegex(first, rf"^{comm}-\d+/\d+$")
        by_process = self.folded("--pid", data)
        processes = {stack.split(";")[0] for stack in by_process if ";in_" in stack}
        self.assertEqual(len(processes), 3)

    def test_kernel_frames_are_marked_on_request(self):
        self.need_root()
        data = self.record("-e", "cpu-clock", "-F", "2000", "-g", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1M",
                           "count=4000")
        marked = [stack for stack in self.folded("--kernel", data) if "_[k]" in stack]
        self.assertTrue(marked)
        self.assertFalse([stack for stack in self.folded(data) if "_[k]" in stack])

    def test_stacks_without_names_go_by_file_and_offset(self):
        stripped = self.path("stripped")
        done = run(["strip", "-o", stripped, program("spin")])
        self.assertEqual(done.returncode, 0, done.stderr)
        data = self.record("-e", "cpu-clock:u", "-F", "2000", "-g", "--", stripped, "300")
        leaves = {stack.rpartition(";")[2] for stack in self.folded(data)}
        self.assertTrue([leaf for leaf in leaves if leaf.startswith("[unknown] stripped+0x")], leaves)

    def test_recording_of_another_build_gets_no_names(self):
        binary = self.path("program")
        run(["cp", program("spin"), binary])
        data = self.record("-e", "cpu-clock:u", "-F", "2000", "-g", "--no-embed", "--", binary, "300")
        run(["cp", "--remove-destination", program("chain"), binary])
        result = self.tephra("fold", "-v", data)
        self.assertIn("build_id_mismatch", result.stderr)
        self.assertNotIn("chain::", result.stdout)

    def test_events_are_kept_apart(self):
        data = self.record("-e", "cpu-clock:u,page-faults:u", "-F", "999", "-g", "--", program("family"), "200")
        first = self.tephra("fold", data)
        events = {name: self.folded("--event-filter", name, data) for name in ("cpu-clock:u", "page-faults:u")}
        shown = re.search(r"showing event (\S+);", first.stderr)[1]
        self.assertEqual(parse_folded(first.stdout), events[shown])
        for counts in events.values():
            self.assertGreater(sum(counts.values()), 0)
        self.assertNotEqual(*events.values())


class BadInput(LiveTest):
    COMMANDS = ("fold", "flame", "report", "script")

    def refuses(self, path, says, status=1):
        for command in self.COMMANDS:
            with self.subTest(command=command, input=path):
                result = self.tephra(command, path, status=status)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
                self.assertIn(says, result.stderr)
                self.assertEqual(result.stdout, "")

    def make(self, name, content):
        with open(self.path(name), "wb") as file:
            file.write(content)
        return self.path(name)

    def test_files_that_are_no_profiles(self):
        self.refuses(self.make("empty", b""), "empty")
        self.refuses(self.make("text", b"hello\nworld\n"), "none of the known formats")
        self.refuses(self.path("missing"), "No such file")
        self.refuses(self.folder, "Is a directory")
        self.refuses(self.make("short", b"PERFILE2"), "truncated")
        self.refuses(self.make("header", b"PERFILE2" + bytes(60)), "truncated")
        self.refuses(self.make("zeros", b"PERFILE2" + bytes(4000)), "perf.data")

    def test_unreadable_file(self):
        self.need_root()
        secret = self.make("secret", b"a;b 1\n")
        run(["chmod", "000", secret])
        run(["chmod", "755", self.folder])
        result = run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TEPHRA, "fold", secret])
        self.assertEqual(result.returncode, 1)
        self.assertIn("Permission denied", result.stderr)

    def test_wrong_words(self):
        for words in (["fold", "--nonsense"], ["nonsense"], ["fold", "--time", "x,y", "f"], ["flame", "--width", "z"]):
            with self.subTest(words=words):
                self.make("f", b"a;b 1\n")
                result = self.tephra(*words, status=2)
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_truncated_at_any_byte(self):
        data = self.path("own.data")
        self.tephra("record", "-q", "-e", "cpu-clock:u", "-F", "1000", "-g", "-o", data, "--", program("spin"), "200")
        with open(data, "rb") as file:
            whole = file.read()
        samples = sum(self.folded(data).values())
        for size in range(0, len(whole), max(1, len(whole) // 40)):
            path = self.make("cut", whole[:size])
            result = run([TEPHRA, "fold", "-v", path])
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.returncode == 0:
                self.assertLessEqual(sum(parse_folded(result.stdout).values()), samples)
                self.assertNotIn("verdict: good", result.stderr)


class Folded(LiveTest):
    def test_round_trip(self):
        text = "a;b;c 3\na;b;d 4\nother;x_[i] 1\n"
        path = self.path("stacks.folded")
        with open(path, "w") as file:
            file.write(text)
        self.assertEqual(self.tephra("fold", "-q", path).stdout, text)
        self.assertEqual(run([TEPHRA, "fold", "-q", "-"], input=text).stdout, text)


class OwnInput(LiveTest):
    def test_the_input_is_not_written_over(self):
        text = "app;main;heavy 7\n"
        with open(self.path("in.folded"), "w") as folded:
            folded.write(text)
        run(["ln", "in.folded", "linked"], cwd=self.folder)
        run(["ln", "-s", "in.folded", "pointer"], cwd=self.folder)
        for command in ("fold", "flame"):
            for output in ("in.folded", "./in.folded", "linked", "pointer"):
                with self.subTest(command=command, output=output):
                    result = self.tephra(command, "-o", output, "in.folded", status=2)
                    self.assertIn(f"cannot write '{output}': it is the file that is read", result.stderr)
            with open(self.path("in.folded")) as source:
                self.tephra(command, "-i", "-", "-o", "in.folded", status=2, stdin=source)
            self.tephra(command, "-o", "out", "in.folded")
            self.tephra(command, "-o", "out", "in.folded")  # what was written before is no input
        with open(self.path("in.folded")) as kept:
            self.assertEqual(kept.read(), text)


if __name__ == "__main__":
    unittest.main()
