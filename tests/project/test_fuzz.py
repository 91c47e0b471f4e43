"""The first inputs of `make fuzz`: files that nobody meant, against what is promised of them."""
from __future__ import annotations

import importlib.util
import random
import sys

import pytest
from helpers.forms import LONG
from helpers.places import ROOT

spec = importlib.util.spec_from_file_location("puffer_fuzz", ROOT / "tools" / "fuzz.py")
fuzz = sys.modules["puffer_fuzz"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fuzz)

COUNTS = {"checkpoints": 150, "inis": 150, "runs": 40, "sweeps": 20, "headers": 8}


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_every_input_is_read_or_refused_with_a_sentence(kind):
    found = fuzz.try_many(kind, range(COUNTS[kind] * (20 if LONG else 1)))
    assert not found.broken, "\n".join(found.broken[:5])
    assert found.counts["read"] and found.counts["refused"]


def test_policies_are_read_or_refused_under_sanitizers():
    found = fuzz.try_policies(100_000 if LONG else 1000)
    assert not found.broken, found.broken
    assert found.counts["read"] > 100 and found.counts["refused"] > 100


def test_a_broken_promise_is_found(monkeypatch):
    """A traceback, and a file beside the folder."""
    def fall(rng: random.Random, box: fuzz.Box) -> str:
        if rng.random() < 0.5:
            (box.outside / "new").touch()
        raise KeyError("x")

    monkeypatch.setitem(fuzz.KINDS, "inis", fall)
    found = fuzz.try_many("inis", range(8))
    assert sum("KeyError" in each for each in found.broken) == 8
    assert sum("outside" in each for each in found.broken) == 1
