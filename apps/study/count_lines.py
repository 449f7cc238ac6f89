#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header with how many lines of code each file has: count_lines.py ROOT FILE... """
import pathlib
import sys


def lines_of(path):
    lines = (line.strip() for line in path.read_text().splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


root = pathlib.Path(sys.argv[1])
print("// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\n#include <string_view>\n")
print("namespace quarry::study {\n")
print("struct line_count {\n  std::string_view file;\n  unsigned lines;\n};")
print("inline constexpr line_count lines_of_code[] = {")
for name in sys.argv[2:]:
    print(f'    {{"{name}", {lines_of(root / name)}}},')
print("};\n\n} // namespace quarry::study")
