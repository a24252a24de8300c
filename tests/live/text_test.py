"""Live tests of text that other tools print: perf script, bpftrace."""

import itertools
import os
import re
import shutil
import subprocess
import unittest

from support import LiveTest, TEPHRA, parse_folded, program, run


def stackcollapse():
    folder = os.environ.get("FLAMEGRAPH_DIR", "")
    path = os.path.join(folder, "stackcollapse-perf.pl")
    return path if folder and os.path.exists(path) and shutil.which("perl") else None


class PerfScriptText(LiveTest):
    def script(self, *words, fields=()):
        self.need_perf()
        data = self.perf_record("-F", "999", "-g", *words)
        script = run(["perf", "script", "-i", data, *fields])
        self.assertEqual(script.returncode, 0, script.stderr)
        path = self.path("perf.txt")
        with open(path, "w") as file:
            file.write(script.stdout)
        return data, path

    def test_folds_as_many_samples_as_there_are(self):
        data, path = self.script("--", program("split"), "0.6")
        samples = sum(self.folded("--counts", path).values())
        self.assertGreater(samples, 50)
        self.assertEqual(samples, sum(self.folded(data).values()))
        # By default numbers are sums of periods, as stackcollapse-perf.pl has it.
        self.assertEqual(sum(self.folded(path).values()), sum(self.folded("--periods", data).values()))

    def test_agrees_with_stackcollapse_perf(self):
        if stackcollapse() is None:
            self.skipTest("no stackcollapse-perf.pl: set FLAMEGRAPH_DIR")
        fields = ("comm,pid,tid,time,event,ip,sym,dso", "comm,tid,event,ip,sym,dso",
                  "comm,pid,tid,time,period,event,ip,sym,symoff,dso")
        for which in fields:
            _, path = self.script("--", program("split"), "0.3", fields=("-F", which))
            for options in ([], ["--pid"], ["--tid"], ["--all"], ["--addrs"]):
                theirs = run(["perl", stackcollapse(), *options, path])
                ours = self.tephra("fold", "-q", *options, path)
                self.assertEqual(ours.stdout, theirs.stdout, (which, options))

    def test_every_mix_of_fields_that_stackcollapse_perf_takes(self):
        if stackcollapse() is None:
            self.skipTest("no stackcollapse-perf.pl: set FLAMEGRAPH_DIR")
        # With CPUs, which samples of one process do not have by themselves.
        data, path = self.script("--sample-cpu", "--", program("split"), "0.3")
        samples = sum(self.folded("--counts", path).values())
        taken = 0
        for mix in itertools.product(("", "pid", "tid", "pid,tid"), ("", "cpu"), ("", "time"), ("", "period"),
                                     ("", "event"), ("ip,sym,dso", "ip,sym,symoff,dso")):
            fields = ",".join(field for field in ("comm", *mix) if field)
            script = run(["perf", "script", "-i", data, "-F", fields])
            self.assertEqual(script.returncode, 0, script.stderr)
            with open(path, "w") as file:
                file.write(script.stdout)
            theirs = run(["perl", stackcollapse(), path]).stdout
            if not any(";" in line for line in theirs.splitlines()):
                continue  # it found no sample, or none of the frames
            taken += 1
            self.assertEqual(self.tephra("fold", "-q", path).stdout, theirs, fields)
            # The other commands have all samples, too.
            self.assertEqual(sum(self.folded("--counts", "--redact", path).values()), samples, fields)
        self.assertGreaterEqual(taken, 3 * 2 * 2 * 2 * 2 * 2)

    def test_reads_a_pipe(self):
        _, path = self.script("--", program("split"), "0.3")
        with open(path) as file:
            piped = subprocess.run([TEPHRA, "fold", "-q", "-"], stdin=file, capture_output=True, text=True)
        self.assertEqual(piped.stdout, self.tephra("fold", "-q", path).stdout)

    def test_filters(self):
        _, path = self.script("--", program("split"), "0.3")
        self.assertEqual(self.tephra("fold", "-q", "--comm", "split", path).stdout,
                         "".join(line + "\n" for line in self.tephra("fold", "-q", path).stdout.splitlines()
                                 if line.startswith("split;")))
        self.tephra("fold", "-q", "--comm", "nobody", path, status=1)

    def test_script_of_a_profile_is_text_of_perf_script(self):
        data, _ = self.script("--", program("split"), "0.3")
        folded = self.path("split.folded")
        self.tephra("fold", "-q", "-o", folded, data)
        text = self.path("again.txt")
        with open(text, "w") as file:
            file.write(self.tephra("script", "-q", folded).stdout)
        # stackcollapse-perf.pl takes what begins with a bracket for the name of a process, and leaves it out.
        with open(folded) as file:
            expected = parse_folded(re.sub(r";\([^;]*(?=[; ])", "", file.read()))
        self.assertEqual(self.folded(text), expected)
        self.tephra("script", "-F", "comm", folded, status=2)

    def test_lambdas_are_functions_of_their_own(self):
        path = self.path("lambda.txt")
        inner = "foo(int)::{lambda(int)#1}::operator()(int) const"
        with open(path, "w") as file:
            for place in (inner, "(root)", "foo(int)"):
                file.write(f"app 1/1 1.0: 1 cycles:\n\t 10 {place}+0x4 (/x)\n\n")

        def names(*options):
            report = self.tephra("report", "-q", "--no-children", *options, path).stdout
            return sorted(line.split("[.] ")[1] for line in report.splitlines() if "[.] " in line)
        self.assertEqual(names(), ["(root)", "foo", "foo(int)::{lambda(int)#1}::operator()"])
        self.assertEqual(names("--full-names"), ["(root)", "foo(int)", inner])
        # Also of what was made of the text.
        pprof = self.path("lambda.pb.gz")
        self.tephra("convert", "-q", path, "-o", pprof)
        path = pprof
        self.assertEqual(names("--full-names"), ["(root)", "foo(int)", inner])

    def test_convert_keeps_times(self):
        data, _ = self.script("--", program("split"), "0.3")
        text = self.path("converted.perf-script")
        self.tephra("convert", "-q", data, "-o", text)
        again = self.path("again.perf-script")
        self.tephra("convert", "-q", text, "-o", again)

        def lines(path):
            with open(path) as file:
                return [line for line in file if not line.startswith("#")]
        self.assertEqual(lines(again), lines(text))
        self.assertEqual(sum(self.folded("--counts", text).values()), sum(self.folded(data).values()))
        if stackcollapse() is not None:
            theirs = parse_folded(run(["perl", stackcollapse(), text]).stdout)
            self.assertEqual(theirs, self.folded(text))


class BpftraceText(LiveTest):
    def test_counts_every_sample(self):
        self.need_root()
        if shutil.which("bpftrace") is None:
            self.skipTest("no bpftrace")
        words = 'profile:hz:199 /comm == "split"/ { @[ustack, kstack, comm] = count(); @n = count(); }'
        found = run(["bpftrace", "-c", program("split") + " 1", "-e", words])
        if found.returncode != 0 or "@n:" not in found.stdout:
            self.skipTest("bpftrace does not sample here: " + found.stderr[-200:])
        path = self.path("bpftrace.txt")
        with open(path, "w") as file:
            file.write(found.stdout)
        total = int(found.stdout.split("@n: ")[1].split()[0])
        folded = self.folded(path)
        self.assertEqual(sum(folded.values()), total)
        self.assertTrue(all(stack.startswith("split") for stack in folded), folded)


if __name__ == "__main__":
    unittest.main()
