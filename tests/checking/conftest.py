"""What tests of the checker share."""
from __future__ import annotations

from pathlib import Path

import pytest
from helpers.check_fixtures import build_twice
from helpers.short_or_long import LONG

from puffer_sdk.checking.collect.c.driver import OURS, Kind, Runner, build_library, build_program
from puffer_sdk.checking.core.facts import Outcome
from puffer_sdk.env import header
from puffer_sdk.settings import config

PLAIN = Kind("plain", ("-O0", OURS))        # compiled in no time


@pytest.fixture(autouse=True)
def few_builds(request, monkeypatch):
    """In `make test`, check compiles an environment twice instead of five times; all five for who
    asks for `all_builds`."""
    if LONG or "all_builds" in request.fixturenames:
        return
    build_twice(monkeypatch)


@pytest.fixture
def all_builds() -> None:
    """For tests of what sanitizers, other optimisation or single threads of an environment show."""


@pytest.fixture
def play(tmp_path):
    """play(env, "memory", envs=2, steps=64) -> Outcome"""
    def run(env: Path, experiment: str, **options) -> Outcome:
        spec = header.read(env)
        runner = Runner(spec, tmp_path, 42, config.resolve(env, None, spec).env, {}, 10.0, {})
        outcome = runner.run(experiment, build_program(PLAIN),
                             build_library(spec, PLAIN, tmp_path),
                             experiment, **{"agents": 1, **options})
        assert outcome.ended, outcome.stderr
        return outcome
    return run
