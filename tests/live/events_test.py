"""Events as `-e` takes them mean the same to tephra as to perf: the same perf_event_attr, field by field."""

import concurrent.futures
import json
import os
import re
import subprocess
import unittest

import support

FIELDS = ("type", "config", "config1", "config2", "bp_type", "exclude_user", "exclude_kernel", "exclude_hv",
          "exclude_idle", "exclude_host", "exclude_guest", "precise_ip", "pinned", "exclusive")
# How perf prints a field that is a union.
PERF_NAMES = {"{ bp_addr, config1 }": "config1", "{ bp_len, config2 }": "config2",
              "{ sample_period, sample_freq }": "rate"}

EVERYWHERE = """
    cpu-clock task-clock page-faults faults minor-faults major-faults context-switches cs cpu-migrations migrations
    alignment-faults emulation-faults dummy bpf-output cgroup-switches
    cycles cpu-cycles instructions cache-references cache-misses branches branch-instructions branch-misses bus-cycles
    stalled-cycles-frontend idle-cycles-frontend stalled-cycles-backend idle-cycles-backend ref-cycles
    L1-dcache-loads L1-dcache-load-misses L1-dcache-stores L1-dcache-prefetches L1-dcache-prefetch-misses l1d l1-d-read
    L1-icache-load-misses L1-icache-prefetches LLC-loads LLC-store-misses LLC-speculative-read L2 L2-write-miss
    dTLB-loads dTLB-store-misses d-tlb-misses iTLB-loads iTLB-load-misses branch-loads branch-load-misses
    bpu-loads btb-read-miss node-loads node-prefetch-misses node-stores L1-dcache-misses-load L1-dcache-load-refs
    cycles:u cycles:k cycles:h cycles:uk cycles:ukh cycles:kp cycles:pp cycles:ppp cycles:upp cycles:I cycles:G cycles:H
    cycles:GH cycles:uG cycles:D cycles:e cycles:SW cpu-clock:u page-faults:k cycles//u cycles:
    r0 r1a8 r1A r1a8:u rffffffffffffffff
    cpu-clock/freq=199/ cpu-clock/period=10000,name=foo/u cycles/period=1000/ cycles/period=0x10/ cycles/config1=3/
    cycles/freq=99,name=foo/k r1a8/period=7/
    mem:4096 mem:0x1000/8:rw:u mem:0x10:x mem:0x10/2:xw mem:0x10:u mem:0x10:w:k mem:0x10/8 mem:0x10/1:r
""".split() + ["{cycles,instructions}:S", "{cycles:u,instructions}:k", "{cycles,instructions:u}:p", "front{cs,faults}:u",
               "{cpu-clock}:D", "{cycles:k}:u", "{cycles:H}:G", "cpu-clock, page-faults",
               "{cpu-clock,page-faults}:u,cs,{faults}:k"]

TRACEPOINTS = ["sched:sched_switch", "sched:sched_switch:u", "sched:sched_switch:k", "sched:sched_wak*",
               "sche*:sched_switch", "{sched:sched_switch,cpu-clock}:u"]

# With a PMU like Intel's, in a made-up sysfs.
PMU_FILES = {
    "cpu/type": "4", "cpu/format/event": "config:0-7", "cpu/format/umask": "config:8-15", "cpu/format/edge": "config:18",
    "cpu/format/cmask": "config:24-31", "cpu/format/wide": "config:0-7,32-35", "cpu/format/offcore_rsp": "config1:0-63",
    "cpu/format/ldlat": "config1:0-15", "cpu/format/late": "config2:3-5", "cpu/events/some-cycles": "event=0x3c",
    "cpu/events/some-loads": "event=0xcd,umask=0x1,ldlat=3",
    "power/type": "22", "power/cpumask": "0", "power/format/event": "config:0-7",
    "power/events/energy-pkg": "event=0x02", "power/events/energy-pkg.scale": "2.5e-10",
}
WITH_PMUS = """
    cpu/event=0x3c,umask=1/ cpu/event=0x3c,umask=1/u cpu/some-cycles/ cpu/some-loads/k cpu/some-cycles,umask=0x40/
    cpu/event=1,event=2/ cpu/config=0x55,event=0xf/ cpu/event=0xf,config=0x50/ cpu/wide=0xabc/ cpu/umask/ cpu/edge/
    cpu/offcore_rsp=0xffffffffffffffff/ cpu/late=5/ cpu/r1a8/ cpu/r1a8,name=f/u cpu/event=1,period=5/
    cpu/event=1,freq=50/pp cpu// cpu/config1=7,config2=8/ power/energy-pkg/ power/event=2/ cpu/some-loads,ldlat=0x40/
""".split()
REFUSED_WITH_PMUS = ["cpu/wide=0x1000/", "cpu/umask=0x100/", "cpu/nothing=1/", "nothing/event=1/", "cpu/late=8/"]
REFUSED = ["cycles:uu", "cycles:pppp", "cycles:x", "{}", "{{cycles}}", "cycles,", ",cycles", "cycles/u", "mem:zz",
           "mem:0x10:ww", "rfffffffffffffffff", "r", "iTLB-stores", "cpu-clock/period=1k/", "cpu-clock/foo=2/",
           "sched:sched_switch:x", "nothing:nothing", "{cycles:pp}:pp"]


def attrs_of(text):
    """The attributes perf says it opens, without those it tries again or adds for itself."""
    attrs = []
    for block in re.findall(r"perf_event_attr:\n(.*?)\n-{10,}", text, re.S):
        attr = {}
        for line in block.splitlines():
            name, _, value = line.strip().rpartition(" ")
            name = PERF_NAMES.get(name.strip(), name.strip())
            attr[name] = int(value, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", value) else value
        attrs.append(attr)
    return attrs


def same_event(ours, attr):
    """What differs, as text; empty when it is the same event."""
    wrong = []
    for field in FIELDS:
        # perf leaves guests out of everything, tephra of counters of the CPU, which are all that run in guests.
        if field == "exclude_guest" and attr.get("type", 0) not in (0, 3, 4):
            continue
        if int(ours[field]) != attr.get(field, 0):
            wrong.append(f"{field}: {int(ours[field])}, perf has {attr.get(field, 0)}")
    rate = ours.get("freq", ours.get("period"))
    if rate is not None and (rate != attr.get("rate") or ("freq" in ours) != bool(attr.get("freq"))):
        wrong.append(f"rate: {rate}, perf has {attr.get('rate')}")
    return "; ".join(wrong)


class EventsTest(support.LiveTest):
    def setUp(self):
        super().setUp()
        self.need_perf()
        self.sysfs = self.path("sysfs")
        self.sources = os.path.join(self.sysfs, "bus/event_source/devices")
        for name, text in PMU_FILES.items():
            path = os.path.join(self.sources, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def parse(self, text, *options, **environment):
        done = support.run([support.program("parse_event"), *options, text], env={**os.environ, **environment})
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def perf(self, text, **environment):
        """What perf tries to open, which it prints first. That it sometimes waits for ever for a program that has ended
        already is not the question here."""
        command = ["perf", "record", "-vv", "-o", "/dev/null", "-e", text, "true"]
        try:
            done = support.run(command, env={**os.environ, **environment}, timeout=30)
            printed = done.stderr + done.stdout
        except subprocess.TimeoutExpired as ended:
            printed = ((ended.stderr or b"") + (ended.stdout or b"")).decode(errors="replace")
        return attrs_of(printed)

    def perf_on_all(self, texts, **environment):
        """perf mostly waits, so many at a time."""
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(zip(texts, pool.map(lambda text: self.perf(text, **environment), texts)))

    def compare(self, text, ours, theirs):
        """Each of our events is among those perf tried to open."""
        self.assertTrue(theirs, f"{text}: perf does not take it")
        for event in ours:
            self.assertNotIn("error", event, text)
            differences = [same_event(event, attr) for attr in theirs]
            self.assertIn("", differences, f"{text}: {event['name']}: {min(differences, key=len)}")

    def test_events_of_every_machine(self):
        self.assertGreater(len(EVERYWHERE), 60)
        for text, theirs in self.perf_on_all(EVERYWHERE):
            with self.subTest(event=text):
                self.compare(text, self.parse(text), theirs)

    def test_tracepoints(self):
        self.need_root()
        for text, theirs in self.perf_on_all(TRACEPOINTS):
            with self.subTest(event=text):
                self.compare(text, self.parse(text), theirs)
        self.assertIn("sched:sched_switch", [event["name"] for event in self.parse("*:*switch")])

    def test_pmus(self):
        for text, theirs in self.perf_on_all(WITH_PMUS, SYSFS_PATH=self.sysfs):
            with self.subTest(event=text):
                ours = self.parse(text, "--sources", self.sources)
                self.assertEqual(len(ours), 1, text)
                self.compare(text, ours, theirs)
        # perf stops at the first event that the machine refuses.
        text = "{cpu/event=1/,cpu/event=2/u}:k"
        ours = self.parse(text, "--sources", self.sources)
        self.compare(text, ours[:1], self.perf(text, SYSFS_PATH=self.sysfs))
        self.assertEqual(ours[1]["config"], 2)
        self.assertFalse(ours[1]["exclude_user"])

    def test_both_refuse(self):
        for text, theirs in self.perf_on_all(REFUSED):
            with self.subTest(event=text):
                self.assertEqual(theirs, [])
                self.assertIn("error", self.parse(text)[0])
        for text, theirs in self.perf_on_all(REFUSED_WITH_PMUS, SYSFS_PATH=self.sysfs):
            with self.subTest(event=text):
                self.assertEqual(theirs, [])
                self.assertIn("error", self.parse(text, "--sources", self.sources)[0])

    def test_names_of_libpfm(self):
        """libpfm plays another CPU when told to, so that its names can be tried anywhere."""
        skylake = {"LIBPFM_FORCE_PMU": "skl"}
        for text, config in (("INST_RETIRED:ANY_P", 0xc0), ("skl::UOPS_ISSUED", 0x10e),
                             ("inst_retired.any_p:u", 0xc0), ("MEM_LOAD_RETIRED:L3_MISS", 0x20d1)):
            with self.subTest(event=text):
                event = self.parse(text, **skylake)[0]
                if "without libpfm" in event.get("error", ""):
                    self.skipTest("built without libpfm")
                self.assertEqual((event.get("type"), event.get("config")), (4, config), event)
                self.assertEqual(event["exclude_kernel"], text.endswith(":u"))
        self.assertIn("libpfm", self.parse("INST_RETIRED:NONSENSE", **skylake)[0]["error"])
        group = self.parse("{INST_RETIRED:ANY_P,skl::UOPS_ISSUED}:u", **skylake)
        self.assertEqual([(event["group"], event["exclude_kernel"]) for event in group], [(0, True), (0, True)])

    def test_answers_about_this_machine(self):
        """What is said to sample, samples; what is said not to, perf cannot sample either."""
        for text in ("cpu-clock", "page-faults", "cycles", "instructions", "LLC-load-misses", "tsc"):
            event = self.parse(text, "--countable")[0]
            if "error" in event:
                continue
            done = support.run(["perf", "record", "-o", self.path("perf.data"), "-e", text, "true"])
            # perf falls back to a clock where there are no cycles.
            sampled = done.returncode == 0 and text != "cycles"
            if text != "cycles":
                self.assertEqual(event["samples"], sampled, f"{event}: {done.stderr}")
            self.assertTrue(event["samples"] or event["why"], event)


if __name__ == "__main__":
    unittest.main()
