"""Live tests of `tephra profile -t tcp`: programs that connect, accept, send, reset and lose a known number of times."""

import glob
import os
import re
import shutil
import subprocess
import time
import unittest

from support import LiveTest, TEPHRA, parse_folded, program, run

KNOWN = program("known_tcp")


class TcpTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.need_root()

    def profile(self, *words, options=()):
        """Profiles the program, which begins once the recorder knows its code."""
        return self.tephra("profile", "-t", "tcp", *options, "-o", "out", "--", KNOWN, "--wait", "500", *words).stdout

    def recording(self):
        paths = glob.glob(self.path("out/*.perf.data"))
        self.assertEqual(len(paths), 1)
        return paths[0]

    def sum_of(self, event, *labels, focus=None):
        """What is told of an event with these labels ("what:connect"), in stacks with a function."""
        words = [TEPHRA, "fold", "-q", "--event-filter", event, "--periods"]
        for label in labels:
            words += ["--tagfocus", f"^{label}$"]
        if focus:
            words += ["--focus", f"^{focus}$"]
        result = run([*words, self.recording()])
        self.assertIn(result.returncode, (0, 1), result.stderr)
        return sum(parse_folded(result.stdout).values())

    def events(self, what, focus=None):
        return self.sum_of("tcp-events", f"what:{what}", focus=focus)

    def bytes(self, direction, focus=None):
        return self.sum_of("tcp-bytes", f"direction:{direction}", focus=focus)


class KnownCounts(TcpTest):
    def check_talk(self, *options):
        self.profile("talk", *options, "40", "3000")
        self.assertEqual(self.events("connect"), 40)
        self.assertEqual(self.events("connect", "open_connection"), 40)
        self.assertEqual(self.events("accept"), 40)
        self.assertEqual(self.events("accept", "take_connection"), 40)
        self.assertEqual(self.events("failed connect"), 0)
        self.assertEqual(self.bytes("sent"), 3 * 40 * 3000)
        self.assertEqual(self.bytes("sent", "send_request"), 40 * 3000)
        self.assertEqual(self.bytes("sent", "send_answer"), 2 * 40 * 3000)
        self.assertEqual(self.bytes("received", "take_request"), 40 * 3000)
        self.assertEqual(self.bytes("received", "take_answer"), 2 * 40 * 3000)

    def test_a_client_and_a_server(self):
        self.check_talk()

    def test_the_same_over_ipv6(self):
        self.check_talk("--six")
        self.assertEqual(self.sum_of("tcp-events", "what:connect"), self.sum_of("tcp-events", "peer:::1", "what:connect"))

    def test_what_packets_do_is_told_to_the_owner(self):
        """On loopback packets run on top of the sender: here the client, which does none of the server's changes."""
        self.profile("talk", "40", "3000")
        for state, owner in (("LISTEN -> SYN_RECV", "run_server"), ("SYN_RECV -> ESTABLISHED", "run_server"),
                             ("ESTABLISHED -> CLOSE_WAIT", "run_server"), ("LAST_ACK -> CLOSE", "run_server"),
                             ("CLOSE -> SYN_SENT", "run_client"), ("SYN_SENT -> ESTABLISHED", "run_client"),
                             ("ESTABLISHED -> FIN_WAIT1", "run_client"), ("FIN_WAIT1 -> FIN_WAIT2", "run_client"),
                             ("FIN_WAIT2 -> CLOSE", "run_client")):
            label = f"state:{state}"
            self.assertEqual(self.sum_of("tcp-events", label), 40, state)
            self.assertEqual(self.sum_of("tcp-events", label, focus=owner), 40, state)
        self.assertEqual(self.sum_of("tcp-events", "state:LISTEN -> SYN_RECV", "context:interrupt"), 40)
        self.assertEqual(self.sum_of("tcp-events", "state:CLOSE -> SYN_SENT", "context:own call"), 40)

    def test_nobody_listens(self):
        output = self.profile("refused", "17")
        self.assertEqual(self.events("failed connect"), 17)
        self.assertEqual(self.events("failed connect", "be_refused"), 17)
        self.assertEqual(self.events("connect"), 0)
        self.assertRegex(output, r"failed connects +17\n")

    def test_resets(self):
        self.profile("reset", "11")
        self.assertEqual(self.events("reset sent"), 11)
        self.assertEqual(self.events("reset sent", "reset_connections"), 11)
        self.assertEqual(self.events("reset received"), 11)
        self.assertEqual(self.events("reset received", "run_server"), 11)

    def test_stacks_are_whole(self):
        self.profile("talk", "40", "3000")
        folded = run([TEPHRA, "fold", "-q", "--event-filter", "tcp-bytes", self.recording()]).stdout
        for stack in parse_folded(folded):
            self.assertRegex(stack, r";main;(both;)?run_(client|server);")
            self.assertRegex(stack, r"\[(sent|received)\]$")

    def test_the_screen_and_the_pictures(self):
        output = self.profile("talk", "40", "3000")
        self.assertRegex(output, r"  connects +40  \S+ \S+ each, on average\n")
        self.assertRegex(output, r"  accepts +40\n")
        self.assertRegex(output, r"  to 127\.0\.0\.1:\d+ .* 40 connects")
        self.assertRegex(output, r"  at our port \d+ .* 40 accepts")
        pictures = sorted(glob.glob(self.path("out/*.svg")))
        self.assertEqual([path.endswith(".bytes.svg") for path in pictures], [True, False])
        for path, frame in zip(pictures, ("[received]", "[connect]")):
            with open(path) as file:
                self.assertIn(frame, file.read())

    def test_with_another_type(self):
        output = self.tephra("profile", "-t", "tcp,cpu", "-o", "out", "--", KNOWN, "--wait", "500", "talk", "400",
                             "30000").stdout
        self.assertRegex(output, r"  connects +400 ")
        self.assertEqual(self.events("connect"), 400)
        self.assertTrue(glob.glob(self.path("out/*.tcp.svg")))
        self.assertTrue(glob.glob(self.path("out/*.tcp.bytes.svg")))
        self.assertTrue(glob.glob(self.path("out/*.cpu.svg")))


class Processes(TcpTest):
    def start(self, *words):
        """A server, and the port that it listens at."""
        process = subprocess.Popen([KNOWN, *words], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)

        def end():
            process.kill()
            process.communicate()

        self.addCleanup(end)
        line = process.stdout.readline()
        return process, line

    def record(self, process):
        """Begins to profile a process; the function that is returned ends that."""
        tephra = subprocess.Popen([TEPHRA, "profile", "-t", "tcp", "-p", str(process.pid), "-d", "60", "-o", "out"],
                                  cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)  # it has begun by then; what is counted below says whether it had

        def end():
            tephra.send_signal(2)
            output, errors = tephra.communicate(timeout=60)
            self.assertEqual(tephra.returncode, 0, errors)
            return output

        return end

    def test_a_server_alone(self):
        server, line = self.start("serve", "0", "3000")
        port = line.split()[1]
        end = self.record(server)
        self.assertEqual(run([KNOWN, "--port", port, "call", "30", "3000"]).returncode, 0)
        end()
        self.assertEqual(self.events("accept"), 30)
        self.assertEqual(self.events("accept", "take_connection"), 30)
        self.assertEqual(self.events("connect"), 0)
        self.assertEqual(self.bytes("received"), 30 * 3000)
        self.assertEqual(self.bytes("sent"), 2 * 30 * 3000)
        self.assertEqual(self.sum_of("tcp-events", "state:LISTEN -> SYN_RECV"), 30)
        self.assertEqual(self.sum_of("tcp-events", "state:CLOSE -> SYN_SENT"), 0)
        self.assertEqual(self.sum_of("tcp-bytes", f"port:{port}"), 3 * 30 * 3000)

    def test_a_connection_older_than_the_recording(self):
        _, line = self.start("serve", "0", "500")
        client, told = self.start("--port", line.split()[1], "idle", "20", "500")
        self.assertEqual(told, "connected\n")
        end = self.record(client)
        client.communicate("go\n", timeout=30)
        end()
        self.assertEqual(self.bytes("sent", "send_request"), 20 * 500)
        self.assertEqual(self.bytes("received", "take_answer"), 2 * 20 * 500)
        self.assertEqual(self.events("connect"), 0)
        self.assertEqual(self.sum_of("tcp-events", "state:ESTABLISHED -> FIN_WAIT1"), 1)


class Losses(TcpTest):
    """Retransmits are made by a link that is down for a while, which every machine can do."""

    SPACE, OUTSIDE, INSIDE = "tephra-tcp", "10.213.77.1", "10.213.77.2"

    def setUp(self):
        super().setUp()
        if shutil.which("ip") is None:
            self.skipTest("needs ip (package iproute2)")
        commands = (f"ip netns add {self.SPACE}", f"ip link add tephra0 type veth peer name tephra1 netns {self.SPACE}",
                    f"ip addr add {self.OUTSIDE}/24 dev tephra0", "ip link set tephra0 up",
                    f"ip -n {self.SPACE} addr add {self.INSIDE}/24 dev tephra1", f"ip -n {self.SPACE} link set tephra1 up")
        self.addCleanup(run, ["ip", "netns", "del", self.SPACE])
        for command in commands:
            done = run(command.split())
            if done.returncode != 0:
                self.skipTest(f"{command}: {done.stderr.strip()}")

    @staticmethod
    def retransmitted():
        with open("/proc/net/snmp") as file:
            names, values = [line.split() for line in file if line.startswith("Tcp:")]
        return int(dict(zip(names, values))["RetransSegs"])

    def test_retransmits_are_those_that_the_kernel_counts(self):
        sink = subprocess.Popen(["ip", "netns", "exec", self.SPACE, KNOWN, "--host", self.INSIDE, "sink"],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(sink.communicate)
        port = sink.stdout.readline().split()[1]
        before = self.retransmitted()
        tephra = subprocess.Popen(
            [TEPHRA, "profile", "-t", "tcp", "-o", "out", "--", KNOWN, "--wait", "500", "--host", self.INSIDE, "--port",
             port, "send", "150", "5000"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        run(["ip", "link", "set", "tephra0", "down"])
        time.sleep(1)
        run(["ip", "link", "set", "tephra0", "up"])
        _, errors = tephra.communicate(timeout=90)
        self.assertEqual(tephra.returncode, 0, errors)
        counted = self.retransmitted() - before
        self.assertEqual(sink.stdout.readline(), f"took {150 * 5000}\n")
        self.assertGreater(counted, 0)
        self.assertEqual(self.events("retransmit"), counted)
        self.assertEqual(self.events("retransmit", "send_slowly"), counted)
        self.assertEqual(self.bytes("sent"), 150 * 5000)


if __name__ == "__main__":
    unittest.main()
