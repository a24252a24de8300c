#!/usr/bin/env python3
"""Uses an HTML report as a reader would, in Chromium through Playwright (report_test.mjs), and checks the page's types.

    TEPHRA=build/release/tephra tests/browser/report_test.py [folder for screenshots]

Exit status 77: skipped, since node, its packages or Chromium are not installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile

from chromium import SKIPPED, find_chromium

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODULES = os.path.join(ROOT, "build", "npm", "node_modules")
PLAYWRIGHT = os.path.join(MODULES, "playwright-core", "index.mjs")
TYPESCRIPT = os.path.join(MODULES, "typescript", "bin", "tsc")


def missing():
    if not shutil.which("node"):
        return "node is not installed"
    if not find_chromium():
        return "chromium is not installed"
    for path in (PLAYWRIGHT, TYPESCRIPT):
        if not os.path.exists(path):
            return f"{os.path.relpath(path, ROOT)} is not there; ./test --all installs it"
    return None


def main():
    tephra = os.environ.get("TEPHRA")
    if not tephra:
        sys.exit(__doc__)
    reason = missing()
    if reason:
        print("skipped: " + reason)
        sys.exit(SKIPPED)
    os.environ.setdefault("TEPHRA_FIXTURES", os.path.join(os.path.dirname(ROOT), "shared", "fixtures"))
    subprocess.run(["node", TYPESCRIPT, "-p", os.path.join(ROOT, "web")], check=True)
    with tempfile.TemporaryDirectory(prefix="tephra-report-") as folder:
        shots = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
        done = subprocess.run(["node", os.path.join(HERE, "report_test.mjs"), PLAYWRIGHT, find_chromium(),
                               os.path.abspath(tephra), folder, shots])
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
