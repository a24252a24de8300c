#!/usr/bin/env python3
"""Checks that every folder of src/ includes only folders of a lower rank, and that libraries stay behind theirs."""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RANKS = {"base": 0, "abi": 0, "model": 1, "objects": 1, "kernel": 1, "stream": 2, "symbols": 2, "formats": 3,
         "unwind": 3, "analysis": 3, "views": 4, "collect": 4, "instruments": 4, "store": 4, "agent": 5, "server": 5,
         "cli": 6}
# C that runs elsewhere: inside the kernel, inside the profiled process. It shares abi/ with us and nothing else.
APART = {"bpf", "preload"}
# What is generated from bpf/ (skeletons) is for kernel/ alone.
SKELETONS = "bpf"
# Rank 1 may use the identities of the model (build ids, file identities), which are plain data.
ALLOWED_SIBLINGS = {("objects", "model"), ("kernel", "model")}
LIBRARIES = {r"<(libelf|gelf|elfutils/|dwarf\.h)": {"objects"}, r"<(traceevent/|event-parse\.h)": {"stream"},
             r"<protozero/": {"formats"}, r"<zstd\.h|<zlib\.h|<libdeflate\.h|<lzma\.h": {"base"}, r"<re2/": {"base"}, r"<libiberty/": {"objects"}, r"<CLI/": {"cli"},
             r"<perfmon/": {"kernel"}, r"<bpf/": {"kernel", "bpf"}}
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def problems_of(path):
    folder = os.path.relpath(path, os.path.join(ROOT, "src")).split(os.sep)[0]
    if folder == "main.cpp":
        folder = "cli"
    if folder not in RANKS and folder not in APART:
        yield "its folder has no rank"
        return
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, target = match.groups()
        for pattern, owners in LIBRARIES.items():
            is_test = path.endswith("_test.cpp")
            if kind == "<" and re.match(pattern, "<" + target) and folder not in owners and not is_test:
                yield f"{number}: <{target}> belongs behind {', '.join(owners)}/"
        other = target.split("/")[0]
        if kind == '"' and "/" in target and folder in APART:
            if other != "abi":
                yield f"{number}: includes {target}, and {folder}/ may include abi/ alone"
            continue
        if kind == '"' and other == SKELETONS and folder != "kernel":
            yield f"{number}: {target} belongs behind kernel/"
        if kind != '"' or other == folder or other not in RANKS or "/" not in target:
            continue
        if RANKS[other] >= RANKS[folder] and (folder, other) not in ALLOWED_SIBLINGS:
            yield f"{number}: includes {target}, of rank {RANKS[other]}, not below its own {RANKS[folder]}"


def main():
    files = [f for pattern in ("*.cpp", "*.h", "*.c") for f in glob.glob(f"{ROOT}/src/**/{pattern}", recursive=True)]
    found = [f"{os.path.relpath(path, ROOT)}:{problem}" for path in sorted(files) for problem in problems_of(path)]
    print("\n".join(found) if found else f"{len(files)} files keep to their ranks")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
