"""Live tests of `tephra doctor`: the real kernel, as root, as a plain user, under filters and in namespaces."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from support import TEPHRA, LiveTest, program, run

SPIN = program("spin")
FRAMELESS = program("frameless")
WITHOUT_PERF = program("without_perf")
WORKERS = program("workers")
NOBODY = 65534


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def sysctl(name):
    return os.path.join("/proc/sys/kernel", name)


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().strip()


class DoctorTest(LiveTest):
    def start(self, *command, **settings):
        """A process that ends with the test, once it runs its own program."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **settings)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        name = os.path.basename(command[0])[:15]
        deadline = time.time() + 5
        while text_of(f"/proc/{process.pid}/comm") != name and time.time() < deadline:
            time.sleep(0.01)
        return process

    def doctor(self, *words, before=(), status=0, **settings):
        """What `tephra doctor --json` says, as Python values."""
        result = run([*before, TEPHRA, "doctor", "--json", *words], cwd="/", **settings)
        self.assertEqual(result.returncode, status, result.stdout[-3000:] + result.stderr)
        return json.loads(result.stdout)

    def finding(self, findings, topic, what=""):
        for each in findings:
            if each["topic"] == topic and what in each["what"]:
                return each
        return None

    def check_form(self, findings):
        self.assertTrue(findings)
        for each in findings:
            self.assertEqual(list(each), ["topic", "level", "what", "lost", "fix"])
            self.assertIn(each["level"], ("good", "limited", "missing"))
            self.assertEqual(each["level"] == "good", each["fix"] == "", each)

    def module(self, report, name):
        return next(m for m in report["process"]["modules"] if os.path.basename(m["path"]) == name)


class MachineTest(DoctorTest):
    def test_root_gets_cpu_profiles_and_facts_match_the_machine(self):
        self.need_root()
        report = self.doctor()
        self.check_form(report["findings"])
        self.assertTrue(report["cpu_profiling_works"])
        self.assertEqual(self.finding(report["findings"], "cpu profiles")["level"], "good")
        machine = report["machine"]
        self.assertEqual(machine["release"], os.uname().release)
        self.assertEqual(machine["cpus"], os.cpu_count())
        self.assertEqual(machine["settings"]["perf_event_paranoid"], int(text_of(sysctl("perf_event_paranoid"))))
        self.assertEqual(machine["user"]["uid"], 0)
        self.assertEqual(machine["btf"], os.path.exists("/sys/kernel/btf/vmlinux"))
        self.assertEqual(machine["tracefs"]["readable"], os.path.isdir("/sys/kernel/tracing/events"))

    def test_trials_agree_with_recording(self):
        """Where the doctor says that an event works, recording it does, and the other way round."""
        for user in (None, become_nobody):
            if user is not None:
                self.need_root()
            # Its status is 1 where this user can record nothing at all.
            result = run([TEPHRA, "doctor", "--json"], preexec_fn=user, cwd="/")
            events = json.loads(result.stdout)["machine"]["events"]
            self.assertEqual(result.returncode == 0, events["user"]["works"], result.stdout)
            os.chmod(self.folder, 0o777)
            for trial, words in (("user", ["-e", "cpu-clock:u", "true"]),
                                 ("every_process", ["-e", "cpu-clock:u", "-a", "true"])):
                done = run([TEPHRA, "record", "-q", "-o", self.path(f"{trial}.data"), *words], preexec_fn=user,
                           cwd=self.folder)
                self.assertEqual(done.returncode == 0, events[trial]["works"], f"{trial} {user}: {done.stderr}")

    def test_bpf_trials_agree_with_bpftrace(self):
        self.need_root()
        if shutil.which("bpftrace") is None:
            self.skipTest("bpftrace is not installed")
        programs = self.doctor()["machine"]["bpf"]["programs"]
        done = run(["bpftrace", "-e", "tracepoint:sched:sched_switch { exit(); }"], timeout=60)
        self.assertEqual(done.returncode == 0, programs["tracepoint"]["works"], done.stderr)
        fentry = run(["bpftrace", "-e", "kfunc:vmlinux:do_nanosleep { exit(); } interval:s:1 { exit(); }"], timeout=60)
        if not programs["fentry"]["works"]:
            self.assertNotEqual(fentry.returncode, 0)

    def test_nothing_changes_and_it_is_quick(self):
        before = text_of("/proc/self/mounts")
        started = time.monotonic()
        self.doctor()
        self.assertLess(time.monotonic() - started, 1)
        self.assertEqual(text_of("/proc/self/mounts"), before)

    def test_plain_user(self):
        self.need_root()
        result = run([TEPHRA, "doctor", "--json"], preexec_fn=become_nobody, cwd="/")
        report = json.loads(result.stdout)
        self.check_form(report["findings"])
        self.assertEqual(result.returncode, 0 if report["cpu_profiling_works"] else 1)
        self.assertEqual(report["machine"]["user"]["uid"], NOBODY)
        self.assertFalse(report["machine"]["user"]["perfmon"])
        paranoid = report["machine"]["settings"]["perf_event_paranoid"]
        if paranoid == 2:
            self.assertTrue(report["cpu_profiling_works"])
            kernel = self.finding(report["findings"], "kernel code")
            self.assertEqual(kernel["level"], "limited")
            self.assertIn("sysctl kernel.perf_event_paranoid=1", kernel["fix"])

    def test_the_fix_for_kernel_code_is_one(self):
        """What the doctor says to do is done, and then it says that it is good."""
        self.need_root()
        path = sysctl("perf_event_paranoid")
        before = text_of(path)
        self.addCleanup(self.write, path, before)
        for level, expected in (("2", "limited"), ("1", "good"), ("3", None)):
            self.write(path, level)
            result = run([TEPHRA, "doctor", "--json"], preexec_fn=become_nobody, cwd="/")
            report = json.loads(result.stdout)
            if expected is not None:
                self.assertEqual(self.finding(report["findings"], "kernel code")["level"], expected)
            elif report["cpu_profiling_works"]:
                # Only some distributions' kernels know more than 2.
                self.assertEqual(result.returncode, 0)
            else:
                self.assertEqual(result.returncode, 1)
                self.assertIn("perf_event_paranoid is 3", self.finding(report["findings"], "cpu profiles")["what"])

    def write(self, path, text):
        with open(path, "w") as file:
            file.write(text)

    def test_seccomp_filter_is_named(self):
        for error in ("eperm", "enosys"):
            report = self.doctor(before=[WITHOUT_PERF, error, "bpf"], status=1)
            self.assertFalse(report["cpu_profiling_works"])
            self.assertTrue(report["machine"]["user"]["seccomp_filter"])
            finding = self.finding(report["findings"], "cpu profiles")
            self.assertEqual(finding["level"], "missing")
            self.assertIn("seccomp", finding["what"])
            if os.geteuid() == 0:
                self.assertIn("seccomp", self.finding(report["findings"], "bpf")["what"])

    def test_user_namespace_makes_nobody_root(self):
        self.need_root()
        done = run(["unshare", "-U", "-r", "true"])
        if done.returncode != 0:
            self.skipTest("no user namespaces: " + done.stderr.strip())
        result = run(["unshare", "-U", "-r", TEPHRA, "doctor", "--json"], cwd="/")
        report = json.loads(result.stdout)
        self.assertEqual(report["machine"]["user"]["uid"], 0)
        self.assertFalse(report["machine"]["user"]["perfmon"])
        self.assertIsNotNone(self.finding(report["findings"], "user namespace"))

    def test_text_is_plain_where_it_must_be(self):
        environment = dict(os.environ, LC_ALL="C")
        text = self.tephra("doctor", env=environment).stdout
        self.assertTrue(text.isascii(), text)
        self.assertNotIn("\x1b", text)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 110)
        self.assertIn("✓", self.tephra("doctor", env=dict(os.environ, LC_ALL="C.UTF-8")).stdout)

    def test_colours_only_on_a_terminal_and_not_with_no_color(self):
        if shutil.which("script") is None:
            self.skipTest("script is not installed")
        command = ["script", "-qec", f"{TEPHRA} doctor", "/dev/null"]
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
        self.assertIn("\x1b[3", run(command, env=environment).stdout)
        self.assertNotIn("\x1b[3", run(command, env=dict(environment, NO_COLOR="1")).stdout)


class ProcessTest(DoctorTest):
    def test_a_program_with_frame_pointers_and_debug_info(self):
        process = self.start(SPIN, "20000")
        report = self.doctor("-p", str(process.pid), "--seconds", "1")
        self.check_form(report["process"]["findings"])
        self.assertEqual(report["process"]["comm"], "spin")
        spin = self.module(report, "spin")
        self.assertEqual((spin["names"], spin["debug_info"], spin["found_by_path"]), ("all", True, True))
        self.assertGreaterEqual(spin["frames"]["keep_frame_pointer"] * 2, spin["frames"]["functions"])
        self.assertEqual(spin["frames"]["described"], spin["frames"]["places"])
        self.assertEqual(report["process"]["advice"]["type"], "cpu")
        self.assertTrue(report["process"]["advice"]["exists"])
        libc = self.module(report, "libc.so.6")
        if os.path.exists("/var/lib/dpkg/info/libc6:amd64.list"):
            self.assertEqual((libc["package"], libc["debug_package"]), ("libc6", "libc6-dbg"))

    def test_a_stripped_program_without_frame_pointers(self):
        if shutil.which("strip") is None:
            self.skipTest("strip is not installed")
        path = self.path("frameless")
        subprocess.run(["strip", "-o", path, FRAMELESS], check=True)
        process = self.start(path, "20000")
        report = self.doctor("-p", str(process.pid), "--seconds", "0.5")
        module = self.module(report, "frameless")
        self.assertEqual((module["names"], module["debug_info"]), ("exported", False))
        self.assertEqual(module["frames"]["keep_frame_pointer"], 0)
        self.assertGreater(module["frames"]["functions"], 2)
        findings = report["process"]["findings"]
        self.assertIn("frameless", self.finding(findings, "names")["what"])
        self.assertIn("build frameless with -g", self.finding(findings, "names")["fix"])
        if report["machine"]["bpf"]["stack_walks"]:
            self.assertIn("frameless", self.finding(findings, "frame pointers")["what"])
            self.assertIn("takes bpf", self.finding(findings, "stacks")["what"])
        else:
            self.assertIn("-fno-omit-frame-pointer", self.finding(findings, "frame pointers")["fix"])
        self.assertEqual(report["process"]["advice"]["type"], "offcpu")
        self.assertIn("mostly waiting", report["process"]["advice"]["seen"])

    def test_a_replaced_program(self):
        path = self.path("spin")
        shutil.copy(SPIN, path)
        process = self.start(path, "20000")
        shutil.copy(SPIN, path + ".new")
        os.rename(path + ".new", path)
        report = self.doctor("-p", str(process.pid), "--seconds", "0")
        module = self.module(report, "spin")
        self.assertTrue(module["deleted"])
        self.assertTrue(module["replaced"])
        if os.geteuid() == 0:
            self.assertTrue(module["readable"])
        self.assertIn("spin", self.finding(report["process"]["findings"], "files")["what"])
        self.assertNotIn("activity", report["process"])

    def test_states(self):
        process = self.start(SPIN, "20000")
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        report = self.doctor("-p", str(process.pid))
        self.assertIn("stopped", self.finding(report["process"]["findings"], "state")["what"])
        process.kill()
        time.sleep(0.1)
        report = self.doctor("-p", str(process.pid), status=1)
        self.assertEqual(report["process"]["state"], "Z")
        self.assertIn("zombie", self.finding(report["process"]["findings"], "state")["what"])

    def test_wrong_ids_are_clear_errors(self):
        for words, status, says in ((["-p", "4194304"], 1, "no such process"), (["-p", "0"], 2, "not a process id"),
                                    (["-p", "x"], 2, "x"), (["--seconds", "-1"], 2, "not a duration")):
            result = run([TEPHRA, "doctor", *words])
            self.assertEqual(result.returncode, status, result.stderr)
            self.assertIn(says, result.stderr)
            self.assertEqual(result.stdout, "")
        process = self.start(WORKERS, "20000")
        deadline = time.time() + 5
        while len(os.listdir(f"/proc/{process.pid}/task")) < 2 and time.time() < deadline:
            time.sleep(0.01)
        thread = max(int(tid) for tid in os.listdir(f"/proc/{process.pid}/task"))
        result = run([TEPHRA, "doctor", "-p", str(thread)])
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"tephra doctor -p {process.pid}", result.stderr)

    def test_processes_that_end_meanwhile(self):
        """Whenever they end, there is an answer: a report, or that the process does not exist."""
        for milliseconds in (1, 5, 20, 60, 120, 300):
            process = subprocess.Popen([SPIN, str(milliseconds)])
            result = run([TEPHRA, "doctor", "-p", str(process.pid), "--seconds", "0.5", "--json"])
            process.wait()
            self.assertIn(result.returncode, (0, 1), result.stderr)
            if result.stdout:
                self.check_form(json.loads(result.stdout)["process"]["findings"])
                self.assertNotIn("not yours", result.stdout)
            else:
                self.assertIn("no such process", result.stderr)
        # Here the parent takes the zombie away at once.
        shell = subprocess.Popen(["sh", "-c", f"{SPIN} 300 & echo $!; wait"], stdout=subprocess.PIPE, text=True)
        pid = int(shell.stdout.readline())
        report = self.doctor("-p", str(pid), "--seconds", "5")
        shell.wait()
        shell.stdout.close()
        self.assertTrue(report["process"]["activity"]["ended"])
        self.assertLess(report["process"]["activity"]["seconds"], 1)

    def test_another_namespace(self):
        self.need_root()
        root = self.path("root")
        os.mkdir(root)
        script = (f"mount -t tmpfs none {root} && cp {SPIN} {root}/inside && exec {root}/inside 20000")
        process = subprocess.Popen(["unshare", "-m", "-p", "-f", "--mount-proc", "--kill-child", "sh", "-c", script])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        inside = self.child_named(process.pid, "inside")
        report = self.doctor("-p", str(inside), "--seconds", "0.2")
        facts = report["process"]
        self.assertEqual(facts["inner_pid"], 1)
        self.assertTrue(facts["other_pid_namespace"])
        self.assertTrue(facts["other_mount_namespace"])
        module = self.module(report, "inside")
        self.assertTrue(module["readable"])
        self.assertFalse(module["found_by_path"])
        files = self.finding(facts["findings"], "files")
        self.assertEqual(files["level"], "good")  # the recorder reads them where the process has them
        self.assertIn("inside", files["what"])
        self.assertIn("process 1", self.finding(facts["findings"], "container")["what"])

    def child_named(self, parent, name):
        deadline = time.time() + 10
        while time.time() < deadline:
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    status = text_of(f"/proc/{pid}/status")
                except OSError:
                    continue
                if f"PPid:\t{parent}\n" in status and status.startswith(f"Name:\t{name}\n"):
                    return int(pid)
            time.sleep(0.05)
        self.fail(f"no child {name}")

    def test_a_map_of_made_code_is_found(self):
        if shutil.which("python3") is None:
            self.skipTest("python3 is not installed")
        # Executable memory without a file, as a JIT compiler makes it.
        code = "import mmap,time; m=mmap.mmap(-1, 1<<20, prot=7, flags=mmap.MAP_PRIVATE|mmap.MAP_ANON); time.sleep(20)"
        process = self.start(shutil.which("python3"), "-c", code)
        deadline = time.time() + 5
        facts = {"unnamed_code_bytes": 0}
        while facts["unnamed_code_bytes"] == 0 and time.time() < deadline:
            facts = self.doctor("-p", str(process.pid), "--seconds", "0")["process"]
        self.assertEqual(facts["unnamed_code_bytes"], 1 << 20)
        self.assertEqual(facts["perf_map"], "")
        self.assertEqual(facts["runtimes"][0]["name"], "python")
        self.assertIn("without a map", self.finding(facts["findings"], "made code")["what"])
        path = f"/tmp/perf-{process.pid}.map"
        self.addCleanup(lambda: os.path.lexists(path) and os.unlink(path))
        os.mkfifo(path)
        self.assertEqual(self.doctor("-p", str(process.pid), "--seconds", "0")["process"]["perf_map"], "")
        os.unlink(path)
        with open(path, "w") as file:
            file.write("1000 10 made\n")
        self.assertEqual(self.doctor("-p", str(process.pid), "--seconds", "0")["process"]["perf_map"], path)

    def test_a_plain_user_and_a_process_of_another(self):
        self.need_root()
        process = self.start(SPIN, "20000")
        result = run([TEPHRA, "doctor", "-p", str(process.pid), "--seconds", "0.2", "--json"],
                     preexec_fn=become_nobody, cwd="/")
        self.assertEqual(result.returncode, 1)
        findings = json.loads(result.stdout)["process"]["findings"]
        self.assertEqual(self.finding(findings, "permission")["level"], "missing")
        self.assertIn(f"/proc/{process.pid}/maps", self.finding(findings, "memory map")["what"])


if __name__ == "__main__":
    unittest.main()
