#!/usr/bin/env python3
"""Opening an HTML report in Chromium: tephra's against speedscope with the same profile. Prints rows for bench/run as
JSON.

The profile has 100,000 different stacks (make_many_stacks.py). speedscope gets it in its own format, and is opened as
its command line tool does it: its page from disk, with a script that holds the profile.
"""

import argparse
import base64
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import make_many_stacks

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TEPHRA = os.path.join(ROOT, "build", "release", "tephra")
MODULES = os.path.join(ROOT, "build", "npm", "node_modules")
STACKS = 100_000


def speedscope_address(folder, profile):
    """None where speedscope is not installed."""
    page = os.path.join(MODULES, "speedscope", "dist", "release", "index.html")
    if not os.path.exists(page):
        return None
    with open(profile, "rb") as file:
        text = base64.b64encode(file.read()).decode()
    script = os.path.join(folder, "speedscope.js")
    with open(script, "w") as file:
        file.write(f"speedscope.loadFileFromBase64({json.dumps(os.path.basename(profile))}, {json.dumps(text)})")
    return f"{pathlib.Path(page).resolve().as_uri()}#localProfilePath={script}"


def row(**entry):
    print(json.dumps(entry), flush=True)


def missing():
    """What cannot be done without; ./test --all installs it."""
    playwright = os.path.join(MODULES, "playwright-core", "index.mjs")
    return [name for name, there in (("node", shutil.which("node")), ("chromium", shutil.which("chromium")),
                                     ("playwright-core", os.path.exists(playwright))) if not there]


def bench(folder, rounds, stacks):
    source = os.path.join(folder, "many.folded")
    make_many_stacks.write(source, stacks)
    report = os.path.join(folder, "many.html")
    theirs = os.path.join(folder, "many.speedscope.json")
    subprocess.run([TEPHRA, "flame", "-q", "--html", "-o", report, source], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([TEPHRA, "convert", "-q", source, "-o", theirs], check=True)
    output = subprocess.run(["node", os.path.join(ROOT, "bench", "page_bench.mjs"),
                             os.path.join(MODULES, "playwright-core", "index.mjs"), shutil.which("chromium"),
                             pathlib.Path(report).as_uri(), speedscope_address(folder, theirs) or "", str(rounds)],
                            check=True, stdout=subprocess.PIPE, text=True).stdout
    found = json.loads(output)
    work = f"open an HTML report of {stacks:,} different stacks in Chromium, to the first picture"
    row(work=work, ours=statistics.median(found["ours"]) / 1e3, peer="speedscope 1.25.0",
        theirs=statistics.median(found["theirs"]) / 1e3 if found["theirs"] else None, unit="s", goal="2 s; 2 times")
    for name, smooth in (("zooming", found["smooth"]["zoom"]), ("panning", found["smooth"]["pan"])):
        row(work=f"frames a second while {name} in it", ours=smooth["rate"], peer="", theirs=None, unit="", goal="60")
        row(work=f"time between frames while {name}, 99th percentile", ours=smooth["p99"], peer="", theirs=None, unit="ms",
            goal="16.7 ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stacks", type=int, default=STACKS)
    options = parser.parse_args()
    if missing():
        print(f"no report was opened: {', '.join(missing())} is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="tephra-bench-") as folder:
        bench(folder, options.rounds, options.stacks)


if __name__ == "__main__":
    main()
