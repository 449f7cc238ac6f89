# SPDX-License-Identifier: Apache-2.0
"""What is selected: the wave or actor of the last stop, until `wave N` says another one."""
import gdb

from . import frames, stacks
from .image import Image, word

_chosen = None  # an actor's address
_lane = None


def is_number(text):
    return text.isascii() and text.isdigit()


def forget():
    """The program has run: whoever runs now is selected."""
    global _chosen, _lane
    _chosen = _lane = None


def choose(actor, lane=None):
    global _chosen, _lane
    _chosen, _lane = actor.address, lane
    publish(Image())


def lane():
    return _lane


def choose_lane(number):
    global _lane
    _lane = number


def running_actor(image):
    """Whose code the selected thread runs; None outside of any."""
    why, _, who, _ = image.stop()
    newest = gdb.newest_frame()
    if stacks.is_in('quarry_debug_stop') and who and why != 'none':
        return image.at(who)
    frame = newest
    for _ in range(100):
        if frame is None:
            break
        address = stacks.coroutine_of(frame)
        if address:
            owner = word(frames.Coroutine(address).promise() + image.layout['self'])
            return image.at(owner)
        frame = frame.older()
    for address in image.running():
        return image.at(address)
    running = image.running_waves()
    if len(running) > 1:  # functions, on several threads
        return stacks.function_wave(running, newest)
    return running[0] if len(running) == 1 else None


def selected(image):
    if _chosen is not None:
        actor = image.at(_chosen)
        if actor is not None:
            return actor
    return running_actor(image)


def selected_wave(image):
    actor = selected(image)
    return actor.wave if actor else None


def selected_agent(image):
    wave = selected_wave(image)
    return wave.agent if wave else None


def need_wave(image):
    wave = selected_wave(image)
    if wave is None:
        raise gdb.GdbError('No wave is selected: `info waves` lists them, `wave N` selects one.')
    return wave


def find_wave(image, text):
    """By the number that `info waves` gives; AGENT.N if there are several agents."""
    agent, _, number = text.rpartition('.')
    if not is_number(number) or (agent and not is_number(agent)):
        raise gdb.GdbError('Invalid wave ID: %s' % text)
    if int(number) == 0 or (agent and int(agent) == 0):
        raise gdb.GdbError('There is no wave %s: numbers begin with 1.' % text)
    mine = selected_agent(image)
    wanted = int(agent) if agent else mine.id if mine else image.agents[0].id if image.agents else 1
    for wave in image.waves():
        if wave.id == int(number) and wave.agent.id == wanted:
            return wave
    raise gdb.GdbError('Unknown wave %s: it has ended, or is not resident yet.' % text)


def find_actor(image, text):
    """By its number, under a deterministic scheduler; or by its name."""
    everybody = image.others() + image.waves()
    if is_number(text):
        if int(text) == 0:  # those that have not run yet have no other
            raise gdb.GdbError('There is no actor 0: numbers begin with 1.')
        found = [a for a in everybody if a.executor.is_deterministic()
                 and a.number() == int(text)]
    else:
        found = [a for a in everybody if a.name == text.strip('"')]
    if not found:
        raise gdb.GdbError('Unknown actor %s.' % text)
    return found[0]


def publish(image=None):
    """Sets $_wave, $_lane, $_actor and $_decision."""
    wave = actor = None
    decision = 0
    try:
        image = image or Image()
        actor = selected(image)
        wave = selected_wave(image)
        executor = actor.executor if actor else next(
            (e for e in image.executors if e.is_deterministic()), None)
        decision = executor.decision() if executor else 0
    except (gdb.GdbError, gdb.error, RuntimeError):
        pass
    gdb.set_convenience_variable('_wave', wave.id if wave else 0)
    gdb.set_convenience_variable('_lane', _lane if _lane is not None else -1)
    gdb.set_convenience_variable('_actor', actor.number() if actor else 0)
    gdb.set_convenience_variable('_decision', decision)


def begin_anew(_event=None):
    """The program has stopped, or has gone."""
    forget()
    publish()
