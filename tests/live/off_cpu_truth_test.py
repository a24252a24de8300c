"""Live tests of waits against what programs, the kernel and other tools know of them: who wakes whom, storms of switches,
a budget, and what is said where waits cannot be recorded."""

import collections
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import unittest

from off_cpu_test import OffCpuTest
from support import LiveTest, TEPHRA, program, run
import waits


class Wakers(OffCpuTest):
    def by_name(self, path, function):
        """Folded stacks in which the function waits, cut where those of wakers begin: [blocked, waker, waker's waker]."""
        stacks = collections.Counter()
        for stack, ns in self.folded(path).items():
            parts = re.split(r";\[woken by [^\]]*\]", stack)
            if function in parts[0]:
                stacks[tuple(parts)] += ns
        return stacks

    def test_a_lock_is_given_back_by_its_holder(self):
        _, truth, path = self.profile("-t", "offcpu", "--wakers", first_ms=400,
                                      target=("--", program("known_waits"), "mutex", "8"))
        stacks = self.by_name(path, "wait_for_lock")
        by_holder = sum(ns for parts, ns in stacks.items() if len(parts) > 1 and "hold_lock" in parts[1])
        self.assert_near(by_holder, truth["mutex"][0], 0.02, stacks)
        # The waiter's stack is below, the holder's above, and the holder calls what lets go of the lock.
        for parts in stacks:
            self.assertNotIn("hold_lock", parts[0])
            self.assertNotIn("wait_for_lock", "".join(parts[1:]))
            self.assertRegex(parts[1], r"futex_wake;.*unlock.*hold_lock")

    def test_a_chain_of_three_threads(self):
        result, _, path = self.profile("-t", "offcpu", "--wakers", first_ms=400,
                                       target=("--", program("waking_chain"), "15"))
        third, ns, count = map(int, re.search(r"^(\d+) (\d+) (\d+)$", result.stdout, re.MULTILINE).groups())
        stacks = self.by_name(path, "wait_for_second")
        whole = sum(ns for parts, ns in stacks.items()
                    if len(parts) == 3 and "wake_third" in parts[1] and "wake_second" in parts[2])
        self.assert_near(whole, ns, 0.02, stacks)
        # By threads, as the file has them, without tephra's reader.
        recorded = waits.Waits(path)
        wakers = {waker.number: waker for waker in recorded.wakers}
        mine = [wait for wait in recorded.waits if wait.tid == third and wait.ns > 10_000_000]
        self.assertEqual(len(mine), count)
        for wait in mine:
            second = wakers[wait.waker]
            first = wakers[second.upper]
            self.assertEqual(len({third, second.tid, first.tid}), 3)
            self.assertEqual(first.tid, first.pid)
        # What the second waits for is ended by the first, that by a timer.
        for parts in self.by_name(path, "wait_for_first"):
            self.assertIn("wake_second", parts[1])


class StormTest(OffCpuTest):
    def storm(self, switches, *words):
        """Records a storm: what was said, the threads' own account, and the waits of each thread."""
        result, _, path = self.profile("-t", "offcpu", *words,
                                       target=("--", program("switch_storm"), str(switches), str(max(os.sched_getaffinity(0)))))
        threads = json.loads(re.search(r"^\[\{.*\]$", result.stdout, re.MULTILINE)[0])
        mine = collections.defaultdict(list)
        for wait in waits.Waits(path).waits:
            mine[wait.tid].append(wait)
        return result, threads, mine, path

    def assert_all_are_there(self, threads, recorded):
        """Every switch that the kernel counted, and how long they took. A thread may also wait while it ends."""
        for thread in threads:
            mine = recorded[thread["tid"]]
            switched = thread["voluntary"] + thread["involuntary"]
            self.assertIn(sum(wait.count for wait in mine) - switched, range(4), thread)
            self.assert_near(sum(wait.ns for wait in mine), thread["elapsed_ns"] - thread["cpu_ns"], 0.02, thread)


class Storms(StormTest):
    def test_every_switch_of_a_storm_is_counted(self):
        switches = 5_000_000 if os.environ.get("TEPHRA_LONG") else 300_000
        result, threads, recorded, _ = self.storm(switches)
        self.assert_all_are_there(threads, recorded)
        self.assertEqual(sum(t["voluntary"] + t["involuntary"] for t in threads) // switches, 1, threads)
        for thread in threads:
            given_up = sum(wait.count for wait in recorded[thread["tid"]] if wait.state == waits.SLEEPING and wait.syscall == 0)
            self.assertEqual(given_up, thread["often"] + thread["seldom"])
        self.assertIn(" 0 lost", result.stdout)
        self.assertNotIn("have no stack", result.stderr)

    def test_by_frame_pointers(self):
        _, threads, recorded, _ = self.storm(200_000, "--call-graph", "fp")
        self.assert_all_are_there(threads, recorded)


class Budget(StormTest):
    def test_sampled_stacks_stand_for_all(self):
        result, threads, recorded, path = self.storm(500_000, "--budget", "1%")
        self.assert_all_are_there(threads, recorded)
        told = re.search(r"timed (\d+) waits, took the stacks of (\d+) at [\d.]+ µs each: ([\d.]+) % of one CPU", result.stderr)
        self.assertLessEqual(float(told[3]), 1.0, result.stderr)
        self.assertLess(int(told[2]), int(told[1]) / 4, "nothing was left out: this does not test the budget")
        # Three of four waits are in the one function, and so is their time.
        often, seldom = (self.ns_in(path, name) for name in ("wait_often", "wait_seldom"))
        self.assertGreater(seldom, 0)
        # A single wait in which others had the CPU is as long as a thousand, and stands for more than itself if it is chosen.
        self.assertAlmostEqual(often / (often + seldom), 0.75, delta=0.12)


class Disks(OffCpuTest):
    """How long a disk takes is known to the program alone: the time in its function in which it had no CPU."""

    def measure(self, kind, *words):
        result, _, path = self.profile("-t", "offcpu", first_ms=400,
                                       target=("--", program("kinds_of_wait"), kind, *words))
        _, elapsed, on_cpu = map(int, re.search(r"^(\d+) (\d+) (\d+)$", result.stdout, re.MULTILINE).groups())
        waited = self.ns_in(path, f"wait_for_{kind}")
        recorded = waits.Waits(path).waits
        shutil.rmtree(self.path("out"))
        self.assertLessEqual(waited, 1.02 * elapsed)
        return waited, elapsed, on_cpu, recorded

    def check(self, kind, *words):
        for _ in range(4):
            waited, elapsed, on_cpu, _ = self.measure(kind, *words)
            # The machine may have taken the CPU away, which no thread of it sees.
            if abs(waited - (elapsed - on_cpu)) < 0.02 * elapsed:
                return waited, elapsed
        self.fail(f"{kind}: waited {waited}, but was {elapsed} there, of which {on_cpu} on a CPU")

    def file(self, size):
        path = self.path("file")
        with open(path, "wb") as file:
            file.write(os.urandom(size))
            os.fsync(file.fileno())
        return path

    def test_a_file_that_is_not_in_memory(self):
        waited, _ = self.check("disk", "3", self.file(8 << 20))
        if waited == 0:
            self.skipTest("this file system never waits")

    def test_a_mapped_file_that_is_not_in_memory(self):
        """Each page is waited for, for some 30 us. What the scheduler does until another thread has the CPU counts as CPU
        time of the one that waits already, so that the clock of CPU time gives a bound alone."""
        pages = 1000
        waited, elapsed, on_cpu, recorded = self.measure("fault", "2", self.file(pages * os.sysconf("SC_PAGESIZE")))
        faults = sum(wait.count for wait in recorded if wait.syscall == 0xFFFFFFFF and wait.state == waits.UNINTERRUPTIBLE)
        if faults == 0:
            self.skipTest("this file system never waits")
        self.assertLessEqual(faults, 2 * pages)
        self.assertGreaterEqual(waited, 0.98 * (elapsed - on_cpu))

    def test_an_echo_over_tcp(self):
        waited, elapsed = self.check("tcp", "20")
        self.assert_near(waited, elapsed, 0.02)


class Peers(OffCpuTest):
    """On the same run: both look at the same threads at the same time."""

    def both(self, command, ready, target):
        """Runs the peer, and tephra beside it: what tephra printed, its recording, and what the peer printed."""
        peer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder)
        self.addCleanup(peer.stdout.close)
        self.addCleanup(peer.wait)
        self.addCleanup(peer.kill)
        if ready:
            for line in peer.stdout:
                if ready in line:
                    break
        result, _, path = self.profile("-t", "offcpu", target=("--", *target))
        peer.send_signal(signal.SIGINT)
        return result, path, peer.communicate(timeout=60)[0]

    def sums(self, path):
        ns, count = collections.Counter(), collections.Counter()
        for wait in waits.Waits(path).waits:
            ns[wait.tid] += wait.ns
            count[wait.tid] += wait.count
        return ns, count

    def test_bpftrace_sees_the_same_times(self):
        if shutil.which("bpftrace") is None:
            self.skipTest("bpftrace is not installed")
        script = ('BEGIN { printf("ready\\n"); } tracepoint:sched:sched_switch {'
                  ' if (args->prev_comm == "known_waits" && args->prev_state < 16) { @since[args->prev_pid] = nsecs; }'
                  ' $since = @since[args->next_pid];'
                  ' if ($since) { @ns[args->next_pid] = sum(nsecs - $since); @count[args->next_pid] = count();'
                  ' delete(@since[args->next_pid]); } }')
        _, path, told = self.both(["bpftrace", "-e", script], "ready", [program("known_waits"), "mutex", "10"])
        theirs = {(name, int(tid)): int(value) for name, tid, value in re.findall(r"@(ns|count)\[(\d+)\]: (\d+)", told)}
        ns, count = self.sums(path)
        self.assertEqual(len(ns), 2)
        for tid, mine in ns.items():
            self.assertLessEqual(abs(count[tid] - theirs["count", tid]), 3)
            self.assert_near(mine, theirs["ns", tid], 0.02)

    def test_perf_sched_timehist_sees_the_same_times(self):
        self.need_perf()
        run([TEPHRA, "record", "-q", "-e", "sched:sched_switch", "-o", self.path("first.data"), "--", "true"])
        for _ in range(8):
            pairs = self.with_timehist()
            # Some machines hide switches from perf now and then.
            if all(abs(mine - theirs) < 0.02 * theirs for mine, theirs in pairs):
                return
        self.fail(f"tephra and perf: {pairs}")

    def with_timehist(self):
        """Nanoseconds of waiting of each thread, by tephra and by perf."""
        data = self.path("theirs.data")
        peer = ["perf", "record", "-B", "-N", "-a", "-e", "sched:sched_switch", "-o", data, "--", "sh", "-c",
                "echo ready; exec sleep 60"]
        _, path, _ = self.both(peer, "ready", [program("known_waits"), "mutex", "10"])
        told = run(["perf", "sched", "timehist", "-i", data, "--no-call-graph"])
        theirs = collections.defaultdict(list)
        for line in told.stdout.splitlines():
            row = re.match(r"\s*[\d.]+\s+\[\d+\]\s+known_waits\[(\d+)(?:/\d+)?\]\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s*$", line)
            if row:
                theirs[int(row[1])].append(float(row[2]) * 1e6)
        ns, _ = self.sums(path)
        last = {wait.tid: wait.ns for wait in sorted(waits.Waits(path).waits, key=lambda wait: wait.time)}
        self.assertEqual(set(ns), set(theirs))
        shutil.rmtree(self.path("out"))
        # The first wait that perf tells of is from before the program began; when a thread ends, it forgets the last one.
        pairs = []
        for tid, mine in ns.items():
            wanted = sum(theirs[tid][1:])
            pairs.append((min((mine, mine - last[tid]), key=lambda value: abs(value - wanted)), wanted))
        return pairs

    def test_schedstat_counts_the_same_run_and_queue_times(self):
        result, _, path = self.profile("-t", "wall", target=("--", program("rivals"), "share", "400"))
        threads = json.loads(re.search(r"^\{.*\}$", result.stdout, re.MULTILINE)[0])
        recorded = waits.Waits(path)
        queued = collections.Counter()
        for wait in recorded.waits:
            if wait.state == waits.RUN_QUEUE:
                queued[wait.tid] += wait.ns
        for thread in filter(lambda value: isinstance(value, dict), threads.values()):
            if not thread["ran_ns"]:
                self.skipTest("this kernel has no schedstat")
            self.assert_near(recorded.ran[thread["tid"]], thread["ran_ns"], 0.02)
            self.assert_near(queued[thread["tid"]], thread["queued_ns"], 0.02)


class Targets(OffCpuTest):
    """Those of a user and of a control group are watched, and nobody else."""

    def check(self, *words):
        for kind in ("offcpu", "wall"):
            with self.subTest(kind=kind):
                _, _, path = self.profile("-t", kind, "-d", "0.5", target=words)
                recorded = waits.Waits(path)
                self.assertEqual({wait.pid for wait in recorded.waits}, {self.child.pid})
                longest = max(wait.ns for wait in recorded.waits)
                self.assertEqual(self.ns_in(path, "sleep_in_named_function"), longest)
                self.assertGreaterEqual(longest, 500_000_000)
                shutil.rmtree(self.path("out"))

    def start_as(self, *before):
        self.child = self.start(*before, program("known_waits"), "sleeper", "60000")
        self.assertEqual(self.child.stdout.readline(), "ready\n")

    def test_a_user(self):
        self.start_as("setpriv", "--reuid=65531", "--clear-groups")
        self.start(program("known_waits"), "sleeper", "60000").stdout.readline()
        self.check("-u", "65531")

    def test_a_control_group(self):
        root = next((path for path in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
                     if os.path.exists(os.path.join(path, "cgroup.controllers"))), None)
        name = f"tephra-test-{os.getpid()}"
        try:
            os.mkdir(os.path.join(root or "/sys/fs/cgroup", name))
        except OSError as error:
            self.skipTest(f"control groups cannot be made here: {error}")
        folder = os.path.join(root, name)
        self.addCleanup(os.rmdir, folder)
        self.start_as()
        self.addCleanup(self.child.wait)
        self.addCleanup(self.child.kill)
        with open(os.path.join(folder, "cgroup.procs"), "w") as file:
            file.write(str(self.child.pid))
        self.check("-G", name)

    def test_not_cpus(self):
        for kind in ("offcpu", "wall"):
            result = self.tephra("profile", "-t", kind, "-C", "0", "-d", "0.1", status=2)
            self.assertIn("waits cannot be limited to CPUs", result.stderr)


class Refusals(LiveTest):
    """One line each, of what is missing and what to do."""

    def setUp(self):
        super().setUp()
        self.need_root()

    def refused(self, *words, before=(), says, **settings):
        result = run([*before, TEPHRA, "profile", *words], cwd=self.folder, **settings)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertEqual(result.stdout, "")
        for text in (says,) if isinstance(says, str) else says:
            self.assertIn(text, result.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def nobody(self, *capabilities):
        os.chmod(self.folder, 0o777)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for kind in ("--inh-caps=-all", "--ambient-caps=-all"):
            words.append(",".join([kind, *(f"+{name}" for name in capabilities)]))
        return words

    def without_tracefs(self):
        script = 'umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; mount -t tmpfs none /sys/kernel && exec "$@"'
        if run(["unshare", "-m", "sh", "-c", script, "sh", "true"]).returncode != 0:
            self.skipTest("mounts cannot be made here")
        return ["unshare", "-m", "sh", "-c", script, "sh"]

    def test_not_root(self):
        self.refused("-t", "offcpu", "--", "true", before=self.nobody(), says="neither can be used")
        self.refused("-t", "wall", "--", "true", before=self.nobody(), says=("may not be loaded by this user", "setcap"))

    def test_neither_tracefs_nor_types_of_the_kernel(self):
        """With /sys/kernel goes also its description, without which BPF programs cannot be fitted to it."""
        self.refused("-t", "offcpu", "--", "true", before=self.without_tracefs(),
                     says=("neither can be used", "mount -t tracefs"))
        self.refused("-t", "wall", "--", "true", before=self.without_tracefs(), says="/sys/kernel/btf/vmlinux")
        self.refused("-t", "syscalls", "--", "true", before=self.without_tracefs(), says="mount -t tracefs")

    def test_processes_and_threads_that_are_gone(self):
        child = subprocess.Popen(["true"])
        child.wait()
        for kind in ("offcpu", "wall", "mem"):
            self.refused("-t", kind, "-p", str(child.pid), says=(str(child.pid), "no such process"))
            self.refused("-t", kind, "--tid", str(child.pid), says=(str(child.pid), "no such thread"))

    def test_too_few_descriptors(self):
        def few():
            resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))
        for kind in ("offcpu", "wall", "mem"):
            self.refused("-t", kind, "--", "true", says="ulimit -n", preexec_fn=few)

    def test_too_few_threads(self):
        """A user who may have no more processes or threads."""
        def few():
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        # The limit counts a user's processes; nobody has one already, which is the one that runs this.
        for kind in ("offcpu", "wall", "mem"):
            self.refused("-t", kind, "--", "true", before=self.nobody("bpf", "perfmon", "sys_ptrace", "syslog"),
                         says=("Resource temporarily unavailable", "ulimit -u"), preexec_fn=few)

    def test_locked_memory_is_not_needed(self):
        def none():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
        self.tephra("profile", "-t", "offcpu,mem", "--", "sleep", "0.05", preexec_fn=none)

    def test_the_rights_that_are_advised_are_enough(self):
        for kind in ("offcpu", "wall"):
            result = run([*self.nobody("bpf", "perfmon", "sys_ptrace", "syslog"), TEPHRA, "profile", "-t", kind, "--", "sleep",
                          "0.05"], cwd=self.folder)
            if "unknown capability" in result.stderr:
                self.skipTest(result.stderr)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("sched_switch", result.stderr)
            self.assertIn("sleep", result.stdout)


if __name__ == "__main__":
    unittest.main()
