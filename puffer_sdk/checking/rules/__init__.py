"""The rules. One small function each: Facts in, Findings out; its docstring is its page.

    @rule("PUF312", "reward-not-finite")
    def reward_not_finite(facts):
        '''What it means. Why it ruins training. A bad and a good example. The fix.'''
        yield Finding("PUF312", "...")

A rule that could not look, because what it needs did not happen, calls `not_tested`.
"""
from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from ..facts import Facts
from ..finding import Finding

MODULES = ("contract", "code", "memory", "allocations", "survival", "observations", "values",
           "rewards", "episodes", "logs", "actions", "determinism", "settings", "secrets", "speed",
           "learning")
RULES: dict[str, Rule] = {}


@dataclass(frozen=True)
class Rule:
    """A rule's code, name, severity and function."""

    code: str
    name: str
    severity: str
    function: Callable[[Facts], Iterator[Finding]]
    option: str = ""            # of the command line, without which the rule is not asked for

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
    """Raised by a rule that could not look; the text says why."""


def rule(code: str, name: str, severity: str = "error", *, option: str = ""):
    """Decorator: registers a rule."""
    def register(function):
        RULES[code] = Rule(code, name, severity, function, option)
        return function
    return register


@cache
def load() -> dict[str, Rule]:
    """All rules by code, in order of their codes."""
    for module in MODULES:
        import_module(f".{module}", __name__)
    return dict(sorted(RULES.items()))


def asked(facts: Facts) -> dict[str, Rule]:
    """The rules that this check is about: those behind an option only where it was given."""
    return {code: rule for code, rule in load().items()
            if not rule.option or rule.option in facts.options}


def need(facts: Facts, *experiments: str) -> None:
    """Raises NotTested unless all of these experiments came to their end."""
    for name in experiments:
        if facts.outcome(name) is None:
            raise NotTested(facts.skipped.get(name, f"the environment did not survive '{name}'"
                                              if name in facts.outcomes else
                                              "the environment did not survive its first steps"))
