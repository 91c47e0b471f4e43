"""Values that vec.set() gives copies at their next reset.  env, World -> attributes and options"""
from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from random import Random
from types import CodeType
from typing import Any

from ....base.errors import UsageError, did_you_mean, nearest
from ....settings.world_values import Drawn, Plain
from ..interfaces import Value

World = Mapping[str, "Plain | Drawn"]


class Options(dict[str, Any]):
    """reset()'s options, which remember what was read."""

    def __init__(self, values: Mapping[str, Plain]):
        super().__init__(values)
        self.read: set[object] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.read.add(name)
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        return super().get(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        self.read.add(name)
        return super().pop(name, *default)

    def __iter__(self) -> Iterator[str]:        # also of dict(options), items() and **options
        for name in super().__iter__():
            self.read.add(name)
            yield name

    def keys(self) -> Any:
        return list(self)

    def items(self) -> Any:
        return [(name, self[name]) for name in self]


def holder_of(env: Value, name: str) -> Value | None:
    """The wrapper, or the environment itself, that has a plain, public attribute of this name."""
    while env is not None and not name.startswith("_"):
        if (name in getattr(env, "__dict__", {}) or hasattr(type(env), name)) \
                and not callable(getattr(env, name, None)):
            return env
        env = getattr(env, "env", None) or getattr(env, "aec_env", None)
    return None


def check_name(env: Value, name: str) -> None:
    """Raises UsageError where no reset of this environment can know the name."""
    inner: Any = getattr(env, "unwrapped", env)
    if holder_of(env, name) is None:
        reset = inspect.unwrap(type(inner).reset)
        known = sorted(each for each in {*vars(inner), *vars(type(inner))} if each[0] != "_"
                       and not callable(getattr(inner, each, None)))
        takes = inspect.signature(reset).parameters
        may = "options" in takes or any(each.kind is each.VAR_KEYWORD for each in takes.values())
        likely = name.startswith("_") or nearest(name, known)       # a private or a misspelt one
        if not may or (likely and name not in _texts(reset.__code__)):
            raise _unknown(inner, name, known)


def _unknown(env: Value, name: str, known: list[str]) -> UsageError:
    return UsageError(f"the environment has no '{name}' that a reset would read",
                      where=type(env).__name__, expected="an attribute, or an entry of reset()'s "
                      "options", actual=f"'{name}'", hint=did_you_mean(name, known))


def _texts(code: CodeType) -> Iterator[str]:
    for each in code.co_consts:
        if isinstance(each, str):
            yield each
        elif isinstance(each, CodeType):
            yield from _texts(each)


class ResetValues:
    """What the copies of one lane are given at their resets.

    worlds      by a copy's number: all that was set there
    waiting     those that were not reset since
    """

    def __init__(self, worlds: Mapping[int, World]):
        self.worlds = dict(worlds)
        self.waiting, self.count = set(worlds), dict.fromkeys(worlds, 0)
        self.sent: Options | None = None

    def set(self, number: int, world: World) -> None:
        self.worlds[number] = world
        self.waiting.add(number)
        self.count.setdefault(number, 0)

    def begin(self, number: int, env: Value, seed: int) -> Options | None:
        """Set attributes; the options of the reset that follows, or None where nothing was set."""
        world = self.worlds.get(number)
        if not world:
            return None
        self.count[number] += 1
        dice = Random(seed << 32 | self.count[number])
        values = {name: value.draw(dice) if isinstance(value, Drawn) else value
                  for name, value in world.items()}
        for name, value in values.items():
            if (holder := holder_of(env, name)) is not None:
                setattr(holder, name, value)
        self.waiting.discard(number)
        return Options(values)

    @staticmethod
    def check_read(env: Value, options: Options | None) -> None:
        """After the reset. Raises UsageError where it has read nothing of a name."""
        if options is None:
            return
        for name in set(dict.keys(options)) - options.read:
            if holder_of(env, name) is None:
                inner = getattr(env, "unwrapped", env)
                raise _unknown(inner, name, sorted(each for each in vars(inner) if each[0] != "_"))
