# SPDX-License-Identifier: Apache-2.0
"""Rows of backtraces, and coroutines that stand still: their frames are read from the heap."""
import os
import re

import gdb

from . import memory

# Of Quarry's headers, those that a person may debug: queues, channels, and what uses the network.
# Nobody wants to stand in the others.
DEBUGGED = {'spsc_queue.hpp', 'mpmc_queue.hpp', 'work_group_queue.hpp', 'slot_turns.hpp',
            'user_queue.hpp', 'channel.hpp', 'channel_aggregator.hpp', 'handover.hpp'}
DEBUGGED_FOLDERS = ('/include/quarry/net/',)
# What g++ adds to a coroutine's frame, beside the variables.
NOISE = re.compile(r'^(_Coro_|_D|D\.|Aw\d|Is(_|$)|Fs(_|$)|frame_ptr|__promise|__coro|__int|coro\.|'
                   r'__for_|__range|__begin|__end|ref\.tmp|cleanup|agg\.)')
# Types that printers are called for.
PRINTED = re.compile(r'(const )?(std::|quarry::emu::(lanes<|lane_mask|global<))')
SUFFIX = re.compile(r'_\d+_\d+$')  # of a variable in g++'s frame: its scope


class Frame:
    """One row of a backtrace. `level` is gdb's, on the stack that the actor runs on now."""

    def __init__(self, name, file=None, line=0, is_async=False, coroutine=0, level=None,
                 reads=None, home=None):
        self.name, self.file, self.line = name, file, line
        self.may_be_own = False  # no more is known of it than a name
        self.site = None  # of an operation: (file, line) of who asked for it
        self.home = home or file  # where the function is written: the line may be an inlined one's
        self.is_async, self.coroutine, self.level = is_async, coroutine, level
        self._reads = reads or (lambda: [])  # when asked for: a table of waves wants no variables

    def read(self):
        """[(name, value, is a parameter)]"""
        found = self._reads()
        self._reads = lambda: found
        return found

    @property
    def variables(self):
        return [(n, v) for n, v, _ in self.read()]

    @property
    def arguments(self):
        return ', '.join('%s=%s' % (n, v if len(v) <= 40 else v[:37] + '...')
                         for n, v, p in self.read() if p)

    def at(self):
        return '%s:%d' % (os.path.basename(self.file), self.line) if self.file else '??'

    def row(self, index):
        """As gdb's backtrace has it."""
        mark = '[async] ' if self.is_async else ''
        if self.name.startswith('('):
            return '#%-2d %s%s' % (index, mark, self.name)
        return '#%-2d %s%s (%s) at %s' % (index, mark, self.name, self.arguments, self.at())

    def short(self):
        if self.name.startswith('('):
            return self.name
        return '%s () at %s' % (self.name, self.at())

    def is_internal(self):
        """Nothing that whoever debugs a kernel or a queue has written."""
        if self.home is None or self.home.startswith('/usr/'):
            return True
        if '/lib/src/' in self.home or '/emu/src/' in self.home:
            return True
        if '/include/quarry/' not in self.home or '/apps/' in self.home:
            return False
        return os.path.basename(self.home) not in DEBUGGED and not any(
            folder in self.home for folder in DEBUGGED_FOLDERS)


def without_templates(name):
    depth, kept = 0, []
    for c in name.replace('operator<', 'operator').replace('operator->', 'operator'):
        depth += c == '<'
        if depth == 0:
            kept.append(c)
        depth -= c == '>'
    return ''.join(kept)


def clean(name):
    """`(anonymous namespace)::meet::operator()(... .Frame *)` is meet."""
    if not name:
        return '??'
    if name == 'operator()':
        return 'lambda'  # g++ says no more of one
    if name.startswith('_Z'):
        return from_mangled(name)
    name = name.replace('(anonymous namespace)::', '').replace('operator()', 'operator@')
    lambdas = '{lambda' in name or '<lambda' in name or '$_' in name
    name = re.sub(r'<lambda\((.|\n)*?\)>', 'lambda', name)
    name = re.sub(r'{lambda\(.*?\)#\d+}', 'lambda', name)
    name = without_templates(name).split('(')[0].split(' [clone')[0].strip()
    name = name.split(' ')[-1]  # without a return type
    parts = [p for p in name.split('::') if p and not p.startswith('._anon')]
    if parts and parts[-1].startswith('operator@'):
        parts.pop()
    if not parts:
        return 'lambda' if lambdas else '??'
    if parts[-1] in ('lambda', ) or parts[-1].startswith('$_'):
        return ''.join(parts[-2:-1]) + ' lambda' if len(parts) > 1 else 'lambda'
    return parts[-1]


def from_mangled(name):
    """The last name of a symbol that gdb 13 cannot read: clang 19 has constraints in it (Tk)."""
    if 'Ul' in name and name.endswith('_clEv'):
        return 'lambda'
    at = re.match(r'_Z+N?[rVK]*[RO]?', name).end()
    last = '??'
    while True:
        size = re.match(r'\d+', name[at:])
        if size is None:
            return last
        at += size.end() + int(size[0])
        part = name[at - int(size[0]):at]
        last = part if part != '_GLOBAL__N_1' else last


def shown(value, limit=200):
    """A value in one line. References stay references: a wavefront would fill the screen."""
    try:
        # Printers are for what they are made for, if it is there: in the middle of something, or of
        # what is optimised out, they may fail aloud.
        printed = PRINTED.match(str(value.type.strip_typedefs()))
        if printed and value.is_optimized_out:
            return '<optimized out>'
        is_whole = printed is not None and printed[3] == 'lanes<'
        words = value.format_string(max_elements=64 if is_whole else 8, max_depth=2,
                                    deref_refs=False, symbols=False, static_members=False,
                                    raw=printed is None)
    except (gdb.error, gdb.MemoryError, TypeError, ValueError) as e:
        return '<%s>' % e
    words = ' '.join(words.split())
    return words if is_whole or len(words) <= limit else words[:limit] + '...'


def function_block(pc):
    try:
        block = gdb.block_for_pc(pc)
    except (gdb.error, RuntimeError):
        return None
    while block is not None and block.function is None:
        block = block.superblock
    return block


class Coroutine:
    """A coroutine by its frame's address: word 0 resumes it, word 1 destroys it."""

    def __init__(self, address):
        self.address = address
        self.resume, self.destroy = memory.read(address, 'QQ')
        self.block = function_block(self.destroy) or function_block(self.resume)

    def name(self):
        if self.block is not None:
            return clean(self.block.function.name)
        words = gdb.execute('info symbol %d' % self.destroy, to_string=True)
        return clean(words.split(' + ')[0].split(' in section')[0])

    def type(self):
        """Of the frame: g++ says it with `frame_ptr`, clang with `__coro_frame`."""
        if self.block is None:
            return None
        for s in self.block:
            if s.name == 'frame_ptr':
                return s.type.target()
            if s.name == '__coro_frame':
                return s.type if s.type.code == gdb.TYPE_CODE_STRUCT else s.type.target()
        return None

    def promise(self):
        kind = self.type()
        for f in kind.fields() if kind is not None else ():
            if f.name in ('_Coro_promise', '__promise'):
                return self.address + f.bitpos // 8
        return self.address + 16

    def awaiting(self, layout):
        """The frame that awaits this one, and where; 0 in an actor's root."""
        return memory.word(self.promise() + layout['continuation'])

    def has_begun(self):
        """False before the first resumption, if that can be seen."""
        if self.block is None:
            return True
        scope = gdb.execute('info scope *%d' % self.resume, to_string=True)
        at = offsets_in_frame(scope).get('_Coro_initial_await_resume_called')
        if at is not None:
            return memory.read(self.address + at[0], 'B')[0] != 0
        kind = self.type()
        for f in kind.fields() if kind is not None else ():
            if f.name == '__coro_index':  # clang: which suspension it is at, from 0 on
                return int(gdb.Value(self.address).cast(kind.pointer()).dereference()[f]) != 0
        return True

    def is_lambda(self):
        return 'lambda' in self.name()

    def variables(self, line):
        """(name, value, is a parameter) of what a person has named and `line` can see."""
        found = self.by_scope(line) if line else []
        seen = set()
        for name, value, is_parameter in found or self.by_type():
            if name in seen:  # optimised: of something inlined, too
                continue
            seen.add(name)
            if name == '__closure' or (name == 'this' and self.is_lambda()):
                yield from captures(value)
            elif name != 'this':
                yield name, value, is_parameter

    def by_type(self):
        kind = self.type()
        if kind is None:
            return
        whole = gdb.Value(self.address).cast(kind.pointer()).dereference()
        for f in kind.fields():
            if f.name and not NOISE.match(f.name):
                yield SUFFIX.sub('', f.name), whole[f], not SUFFIX.search(f.name)

    def by_scope(self, line):
        """g++: what is visible where that line resumes, and where it lies in the frame. (Of a
        template's frame gdb 13 knows no members: their types stand in an abstract function.)"""
        block = function_block(self.resume)
        if block is None:
            return []
        table = line_table(block)
        # Whatever the compiler has left of it may be elsewhere, in what it has inlined there.
        nearest = max((n for n in table if n <= line), default=line)
        for pc in table.get(nearest, ()):
            offsets = offsets_in_frame(gdb.execute('info scope *%d' % pc, to_string=True))
            found = []
            inner = gdb.block_for_pc(pc)
            while inner is not None:
                if nearest == line or inner.function is not None or last_line(table, inner) >= line:
                    found += [(s.line, s.name, self.variable(s, *offsets[s.name])) for s in inner
                              if s.name in offsets and not NOISE.match(s.name)]
                if inner.function is not None:
                    break
                inner = inner.superblock
            if found:
                parameters = parameter_names(block)
                return [(n, v, n in parameters) for _, n, v in sorted(found, key=lambda f: f[0])]
        return []

    def variable(self, symbol, offset, is_indirect):
        at = self.address + offset
        kind = symbol.type.strip_typedefs()
        if kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            at, kind = memory.word(at), kind.target()
            return gdb.Value(at).cast(kind.pointer()).dereference().reference_value()
        if is_indirect:
            at = memory.word(at)
        return gdb.Value(at).cast(symbol.type.pointer()).dereference()

    def frame(self, where, is_async=True):
        file, line = where if where else (None, 0)
        home = self.block.function.symtab.fullname() if self.block is not None else None
        if file and home:  # a source_location may be relative to a build folder
            file = home if os.path.basename(home) == os.path.basename(file) else file
        return Frame(self.name(), file, line, is_async, self.address, home=home,
                     reads=lambda: [(n, shown(v), p) for n, v, p in self.variables(line)])


_line_tables = {}


def line_table(block):
    """{line: [pc]} of one function."""
    key = (block.start, block.function.symtab.filename)
    if key not in _line_tables:
        table = {}
        symtab = gdb.find_pc_line(block.start).symtab
        for e in symtab.linetable() if symtab is not None else ():
            if block.start <= e.pc < block.end:
                table.setdefault(e.line, []).append(e.pc)
        _line_tables[key] = table
    return _line_tables[key]


def last_line(table, block):
    """Of those in a line table with an instruction in the block."""
    return max((line for line, pcs in table.items()
                if any(block.start <= pc < block.end for pc in pcs)), default=0)


def offsets_in_frame(scope):
    """{name: (offset, is indirect)} of what `info scope` says lies at frame_ptr + offset."""
    found = {}
    for part in re.split(r'^Symbol ', scope, flags=re.M)[1:]:
        places = set(re.findall(r'DW_OP_plus_uconst (\d+)((?:\s+\d+: DW_OP_deref)?)', part))
        if len(places) == 1:
            offset, deref = places.pop()
            found[part.split(' ', 1)[0]] = (int(offset), bool(deref))
    return found


def parameter_names(block):
    """From the function that made the frame: g++ copies its parameters, under their names."""
    names, seen = set(), False
    for s in block:
        if s.name == '_Coro_self_handle':
            seen = True
        elif s.name == '_Coro_resume_index':
            break
        elif seen:
            names.add(s.name)
    return names


def captures(closure):
    try:
        inside = closure.dereference() if closure.type.code == gdb.TYPE_CODE_PTR else closure
        for f in inside.type.strip_typedefs().fields():
            if f.name:
                yield re.sub(r'^__(?=[a-z])', '', f.name), inside[f], False
    except (gdb.error, gdb.MemoryError):
        return
