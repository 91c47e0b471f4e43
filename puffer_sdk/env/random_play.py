"""How large rewards and observations are.  random play -> a factor of rewards, one for each number

The trainers learn best from numbers of about 1: their optimiser takes steps of one size, whatever
the loss, and a network that sees numbers of 100 begins with extreme outputs. So random
play from a fixed seed decides what rewards and observations are multiplied by. Both are found
once, before a run, and stand in the run's config.ini.
"""
from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..base import processes
from ..base.errors import PufferError
from ..settings import factors
from .agent_slots import living, random_actions
from .encoder_choice import read_row
from .vec import VecEnv, make_vec

if TYPE_CHECKING:
    from .child_pipe import Link
    from .job import EnvJob
    from .library import EnvLibrary
    from .obs_spec import ObsSpec

COPIES = 4              # and steps of each
TICKS = 128
SEED = 1                # the same for all ranks, trials and seeds of a run
AIM = 2.0               # root mean square of large numbers after that, but for up to sqrt(2)
LONGEST = 128.0         # ... and of a row's length: a step of the optimiser moves by its multiple
LARGE = 2.0             # times that: numbers from there on are large
LEAST = -30             # the smallest factor, as a power of two
HIDDEN = 2.0**-10       # what a common factor may leave of a number that was SEEN without it. Bytes
SEEN = 2.0**-3          # differ by less, so those of a picture share a factor


@dataclass(frozen=True)
class Played:
    """What random play met.

    reward_scale    1 / RMS of discounted returns, 1 where nothing was earned
    squares         (D,) mean squares of each number of the observations
    """

    reward_scale: float
    squares: NDArray[np.float64]


def play(vec: VecEnv, gamma: float = 1.0) -> Played:
    """TICKS steps at random, after a reset.

    Steps whose return is 0 do not count: it is the size of what is earned, however seldom.
    """
    vec.reset()
    rng, returns = np.random.default_rng(SEED), np.zeros(vec.num_agents)
    earned, squares, seen = [], np.zeros(vec.obs_size), 0
    for _ in range(TICKS):
        rows = vec.observations[living(vec)].astype(np.float64)
        squares += (rows**2).sum(0)
        seen += len(rows)
        vec.step(random_actions(vec, rng))
        returns = returns * gamma + vec.rewards
        earned.append(returns[returns != 0] ** 2)
        returns[vec.terminals != 0] = 0
    found = np.concatenate(earned)
    size = math.sqrt(found.mean()) if len(found) else 0.0
    factor = 1 / size if size > 0 and math.isfinite(size) else 1.0
    return Played(float(f"{factor:.6g}"), squares / max(1, seen))


def choose_obs_scale(squares: NDArray[np.float64], read_row: Callable[[], ObsSpec | None]
                     ) -> tuple[str, str]:
    """The value of [train] obs_scale, and the reason. A factor for each part of the row that is
    described, and one for all the rest, since a number that never changed in random play may
    belong to a picture; but one for each large number where a common one would hide others.

    squares     (D,) as Played has them
    read_row    the row's description; it is read only if numbers are large

    Factors are powers of two: numbers keep their digits, and small differences between two
    machines change nothing.
    """
    aim = min(AIM, LONGEST / math.sqrt(len(squares)))
    if not (squares >= (LARGE * aim)**2).any():
        return "1", "random play meets no large numbers"
    row, chosen, found = read_row(), np.ones(len(squares)), []
    parts = [(part.name, np.arange(part.first, part.last + 1))
             for part in (row.parts if row else ())]
    rest = np.ones(len(squares), bool)
    for _, numbers in parts:
        rest[numbers] = False
    for name, numbers in (*parts, ("numbers", np.flatnonzero(rest))):
        rms = math.sqrt(squares[numbers].mean()) if len(numbers) else 0.0
        if not LARGE * aim <= rms < math.inf:
            continue
        sizes, power = np.sqrt(squares[numbers]), _power(rms / aim)
        if ((sizes >= SEEN) & (sizes * 2.0**-power < HIDDEN)).any():
            large = sizes >= LARGE * aim
            chosen[numbers[large]] = [2.0**-_power(size / aim) for size in sizes[large]]
            found.append((rms, f"{name} of up to about {sizes.max():.3g} ({large.sum()} of "
                               f"{len(numbers)} times a factor of their own)"))
        else:
            chosen[numbers] = 2.0**-power
            found.append((rms, f"{name} of about {rms:.3g} (times 1/{2**power})"))
    shown = [text for _, text in sorted(found, reverse=True)]
    return factors.join(chosen.tolist()), "random play meets " + (
        ", ".join(shown[:3]) + f" and {len(shown) - 3} more" * (len(shown) > 3)
        if shown else "no large numbers")


# ---- compiled environments: in a copy of the process, which env code cannot disturb ------------


def _power(times: float) -> int:
    """How often a number is halved that is so many times too large."""
    return min(-LEAST, round(math.log2(times)))


def measure_obs_scale(job: EnvJob, library: EnvLibrary, link: Link) -> tuple[str, str]:
    """obs_scale of a compiled environment, and the reason. Before anything armed this process
    (Link.watches)."""
    about = library.describe(job.config.env)
    squares = _in_a_copy(about.obs_size, link, lambda: _play(job, library, link))
    if squares is None:
        return "1", "random play came to no end"
    return choose_obs_scale(squares, lambda: read_row(job.folder, about, job.config))


def _play(job: EnvJob, library: EnvLibrary, link: Link) -> NDArray[np.float64]:
    config, watches = job.config, link.watches()
    sizes = [COPIES * library.agents_per_env(config.env, watches), config.vec.total_agents]
    for agents in sizes:            # envs of unequal sizes may fill only the run's own number
        with suppress(PufferError), make_vec(library, total_agents=agents, seed=SEED,
                                             env_settings=config.env, watches=watches) as vec:
            return play(vec).squares
    raise SystemExit


def _in_a_copy(size: int, link: Link, function: Callable[[], NDArray[np.float64]]
               ) -> NDArray[np.float64] | None:
    """The (size,) numbers that the function returns in a forked copy of this process; None where
    the copy died. A call that does not return is the parent's affair, as in training."""
    room = np.frombuffer(mmap.mmap(-1, 8 * (size + 1)), np.float64)
    parent, copy = os.getpid(), os.fork()
    if not copy:
        with suppress(BaseException):
            processes.end_with(parent, watch=False)
            for fd in 1, 2:             # what env code prints comes once, with the training
                os.dup2(os.open(os.devnull, os.O_WRONLY), fd)
            room[:size] = function()
            room[size] = 1
        os._exit(0)
    os.waitpid(copy, 0)
    link.page.watches[:] = 0            # it may have died in a call
    return np.array(room[:size]) if room[size] else None
