"""What experiments found about an environment: plan.py fills Facts, and the rules read them."""
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base.errors import PufferError
from ...base.spec import Spec
from ...env.obs_spec import ObsSpec, named, title
from ...env.syntax import Node
from ...settings.values import Config
from ..collect.c.frames import Fault
from ..collect.c.source.functions import Function
from ..collect.c.source.layout import Layout
from ..collect.c.source.model import Source
from ..collect.c.source.sites import Site
from .fact_kinds import ShapeFact, SiteFact
from .finding import Elements, FileLine, limits, span
from .kinds import Fact, FactError
from .memory_bound import MEMORY
from .statistics import Statistics

# experiments that put values into the env's memory which it never has: it may stumble over them
STRANGE = ("rewrite", "columns")
TOLD = 1 << 15          # elements that are reported one by one
K = TypeVar("K", bound=Fact)
Trace = NDArray[np.uint64]      # hashes of rows: (steps + 1, envs)
REPEATS = 4             # blocks at equal distances that are one pattern
MANY = 8                # ranges of elements that are listed one by one


@dataclass
class Outcome:
    """What one experiment's process wrote, and how it ended."""

    name: str
    facts: list[Fact]
    ended: bool                 # it reached its end
    signal: int = 0             # that killed it before the harness could write a fact
    timed_out: bool = False
    computed: float = 0.0       # seconds; the last tenth may be missing
    exceeded: bool = False      # it was ended because of its memory
    stderr: str = ""
    sanitizer: str = ""         # what AddressSanitizer and UndefinedBehaviorSanitizer wrote

    def all(self, kind: type[K]) -> list[K]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    def first(self, kind: type[K]) -> K | None:
        return next(iter(self.all(kind)), None)


@dataclass
class Difference:
    """Where two traces differ: the first step at which an env's rows differ."""

    env: int
    step: int
    array: str
    agent: int
    element: int | None
    one: object
    other: object
    # of the env struct at that step: (path, one value, the other); None = not known
    fields: list[tuple[str, object, object]] | None = None


class Learning(TypedDict, total=False):
    """What learning_probe.py found. One of three: why it was skipped; what was not finite, from
    "nan" on; the others."""

    skipped: str
    nan: str                        # in words
    step: int
    row: int
    element: int                    # -1: a reward
    value: str | None               # None: not the env's
    steps: int
    unit: str                       # of the scores: "return per episode"
    masked: bool
    scores: dict[str, list[float]]  # of each player, of each env


@dataclass
class Variant:
    """A short play under another value of one [env] key."""

    key: str | None             # None: as the ini has it, for comparison
    value: float
    outcome: Outcome
    trace: Trace | None         # hashes, if it came to its end


class Setup(NamedTuple):
    """How an experiment was run."""

    experiment: str = ""
    envs: int = 1
    steps: int | None = None
    uneven: int = 0


@dataclass
class Facts:
    """Everything that rules can look at."""

    folder: Path
    spec: Spec | None       # None: the header could not be read
    config: Config
    problems: list[PufferError]
    source: Source
    seed: int
    probed: ShapeFact | None = None                         # None: nothing was run
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    traces: dict[str, Trace] = field(default_factory=dict)     # (steps + 1, envs) hashes
    differences: dict[str, Difference] = field(default_factory=dict)    # from trace-base
    build_differences: dict[str, Difference] = field(default_factory=dict)  # other builds, threads
    setups: dict[str, Setup] = field(default_factory=dict)  # by experiment
    skipped: dict[str, str] = field(default_factory=dict)   # experiment -> why it did not run
    row: ObsSpec = ObsSpec(0)                               # names and bounds of observations
    statistics: Statistics | None = None                    # of the long run
    variants: list[Variant] = field(default_factory=list)   # other settings: see variants.py
    without_effect: list[str] = field(default_factory=list)     # [env] keys, after many values
    lines: dict[str, dict[int, int]] = field(default_factory=dict)  # file -> line -> times reached
    functions: dict[str, list[tuple[str, int]]] = field(default_factory=dict)   # its (file, line)s
    options: frozenset[str] = frozenset()                   # that were asked for: "--learn"
    learning: Learning | None = None
    deep: dict[str, str] = field(default_factory=dict)      # tool of --deep -> what it did
    deep_faults: list[Fault] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)   # the author's, by name
    sites: list[Site] = field(default_factory=list)         # whose numbers `audit` counts
    beginnings: list[str] = field(default_factory=list)     # functions that begin an episode, too
    memory: int = MEMORY                                    # bytes that all experiments may use

    @property
    def shape(self) -> ShapeFact:
        """What the probe found. Raises FactError where nothing was run."""
        if self.probed is None:
            raise FactError("the environment was not run: its shape is not known")
        return self.probed

    @shape.setter
    def shape(self, found: ShapeFact) -> None:
        self.probed = found

    @property
    def known_spec(self) -> Spec:
        """What the header states. Raises FactError where it could not be read."""
        if self.spec is None:
            raise FactError("the header could not be read")
        return self.spec

    @property
    def exceeded(self) -> bool:
        """Whether experiments were ended because they used more memory than that."""
        return any(outcome.exceeded for outcome in self.outcomes.values())

    @property
    def handwritten(self) -> bool:
        """An Ocean binding: PufferLib's own loop forgives what ours does not."""
        return bool(self.spec and self.spec.binding)

    @property
    def has_rng(self) -> bool:
        """Whether a seed reaches the env's rng: a my_vec_init may do without one."""
        return not self.spec or self.spec.has_rng

    @property
    def moved(self) -> bool | None:
        """Whether a play differs where clocks run that stood still; None: no two were played."""
        base, other = map(self.traces.get, ("trace-base", "trace-moved"))
        return None if base is None or other is None else not np.array_equal(base, other)

    @property
    def agents(self) -> int:
        """The smallest total that the env accepts; 1 before the probe ends."""
        return self.probed.agents if self.probed else 1

    @property
    def told_agents(self) -> int:
        """Agents of an env whose elements are reported one by one. In a crowd, agent i is counted
        together with agent i % told_agents."""
        return max(1, min(self.shape.env_agents, TOLD // self.shape.obs_size))

    def outcome(self, name: str) -> Outcome | None:
        """An experiment that came to its end, or None."""
        found = self.outcomes.get(name)
        return found if found and found.ended else None

    def fact(self, experiment: str, kind: type[K]) -> K | None:
        return next(iter(self.all(experiment, kind)), None)

    def always(self, experiment: str, kind: type[K]) -> K:
        """A fact that the experiment writes whenever it comes to its end. Raises FactError where
        it has not."""
        found = self.fact(experiment, kind)
        if found is None:
            raise FactError(f"the experiment '{experiment}' wrote no {kind.__name__}")
        return found

    def all(self, experiment: str, kind: type[K]) -> list[K]:
        found = self.outcomes.get(experiment)
        return found.all(kind) if found else []

    def counted(self, kind: str, goes: str) -> Iterator[tuple[Site, SiteFact]]:
        """The sites of one kind whose numbers go there, with what was counted."""
        for fact in self.all("audit", SiteFact):
            site = self.sites[fact.site] if fact.site < len(self.sites) else None
            if site and (site.kind, site.goes) == (kind, goes):
                yield site, fact

    def experiment_of(self, fact: Fact) -> str:
        """The experiment that this very fact comes from."""
        return next((name for name, outcome in self.outcomes.items()
                     if any(fact is other for other in outcome.facts)), "")

    def at(self, function: str) -> FileLine:
        """file= and line= of one of the env's functions, to spread into a Finding."""
        place = self.spec.functions.get(function) if self.spec else None
        return {"file": place[0], "line": place[1]} if place else {}

    def at_call(self, name: str) -> FileLine:
        """Of the first call of that function in what c_step runs; of c_step, where not just one
        function has it."""
        return self._one((function, node) for function in self.source.stepping()
                         for node in function.nodes if node.kind == "call" and node.name == name)

    def at_store(self, field: str) -> FileLine:
        """Likewise, of the first store to a field of that name, or to its elements."""
        return self._one((function, node) for function in self.source.stepping()
                         for node in function.nodes if node.writes and any(
                             inner.kind == "member" and inner.name == field
                             for inner in node.children[0].walk()))

    def at_row(self, array: str) -> FileLine:
        """Likewise, of the first read of an action, or of the first store to a row of another array
        that does not clear it."""
        source = self.source
        if array == "actions":
            return self._one((function, node) for function in source.stepping()
                             for node in function.nodes if node.kind == "index"
                             and source.leads_to(function, node, array))
        return self._one((function, target) for function in source.stepping()
                         for target, value in source.stores(function, array)
                         if value.bare().value != 0 and value.bare().op != "=")

    def _one(self, found: Iterable[tuple[Function, Node]]) -> FileLine:
        lines: dict[str, list[tuple[str, int]]] = {}
        for function, node in found:
            lines.setdefault(function.name, []).append((function.file, node.line))
        if len(lines) != 1:
            return self.at("c_step")
        file, line = min(next(iter(lines.values())))
        return {"file": file, "line": line}

    def called(self, element: int | Elements) -> str:
        """Elements of the observation by their OBS_ name, where it is theirs: "OBS_SPEED"."""
        first, last = limits(element)
        if element != span(first, last):
            until, stride = getattr(element, "pattern", None) or (0, self.shape.obs_size)
            bounds = [f"from {first}"] * (first >= stride) + \
                [f"up to {until}"] * (until + stride < self.shape.obs_size)
            return f"elements {element}" + (f", {' '.join(bounds)}," if bounds else "")
        part = next((part for part in self.row.parts
                     if part.name and part.first <= first and last <= part.last), None)
        if part is None:
            return elements(first, last)
        return part.name if (part.first, part.last) == (first, last) else \
            f"{elements(first, last)} ({part.name})"

    def titled(self, element: int | Elements) -> str:
        """Elements of the observation by name and place: "OBS_FUEL (element 3)"."""
        first, last = limits(element)
        if element != span(first, last):
            return f"{self.called(element)} of the observation"
        return title(self.row.parts, first, last)

    def at_element(self, element: int) -> FileLine:
        """The line of the enumerator that names an element; {} where none does."""
        part = named(self.row.parts, element)
        return {"file": part.file, "line": part.line} if part else {}

    def beside(self, site: Site) -> tuple[tuple[str, int], ...]:
        """Where the element or the field is declared that a site's number is stored to."""
        part = None if site.element is None else named(self.row.parts, site.element)
        fields = [(self.known_spec.header.name, field.line) for field in self.known_spec.fields
                  if field.name == site.field]
        return (*fields, *([(part.file, part.line)] if part else []))

    def column_at(self, name: str) -> tuple[tuple[str, int], ...]:
        """(file, line) of the declaration of a field of Log."""
        spec = self.known_spec
        return tuple((spec.header.name, field.line) for field in spec.log_fields
                     if field.name == name)

    def reached(self, function: Function, node: Node) -> bool:
        """Whether a play reached a line of the author's."""
        return bool(self.lines.get(function.file, {}).get(node.line))

    @cached_property
    def layout(self) -> Layout | None:
        """Where each scalar of the env struct lies; None where that could not be read."""
        return self.source.layout if self.spec else None

    def field_at(self, word: list[int]) -> str | None:
        """The field that holds a word of the state, as an author would write it: "wall[2].x".

        word    [byte of the struct where the pointer to its block lies or -1, byte offset]
        """
        pointer, offset = word
        layout = self.layout
        if layout is not None and pointer >= 0:
            layout = layout.pointees.get(layout.path_at(pointer) or "")
        return layout.path_at(offset) if layout else None

    def is_address(self, field: str) -> bool:
        """Whether the env struct's field of this path is a pointer."""
        found = self.layout.find(field) if self.layout else None
        return found is not None and "*" in found.type

    def at_macro(self, name: str) -> FileLine:
        place = self.spec.macro_lines.get(name) if self.spec else None
        return {"file": place[0], "line": place[1]} if place else {}


def ranges(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Consecutive numbers as (first, last) pairs."""
    found: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    yield from found


def repeated(numbers: Iterable[int]) -> Elements | None:
    """Blocks of one size that come back at equal distances, as one: "1-2 of each 3"; a few may be
    missing."""
    pairs = list(ranges(numbers))
    starts, sizes = [first for first, _ in pairs], {last - first for first, last in pairs}
    if len(pairs) >= REPEATS and len(sizes) == 1:
        stride = math.gcd(*(start - starts[0] for start in starts))
        if 2 * len(pairs) > (starts[-1] - starts[0]) // stride:
            first = starts[0] % stride
            return Elements(*pairs[0], f"{span(first, first + sizes.pop())} of each {stride}",
                            (pairs[-1][1], stride))
    return None


def as_one(numbers: Iterable[int]) -> int | Elements:
    """Numbers as the elements of one finding: "2, 5-6", "1-2 of each 3", "2, 5, 11 and 40 more"."""
    pairs = list(ranges(numbers))
    if len(pairs) == 1:
        return span(*pairs[0])
    shown = pairs[:3] if len(pairs) > MANY else pairs
    text = ", ".join(str(span(*pair)) for pair in shown)
    more = len(pairs) - len(shown)
    return repeated(numbers) or Elements(*pairs[0], text + (f" and {more} more" if more else ""))


def gathered(numbers: Iterable[int]) -> list[tuple[int | Elements, list[int]]]:
    """Numbers as the elements of findings, each with its numbers. What comes back at equal
    distances, and more than MANY ranges, are one: "2, 5-6, 11 and 40 more"."""
    pairs = list(ranges(numbers))
    if repeated(numbers) is not None or len(pairs) > MANY:
        return [(as_one(numbers), sorted(set(numbers)))]
    return [(span(*pair), list(range(pair[0], pair[1] + 1))) for pair in pairs]


def together(found: list[int | Elements]) -> list[int | Elements]:
    """Elements of findings that are alike, in order: as they are, or one where that is gathered."""
    numbers = [each for first, last in map(limits, found) for each in range(first, last + 1)]
    one = blocks(numbers)
    return one if len(one) == 1 and len(found) > 1 and one[0] != span(*limits(one[0])) else found


def blocks(numbers: Iterable[int]) -> list[int | Elements]:
    """Numbers as the elements of findings: gathered, without their numbers."""
    return [element for element, _ in gathered(numbers)]


def elements(first: int, last: int) -> str:
    return f"element {first}" if first == last else f"elements {first}-{last}"
