# SPDX-License-Identifier: Apache-2.0
"""Where actors are: on the stack of a thread, on that of a suspended fiber, in frames on the heap."""
import os
import re

import gdb
import gdb.unwinder

from . import image
from .frames import (NOISE, Coroutine, Frame, captures, clean, parameter_names, shown)

# Below these nothing belongs to an actor any more.
BOTTOM = re.compile(r'^(quarry::sequential_scheduler::(run_actor|run_slice|step)|'
                    r'quarry::actor::(resume|run)\b|quarry::emu::compute_unit::|'
                    r'quarry::strand::|quarry::native_scheduler)')
# So do these, unless they are where a suspended one has left its stack.
SWITCH = re.compile(r'^(quarry::emu::item_lanes::|boost::context|quarry::execution_fiber)')


def is_in(function):
    """With debug information of the library the name has its namespace."""
    return (gdb.newest_frame().name() or '').split('::')[-1].split('(')[0] == function


def coroutine_of(frame):
    """The coroutine whose code runs in gdb's frame: its frame's address, or 0."""
    try:
        block = frame.block()
    except RuntimeError:
        return 0
    while block is not None and block.function is None:
        block = block.superblock
    for s in block or ():
        try:
            if s.name == 'frame_ptr':
                return int(frame.read_var(s))
            if s.name == '__promise' and s.is_variable:
                return int(frame.read_var(s).address) - 16
        except (gdb.error, TypeError, ValueError):
            return 0
    return 0


def of_gdb(frame):
    """A Frame of one of gdb's."""
    sal = frame.find_sal()
    file = sal.symtab.fullname() if sal.symtab else None
    address = coroutine_of(frame)
    line, function = sal.line, frame.function()
    home = function.symtab.fullname() if function and function.symtab else None
    if frame.type() == gdb.INLINE_FRAME:
        home = file  # of one that was inlined gdb knows the unit, not the file
    if home is not None and file != home:
        file, line = own_line(frame, function) or (file, line)
    made = Frame(clean(frame.name()), file, line, False, address, frame.level(),
                 reads=lambda: variables_of(frame), home=home)
    made.may_be_own = home is None and not re.match(r'(quarry|std|boost|tbb)::|quarry_|_|$',
                                                    frame.name() or '')
    if made.is_internal() and home is not None:
        made.site = site_of(frame)
    return made


def site_of(frame):
    """A memory operation says where it was written: its argument `where`."""
    try:
        data = int(frame.read_var('where')['_M_impl'])
        file, _, line, _ = image.read(data, 'QQII')
        return (image.text(file), line) if data and line else None
    except (gdb.error, gdb.GdbError, ValueError, RuntimeError):
        return None


def own_line(frame, function):
    """The last line of the function's own file before where it stands: what it stands at may be
    the remains of something inlined, from a header. (g++ books the code around a suspension under
    the coroutine's first line.)"""
    block = frame.block()
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        return None
    # Not function.symtab: gdb 13 dies of a line table that is not there.
    table = gdb.find_pc_line(block.start).symtab
    if table is None or table.fullname() != function.symtab.fullname():
        return None
    best = None
    for e in table.linetable():
        if block.start <= e.pc < frame.pc() and e.line not in (0, function.line) and (
                best is None or e.pc >= best.pc):
            best = e
    return (function.symtab.fullname(), best.line) if best else None


def variables_of(frame):
    found, seen = [], set()
    try:
        block = frame.block()
    except RuntimeError:
        return found
    while block is not None:
        for s in block:
            if not (s.is_variable or s.is_argument) or NOISE.match(s.name) or s.name in seen:
                continue
            seen.add(s.name)
            try:
                value = s.value(frame)
            except (gdb.error, TypeError):
                continue
            if s.name in ('__closure', 'this') and 'lambda' in str(frame.name()):
                found += [(s.line, n, shown(v), False) for n, v, _ in captures(value)]
            elif s.name != 'this':
                found.append((s.line, s.name, shown(value), s.is_argument))
        if block.function is not None:
            parameters = parameter_names(block)
            found = [(line, n, v, p or n in parameters) for line, n, v, p in found]
            break
        block = block.superblock
    return [f[1:] for f in sorted(found, key=lambda f: f[0])]  # as they are declared


def function_wave(waves, frame):
    """Of running waves of functions, which have no coroutine to be found by, the one whose slot is
    referred to nearest to the top of the frame's stack; None if none is."""
    slots = [(first, first + size, wave) for wave in waves for first, size in wave.slots()]
    for word in top_words(frame):
        for first, last, wave in slots:
            if first <= word < last:
                return wave
    return None


def top_words(frame):
    """Of the registers that functions keep, then of the stack."""
    for register in ('rdi', 'rbx', 'rbp', 'r12', 'r13', 'r14', 'r15'):
        try:
            yield int(frame.read_register(register)) & (2**64 - 1)
        except (gdb.error, ValueError):
            pass  # another processor's are called otherwise
    top = int(frame.read_register('sp'))
    for at in range(top, top + 16384, 256):
        try:
            yield from image.read(at, '32Q')
        except (gdb.error, gdb.MemoryError):
            return


def walk(frame, wanted):
    """An actor's frames on a stack: from `frame` down to its coroutine `wanted`, or to where the
    scheduler begins."""
    found = []
    for _ in range(200):
        if frame is None or not frame.is_valid():
            break
        name = frame.name() or ''
        here = of_gdb(frame)
        has_own = any(f.coroutine or not f.is_internal() for f in found)
        if here.coroutine == 0 and found and (
                BOTTOM.match(name) or (has_own and SWITCH.match(name))):
            break
        found.append(here)
        if here.coroutine != 0 and here.coroutine == wanted:
            break
        try:
            frame = frame.older()
        except gdb.error:
            break
    return found


class FiberUnwinder(gdb.unwinder.Unwinder):
    """While it is given registers, the frame below the innermost one is a suspended fiber's."""

    def __init__(self):
        super().__init__('quarry-fiber')
        self.registers = None
        self.top = None

    def __call__(self, pending):
        if self.registers is None:
            return None
        sp = pending.read_register('rsp')
        if int(sp) != self.top:
            return None
        pc = pending.read_register('rip')
        # Below the fiber's, wherever that stack lies: gdb takes one that is not for a corrupt stack.
        id_sp = min(int(sp), self.registers['rsp'] - 16)
        info = pending.create_unwind_info(FrameId(gdb.Value(id_sp).cast(sp.type), pc))
        long = gdb.lookup_type('unsigned long')
        for name, number in self.registers.items():
            info.add_saved_register(name, gdb.Value(number).cast(long))
        return info


class FrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


UNWINDER = FiberUnwinder()


def saved_registers(fiber):
    """What jump_fcontext() has pushed, on x86-64: a word of control flags, one for the stack
    protector, then r12 to r15, rbx, rbp, and where to go on."""
    context = image.saved_context(fiber)
    r12, r13, r14, r15, rbx, rbp, rip = image.read(context + 16, '7Q')
    return {'rsp': context + 72, 'rip': rip, 'rbp': rbp, 'rbx': rbx, 'r12': r12, 'r13': r13,
            'r14': r14, 'r15': r15}


def on_fiber(fiber, wanted, reads):
    """The frames of an actor that is suspended in mid-function."""
    architecture = gdb.selected_inferior().architecture().name()
    if 'x86-64' not in architecture:
        raise gdb.GdbError('Stacks of suspended fibers can be read on x86-64 only, not on %s.'
                           % architecture)
    selected = gdb.selected_frame().level()
    UNWINDER.top = int(gdb.newest_frame().read_register('rsp'))
    UNWINDER.registers = saved_registers(fiber)
    try:
        gdb.invalidate_cached_frames()
        found = walk(gdb.newest_frame().older(), wanted)
        for f in found:
            if reads and not f.is_internal():
                f.read()  # now: gdb does not stand on this stack
            f.level = None
    finally:
        UNWINDER.registers = None
        gdb.invalidate_cached_frames()
        select(selected)
    return found


def select(level):
    frame = gdb.newest_frame()
    while frame is not None and frame.level() < level:
        frame = frame.older()
    if frame is not None:
        frame.select()


def on_thread(wanted, wave):
    """The frames of an actor that runs now: on the selected thread, or on another. One without a
    coroutine is a function's, of that wave."""
    functions = wave.image.running_waves() if wave and not wanted else []
    selected = gdb.selected_thread()
    level = gdb.selected_frame().level()
    threads = [selected] + [t for t in gdb.selected_inferior().threads() if t != selected]
    try:
        for thread in threads:
            thread.switch()
            found = walk(gdb.newest_frame(), wanted)
            if found and (found[-1].coroutine == wanted if wanted else
                          len(functions) < 2 or
                          function_wave(functions, gdb.newest_frame()) is wave):
                for f in found if thread != selected else ():
                    f.read()
                    f.level = None
                return found
        return []
    finally:
        selected.switch()
        select(level)


def stack(actor, full=False, reads=True):
    """An actor's frames, innermost first: those on a stack, then those that await."""
    actor = actor.frames_of()
    layout = actor.image.layout
    if actor.doing() in ('not begun', 'ended'):
        return []
    leaf = actor.leaf()
    found, where = [], actor.waited_at()
    if actor.is_running() or actor.is_switching():
        found = on_thread(leaf, actor.wave)
    elif actor.fiber():
        found = on_fiber(actor.fiber(), leaf, reads)
    if not full:
        site = None
        while len(found) > 1 and not found[0].coroutine and found[0].is_internal():
            site = found.pop(0).site or site
        if site and found[0].file and (
                os.path.basename(site[0]) == os.path.basename(found[0].file)):
            found[0].line = site[1]
        found = [f for f in found if not (f.home or '').startswith('/usr/include/')] or found
        while len(found) > 1 and found[-1].is_internal() and not (
                found[-1].coroutine or found[-1].may_be_own):
            found.pop()  # by which it was called
    if found and leaf and not found[-1].coroutine and found[-1].name == Coroutine(leaf).name():
        found[-1].coroutine = leaf  # without debug information the name has to do
    if not full and all(f.is_internal() and not f.coroutine and not f.may_be_own for f in found):
        found = []  # it stands in Quarry's own code: where it waits says more
    if found and leaf and found[-1].coroutine == leaf:
        leaf, where = awaited_by(leaf, layout)
    seen = set()
    while leaf and leaf not in seen:
        seen.add(leaf)
        found.append(Coroutine(leaf).frame(where))
        leaf, where = awaited_by(leaf, layout)
    if not full and len(found) > 1:
        found = [f for f in found if not (f.is_async and f.is_internal())] or found
    if found and found[0].name == 'before_its_end':
        found[0].name = '(about to end)'
    return found


def awaited_by(address, layout):
    """The frame that awaits a coroutine, and where it does so."""
    outer = Coroutine(address).awaiting(layout)
    return outer, image.place(Coroutine(outer).promise() + layout['awaits_at']) if outer else None
