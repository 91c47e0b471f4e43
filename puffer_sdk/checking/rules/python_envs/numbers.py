"""Judgements of numbers: constant, large and wrapping observations; rewards; actions."""
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...collect.python.python_facts import Effect, Part, Play, PythonFacts, Shape
from ...core import often
from ...core.vocabulary import (
    Elements,
    Finding,
    Findings,
    NotTested,
    elements,
    enough,
    half,
    most,
    present,
    ranges,
    span,
)
from ..observations.constant.still import are_alike
from .judging import agent_of, judgement

# Gymnasium's own environments leave [-5, 5]: Pendulum reaches 8, Acrobot 28
OBS_LARGE, OBS_HUGE, REWARD_LARGE = 50.0, 1000.0, 100.0
ENOUGH = 400            # steps after which an element that never changed is reported
MANY = 2000             # the same, of few episodes
EPISODES = 3
REWARDLESS = 30_000     # steps without a reward that are reported
MOMENTS = 40            # replaced choices without any effect that are reported
SLOTS = 3               # constant zeros in a row that may be empty slots
SMOOTH, HALF_A_BYTE = 8, 128    # small changes for each jump of a byte that goes round
REWARDS = 8             # of an episode that is long enough to see a sum grow
GROWTH, KINDS = 2, 4    # times the first reward; sizes of the steps by which a sum grows
ROUNDING = 1e-9
LISTED = 4              # places that a message names

Named = tuple[Part, int, int]   # a part, its first and last number that are meant


def _part_of(shape: Shape, element: int) -> Part:
    return next(part for part in shape.leaves if part.first <= element <= part.last)


def _whole(part: Part) -> str:
    return f"'{part.name}' of the observation" if part.name else "the observation"


def _named(part: Part, first: int, last: int) -> str:
    """'element 3 of the observation', "'goal' of the observation" """
    if (first, last) == (part.first, part.last):
        return _whole(part)
    return f"{elements(first - part.first, last - part.first)} of {_whole(part)}"


def _is_image(part: Part) -> bool:
    return part.kind == "Box" and len(part.shape) in (2, 3)


@judgement("PUF305", needs=("play",))
def constant(facts: PythonFacts) -> Findings:
    play, shape = present(facts.play), present(facts.shape)
    if play.steps < ENOUGH and len(play.episodes) < EPISODES:
        raise NotTested(f"{play.steps} steps are too few")
    if all(episode.length == 1 for episode in play.episodes):
        raise NotTested("episodes have one step")
    still = play.low == play.high
    if _unwritten(facts):
        raise NotTested("something is never written", "PUF301")
    if still.all():
        if len(still) == 1 and shape.leaves[0].kind == "Discrete" and play.low[0] == 0:
            return                      # a bandit: one state, and nothing to see
        yield Finding("PUF305", f"the observation never changes, in {play.steps:,} steps",
                      **facts.at("step"), element=span(0, len(still) - 1),
                      expected="values that tell the agent something",
                      actual="the same on every step", seen_in="play",
                      hint="observe in step(), after the state has changed")
        return
    constants: list[Named] = []
    for part in shape.leaves:
        mine = still[part.first:part.last + 1]
        if mine.all() and len(shape.leaves) > 1 and len(mine):
            constants.append((part, part.first, part.last))
        elif _is_image(part):
            yield from _frames(facts, part, mine.reshape(part.shape))
        elif part.kind == "Box" and len(part.shape) == 1 and not mine.all() and (
                play.steps >= MANY or len(play.episodes) >= EPISODES):
            constants += [(part, first, last) for first, last in _worth_a_word(play, part)]
    if constants:
        yield _constant(facts, play, constants)


def _constant(facts: PythonFacts, play: Play, found: list[Named]) -> Finding:
    """One finding of all numbers that never changed."""
    (part, first, last), values = found[0], np.concatenate([
        play.low[begin:end + 1] for _, begin, end in found])
    shown = f"{values[0]:g}" if (values == values[0]).all() else "the same"
    be = "are" if len(found) > 1 or (first != last and (first, last) != (part.first, part.last)) \
        else "is"
    return Finding("PUF305", f"{_listed(found)} {be} always {shown}, in {play.steps:,} steps",
                   **facts.at("step"), element=_spans(found),
                   expected="values that tell the agent something",
                   actual=f"{shown} on every step", seen_in="play",
                   hint="write what was forgotten, or leave it out of the space")


def _listed(found: list[Named]) -> str:
    """'a' of the observation, 'b' of the observation and 12 others"""
    names = [_named(*each) for each in found]
    if len(names) <= LISTED:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{', '.join(names[:LISTED - 1])} and {len(names) - LISTED + 1} others"


def _spans(found: list[Named]) -> Elements | int | str:
    pairs = [(first, last) for _, first, last in found]
    return span(*pairs[0]) if len(pairs) == 1 else Elements(
        pairs[0][0], pairs[0][1], ", ".join(str(span(*pair)) for pair in pairs[:6]))


def _frames(facts: PythonFacts, part: Part, still: NDArray[np.bool_]) -> Findings:
    """A frame of a stack that never changes, although the others do, and alike."""
    for axis in {0, len(part.shape) - 1}:
        count = part.shape[axis]
        if not enough(count) or max(part.shape) == count:
            continue
        moving = [float(1 - np.take(still, index, axis).mean()) for index in range(count)]
        dead = [index for index in range(count) if moving[index] == 0]
        others = [share for share in moving if share]
        if len(dead) == 1 and most(min(others), max(others)):
            yield Finding("PUF305", f"frame {dead[0]} of {count} of {_whole(part)} never changes",
                          **facts.at("step"), expected="a frame like the others",
                          actual="the same on every step", seen_in="play",
                          hint="move frames by one place in each step")


def _worth_a_word(play: Play, part: Part) -> Iterator[tuple[int, int]]:
    """Ranges of constant numbers of a vector that are no bias, one-hot class or empty slot."""
    still = play.low == play.high
    for begin, end in ranges(e for e in range(part.first, part.last + 1) if still[e]):
        beside = [e for e in (begin - 1, end + 1) if part.first <= e <= part.last]
        if play.low[begin] == 1 and begin == end:               # a bias
            continue
        flags = np.isin(play.low[begin:end + 1], (0, 1)).all()
        if flags and any(play.flags[e] for e in beside):
            continue                                            # classes that did not occur
        if end - begin + 1 >= SLOTS and _is_slot(play, part.first, begin, end):
            continue
        yield begin, end


def _is_slot(play: Play, first: int, begin: int, end: int) -> bool:
    """Whether the numbers before are of slots of the same kind, that were filled."""
    size = end - begin + 1
    return any(are_alike(play.low[begin - 2 * stride:begin], play.high[begin - 2 * stride:begin], 2)
               for stride in range(1, size + 1)
               if size % stride == 0 and begin - 2 * stride >= first)


def _unwritten(facts: PythonFacts) -> bool:
    """Whether PUF301 explains odd numbers."""
    found = facts.compared.get("memory")
    return bool(found and found.difference)


@judgement("PUF304", needs=("play",))
def scale(facts: PythonFacts) -> Findings:
    play = present(facts.play)
    outside = {each.what for each in facts.oddities.values() if each.kind == "obs-outside"}
    found: list[Named] = []
    parts: list[Part] = []
    top, numbers = 0.0, 0
    for part in present(facts.shape).leaves:
        first, last = part.first, part.last
        if part.kind != "Box" or part.dtype == "uint8" or part.name in outside or last < first \
                or _unwritten(facts):
            continue
        largest = np.maximum(np.abs(play.low[first:last + 1]), np.abs(play.high[first:last + 1]))
        large = np.flatnonzero(np.isfinite(largest) & (largest > OBS_LARGE))
        if not len(large):
            continue
        top = max(top, float(largest[large].max()))
        numbers += len(large)
        found += [(part, *pair) for pair in ranges((large + first).tolist())]
        parts.append(part)
    if found:
        of = _whole(parts[0]) if len(parts) == 1 else _listed([
            (part, part.first, part.last) for part in parts])
        yield Finding("PUF304", f"{numbers} of {sum(part.size for part in parts)} numbers of {of} "
                      f"reach{'es' if numbers == 1 else ''} {top:g}", **facts.at("step"),
                      element=_spans(found),
                      expected=f"within [-{OBS_LARGE:g}, {OBS_LARGE:g}]", actual=top,
                      seen_in="play", severity="error" if top >= OBS_HUGE else "warning",
                      hint="divide by the largest value that it can take")


@judgement("PUF307", needs=("play",))
def wraps(facts: PythonFacts) -> Findings:
    play = present(facts.play)
    if len(play.low) != len(play.wraps):
        return
    gone = np.flatnonzero((play.wraps >= often.ENOUGH) & (play.smooth >= SMOOTH * play.wraps)
                          & (play.high - play.low > HALF_A_BYTE))
    shape = present(facts.shape)
    found = [(_part_of(shape, first), first, last) for first, last in ranges(gone.tolist())]
    if found:
        yield Finding("PUF307", f"{_listed(found)} wrap{'s' * (len(found) == 1)} around",
                      **facts.at("step"), element=_spans(found), expected="a value from 0 to 255",
                      actual="0 next to 255, again and again", seen_in="play",
                      hint="shift, scale or clamp it into 0..255, or declare floats")


@judgement("PUF313", "PUF311", needs=("play",))
def rewards(facts: PythonFacts) -> Findings:
    play = present(facts.play)
    low, high = play.reward
    largest = low if abs(low) > abs(high) else high
    if np.isfinite(largest) and abs(largest) > REWARD_LARGE:
        yield Finding("PUF313", f"rewards reach {largest:g}", **facts.at("step"),
                      step=play.reward_step, actual=float(largest), seen_in="play",
                      expected=f"within [-{REWARD_LARGE:g}, {REWARD_LARGE:g}]",
                      hint="divide all rewards by the largest")
    if _piles_up(play):
        yield Finding("PUF311", "the reward grows throughout each episode, as a sum does",
                      **facts.at("step"), expected="what this step has earned",
                      actual=", ".join(f"{x:g}" for x in _longest(play)[:6]) + ", ...",
                      severity="warning", seen_in="play",
                      hint="begin step() with reward = 0.0; a return is the trainer's to sum up")


@judgement("PUF314", needs=("play",))
def no_reward(facts: PythonFacts) -> Findings:
    play, found = present(facts.play), facts.long
    if play.nonzero or (found and found.nonzero):
        return
    steps = found.steps if found else play.steps
    endings = found.endings if found else play.terminals + play.truncations
    if steps < REWARDLESS:
        raise NotTested(f"{steps:,} steps without a reward are too few to mean anything")
    yield Finding("PUF314", f"no reward but 0 in {steps:,} steps with {endings:,} endings",
                  **facts.at("step"), expected="some reward other than 0",
                  actual="0 on every step", seen_in="long" if found else "play",
                  hint="does step() return it? else reward the way there")


def _longest(play: Play) -> NDArray[np.float64]:
    return max((episode.rewards for episode in play.episodes), key=len)


def _piles_up(play: Play) -> bool:
    """In all longer episodes of any play, rewards only grow away from 0, in few sizes of steps."""
    long = [episode.rewards for episode in play.episodes if len(episode.rewards) >= REWARDS]
    if not enough(len(long)):
        return False
    grown = 0
    for rewards in long:
        jumps = np.diff(np.abs(rewards))
        if not np.isfinite(rewards).all() or (jumps < -ROUNDING).any() \
                or len(np.unique(np.sign(rewards[rewards != 0]))) > 1:
            return False
        kinds = np.unique(np.round(jumps, 6))
        grown += enough(len(np.unique(rewards))) and len(kinds) <= KINDS and (
            abs(rewards[-1]) >= GROWTH * np.abs(rewards[rewards != 0][:1]).sum() > 0)
    return enough(grown) and half(grown, len(long))


@judgement("PUF411", needs=("effects", "traces"))
def ignored(facts: PythonFacts) -> Findings:
    again = facts.compared.get("again") or facts.compared.get("played")
    if again is None or again.difference:
        raise NotTested("the environment is not deterministic to begin with", "PUF501")
    sizes = present(facts.shape).sizes
    silent = [each for each in facts.effects if not each.differs and each.moments >= MOMENTS]
    heads = {each.head for each in silent if each.value is None and not each.agent}
    for head in sorted(heads):
        which = f"head {head} of the action" if len(sizes) > 1 else "the action"
        yield _ignored(facts, f"{which} changes nothing", head,
                       f"none, in place of {_moments(silent, head)} choices")
    if len(heads) == len(sizes):
        return
    for each in silent:
        if each.agent:
            yield _ignored(facts, f"the action of agent {each.agent} changes nothing", None,
                           f"none, in place of {each.moments} choices",
                           agent=agent_of(facts, each.agent))
    yield from _same_values(facts, [each for each in silent if each.head not in heads],
                            len(sizes) > 1)


def _moments(silent: list[Effect], head: int) -> int:
    return next(each.moments for each in silent if each.head == head and each.value is None)


def _same_values(facts: PythonFacts, silent: list[Effect], many_heads: bool) -> Findings:
    groups: dict[tuple[int, int], list[Effect]] = {}
    for each in silent:
        if each.value is not None and each.other is not None:
            groups.setdefault((each.head, each.other), []).append(each)
    for (head, other), members in sorted(groups.items()):
        values = ", ".join(str(each.value) for each in members)
        of = f" of head {head}" if many_heads else ""
        many = len(members) > 1
        yield _ignored(facts, f"action{'s' * many} {values}{of} never do{'es' * (not many)} "
                       f"anything but action {other}", head,
                       f"no difference in {min(each.moments for each in members)} choices")


def _ignored(facts: PythonFacts, message: str, head: int | None, actual: str,
             agent: int | None = None) -> Finding:
    return Finding("PUF411", message, **facts.at("step"), agent=agent, element=head, actual=actual,
                   expected="another observation, reward or ending", seen_in="effects",
                   hint="does step() read it? at the right index?")
