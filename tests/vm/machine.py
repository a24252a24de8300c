"""A guest that boots one of Debian's kernels in software emulation, does a job and ends."""

import collections
import glob
import os
import re
import socket
import subprocess
import time

import guest
import kernels

QEMU = "qemu-system-x86_64"
# Without cmpxchg16b: QEMU 7.2 computes the flags after it from a stale state, so now and then the trap, nested-task or
# interrupt flag is set or cleared by chance. Linux uses it to allocate memory; with 6.12 that was a double fault, a
# debug trap in the kernel or a machine that stood still in one boot of two. Kernels have another way without it.
PROCESSOR = "qemu64,-cx16"
# no_timer_check: where ticks of the emulated timer come late, the kernel takes the timer for broken and stands still.
COMMAND_LINE = "console=ttyS0 quiet panic=-1 rdinit=/init sysrq_always_enabled no_timer_check"
# One processor. Of two that threads of their own play, one may still run a breakpoint that the other has put into the
# kernel's code and taken away again, an int3 that nobody expects ("Oops: int3"). Of two that one thread plays, one
# stands still for a tenth of a second whenever the other works.
PROCESSORS = 1
# The guest's clock counts instructions, two nanoseconds each, and jumps over what would be slept. So neither the speed
# of emulation nor what else the machine has to do changes what tests see: a slow machine, and the same one every time.
CLOCK = "shift=1,sleep=off"
# Magic SysRq of a guest that stands still: print everything, what runs on each processor, what each task waits for.
QUESTIONS = "8lt"
Outcome = collections.namedtuple("Outcome", "status output")


class Limits(collections.namedtuple("Limits", "silent_s total_s")):
    """How long a guest may take in all, and how long it may say nothing, before it counts as standing still. Time in
    which the emulator waits for a processor of a busy machine does not count."""


class Guest:
    """One boot. What the console shows goes to a file; what is written to the console's input, the kernel reads."""

    def __init__(self, image, initrd, folder, memory):
        self.console = os.path.join(folder, "console")
        self.monitor = os.path.join(folder, "monitor")
        command = [QEMU, "-accel", "tcg", "-icount", CLOCK, "-cpu", PROCESSOR, "-smp", str(PROCESSORS), "-m", memory,
                   "-nographic", "-no-reboot", "-nodefaults", "-chardev", "stdio,id=console,signal=off",
                   "-serial", "chardev:console", "-monitor", f"unix:{self.monitor},server=on,wait=off",
                   "-kernel", image, "-initrd", initrd, "-append", COMMAND_LINE]
        with open(self.console, "wb") as console:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=console, stderr=console)

    def output(self):
        with open(self.console, errors="replace") as file:
            return file.read().replace("\r", "")

    def _time(self):
        """Seconds, without those in which the emulator was ready to run and another process had the processor."""
        delays = [0]
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/schedstat"):
            try:
                with open(path) as file:
                    delays.append(int(file.read().split()[1]))
            except OSError:
                pass  # a thread that has ended
        return time.monotonic() - max(delays) * 1e-9

    def wait(self, limits):
        """Empty once the guest has ended by itself; else why it has to be ended."""
        begin = spoke = self._time()
        said = 0
        while True:
            try:
                self.process.wait(timeout=1)
                return ""
            except subprocess.TimeoutExpired:
                now = self._time()
            if (size := os.path.getsize(self.console)) != said:
                said, spoke = size, now
            if now - spoke > limits.silent_s:
                return f"nothing was said for {limits.silent_s} s"
            if now - begin > limits.total_s:
                return f"no end within {limits.total_s} s"

    def ask_the_kernel(self):
        """Lets the kernel show on the console what it is doing."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.connect(self.monitor)
            for key in QUESTIONS:
                monitor.sendall(b"chardev-send-break console\n")
                time.sleep(1)
                self.process.stdin.write(key.encode())
                self.process.stdin.flush()
                time.sleep(3)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


class Machines:
    """Makes guests of one build of tephra; `cache` keeps kernels and archives between runs."""

    def __init__(self, root, build, cache):
        self.root = root
        self.build = build
        self.cache = cache
        os.makedirs(cache, exist_ok=True)
        self.base = os.path.join(cache, "base.cpio")
        if not guest.base_is_current(self.base):
            guest.write_base(self.base + ".new")
            os.rename(self.base + ".new", self.base)

    def run(self, kernel, script, limits, memory="3G"):
        """Boots `kernel`, runs the shell script in /job and returns its status (none if it had to be ended) and all
        that the console showed."""
        image = kernels.kernel_image(kernel, self.cache)
        folder = os.path.join(self.cache, "guest-" + kernel)
        os.makedirs(folder, exist_ok=True)
        machine = Guest(image, self._initrd(folder, script), folder, memory)
        try:
            late = machine.wait(limits)
            if late:
                machine.ask_the_kernel()
        finally:
            machine.end()
        output = machine.output() + (f"\n[{late}]" if late else "")
        status = re.search(r"@@STATUS (\d+)@@", output)
        return Outcome(int(status[1]) if status and not late else None, output)

    def _initrd(self, folder, script):
        """What the guest unpacks: the part that never changes, and behind it the job."""
        job = os.path.join(folder, "job.cpio")
        guest.write_job(job, self.root, self.build, script, folder)
        initrd = os.path.join(folder, "initrd.cpio")
        with open(initrd, "wb") as out:
            for part in (self.base, job):
                with open(part, "rb") as file:
                    while block := file.read(1 << 20):
                        out.write(block)
        os.unlink(job)
        return initrd
