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
        data = self.path("check.data")
        self.tephra("record", "-q", "-m", "16M", "-e", "cpu-clock", "-F", "2000", "--call-graph", "bpf,check", "-o", data,
                    *command)
        tables, text = self.compared(data)
        kernel = [sum(column) for column in zip(*tables["in kernel"].values())]
        same, longer, shorter, other = kernel
        self.assertGreater(same, enough, text)
        # The copy is cut where the walk in the kernel goes on.
        self.assertEqual((shorter, other), (0, 0), text)
        self.assertLessEqual(longer, 0.01 * same, text)
        if with_libunwind:
            same, longer, shorter, other = tables["libunwind"]["outermost"]
            self.assertGreater(same, enough, text)
            self.assertLessEqual(shorter + other, 0.001 * same, text)

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
