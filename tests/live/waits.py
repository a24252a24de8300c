"""A second opinion on recordings of waits: reads their samples from perf.data, independent of tephra's readers."""

import collections
import struct

Wait = collections.namedtuple("Wait", "pid tid time ns state flags syscall count began address waker chain copied")
Waker = collections.namedtuple("Waker", "pid tid number upper chain")

SLEEPING, UNINTERRUPTIBLE, RUN_QUEUE, OTHER = range(4)
FOR_IO, SINGLE, OPEN_BEGIN, OPEN_END, NO_STACK = 1, 2, 4, 8, 16

_BPF_OUTPUT = 10
_IP, _TID, _TIME, _CPU, _PERIOD, _CHAIN, _RAW, _REGS, _STACK, _IDENTIFIER = (
    1 << 0, 1 << 1, 1 << 2, 1 << 7, 1 << 8, 1 << 5, 1 << 10, 1 << 12, 1 << 13, 1 << 16)


def _events(data):
    """Sample types and masks of registers of events that programs in the kernel send, by their ids."""
    attr_size, attrs_at, attrs_size = struct.unpack_from("<QQQ", data, 16)
    events = {}
    for at in range(attrs_at, attrs_at + attrs_size, attr_size):
        kind, _, config = struct.unpack_from("<IIQ", data, at)
        sample_type, = struct.unpack_from("<Q", data, at + 24)
        registers, = struct.unpack_from("<Q", data, at + 80)
        ids_at, ids_size = struct.unpack_from("<QQ", data, at + attr_size - 16)
        if (kind, config) != (1, _BPF_OUTPUT):
            continue
        for id_at in range(ids_at, ids_at + ids_size, 8):
            events[struct.unpack_from("<Q", data, id_at)[0]] = (sample_type, bin(registers).count("1"))
    return events


class Waits:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.waits, self.ran, self.wakers = [], collections.Counter(), []
        self.bytes = 0  # of samples without copies of stacks, which are made until call-frame tables are ready
        events = _events(data)
        at, size = struct.unpack_from("<QQ", data, 40)
        end = at + size
        while at + 8 <= end:
            kind, _, length = struct.unpack_from("<IHH", data, at)
            if length < 8:
                raise ValueError("a record without a size")
            if kind == 9 and struct.unpack_from("<Q", data, at + 8)[0] in events:
                if not self._add(data, at + 8, events):
                    self.bytes += length
            at += length

    def _add(self, data, at, events):
        fields, registers = events[struct.unpack_from("<Q", data, at)[0]]
        needed = _IDENTIFIER | _IP | _TID | _TIME | _CPU | _PERIOD | _RAW
        assert fields & needed == needed, hex(fields)
        _, _, pid, tid, time, _, ns = struct.unpack_from("<QQIIQQQ", data, at)
        at += 48
        chain = ()
        if fields & _CHAIN:
            count, = struct.unpack_from("<Q", data, at)
            chain = struct.unpack_from(f"<{count}Q", data, at + 8)
            at += 8 + 8 * count
        raw_size, = struct.unpack_from("<I", data, at)
        raw = data[at + 4:at + 4 + raw_size]
        at += 4 + raw_size
        copied = 0
        if fields & _REGS:
            abi, = struct.unpack_from("<Q", data, at)
            at += 8 + (8 * registers if abi else 0)
        if fields & _STACK:
            copied, = struct.unpack_from("<Q", data, at)
        if raw_size >= 48:
            _, state, flags, syscall, count, began, address, waker = struct.unpack_from("<IIIIQQQQ", raw)
            self.waits.append(Wait(pid, tid, time, ns, state, flags, syscall, count, began, address, waker, chain, copied))
        elif raw_size >= 16:
            number, upper = struct.unpack_from("<QQ", raw)
            self.wakers.append(Waker(pid, tid, number, upper, chain))
        else:
            self.ran[tid] += ns
        return copied

    def of_thread(self):
        """Nanoseconds of each thread, running and waiting together."""
        sums = collections.Counter(self.ran)
        for wait in self.waits:
            sums[wait.tid] += wait.ns
        return sums
