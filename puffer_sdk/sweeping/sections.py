"""What the sections say.  [sweep] and [sweep.SECTION.KEY] of inis, options -> keys, rows, places

Names of settings are those of the table, its aliases and PufferLib's older ones.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base import ui
from ..base.errors import UsageError, did_you_mean
from ..base.spec import Spec
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from ..interop.python_envs.python_spec import PythonSpec
from ..settings import inifile, key_hints, table
from ..settings.texts import show
from ..settings.values import Config
from .space import Row, dimension


def read_inis(source: CompiledSource | PythonSource, resolved: Config, spec: Spec | PythonSpec,
              ) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, str]]:
    """([sweep] values, rows of the space, where each row stands) of the files that the settings
    come from."""
    ocean = source.lenient
    keys = {key.name: key.default for key in table.used_keys("sweep")}
    rows: dict[str, dict[str, Any]] = {}
    places: dict[str, str] = {}
    left: list[str] = []
    for path in (*source.own_inis(), *source.over):
        entries, sections, faults = inifile.read(path)
        inifile.raise_all(faults)
        for section, line in sections.items():
            if not section.startswith("sweep."):
                continue
            place = inifile.where(path, line)
            name = _full_name(section.removeprefix("sweep."), resolved, spec)
            if name is None:
                if not ocean:
                    raise _unknown(section.removeprefix("sweep."), place)
                left.append(f"[{section}]")
                continue
            row = {entry.key: entry.text for entry in entries if entry.section == section}
            rows[name] = _row(name, row, place, source)
            places[name] = place
        for entry in entries:
            if entry.section == "sweep":
                place = inifile.where(path, entry.line)
                if not _take(keys, entry.key, entry.text, place, ocean):
                    left.append(entry.key)
    if left:
        ui.warn_once(f"{inifile.where(path)}: without effect on a sweep here: " + ", ".join(left))
    return keys, rows, places


def read_options(asked: Mapping[str, str], keys: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(keys)
    for full, text in asked.items():
        name = full.removeprefix("sweep.")
        place = f"command line, --{full.replace('_', '-')}"
        if not _take(found, name, text, place, False):
            raise UsageError(f"--{full.replace('_', '-')} has no effect here", where=place,
                             hint="leave it out")
    return found


def _take(keys: dict[str, Any], name: str, text: str, place: str, ocean: bool) -> bool:
    """Store one key of [sweep]. False for one that has no effect here."""
    key = table.KEYS.get(f"sweep.{name}")
    if key is None and ocean:
        return False
    if key is None:
        own = [each.name for each in table.used_keys("sweep")]
        raise UsageError(f"[sweep] has no setting '{name}'", where=place,
                         expected="one of " + ", ".join(own), hint=did_you_mean(name, own))
    if key.status == table.IGNORED:
        return False
    if key.target:
        key = table.KEYS[key.target]
    text = text.lower() if key.choices else text
    try:
        keys[key.name] = table.parse(key, text, cut=ocean)
    except ValueError as error:
        raise UsageError(f"[sweep] {key.name} cannot be '{text}'", where=place,
                         expected=key.expected, actual=f"'{text}'",
                         hint=str(error) or None) from None
    return True


def _full_name(text: str, resolved: Config, spec: Spec | PythonSpec) -> str | None:
    """The setting that [sweep.TEXT] is about; None if there is none of that name."""
    section, _, name = text.partition(".")
    name = name.replace("-", "_")
    if section == "env":
        known = isinstance(spec, PythonSpec) or name in resolved.env or \
            name in [each.name for each in spec.settable]
        return f"env.{name}" if known else None
    full = key_hints.RENAMED.get(name, f"{section}.{name}")
    key = table.KEYS.get(full)
    if key is None or key.status == table.IGNORED or key.section == "sweep":
        return None
    return key.target or full


def _unknown(text: str, place: str) -> UsageError:
    section, _, name = text.partition(".")
    close = key_hints.meant(section, name)
    return UsageError(f"there is no setting '{text}'", where=place,
                      expected="[sweep.SECTION.KEY] of a setting",
                      hint=f"did you mean [sweep.{close.full}]?" if close else None)


def _row(name: str, texts: Mapping[str, str], place: str,
         source: CompiledSource | PythonSource) -> dict[str, Any]:
    """One description, with numbers for texts. PufferLib's `mean` and `scale` change nothing."""
    row: dict[str, Any] = {}
    key = table.KEYS.get(name)
    for word, text in texts.items():
        if word in ("mean", "scale") or (source.lenient and word == "search_center"):
            continue
        if word == "distribution":
            row[word] = text.lower()
        elif word == "choices":
            try:
                row[word] = [table.parse(key, each.strip()) if key else
                             source.read_value(each.strip())
                             for each in text.strip("()[]").split(",")]
            except ValueError:
                raise UsageError(f"[sweep.{name}] choices cannot be read", where=place,
                                 expected="values of the setting, with commas between",
                                 actual=f"'{text}'") from None
        else:
            row[word] = text.replace("_", "")
    if "choices" in row:
        row.setdefault("distribution", "choice")
    try:
        dimension(name, row)
    except UsageError as error:
        error.where = place
        raise
    if row["distribution"] != "choice":
        whole = key is not None and key.type in ("int", "bool")
        for word in ("min", "max"):
            row[word] = round(float(row[word])) if whole else float(row[word])
        if whole and row["distribution"] == "uniform":
            row["distribution"] = "int_uniform"
        if key is not None and key.type == "bool":
            row = {"distribution": "choice", "choices": [False, True]}
    return row


def check_bounds(name: str, row: Row, place: str | None, resolved: Config) -> None:
    """The ends of the range must be values that the setting can have, and a search begins with
    the value that it has."""
    key = table.KEYS.get(name)
    if name.startswith("env.") and name.removeprefix("env.") not in resolved.env:
        raise UsageError(f"[sweep.{name}] has no initial value", where=place,
                         expected="a value under [env], with which the first trial runs",
                         hint=f"--{name.replace('_', '-')} VALUE gives one")
    if key is None or key.type in ("str", "bool") or "choices" in row:
        return
    for word in ("min", "max"):
        if not key.allows(row[word]):
            raise UsageError(f"[sweep.{name}] {word} is not a valid value",
                             where=place or "the default space", expected=key.expected,
                             actual=show(row[word]))
