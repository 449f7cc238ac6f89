# SPDX-License-Identifier: Apache-2.0
"""The program's debugging roots, read as <quarry/debug_root.hpp> and <quarry/emu/debug_agents.hpp>
declare them. Reads memory only: it works in a core file, and without the library's symbols."""
import gdb

from .frames import Coroutine
from .memory import chain, place, read, symbol, text, word

STATES = ('ready', 'running', 'waiting', 'polling', 'done')
REASONS = ('none', 'decision', 'choice', 'waits', 'ended', 'access')
LAYOUT = ('leaf', 'state', 'reason', 'fiber', 'number', 'self', 'continuation', 'awaits_at')
AGENT_LAYOUT = (
    'launch_groups', 'launch_per_group', 'launch_items', 'launch_where', 'launch_unfinished',
    'launch_waves_per_group', 'group_launch', 'group_id', 'group_size', 'group_linear_id',
    'group_wave_count', 'group_all', 'group_fresh', 'group_finished', 'group_decides',
    'group_waves', 'wave_bytes', 'wave_group', 'wave_index', 'wave_items', 'wave_active',
    'wave_lanes', 'lanes_live', 'lanes_slots', 'lane_bytes', 'lane_lanes', 'lane_number',
    'lane_fiber', 'lane_request', 'request_what', 'lanes_wave')
FILTER_AT = 56  # in debug_root


def need_process():
    if gdb.selected_inferior().pid == 0:
        raise gdb.GdbError('The program is not being run.')


def need_version(address, name, ours):
    version, = read(address, 'I')
    if version != ours:
        raise gdb.GdbError('The program has %s version %d, this script reads version %d: use the '
                           'quarry-gdb.py of that version of Quarry.' % (name, version, ours))


class Image:
    """A snapshot: made for one command, while the program stands still."""

    def __init__(self):
        need_process()
        self.root = symbol('quarry_debug_root')
        if not self.root:
            raise gdb.GdbError('This program has no quarry_debug_root: it is not linked with '
                               'Quarry, or it was stripped.')
        need_version(self.root, 'debug_root', 2)
        self.layout = dict(zip(LAYOUT, read(self.root + 24, '8I')))
        self.executors = [Executor(self, e) for e in chain(word(self.root + 8))]
        self.agents = []
        agents = symbol('quarry_debug_agents')
        if agents:
            need_version(agents, 'debug_agents', 3)
            self.of_agents = dict(zip(AGENT_LAYOUT, read(agents + 24, '31I')))
            self.agents = [Agent(self, a) for a in chain(word(agents + 8))]

    def stop(self):
        """Of the last quarry_debug_stop(): (reason, executor, actor, decision)."""
        why, _, where, who, decision = read(self.root + 112, 'IIQQQ')
        return REASONS[why], where, who, decision

    def failure(self):
        """Of the last quarry_debug_failure(): (kind, where)."""
        return [text(word(self.root + at)) for at in (144, 152)]

    def waves(self):
        return [w for a in self.agents for w in a.waves()]

    def running_waves(self):
        """Several, where there are several threads."""
        return [w for w in self.waves() if w.has_begun() and w.is_running()]

    def others(self):
        """The actors that are no wavefronts."""
        return [a for e in self.executors for a in e.actors()]

    def running(self):
        """Whose slices run, by address."""
        return {e.current() for e in self.executors} - {0}

    def at(self, address):
        """The actor there: a wavefront, a lane, a host thread, and so on; None if nobody lists it."""
        for actor in self.waves() + self.others():
            if actor.address == address:
                return actor
            if isinstance(actor, Wave):
                for lane in actor.lanes():
                    if lane.address == address:
                        return lane
        return None


def saved_context(fiber):
    """Where a suspended fiber has saved its registers; 0 while it runs."""
    return word(word(fiber))


class Executor:
    def __init__(self, image, node):
        self.image, self.node = image, node
        (_, _, kind, self.strands, _, self.hosts, _, self.current_at, self.decisions_at,
         self.executions) = read(node, '10Q')
        self.kind = text(kind)

    def is_deterministic(self):
        return self.decisions_at != 0

    def decision(self):
        """The one that comes next."""
        return word(self.decisions_at) + 1 if self.decisions_at else 0

    def current(self):
        return word(self.current_at) if self.current_at else 0

    def actors(self):
        place = 'hosts'
        for node in chain(self.hosts):
            yield Actor(self.image, word(node + 16), text(word(node + 24)), self, place)
        for strand in chain(self.strands):
            name = text(word(strand + 24))
            for node in chain(word(strand + 32)):
                yield Actor(self.image, word(node + 16), text(word(node + 24)), self, name)


class Actor:
    """Somebody with a program order of its own."""
    wave = None  # whose code it runs, or a part of it: a wavefront's own, a lane's

    def __init__(self, image, address, name, executor, where):
        self.image, self.address, self.name = image, address, name
        self.executor, self.where = executor, where

    def _at(self, what):
        return self.address + self.image.layout[what]

    def leaf(self):
        return word(self._at('leaf'))

    def fiber(self):
        return word(self._at('fiber'))

    def number(self):
        return read(self._at('number'), 'I')[0]

    def state(self):
        return STATES[read(self._at('state'), 'B')[0]]

    def is_running(self):
        return self.state() == 'running'

    def is_switching(self):
        """On its way from or to its fiber, which is neither running nor saved then."""
        fiber = self.fiber()
        return bool(fiber) and self.state() not in ('running', 'done') and not saved_context(fiber)

    def waited_at(self):
        return place(self._at('reason') + 8)

    def doing(self):
        """The state, or what it waits for."""
        if self.is_switching():
            return 'switching'
        state = self.state()
        if state in ('waiting', 'polling'):
            return text(word(self._at('reason'))) or state
        return 'ended' if state == 'done' else state

    def target_id(self):
        return 'QUARRY Actor "%s"' % self.name

    def frames_of(self):
        """The actor whose frames are shown for this one."""
        return self


class Lane(Actor):
    def __init__(self, wave, number, address):
        super().__init__(wave.image, address, 'lane %d' % number, wave.executor, wave.where)
        self.wave, self.index = wave, number

    def has_slice(self):
        """It is the one whose code runs, or has run when its wavefront was suspended."""
        return self.state() == 'running'

    def is_running(self):
        return self.has_slice() and self.wave.is_running()

    def is_switching(self):
        return self.wave.is_switching() if self.has_slice() else super().is_switching()

    def requests(self):
        """What it waits at is for its wavefront to do: what that is called, or ''."""
        request = word(self.address + self.image.of_agents['lane_request'])
        if not request or self.state() != 'waiting' or self.is_switching():
            return ''
        return text(word(request + self.image.of_agents['request_what']))

    def fiber(self):
        if self.has_slice():
            return self.wave.fiber()
        return word(self.address + self.image.of_agents['lane_fiber'])

    def doing(self):
        # A lane's last reason may be that of the work-item which was here before.
        if self.state() == 'ready':
            leaf = self.leaf()
            has_begun = Coroutine(leaf).has_begun() if leaf else self.fiber() != 0
            return 'ready' if has_begun else 'not begun'
        return self.requests() or super().doing()

    def target_id(self):
        return self.wave.lane_id(self.index)


class Wave(Actor):
    def __init__(self, agent, dispatch, group, index, address, unit):
        super().__init__(agent.image, address, '', agent.executor, unit)
        self.agent, self.dispatch, self.group, self.index = agent, dispatch, group, index
        self.wave = self
        self.number_in_dispatch = group.linear * dispatch.waves_per_group + index + 1
        self.id = dispatch.first_wave + self.number_in_dispatch
        self.name = 'wavefront %d of group %d' % (index, group.linear)

    def qualified_id(self):
        """As gdb's threads: with several agents, the agent's number stands before a dot."""
        return '%d.%d' % (self.agent.id, self.id) if len(self.image.agents) > 1 else str(self.id)

    def _own(self, what, form='Q'):
        return read(self.address + self.image.of_agents[what], form)[0]

    def slots(self):
        """Where it is in memory, and where its work-items are: (address, bytes)."""
        yield self.address, self.image.of_agents['wave_bytes']
        lanes = self._own('wave_lanes')
        if lanes:
            yield (word(lanes + self.image.of_agents['lanes_slots']),
                   self.agent.wavefront_size * self.image.of_agents['lane_bytes'])

    def has_begun(self):
        return not (self.group.fresh >> self.index) & 1

    def has_ended(self):
        # The group's bit comes last: at the stop at its end there is but its own state.
        return bool((self.group.finished >> self.index) & 1) or (
            self.has_begun() and self.state() == 'done')

    def leaf(self):
        return super().leaf() if self.has_begun() and not self.has_ended() else 0

    def doing(self):
        if self.has_ended():
            return 'ended'
        if not self.has_begun() or (self.state() == 'ready' and not self.fiber() and
                                    not self._has_run()):
            return 'not begun'
        return super().doing()

    def _has_run(self):
        """Of one that is ready, and in no function: where it has waited, or given way, it says."""
        return self.waited_at() is not None and Coroutine(self.leaf()).has_begun()

    def frames_of(self):
        """Of an item kernel, the lane whose slice it is; else the first that waits for all."""
        lanes = self.lanes()
        return next((lane for lane in lanes if lane.has_slice()),
                    next((lane for lane in lanes if lane.requests()), self))

    def items(self):
        return self._own('wave_items')

    def active(self):
        """The exec mask; of an item kernel, the lanes that have not ended."""
        if self.has_ended():
            return 0
        if not self.has_begun():
            return self.items()
        lanes = self._own('wave_lanes')
        if lanes:
            return word(lanes + self.image.of_agents['lanes_live'])
        return self._own('wave_active') & self.items()

    def lanes(self):
        """The lanes of an item kernel, which are actors themselves."""
        lanes = self._own('wave_lanes')
        if not lanes or self.has_ended():
            return []
        slots = word(lanes + self.image.of_agents['lanes_slots'])
        return [Lane(self, i, slots + i * self.image.of_agents['lane_bytes'])
                for i in range(self.agent.wavefront_size) if (self.items() >> i) & 1]

    def systag(self):
        return '%d:1:%d:%d' % (self.agent.id, self.dispatch.id, self.number_in_dispatch)

    def position(self):
        return '%s/%d' % (triple(self.group.id), self.index)

    def target_id(self):
        return 'QUARRY Wave %s %s "%s"' % (self.systag(), self.position(), self.dispatch.kernel)

    def work_item(self, lane):
        """A lane's place in the work-group."""
        at = self.index * self.agent.wavefront_size + lane
        x, y, _ = self.group.size
        return (at % x, at // x % y, at // (x * y))

    def lane_id(self, lane):
        words = 'QUARRY Lane %s/%d' % (self.systag(), lane)
        if not (self.items() >> lane) & 1:
            return words  # its place would be outside of the group
        return '%s %s[%d,%d,%d]' % ((words, triple(self.group.id)) + self.work_item(lane))


class Group:
    def __init__(self, image, address):
        at = image.of_agents
        self.address = address
        self.launch = word(address + at['group_launch'])
        self.id = read(address + at['group_id'], '3I')
        self.size = read(address + at['group_size'], '3I')
        self.linear = word(address + at['group_linear_id'])
        self.wave_count, = read(address + at['group_wave_count'], 'I')
        self.all, = read(address + at['group_all'], 'I')
        self.finished, = read(address + at['group_finished'], 'I')
        decides, = read(address + at['group_decides'], 'B')
        self.fresh = 0 if decides else read(address + at['group_fresh'], 'I')[0]


class Dispatch:
    def __init__(self, agent, node):
        self.agent, self.node = agent, node
        _, _, self.launch, kernel, self.first_wave, self.id, _ = read(node, '5QII')
        at = agent.image.of_agents
        self.kernel = text(kernel).partition('<')[0]  # template arguments would fill the screen
        self.groups = read(self.launch + at['launch_groups'], '3I')
        self.per_group = read(self.launch + at['launch_per_group'], '3I')
        self.items = read(self.launch + at['launch_items'], '3I')
        self.waves_per_group, = read(self.launch + at['launch_waves_per_group'], 'I')
        self.unfinished = word(self.launch + at['launch_unfinished'])
        self.where = place(self.launch + at['launch_where'])

    def target_id(self):
        return 'QUARRY Dispatch %d:1:%d (PKID %d)' % (self.agent.id, self.id, self.id - 1)


class Queue:
    """A user-mode queue; its indices are None while an exploration's caches hold them."""

    def __init__(self, node):
        (name, self.packets, reserved, committed, read_, self.slots,
         is_in_caches) = read(node + 16, '5Q2I')
        self.name = text(name)
        self.reserved, self.committed, self.read = (
            None if is_in_caches else word(at) for at in (reserved, committed, read_))


class Agent:
    def __init__(self, image, node):
        self.image, self.node = image, node
        _, _, scheduler, self.dispatches, _, self.units = read(node, '6Q')
        (self.wave_count, _, self.id, self.compute_units, self.slots, self.wavefront_size,
         self.lds_bytes) = read(node + 56, 'QIIIIII')
        self.queues = word(node + 88)
        self.executor = next((e for e in image.executors if e.node == scheduler), None)
        self._waves = None

    def dispatch_list(self):
        return [Dispatch(self, d) for d in chain(self.dispatches)]

    def queue_list(self):
        return [Queue(q) for q in chain(self.queues)]

    def waves(self):
        """Of the resident work-groups, in their order."""
        if self._waves is None:
            of = {d.launch: d for d in self.dispatch_list()}
            self._waves = []
            for unit in chain(self.units):
                name = text(word(unit + 24))
                for node in chain(word(unit + 32)):
                    group = Group(self.image, word(node + 16))
                    if group.finished == group.all or group.launch not in of:
                        continue
                    first = group.address + self.image.of_agents['group_waves']
                    for i in range(group.wave_count):
                        self._waves.append(
                            Wave(self, of[group.launch], group, i,
                                 first + i * self.image.of_agents['wave_bytes'], name))
            self._waves.sort(key=lambda w: w.id)
        return self._waves


def triple(v):
    return '(%d,%d,%d)' % tuple(v)
