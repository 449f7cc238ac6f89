# SPDX-License-Identifier: Apache-2.0
"""The words that a person types."""
import re

import gdb

from . import control, printers, session, stacks, tables
from .image import Image

VERBS = ('bt', 'locals', 'step', 'next', 'back')  # of waves and of actors


def guarded(work):
    """What gdb refuses is said in one line, without a Python traceback."""
    def call(self, argument, from_tty):
        try:
            work(self, argument.strip())
        except (gdb.error, gdb.MemoryError) as e:
            raise gdb.GdbError(str(e))
    return call


def add_info(name, show, options, words):
    def checked(_, argument):
        if argument and argument not in options:
            raise gdb.GdbError('info %s: %s, not "%s"' % (
                name, ' or '.join(options) if options else 'no arguments', argument))
        show(argument)

    class Info(gdb.Command):
        __doc__ = words

        def __init__(self):
            super().__init__('info ' + name, gdb.COMMAND_STATUS)

        invoke = guarded(checked)
    Info()


def backtrace(actor, argument):
    stack = stacks.stack(actor, argument == '-full')
    if not stack:
        print('(%s)' % actor.doing())
    for i, f in enumerate(stack):
        print(f.row(i))


def show_locals(actor, argument):
    """`locals [FRAME]`: of that row of the backtrace; without it, of the first."""
    stack = stacks.stack(actor)
    index = int(argument or 0)
    if not stack:
        print('(%s)' % actor.doing())
        return
    if index >= len(stack):
        last = len(stack) - 1
        raise gdb.GdbError('There is no frame %d; there %s.' % (
            index, 'are frames 0 to %d' % last if last else 'is only frame 0'))
    if not stack[index].variables:
        print('No locals, or no debug information of this frame.')
    for name, value in stack[index].variables:
        print('%s = %s' % (name, value))


def switch(actor, words):
    session.choose(actor)
    print('[Switching to %s (%s)]' % (words, actor.target_id()))
    control.tell_stack(actor)


def run_verb(command, verb, actor, argument):
    """One of VERBS."""
    check_argument(command, verb, argument)
    if verb == 'bt':
        backtrace(actor, argument)
    elif verb == 'locals':
        show_locals(actor, argument)
    elif verb == 'step':
        control.step(actor)
    elif verb == 'next':
        control.next_line(actor)
    else:
        control.back(actor)


def check_argument(command, verb, argument):
    if not argument or (verb, argument) == ('bt', '-full') or (
            verb == 'locals' and session.is_number(argument)):
        return
    wanted = {'bt': '-full', 'locals': 'a number of the backtrace'}.get(verb, 'nothing more')
    raise gdb.GdbError('%s %s: %s, not "%s"' % (command, verb, wanted, argument))


class WaveCommand(gdb.Command):
    """Select a wave, or see what the selected one does.
wave           say which wave is selected
wave N         select wave N of `info waves` (AGENT.N if there are several agents)
wave bt        its stack: native frames first, then the coroutines that await; -full: all of it
wave locals K  the variables of frame K of that
wave step      run to its next memory operation, wait or end      (explore, replay, sequential)
wave next      the same, to another line: passes over what the line calls and awaits
wave back      back to its last memory operation: restarts the program, which must be deterministic
wave find RE   the waves whose row matches"""

    def __init__(self):
        super().__init__('wave', gdb.COMMAND_RUNNING)

    @guarded
    def invoke(self, argument):
        image = Image()
        verb, _, rest = argument.partition(' ')
        if verb == 'find':
            find_waves(image, rest.strip())
        elif not verb:
            wave = session.need_wave(image)
            print('[Current wave is %s (%s)]' % (wave.qualified_id(), wave.target_id()))
        elif verb[0].isdigit():
            if rest.strip():
                raise gdb.GdbError('wave N: one number, not "%s"' % argument)
            wave = session.find_wave(image, verb)
            switch(wave, 'wave %s' % wave.qualified_id())
        elif verb not in VERBS:
            raise gdb.GdbError('wave: N, bt, locals, step, next, back or find, not "%s"' % verb)
        else:
            actor = session.need_wave(image)
            lanes = {lane.index: lane for lane in actor.lanes()}
            if verb in ('bt', 'locals') and session.lane() in lanes:
                actor = lanes[session.lane()]  # a work-item's own coroutine
            run_verb('wave', verb, actor, rest.strip())


def find_waves(image, pattern):
    if not pattern:
        raise gdb.GdbError('wave find RE: a regular expression, which rows of `info waves` match')
    try:
        wanted = re.compile(pattern)
    except re.error as e:
        raise gdb.GdbError('Invalid regexp: %s' % e)
    found = [w for w in image.waves()
             if wanted.search(' '.join(map(str, tables.WaveRow(w, False).cells())))]
    if not found:
        print('No waves match \'%s\'' % pattern)
    else:
        tables.show(image, found, True)


class ActorCommand(gdb.Command):
    """Select an actor: whatever has a program order of its own, waves among them.
actor N, actor NAME     select it (`info actors`)
actor bt|locals K|step|next|back   as `wave`"""

    def __init__(self):
        super().__init__('actor', gdb.COMMAND_RUNNING)

    @guarded
    def invoke(self, argument):
        image = Image()
        verb, _, rest = argument.partition(' ')
        if verb in VERBS or not verb:
            actor = session.selected(image)
            if actor is None:
                raise gdb.GdbError('No actor is selected: `info actors` lists them, `actor N` '
                                   'selects one.')
            if verb:
                run_verb('actor', verb, actor, rest.strip())
            else:
                print('[Current %s (%s)]' % (control.describe(actor), actor.target_id()))
        else:
            actor = session.find_actor(image, argument)
            switch(actor, control.describe(actor))


class LaneCommand(gdb.Command):
    """Select a lane of the selected wave: `lane N`. Of an item kernel, `wave bt` and `wave locals`
are then about its work-item's own coroutine."""

    def __init__(self):
        super().__init__('lane', gdb.COMMAND_RUNNING)

    @guarded
    def invoke(self, argument):
        wave = session.need_wave(Image())
        if not argument:
            number = session.lane()
            if number is None:
                raise gdb.GdbError('No lane is selected.')
            print('[Current lane is %d (%s)]' % (number, wave.lane_id(number)))
            return
        if not session.is_number(argument) or int(argument) >= wave.agent.wavefront_size:
            raise gdb.GdbError('Invalid lane ID: %s; lanes are 0 to %d' %
                               (argument, wave.agent.wavefront_size - 1))
        number = int(argument)
        if not (wave.items() >> number) & 1:
            raise gdb.GdbError('Lane %d has no work-item.' % number)
        session.choose(wave, number)
        print('[Switching to wave %s, lane %d (%s)]' %
              (wave.qualified_id(), number, wave.lane_id(number)))
        if not (wave.active() >> number) & 1:
            print('warning: Current lane is inactive.')


class DecisionCommand(gdb.Command):
    """Where the schedule stands, or go there.
decision         the number of the decision that comes next
decision N       run to decision N of this execution; back too, by restarting the program
decision N E     of execution E (a replay repeats its execution: the first one is number 1)"""

    def __init__(self):
        super().__init__('decision', gdb.COMMAND_RUNNING)

    @guarded
    def invoke(self, argument):
        words = argument.split()
        if len(words) > 2 or not all(session.is_number(w) for w in words):
            raise gdb.GdbError('decision [N [EXECUTION]]: numbers, not "%s"' % argument)
        if len(words) == 2 and int(words[1]) == 0:
            raise gdb.GdbError('There is no execution 0: the first one is 1.')
        if not words:
            print('Decision %d of execution %d comes next.' % tuple(
                reversed(control.here(Image()))))
        elif not control.is_live():
            control.run_to_decision(int(words[0]), int(words[1]) if len(words) > 1 else 0)
        else:
            execution = int(words[1]) if len(words) > 1 else here_or_first()
            control.go_to_decision(int(words[0]), execution)


def here_or_first():
    """Before the scheduler exists, any execution is meant: the first one comes first."""
    found = [e for e in Image().executors if e.is_deterministic()]
    return found[-1].executions if found else 0


class AccessCommand(gdb.Command):
    """Run to where anybody accesses memory: `access EXPRESSION [, BYTES]`. An address: a pointer, a
global<T>, or a number; of anything else, where it lies. BYTES: as many as are there (a number: 1).
For programs whose schedule is decided: a replay, an exploration, a seeded scheduler."""

    def __init__(self):
        super().__init__('access', gdb.COMMAND_RUNNING, gdb.COMPLETE_EXPRESSION)

    @guarded
    def invoke(self, argument):
        if not argument:
            raise gdb.GdbError('access EXPRESSION [, BYTES]: what memory?')
        expression, comma, count = argument.rpartition(',')
        if comma and session.is_number(count.strip()):
            size = int(count)
            address, _ = place_of(expression)
        else:
            address, size = place_of(argument)
        if not 0 < address < 2**64 or not 0 < size <= 2**64 - address:
            raise gdb.GdbError('access: %s has no address, or no bytes' % argument)
        control.go_to_access(address, size)


def place_of(expression):
    """(address, bytes) of what an expression names."""
    value = gdb.parse_and_eval(expression)
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_REF:
        value = value.referenced_value()
        kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT and str(kind.unqualified()).startswith('quarry::emu::global<'):
        value = value['at_']
        kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        target = kind.target().strip_typedefs()
        return int(value), 1 if target.code == gdb.TYPE_CODE_VOID else target.sizeof
    if kind.code == gdb.TYPE_CODE_INT and value.address is None:
        return int(value), 1
    if value.address is None:
        raise gdb.GdbError('%s is nowhere in memory' % expression)
    return int(value.address), kind.sizeof


class StepBackCommand(gdb.Command):
    """Go back one decision, or K: `step-back [K]`. Restarts the program with a stop at decision
N - K, so it must be deterministic: a replay, or a seeded scheduler."""

    def __init__(self):
        super().__init__('step-back', gdb.COMMAND_RUNNING)

    @guarded
    def invoke(self, argument):
        if argument and not session.is_number(argument):
            raise gdb.GdbError('step-back [K]: a number, not "%s"' % argument)
        control.step_back(int(argument or 1))


class WaveId(gdb.Function):
    """$_wave_id(): the wave whose code runs, 0 if none; for conditions of breakpoints."""

    def __init__(self):
        super().__init__('_wave_id')

    def invoke(self):
        actor = session.running_actor(Image())
        return actor.wave.id if actor and actor.wave else 0


_is_registered = False


def register():
    """Once, however often the script is sourced."""
    global _is_registered
    if _is_registered:
        return
    _is_registered = True
    for name, show, options, words in (
            ('agents', tables.info_agents, (), 'The emulated GPUs.'),
            ('queues', tables.info_queues, (), 'User-mode queues.'),
            ('dispatches', tables.info_dispatches, (), 'The launches that run.'),
            ('waves', tables.info_waves, ('-full',),
             'The wavefronts that are resident; -full: a row for each.'),
            ('lanes', tables.info_lanes, ('-all', '-active', '-inactive'),
             'The selected wave\'s lanes: [-all|-active|-inactive].'),
            ('actors', tables.info_actors, (),
             'Host threads, command processors, interfaces and so on.')):
        add_info(name, show, options, words)
    for command in (WaveCommand, ActorCommand, LaneCommand, DecisionCommand, AccessCommand,
                    StepBackCommand, WaveId):
        command()
    printers.register()
    gdb.unwinder.register_unwinder(None, stacks.UNWINDER, replace=True)
    gdb.events.stop.connect(control.on_stop)
    gdb.events.exited.connect(session.begin_anew)
    gdb.events.new_objfile.connect(lambda _: control.watch_for_failures())
    control.watch_for_failures()
    # `step` goes into what a person wrote, not into the machinery of co_await.
    for skip in ('-gfi */coroutine', '-rfu ^std::', '-rfu ^quarry::.*(await_|promise)'):
        gdb.execute('skip ' + skip, to_string=True)
