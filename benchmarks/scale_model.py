"""What a run in many processes costs.  measured sums and epochs -> a model -> rates of N workers

    a sum of n bytes over W     call + hops x latency + travelled / bandwidth
        twice around a ring     2 (W - 1) hops, 2 (W - 1) / W n bytes
        all parts to all        W - 1 hops, (W - 1) n bytes: of two, and of short ones
    an epoch of B steps         B / W (play + learn) + its updates x update + its sums

Which way a sum takes is up to puffer_sdk/distributed/group.py. `play` and `learn` are seconds of
one worker for a step; `update` is what it does once a minibatch, whatever W is: Muon. Nothing here
knows of workers that are slower than others, or interrupted.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np

from puffer_sdk.distributed.group import GATHERED_BYTES

HALF = 1.5              # a doubling of workers pays while it makes a run so much faster
GOOD = 0.8              # of W times one worker's rate
WORKERS = (8, 64, 512)


def journey(size: float, workers: int) -> tuple[float, float]:
    """Messages one after another, and the bytes that each worker sends."""
    others = workers - 1
    if workers == 2 or workers * size <= GATHERED_BYTES:
        return others, others * size
    return 2 * others, 2 * others / workers * size


@dataclass(frozen=True)
class Fabric:
    """What joins the workers."""

    name: str
    call: float             # seconds that a sum takes with nobody far away
    latency: float          # seconds of a message
    bandwidth: float        # bytes per second

    def sum_seconds(self, size: float, workers: int) -> float:
        """One sum of so many bytes."""
        if workers == 1:
            return 0.0
        hops, travelled = journey(size, workers)
        return self.call + hops * self.latency + travelled / self.bandwidth

    def to_dict(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Work:
    """What one network and environment cost one worker."""

    play: float             # seconds per step
    learn: float            # seconds per step
    update: float           # seconds per minibatch
    sums: Mapping[int, float]       # {bytes: how many} of one minibatch

    def minibatch_seconds(self, minibatch: float, workers: int, fabric: Fabric | None) -> float:
        """One minibatch, and the play for it: every step is learned from once."""
        sums = sum(count * fabric.sum_seconds(size, workers)
                   for size, count in self.sums.items()) if workers > 1 else 0.0
        return minibatch / workers * (self.play + self.learn) + self.update + sums

    def rate(self, minibatch: float, workers: int = 1, fabric: Fabric | None = None) -> float:
        """Agent steps per second."""
        return minibatch / self.minibatch_seconds(minibatch, workers, fabric)

    def speedup(self, minibatch: float, workers: int, fabric: Fabric) -> float:
        """How much faster than one worker."""
        return self.rate(minibatch, workers, fabric) / self.rate(minibatch)

    def pays_up_to(self, minibatch: float, fabric: Fabric, most: int = 1 << 16) -> int:
        """The last of 1, 2, 4 ... workers to which doubling them pays."""
        workers = 1
        while workers < most and (self.rate(minibatch, 2 * workers, fabric)
                                  >= HALF * self.rate(minibatch, workers, fabric)):
            workers *= 2
        return workers

    def minibatch_for(self, workers: int, fabric: Fabric, share: float = GOOD) -> float:
        """The least minibatch at which W workers reach that share of W times one worker's rate.

        One worker takes m step + update, W take m / W step + update + sums. The share is the first
        over W times the second, which is solved for m.
        """
        step = self.play + self.learn
        whole = self.minibatch_seconds(0, workers, fabric)
        return max(0.0, (share * workers * whole - self.update) / (step * (1 - share)))


def fit_fabric(name: str, rows: list[dict]) -> Fabric:
    """rows: {"bytes", "workers", "seconds"}. Relative errors are least; nothing is negative."""
    columns = np.array([[1.0, *journey(row["bytes"], row["workers"])] for row in rows])
    seconds = np.array([row["seconds"] for row in rows])
    call, latency, per_byte = _least_squares(columns / seconds[:, None])
    return Fabric(name, call, latency, 1 / per_byte if per_byte else float("inf"))


def _least_squares(matrix: np.ndarray) -> np.ndarray:
    """x >= 0 with matrix @ x nearest to ones: the best of all choices of columns."""
    best, least = np.zeros(matrix.shape[1]), np.inf
    for count in range(1, matrix.shape[1] + 1):
        for chosen in map(list, combinations(range(matrix.shape[1]), count)):
            found = np.linalg.lstsq(matrix[:, chosen], np.ones(len(matrix)), rcond=None)[0]
            error = np.sum((matrix[:, chosen] @ found - 1) ** 2)
            if (found >= 0).all() and error < least:
                least = error
                best = np.zeros(matrix.shape[1])
                best[chosen] = found
    return best


def fit_work(few: dict, many: dict, sums: Mapping[int, float]) -> Work:
    """From one worker's runs with two sizes of minibatch.

    few, many   {"minibatch", "play", "learn"}: seconds per step of both
    """
    gap = few["learn"] - many["learn"]
    update = max(0.0, gap / (1 / few["minibatch"] - 1 / many["minibatch"]))
    return Work(play=(few["play"] + many["play"]) / 2, update=update, sums=dict(sums),
                learn=max(0.0, many["learn"] - update / many["minibatch"]))


def errors(predicted: list[float], measured: list[float]) -> dict:
    """How far predictions are off, as shares of what was measured."""
    off = [abs(p / m - 1) for p, m in zip(predicted, measured)]
    return {"points": len(off), "median": float(np.median(off)), "worst": max(off)}
