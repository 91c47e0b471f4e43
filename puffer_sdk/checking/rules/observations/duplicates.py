"""PUF308: elements of the observation that tell the same thing twice."""
from __future__ import annotations

import numpy as np

from ....env import row
from ...core.facts import Facts
from ...core.finding import Finding
from ...core.registry import NotTested, need, rule

ROWS = 500              # of a sample, that are enough
OF_AGENT = 300          # of one agent
MANY = 3                # numbers of each agent that are no accident
VALUES = 8              # different ones of an element: fewer may agree by chance
MOST = 1024             # elements that are compared
CLOSE = 1e-5            # of the largest value: rounding


@rule("PUF308", "obs-duplicate", "warning")
def obs_duplicate(facts: Facts):
    """Two elements of the observation always hold the same number, or one a fixed multiple of the
    other.

    Why it ruins training: the second one tells the agent nothing, and what it was meant to tell is
    missing: a line was copied, and one name in it was not changed. The policy learns a little
    without it, and stays worse than it could be.

    Bad:

        obs[OBS_VX] = ball->vx / MAX_SPEED;
        obs[OBS_VY] = ball->vx / MAX_SPEED;

    Good:

        obs[OBS_VX] = ball->vx / MAX_SPEED;
        obs[OBS_VY] = ball->vy / MAX_SPEED;

    Fix: show what was meant, or drop the element. If it is meant, say so where the message
    points: // puffer: allow(PUF308) the same in two units

    How it is seen: in all rows of a sample of a long run. Only elements that an enum names are
    compared (OBS_FUEL), with eight values or more, and no grids and images. Where every agent sees
    three or more numbers twice, each in its own places, it may look at its mates where its foes
    should be: `players[team * SIZE + k]`.
    """
    need(facts, "run")
    if len(_compared(facts)) < 2:
        return
    stats = facts.statistics
    if stats is None or len(stats.rows) < ROWS:
        raise NotTested("the run was too short")
    found = pairs(stats.rows, _compared(facts))
    if not found:
        yield from _for_each_agent(facts, stats)
    for first, second, factor in _told_twice(facts, found):
        one = row.named(facts.row.parts, second)
        same = "the same number as" if factor == 1 else f"{factor:.4g} times"
        yield Finding("PUF308", f"{facts.called(second, second)} is always {same} "
                                f"{facts.called(first, first)}", file=one.file, line=one.line,
                      element=second, expected="a number of its own",
                      actual=f"so in each of {len(stats.rows)} rows", seed=facts.seed,
                      seen_in="run", hint="was a line copied, and a name in it not changed?")


def _for_each_agent(facts: Facts, stats):
    """Numbers that agents see twice in places that depend on the agent."""
    agents, counts = np.unique(stats.agents, return_counts=True)
    if len(agents) < 2 or counts.min() < OF_AGENT:
        return
    found = []
    for agent in agents:
        mine = [pair for pair in pairs(stats.rows[stats.agents == agent], _compared(facts))
                if pair[2] == 1]
        if len(mine) < MANY:
            return
        found.append(mine)
    first, second, _ = found[0][0]
    one = row.named(facts.row.parts, second)
    yield Finding("PUF308", f"every agent sees {min(map(len, found))} numbers or more twice: for "
                            f"agent 0, {facts.called(second, second)} is always the same as "
                            f"{facts.called(first, first)}", file=one.file, line=one.line,
                  agent=0, element=second, expected="numbers of their own",
                  actual=f"so in each of {counts.min()} rows or more of an agent",
                  seed=facts.seed, seen_in="run",
                  hint="does an agent see itself, or its mates, where others should be?")


def _compared(facts: Facts) -> list[int]:
    """Elements that have a name, and mean a number."""
    return [element for part in facts.row.parts if part.kind in ("numbers", "list") and not part.ids
            for element in range(part.first, part.last + 1)][:MOST]


def pairs(rows: np.ndarray, elements: list[int]) -> list[tuple[int, int, float]]:
    """(first, second, factor): second = factor x first in all rows, for some factor above 0."""
    values = rows[:, elements].astype(float)
    if not np.isfinite(values).all():
        return []
    rich = [k for k in range(len(elements)) if len(np.unique(values[:, k])) >= VALUES]
    values, elements = values[:, rich], [elements[k] for k in rich]
    scale = np.abs(values).max(axis=0)
    values = values / scale
    # columns that are alike have like products with any vector: neighbours once they are sorted
    marks = np.random.default_rng(0).random(len(values)) @ values
    order = np.argsort(marks, kind="stable")
    found = []
    for at, k in enumerate(order):
        for other in order[at + 1:]:
            if marks[other] - marks[k] > CLOSE * len(values):
                break
            if np.abs(values[:, k] - values[:, other]).max() <= CLOSE:
                a, b = sorted((int(k), int(other)))
                factor = float(scale[b] / scale[a])
                found.append((elements[a], elements[b], 1 if abs(factor - 1) < CLOSE else factor))
    return sorted(found)


def _told_twice(facts: Facts, found: list[tuple[int, int, float]]):
    """One pair of each two parts, and of the things of one list."""
    seen = set()
    for first, second, factor in found:
        names = tuple(row.named(facts.row.parts, one).name for one in (first, second))
        if names not in seen:
            seen.add(names)
            yield first, second, factor
