"""What a repro program looks for.  a rule's Proof + a finding's Shows -> Claim"""
from collections.abc import Mapping
from dataclasses import dataclass

# Exit statuses of a repro program, as in puffer_repro.h
FAILED, RACE, UNDEFINED, ASAN, HANG, EXIT, SIGNAL = 1, 94, 95, 96, 97, 98, 99
DIES = (UNDEFINED, ASAN, HANG, EXIT, SIGNAL)
# that envs write
ROWS = ("observations", "rewards", "terminals", "truncations", "action_mask", "alive")
PATIENCE = 10.0         # seconds that one call of the env may take


@dataclass(frozen=True)
class Proof:
    """How a repro program shows a rule's faults."""

    expect: str                             # one of puffer_repro.h's expectations
    array: str = ""
    statuses: tuple[int, ...] = (FAILED,)   # that show the fault
    low: float = 0.0
    high: float = 0.0
    envs: int = 1                           # that it takes at least
    patience: float = PATIENCE
    at_line: bool = False                   # a sanitizer has to name the finding's line
    outside: tuple[str, ...] = ()           # it leaves the env's own rows of one of these arrays


def dies(*statuses: int, patience: float = PATIENCE, at_line: bool = False,
         outside: tuple[str, ...] = ()) -> Proof:
    """The process ends with one of these statuses, or with any that is no return."""
    return Proof("return", statuses=statuses or DIES, patience=patience, at_line=at_line,
                 outside=outside)


@dataclass(frozen=True)
class Shows:
    """What one finding knows better than its rule's Proof. None: as the Proof, or the finding."""

    expect: str | None = None
    array: str | None = None
    agent: int | None = None
    low: float | None = None
    high: float | None = None
    settings: Mapping[str, float] | None = None    # [env], over the ini's
    field: str = ""
    pointer: int = -1
    offset: int = 0
    is_float: int = 0
    scale: float = 0.0
    shift: float = 0.0


@dataclass(frozen=True)
class Claim:
    """What should hold: the fields of puffer_repro.h's Repro that say so."""

    expect: str
    array: str
    agent: int
    first: int
    last: int
    low: float
    high: float
    field: str
    pointer: int                # "shown": where the word lies, and how the element shows it
    offset: int
    is_float: int
    scale: float
    shift: float
