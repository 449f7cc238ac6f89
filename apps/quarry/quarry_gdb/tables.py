# SPDX-License-Identifier: Apache-2.0
"""`info agents|queues|dispatches|waves|lanes|actors`, in rocgdb's columns. Rows that differ only in
who they are about stand as one."""
import gdb

from . import frames, session, stacks
from .image import Image


def table(head, rows):
    """Rows of cells under a head; the last column is not padded."""
    widths = [max(len(str(r[i])) for r in [head] + rows) for i in range(len(head))]
    for row in [head] + rows:
        cells = [str(c).ljust(w) for c, w in zip(row[:-1], widths)] + [str(row[-1])]
        print(' '.join(cells).rstrip())


def grid(v):
    return '[%d,%d,%d]' % tuple(v)


def span(first, last):
    return str(first) if first == last else '%s-%s' % (first, last)


def told(column, actor):
    """What a column says of somebody, in the middle of a change perhaps: the other rows stand."""
    try:
        return column(actor)
    except (gdb.GdbError, gdb.error, gdb.MemoryError):
        return '(cannot be read)'


def doing(actor):
    """The column State."""
    return told(lambda a: a.doing(), actor)


def where(actor):
    """The column Frame."""
    return told(frame_of, actor)


def frame_of(actor):
    if actor.doing() in ('ended', 'not begun'):
        return '(%s)' % actor.doing()
    lanes = actor.lanes() if hasattr(actor, 'lanes') else []
    lanes = [lane for lane in lanes if (actor.active() >> lane.index) & 1]
    if lanes:  # of an item kernel: the one that runs, or the first
        return where(next((lane for lane in lanes if lane.has_slice()), lanes[0]))
    stack = stacks.stack(actor, reads=False)
    if stack:
        return stack[0].short()
    place = actor.waited_at() if actor.state() in ('waiting', 'polling') else None
    return '(%s%s)' % (actor.doing(), ' at ' + frames.Frame('', *place).at() if place else '')


def lanes_column(wave):
    return '%d/%d' % (bin(wave.active()).count('1'), wave.agent.wavefront_size)


def info_agents(_):
    image = Image()
    if not image.agents:
        print('No agents are currently active.')
        return
    mine = session.selected_agent(image)
    rows = [('*' if a is mine else ' ', a.id,
             'A' if a.dispatch_list() else 'U', 'QUARRY Agent (GPUID %d)' % a.id,
             a.executor.kind if a.executor else '?', a.compute_units,
             a.compute_units * a.slots, a.wavefront_size, '%d KiB' % (a.lds_bytes // 1024))
            for a in image.agents]
    table((' ', 'Id', 'State', 'Target Id', 'Scheduler', 'Cores', 'Wave Slots', 'Lanes', 'LDS'),
          rows)


def info_queues(_):
    image = Image()
    index = lambda i: '?' if i is None else i
    rows = [(' ', '%d:%d' % (a.id, n), 'QUARRY Queue %d:%d (QID %d)' % (a.id, n, n - 1), q.name,
             index(q.read), index(q.committed), index(q.reserved), q.slots, '0x%x' % q.packets)
            for a in image.agents for n, q in enumerate(a.queue_list(), 1)]
    if not rows:
        print('No queues are currently active.')
        return
    table((' ', 'Id', 'Target Id', 'Name', 'Read', 'Write', 'Reserved', 'Size', 'Address'), rows)


def info_dispatches(_):
    image = Image()
    wave = session.selected_wave(image)
    rows = [('*' if wave and wave.dispatch.node == d.node else ' ', d.id, d.target_id(),
             grid(d.items), grid(d.per_group), d.unfinished,
             d.kernel + (' at %s' % frames.Frame('', *d.where).at() if d.where else ''))
            for a in image.agents for d in a.dispatch_list()]
    if not rows:
        print('No dispatches are currently active.')
        return
    table((' ', 'Id', 'Target Id', 'Grid', 'Workgroup', 'Groups Left', 'Kernel Function'), rows)


class WaveRow:
    def __init__(self, wave, current):
        self.first = self.last = wave
        self.is_current = current
        self.key = (wave.agent.id, wave.dispatch.id, told(lanes_column, wave), doing(wave),
                    where(wave), current)

    def takes(self, other):
        follows = other.first.id == self.last.id + 1
        return follows and other.key == self.key and not self.is_current

    def cells(self):
        a, b = self.first, self.last
        target = a.target_id() if a is b else 'QUARRY Wave %d:1:%d:%s %s - %s "%s"' % (
            a.agent.id, a.dispatch.id, span(a.number_in_dispatch, b.number_in_dispatch),
            a.position(), b.position(), a.dispatch.kernel)
        return ('*' if self.is_current else ' ',
                span(a.qualified_id(), b.qualified_id() if a is b else b.id), self.key[2],
                target, self.key[3], self.key[4])


def info_waves(argument):
    """`-full`: a row for every wave."""
    image = Image()
    show(image, image.waves(), argument.strip() == '-full')


def show(image, waves, full):
    mine = session.selected_wave(image)
    rows = []
    for wave in waves:
        row = WaveRow(wave, mine is not None and mine.address == wave.address)
        if rows and not full and rows[-1].takes(row):
            rows[-1].last = wave
        else:
            rows.append(row)
    if not rows:
        print('No waves are currently active.')
        return
    table((' ', 'Id', 'Lanes', 'Target Id', 'State', 'Frame'), [r.cells() for r in rows])


def lane_state(wave, number, lane):
    """`lane`: the actor, of an item kernel."""
    if not (wave.items() >> number) & 1:
        return 'U'
    if not (wave.active() >> number) & 1:
        return 'I'
    return 'R' if (lane.has_slice() if lane else wave.is_running()) else 'A'


def lane_frame(wave, state, lane):
    if state == 'U':
        return '(unused)'
    if state == 'I':
        return '(ended)' if wave.has_ended() else '(inactive)'
    return '%s, %s' % (doing(lane), where(lane)) if lane else where(wave)


def info_lanes(argument):
    """Of the selected wave; `-all`, `-active`, `-inactive`. Without: those that have a work-item."""
    image = Image()
    wave = session.need_wave(image)
    wanted = argument.strip()
    if wanted not in ('', '-all', '-active', '-inactive'):
        raise gdb.GdbError('info lanes [-all|-active|-inactive]')
    rows, lanes = [], {lane.index: lane for lane in wave.lanes()}
    for i in range(wave.agent.wavefront_size):
        state = lane_state(wave, i, lanes.get(i))
        if state not in {'': 'RAI', '-active': 'RA', '-inactive': 'I', '-all': 'RAIU'}[wanted]:
            continue
        frame = lane_frame(wave, state, lanes.get(i))
        key = (state, frame, i == session.lane())
        if rows and rows[-1][0] == key and rows[-1][2] == i - 1 and not key[2]:
            rows[-1][2] = i
        else:
            rows.append([key, i, i])
    cells = []
    for (state, frame, current), first, last in rows:
        target = wave.lane_id(first)
        if first != last and state != 'U':
            target += ' - [%d,%d,%d]' % wave.work_item(last)
        cells.append(('*' if current else ' ', span(first, last), state, target, frame))
    if not cells:
        print('No lanes match.')
        return
    table((' ', 'Id', 'State', 'Target Id', 'Frame'), cells)


def info_actors(_):
    """Everything with a program order of its own that is no wavefront."""
    image = Image()
    mine = session.selected(image)
    rows = []
    for a in image.others():
        number = a.number() if a.executor.is_deterministic() else '-'
        rows.append(('*' if mine and mine.address == a.address else ' ', number or '-',
                     '"%s"' % a.name, a.where, doing(a), where(a)))
    if not rows:
        print('No actors are currently active, beside waves.')
        return
    table((' ', 'Id', 'Actor', 'Place', 'State', 'Frame'), rows)
