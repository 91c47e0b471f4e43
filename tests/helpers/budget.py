"""Tests by how long they took: the longest files first, and --budget, --save-durations.

The first worker compiles pytest's form of all test modules; the others begin when they can read it.

tests/durations.json holds the seconds of each test function that takes a second, all of its
parameters and what it set up together.
"""
from __future__ import annotations

import json
import time
from collections import defaultdict
from pathlib import Path

import pytest
from helpers.places import TESTS
from helpers.short_or_long import has_forms, is_left_out

DURATIONS = TESTS / "durations.json"
LEAST, BELOW = 1.0, 0.2     # seconds from which on a function is listed; of one that is not
FIRST, PATIENCE = "gw0", 120.0      # the worker that collects before others, and seconds to wait


def pytest_addoption(parser):
    group = parser.getgroup("durations")
    group.addoption("--budget", type=float, metavar="SECONDS",
                    help="run the quickest tests of every file, up to this many seconds")
    group.addoption("--save-durations", type=Path, metavar="FILE",
                    help="write the seconds of each test function")


def pytest_configure(config):
    if config.getoption("--save-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stopwatch(config.getoption("--save-durations")))


def function_of(nodeid: str) -> str:
    return nodeid.partition("[")[0]


def pytest_itemcollected(item):
    if has_forms(item):
        item.add_marker("long")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Half of the seconds of a clean clone's collection are rewriting and compiling asserts."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return (yield)
    done = Path(session.config.getoption("basetemp")).parent / "collected"
    until = time.monotonic() + PATIENCE
    while worker["workerid"] != FIRST and not done.exists() and time.monotonic() < until:
        time.sleep(0.1)
    try:
        return (yield)
    finally:
        if worker["workerid"] == FIRST:
            done.touch()


def pytest_collection_modifyitems(config, items):
    left = [item for item in items if is_left_out(item)]
    items[:] = [item for item in items if not is_left_out(item)]
    config.hook.pytest_deselected(items=left)
    seconds = json.loads(DURATIONS.read_text()) if DURATIONS.is_file() else {}
    count: dict[str, int] = defaultdict(int)
    for item in items:
        count[function_of(item.nodeid)] += 1
    each = {name: seconds.get(name, min(BELOW * n, LEAST)) for name, n in count.items()}
    if hasattr(config, "workerinput"):
        longest_first(items, each)
    budget = config.getoption("--budget")
    if not budget:
        return
    kept = set(choose(each, budget))
    dropped = [item for item in items if function_of(item.nodeid) not in kept]
    items[:] = [item for item in items if function_of(item.nodeid) in kept]
    config.hook.pytest_deselected(items=dropped)


def longest_first(items: list, seconds: dict[str, float]) -> None:
    """Files in the order of their seconds: no worker ends with a long one while others wait."""
    files: dict[str, float] = defaultdict(float)
    for name, value in seconds.items():
        files[name.partition("::")[0]] += value
    items.sort(key=lambda item: -files[item.nodeid.partition("::")[0]])


def choose(seconds: dict[str, float], budget: float) -> list[str]:
    """The quickest test of every file, then the quickest of all, as many as the budget holds."""
    order = sorted(seconds, key=lambda name: (seconds[name], name))
    first = {}
    for name in order:
        first.setdefault(name.partition("::")[0], name)
    chosen, spent = [], 0.0
    for name in [*first.values(), *(name for name in order if name not in first.values())]:
        if spent + seconds[name] <= budget:
            chosen.append(name)
            spent += seconds[name]
    return chosen


class Stopwatch:
    """Adds up what each test function took."""

    def __init__(self, path: Path):
        self.path, self.seconds = path, defaultdict(float)

    def pytest_runtest_logreport(self, report):
        self.seconds[function_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self):
        rounded = {name: round(value, 1) for name, value in sorted(self.seconds.items())
                   if value >= LEAST}
        self.path.write_text(json.dumps(rounded, indent=0) + "\n")
