"""`tephra script` against `perf script`: the same recording, the same bytes."""

import os
import re
import shutil
import subprocess
import unittest

from oracle import TEPHRA, OracleTest, perf, tephra

FRAME = re.compile(r"^\t *([0-9a-f]+) (.*?)(?:\+0x([0-9a-f]+))? \((.*)\)$")


def starts_at_zero(line):
    """Whether perf named a frame by the symbol that begins at its very address."""
    frame = FRAME.match(line)
    return frame is not None and frame.group(3) == "0"


def excused(theirs, ours):
    """Whether two lines may differ; see ScriptTest.compare."""
    return (starts_at_zero(theirs) or "/memfd:" in theirs or theirs.lstrip().startswith(":-1 ")
            or re.sub(r" \S*@plt\+", " @plt+", theirs) == re.sub(r" \S*@plt\+", " @plt+", ours))


def samples(text):
    """The samples of a script, each as the list of its lines."""
    found = []
    for line in text.split("\n"):
        if line.startswith("\t"):
            found[-1].append(line)
        elif line:
            found.append([line])
    return found


class ScriptTest(OracleTest):
    def compare(self, path, *words):
        """The texts must be the same byte by byte, but for what tephra does better.

        - perf looks return addresses up as they are, so a call that never returns is named by the function after it,
          `name+0x0`; tephra looks one byte back.
        - perf drops a chain with a word that is neither address nor marker; tephra keeps what comes before it.
        - A thread that is exiting has no id any more: perf calls it :-1, tephra by its process's name.
        - Memory of memfd files is a file to perf and generated code to tephra.
        - perf does not know the names of all stubs of the procedure linkage table.
        """
        theirs = perf("script", "--no-inline", "-i", path, *words)
        ours = tephra("script", "-q", "--no-inline", "-i", path, *words)
        if theirs == ours:
            return ours
        their_samples, our_samples = samples(theirs), samples(ours)
        self.assertEqual(len(their_samples), len(our_samples))
        self.assertGreater(len(their_samples), 20)
        different = 0
        for their, our in zip(their_samples, our_samples):
            if their == our:
                continue
            different += 1
            if len(their) == 1 < len(our):
                their = their + our[1:]
            self.assertEqual(len(their), len(our), "\n".join(their + our))
            for their_line, our_line in zip(their, our):
                if their_line != our_line and not excused(their_line, our_line):
                    self.assertEqual(their_line, our_line)
        self.assertLess(different, len(their_samples))
        return ours

    def test_call_chains(self):
        text = self.compare(self.stacks())
        for name in ("hot+0x", "recurse+0x", "sort_numbers<int>+0x", "[kernel.kallsyms]"):
            self.assertIn(name, text)

    def test_no_call_chains(self):
        self.compare(self.flat())

    def test_hidden_call_chains(self):
        self.compare(self.stacks(), "-G")

    def test_fixed_period(self):
        self.compare(self.recording("fixed", "-c", "1000000", "-e", "cpu-clock", "-g"))

    def test_several_events_share_a_column_width(self):
        self.compare(self.recording("several", "-e", "cpu-clock,page-faults", "-F", "499", "-g"))

    def test_groups_whose_leader_samples_for_all(self):
        path = self.recording("group", "-e", "{cpu-clock,page-faults}:S", "-c", "1000000", "-g")
        text = self.compare(path, "-F", "comm,tid,time,event,period,ip,sym")
        self.assertRegex(text, r"\d+\s+page-faults: ")
        self.compare(self.recording("group_flat", "-e", "{cpu-clock,page-faults,context-switches}:S", "-F", "999"))

    def test_all_cpus_with_idle(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.compare(self.recording("system", "-a", "-F", "199", "-e", "cpu-clock", "-g"))

    def test_tracepoints(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        path = self.recording("tracepoints", "-a", "-e", "sched:sched_switch")
        self.assertIn(" prev_comm=", self.compare(path).split("\n")[0])
        self.compare(path, "-F", "trace:time,event,trace")
        self.compare(path, "-F", "+ip,+sym")
        self.compare(self.recording("tracepoint_stacks", "-a", "-g", "-e", "sched:sched_switch"))

    def test_tracepoints_that_name_kernel_functions(self):
        if os.geteuid() != 0:
            self.skipTest("needs root")
        text = self.compare(self.recording("kmalloc", "-a", "-e", "kmem:kmalloc,timer:hrtimer_start"))
        self.assertRegex(text, r" call_site=[a-z_]\w*\+0x[0-9a-f]+ | function=[a-z_]\w* ")

    def test_fields(self):
        for fields in ("comm,pid,tid,time,ip,sym", "comm,ip", "-period", "+pid", "comm,tid,event,ip,sym,symoff,dso",
                       "comm,time,event"):
            with self.subTest(fields=fields):
                self.compare(self.stacks(), "-F", fields)
                self.compare(self.flat(), "-F", fields)

    def test_times(self):
        for words in (("--ns",), ("--reltime",), ("--ns", "--reltime")):
            with self.subTest(words=words):
                self.compare(self.flat(), *words)

    def test_filters(self):
        tid = tephra("script", "-q", "-F", "tid", self.flat()).split()[0]
        self.compare(self.flat(), "--tid", tid)
        self.assertEqual(tephra("script", "-q", "--comm", "nobody", self.flat(), status=1), "")

    def test_source_lines(self):
        ours = tephra("script", "-q", "-F", "+srcline", "-i", self.stacks())
        self.assertRegex(ours, r"\thot\+0x|\t +[0-9a-f]+ .*hot\+0x")
        self.assertRegex(ours, r"\n  workers\.cpp:\d+\n")

    def test_inlined_frames_share_the_address_of_their_caller(self):
        ours = tephra("script", "-q", "-i", self.stacks())
        without = tephra("script", "-q", "--no-inline", "-i", self.stacks())
        kept = [line for line in ours.split("\n") if not line.endswith(" (inlined)")]
        self.assertGreater(len(ours.split("\n")), len(kept))
        self.assertEqual("\n".join(kept), without)

    def test_header_is_comments(self):
        text = tephra("script", "-q", "--header", "-i", self.flat())
        header = text[:text.index("# ========\n#\n")]
        self.assertTrue(header.startswith("# ========\n"))
        for part in ("# hostname : ", "# arch : ", "# cmdline : ", "# event : name = cpu-clock", "# verdict: "):
            self.assertIn(part, header)
        self.assertTrue(text.endswith(tephra("script", "-q", "-i", self.flat())))

    def test_other_tools_read_it(self):
        collapse = shutil.which("stackcollapse-perf.pl") or shutil.which("inferno-collapse-perf")
        if collapse is None:
            self.skipTest("neither stackcollapse-perf.pl nor inferno-collapse-perf is installed")
        folded = []
        for text in (perf("script", "--no-inline", "-i", self.stacks()),
                     tephra("script", "-q", "--no-inline", "-i", self.stacks())):
            done = subprocess.run([collapse], input=text.encode(), capture_output=True, timeout=60, check=True)
            folded.append(sorted(done.stdout.decode().splitlines()))
        self.assertEqual(*folded)

    def test_wrong_words_and_files(self):
        for words in (("-F", "colour"), ("-F", "comm,+pid"), ("-F", "cpu"), ("--no-such-option",)):
            with self.subTest(words=words):
                tephra("script", *words, "-i", self.flat(), status=2)
        tephra("script", "-i", os.path.join(self.folder, "missing"), status=1)
        tephra("script", "-i", TEPHRA, status=1)
        self.assertIn("examples:", tephra("script", "--help"))

    def test_a_reader_that_leaves_early(self):
        done = subprocess.run("%s script -q -i %s | head -1" % (TEPHRA, self.stacks()), shell=True,
                              capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.count(b"\n"), 1)


if __name__ == "__main__":
    unittest.main()
