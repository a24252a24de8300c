"""Live tests of what can be recorded: every target of `tephra record`, with perf as the second opinion."""

import collections
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

from recording import FAMILY, FAULTS, SPIN, STORM, SUMMARY, RecordTest
from support import TEPHRA, program, run

MANY_THREADS = program("many_threads")
CGROUP2 = "/sys/fs/cgroup/unified" if os.path.ismount("/sys/fs/cgroup/unified") else "/sys/fs/cgroup"


def kinds(path, comm):
    """The kinds of records about processes of a name that perf sees in a file, and the samples."""
    words = ["perf", "script", "-i", path, "--show-task-events", "--show-mmap-events", "-F", "comm,tid,event"]
    found = collections.Counter()
    for line in run(words).stdout.splitlines():
        if not line.strip().startswith(comm):
            continue
        record = re.search(r"PERF_RECORD_\w+", line)
        found[record[0] if record else "SAMPLE"] += 1
    return found


def cpu_seconds(pid):
    """CPU time of a process's first thread so far."""
    with open(f"/proc/{pid}/schedstat") as file:
        return int(file.read().split()[0]) / 1e9


class Target(RecordTest):
    def setUp(self):
        super().setUp()
        self.need_root()
        self.need_perf()

    @contextlib.contextmanager
    def running(self, *words, **settings):
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **settings)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
            process.stdout.close()

    def both(self, *words):
        """Records the same with perf and with tephra, one after the other; the paths of the files."""
        theirs, ours = os.path.join(self.folder, "perf.data"), os.path.join(self.folder, "tephra.data")
        result = run(["perf", "record", "-q", "-N", "-B", "-o", theirs, *words])
        self.assertEqual(result.returncode, 0, result.stderr)
        result = run([TEPHRA, "record", "-o", ours, *words])
        self.assertEqual(result.returncode, 0, result.stderr)
        return theirs, ours

    def assert_same_kinds(self, *words, comm):
        """tephra may tell more: it names the parents of processes that run already."""
        theirs, ours = (kinds(path, comm) for path in self.both(*words))
        self.assertLessEqual(set(theirs), set(ours), (theirs, ours))
        self.assertLessEqual(set(ours) - set(theirs), {"PERF_RECORD_FORK"}, (theirs, ours))
        self.assertGreater(theirs["SAMPLE"], 20)
        self.assertGreater(ours["SAMPLE"], 20)
        return theirs, ours

    def assert_rate(self, path, comm, rate, seconds):
        """As many samples as the CPU time they were taken in, whoever else wanted the CPUs."""
        samples = kinds(path, comm)["SAMPLE"]
        self.assertGreater(samples, 0.5 * rate * seconds)
        self.assertLess(samples, 1.1 * rate * seconds + 5)


class SameAsPerf(Target):
    """The same flags give the same kinds of records, and as many samples."""

    rate = ("-e", "cpu-clock", "-F", "500", "-g")

    def test_a_program(self):
        theirs, ours = self.assert_same_kinds(*self.rate, FAMILY, "300", comm="family")
        for kind in ("PERF_RECORD_FORK", "PERF_RECORD_EXIT", "PERF_RECORD_MMAP2"):
            self.assertEqual(theirs[kind], ours[kind], (kind, theirs, ours))

    def test_a_program_without_its_children(self):
        self.assert_same_kinds(*self.rate, "-i", SPIN, "500", comm="spin")

    def test_a_program_after_a_delay(self):
        _, ours = self.assert_same_kinds(*self.rate, "-D", "300", SPIN, "1000", comm="spin")
        self.assertLess(ours["SAMPLE"], 0.7 * 500 * 1.1, "the first 300 ms were sampled too")

    def test_a_process(self):
        with self.running(SPIN, "10000") as process:
            self.assert_same_kinds(*self.rate, "-p", str(process.pid), "--", "sleep", "0.5", comm="spin")

    def test_every_moment_on_a_cpu_is_sampled_once(self):
        with self.running(SPIN, "10000") as process:
            before = cpu_seconds(process.pid)
            self.record(*self.rate, "-p", str(process.pid), "--", "sleep", "1.5")
            self.assert_rate(self.data, "spin", 500, cpu_seconds(process.pid) - before)

    def test_processes(self):
        with self.running(SPIN, "10000") as first, self.running(FAMILY, "10000") as second:
            theirs, ours = self.both(*self.rate, "-p", f"{first.pid},{second.pid}", "--", "sleep", "0.5")
            for comm in ("spin", "family"):
                self.assertLessEqual(set(kinds(theirs, comm)), set(kinds(ours, comm)), comm)

    def test_a_thread(self):
        with self.running(SPIN, "10000") as process:
            self.assert_same_kinds(*self.rate, "-t", str(process.pid), "--", "sleep", "0.5", comm="spin")

    def test_everything(self):
        with self.running(SPIN, "10000"):
            self.assert_same_kinds(*self.rate, "-a", "--", "sleep", "0.5", comm="spin")

    def test_a_cpu(self):
        with self.running("taskset", "-c", "1", SPIN, "10000"):
            _, ours = self.both(*self.rate, "-C", "1", "--", "sleep", "0.5")
            cpus = set(self.perf_script("-F", "cpu", path=ours).split())
            self.assertEqual(cpus, {"[001]"})

    def test_a_process_on_one_cpu(self):
        with self.running(SPIN, "10000") as process:
            self.both(*self.rate, "-C", "0", "-p", str(process.pid), "--", "sleep", "0.5")

    def test_a_user(self):
        with self.running("setpriv", "--reuid=games", "--clear-groups", SPIN, "10000"):
            time.sleep(0.2)
            self.assert_same_kinds(*self.rate, "-u", "games", "--", "sleep", "0.5", comm="spin")

    def test_faults_are_counted_alike(self):
        theirs, ours = self.both("-e", "page-faults", "-c", "1", FAULTS, "2000")
        counts = [kinds(path, "touch_pages")["SAMPLE"] for path in (theirs, ours)]
        self.assertLess(abs(counts[0] - counts[1]), 10, counts)


class ControlGroups(Target):
    def setUp(self):
        super().setUp()
        if not os.path.exists(os.path.join(CGROUP2, "cgroup.procs")):
            self.skipTest("no control groups of version 2 are mounted")
        self.groups = []
        self.addCleanup(self.remove_groups)

    def make_group(self, name):
        path = os.path.join(CGROUP2, name)
        try:
            os.mkdir(path)
        except OSError as error:
            self.skipTest(f"control groups cannot be made: {error}")
        self.groups.append(path)
        return path

    def remove_groups(self):
        for path in self.groups:
            for _ in range(50):
                with open(os.path.join(path, "cgroup.procs")) as file:
                    for pid in file.read().split():
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(int(pid), signal.SIGKILL)
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.1)

    def start_in(self, path, *words):
        return self.running("sh", "-c", f"echo $$ > {path}/cgroup.procs && exec \"$@\"", "sh", *words)

    def comms(self, path):
        return {line.strip() for line in self.perf_script("-F", "comm", path=path).splitlines() if line.strip()}

    def test_only_what_is_in_the_group(self):
        path = self.make_group(f"tephra-test-{os.getpid()}")
        with self.start_in(path, FAMILY, "10000"), self.running(SPIN, "10000"):
            time.sleep(0.2)
            result = run([TEPHRA, "record", "-e", "cpu-clock", "-F", "500", "-g", "-o", self.data, "-G",
                          os.path.basename(path), "--", "sleep", "0.6"])
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(int(SUMMARY.search(result.stderr)[1]), 100)
        self.assertEqual(self.comms(self.data) - {"exe"}, {"family"})
        folded = run([TEPHRA, "fold", "-q", self.data]).stdout
        self.assertIn("in_thread", folded)

    def test_perf_counts_as_many(self):
        path = self.make_group(f"tephra-test-{os.getpid()}")
        with self.start_in(path, SPIN, "10000"):
            time.sleep(0.2)
            self.assert_same_kinds("-a", "-e", "cpu-clock", "-F", "500", "-G", os.path.basename(path), "--", "sleep",
                                   "0.5", comm="spin")

    def test_a_container_by_the_start_of_its_id(self):
        number = f"{os.getpid():x}".rjust(12, "a") + "0" * 52
        path = self.make_group(f"docker-{number}.scope")
        with self.start_in(path, "unshare", "--pid", "--fork", "--mount-proc", SPIN, "10000"), \
                self.running(FAMILY, "10000"):
            time.sleep(0.3)
            result = run([TEPHRA, "record", "-e", "cpu-clock", "-F", "500", "-g", "-o", self.data, "--container",
                          number[:12], "--", "sleep", "0.6"])
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.comms(self.data), {"spin"})
        self.assertIn("main", run([TEPHRA, "fold", "-q", self.data]).stdout)

    def test_unknown_names(self):
        self.make_group(f"tephra-test-{os.getpid()}")
        self.fails("-G", f"tephra-tset-{os.getpid()}", "true", status=2, says=[f"tephra-test-{os.getpid()}"])
        self.fails("--container", "nosuchcontainer", "true", status=2, says=["nosuchcontainer"])


class Users(Target):
    def test_processes_that_start_later(self):
        recorder = subprocess.Popen([TEPHRA, "record", "-e", "cpu-clock", "-F", "500", "-g", "-o", self.data, "-u",
                                     "games"], stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        run(["setpriv", "--reuid=games", "--clear-groups", SPIN, "2500"])
        recorder.send_signal(signal.SIGINT)
        _, errors = recorder.communicate(timeout=20)
        self.assertEqual(recorder.returncode, 0, errors)
        samples = int(SUMMARY.search(errors)[1])
        self.assertGreater(samples, 100, errors)
        self.assertLess(samples, 2.6 * 500 * 1.1, "counted twice")
        self.assertEqual(self.perf_samples(), samples)

    def test_what_they_start_and_what_others_start_for_them(self):
        """Named, mapped, and counted once, also when the recorder has to find it."""
        recorder = subprocess.Popen([TEPHRA, "record", "-e", "cpu-clock", "-F", "500", "-g", "-o", self.data, "-u",
                                     "games", "--duration", "4"], stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        run(["setpriv", "--reuid=games", "--clear-groups", "sh", "-c", f"{SPIN} 1800; {FAMILY} 300"])
        _, errors = recorder.communicate(timeout=20)
        self.assertEqual(recorder.returncode, 0, errors)
        folded = run([TEPHRA, "fold", "-q", self.data]).stdout
        for frame in ("spin;", "heavy", "in_forked", "in_executed"):
            self.assertIn(frame, folded)

    def test_unknown_user(self):
        self.fails("-u", "nobodi", "true", status=2, says=["nobodi", "nobody"])


class Threads(Target):
    def record_threads(self, threads):
        with self.running(MANY_THREADS, str(threads), "60000") as process:
            if process.stdout.readline() != "ready\n":
                self.skipTest(f"{threads} threads cannot be had here")
            return run([TEPHRA, "record", "-e", "cpu-clock", "-F", "200", "-g", "-o", self.data, "-p",
                        str(process.pid), "--", "sleep", "1"], timeout=300)

    def test_ten_thousand(self):
        """Works, or says which limit stops it; as many as the limit allows work."""
        result = self.record_threads(10000)
        if result.returncode == 125:
            limit = int(re.search(r"(\d+) are allowed", result.stderr)[1])
            self.assertLess(limit, 10000 * 2 * os.cpu_count() + 100)
            result = self.record_threads((limit - 100) // (2 * os.cpu_count()))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(int(SUMMARY.search(result.stderr)[1]), 50)
        self.assertEqual(SUMMARY.search(result.stderr)[4], "0")
        self.assertIn("spin_here", run([TEPHRA, "fold", "-q", self.data]).stdout)

    def test_the_limit_that_stops_it_is_named(self):
        with self.running(*self.as_nobody(MANY_THREADS, "500", "20000")) as process:
            process.stdout.readline()
            result = run(self.as_nobody("sh", "-c", "ulimit -n 64; exec \"$@\"", "sh", TEPHRA, "record", "-e",
                                        "cpu-clock:u", "-o", self.data, "-p", str(process.pid), "sleep", "1"))
        self.assertEqual(result.returncode, 125, result.stderr)
        for text in ("500 threads", "64 are allowed", "ulimit -n 2064" if os.cpu_count() == 2 else "ulimit -n"):
            self.assertIn(text, result.stderr)

    def test_threads_born_after_the_attach(self):
        with self.running(STORM, "4000") as process:
            time.sleep(0.3)
            samples, _, _ = self.record("-e", "cpu-clock", "-F", "1000", "-p", str(process.pid), "--", "sleep", "1")
        # Two CPUs are busy all the time: neither missed nor counted twice.
        self.assertGreater(samples, 200)
        self.assertLess(samples, 1000 * len(os.sched_getaffinity(0)) * 1.1)

    def test_where_events_are_not_inherited(self):
        """Leader sampling cannot be inherited by new threads: they are looked for."""
        with self.running(STORM, "6000") as process:
            time.sleep(0.3)
            result = run([TEPHRA, "record", "-e", "{cpu-clock,page-faults}:S", "-c", "1000000", "-o", self.data, "-p",
                          str(process.pid), "--", "sleep", "3.5"])
        self.assertEqual(result.returncode, 0, result.stderr)
        threads = set(self.perf_script("-F", "tid").split())
        self.assertGreater(len(threads), 10)

    def test_groups_that_are_not_inherited_follow_a_program(self):
        result = run([TEPHRA, "record", "-e", "{cpu-clock,page-faults}:S", "-c", "1000000", "-g", "-o", self.data,
                      FAMILY, "1500"])
        self.assertEqual(result.returncode, 0, result.stderr)
        folded = run([TEPHRA, "fold", "-q", self.data]).stdout
        for frame in ("in_thread", "in_forked", "in_executed"):
            self.assertIn(frame, folded)

    def test_processes_named_twice(self):
        with self.running(SPIN, "10000") as first, self.running(FAMILY, "10000") as second:
            self.record("-e", "cpu-clock", "-F", "500", "-p", str(first.pid), "-p", str(second.pid), "--", "sleep", "0.7")
        comms = set(self.perf_script("-F", "comm").split())
        self.assertLessEqual({"spin", "family"}, comms)


class OddStates(Target):
    def test_a_zombie(self):
        with self.running("sh", "-c", "sleep 0 & exec sleep 20") as parent:
            time.sleep(0.5)
            children = run(["ps", "--ppid", str(parent.pid), "-o", "pid=,stat="]).stdout.split()
            self.assertEqual(children[1][0], "Z", children)
            self.fails("-p", children[0], "sleep", "0.1", status=125, says=["zombie", children[0]])

    def test_a_stopped_process(self):
        with self.running(SPIN, "10000") as process:
            process.send_signal(signal.SIGSTOP)
            result = run([TEPHRA, "record", "-e", "cpu-clock", "-o", self.data, "-p", str(process.pid), "sleep", "0.2"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("is stopped", result.stderr)

    def test_a_program_that_ends_at_once(self):
        samples, _, _ = self.record("-e", "page-faults", "-c", "1", "true")
        self.assertGreater(samples, 0)

    def test_a_thread_given_as_process(self):
        with self.running(MANY_THREADS, "3", "10000") as process:
            process.stdout.readline()
            thread = max(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task"))
            self.fails("-p", str(thread), "true", status=125, says=[f"thread of process {process.pid}"])

    def test_other_namespaces(self):
        """A process in PID and mount namespaces of its own, whose program has a path that is not ours."""
        with tempfile.TemporaryDirectory() as folder:
            script = (f"mount -t tmpfs none {folder} && cp {SPIN} {folder}/inner && exec {folder}/inner 10000")
            with self.running("unshare", "--mount", "--pid", "--fork", "sh", "-c", script):
                for _ in range(100):
                    found = run(["pgrep", "-x", "inner"]).stdout.split()
                    if found:
                        break
                    time.sleep(0.1)
                self.record("-e", "cpu-clock", "-F", "500", "-g", "-p", found[0], "--", "sleep", "0.4")
                folded = run([TEPHRA, "fold", "-q", self.data]).stdout
                run(["kill", "-9", *found])
            self.assertIn("inner;", folded)

    def pid_max(self, value=None):
        with open("/proc/sys/kernel/pid_max", "r" if value is None else "w") as file:
            return file.read() if value is None else file.write(value)

    def test_numbers_that_are_used_again(self):
        """In a PID namespace with few numbers, each process is who it was when it was sampled."""
        inside = (f"echo 400 > /proc/sys/kernel/pid_max || exit 77; exec {TEPHRA} record -e page-faults -c 1 "
                  f"-o {self.data} {program('fork_storm')} 3000 exec")
        before = self.pid_max()
        result = run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", inside])
        if result.returncode == 77 or self.pid_max() != before:
            self.pid_max(before)
            self.skipTest("this kernel has one pid_max for all namespaces")
        self.assertEqual(result.returncode, 0, result.stderr)
        ours = collections.Counter(run([TEPHRA, "script", "-q", "-F", "comm,tid", self.data]).stdout.splitlines())
        theirs = collections.Counter(self.perf_script("-F", "comm,tid").splitlines())
        clean = lambda lines: collections.Counter({tuple(line.split()): count for line, count in lines.items()})
        self.assertEqual(clean(ours), clean(theirs))
        names = collections.defaultdict(set)
        for comm, tid in clean(ours):
            names[tid].add(comm)
        self.assertLess(len(names), 450)
        self.assertIn({"fork_storm", "exe"}, names.values())


if __name__ == "__main__":
    unittest.main()
