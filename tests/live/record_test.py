"""Live tests of `tephra record`: the real kernel, with perf and hotspot's parser as second opinions.

TEPHRA names the program under test (build/release/tephra). TEPHRA_FULL=1 runs the long form of the kill tests.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest

from recording import FAMILY, FAULTS, SPIN, STORM, SUMMARY, RecordTest, paranoid
from support import TEPHRA, run

PERFPARSER = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"
KILLS = 50 if os.environ.get("TEPHRA_FULL") else 8


class Samples(RecordTest):
    def test_everyone_counts_the_same_samples(self):
        self.need_perf()
        samples, lost, _ = self.record("-g", "-F", "1000", "-e", "cpu-clock", "--", SPIN, "500")
        self.assertEqual(lost, 0)
        self.assertGreater(samples, 20)
        self.assertEqual(self.perf_samples(), samples)
        report = run(["perf", "report", "--stdio", "-n", "--no-children", "-g", "none", "-s", "comm", "-i", self.data])
        counts = [int(m[1]) for m in re.finditer(r"^ +[\d.]+% +(\d+) ", report.stdout, re.M)]
        self.assertEqual(sum(counts), samples, report.stdout)

    def test_hotspot_counts_the_same_samples(self):
        if not os.path.exists(PERFPARSER):
            self.skipTest("hotspot is not installed")
        # It does not unpack compressed records, which stacks walked in the kernel become by default.
        samples, _, _ = self.record("-g", "-F", "1000", "-e", "cpu-clock", "--", SPIN, "300")
        result = run([PERFPARSER, "--input", self.data, "--print-stats"])
        found = re.search(r"^samples: (\d+)", result.stdout + result.stderr, re.M)
        self.assertEqual(int(found[1]), samples)

    def test_shares_and_stacks_are_those_of_the_program(self):
        self.need_perf()
        self.record("-g", "-F", "2000", "-e", "cpu-clock:u", "--", SPIN, "800")
        stacks = self.perf_script("-F", "ip,sym").split("\n\n")
        heavy = sum(" heavy" in stack and " main" in stack for stack in stacks)
        light = sum(" light" in stack and " main" in stack for stack in stacks)
        self.assertAlmostEqual(heavy / (heavy + light), 0.7, delta=0.1)

    def test_children_and_threads_are_recorded(self):
        self.need_perf()
        self.record("-g", "-F", "1000", "-e", "cpu-clock", "--", FAMILY, "150")
        text = self.perf_script("-F", "comm,tid,ip,sym")
        for function in ("in_thread", "in_forked", "in_executed"):
            self.assertIn(function, text)
        by_function = {}
        for stack in text.split("\n\n"):
            head = stack.strip().split("\n")[0].split()
            for function in ("in_thread", "in_forked", "in_executed"):
                if function in stack:
                    by_function.setdefault(function, set()).add(head[-1])
        self.assertEqual(len(by_function["in_thread"]), 2)
        self.assertEqual(len(by_function["in_forked"]), 1)
        self.assertEqual(len(by_function["in_executed"]), 1)
        tasks = self.perf_script("--show-task-events")
        self.assertRegex(tasks, r"PERF_RECORD_COMM exec: exe:|PERF_RECORD_COMM exec: family:")
        self.assertIn("PERF_RECORD_EXIT", tasks)

    def test_no_inherit_leaves_children_out(self):
        self.need_perf()
        self.record("-i", "-g", "-F", "1000", "-e", "cpu-clock", "--", FAMILY, "100")
        self.assertNotIn("in_forked", self.perf_script("-F", "ip,sym"))

    def test_a_running_process_with_all_its_threads(self):
        self.need_perf()
        process = subprocess.Popen([FAMILY, "1500"])
        self.addCleanup(process.wait)
        time.sleep(0.3)
        samples, _, _ = self.record("-p", str(process.pid), "-g", "-F", "500", "-e", "cpu-clock", "--", "sleep", "0.7")
        text = self.perf_script("-F", "comm,tid,ip,sym")
        self.assertIn("in_thread", text)
        self.assertIn("family", text)
        self.assertNotIn("in_forked", text)  # a process of its own, started before
        self.assertEqual(self.perf_samples(), samples)

    def test_recording_ends_with_the_process(self):
        process = subprocess.Popen([SPIN, "600"])
        reaper = threading.Thread(target=process.wait)  # an unreaped child would stay a process
        reaper.start()
        begin = time.monotonic()
        self.record("-p", str(process.pid), "-F", "500")
        self.assertLess(time.monotonic() - begin, 20)
        reaper.join()

    def test_recording_ends_with_the_thread(self):
        process = subprocess.Popen([SPIN, "600"])
        self.addCleanup(process.wait)
        begin = time.monotonic()
        samples, _, _ = self.record("-t", str(process.pid), "-F", "500")
        self.assertLess(time.monotonic() - begin, 20)
        self.assertGreater(samples, 5)

    def test_the_whole_machine(self):
        self.need_root()
        self.need_perf()
        process = subprocess.Popen([SPIN, "1500"])
        self.addCleanup(process.wait)
        time.sleep(0.2)
        samples, _, _ = self.record("-a", "-g", "-F", "500", "--", "sleep", "0.6")
        self.assertEqual(self.perf_samples(), samples)
        text = self.perf_script("-F", "comm,ip,sym,dso")
        self.assertRegex(text, r"heavy.*programs/spin")  # mapped before the recording began

    def test_page_faults_are_exact(self):
        samples, lost, _ = self.record("-e", "page-faults:u", "-c", "1", "-m", "4M", "--", FAULTS, "5000")
        self.assertGreaterEqual(samples + lost, 5000)
        self.assertLess(samples + lost, 5600)

    def test_losses_are_counted_to_the_last(self):
        self.need_perf()
        samples, lost, _ = self.record("-e", "page-faults:u", "-c", "1", "-m", "1", "--", FAULTS, "300000")
        self.assertGreaterEqual(samples + lost, 300000)
        self.assertLess(samples + lost, 300600)
        if lost == 0:
            self.skipTest("nothing was lost with a ring of one page")
        text = self.perf_script("--show-lost-events")
        self.assertEqual(sum(int(m[1]) for m in re.finditer(r"PERF_RECORD_LOST lost (\d+)", text)), lost)

    def test_one_sample_every_so_many_events(self):
        """Also for events of software, of which the kernel likes to sample each."""
        samples, _, _ = self.record("-e", "page-faults", "-c", "100", FAULTS, "5000")
        self.assertLess(abs(samples - 50), 5)
        periods = run([TEPHRA, "script", "-q", "-F", "period", self.data]).stdout.split()
        self.assertEqual(set(periods), {"100"})

    def test_several_events(self):
        self.need_perf()
        self.record("-e", "cpu-clock,page-faults", "-e", "context-switches", "-F", "1000", "--", FAMILY, "100")
        listed = run(["perf", "evlist", "-i", self.data]).stdout.split()
        self.assertEqual(listed, ["cpu-clock", "page-faults", "context-switches"])
        text = self.perf_script("-F", "event")
        for event in listed:
            self.assertIn(event + ":", text)

    def test_dwarf_stacks(self):
        self.need_perf()
        self.record("--call-graph", "dwarf,4096", "-F", "500", "-e", "cpu-clock:u", "--", SPIN, "200")
        attributes = run(["perf", "evlist", "-v", "-i", self.data]).stdout
        self.assertIn("sample_stack_user: 4096", attributes)
        self.assertIn("exclude_callchain_user: 1", attributes)
        self.assertRegex(self.perf_script("-F", "ip,sym", "--no-inline"), r"work\n.*heavy\n.*main")

    def test_the_kernel_is_mapped_where_perf_says(self):
        self.need_root()
        self.need_perf()
        self.record("-e", "cpu-clock", "--", "true")
        other = os.path.join(self.folder, "perf.data")
        run(["perf", "record", "-q", "-e", "cpu-clock", "-o", other, "true"])
        line = re.compile(r"PERF_RECORD_MMAP -1/0:.*_text")
        ours = line.search(self.perf_script("--show-mmap-events"))
        theirs = line.search(self.perf_script("--show-mmap-events", path=other))
        self.assertEqual(ours[0], theirs[0])

    def test_a_process_that_starts_threads_all_the_time(self):
        process = subprocess.Popen([STORM, "20000"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.2)
        samples, _, _ = self.record("-p", str(process.pid), "-F", "1000", "-e", "cpu-clock", "--", "sleep", "0.5")
        # Events that threads have twice would show as more samples than there is CPU time.
        self.assertGreater(samples, 5)
        self.assertLess(samples, self.seconds * 1000 * os.cpu_count() * 1.1 + 50)

    def test_build_ids_are_stored(self):
        self.need_perf()
        self.record("-e", "cpu-clock", "--", SPIN, "50")
        listed = run(["perf", "buildid-list", "-i", self.data]).stdout
        notes = run(["readelf", "-n", SPIN]).stdout
        self.assertIn(re.search(r"Build ID: (\w+)", notes)[1], listed)
        self.assertIn("[kernel.kallsyms]", listed)

    def test_header(self):
        self.need_perf()
        self.record("-e", "cpu-clock", "--", SPIN, "50")
        text = run(["perf", "report", "--header-only", "-i", self.data]).stdout
        for part in ("hostname : ", "os release : ", "arch : ", "nrcpus online : ", "cmdline : tephra record",
                     "name = cpu-clock", "time of first sample", "clockid: monotonic"):
            self.assertIn(part, text)

    def test_the_earlier_file_is_kept(self):
        self.record("-e", "cpu-clock", "--", "true")
        with open(self.data, "rb") as file:
            earlier = file.read()
        self.record("-e", "cpu-clock", "--", "true")
        with open(self.data + ".old", "rb") as file:
            self.assertEqual(file.read(), earlier)


class Tracepoints(RecordTest):
    def setUp(self):
        super().setUp()
        self.need_tracepoints()

    def test_perf_prints_the_fields(self):
        self.need_perf()
        samples, _, name = self.record("-e", "sched:sched_process_fork", "--", FAMILY, "20")
        self.assertEqual(name, "sched:sched_process_fork")
        text = self.perf_script()
        self.assertEqual(len(re.findall(r"sched:sched_process_fork: comm=\S+ pid=\d+ child_comm=", text)), samples)
        self.assertEqual(samples, 4)  # two processes, two threads

    def test_patterns(self):
        self.need_perf()
        self.record("-e", "sched:sched_process_f*", "--", FAMILY, "20")
        listed = run(["perf", "evlist", "-i", self.data]).stdout
        self.assertIn("sched:sched_process_fork", listed)

    def test_with_stacks_on_all_cpus(self):
        self.need_perf()
        samples, _, _ = self.record("-a", "-g", "-e", "sched:sched_switch", "--", "sleep", "0.3")
        self.assertEqual(self.perf_samples(), samples)
        self.assertIn("schedule", self.perf_script("-F", "ip,sym"))

    def test_unknown_names_get_suggestions(self):
        self.fails("-e", "sched:sched_swich", "true", status=2, says=["no such event", "sched:sched_switch"])
        self.fails("-e", "shed:sched_switch", "true", status=2, says=["no such event", "sched"])


class Kills(RecordTest):
    """A recorder killed at any moment leaves a file that perf opens, or none."""

    def kill_at_random(self, *words):
        self.need_perf()
        published = 0
        for index in range(KILLS):
            for name in os.listdir(self.folder):
                os.unlink(os.path.join(self.folder, name))
            process = subprocess.Popen([TEPHRA, "record", "-q", "-o", self.data, *words],
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            time.sleep(random.uniform(0.0, 0.4))
            process.kill()
            process.wait()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            if not os.path.exists(self.data):
                self.assert_no_leftovers()
                continue
            published += 1
            self.assert_perf_opens(self.data)
            self.assert_tephra_opens(self.data)
        self.assertGreater(published, 0)

    def test_samples_with_stacks(self):
        self.kill_at_random("--call-graph", "fp", "-F", "10000", "-m", "8", "-e", "cpu-clock", "--", FAMILY, "3000")

    def test_tracepoint(self):
        self.need_tracepoints()
        self.kill_at_random("-a", "-m", "4", "-e", "sched:sched_switch", "-e", "sched:sched_wakeup")


class AsItWouldRun(RecordTest):
    """Being recorded changes nothing for the program, and our caller's settings nothing for us."""

    def test_limits_and_signals_are_the_callers(self):
        script = "ulimit -n; grep SigBlk /proc/self/status; grep SigIgn /proc/self/status"
        alone = run(["sh", "-c", script])
        recorded = run([TEPHRA, "record", "-q", "-o", self.data, "sh", "-c", script])
        self.assertEqual(recorded.stdout, alone.stdout)

    def test_a_caller_that_ignores_its_children(self):
        ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        done = subprocess.run([TEPHRA, "record", "-q", "-o", self.data, "sh", "-c", "exit 5"], timeout=30,
                              capture_output=True, preexec_fn=ignore)
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_a_stopped_program_is_ended_too(self):
        done = run([TEPHRA, "profile", "-q", "-d", "0.5", "-o", self.folder, "--", "sh", "-c", "kill -STOP $$"],
                   timeout=30)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_what_is_named_twice_counts_once(self):
        child = subprocess.Popen([SPIN, "20000"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        once, _, _ = self.record("-e", "cpu-clock:u", "-F", "1000", "-p", str(child.pid), "--", "sleep", "0.5")
        twice, _, _ = self.record("-e", "cpu-clock:u", "-F", "1000", "-p", f"{child.pid},{child.pid}", "--", "sleep",
                                  "0.5")
        self.assertLess(twice, 1.6 * once)
        self.fails("-p", str(child.pid), "-t", str(child.pid), "sleep", "0.1", status=2, says=["only one of -p, -t"])


class Ends(RecordTest):
    def test_the_status_is_the_programs(self):
        self.record("--", "sh", "-c", "exit 7", status=7)
        self.record("--", "sh", "-c", "kill -9 $$", status=128 + 9)

    def test_a_program_that_cannot_start(self):
        self.fails("--", "./no-such-program", status=127, says=["cannot start './no-such-program'", "No such file"])
        self.fails("--", "/etc/passwd", status=126, says=["cannot start '/etc/passwd'", "Permission denied"])
        self.assert_no_leftovers()

    def test_options_after_the_program_are_its_own(self):
        self.record("-F", "99", "sh", "-c", "exit 3", status=3)
        self.record("-aF", "99", "sh", "-c", "exit 4", "-p", status=4)

    def interrupt(self, how, *words):
        process = subprocess.Popen([TEPHRA, "record", "-o", self.data, "-e", "cpu-clock", *words],
                                   stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        process.send_signal(how)
        stderr = process.communicate(timeout=20)[1]
        self.assertRegex(stderr, SUMMARY)
        return process.returncode

    def test_interrupts_finish_the_file(self):
        self.need_perf()
        for how in (signal.SIGINT, signal.SIGTERM):
            self.assertEqual(self.interrupt(how, "--", SPIN, "30000"), 128 + signal.SIGTERM)
            self.assertGreater(self.perf_samples(), 10)

    def test_interrupting_an_attached_recording_is_success(self):
        process = subprocess.Popen([SPIN, "2000"])
        self.addCleanup(process.wait)
        self.assertEqual(self.interrupt(signal.SIGINT, "-p", str(process.pid)), 0)
        self.assertIsNone(process.poll())


class Errors(RecordTest):
    def test_wrong_words(self):
        self.fails(status=2, says=["nothing to record", "-p PID", "-a"])
        self.fails("-e", "cpu-clok", "true", status=2, says=["no such event 'cpu-clok'", "Did you mean cpu-clock"])
        self.fails("-F", "0", "true", status=2, says=["not a frequency '0'"])
        self.fails("-F", "999999999", "true", status=2, says=["the limit is", "perf_event_max_sample_rate"])
        self.fails("-c", "0", "true", status=2, says=["not a period"])
        self.fails("-F", "9", "-c", "9", "true", status=2, says=["-F and -c"])
        self.fails("--call-graph", "magic", "true", status=2, says=["unknown call graph mode"])
        self.fails("--call-graph", "dwarf,70000", "true", status=2, says=["65528"])
        self.fails("--call-graph", "", "true", status=2, says=["unknown call graph mode"])
        self.fails("--call-graph=", "true", status=2, says=["--call-graph"])
        self.fails("--call-graph", "dwarf,1", "true", status=2, says=["not a stack size", "1024", "callers"])
        self.fails("-m", "zero", "true", status=2, says=["not a ring size"])
        self.fails("-p", "12x", status=2, says=["not a list of process numbers"])
        self.fails("-a", "-p", "1", status=2, says=["-a records everything"])
        self.fails("--frobnicate", "true", status=2, says=["frobnicate"])
        self.assert_no_leftovers()

    def test_a_program_is_not_written_over(self):
        shutil.copy(SPIN, os.path.join(self.folder, "app"))
        with open(os.path.join(self.folder, "script"), "w") as script:
            script.write("#!/bin/sh\n")
        os.chmod(os.path.join(self.folder, "script"), 0o755)
        os.link(os.path.join(self.folder, "script"), os.path.join(self.folder, "other-name"))
        self.fails("-o", "app", "./app", "1", status=2, says=["cannot write 'app'", "the program that is to be run"])
        self.fails("-o", "app", "true", status=2, says=["cannot write 'app'", "a program, not a recording"])
        self.fails("-o", "other-name", "./script", status=2, says=["the program that is to be run"])
        path = self.folder + ":" + os.environ["PATH"]
        found = run([TEPHRA, "record", "-o", "script", "script"], cwd=self.folder, env={**os.environ, "PATH": path})
        self.assertEqual(found.returncode, 2, found.stderr)
        self.assert_no_leftovers("app", "other-name", "script")
        with open(SPIN, "rb") as whole, open(os.path.join(self.folder, "app"), "rb") as kept:
            self.assertEqual(whole.read(), kept.read())

    def test_too_few_descriptors_are_an_error_that_says_so(self):
        for mode in ("auto", "bpf"):
            statuses = {}
            for limit in range(9, 45):
                with self.subTest(mode=mode, limit=limit):
                    result = run(["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", TEPHRA, "record", "--call-graph",
                                  mode, "-F", "499", "-o", self.data, "true"])
                    statuses[limit] = result.returncode
                    self.assertIn(result.returncode, (0, 125), result.stderr)
                    self.assertNotIn("CONFIG_BPF_SYSCALL", result.stderr)
                    if result.returncode != 0:
                        self.assertIn("too many open files", result.stderr.lower())
                        self.assertIn("ulimit -n", result.stderr)
            self.assertEqual(statuses[9], 125)

    def test_no_such_process(self):
        self.fails("-p", "4194000", status=1, says=["4194000", "no such process"])
        self.fails("-t", "4194000", status=1, says=["4194000", "no such thread"])
        self.assert_no_leftovers()

    def test_hardware_events_where_there_are_none(self):
        result = run([TEPHRA, "record", "-e", "cycles", "-o", self.data, "true"])
        if result.returncode == 0:
            self.skipTest("this machine counts cycles")
        self.fails("-e", "cycles", "true", status=125, says=["cannot count 'cycles'", "-e cpu-clock"])
        self.assert_no_leftovers()

    def test_output_that_cannot_be_written(self):
        self.fails("-o", "missing/out.data", "true", status=125, says=["cannot write 'missing/out.data'", "No such file"])
        self.fails("-o", "/", "true", status=125, says=["cannot write '/'"])
        os.mkfifo(os.path.join(self.folder, "fifo"))
        self.fails("-o", "fifo", "true", status=125, says=["cannot write 'fifo'"])
        self.fails("-o", "/dev/full", "true", status=125, says=["No space left on device"])

    def test_too_few_descriptors(self):
        limit = "ulimit -n 12; "
        words = f"{TEPHRA} record -e cpu-clock,task-clock,page-faults,cs,minor-faults,major-faults -- true"
        result = run(["sh", "-c", limit + words], cwd=self.folder)
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("Too many open files", result.stderr)
        self.assertIn("ulimit -n", result.stderr)

    def test_full_disk(self):
        self.need_root()
        place = os.path.join(self.folder, "small")
        os.mkdir(place)
        if run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place]).returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(run, ["umount", place])
        data = os.path.join(place, "out.data")
        result = run([TEPHRA, "record", "--call-graph", "fp", "-F", "10000", "-m", "8", "-e", "cpu-clock", "-o", data, "--", SPIN, "3000"])
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertIn("is kept", result.stderr)
        self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
        if shutil.which("perf"):
            self.assert_perf_opens(data)
            self.assertGreater(self.perf_samples(data), 100)

    def test_disk_full_from_the_start_leaves_nothing(self):
        self.need_root()
        place = os.path.join(self.folder, "tiny")
        os.mkdir(place)
        if run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", place]).returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(run, ["umount", place])
        result = run([TEPHRA, "record", "-g", "-e", "cpu-clock", "-o", place + "/out.data", "--", SPIN, "300"])
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertEqual(os.listdir(place), [])


class Unprivileged(RecordTest):
    def test_user_code_of_own_programs(self):
        if not 1 < paranoid() < 3:
            self.skipTest("perf_event_paranoid is not 2")
        result = run(self.as_nobody(TEPHRA, "record", "-g", "-o", self.data, "--", SPIN, "300"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("only user code is sampled: perf_event_paranoid is 2", result.stderr)
        self.assertIn("cpu-clock:u", result.stderr)

    def test_what_is_not_allowed_says_why_and_how(self):
        if paranoid() < 2:
            self.skipTest("perf_event_paranoid allows it")
        for words, says in (
            (["-a", "sleep", "0.1"], ["everything on the CPUs", f"perf_event_paranoid is {paranoid()}", "CAP_PERFMON", "sysctl"]),
            (["-e", "cpu-clock:k", "true"], ["kernel code", f"perf_event_paranoid is {paranoid()}", "CAP_PERFMON", ":u"]),
            (["-e", "cpu-clock:u", "-p", str(os.getpid())], ["another user"]),
            (["-e", "sched:sched_switch", "true"], ["tracepoints", "root"]),
        ):
            result = run(self.as_nobody(TEPHRA, "record", "-q", "-o", self.data, *words))
            self.assertIn(result.returncode, (1, 125), result.stderr)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
            for text in says:
                self.assertIn(text, result.stderr)
        self.assert_no_leftovers()

    def test_rings_that_may_not_be_locked(self):
        self.need_rights_of_plain_users()
        if paranoid() < 2:
            self.skipTest("perf_event_paranoid allows it")
        words = ["sh", "-c", f"ulimit -l 0; exec {TEPHRA} record -q -e cpu-clock:u -m 64M -o {self.data} true"]
        result = run(self.as_nobody(*words))
        self.assertEqual(result.returncode, 125, result.stderr)
        for text in ("cannot lock a ring", "-m", "perf_event_mlock_kb"):
            self.assertIn(text, result.stderr)


if __name__ == "__main__":
    unittest.main()
