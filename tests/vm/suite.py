"""Runs the tests that depend on the kernel on Debian's stock kernels, in guests."""

import concurrent.futures
import json
import os
import re
import shutil

import kernels
import machine

# Whatever loads a BPF program.
UNIT_TESTS = "*Bpf*:*RunQueue*:StackProgram*:StackWalk*:*Trial*"
# Those whose outcome depends on the kernel and not on the speed of the machine, which emulation makes 20 to 50 times
# slower than a real one.
LIVE_TESTS = ["unwind_test.Cases", "record_test.Tracepoints"] + [
    f"unwind_test.Files.test_{name}" for name in (
        "perf_shows_whole_stacks", "tephra_and_perf_read_the_same", "compressed", "a_stream", "switching_files",
        "checking_takes_every_stack_twice")]
TIMEOUT_S = 480
# Kernels that the emulator (QEMU 7.2) does not run reliably: they panic while they patch their own code, or stand still.
# A guest of theirs that does not come to its end is skipped and says so; what it does finish counts.
UNRELIABLE = {"6.12"}


def run_on(machines, kernel):
    """Counts as in in_guest.py; a guest that does not end by itself is one failure."""
    script = f"exec python3 in_guest.py '{UNIT_TESTS}' {' '.join(LIVE_TESTS)}\n"
    try:
        outcome = machines.run(kernel, script, TIMEOUT_S)
    except kernels.Unavailable as reason:
        return {"passed": 0, "failed": [], "skipped": [[f"kernel {kernel}", str(reason)]], "output": ""}
    found = re.search(r"@@COUNTS (.*)@@", outcome.output)
    if not found and kernel in UNRELIABLE:
        return {"passed": 0, "failed": [], "skipped": [[f"kernel {kernel}", "it did not finish in the emulator"]],
                "output": ""}
    if not found:
        return {"passed": 0, "failed": ["the guest did not finish"], "skipped": [], "output": outcome.output[-6000:]}
    counts = json.loads(found[1])
    counts["output"] = outcome.output[-12000:] if counts["failed"] else ""
    return counts


def run(root, build):
    """(passed, failed, skipped) over all kernels; prints what failed and why what was skipped."""
    if shutil.which(machine.QEMU) is None or not os.path.exists("/bin/busybox"):
        print("  skipped: qemu-system-x86 or busybox-static is not installed")
        return 0, 0, len(kernels.KERNELS)
    machines = machine.Machines(root, build, os.path.join(root, "build", "vm"))
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        results = pool.map(lambda kernel: (kernel, run_on(machines, kernel)), kernels.KERNELS)
        for kernel, counts in results:
            print(f"   Linux {kernel}: {counts['passed']} passed, {len(counts['failed'])} failed")
            for name, reason in counts["skipped"]:
                print(f"  skipped {name} on Linux {kernel}: {reason}")
            for name in counts["failed"]:
                print(f"  FAILED {name} on Linux {kernel}")
            if counts["failed"]:
                print(counts["output"])
            passed += counts["passed"]
            failed += len(counts["failed"])
            skipped += len(counts["skipped"])
    return passed, failed, skipped
