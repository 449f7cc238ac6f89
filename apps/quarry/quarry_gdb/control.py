# SPDX-License-Identifier: Apache-2.0
"""Going on and going back, by stop conditions that the program itself looks at."""
import linecache
import struct

import gdb

from . import session, stacks
from .image import FILTER_AT, Image, symbol, word

_marker = None
_failure = None
_note = 0
NATIVE = ('Nothing is decided here: the program runs under the native scheduler. '
          'Use breakpoints and next, or explore it and debug the replay.')
_goal = None  # (execution, decision) that somebody goes to: failures before it are known


def need_decisions(image):
    """The deterministic scheduler that runs, and where it stands."""
    actor = session.selected(image)
    found = [e for e in image.executors if e.is_deterministic()]
    if actor is not None and actor.executor in found:
        return actor.executor
    if not found:
        raise gdb.GdbError(NATIVE if image.executors else
                           'No scheduler is there yet: decision N and access go on to one.')
    return found[-1]


def arm(actor=0, execution=0, decision=0, noted=0, address=0, size=0):
    root = symbol('quarry_debug_root')
    armed = 1 if actor or decision or noted or size else 0
    data = struct.pack('<IIQQIIQQQ', armed, actor, execution, decision, noted, 0, 0, address, size)
    gdb.selected_inferior().write_memory(root + FILTER_AT, data)


def mark():
    """The breakpoint at quarry_debug_stop()."""
    global _marker
    if _marker is None or not _marker.is_valid():
        _marker = gdb.Breakpoint('quarry_debug_stop', internal=True)
        _marker.silent = True


class FailureBreakpoint(gdb.Breakpoint):
    """Stops at the first failure of a process, or from _goal on: those that shrinking finds after
    it are the same."""

    def __init__(self):
        super().__init__('quarry_debug_failure', internal=True)
        self.silent = True
        self.pid = 0

    def stop(self):
        pid = gdb.selected_inferior().pid
        if _goal is not None and here(Image()) < _goal:
            return False
        first = self.pid != pid
        self.pid = pid
        return first


def watch_for_failures():
    """Once the program is known; it may have none of Quarry's symbols."""
    global _failure
    if (_failure is None or not _failure.is_valid()) and symbol('quarry_debug_failure'):
        _failure = FailureBreakpoint()


def is_at_failure():
    return is_live() and stacks.is_in('quarry_debug_failure')


def tell_failure():
    image = Image()
    kind, where = image.failure()
    actor = session.selected(image)
    found = [e for e in image.executors if e.is_deterministic()]
    executor = actor.executor if actor else found[0] if len(found) == 1 else None
    words = kind + (' at ' + where if where else '')
    if executor:
        words += ', before decision %d' % executor.decision()
    if actor:
        words += ' of %s' % describe(actor)
    if executor:
        words += ', execution %d' % executor.executions
    print('[Failure: %s]' % words)
    if actor is not None:
        tell_stack(actor)


def is_live():
    return gdb.selected_inferior().pid != 0 and gdb.selected_thread() is not None


def is_at_marker():
    return is_live() and stacks.is_in('quarry_debug_stop')


def need_live():
    if not is_live():
        raise gdb.GdbError('The program is not being run.')
    if 'core dump' in gdb.execute('info target', to_string=True):
        raise gdb.GdbError('This is a core dump: nothing runs in it.')


def go(known=0, **conditions):
    """Continues until one of the conditions holds. False, having said so, if it came otherwise.
    Failures before decision `known` of the execution are no news; without it, before the one that
    it goes to."""
    global _goal
    mark()
    arm(**conditions)
    _goal = (conditions.get('execution', 0), known or conditions['decision']) if (
        conditions.get('execution') and conditions.get('decision')) else None
    try:
        said = gdb.execute('continue', to_string=True)
    finally:
        _goal = None
    if is_live():
        arm()
    if is_at_marker():
        return True
    words = [line for line in said.splitlines() if line.strip() and line != 'Continuing.']
    print('\n'.join(words))
    return False


def restart(known=0, **conditions):
    """The same program with the same arguments from its beginning, to where the conditions hold."""
    if _failure is not None:
        _failure.pid = 0
    others = [b for b in gdb.breakpoints() or () if b.is_valid() and b.enabled and b.number > 0]
    for b in others:
        b.enabled = False
    asks = gdb.parameter('confirm')
    gdb.execute('set confirm off')
    try:
        entry = gdb.Breakpoint('main', internal=True, temporary=True)
        entry.silent = True
        gdb.execute('run', to_string=True)
        if not is_live():
            raise gdb.GdbError('The program could not be started again.')
        return go(known, **conditions)
    finally:
        gdb.execute('set confirm ' + ('on' if asks else 'off'))
        for b in others:
            if b.is_valid():
                b.enabled = True


def noted_decision():
    return word(symbol('quarry_debug_root') + FILTER_AT + 32)


def tell():
    """Where the program stands now, and selects that frame."""
    image = Image()
    why, node, who, decision = image.stop()
    executor = next((e for e in image.executors if e.node == node), None)
    actor = image.at(who) if who else None
    number = 'decision %d' % decision
    if executor is not None and executor.executions > 1:
        number += ' of execution %d' % executor.executions
    if actor is None:
        print('[%s: who goes on is chosen]' % number.capitalize())
        return
    waits = 'gives way' if actor.state() == 'ready' else 'waits: %s' % actor.doing()
    does = {'waits': waits, 'ended': 'has ended', 'access': 'accesses it'}.get(why, 'goes on')
    print('[%s: %s, %s]' % (number.capitalize(), describe(actor), does))
    session.publish(image)
    if why == 'ended':
        return
    tell_stack(actor)


def tell_stack(actor):
    stack = stacks.stack(actor)
    if stack:
        tell_frame(0, stack[0])
        if stack[0].level is not None:
            stacks.select(stack[0].level)
    else:
        print('(%s)' % actor.doing())


def describe(actor):
    words = 'actor %d "%s"' % (actor.number(), actor.name)
    return '%s, wave %s' % (words, actor.qualified_id()) if hasattr(actor, 'dispatch') else words


def tell_frame(index, frame):
    print(frame.row(index))
    source = linecache.getline(frame.file, frame.line).rstrip() if frame.file else ''
    if source:
        print('%d\t%s' % (frame.line, source))


def number_of(actor):
    if not actor.executor.is_deterministic():
        raise gdb.GdbError(NATIVE)
    return actor.number()


def need_more(actor):
    if actor.doing() == 'ended':
        raise gdb.GdbError('%s has ended.' % describe(actor))


def step(actor):
    """To the actor's next decision, wait or end."""
    need_live()
    number = number_of(actor)
    need_more(actor)
    if go(actor=number):
        tell()


def next_line(actor):
    """To the next decision or wait of the actor in another line of the coroutine it is in, or of
    one that awaits it: what that one calls or awaits is passed over."""
    need_live()
    number = number_of(actor)
    need_more(actor)

    def position():
        now = Image()
        me = now.at(actor.address)
        stack = stacks.stack(me) if me is not None else []
        own = next((f for f in stack if f.coroutine), stack[0] if stack else None)
        return [f.coroutine for f in stack if f.coroutine], (own.coroutine, own.line) if own else ()

    chain, was = position()
    while go(actor=number):
        if Image().stop()[0] == 'ended':
            break
        now, here = position()
        # Deeper than where it began: something that it awaits.
        if here != was and (not chain or not now or here[0] in chain):
            break
    else:
        return
    tell()


def go_to_access(address, size):
    """To where the next one, whoever it is, accesses one of these bytes."""
    need_live()
    if Image().executors:
        need_decisions(Image())
    if go(address=address, size=size):
        tell()


def here(image):
    """(execution, decision) that comes next."""
    executor = need_decisions(image)
    return executor.executions, executor.decision()


def go_to_decision(decision, execution):
    """Forward if it is still to come, else from the program's beginning."""
    image = Image()
    need_live()
    now = here(image) if image.executors else (0, 0)
    move = go if (execution, decision) > now else restart
    go_by(move, decision, execution)


def run_to_decision(decision, execution):
    """Of a program that is not being run."""
    go_by(restart, decision, execution)


def go_by(move, decision, execution):
    check_decision(decision, execution)
    if move(execution=execution, decision=decision):
        tell()
    elif not is_live() or (execution, decision) < here(Image()):
        print('The program has come to no decision %d of execution %d: the execution has fewer, was '
              'the same as an earlier one and not run, or there is none of that number.' %
              (decision, execution) if execution else
              'The program has come to no decision %d.' % decision)


def check_decision(decision, execution):
    if decision < 1:
        raise gdb.GdbError('There is no decision %d: the first one is 1.' % decision)
    if max(decision, execution) >= 2**64:
        raise gdb.GdbError('There is no decision %d of execution %d.' % (decision, execution))


def step_back(count):
    image = Image()
    need_live()
    execution, decision = here(image)
    if decision - count < 1:
        raise gdb.GdbError('No decision is %d before decision %d.' % (count, decision))
    go_to_decision(decision - count, execution)


def back(actor):
    """To the actor's last decision before this one: first to learn which it is, then to it."""
    need_live()
    number = number_of(actor)
    execution, decision = here(Image())
    name = describe(actor)
    last = last_decision(number, execution, decision)
    if not last:
        print('[%s has decided nothing before decision %d]' % (name, decision))
        return
    go_to_decision(last, execution)


def last_decision(number, execution, before):
    """Of that actor; 0 if there is none. Learnt where the one before that is taken: another one may
    never come, after the actor's end."""
    if before == 1:
        return 0
    if not restart(known=before, execution=execution, decision=before - 1, noted=number):
        raise gdb.GdbError('The program went another way this time: it is not deterministic.')
    image = Image()
    _, _, who, decision = image.stop()
    actor = image.at(who) if who else None
    return decision if actor is not None and actor.number() == number else _note


def on_stop(_event):
    """arm() clears the note, so it is read as soon as the program stands."""
    global _note
    session.begin_anew()
    if is_at_failure():
        tell_failure()
    try:
        _note = noted_decision() if is_at_marker() else 0
    except (gdb.GdbError, gdb.error, RuntimeError):
        _note = 0
