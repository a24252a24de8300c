"""A second opinion on recordings whose stacks were walked in the kernel: the records themselves, read by their layout."""

import collections
import struct

SAMPLE = 9
ADDR = 1 << 3
PERIOD = 1 << 8

Sample = collections.namedtuple("Sample", "pid tid time misc chain copied walk_end")
ENDS = {0: "not told", 1: "outermost", 2: "depth", 3: "no mapping", 4: "no rule", 5: "unsupported", 6: "unreadable",
        7: "implausible", 8: "no file", 9: "32 bit", 10: "copy end", 11: "not copied"}


def records(data):
    """(type, misc, body) of every record of a file."""
    magic, _, attr_size, attrs, attrs_size, begin, size = struct.unpack_from("<8sQQQQQQ", data)
    assert magic == b"PERFILE2", magic
    end = begin + size if size else len(data)
    while begin + 8 <= end:
        kind, misc, length = struct.unpack_from("<IHH", data, begin)
        if length < 8 or begin + length > end:
            break
        yield kind, misc, data[begin + 8:begin + length]
        begin += length


def sample_types(data):
    """{id: sample_type} of the file's events."""
    _, _, attr_size, attrs, attrs_size = struct.unpack_from("<8sQQQQ", data)
    types = {}
    for at in range(attrs, attrs + attrs_size, attr_size):
        sample_type, = struct.unpack_from("<Q", data, at + 24)
        ids, ids_size = struct.unpack_from("<QQ", data, at + attr_size - 16)
        for place in range(ids, ids + ids_size, 8):
            types[struct.unpack_from("<Q", data, place)[0]] = sample_type
    return types


def decode(misc, body, sample_type):
    """A sample of an event with stacks walked in the kernel, or copied."""
    at = 32
    pid, tid = struct.unpack_from("<ii", body, 16)
    time, = struct.unpack_from("<Q", body, 24)
    at += 8 if sample_type & ADDR else 0
    at += 8  # CPU
    at += 8 if sample_type & PERIOD else 0
    count, = struct.unpack_from("<Q", body, at)
    chain = struct.unpack_from(f"<{count}Q", body, at + 8)
    at += 8 + 8 * count
    abi, = struct.unpack_from("<Q", body, at)
    at += 8
    if abi:
        at += 8 * bin(0xff0fff).count("1")
    size, = struct.unpack_from("<Q", body, at)
    copied = struct.unpack_from("<Q", body, at + 8 + size)[0] if size else 0
    assert at + 8 + (size + 8 if size else 0) == len(body), (at, size, len(body))
    return Sample(pid, tid, time, misc, chain, copied if abi else 0, misc >> 4 & 0xf)


def samples(path):
    with open(path, "rb") as file:
        data = file.read()
    types = sample_types(data)
    for kind, misc, body in records(data):
        if kind == SAMPLE:
            yield decode(misc, body, types[struct.unpack_from("<Q", body)[0]])


class Walks:
    """How the user stacks of a recording were taken, and how complete they are."""

    def __init__(self, path):
        self.all = list(samples(path))
        # A sample without user registers has no user part (a kernel thread).
        self.walked = [s for s in self.all if s.walk_end != 0]
        self.copied = [s for s in self.all if s.walk_end == 0 and s.copied]
        self.ends = collections.Counter(ENDS[s.walk_end] for s in self.walked)

    def complete(self):
        return self.ends["outermost"] / max(1, len(self.walked))

    def __str__(self):
        return f"{len(self.all)} samples, {len(self.walked)} walked {dict(self.ends)}, {len(self.copied)} copied"
