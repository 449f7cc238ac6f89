#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mutate.py MUTANT SOURCE OUTPUT: writes cache_machine.cpp with the mutant's replacements.

Fails if a text does not occur exactly once: then the source has changed, and so must this list.
`mutate.py --list` prints the mutants.
"""
import pathlib
import sys

# Name: [(text, what stands there instead)…].
MUTANTS = {
    'no_write_back': [(
        '  for (unsigned l = 0; l < level; ++l) {\n    node const& n = nodes_[a.path[l]];',
        '  for (unsigned l = 0; l < level && false; ++l) {\n'
        '    node const& n = nodes_[a.path[l]];')],
    'no_invalidate': [(
        '  for (unsigned l = level; l-- != 0;) {\n    node& n = nodes_[a.path[l]];',
        '  for (unsigned l = level * 0; l-- != 0;) {\n    node& n = nodes_[a.path[l]];')],
    'short_release': [(
        '  for (unsigned l = 0; l < level; ++l) {\n    node const& n = nodes_[a.path[l]];',
        '  for (unsigned l = 0; l + 1 < level; ++l) {\n'
        '    node const& n = nodes_[a.path[l]];')],
    'short_acquire': [(
        '  for (unsigned l = level; l-- != 0;) {\n    node& n = nodes_[a.path[l]];',
        '  for (unsigned l = level == 0 ? 0 : level - 1; l-- != 0;) {\n'
        '    node& n = nodes_[a.path[l]];')],
    # The read-modify-write is performed one level below its scope's; it orders as it should.
    'short_place': [
        ('    clean_below(self, c, level);\n'
         '    add_part(all, choose(a, c, level, sight::newest, nullptr, nullptr), done);',
         '    unsigned const place = level == 0 ? 0 : level - 1;\n'
         '    clean_below(self, c, place);\n'
         '    add_part(all, choose(a, c, place, sight::newest, nullptr, nullptr), done);'),
        ('  unsigned const level = level_in(self, s);\n  if (level == 0) {',
         '  unsigned level = level_in(self, s);\n  level -= level == 0 ? 0 : 1;\n'
         '  if (level == 0) {')],
    'atomic_ignores_own_line': [(
        '    clean_below(self, c, level);\n'
        '    add_part(all, choose(a, c, level, sight::newest, nullptr, nullptr), done);',
        '    add_part(all, choose(a, c, level, sight::newest, nullptr, nullptr), done);')],
    'update_without_release': [
        ('  release_before_write(a, is_late ? std::nullopt : std::optional(o), s);',
         '  release_before_write(a, std::nullopt, s);'),
        ('  if (is_late && releases(o))\n', '  if (is_late && releases(o) && false)\n')],
    # A barrier is a release and an acquire fence of its work-group.
    'barrier_without_flush': [(
        '  if (releases(o))\n    release(self, level);\n  if (acquires(o))',
        '  if (releases(o) && s == scope::work_group)\n    drain(self, self.delayed.size());\n'
        '  else if (releases(o))\n    release(self, level);\n  if (acquires(o))')],
    'update_in_own_cache': [
        ('    clean_below(self, c, level);\n'
         '    add_part(all, choose(a, c, level, sight::newest, nullptr, nullptr), done);',
         '    add_part(all, choose(a, c, 0, sight::newest, nullptr, nullptr), done);'),
        ('  unsigned const level = level_in(self, s);\n  if (level == 0) {',
         '  unsigned const level = level_in(self, s);\n  if (level < 99) {')],
    # What changes nothing: it must survive.
    'none': [],
}


def main(arguments):
    if arguments == ['--list']:
        print('\n'.join(MUTANTS))
        return 0
    name, source, output = arguments
    text = pathlib.Path(source).read_text()
    for old, new in MUTANTS[name]:
        if text.count(old) != 1:
            print(f'mutate.py: {name}: this occurs {text.count(old)} times in {source}, not once:\n'
                  f'{old}', file=sys.stderr)
            return 1
        text = text.replace(old, new)
    pathlib.Path(output).write_text(text)
    return 0


sys.exit(main(sys.argv[1:]))
