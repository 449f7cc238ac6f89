# SPDX-License-Identifier: Apache-2.0
"""What stands in the program's memory: numbers, C strings, places, lists."""
import struct

import gdb


def read(address, form):
    """The numbers that stand there, as struct.unpack() gives them."""
    try:
        memory = gdb.selected_inferior().read_memory(address, struct.calcsize('<' + form))
    except gdb.MemoryError:
        raise gdb.GdbError('Quarry: no memory at 0x%x: the lists are being changed, or broken.'
                           % address)
    return struct.unpack('<' + form, memory)


def word(address):
    return read(address, 'Q')[0]


def text(address):
    """A C string."""
    if address == 0:
        return ''
    return gdb.Value(address).cast(gdb.lookup_type('char').pointer()).string(errors='replace')


def place(address):
    """What a std::source_location there says: (file, line), or None."""
    data = word(address)
    if data == 0:
        return None
    file, _, line, _ = read(data, 'QQII')
    return (text(file), line) if line else None


def chain(first):
    """The nodes of a debug_list; their `next` comes first."""
    seen = set()
    while first and first not in seen:
        seen.add(first)
        yield first
        first = word(first)


def symbol(name):
    """Where it stands, or 0. From the outermost scope: with `using namespace quarry` in sight, gdb
    would take the name for one of that namespace, which the linker does not know."""
    try:
        return int(gdb.parse_and_eval('(unsigned long) &::%s' % name))
    except gdb.error:
        return 0
