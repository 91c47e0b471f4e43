"""The rules by their codes.  @rule on a function of any module of rules/ -> load()

    @rule("PUF312", "reward-not-finite", proof=Proof("finite", "rewards"))
    def reward_not_finite(facts):
        '''What it means. Why it ruins training. A bad and a good example. The fix.'''
        yield Finding("PUF312", "...")
"""
from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from .. import rules
from ..fix.edits import Fix
from .facts import Facts
from .finding import Finding
from .repro_spec import Proof

FixFunction = Callable[[list[Finding], Mapping[str, str]], Iterator[Fix]]
_rules: dict[str, Rule] = {}


@dataclass(frozen=True)
class Rule:
    """Everything that there is to know of a rule."""

    code: str
    name: str
    severity: str               # of its findings that do not say otherwise
    function: Callable[[Facts], Iterator[Finding]]
    static: bool                # looks at the source only, so it is tested where nothing runs
    timed: bool                 # depends on the clock: two runs may differ
    option: str                 # of the command line, without which the rule is not tested
    proof: Proof | None         # how a repro program shows its faults
    fix: FixFunction | None     # what `--fix` does: findings, texts of files -> fixes

    @property
    def page(self) -> str:
        """What `puffer-sdk explain CODE` shows."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def summary(self) -> str:
        """The page's first sentence, on one line."""
        first = " ".join(self.page.partition("\n\n")[0].split())
        return re.split(r"(?<=[.!?])\s", first)[0]


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


def rule(code: str, name: str, severity: str = "error", *, static: bool = False,
         timed: bool = False, option: str = "", proof: Proof | None = None,
         fix: FixFunction | None = None):
    """Decorator: registers a function as a rule. Rule describes the arguments."""
    def register(function):
        _rules[code] = Rule(code, name, severity, function, static, timed, option, proof, fix)
        return function
    return register


@cache
def load() -> dict[str, Rule]:
    """All rules by code, in order of their codes: those of every module below rules/."""
    for module in pkgutil.walk_packages(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)
    return dict(sorted(_rules.items()))


def requested(facts: Facts) -> dict[str, Rule]:
    """The rules of this check: those that need an option only with it."""
    return {code: rule for code, rule in load().items()
            if not rule.option or rule.option in facts.options}


def need(facts: Facts, *experiments: str) -> None:
    """Raises NotTested unless all of these experiments came to their end."""
    for name in experiments:
        if facts.outcome(name) is None:
            raise NotTested(facts.skipped.get(name, f"the environment did not survive '{name}'"
                                              if name in facts.outcomes else
                                              "the environment did not survive its first steps"))
