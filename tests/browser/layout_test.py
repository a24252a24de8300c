#!/usr/bin/env python3
"""The boxes of the HTML report are those of the SVG, to the last unit of weight: for whole profiles and for every filter
that both have.

    TEPHRA=build/release/tephra tests/browser/layout_test.py

Exit status 77: skipped, since node or esbuild is not installed.
"""

import html
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77

# Options of tephra flame and the same for the page.
CASES = [
    ([], {}),
    (["--weight", "value"], {"weight": "value"}),
    (["--base", "none"], {"base": "none"}),
    (["--base", "pid"], {"base": "pid"}),
    (["--base", "tid"], {"base": "tid"}),
    (["--focus", "f[12]$"], {"focus": "f[12]$"}),
    (["--focus", "(?i)F3"], {"focus": "(?i)F3"}),
    (["--ignore", "kernel"], {"ignore": "kernel"}),
    (["--hide", "f[0-4]"], {"hide": "f[0-4]"}),
    (["--show", "f[0-4]|main"], {"show": "f[0-4]|main"}),
    (["--fold-recursion"], {"foldRecursion": True}),
    (["--fold-recursion", "--hide", "f[5-9]", "--base", "tid"], {"foldRecursion": True, "hide": "f[5-9]", "base": "tid"}),
    (["--focus", "f1", "--ignore", "f2", "--hide", "main", "--weight", "value"],
     {"focus": "f1", "ignore": "f2", "hide": "main", "weight": "value"}),
]
# What finds functions by their modules. A box of the page that joins functions of several modules has none.
MODULE_CASES = [
    (["--show", "libb"], {"show": "libb"}),
    (["--focus", "libb"], {"focus": "libb"}),
    (["--hide", "/opt/", "--fold-recursion"], {"hide": "/opt/", "foldRecursion": True}),
]


def random_script(seed, shared_names):
    """Samples as perf script prints them: threads, modules, kernel code, recursion, and functions of one name in two
    modules where `shared_names`."""
    rng = random.Random(seed)
    blocks = []
    for i in range(600):
        pid = rng.choice([100, 200])
        comm = "app" if pid == 100 else rng.choice(["db", "db worker"])
        lines = [f"{comm:>9} {pid:>5}/{pid + rng.randrange(3):<5} {1 + i * 0.0037:.6f}: {rng.randrange(1, 9000)} cpu-clock: "]
        path = []
        name = 0
        for _ in range(rng.randrange(14)):
            name = name if rng.random() < 0.2 else rng.randrange(10)
            module = "/lib/libb.so" if name % 3 == 0 or (shared_names and rng.random() < 0.1) else "/opt/app"
            path.append(f"\t{0x1000 + name * 64 + rng.randrange(8):x} f{name}+0x{rng.randrange(8):x} ({module})")
        if rng.random() < 0.3:
            path.append("\tffffffff81000010 do_read+0x10 ([kernel.kallsyms])")
        lines += reversed([f"\t401100 main+0x9 (/opt/app)"] + path)
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def boxes_of_svg(path):
    """Row by row, the root's first."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    frames = text[text.index('<g id="frames">'):text.index("</svg>")]
    rows = []
    for y, row in re.findall(r'<g transform="translate\(0 ([\d.]+)\)">\n(.*?)\n</g>\n', frames, re.S):
        found = re.findall(r'<g class="f" data-x="(\d+)" data-w="(\d+)"[^>]*><title>([^\n]*)\n', row)
        rows.append((-float(y), [(x, w, html.unescape(name)) for x, w, name in found]))
    rows.sort()
    return [f"{depth} {x} {w} {name}" for depth, (_, row) in enumerate(rows) for x, w, name in row]


def boxes_of_page(script, path, filters, direction):
    out = subprocess.run(["node", script, path, json.dumps(filters), direction], check=True, capture_output=True, text=True)
    # The picture shows names without the marks of folded stacks.
    return [re.sub(r"_\[[kjiw]\]$", "", line) for line in out.stdout.splitlines()]


def main():
    tephra = os.environ.get("TEPHRA", os.path.join(HERE, "../../build/release/tephra"))
    if not shutil.which("node") or not shutil.which("esbuild"):
        print("node or esbuild is not installed")
        sys.exit(SKIPPED)
    checks = 0
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "layout_dump.js")
        subprocess.run(["esbuild", os.path.join(HERE, "layout_dump.ts"), "--bundle", "--platform=node", "--log-level=warning",
                        "--outfile=" + script], check=True)
        sources = [(os.path.join(HERE, "flame.folded"), CASES[:2])]
        for seed, shared_names in ((1, True), (2, False)):
            path = os.path.join(folder, f"{seed}.script")
            sources.append((path, CASES if shared_names else CASES + MODULE_CASES))
            with open(path, "w", encoding="utf-8") as file:
                file.write(random_script(seed, shared_names))
        for source, cases in sources:
            page = os.path.join(folder, "report.html")
            picture = os.path.join(folder, "flame.svg")
            subprocess.run([tephra, "flame", "-q", source, "-o", page], check=True)
            for options, filters in cases:
                for reverse in (False, True):
                    subprocess.run([tephra, "flame", "-q", source, "-o", picture, "--minwidth", "0", *options,
                                    *(["--reverse"] if reverse else [])], check=True)
                    expected = boxes_of_svg(picture)
                    actual = boxes_of_page(script, page, filters, "bottom-up" if reverse else "")
                    if not expected or actual != expected:
                        differing = [pair for pair in zip(actual, expected) if pair[0] != pair[1]][:5]
                        raise AssertionError(f"{os.path.basename(source)} {options} reverse {reverse}: {len(actual)} boxes "
                                             f"on the page, {len(expected)} in the picture: {differing}")
                    checks += 1
    print(f"{checks} layouts are equal")


main()
