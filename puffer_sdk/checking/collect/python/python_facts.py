"""What experiments on a Python environment write down: sent from the child, read by judgements."""
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....interop.python_envs.oddities import Oddity
from ...core.finding import FileLine

Given: TypeAlias = Any       # what an environment returns: it may be anything
CALLS = ("", "made", "reset", "step", "render", "close")    # phases: what the env's code is doing
MADE, RESET, STEP, RENDER, CLOSE = 1, 2, 3, 4, 5


def number(value: Given) -> float:
    """A reward as it counts; NaN where it is no number."""
    try:
        return float(np.asarray(value, dtype=np.float64).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return float("nan")


@dataclass(frozen=True)
class Place:
    """A line of the author's: a file relative to the environment's folder."""

    file: str | None = None
    line: int | None = None


class Part(NamedTuple):
    """A part of an observation; low, high: the outermost bounds of a Box."""

    name: str
    kind: str               # class of its space
    first: int              # its first number of all
    shape: tuple[int, ...]
    dtype: str
    low: float | None
    high: float | None

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def last(self) -> int:
        return self.first + self.size - 1


@dataclass(frozen=True)
class Shape:
    """An environment as it was made.

    agents      possible agents; ("",) for a single one
    sizes       head widths of an action, 1 = continuous; () where no heads can stand for it
    leaves      the parts of an observation
    places      of "class", "reset", "step", "render", "close"
    parallel    PettingZoo's interface
    folder      that places are relative to
    nondeterministic    its registration says so
    alone       there can be one instance at a time, or each needs an index of its own
    normalizers wrappers whose statistics go on from episode to episode
    """

    agents: tuple[str, ...]
    sizes: tuple[int, ...]
    leaves: tuple[Part, ...]
    places: dict[str, Place]
    parallel: bool
    folder: str
    masked: bool = False
    nondeterministic: bool = False
    alone: bool = False
    normalizers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Raised:
    """An exception of the environment's own code."""

    experiment: str
    phase: int
    step: int
    kind: str
    text: str
    place: Place
    seed: int | None = None
    trace: tuple[str, ...] = ()


@dataclass(frozen=True)
class Died:
    """How a child process ended in the middle of an experiment.

    signal      that killed it; 0: none
    status      that it exited with, if no signal did
    hung        it was killed because a call did not return
    memory      it was killed because of its memory
    """

    experiment: str
    phase: int
    step: int
    signal: int = 0
    status: int = 0
    hung: bool = False
    memory: bool = False
    seconds: float = 0.0
    place: Place = Place()
    said: str = ""


@dataclass(frozen=True)
class Done:
    """An experiment came to its end after so many steps."""

    experiment: str
    steps: int


@dataclass(frozen=True)
class Skipped:
    """An experiment could not ask its question; why."""

    experiment: str
    why: str


@dataclass(frozen=True)
class Episode:
    """One episode of the long play.

    cut             by the experiment
    both            some agent was told both terminated and truncated
    stale_first     the first step's observation is that of reset, although others change
    stale_last      the last observation is the one before it
    opening         hash of the first observation
    as_before       the first observation is the last one of the episode before
    rewards         of the first agent, the first 1024
    """

    length: int
    terminated: bool
    truncated: bool
    both: bool
    cut: bool
    seeded: bool
    stale_first: bool
    stale_last: bool
    opening: int
    as_before: bool
    rewards: NDArray[np.float64]


@dataclass
class Play:
    """The long play.

    low, high       (D,) of each number of the observation, over all agents
    flags           (D,) numbers that were only ever 0 or 1
    wraps           (D,) how often a byte went round, from one step to the next
    smooth          (D,) steps on which a byte moved by at most 8, that way round
    changes         steps after which the observation differs from the one before; of `moves`
    still           agents whose observation never changed within an episode
    timed           (D,) numbers that depend on nothing but the step of the episode
    reward          lowest and highest, with the step of the largest
    seen            for each head, the values that were tried; 0 for a continuous one
    draws           random numbers were drawn: how that is known, "" if not
    fixed_seed      a generator was made with a constant seed while it was played
    """

    steps: int
    episodes: list[Episode]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    flags: NDArray[np.bool_]
    wraps: NDArray[np.int64]
    smooth: NDArray[np.int64]
    timed: NDArray[np.bool_]
    changes: int
    moves: int
    still: list[str]
    moving: list[str]
    reward: tuple[float, float]
    reward_step: int
    nonzero: int
    seen: list[int]
    terminals: int
    truncations: int
    endings: int = 0                # of agents, whether terminated, truncated or both
    quiet_actions: bool = False     # whether the actions that end an episode change it elsewhere
    printed: int = 0                # bytes written to stdout in steps
    grown: dict[str, tuple[int, int]] = field(default_factory=dict)     # attribute: entries after
                                    # the first and the last reset, where it never shrank
    slept: int = 0                  # calls of time.sleep
    opened: list[str] = field(default_factory=list)     # files that were opened for writing
    outside: list[str] = field(default_factory=list)    # programs and connections


@dataclass(frozen=True)
class Long:
    """A long play in which only rewards and endings are looked at."""

    steps: int
    endings: int
    nonzero: int
    longest: int                    # steps of the longest episode, or of the last one


@dataclass(frozen=True)
class Difference:
    """Where two traces first differ."""

    play: int                       # index of the seed
    step: int                       # 0: reset
    array: str                      # "observation", "reward", "terminated", "truncated", ...
    agent: str = ""
    element: int | None = None
    one: object = None
    other: object = None


@dataclass(frozen=True)
class Compared:
    """A trace against the first one; `way` is one of traces.WAYS."""

    way: str
    difference: Difference | None
    steps: int


@dataclass(frozen=True)
class Chance:
    """Where random numbers come from, as far as it can be seen.

    owned       the environment's own generators that are drawn from, and begin alike whatever the
                seed is: attributes
    shared      those of the whole process: "numpy.random", "random"
    constant    calls that made a generator with a constant seed while it was played
    unseeded    reset(seed) leaves np_random as it was: "none", "same" or ""
    alike       openings of resets without a seed: how many, and how many different ones
    varied      openings of as many seeds: how many different ones
    """

    owned: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    constant: int = 0
    unseeded: str = ""
    alike: tuple[int, int] = (0, 0)
    varied: int = 0


@dataclass(frozen=True)
class Effect:
    """Plays in which one value of a head is replaced by another.

    head        -1: the whole action of one agent
    value, other    None: the whole head, replaced by other values
    moments     replaced actions without any difference
    """

    head: int
    value: int | None
    other: int | None
    moments: int
    differs: bool
    agent: str = ""
    array: str = ""                 # that differs


@dataclass
class PythonFacts:
    """All of it."""

    shape: Shape | None = None
    oddities: dict[tuple[str, str, str], Oddity] = field(default_factory=dict)
    raised: list[Raised] = field(default_factory=list)
    died: list[Died] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    play: Play | None = None
    long: Long | None = None
    compared: dict[str, Compared] = field(default_factory=dict)
    chance: Chance | None = None
    effects: list[Effect] = field(default_factory=list)
    seed: int = 42

    def add(self, fact: object) -> None:
        """Put one fact where judgements look for it."""
        if isinstance(fact, Oddity):
            key = (fact.kind, fact.what, fact.when)
            if key in self.oddities:
                self.oddities[key].count += fact.count
            else:
                self.oddities[key] = fact
        elif isinstance(fact, Done):
            self.done[fact.experiment] = fact.steps
        elif isinstance(fact, Skipped):
            self.skipped[fact.experiment] = fact.why
        elif isinstance(fact, Compared):
            self.compared[fact.way] = fact
        elif isinstance(fact, Raised):
            self.raised.append(fact)
        elif isinstance(fact, Died):
            self.died.append(fact)
        elif isinstance(fact, Effect):
            self.effects.append(fact)
        else:
            name = {Shape: "shape", Play: "play", Long: "long", Chance: "chance"}[type(fact)]
            setattr(self, name, fact)

    @property
    def may_live_twice(self) -> bool:
        """Whether a second instance was made beside the first: other processes may make theirs."""
        return "opening" in self.done and self.shape is not None and not self.shape.alone

    def at(self, name: str) -> FileLine:
        """file= and line= of one of the environment's functions, to spread into a Finding."""
        place = self.shape.places.get(name) or self.shape.places.get("class") \
            if self.shape else None
        return {"file": place.file, "line": place.line} if place else {}
