"""[worlds] of an ini: what changes of [env] while one trains.  its keys and texts -> faults"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..base.errors import UsageError, did_you_mean
from . import world_values
from .values import Given


def refuse(name: str, text: str, where: str, *, python: bool) -> UsageError | None:
    """What is wrong with the value of a key, if anything is."""
    try:
        _ = text and world_values.parse_stages(text, python=python)
    except ValueError as error:
        return UsageError(f"[worlds] {name} cannot be '{text}'", where=where,
                          expected=world_values.EXPECTED, actual=str(error))
    return None


def unknown(given: Mapping[str, Given], exists: Callable[[str], bool],
            names: Callable[[], Sequence[str]]) -> list[UsageError]:
    """Of all keys that were given, by their full names: those of [worlds] that [env] lacks."""
    found = [full.partition(".")[2] for full in given if full.startswith("worlds.")]
    return [UsageError(f"[worlds] names '{name}', which is no setting of the environment",
                       where=given[f"worlds.{name}"].where, expected="a key of [env]",
                       actual=f"'{name}'", hint=did_you_mean(name, names()))
            for name in found if not exists(name)]
