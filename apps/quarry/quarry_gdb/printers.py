# SPDX-License-Identifier: Apache-2.0
"""Values of kernels as gdb prints them: lanes<T>, lane_mask, global<T>."""
import re

import gdb

from . import session

KIND = re.compile(r'quarry::emu::(lanes|lane_mask|global)(<.*>)?$')


class Printer:
    def __init__(self, words, value):
        self.words, self.value = words, value

    def to_string(self):
        return self.words(self.value)


def lanes(value):
    """All of them, as an array; with a lane selected, its own first."""
    kind, count = [value.type.strip_typedefs().template_argument(i) for i in (0, 1)]
    count = int(count)
    array = value['parts_'].address.cast(kind.array(count - 1).pointer()).dereference()
    # gdb 12 does not say what it has been asked for.
    options = gdb.print_options() if hasattr(gdb, 'print_options') else {}
    if kind.sizeof == 1:  # as characters they would lose the zeros at their end
        options.setdefault('format', 'u' if 'unsigned' in str(kind.strip_typedefs()) else 'd')
    words = '%d lanes %s' % (count, array.format_string(**options))
    lane = session.lane()
    if lane is None or lane >= count:
        return words
    return '%s in lane %d of %s' % (array[lane].format_string(**options), lane, words)


def lane_mask(value):
    bits = int(value['bits_'])
    count = bin(bits).count('1')
    return '0x%x (%d lane%s)' % (bits, count, '' if count == 1 else 's')


def address(value):
    return '0x%x' % int(value['at_'])


WORDS = {'lanes': lanes, 'lane_mask': lane_mask, 'global': address}


def find(value):
    """None, so that gdb prints the members, of what is optimised out, and of lanes in no memory."""
    kind = KIND.match(value.type.strip_typedefs().tag or '')
    if kind is None or value.is_optimized_out or (kind[1] == 'lanes' and value.address is None):
        return None
    return Printer(WORDS[kind[1]], value)


def register():
    find.name = 'quarry'
    gdb.pretty_printers.insert(0, find)
