"""Random numbers by counter. In: a key (seed, purpose) and a counter. Out: the same bits anywhere.

Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011) is
a pure function: nothing is carried from one draw to the next, so a draw does not depend on how
many threads, slices, ranks or devices share the work, nor on what was drawn before.

    counter words   index (global agent, segment, element), step low, step high, head
    key words       seed low, seed high << 8 | purpose

One block of four words belongs to one (index, step, head). A uniform is made from word 0, a normal
from words 0 and 1.
"""
from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import UsageError

MAX_SEED = 2 ** 56 - 1      # what is left of 64 key bits after the purpose

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (0x9E3779B9, 0xBB67AE85)       # golden ratio, sqrt(3) - 1
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_ROUNDS = 10


class Purpose(IntEnum):
    """What a draw is for. Two purposes never share a bit; the numbers are part of the format."""

    ACTION = 1
    SHUFFLE = 2
    PRIORITY = 3
    INIT = 4
    ENV_SEED = 5


def philox4x32(counter: Sequence[ArrayLike],
               key: tuple[int, int]) -> tuple[NDArray[np.uint32], ...]:
    """Four uint32 words for each counter. `counter` is four arrays of words that broadcast."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    k0, k1 = key
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0 = (p1 >> _SHIFT) ^ c1 ^ np.uint64(k0)
        c2 = (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & _LOW, p0 & _LOW
        k0, k1 = (k0 + _KEY_STEPS[0]) & 0xFFFFFFFF, (k1 + _KEY_STEPS[1]) & 0xFFFFFFFF
    return tuple(word.astype(np.uint32) for word in np.broadcast_arrays(c0, c1, c2, c3))


def words(key: tuple[int, int], index: ArrayLike, step: ArrayLike = 0,
          head: ArrayLike = 0) -> tuple[NDArray[np.uint32], ...]:
    """The four words of each (index, step, head); the three broadcast. key = (seed, purpose)."""
    seed, purpose = key
    if not 0 <= seed <= MAX_SEED:
        raise UsageError("a seed is out of range", expected=f"0 to {MAX_SEED}", actual=seed)
    steps = np.asarray(step, np.uint64)
    return philox4x32((index, steps & _LOW, steps >> _SHIFT, head),
                      (seed & 0xFFFFFFFF, (seed >> 32) << 8 | int(purpose)))


def uniform(key: tuple[int, int], index: ArrayLike, step: ArrayLike = 0,
            head: ArrayLike = 0) -> NDArray[np.float32]:
    """float32 in [0, 1), a multiple of 2^-24: every value is exact in a float."""
    return _to_unit(words(key, index, step, head)[0])


def normal(key: tuple[int, int], index: ArrayLike, step: ArrayLike = 0,
           head: ArrayLike = 0) -> NDArray[np.float32]:
    """float32 standard normals by Box-Muller, computed in double and rounded once; |x| < 5.8."""
    first, second, _, _ = words(key, index, step, head)
    radius = np.sqrt(-2 * np.log1p(-_to_unit(first).astype(np.float64)))     # 1 - u is never 0
    angle = 2 * np.pi * _to_unit(second).astype(np.float64)
    return np.asarray(radius * np.cos(angle), np.float32)


def action_noise(seed: int, agents: NDArray[np.integer[Any]], ticks: NDArray[np.integer[Any]],
                 act_sizes: Sequence[int]) -> NDArray[np.float32]:
    """(ticks, agents, heads) float32: uniforms for discrete heads, normals for those of width 1."""
    noise = np.empty((len(ticks), len(agents), len(act_sizes)), np.float32)
    for head, width in enumerate(act_sizes):
        draw = normal if width == 1 else uniform
        noise[:, :, head] = draw((seed, Purpose.ACTION), agents[None, :], ticks[:, None], head)
    return noise


def permutation(seed: int, count: int, epoch: int, epoch_pass: int = 0,
                first: int = 0) -> NDArray[np.int64]:
    """(count,) int64: the segments in this epoch's shuffled order; `epoch_pass` counts
    repeats in it.

    first    number of the first segment in a run of several ranks, each of which shuffles its own
    """
    order, tie, _, _ = words((seed, Purpose.SHUFFLE), np.arange(first, first + count), epoch,
                             epoch_pass)
    shuffled: NDArray[np.int64] = np.lexsort((tie, order))
    return shuffled


def env_seed(seed: int, env: int, epoch: int = 0, rank: int = 0) -> int:
    """A uint32 for one env: other runs, ranks, envs and restarts (epoch) play other episodes."""
    return int(words((seed, Purpose.ENV_SEED), env, epoch, rank)[0])


def _to_unit(word: NDArray[np.uint32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (word >> np.uint32(8)).astype(np.float32) * np.float32(2 ** -24)
    return unit
