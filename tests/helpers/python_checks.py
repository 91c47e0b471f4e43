"""Experiments of check on many Python environments in one process.  names -> a pickle

    python -m helpers.python_checks OUT.pkl FILE.py NAME ...

Each class of the file with `expect`, and each named environment, is played as check's child would
play it, but without a process of its own. OUT holds {name: PythonFacts}.
"""
from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

from puffer_sdk.checking.collect.python import child, long_play, opening, poison, watching
from puffer_sdk.checking.collect.python.playing import WORDS, Desk
from puffer_sdk.checking.collect.python.python_facts import PythonFacts
from puffer_sdk.interop.python_envs import makers

DEADLY = ("Exits", "Crashes", "Hangs")
BUDGET = 0.15           # of correct environments
PATIENT = 8.0           # times what check would wait: tests run beside others, on slow machines


def play(name: str, budget: float) -> PythonFacts:
    facts, maker = PythonFacts(), makers.read_name(name)
    desk = Desk(maker, facts.seed, budget, facts.add,
                memoryview(bytearray(8 * WORDS)).cast("q"))
    child.run(desk, child.Job(maker, facts.seed, budget, child.MAIN), lambda message: None)
    return facts


def main(out: str, file: str, *names: str) -> None:
    poison.install()
    watching.install()
    opening.SECONDS *= PATIENT
    long_play.MOST *= PATIENT
    module = sys.modules[makers.find_callable(f"{file}:Walk").__module__]
    found = {name: play(f"{file}:{name}", kind.budget) for name, kind in vars(module).items()
             if isinstance(kind, type) and hasattr(kind, "expect") and name not in DEADLY}
    found |= {name: play(name, BUDGET) for name in names}
    Path(out).write_bytes(pickle.dumps(found))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
