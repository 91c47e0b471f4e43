"""Processes that share a machine run on cores of their own, unless somebody has placed them."""
from __future__ import annotations

import os
import sys

import pytest
from helpers.groups import Group
from helpers.places import TESTS

from puffer_sdk.distributed import cores
from puffer_sdk.distributed.group import Alone

SCRIPT = f"""
import os, sys
sys.path.insert(0, {str(TESTS)!r})
from puffer_sdk.distributed import cores, rank
from puffer_sdk.distributed.group import join
group = join(rank.find(), 30.0)
part = cores.divide(group, 1)
tasks = {{task: open(f"/proc/self/task/{{task}}/comm").read().strip()
         for task in os.listdir("/proc/self/task")}}
assert all(tuple(sorted(os.sched_getaffinity(int(task)))) == part or not part
           for task in tasks), part
loops = [os.sched_getscheduler(int(task)) for task, name in tasks.items()
         if name == "gloo_tcp_loop"]
assert loops and set(loops) == {{os.SCHED_BATCH}}, tasks
group.close()
print(*part)
"""


class Ranks(Alone):
    """One of several ranks, whose facts are given."""

    def __init__(self, rank: int, hosts: str, facts: list[dict]):
        self.rank, self.size, self.facts, self.hosts = rank, len(facts), facts, tuple(hosts)

    def share(self, facts: dict) -> list[dict]:
        return self.facts


@pytest.fixture
def bound(monkeypatch):
    """What sched_setaffinity was asked for."""
    asked = set()
    monkeypatch.setattr(os, "sched_setaffinity", lambda task, part: asked.add(part))
    return asked


def ranks(hosts: str, cores: list[list[int]], threads: int = 1) -> tuple[str, list[dict]]:
    return hosts, [{"cores": each, "threads": threads} for each in cores]


def test_two_processes_run_on_cores_of_their_own():
    with Group(2, [sys.executable, "-c", SCRIPT]) as group:
        done = group.finish()
    assert [status for status, *_ in done] == [0, 0], done
    first, second = ({int(core) for core in out.split()} for _, out, _ in done)
    assert not first & second and first | second <= set(cores.allowed())
    assert len(first) == len(second) == len(cores.allowed()) // 2


def test_each_machine_is_divided_among_its_own_processes(bound):
    facts = ranks("abab", [[0, 1, 2, 3], [4, 6], [0, 1, 2, 3], [4, 6]])
    parts = [cores.divide(Ranks(rank, *facts), 1) for rank in range(4)]
    assert parts == [(0, 1), (4,), (2, 3), (6,)]
    assert bound == set(parts)


@pytest.mark.parametrize("facts", [
    ranks("ab", [[0, 1], [0, 1]]), ranks("aa", [[0], [1]]), ranks("aa", [[0, 1], [0, 1]], 2),
    ranks("aa", [[], []]), ranks("a", [[0, 1]])],
    ids=["one on each machine", "bound already", "more threads than cores", "no Linux", "alone"])
def test_nothing_changes(facts, bound):
    assert cores.divide(Ranks(0, *facts), 1) == () and not bound
