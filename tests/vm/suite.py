"""Runs the tests that depend on the kernel on Debian's stock kernels, in guests."""

import concurrent.futures
import json
import os
import re
import shlex
import shutil

import kernels
import machine

# Whatever loads a BPF program.
UNIT_TESTS = "*Bpf*:*RunQueue*:StackProgram*:StackWalk*:*Trial*:OffCpuProgram*:ActivityProgram*"
LIVE_TESTS = ["unwind_test", "kprobes_test", "rights_test", "record_test.Tracepoints", "doctor_test.MachineTest",
              "profile_types_test.Counts", "off_cpu_test.KnownWaits.test_every_wait_of_a_ping_pong_is_counted",
              "tcp_test.KnownCounts.test_nobody_listens", "tcp_test.KnownCounts.test_resets"]
# What judges by times or by what a recorder must keep up with: guests are about ten times slower than a machine.
LEFT_OUT = {
    "doctor_test.MachineTest.test_nothing_changes_and_it_is_quick": "judges by a second of time",
    "unwind_test.Processes.test_a_program_of_fifty_milliseconds": "emulation takes longer to make its tables",
    "unwind_test.Processes.test_a_storm_of_forks": "the children of a guest's storm end before their first sample",
    "unwind_test.Files.test_a_flight_recorder_tells_what_it_lost": "a guest's faults fill no ring in that time",
    "unwind_test.Processes.test_nothing_is_lost_at_the_start": "faults come faster than emulation empties rings",
}
# Several times what is needed.
LIMITS = machine.Limits(silent_s=300, total_s=1500)
NOTHING = {"passed": 0, "failed": [], "skipped": [], "retried": [], "output": ""}


def judge(outcome):
    """Counts as in in_guest.py, and what the console showed where something failed. A guest that does not come to its
    end is a failure: it is not told apart whether the emulator, the kernel or tephra stood still."""
    found = re.search(r"^@@COUNTS (.*)@@$", outcome.output, re.MULTILINE)
    if not found or outcome.status is None:
        return {**NOTHING, "failed": ["the guest did not finish"], "output": outcome.output[-30000:]}
    counts = {**NOTHING, **json.loads(found[1])}
    if outcome.status != 0 and not counts["failed"]:
        counts["failed"] = [f"the guest ended with status {outcome.status}"]
    counts["output"] = outcome.output[-12000:] if counts["failed"] else ""
    return counts


def run_on(machines, kernel):
    plan = {"unit": UNIT_TESTS, "live": LIVE_TESTS, "left_out": LEFT_OUT}
    script = f"exec python3 in_guest.py {shlex.quote(json.dumps(plan))}\n"
    try:
        return judge(machines.run(kernel, script, LIMITS))
    except kernels.Unavailable as reason:
        return {**NOTHING, "skipped": [[f"kernel {kernel}", str(reason)]]}


def show(kernel, counts):
    print(f"   Linux {kernel}: {counts['passed']} passed, {len(counts['failed'])} failed,"
          f" {len(counts['retried'])} tried again", flush=True)
    for name, reason in counts["skipped"]:
        print(f"  skipped {name} on Linux {kernel}: {reason}")
    for name, reason in counts["retried"]:
        print(f"  tried again {name} on Linux {kernel}: {reason}")
    for name in counts["failed"]:
        print(f"  FAILED {name} on Linux {kernel}")
    if counts["failed"]:
        print(counts["output"])


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
            show(kernel, counts)
            passed += counts["passed"]
            failed += len(counts["failed"])
            skipped += len(counts["skipped"])
    return passed, failed, skipped
