"""tephra sched: against programs that know what happened to them, and against perf sched on the same files."""

import json
import os
import re
import unittest

from support import FIXTURES, TEPHRA, LiveTest, program, run

TICK_NS = 10_000_000  # the longest that kernels have


def timeline(text):
    """The runs of a timeline: time, CPU, thread (0: idle), and the three times as printed."""
    runs = []
    for line in text.splitlines():
        match = re.match(r"\s*(\d+\.\d+) \[(\d+)\]  (.*?)(?:\[(-?\d+)(?:/-?\d+)?\])?\s+([\d.?]+)\s+([\d.?]+)\s+([\d.?]+)\s*$",
                         line)
        if match:
            tid = int(match[4]) if match[4] else 0 if match[3] == "<idle>" else -2  # perf cuts long names with it
            runs.append((match[1], int(match[2]), tid, match[5], match[6], match[7]))
    return runs


class SchedTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_root()

    def record(self, *words, name="sched.data"):
        """Records while a program of ours runs; what the program says, and the file."""
        data = self.path(name)
        done = self.tephra("sched", "record", "-q", "-o", data, "--", *words)
        return json.loads(done.stdout), data

    def rows(self, data, *words):
        answer = json.loads(self.tephra("sched", "latency", "-p", "--json", *words, "-i", data).stdout)
        return answer, {row["tid"]: row for row in answer["rows"]}


    def record_whole(self, names, *words):
        """As record, until all switches of these threads were seen: some machines hide those of some processes, and a
        run after such a one has no known beginning."""
        for attempt in range(8):
            told, data = self.record(*words, name=f"sched{attempt}.data")
            answer, rows = self.rows(data)
            self.assertEqual(answer["lost_records"], 0)
            mine = [rows[told[name]["tid"]] for name in names]
            if not any(row["unknown_runs"] for row in mine):
                return told, data, mine
        self.skipTest("switches are hidden here")


class Truth(SchedTest):
    def test_rivals_on_one_cpu_run_about_half_of_the_time_each(self):
        told, _, rows = self.record_whole(("rival_a", "rival_b"), program("rivals"), "share", "300")
        for name, row in zip(("rival_a", "rival_b"), rows):
            self.assertEqual(row["comm"], name)
            self.assertAlmostEqual(row["run_ns"], told[name]["cpu_ns"], delta=0.02 * told[name]["cpu_ns"] + 1_000_000)
            # Each lost the CPU when the kernel says so, and nearly as often to someone.
            self.assertLessEqual(abs(row["preempted"] - told[name]["involuntary"]), 1)
            self.assertGreater(row["preempted"], 0)
        # The two had what the others on that CPU left them, in equal parts.
        shares = [row["run_ns"] for row in rows]
        self.assertAlmostEqual(shares[0] / sum(shares), 0.5, delta=0.1)

    def test_the_worst_delay_is_what_the_bully_took(self):
        told, data, (row, _) = self.record_whole(("victim", "bully"), program("rivals"), "bully", "120", "3")
        victim, bully = told["victim"], told["bully"]
        self.assertAlmostEqual(row["delay"]["worst_ns"], victim["longest_gap_ns"],
                               delta=0.02 * victim["longest_gap_ns"] + TICK_NS)
        self.assertGreaterEqual(row["delay"]["worst_ns"], 0.98 * bully["longest_spin_ns"] - TICK_NS)
        self.assertEqual(row["delay"]["worst_to_ns"] - row["delay"]["worst_from_ns"], row["delay"]["worst_ns"])
        first = row["preempted_by"][0]
        self.assertEqual((first["tid"], first["comm"]), (bully["tid"], "bully"))
        self.assertGreaterEqual(first["times"], 3)
        self.assertLessEqual(first["times"], bully["voluntary"] + 1)

        # The same told of the thread alone, with who ran meanwhile.
        who = json.loads(self.tephra("sched", "who", "--json", "-p", str(victim["tid"]), "-i", data).stdout)["rows"]
        self.assertEqual(len(who), 1)
        ran = {other["tid"]: other["waited_ns"] for other in who[0]["ran_instead"]}
        self.assertAlmostEqual(sum(ran.values()), who[0]["delay"]["total_ns"], delta=0.02 * who[0]["delay"]["total_ns"])
        self.assertGreaterEqual(ran[bully["tid"]], 0.98 * 3 * 120_000_000)
        text = self.tephra("sched", "who", "-p", str(victim["tid"]), "-i", data).stdout
        self.assertRegex(text, rf"preempted by.*\n +bully:{bully['tid']} +{first['times']} ")

    def test_ping_pong_is_counted_exactly(self):
        told, _, rows = self.record_whole(("ping", "pong"), program("rivals"), "pingpong", "2000")
        for name, row in zip(("ping", "pong"), rows):
            said = told[name]
            # A run ends with a switch, wanted or not; one more when the thread ends.
            self.assertLessEqual(abs(row["runs"] - said["voluntary"] - said["involuntary"]), 2, row)
            self.assertAlmostEqual(row["delay"]["count"], row["runs"], delta=2)
            self.assertGreater(row["runs"], 500)
            self.assertLessEqual(abs(row["woken"] - said["voluntary"]), 2, row)
            self.assertAlmostEqual(row["run_ns"], said["cpu_ns"], delta=0.05 * said["cpu_ns"] + 2_000_000)

    def test_losses_are_told_and_nothing_is_made_up_for_them(self):
        data = self.path("lossy.data")
        events = "sched:sched_switch,sched:sched_waking,sched:sched_migrate_task,sched:sched_process_fork"
        done = self.tephra("record", "-q", "-a", "-m", "4K", "-e", events, "-o", data, "--", program("rivals"),
                           "pingpong", "30000")
        told = json.loads(done.stdout)
        answer, rows = self.rows(data)
        self.assertGreater(answer["lost_records"], 0)
        self.assertGreater(answer["unknown_runs"], 0)
        window = answer["end_ns"] - answer["begin_ns"]
        for name in ("ping", "pong"):
            row, said = rows[told[name]["tid"]], told[name]
            # What was not seen is missing; nothing is too much.
            self.assertLessEqual(row["runs"], said["voluntary"] + said["involuntary"] + 2)
            self.assertLessEqual(row["run_ns"] + row["edge_run_ns"], 1.02 * said["cpu_ns"] + 2_000_000)
            self.assertLessEqual(row["run_ns"] + row["delay"]["total_ns"], window)
        text = self.tephra("sched", "latency", "-i", data).stdout
        self.assertRegex(text, r"\n\d[\d,]* records were lost: ")
        history = self.tephra("sched", "timehist", "-i", data)
        self.assertIn("records were lost", history.stderr)
        self.assertRegex(history.stdout, r" \?\n")

    def test_live_in_one_command(self):
        done = self.tephra("sched", "--comm", "rival_a", "--", program("rivals"), "share", "50")
        self.assertRegex(done.stdout, r"\n  rival_a:\d+ ")
        self.assertNotIn("rival_b:", re.sub(r"rival_b:\d+\n", "", done.stdout))
        self.assertEqual(os.listdir(self.folder), [])
        self.assertIn("avg delay", self.tephra("sched", "-d", "0.2", "-q").stdout)
        self.tephra("sched", "-q", "--", "/bin/sh", "-c", "exit 7", status=7)
        self.assertIn("cannot start", self.tephra("sched", "--", "./nothing-here", status=127).stderr)


class Agreement(SchedTest):
    """With perf sched, on recordings of both."""

    def setUp(self):
        super().setUp()
        self.need_perf()

    def recordings(self):
        yield self.record(program("rivals"), "pingpong", "500")[1]
        data = self.path("perf-sched.data")
        done = run(["perf", "sched", "record", "-q", "-o", data, "--", program("rivals"), "share", "300"])
        self.assertEqual(done.returncode, 0, done.stderr)
        yield data

    def test_timehist_to_the_printed_digit(self):
        for data in self.recordings():
            text = run(["perf", "sched", "timehist", "-i", data]).stdout
            theirs = timeline(text)
            ours = timeline(self.tephra("sched", "timehist", "-i", data).stdout)
            self.assertGreater(len(ours), 20)
            self.assertEqual([row[:2] for row in ours], [row[:2] for row in theirs])
            # perf names a thread by the sample, which has no number any more for one that has ended, and cuts off those
            # of long names.
            known = [(a, b) for a, b in zip(ours, theirs) if "?" not in a and b[2] >= 0]
            self.assertGreater(len(known), 0.8 * len(ours))
            for ours_row, theirs_row in known:
                self.assertEqual(ours_row, theirs_row, [l for l in text.splitlines() if theirs_row[0] in l])

    def test_latency_to_the_printed_digit(self):
        compared = 0
        for _ in range(6):
            compared += sum(self.compare_latency(data) for data in self.recordings())
            if compared >= 6:
                return
        self.fail(f"only {compared} threads could be compared")

    def compare_latency(self, data):
        """How many threads were compared."""
        text = run(["perf", "sched", "latency", "-p", "-i", data]).stdout
        theirs = {}
        for match in re.finditer(r"^  .*:(\d+) +\| +([\d.]+) ms \| +(\d+) \| avg: *([\d.]+) ms \| max: *([\d.]+) ms", text,
                                 re.MULTILINE):
            theirs[int(match[1])] = match.groups()[1:]
        compared = 0
        for tid, row in self.rows(data, "--from", "wakeup")[1].items():
            # perf 6.1 does not know the mark of preemption inside the kernel, nor does it look at sched_waking, nor
            # whether switches fit together: threads that had any of it are counted otherwise.
            told = theirs.get(tid)
            if told is None or not self.same_definition(data, tid, row):
                continue
            delay = row["delay"]
            self.assertAlmostEqual(float(told[0]), row["accounted_ns"] / 1e6, delta=0.00051, msg=(told, row))
            self.assertEqual(int(told[1]), delay["count"] + row["first_seen_switched_in"], row)
            compared += 1
            if row["first_seen_switched_in"]:
                # perf counts a wait from whatever it heard first of the thread, or one of nothing.
                self.assertGreaterEqual(float(told[3]), delay["worst_ns"] / 1e6 - 0.00051, (told, row))
                continue
            self.assertAlmostEqual(float(told[2]), delay["average_ns"] / 1e6, delta=0.00051, msg=(told, row))
            self.assertAlmostEqual(float(told[3]), delay["worst_ns"] / 1e6, delta=0.00051, msg=(told, row))
        return compared

    def same_definition(self, data, tid, row):
        if row["unknown_delays"] or row["runs_without_a_wakeup"]:
            return False
        states = self.tephra("sched", "timehist", "--state", "--tid", str(tid), "-i", data, status=None).stdout
        return " R+\n" not in states and "?" not in states

    def tephra(self, *words, status=0, **settings):
        if status is not None:
            return super().tephra(*words, status=status, **settings)
        return run([TEPHRA, *words], **settings)

    def test_perf_reads_our_recording_and_the_map_is_the_same(self):
        data = self.record(program("rivals"), "pingpong", "300")[1]
        pattern = re.compile(r"^(.*?) +(\d+\.\d+) secs", re.MULTILINE)
        theirs = [(cells.split(), time) for cells, time in pattern.findall(run(["perf", "sched", "map", "-i", data]).stdout)]
        ours = [(cells.split(), time) for cells, time in pattern.findall(self.tephra("sched", "map", "-i", data).stdout)]
        self.assertGreater(len(ours), 300)
        self.assertEqual(ours, theirs)


class Messages(SchedTest):
    def failure(self, *words, status=1, **settings):
        text = self.tephra(*words, status=status, **settings).stderr
        self.assertEqual(text.count("\n"), 1, text)
        return text

    def test_one_clear_line_each(self):
        empty = self.path("empty")
        open(empty, "wb").close()
        self.failure("sched", empty)
        self.assertIn("No such file", self.failure("sched", "latency", "-i", "nowhere"))
        other = self.path("cpu.data")
        self.tephra("record", "-q", "-e", "cpu-clock", "-o", other, "--", "true")
        for part in ("latency", "timehist", "map"):
            self.assertIn("no scheduler events", self.failure("sched", part, "-i", other))
        self.failure("sched", "who", "-i", other, status=2)
        self.failure("sched", "latency", "-s", "beauty", status=2)
        self.failure("sched", "--time", "5,1", other, status=2)

    def test_switches_without_their_fields(self):
        data = os.path.join(FIXTURES, "perf-data/aosp-simpleperf/perf_with_trace_offcpu_v2.data")
        if not os.path.exists(data):
            self.skipTest("no fixtures")
        self.assertIn("was not recorded, or not described", self.failure("sched", data))

    def test_without_rights(self):
        os.chmod(self.folder, 0o777)
        demoted = {"user": 65534, "group": 65534, "extra_groups": []}
        self.failure("sched", "-d", "0.1", **demoted)

    def test_a_fixture_with_switches_of_one_process(self):
        data = os.path.join(FIXTURES, "perf-data/KDAB-perfparser/parallel_static_gcc/perf.data.zstd")
        if not os.path.exists(data):
            self.skipTest("no fixtures")
        self.need_perf()
        theirs = timeline(run(["perf", "sched", "timehist", "--no-call-graph", "-i", data]).stdout)
        ours = timeline(self.tephra("sched", "timehist", "-i", data).stdout)
        self.assertEqual(len(ours), 9)
        self.assertEqual([row[:3] for row in ours], [row[:3] for row in theirs])


if __name__ == "__main__":
    unittest.main()
