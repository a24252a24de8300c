"""Live tests of `tephra convert`: any format in, any format out, joined, packed, piped, and wrong."""

import gzip
import itertools
import json
import lzma
import os
import pty
import re
import shutil
import subprocess
import unittest

from support import LiveTest, TEPHRA, parse_folded, program, run


class ConvertTest(LiveTest):
    def recording(self):
        data = self.path("spin.data")
        self.tephra("record", "-q", "-g", "-F", "997", "-o", data, "--", program("spin"), "400")
        return data

    def convert(self, *words, name="out.pb.gz", **settings):
        out = self.path(name)
        self.tephra("convert", "-q", *words, "-o", out, **settings)
        return out


class AnyFormat(ConvertTest):
    def test_a_recording_becomes_a_profile_that_every_command_reads(self):
        data = self.recording()
        profile = self.convert(data)
        self.assertEqual(self.folded(profile), self.folded(data))
        report = self.tephra("report", "-q", "--json", profile).stdout
        self.assertEqual(json.loads(report)["verdict"]["samples"], sum(self.folded(data).values()))
        self.tephra("flame", "-q", "-o", self.path("out.svg"), profile)
        with open(self.path("out.svg")) as file:
            self.assertIn("heavy", file.read())

    def test_the_name_of_the_output_says_the_format_and_to_overrules_it(self):
        data = self.recording()
        folded = self.convert(data, name="out.folded")
        with open(folded) as file:
            self.assertEqual(parse_folded(file.read()), self.folded(data))
        other = self.convert("--to", "folded", data, name="out.pb")
        with open(folded) as one, open(other) as two:
            self.assertEqual(one.read(), two.read())

    def test_an_output_called_gz_is_packed_whatever_its_format(self):
        source = self.path("in.folded")
        with open(source, "w") as file:
            file.write("main;work 7\nmain;wait 5\n")
        for ending in (".folded", ".json", ".speedscope.json", ".firefox.json", ".perf-script", ".data", ".pb"):
            with self.subTest(ending):
                packed = self.convert(source, name="out" + ending + ".gz")
                with open(self.convert(source, name="out" + ending), "rb") as file:
                    plain = file.read()
                with gzip.open(packed) as file:
                    # pprof's files are packed by any name.
                    self.assertEqual(file.read(), gzip.decompress(plain) if ending == ".pb" else plain)
                if ending != ".json":  # which is written only
                    self.assertEqual(self.folded(packed), {"main;work": 7, "main;wait": 5})
        upper = self.convert(source, name="OUT.PB.GZ")
        self.assertEqual(self.folded(upper), {"main;work": 7, "main;wait": 5})
        self.tephra("fold", "-q", source, "-o", self.path("stacks.folded.gz"))
        with gzip.open(self.path("stacks.folded.gz"), "rt") as file:
            self.assertEqual(parse_folded(file.read()), {"main;work": 7, "main;wait": 5})
        with gzip.open(self.convert("--to", "folded", source, name="stacks.gz"), "rt") as file:
            self.assertEqual(parse_folded(file.read()), {"main;work": 7, "main;wait": 5})

    def test_standard_input_and_output(self):
        data = self.recording()
        with open(data, "rb") as file:
            done = subprocess.run([TEPHRA, "convert", "-q", "--to", "folded", "-"], stdin=file, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(parse_folded(done.stdout.decode()), self.folded(data))
        piped = subprocess.run(f"{TEPHRA} convert -q --to pprof {data} | {TEPHRA} fold -q -", shell=True,
                               capture_output=True, text=True)
        self.assertEqual(parse_folded(piped.stdout), self.folded(data), piped.stderr)

    def test_packed_inputs_of_every_kind(self):
        data = self.recording()
        expected = self.folded(data)
        with open(data, "rb") as file:
            content = file.read()
        for name, pack in (("gzip", gzip.compress), ("xz", lzma.compress)):
            with self.subTest(packing=name):
                with open(self.path("packed"), "wb") as file:
                    file.write(pack(content))
                self.assertEqual(self.folded(self.path("packed")), expected)
        if shutil.which("zstd") is None:
            self.skipTest("zstd is not installed")
        with self.subTest(packing="zstd"):
            done = run(["zstd", "-q", "-f", data, "-o", self.path("packed")])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.folded(self.path("packed")), expected)

    def test_several_inputs_are_joined_whatever_their_formats(self):
        first, second = self.recording(), self.path("second.folded")
        with open(second, "w") as file:
            file.write("other;work 7\n")
        joined = self.convert(first, second)
        self.assertEqual(self.folded("--event-filter", "cpu-clock", joined), self.folded(first))
        self.assertEqual(self.folded("--event-filter", "samples", joined), {"other;work": 7})

    def test_samples_of_any_two_formats_are_one_event(self):
        endings = ("folded", "pb.gz", "data", "speedscope.json", "firefox.json", "perf-script")
        for name, count in (("a", 5), ("b", 7)):
            with open(self.path(f"{name}.folded"), "w") as file:
                file.write(f"f;g {count}\n")
            for ending in endings[1:]:
                self.convert(self.path(f"{name}.folded"), name=f"{name}.{ending}")
        for first, second in itertools.product(endings, repeat=2):
            for output in ("both.pb.gz", "both.data"):
                with self.subTest(first=first, second=second, output=output):
                    both = self.convert(self.path(f"a.{first}"), self.path(f"b.{second}"), name=output)
                    report = json.loads(self.tephra("report", "--json", both).stdout)
                    self.assertEqual(report["event"], "samples")
                    self.assertEqual(report["total"]["value"], 12)
                    # The text of perf script does not say how many samples a row stands for.
                    if "perf-script" not in (first, second):
                        self.assertEqual(report["total"]["count"], 12)

    def test_a_recording_joined_with_itself_has_everything_twice(self):
        data = self.recording()
        twice = self.folded(self.convert(data, data))
        self.assertEqual(twice, {stack: 2 * count for stack, count in self.folded(data).items()})

    def test_names_may_be_redacted(self):
        data = self.recording()
        with open(self.path("key"), "w") as file:
            file.write("a key that is long enough to be one\n")
        profile = self.convert("--redact=" + self.path("key"), data)
        with gzip.open(profile) as file:
            self.assertNotIn(b"heavy", file.read())

    def test_a_format_of_one_event_gets_the_one_that_is_shown(self):
        data = self.path("two.data")
        self.tephra("record", "-q", "-g", "-F", "997", "-e", "cpu-clock", "-e", "page-faults", "-o", data, "--",
                    program("touch_pages"), "3000")
        done = self.tephra("convert", data, "-o", self.path("out.folded"))
        self.assertIn("writing event cpu-clock", done.stderr)
        with open(self.path("out.folded")) as file:
            self.assertEqual(parse_folded(file.read()), self.folded(data))
        other = self.convert("--event-filter", "page-faults", data, name="faults.folded")
        with open(other) as file:
            self.assertEqual(parse_folded(file.read()), self.folded("--event-filter", "page-faults", data))

    def test_all_formats_are_listed(self):
        listed = self.tephra("convert", "--formats").stdout
        for name in ("perf.data", "pprof", "folded"):
            self.assertRegex(listed, rf"(?m)^  {re.escape(name)} ")
        self.assertRegex(listed, r"(?m)^  pprof +\.pb\.gz ")

    def test_a_terminal_gets_text_alone(self):
        with open(self.path("in.folded"), "w") as file:
            file.write("main;work 5\n")
        ours, theirs = pty.openpty()
        try:
            for name, status in (("pprof", 2), ("perf.data", 2), ("perf-script", 0)):
                done = subprocess.run([TEPHRA, "convert", "-q", "--to", name, self.path("in.folded")], stdout=theirs,
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((name, done.returncode, "a terminal cannot show" in done.stderr),
                                 (name, status, status == 2))
        finally:
            os.close(ours)
            os.close(theirs)


class Verdicts(ConvertTest):
    def test_the_verdict_goes_with_the_profile(self):
        profile = self.convert(self.recording())
        with gzip.open(profile) as file:
            self.assertIn(b"verdict: ", file.read())

    def test_a_bad_input_makes_nothing_good_and_is_told_once(self):
        # Without stacks.
        self.tephra("record", "-q", "-F", "997", "-o", self.path("flat.data"), "--", program("spin"), "300")
        bad = self.convert(self.path("flat.data"), name="bad.pb.gz")
        with open(self.path("good.folded"), "w") as file:
            file.write("main;work 100000\n")
        for number, first in enumerate((self.path("flat.data"), bad)):
            joined = self.path(f"joined{number}.pb.gz")
            told = self.tephra("convert", self.path("good.folded"), first, "-o", joined).stderr
            self.assertIn("verdict: fair. 100,", told)
            self.assertIn("some of what was joined was judged fair: It said: ", told)
            again = self.convert(joined, name="again.pb.gz")
            for profile in (bad, joined, again):
                with self.subTest(profile=profile), gzip.open(profile) as file:
                    self.assertEqual(file.read().count(b"verdict: "), 1)

    def test_strict_is_a_status(self):
        self.tephra("record", "-q", "-F", "997", "--no-embed", "-o", self.path("poor.data"), "--", program("spin"), "300")
        os.mkdir(self.path("empty"))
        self.tephra("convert", "--strict", "--symfs", self.path("empty"), self.path("poor.data"), "-o",
                    self.path("out.pb.gz"), status=3)
        self.assertTrue(os.path.exists(self.path("out.pb.gz")))


class WrongWords(ConvertTest):
    def refused(self, *words, status):
        return self.tephra("convert", *words, status=status).stderr

    def test_what_fits_no_format_is_told_with_the_reason_of_each(self):
        with open(self.path("notes.txt"), "w") as file:
            file.write("dear diary\n")
        text = self.refused(self.path("notes.txt"), "--to", "folded", status=1)
        for name in ("perf.data: ", "pprof: ", "folded: "):
            self.assertIn(name, text)

    def test_an_output_without_a_known_ending(self):
        text = self.refused("in.data", "-o", self.path("out.unknown"), status=2)
        self.assertIn("--to", text)

    def test_an_output_that_is_to_be_packed_otherwise(self):
        for name in ("out.folded.zst", "out.folded.XZ", "out.pb.bz2"):
            self.assertIn("packed by gzip", self.refused("in.data", "-o", self.path(name), status=2))

    def folded_input(self):
        with open(self.path("in.folded"), "w") as file:
            file.write("main;work 7\n")
        return self.path("in.folded")

    def test_filters_for_what_a_profile_does_not_say(self):
        source = self.folded_input()
        copies = [source, self.convert(source, name="out.pb.gz"), self.convert(source, name="out.data")]
        lacking = (("--cpu", "0", "on which CPU its samples were taken"), ("--time", "1,2", "when its samples were taken"),
                   ("--pid", "1", "of which processes its samples are"), ("--tid", "1", "of which threads its samples are"),
                   ("--comm", "x", "what the threads of its samples are called"))
        for path in copies:
            for option, value, what in lacking:
                with self.subTest(path=path, option=option):
                    for command in ("report", "script", "flame"):
                        text = self.tephra(command, option, value, "-i", path, status=1).stderr
                        self.assertIn(f"it does not say {what}. Leave out {option}.", text)

    def test_filters_that_leave_none_of_what_is_there(self):
        data = self.recording()
        for command in ("report", "script"):
            text = self.tephra(command, "--comm", "nonesuch", "-i", data, status=1).stderr
            self.assertIn("the filters leave none", text)
            self.assertIn("the filters leave none", self.tephra(command, "--cpu", "4095", "-i", data, status=1).stderr)

    def test_events_to_choose_from_are_told_with_those_that_have_no_samples(self):
        data = self.path("two.data")
        self.tephra("record", "-q", "-e", "cpu-clock", "-e", "alignment-faults", "-o", data, "--", program("spin"), "200")
        for command in ("report", "script"):
            text = self.tephra(command, "--event-filter", "nonesuch", "-i", data, status=1).stderr
            self.assertIn("it has no event 'nonesuch'. There is: cpu-clock, alignment-faults (no samples).", text)
            text = self.tephra(command, "--event-filter", "alignment-faults", "-i", data, status=1).stderr
            self.assertIn("its event 'alignment-faults' has none", text)

    def test_a_format_that_is_not_there(self):
        self.assertIn("pprof", self.refused("in.data", "--to", "nonesuch", status=2))

    def test_an_input_is_not_written_over(self):
        data = self.recording()
        before = os.path.getsize(data)
        self.refused(data, "--to", "folded", "-o", data, status=2)
        self.assertEqual(os.path.getsize(data), before)

    def test_standard_input_twice(self):
        self.assertIn("once", self.refused("-", "-", "--to", "folded", status=2))

    def test_a_program_without_a_profile(self):
        self.assertIn("name the profile behind it", self.refused(TEPHRA, "--to", "folded", status=1))

    def test_missing_empty_and_cut_inputs(self):
        self.assertIn("No such file", self.refused(self.path("nothing"), "--to", "folded", status=1))
        open(self.path("empty"), "w").close()
        self.assertIn("empty", self.refused(self.path("empty"), "--to", "folded", status=1))
        with open(self.path("cut.gz"), "wb") as file:
            file.write(gzip.compress(b"main;work 7\n" * 5000)[:40])
        self.refused(self.path("cut.gz"), "--to", "folded", status=1)
        self.assertFalse(os.path.exists(self.path("out")))


if __name__ == "__main__":
    unittest.main()
