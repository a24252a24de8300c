"""A guest that boots one of Debian's kernels in software emulation, does a job and ends."""

import collections
import os
import re
import subprocess

import guest
import kernels

QEMU = "qemu-system-x86_64"
# Of the richer processors, the emulation of some makes newer kernels fall over now and then.
PROCESSOR = "qemu64"
BOOTS = 6  # at most
Outcome = collections.namedtuple("Outcome", "status output")


class Machines:
    """Makes guests of one build of tephra; `cache` keeps kernels and archives between runs."""

    def __init__(self, root, build, cache):
        self.root = root
        self.build = build
        self.cache = cache
        os.makedirs(cache, exist_ok=True)
        self.base = os.path.join(cache, "base.cpio")
        guest.write_base(self.base)

    def run(self, kernel, script, timeout, cpus=2, memory="3G"):
        """Boots `kernel`, runs the shell script in /job and returns its status and all that the console showed."""
        image = kernels.kernel_image(kernel, self.cache)
        job = os.path.join(self.cache, f"job-{kernel}.cpio")
        guest.write_job(job, self.root, self.build, script, self.cache)
        initrd = os.path.join(self.cache, f"initrd-{kernel}.cpio")
        with open(initrd, "wb") as out:
            for part in (self.base, job):
                with open(part, "rb") as file:
                    while block := file.read(1 << 20):
                        out.write(block)
        for attempt in range(BOOTS):
            # The emulator's processors trip over the kernel's patching of its own code, one alone less than two.
            outcome = self._boot(image, initrd, timeout, cpus if attempt < BOOTS // 2 else 1, memory)
            if outcome.status is not None or "Kernel panic" not in outcome.output:
                break
            print(f"   Linux {kernel} panicked in the emulator, attempt {attempt + 1} of {BOOTS}")
        return outcome

    @staticmethod
    def _boot(image, initrd, timeout, cpus, memory):
        command = [QEMU, "-accel", "tcg", "-cpu", PROCESSOR, "-smp", str(cpus), "-m", memory, "-nographic", "-no-reboot",
                   "-nodefaults", "-serial", "stdio", "-kernel", image, "-initrd", initrd,
                   "-append", "console=ttyS0 quiet panic=-1 rdinit=/init"]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
            output = done.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as late:
            output = (late.stdout or b"").decode(errors="replace") + f"\n[no end within {timeout} s]"
        output = output.replace("\r", "")
        status = re.search(r"@@STATUS (\d+)@@", output)
        return Outcome(int(status[1]) if status else None, output)
