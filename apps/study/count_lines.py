#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with how many lines of code each file has: count_lines.py ROOT FILE...

The lines of a file that is written +FILE count with those of the file before it.
"""
import pathlib
import sys


def lines_of(path):
    lines = (line.strip() for line in path.read_text().splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


root = pathlib.Path(sys.argv[1])
counts = {}
for name in sys.argv[2:]:
    if not name.startswith("+"):
        counted = name
    counts[counted] = counts.get(counted, 0) + lines_of(root / name.lstrip("+"))
print("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n#include <string_view>\n")
print("namespace quarry::study {\n")
print("struct line_count {\n  std::string_view file;\n  unsigned lines;\n};")
print("inline constexpr line_count lines_of_code[] = {")
for name, lines in counts.items():
    print(f'    {{"{name}", {lines}}},')
print("};\n\n} // namespace quarry::study")
