"""Ranks of a run as threads of one process, and trainers over their parts of one run.

    results = in_threads(4, lambda group: ...)          # one result for each rank, in order
"""
from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np

from puffer_sdk.distributed.group import Alone
from puffer_sdk.env import vec as envs
from puffer_sdk.env.seeds import mix_seed


class _Meeting:
    def __init__(self, size: int):
        self.barrier, self.parts = threading.Barrier(size, timeout=60), [None] * size


class ThreadGroup(Alone):
    """A rank among threads. Sums are made in the order of ranks."""

    def __init__(self, rank: int, meeting: _Meeting):
        self.rank, self.size, self._meeting = rank, len(meeting.parts), meeting
        self.hosts = tuple(f"host-{rank}" for rank in range(self.size))
        self.calls = 0

    def _all(self, part) -> list:
        meeting = self._meeting
        self.calls += 1
        meeting.parts[self.rank] = part
        meeting.barrier.wait()
        found = list(meeting.parts)
        meeting.barrier.wait()
        return found

    def sum(self, array) -> None:
        array = np.asarray(array)           # of a tensor: over the same memory
        parts = self._all(array.copy())
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
        array[...] = total

    def share(self, facts):
        return self._all(facts)

    def gather(self, data):
        found = self._all(data)
        return found if self.rank == 0 else None

    def broadcast(self, data):
        return self._all(data)[0] or b""

    def barrier(self):
        self._all(None)


def in_threads(size: int, work: Callable[[ThreadGroup], object]) -> list:
    """What work(group) returns on each rank. Raises what a rank raised first."""
    meeting, results, errors = _Meeting(size), [None] * size, []

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadGroup(rank, meeting))
        except BaseException as error:
            errors.append(error)
            meeting.barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise next((error for error in errors
                    if not isinstance(error, threading.BrokenBarrierError)), errors[0])
    return results


def part_of_vec(library, agents: int, group: Alone, *, rows: int = 1, seed: int = 3, **options):
    """This rank's envs of a run of so many agents; rows: agents of one env"""
    each = agents // group.size
    first = group.rank * each // rows
    return envs.VecEnv(library, total_agents=each, seed=seed,
                       env_seeds=[mix_seed(seed, first + env) for env in range(each)], **options)
