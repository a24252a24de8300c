"""Go's pprof, the peer of reading and writing pprof: found, or built from Debian's source package."""

import collections
import os
import re
import shutil
import subprocess

from support import ROOT, run

SOURCE = "/usr/share/gocode/src/github.com/google/pprof"


def find():
    """The program, or None and why there is none. $PPROF names another."""
    if os.environ.get("PPROF"):
        return os.environ["PPROF"], ""
    if not os.path.isdir(SOURCE):
        return None, "golang-github-google-pprof-dev is not installed"
    if shutil.which("go") is None:
        return None, "golang-go is not installed"
    folder = os.path.join(ROOT, "build", "go-pprof")
    program = os.path.join(folder, "pprof")
    if not os.path.exists(program):
        os.makedirs(folder, exist_ok=True)
        settings = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                    "GOCACHE": os.path.join(folder, "cache"), "GOFLAGS": "-p=2"}
        made = subprocess.run(["go", "build", "-o", program, "github.com/google/pprof"], env=settings, cwd=folder,
                              capture_output=True, text=True, timeout=600)
        if made.returncode != 0:
            return None, "go build failed: " + made.stderr[-300:]
    return program, ""


class Raw:
    """What `pprof -raw` prints, with numbers replaced by what they stand for.

    facts: the lines before the samples; types: of values; samples: the sums of values by stack and labels; mappings:
    START, of the file's first byte, LIMIT, path and build id."""

    def __init__(self, text):
        sections = collections.defaultdict(list)
        section = "facts"
        for line in text.splitlines():
            if line in ("Samples:", "Locations", "Mappings"):
                section = line
            elif line.strip():
                sections[section].append(line)
        self.facts = sections["facts"]
        self.types = sections["Samples:"][0].split()
        self._read_mappings(sections["Mappings"])
        self._read_locations(sections["Locations"])
        self._read_samples(sections["Samples:"][1:])

    def _read_mappings(self, lines):
        self._mapping_paths = {}
        self.mappings = set()
        for line in lines:
            number, place, rest = re.match(r"(\d+): (\S+) (.*)", line).groups()
            start, limit, offset = (int(word, 16) for word in place.split("/"))
            words = re.sub(r"(\[(FN|FL|LN|IN)\])+$", "", rest).split()
            # Go's own build ids are longer than those of linkers, and tephra does not keep them.
            words = [word for word in words[:2] if word.startswith("/") or len(word) <= 40]
            self._mapping_paths[number] = words[0] if words else ""
            if limit > start:
                self.mappings.add((start - offset, limit, *words))

    def _read_locations(self, lines):
        self._locations = collections.defaultdict(tuple)
        number = None
        for line in lines:
            found = re.match(r"\s*(\d+): (0x[0-9a-f]+) (?:M=(\d+) )?(.*)", line)
            if found:
                number, address, mapping, rest = found.groups()
                self._locations[number] = (address, self._mapping_paths.get(mapping, ""), rest.strip())
            else:
                self._locations[number] += (line.strip(),)

    def _read_samples(self, lines):
        self.samples = collections.defaultdict(lambda: [0] * len(self.types))
        values = None
        for line in lines + ["0:"]:
            found = re.match(r"((?:\s*-?\d+)+):((?: \d+)*)\s*$", line)
            if not found:
                labels.append(line.strip())
                continue
            if values is not None:
                sums = self.samples[(stack, " ".join(labels))]
                for index, value in enumerate(values):
                    sums[index] += value
            values = [int(word) for word in found[1].split()]
            stack = tuple(self._locations[number] for number in found[2].split())
            labels = []
        self.samples = dict(self.samples)

    def totals(self):
        return [sum(column) for column in zip(*self.samples.values())]


def raw(program, *paths):
    done = run([program, "-raw", "-symbolize=none", *paths])
    if done.returncode != 0:
        raise AssertionError(f"pprof -raw {paths}: {done.stderr[-1000:]}")
    return Raw(done.stdout)


def top(program, *words):
    """Rows of `pprof -top` by name: flat and cum as pprof prints them, and the words before the table."""
    done = run([program, "-top", "-symbolize=none", "-nodecount=100000", "-nodefraction=0", "-unit=auto", *words])
    if done.returncode != 0:
        raise AssertionError(f"pprof -top {words}: {done.stderr[-1000:]}")
    head, _, table = done.stdout.partition("flat%")
    rows = [line.split(maxsplit=5) for line in table.splitlines()[1:]]
    return {row[5]: (row[0], row[3]) for row in rows if len(row) == 6}, head
