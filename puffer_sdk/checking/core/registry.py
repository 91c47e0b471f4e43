"""The rules by their codes, and what detects their faults.  modules of rules/ -> load()

    @rule("PUF312", "reward-not-finite", proof=Proof("finite", "rewards"))
    def reward_not_finite(facts):
        '''What it means. Why it ruins training. A bad and a good example. The fix.'''
        yield Finding("PUF312", "...")

A rule whose faults are seen in several ways is a family: its function has the page only, and each
way is a detector, a function in a file of its own.

    @family("PUF302", "obs-stale", proof=Proof("written", "observations"))
    def obs_stale():
        '''The page.'''

    @detector("PUF302", "left-by-reset")
    def left_by_reset(facts):
        '''What it looks for, in a sentence.'''
        yield Finding("PUF302", "...")
"""
from __future__ import annotations

import inspect
import pkgutil
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, wraps
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import msgspec

from ...base import paths
from .. import rules
from ..fix.edits import Fix
from .fact_kinds import CrashFact
from .facts import Facts, K
from .finding import Finding
from .repro_spec import Proof

FixFunction = Callable[[list[Finding], Mapping[str, str]], Iterator[Fix]]
Look = Callable[[Facts], Iterator[Finding]]
Looks = TypeVar("Looks", bound=Look)
Page = TypeVar("Page", bound=Callable[..., object])    # its docstring is the page
_rules: dict[str, Rule] = {}
_detectors: dict[str, dict[str, Detector]] = {}     # code -> by name
PREVIEW = "--preview"       # the option, and the level of detectors that need it
STABLE = "stable"
Found = TypeVar("Found")


@dataclass(frozen=True)
class Detector:
    """One way to see one kind of fault."""

    name: str
    code: str
    function: Look
    level: str                  # STABLE, or PREVIEW: runs only with that option
    unless: tuple[str, ...]     # names of detectors of this rule whose findings say more

    @property
    def summary(self) -> str:
        return _first_sentence(inspect.cleandoc(self.function.__doc__ or ""))

    @property
    def rate(self) -> Rate:
        """What it found of the faults in games that it had not been shown."""
        return rates().get(f"{self.code}/{self.name}", Rate())


@dataclass(frozen=True)
class Rate:
    """What a detector found of the faults in games whose authors knew no rule, before anything was
    changed because of these games."""

    found: int = 0              # of its kind
    missed: tuple[str, ...] = ()        # described

    @property
    def faults(self) -> int:
        """All of its kind."""
        return self.found + len(self.missed)

    def __str__(self) -> str:
        return f"{self.found} of {self.faults}" if self.faults else "unknown"


@cache
def rates() -> dict[str, Rate]:
    """rules/rates.json, which `benchmarks/bench_check.py --rates` writes."""
    text = paths.content(Path(rules.__path__[0]) / "rates.json")
    return msgspec.json.decode(text, type=dict[str, Rate])


@dataclass(frozen=True)
class Rule:
    """What all faults of one code have in common."""

    code: str
    name: str
    severity: str               # of its findings that do not say otherwise
    page: str                   # what `puffer-sdk explain CODE` shows
    static: bool                # looks at the source only, so it is tested where nothing runs
    timed: bool                 # depends on the clock: two runs may differ
    option: str                 # of the command line, without which the rule is not tested
    proof: Proof | None         # how a repro program shows its faults
    fix: FixFunction | None     # what `--fix` does: findings, texts of files -> fixes

    @property
    def summary(self) -> str:
        """The page's first sentence, on one line."""
        return _first_sentence(self.page)

    @property
    def detectors(self) -> tuple[Detector, ...]:
        """In order of their names."""
        return tuple(each for _, each in sorted(_detectors[self.code].items()))

    @property
    def is_family(self) -> bool:
        """Whether its detectors have names of their own."""
        return [each.name for each in self.detectors] != [self.name]

    def look(self, facts: Facts) -> Iterator[Finding]:
        """The findings of all detectors that were asked for; each names its detector.

        Raises NotTested after the others' findings where one of them could not look.
        """
        found: dict[str, list[Finding]] = {}
        reasons: list[NotTested] = []
        asked = {each.name: each for each in self.detectors if is_requested(each, facts)}

        def ask(one: Detector) -> list[Finding]:
            if one.name in found:
                return found[one.name]
            found[one.name] = []
            if not any([ask(asked[name]) for name in one.unless if name in asked]):
                try:
                    for finding in one.function(facts):
                        finding.detector = one.name
                        found[one.name].append(finding)
                except NotTested as reason:
                    reasons.append(reason)
            return found[one.name]

        for one in asked.values():
            yield from ask(one)
        if reasons:
            raise reasons[0]


def _first_sentence(text: str) -> str:
    first = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?])\s", first)[0]


def is_requested(one: Detector, facts: Facts) -> bool:
    """Whether this check uses a detector."""
    return one.level == STABLE or one.level in facts.options


class NotTested(Exception):
    """Raised by a rule that could not look; the text says why.

    because     codes of rules: where one of them has a finding, that explains what this rule saw
    """

    def __init__(self, reason: str, *because: str):
        super().__init__(reason)
        self.because = because


def unless(cause: NotTested | None, findings: Iterator[Finding]) -> Iterator[Finding]:
    """The findings; or, where there are some and a cause that explains them, the cause is raised.

    A rule that has nothing to say was tested, whatever else is wrong.
    """
    if cause is None:
        yield from findings
    elif any(True for _ in findings):
        raise cause


def explained_by(*causes: Callable[[Facts], NotTested | None]) -> Callable[[Look], Look]:
    """Decorator below @rule or @detector: where the function has findings, the first cause that
    explains them is raised in their place."""
    def wrap(function: Look) -> Look:
        @wraps(function)
        def look(facts: Facts) -> Iterator[Finding]:
            found = (cause(facts) for cause in causes)
            return unless(next((each for each in found if each), None), function(facts))
        return look
    return wrap


def reasons(not_tested: Mapping[str, NotTested], findings: list[Finding]
            ) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Why rules were not tested, and which ones because of findings: {rule: their codes}."""
    found, texts, explained = {finding.code for finding in findings}, {}, {}
    for code, why in sorted(not_tested.items()):
        causes = [cause for cause in why.because if cause in found]
        texts[code] = f"{why} ({', '.join(causes)})" if causes else str(why)
        if causes:
            explained[code] = causes
    return texts, explained


def family(code: str, name: str, severity: str = "error", *, static: bool = False,
           timed: bool = False, option: str = "", proof: Proof | None = None,
           fix: FixFunction | None = None) -> Callable[[Page], Page]:
    """Decorator: registers a rule that has several detectors. Rule describes the arguments; the
    function's docstring is the page."""
    def register(function: Page) -> Page:
        _rules[code] = Rule(code, name, severity, inspect.cleandoc(function.__doc__ or ""), static,
                            timed, option, proof, fix)
        return function
    return register


def detector(code: str, name: str, level: str = STABLE, *, unless: tuple[str, ...] = ()
             ) -> Callable[[Looks], Looks]:
    """Decorator: registers a function as a detector of a rule. Detector describes the arguments."""
    def register(function: Looks) -> Looks:
        _detectors.setdefault(code, {})[name] = Detector(name, code, function, level, unless)
        return function
    return register


def rule(code: str, name: str, severity: str = "error", *, level: str = STABLE,
         static: bool = False, timed: bool = False, option: str = "", proof: Proof | None = None,
         fix: FixFunction | None = None) -> Callable[[Looks], Looks]:
    """Decorator: registers a function as a rule, and as its only detector, of the same name."""
    def register(function: Looks) -> Looks:
        page = family(code, name, severity, static=static, timed=timed, option=option, proof=proof,
                      fix=fix)
        return page(detector(code, name, level)(function))
    return register


@cache
def load() -> dict[str, Rule]:
    """All rules by code, in order of their codes: those of every module below rules/."""
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)
    return dict(sorted(_rules.items()))


def requested(facts: Facts) -> dict[str, Rule]:
    """The rules of this check: those whose option, if any, and some detector were asked for."""
    return {code: rule for code, rule in load().items()
            if (not rule.option or rule.option in facts.options)
            and any(is_requested(each, facts) for each in rule.detectors)}


def present(value: Found | None) -> Found:
    """What an experiment writes if it comes to its end. Raises NotTested where it is missing."""
    if value is None:
        raise NotTested("the environment did not survive")
    return value


def finds(detector: Look, facts: Facts) -> bool:
    """Whether a detector has a finding; not where it could not look."""
    try:
        return any(True for _ in detector(facts))
    except NotTested:
        return False


def needed(facts: Facts, experiment: str, kind: type[K]) -> K:
    """The fact that an experiment always writes. Raises NotTested where it did not come to its
    end."""
    need(facts, experiment)
    return present(facts.fact(experiment, kind))


DEADLY = ("PUF201", "PUF203", "PUF204", "PUF208", "PUF405")   # they end a process


def need(facts: Facts, *experiments: str) -> None:
    """Raises NotTested unless all of these experiments came to their end."""
    for name in experiments:
        if facts.outcome(name) is None:
            if name in facts.skipped:
                raise NotTested(facts.skipped[name])
            divided = any(fact.signal == signal.SIGFPE for fact in facts.all(name, CrashFact))
            raise NotTested("the environment did not survive",
                            *(("PUF206",) if facts.exceeded else
                              ("PUF202",) if divided else DEADLY))
