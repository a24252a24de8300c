"""The same moment walked three times: inside the kernel, over the copy of the stack, and by libunwind over the copy."""

import unittest

from unwind_test import bpf_works
from unwinding_programs import VARIANTS, UnwindingPrograms


class ThreeWalks(UnwindingPrograms):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        why_not = bpf_works()
        if why_not:
            raise unittest.SkipTest("stacks cannot be walked in the kernel here: " + why_not)

    def assert_equal_walks(self, *command, enough=200, with_libunwind=True):
        """Records until `enough` was walked: while the recorder cannot run, the machine being busy, stacks are copied."""
        for _ in range(4):
            compared = self.assert_no_difference(*command, with_libunwind=with_libunwind)
            if min(compared) > enough:
                return
        self.fail(f"too few walks to compare: {compared}")

    def assert_no_difference(self, *command, with_libunwind):
        """How many walks of the kernel and of libunwind were the same as ours."""
        data = self.path("check.data")
        self.tephra("record", "-q", "-m", "16M", "-e", "cpu-clock", "-F", "2000", "--call-graph", "bpf,check", "-o", data,
                    *command)
        tables, text = self.compared(data)
        kernel = [sum(column) for column in zip(*tables["in kernel"].values())]
        same, longer, shorter, other = kernel
        # The copy is cut where the walk in the kernel goes on.
        self.assertEqual((shorter, other), (0, 0), text)
        self.assertLessEqual(longer, 0.01 * same, text)
        if not with_libunwind:
            return [same]
        by_libunwind, _, shorter, other = tables["libunwind"]["outermost"]
        self.assertLessEqual(shorter + other, 0.001 * by_libunwind, text)
        return [same, by_libunwind]

    def test_every_shape_in_every_build(self):
        for name, words in VARIANTS.items():
            with self.subTest(variant=name):
                self.assert_equal_walks(self.compiled(name, *words), "all", "0.8", self.plugin())

    def test_python(self):
        self.assert_equal_walks(*self.python())

    # libunwind is given no rules for generated code, and ends there.
    def test_node(self):
        self.assert_equal_walks(*self.node(), with_libunwind=False)

    def test_java(self):
        self.assert_equal_walks(*self.java(), with_libunwind=False)


if __name__ == "__main__":
    unittest.main()
