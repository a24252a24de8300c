"""Where names come from when the files are not where they ran: symfs, PPROF_BINARY_PATH, debug files, debuginfod."""

import http.server
import os
import re
import shutil
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

from support import TEPHRA, LiveTest, parse_folded, run

SOURCE = """
static inline __attribute__((always_inline)) long inner(long n) { long s = 0; for (long i = 0; i < n; ++i) s += i * s + 1; return s; }
static __attribute__((noinline)) long work(long n) { return inner(n) + 1; }
int main() { volatile long x = 0; for (int i = 0; i < 60; ++i) x += work(10000000); return x == 42; }
"""


class Server:
    """An HTTP server whose answers the test makes; counts what it was asked."""

    def __init__(self, answer):
        self.asked = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                try:
                    answer(self)
                except OSError:
                    pass

            def log_message(self, *words):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def send(content):
    def answer(request):
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    return answer


def not_found(request):
    request.send_error(404)


class SourcesTest(LiveTest):
    def setUp(self):
        super().setUp()
        if shutil.which("g++") is None:
            self.skipTest("g++ is not installed")
        with open(self.path("busy.cpp"), "w") as file:
            file.write(SOURCE)
        os.mkdir(self.path("bin"))
        self.program = self.path("bin/busy")
        self.sh("g++ -O2 -g -fno-omit-frame-pointer -Wl,--build-id busy.cpp -o whole && cp whole bin/busy && strip bin/busy"
                " && objcopy --only-keep-debug whole busy.debug")
        notes = run(["readelf", "-n", self.program]).stdout
        self.build_id = re.search(r"Build ID: ([0-9a-f]+)", notes)[1]
        words = ["record", "-q", "-g", "-F", "499", "-o", "out.data"]
        if "--no-embed" in run([TEPHRA, "record", "--help"]).stdout:
            words.append("--no-embed")
        result = run([TEPHRA, *words, "--", self.program], cwd=self.folder)
        if result.returncode != 0:
            self.skipTest("cannot record here: " + result.stderr.strip())

    def sh(self, command):
        result = run(["sh", "-ec", command], cwd=self.folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def functions(self, *words, **environment):
        """The names in the recording, and what was said with -v."""
        settings = {k: v for k, v in os.environ.items() if not k.startswith(("DEBUGINFOD", "PPROF"))}
        settings.update(HOME=self.folder, XDG_CACHE_HOME=self.path("xdg"), DEBUGINFOD_CACHE_PATH=self.path("cache"),
                        TEPHRA_NO_CACHE="1", **environment)
        result = self.tephra("fold", "-v", *words, "out.data", env=settings)
        self.said = result.stderr
        return {name.removesuffix("_[i]") for stack in parse_folded(result.stdout) for name in stack.split(";")}

    def assert_named(self, names):
        self.assertLessEqual({"work", "inner"}, names)

    def assert_unnamed(self, names):
        self.assertFalse({"work", "inner"} & names, names)

    def test_debug_root(self):
        self.assert_unnamed(self.functions())
        folder = self.path(f"root/.build-id/{self.build_id[:2]}")
        os.makedirs(folder)
        target = f"{folder}/{self.build_id[2:]}.debug"
        shutil.copy(self.path("busy.debug"), target)
        self.assert_named(self.functions("--debug-root", self.path("root")))
        # Another build's file under this name is refused, and said.
        self.sh("sed -i 's/10000000/10000001/' busy.cpp && g++ -O2 -g -Wl,--build-id busy.cpp -o other")
        shutil.copy(self.path("other"), target)
        self.assert_unnamed(self.functions("--debug-root", self.path("root")))
        self.assertIn(f"{target}: not used: its build id is", self.said)

    def test_symfs(self):
        below = self.path("sys") + self.path("bin")
        os.makedirs(below)
        shutil.move(self.program, self.path("gone"))
        self.assert_unnamed(self.functions())
        shutil.copy(self.path("whole"), below + "/busy")
        self.assert_named(self.functions("--symfs", self.path("sys")))
        # By build id.
        os.rename(below + "/busy", self.path("kept"))
        folder = self.path(f"sys/.build-id/{self.build_id[:2]}")
        os.makedirs(folder)
        shutil.copy(self.path("kept"), f"{folder}/{self.build_id[2:]}")
        self.assert_named(self.functions("--symfs", self.path("sys") + "/"))

    def test_folders_that_are_not_there_are_an_error(self):
        for option in ("--symfs", "--debug-root"):
            for place in (self.path("absent"), self.program):
                with self.subTest(option=option, place=place):
                    result = run([TEPHRA, "fold", option, place, self.path("absent.data")])
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(f"{option}: no such folder: {place}", result.stderr)

    def test_pprof_binary_path(self):
        os.unlink(self.program)
        places = ["busy", f"{self.build_id}/any", f"{self.build_id[:2]}/{self.build_id[2:]}.debug",
                  self.program.lstrip("/"), f"{self.program}/{self.build_id}".lstrip("/")]
        for index, place in enumerate(places):
            with self.subTest(place):
                root = self.path(f"binaries{index}")
                target = os.path.join(root, place)
                os.makedirs(os.path.dirname(target))
                shutil.copy(self.path("whole"), target)
                self.assert_named(self.functions(PPROF_BINARY_PATH=f"/nowhere:{root}"))
        os.makedirs(self.path("pprof/binaries"))
        shutil.copy(self.path("whole"), self.path("pprof/binaries/busy"))
        self.assert_named(self.functions())
        self.assert_unnamed(self.functions(PPROF_BINARY_PATH="/nowhere"))

    def test_lines_stay_without_inlined_calls(self):
        shutil.copy(self.path("whole"), self.program)
        for words in (["--no-inline"], []):
            lines = self.tephra("report", "-q", "--stdio", "-g", "none", "--sort", "srcline", *words, "out.data").stdout
            self.assertIn("busy.cpp:2", lines)

    def test_a_real_server(self):
        if shutil.which("debuginfod") is None:
            self.skipTest("debuginfod is not installed")
        os.mkdir(self.path("served"))
        shutil.copy(self.path("busy.debug"), self.path("served"))
        shutil.copy(self.program, self.path("served"))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen(["debuginfod", "-F", "-d", self.path("db.sqlite"), "-p", str(port), self.path("served")],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        url = f"http://127.0.0.1:{port}"
        for kind in ("debuginfo", "executable"):
            self.wait_for(f"{url}/buildid/{self.build_id}/{kind}")
        self.assert_unnamed(self.functions("--no-debuginfod", DEBUGINFOD_URLS=url))
        self.assert_unnamed(self.functions())
        self.assert_named(self.functions(DEBUGINFOD_URLS=url))
        # The program itself is gone, too, and another is in its place.
        shutil.copy("/bin/true", self.program)
        shutil.rmtree(self.path("cache"))
        self.assert_named(self.functions(DEBUGINFOD_URLS=url))
        self.assertIn(f"{self.program}: not used: its build id is", self.said)
        # From the client's cache, without a server.
        server.terminate()
        server.wait()
        self.assert_named(self.functions(DEBUGINFOD_URLS=url))

    def wait_for(self, url):
        for _ in range(300):
            try:
                with urllib.request.urlopen(url, timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        self.fail(f"the server does not have {url}")

    def serve(self, answer):
        server = Server(answer)
        self.addCleanup(server.close)
        return server

    def test_what_a_server_does_not_have_is_remembered(self):
        server = self.serve(not_found)
        self.assert_unnamed(self.functions(DEBUGINFOD_URLS=server.url))
        asked = len(server.asked)
        self.assertGreater(asked, 0)
        self.assertEqual(len(set(server.asked)), asked, "a file was asked for twice")
        self.functions(DEBUGINFOD_URLS=server.url)
        self.assertEqual(len(server.asked), asked)

    def test_a_file_of_another_build_is_refused(self):
        with open("/bin/true", "rb") as file:
            server = self.serve(send(file.read()))
        self.assert_unnamed(self.functions(DEBUGINFOD_URLS=server.url))
        self.assertRegex(self.said, r"\(from debuginfod\): not used: its build id is [0-9a-f]+, wanted is " + self.build_id)

    def test_garbage_is_refused(self):
        server = self.serve(send(b"no ELF file" * 1000))
        self.assert_unnamed(self.functions(DEBUGINFOD_URLS=server.url))
        self.assertIn("not used: it is not an ELF file", self.said)

    def test_a_silent_server_is_waited_for_once(self):
        release = threading.Event()
        self.addCleanup(release.set)
        server = self.serve(lambda request: release.wait(100))
        self.assert_unnamed(self.functions("--debuginfod-timeout", "1", DEBUGINFOD_URLS=server.url))
        self.assertEqual(len(server.asked), 1)
        self.assertIn("debuginfod: no answer within 1 seconds", self.said)
        # That it did not answer is not that it does not have the file: the next run asks again.
        self.functions("--debuginfod-timeout", "1", DEBUGINFOD_URLS=server.url)
        self.assertEqual(len(server.asked), 2)

    def test_no_server_at_all(self):
        self.assert_unnamed(self.functions(DEBUGINFOD_URLS="http://127.0.0.1:1"))
        self.assertIn("debuginfod: ", self.said)

    def test_a_file_without_end(self):
        def answer(request):
            request.send_response(200)
            request.send_header("Content-Length", str(10 << 30))
            request.end_headers()
            for _ in range(10 << 10):
                request.wfile.write(bytes(1 << 20))

        server = self.serve(answer)
        self.assert_unnamed(self.functions(DEBUGINFOD_URLS=server.url))
        size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(self.path("cache")) for name in names)
        self.assertLess(size, 1 << 20)

    def test_hostile_files_in_place_of_the_program(self):
        os.unlink(self.program)
        os.mkfifo(self.program)
        self.assert_unnamed(self.functions())
        self.assertIn("not a regular file", self.said)
        os.unlink(self.program)
        with open(self.program, "wb") as file:
            file.truncate(100 << 30)
        self.assert_unnamed(self.functions())
        self.assertIn("implausibly large", self.said)


if __name__ == "__main__":
    unittest.main()
