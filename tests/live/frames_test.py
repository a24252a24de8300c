"""Call-frame tables of everything that is installed: all ELF files compile, and random places agree with libdw."""

import json
import os
import subprocess
import unittest

from support import program

FOLDERS = ["/usr/lib", "/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/local", "/usr/aarch64-linux-gnu"]
PLACES = 100


def elf_files():
    for top in FOLDERS:
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                try:
                    if not os.path.isfile(path) or os.path.islink(path):
                        continue
                    with open(path, "rb") as file:
                        if file.read(4) == b"\x7fELF":
                            yield path
                except OSError:
                    continue


class FramesTest(unittest.TestCase):
    def test_every_installed_file(self):
        if not os.path.exists(program("compile_frames")):
            self.skipTest("compile_frames is not built")
        files = list(elf_files())
        self.assertGreater(len(files), 100)
        done = subprocess.run([program("compile_frames"), str(PLACES)], input="\n".join(files) + "\n",
                              capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        found = [json.loads(line) for line in done.stdout.splitlines()]
        total = {key: sum(row[key] for row in found)
                 for key in ("rows", "unsupported", "functions", "discarded", "beyond_reach", "damaged", "places",
                             "places_unsupported", "frame_pointer_lost", "unjudged", "differ")}
        with_rows = sum(row["rows"] > 0 for row in found)
        print(f"{len(found)} files, {with_rows} with rows: " + ", ".join(f"{key} {n}" for key, n in total.items()))
        for row in found:
            self.assertEqual(row["differ"], 0, f"{row['file']}: {row['first_difference']}")
        self.assertGreater(total["rows"], 100_000)
        self.assertGreater(total["places"], 10_000)
        # Much less than one row in a thousand is described in a way that rules cannot say.
        self.assertLess(total["unsupported"], total["rows"] / 1000)
        self.assertLess(total["unjudged"], total["places"] / 1000)
        self.assertLess(total["frame_pointer_lost"], total["places"] / 1000)


if __name__ == "__main__":
    unittest.main()
