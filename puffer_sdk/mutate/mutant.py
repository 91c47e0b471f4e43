"""What a mutant is: one planted mistake, and the operators that plant them.

    fault         the result breaks the contract or some rule of `check`: a checker should notice
    rule change   the result is another, proper game: only the author's own tests can notice
"""
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

FAULT, RULE = "fault", "rule change"
OPERATORS = {                               # operator -> what it does to the author's code
    "drop-clear": "drops a memset of the observations",
    "drop-obs-write": "drops a store to the observations",
    "drop-observe": "drops a call that writes the observations",
    "drop-reward-write": "drops a store to the rewards that every step makes",
    "drop-terminal-write": "drops a store to the terminals or truncations",
    "drop-reset": "drops the reset after an ending",
    "drop-state-reset": "drops something that c_reset sets and steps change",
    "drop-log-n": "drops the counting of log entries",
    "drop-log-length": "drops episode_return or episode_length of the log",
    "drop-action": "drops what one action does",
    "drop-free": "drops a free in c_close",
    "drop-init": "leaves a local without its first value",
    "fixed-row": "takes row 0 of a buffer for every agent",
    "free-shared": "frees the trainer's observations in c_close",
    "loop-over": "goes one past the end of a loop over an array",
    "loop-under": "stops a loop that writes a buffer one early",
    "negate-ending": "negates the condition of an ending",
    "scale-obs": "drops the division that scales an observation",
    "scale-reward": "multiplies a reward by 100",
    "constant-seed": "sets the same seed on every reset",
    "shared-rng": "draws from one generator for all copies",
    "shift-index": "moves an index into a buffer by one",
    "short-alloc": "allocates one element too few",
    "static-local": "makes a local static",
    "write-actions": "writes into the actions",
    "drop-sight": "drops a store to observations that are cleared before",
    "drop-setup": "drops something that only c_reset sets",
    "drop-bonus": "drops a reward that is given on a condition",
    "drop-score": "drops a custom field of the log",
    "drop-update": "drops a change of the state in a step",
    "flip-sign": "adds where it subtracted",
    "loosen-bound": "turns < into <=, or back",
    "swap-actions": "swaps two actions",
}
RULE_CHANGES = ("drop-sight", "drop-setup", "drop-bonus", "drop-score", "drop-update",
                "flip-sign", "loosen-bound", "swap-actions")


@dataclass(frozen=True)
class Edit:
    """Bytes [begin, end) of a file become text."""

    begin: int
    end: int
    text: bytes


@dataclass(frozen=True)
class Mutant:
    """One planted mistake; `text` is the whole file with it."""

    id: str                     # "drop-free@171", of the operator and the line
    operator: str
    kind: str                   # FAULT or RULE
    file: str                   # relative to the env's folder
    line: int
    diff: str
    text: bytes = field(repr=False)


def sample(mutants: list[Mutant], seed: int) -> Iterator[Mutant]:
    """All mutants in a drawn order: one of each operator, then a second of each..."""
    piles: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        piles.setdefault(mutant.operator, []).append(mutant)
    names = sorted(piles)
    random.Random(f"{seed}").shuffle(names)
    for name in names:
        random.Random(f"{seed}:{name}").shuffle(piles[name])
    while any(piles.values()):
        for name in names:
            if piles[name]:
                yield piles[name].pop()
