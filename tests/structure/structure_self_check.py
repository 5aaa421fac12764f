#!/usr/bin/env python3
"""Shows that each structure check can fail: a small tree with one fault of each kind."""
import pathlib
import tempfile
import unittest

import structure_test as checks


class StructureChecks(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        (self.root / "tests").mkdir()

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def faults(self, name):
        return list(checks.CHECKS[name](self.root))

    def test_a_lower_layer_may_not_include_from_a_higher_one(self):
        self.write("router/x.cpp", '#include "base/error.h"\n')
        self.assertEqual(self.faults("layers"), [])
        self.write("router/y.cpp", '#include "proxy/edge_worker.h"\n')
        self.write("proxy/z.cpp", '#include "worktree/names.h"\n')
        self.assertEqual(len(self.faults("layers")), 2)

    def test_a_long_file_and_a_long_function_are_found(self):
        body = "  int x = 0;\n" * 70
        self.write("base/long.cpp", f"int f(int a) {{\n{body}}}\n")
        self.assertEqual(len(self.faults("sizes")), 1)
        self.write("base/file.cpp", "int a;\n" * 401)
        self.assertEqual(len(self.faults("sizes")), 2)

    def test_a_long_member_and_a_signature_of_two_lines_are_found(self):
        body = "    int x = 0;\n" * 70
        self.write("base/member.h", f"class A {{\n  int f() {{\n{body}  }}\n}};\n")
        self.write("base/two.cpp", f"int long_name(int a,\n              int b) {{\n{body}}}\n")
        self.assertEqual(len(self.faults("sizes")), 2)

    def test_a_source_that_does_not_include_its_own_header_first_is_found(self):
        self.write("base/a.h", "// What it is.\n#pragma once\n")
        self.write("base/a.cpp", '#include <string>\n#include "base/a.h"\n')
        self.assertEqual(len(self.faults("headers")), 1)
        self.write("base/a.cpp", '#include "base/a.h"\n')
        self.assertEqual(self.faults("headers"), [])

    def test_a_header_without_a_guard_or_a_purpose_is_found(self):
        self.write("base/a.h", "int a();\n")
        self.assertEqual(len(self.faults("headers")), 2)

    def test_an_await_in_a_condition_is_found(self):
        self.write("proxy/a.cpp", "void f() {\n  if (x &&\n      (co_await g()).ok()) return;\n}\n")
        self.write("proxy/b.cpp", "void f() {\n  if (x) co_await g();\n}\n")
        self.assertEqual(len(self.faults("coroutines")), 1)

    def test_a_forbidden_word_is_found(self):
        self.write("docs/x.md", "see /wo" + "rk/main\n")
        self.assertEqual(len(self.faults("words")), 1)


if __name__ == "__main__":
    unittest.main()
