"""Tests of what judges the guests, without one."""

import json
import unittest

import kernels
import machine
import suite

COUNTS = {"passed": 3, "failed": [], "skipped": [], "retried": [["a_test.A.test_b", "AssertionError: 7 != 8"]]}


def ended(counts, status):
    return machine.Outcome(status, f"boot\n@@COUNTS {json.dumps(counts)}@@\n@@STATUS {status}@@\nreboot: Power down\n")


class Judgement(unittest.TestCase):
    def test_a_guest_that_ends_counts_as_it_says(self):
        counts = suite.judge(ended(COUNTS, 0))
        self.assertEqual((counts["passed"], counts["failed"], counts["retried"]), (3, [], COUNTS["retried"]))

    def test_a_guest_that_stands_still_is_a_failure(self):
        for output in ("", "Kernel panic - not syncing", "live test a_test.A.test_b\n[nothing was said for 300 s]"):
            counts = suite.judge(machine.Outcome(None, output))
            self.assertEqual((counts["passed"], len(counts["failed"]), counts["skipped"]), (0, 1, []), output)
            self.assertIn(output, counts["output"])

    def test_a_guest_that_does_not_get_to_its_end_is_a_failure(self):
        self.assertEqual(len(suite.judge(ended(COUNTS, 0)._replace(status=None))["failed"]), 1)

    def test_a_status_that_fits_no_failed_test_is_a_failure(self):
        self.assertEqual(suite.judge(ended(COUNTS, 3))["failed"], ["the guest ended with status 3"])

    def test_failed_tests_keep_their_names_and_output(self):
        counts = suite.judge(ended({**COUNTS, "failed": ["b_test.B.test_c"]}, 1))
        self.assertEqual(counts["failed"], ["b_test.B.test_c"])
        self.assertIn("Power down", counts["output"])


class Archives(unittest.TestCase):
    def test_the_main_archive_of_debian_is_taken(self):
        targets = ("stable-security\tDebian\tscheme://one/security\nstable\tSomeone\tscheme://two\n"
                   "stable\tDebian\tscheme://three/main\n")
        self.assertEqual(kernels.archive_in(targets), "scheme://three/main")

    def test_without_one_there_is_a_reason(self):
        for targets in ("", "stable\tSomeone\tscheme://two\n", "stable-updates\tDebian\tscheme://one\n"):
            with self.assertRaisesRegex(kernels.Unavailable, "apt knows no archive of Debian"):
                kernels.archive_in(targets)


if __name__ == "__main__":
    unittest.main()
