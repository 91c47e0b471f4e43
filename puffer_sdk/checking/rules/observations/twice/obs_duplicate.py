"""The page of PUF308, and what its detectors share."""
import numpy as np
from numpy.typing import NDArray

from .....env.obs_spec import ObsField
from ....core.vocabulary import Facts, NotTested, Statistics, family, need

ROWS = 500              # of a sample, that are enough
VALUES = 8              # different ones of an element: fewer may agree by chance
MOST = 1024             # elements that are compared
CLOSE = 1e-5            # of the largest value: rounding


@family("PUF308", "obs-duplicate", "warning")
def obs_duplicate() -> None:
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


def named(facts: Facts, element: int) -> ObsField:
    """The part of an element that is compared."""
    return next(part for part in facts.row.parts if part.first <= element <= part.last)


def sampled(facts: Facts) -> Statistics | None:
    """Of a run, where there are elements to compare. Raises NotTested."""
    need(facts, "run")
    if len(compared(facts)) <= 1:
        return None
    stats = facts.statistics
    if stats is None or len(stats.rows) < ROWS:
        raise NotTested("the run was too short")
    return stats


def compared(facts: Facts) -> list[int]:
    """Elements that have a name, and mean a number."""
    return [element for part in facts.row.parts if part.kind in ("numbers", "list") and not part.ids
            for element in range(part.first, part.last + 1)][:MOST]


def pairs(rows: NDArray[np.generic], elements: list[int]) -> list[tuple[int, int, float]]:
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
