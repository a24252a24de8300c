"""Names of programs in mount and PID namespaces, whose files are others than those of the same path here."""

import os
import shutil
import subprocess
import time
import unittest

from elsewhere import Elsewhere, make_world
from recording import RecordTest
from support import TEPHRA, parse_folded, program, run

ONE = program("version_one")
TWO = program("version_two")
STATIC = program("static_spin")
MADE = program("generated_code")


class ContainersTest(RecordTest):
    def setUp(self):
        super().setUp()
        self.need_root()
        for tool in ("unshare", "busybox"):
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is not installed")
        if run(["unshare", "-m", "-p", "-f", "true"]).returncode != 0:
            self.skipTest("namespaces cannot be made here")
        # The same path holds another program on either side.
        self.path = os.path.join(self.folder, "bin", "app")
        os.makedirs(os.path.dirname(self.path))
        shutil.copy(ONE, self.path)
        self.world = make_world(os.path.join(self.folder, "world"),
                                {self.path: TWO, "/bin/busybox": shutil.which("busybox"), "/bin/static": STATIC,
                                 "/bin/made": MADE})

    def inside(self, script):
        """The words that run a script in the world, as a process 1 of its own."""
        return ["unshare", "-m", "-p", "-f", "--kill-child", "chroot", self.world, "/bin/busybox", "sh", "-c", script]

    def functions(self):
        result = run([TEPHRA, "fold", "-q", self.data], env={**os.environ, "TEPHRA_NO_CACHE": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)
        return {name for stack in parse_folded(result.stdout) for name in stack.split(";")}

    def remove_world(self):
        shutil.rmtree(self.world)

    def assert_names_are_those_inside(self):
        names = self.functions()
        self.assertIn("work_of_version_two", names)
        self.assertNotIn("work_of_version_one", names)
        self.assertIn("main", names)

    def test_a_program_inside(self):
        self.record("-g", "-F", "999", *self.inside(f"{self.path} 400"))
        self.assert_names_are_those_inside()

    def test_a_container_removed_after_the_recording(self):
        self.record("-g", "-F", "999", *self.inside(f"{self.path} 400"))
        self.remove_world()
        self.assert_names_are_those_inside()
        # What is at the path here is another program: it must not be asked.
        names = Elsewhere(os.path.join(self.folder, "root")).tephra(self.data, "fold", "-q").stdout
        self.assertIn("work_of_version_two", names)

    def test_a_container_removed_while_it_is_recorded(self):
        process = subprocess.Popen(self.inside(f"{self.path} 10000"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3)
        recorder = subprocess.Popen([TEPHRA, "record", "-q", "-g", "-F", "999", "-a", "--duration", "1", "-o",
                                     self.data])
        for _ in range(1000):
            if os.path.exists(self.data):
                break
            time.sleep(0.01)
        self.remove_world()
        self.assertEqual(recorder.wait(timeout=120), 0)
        process.kill()
        self.assert_names_are_those_inside()

    def test_a_container_whose_files_were_removed_before(self):
        process = subprocess.Popen(self.inside(f"{self.path} 10000"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        time.sleep(0.3)
        self.remove_world()
        self.record("-g", "-F", "999", "-a", "--duration", "0.5")
        process.kill()
        self.assert_names_are_those_inside()

    def test_programs_that_live_for_a_moment_inside(self):
        self.record("-g", "-F", "4000", *self.inside(f"for i in 1 2 3 4 5 6 7 8 9 10; do {self.path} 30; done; /bin/busybox sleep 1"))
        self.remove_world()
        self.assert_names_are_those_inside()

    def test_a_static_program_inside(self):
        self.record("-g", "-F", "999", *self.inside("/bin/static 400"))
        self.remove_world()
        self.assertIn("work_of_static", self.functions())

    def test_both_sides_in_one_recording(self):
        inside = " ".join(f"'{word}'" for word in self.inside(f"{self.path} 400"))
        self.record("-g", "-F", "999", "sh", "-c", f"{self.path} 400 & {inside}; wait")
        self.remove_world()
        os.unlink(self.path)
        self.assertLessEqual({"work_of_version_one", "work_of_version_two"}, self.functions())

    def test_a_link_inside_that_leads_out_is_not_followed(self):
        # The world's path is a link to a program here; only what was mapped inside may name it.
        os.unlink(self.world + self.path)
        shutil.copy(TWO, self.world + "/bin/real")
        os.symlink("/bin/real", self.world + self.path)
        self.record("-g", "-F", "999", *self.inside(f"{self.path} 400"))
        self.assert_names_are_those_inside()

    def assert_generated_code_is_named(self):
        self.assertTrue(os.path.exists(self.world + "/tmp/perf-1.map"), "it knows itself as process 1")
        self.remove_world()
        result = run([TEPHRA, "fold", "-q", self.data], env={**os.environ, "TEPHRA_NO_CACHE": "1"})
        stacks = parse_folded(result.stdout)
        named = sum(count for stack, count in stacks.items() if stack.endswith("run_first;first_made"))
        self.assertGreater(named, 10, result.stdout)

    def test_generated_code_is_named_by_the_map_inside(self):
        self.record("-g", "-F", "999", *self.inside("exec /bin/made map 700"))
        self.assert_generated_code_is_named()

    def test_generated_code_of_a_container_that_runs(self):
        process = subprocess.Popen(self.inside("exec /bin/made map 60000"))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(1000):
            if os.path.exists(self.world + "/tmp/perf-1.map"):
                break
            time.sleep(0.01)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            outer = int(file.read())
        self.record("-g", "-F", "999", "-p", str(outer), "--duration", "1")
        process.kill()
        self.assert_generated_code_is_named()


if __name__ == "__main__":
    unittest.main()
