"""Resolved settings.  values that somebody gave -> Config, with the reason of every value

    config.train.learning_rate      0.01
    config.env["size"]              11.0
    config.origin["train.gamma"]    "squared.ini:14"
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from ..base.errors import UsageError
from ..base.sealed import Fixed
from . import table
from .automatic import CHOSEN, agents_per_env, choose
from .table import AUTO, EFFECTIVE, KEYS, SECTIONS, Base, Check, Eval, Policy, Selfplay, Train, Vec
from .texts import EnvText, show, show_literal

COMMAND_LINE = "command line"


@dataclass(frozen=True)
class Given:
    """A value somebody wrote."""

    value: object
    origin: str     # "squared.ini:14" or "command line": what Config.origin says
    where: str      # "squared/squared.ini:14" or "command line, --train.gamma": what an error says
    key: str        # the name they used, which may be an alias


class FrozenDict(dict[str, Any]):
    """A dict that nobody changes: settings are passed around, and pickled to workers."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise Fixed("settings are fixed once resolved: changing them here would do nothing",
                    hint=self.instead)

    instead = 'give them where they are resolved: configure("my_env", {"env.size": 9})'

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


@dataclass(frozen=True)
class Config:
    """Resolved settings. Immutable; to_ini() and resolve() are each other's inverse."""

    base: Base
    vec: Vec
    policy: Policy
    train: Train
    eval: Eval
    check: Check
    selfplay: Selfplay
    env: Mapping[str, Any] = field(default_factory=FrozenDict)      # numbers; of Python: keywords
    origin: Mapping[str, str] = field(default_factory=FrozenDict)   # 'train.gamma' -> where from
    worlds: Mapping[str, str] = field(default_factory=FrozenDict)   # what changes of [env]
    skipped: Mapping[str, str] = field(default_factory=FrozenDict, compare=False)
    #         keys of the ini that have no effect -> where they stand

    def __post_init__(self) -> None:
        for name in ("env", "origin", "worlds", "skipped"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))

    @property
    def of_python(self) -> bool:
        """Whether the environment is a Python one: [env] holds keywords of any type."""
        return ":" in self.base.env_name

    def __getitem__(self, full: str) -> object:
        """config['train.gamma']"""
        section, _, name = full.partition(".")
        if section in ("env", "worlds"):
            found: object = getattr(self, section)[name]
            return found
        return getattr(getattr(self, section), KEYS[full].field)

    def items(self) -> list[tuple[str, object]]:
        """Every setting that has an effect, [env] included, as ('train.gamma', 0.99)."""
        rows: list[tuple[str, object]] = []
        for section in (EFFECTIVE[0], "env", "worlds", *EFFECTIVE[1:]):
            if section in ("env", "worlds"):
                rows += [(f"{section}.{name}", value)
                         for name, value in getattr(self, section).items()]
            else:
                rows += [(key.full, self[key.full]) for key in table.used_keys(section)]
        return rows

    def with_auto(self, full: str, value: object, reason: str) -> Config:
        """The same with one value chosen by us, and why."""
        return _with_value(self, full, value, f"auto: {reason}")

    def to_dict(self) -> dict[str, dict[str, object]]:
        """JSON-able; from_dict is the way back."""
        tree: dict[str, dict[str, object]] = {}
        for full, value in self.items():
            section, _, name = full.partition(".")
            tree.setdefault(section, {})[name] = value
        env = {name: value.text if isinstance(value, EnvText) else value
               for name, value in self.env.items()}
        return {**tree, "env": env, "origin": dict(self.origin)}

    @classmethod
    def from_dict(cls, tree: Mapping[str, Mapping[str, object]]) -> Config:
        """A Config from to_dict's form; keys it lacks take their defaults.

        Raises UsageError on a key or a value that this version does not know.
        """
        config = complete({}, {})
        for section in EFFECTIVE:
            values = {}
            for name, value in tree.get(section, {}).items():
                key = KEYS.get(f"{section}.{name}")
                if key and key.status == table.ALIAS:       # its name when they were saved
                    key = KEYS[key.target]
                try:
                    values[key.field if key else name] = (table.parse(key, show(value))
                                                          if key else None)
                except ValueError:
                    key = None
                if key is None or key.status != table.USED:
                    raise UsageError("saved settings contain a key that this version does not know",
                                     where=f"[{section}] {name}",
                                     expected=key.expected if key else "a known setting",
                                     actual=show(value))
            config = replace(config, **{section: SECTIONS[section](**{
                **{key.field: config[key.full] for key in table.used_keys(section)},
                **values})})
        env = dict(tree.get("env", {}))
        if not config.of_python:
            env = {name: EnvText(value) if isinstance(value, str) else value
                   for name, value in env.items()}
        worlds = {name: str(text) for name, text in tree.get("worlds", {}).items()}
        return replace(config, env=env, worlds=worlds,
                       origin={**config.origin, **{full: str(origin) for full, origin in
                                                   tree.get("origin", {}).items()}})

    def to_ini(self) -> str:
        """All settings, one a line; above each automatic value its reason."""
        lines: list[str] = []
        section = None
        for full, value in self.items():
            head, _, name = full.partition(".")
            if head != section:
                lines += [""] * bool(lines) + [f"[{head}]"]
                section = head
            origin = self.origin.get(full, "")
            if origin.startswith("auto: "):
                lines.append(f"# {origin}")
            text = show_literal(value) if head == "env" and self.of_python else show(value)
            lines.append(f"{name} = {text}".rstrip())
        return "\n".join(lines) + "\n"


def _with_value(config: Config, full: str, value: object, origin: str) -> Config:
    section, field = full.partition(".")[0], KEYS[full].field
    return replace(config, **{section: replace(getattr(config, section), **{field: value})},
                   origin={**config.origin, full: origin})


def complete(given: Mapping[str, Given], env: Mapping[str, object], *, env_name: str = "",
             skipped: Mapping[str, str] | None = None, rows: int = 0) -> Config:
    """These values; defaults where nothing was given; then the values that depend on others.

    given       full key -> value; those of [env] give only its origin
    env_name    the name to use where none is given
    skipped     as in Config
    rows        agents of one environment; 0: as [env] says
    """
    chosen: dict[str, Any] = {}
    origin = {full: value.origin for full, value in given.items()
              if full.startswith(("env.", "worlds."))}
    worlds = {full.partition(".")[2]: str(value.value) for full, value in given.items()
              if full.startswith("worlds.")}
    for key in table.used_keys():
        mine = given.get(key.full)
        chosen[key.full] = mine.value if mine else key.default
        origin[key.full] = mine.origin if mine else "default"
    chosen["base.env_name"] = chosen["base.env_name"] or env_name
    for full in CHOSEN:         # in this order: each may read those before it
        if chosen[full] != AUTO:
            continue
        value, reason = choose(full, chosen, rows or agents_per_env(env))
        why = f"{origin[full]}: " if origin[full].startswith("auto: ") else "auto: "
        chosen[full], origin[full] = value, why + reason
    parts = {section: SECTIONS[section](**{key.field: chosen[key.full]
                                           for key in table.used_keys(section)})
             for section in EFFECTIVE}
    return Config(**parts, env=env, origin=origin, worlds=worlds, skipped=skipped or {})
