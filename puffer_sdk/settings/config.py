"""Resolve every setting.  defaults < the environment's ini < --config < command line -> Config

    config = resolve(folder, {"train.learning_rate": "0.01"}, spec)
    config.train.learning_rate      0.01
    config.env["size"]              11.0
    config.origin["train.gamma"]    "squared.ini:14"

Strict: an unknown key, a wrong type, a value out of range or a conflict is refused with its
line and the nearest valid spelling, all of them at once. In the ini of an Ocean environment (its
folder holds a binding.c), fractions of whole numbers are cut off, sizes that clash are rounded,
and unknown keys are skipped, with a warning. config/default.ini is read before config/NAME.ini.
"""
from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base import paths, ui
from ..base.errors import UsageError, nearest
from ..base.spec import SCALARS, Spec
from . import factors, inifile, key_hints, table, torch_class, upstream, worlds_section
from .conflicts import Conflicts
from .table import ALIAS, EFFECTIVE, FORMER, IGNORED, INI_SECTIONS, KEYS, OBS_SCALE, SECTIONS
from .texts import EnvText, c_expected, env_value, has_fraction, literal, show
from .values import COMMAND_LINE, Config, Given, complete


def find_ini(folder: Path) -> Path | None:
    """FOLDER/NAME.ini; in upstream's layout (ocean/NAME) also config/NAME.ini beside ocean, or an
    ini there whose env_name lists NAME."""
    own, *listing = ini_places(folder)
    there = next((path for path in (own, *listing) if os.path.lexists(path)), None)
    return there or next((inifile.listing(path.parent, folder.name) for path in listing), None)


def ini_places(folder: Path) -> list[Path]:
    """Where find_ini() looks, in this order."""
    places = [folder / f"{folder.name}.ini"]
    if folder.parent.name == "ocean":
        places.append(folder.parent.parent / "config" / f"{folder.name}.ini")
    return places


def shared_ini(folder: Path | None, ini: Path | None) -> Path | None:
    """Upstream's config/default.ini, which holds for every environment beside it."""
    shared = ini.with_name("default.ini") if ini and ini.parent != folder else None
    return shared if folder and shared and os.path.lexists(shared) else None


def own_inis(folder: Path) -> list[Path]:
    """The environment's own files, in the order in which they are read: the last one counts."""
    own = find_ini(folder)
    return [path for path in (shared_ini(folder, own), own) if path]


def sized_for_a_gpu(config: Config) -> dict[str, tuple[object, object]]:
    """{"vec.total_agents": (value, our default)}: sizes that upstream's config/default.ini gives,
    which are those of a large GPU."""
    return {full: (config[full], table.KEYS[full].default) for full in table.SIZES
            if config.origin.get(full, "").startswith("default.ini:")
            and config[full] != table.KEYS[full].default}


def defaults(overrides: Mapping[str, object] | None = None) -> Config:
    """A Config without an environment: the table's defaults and these overrides."""
    return _Resolver(None, None, False).run((), overrides or {})


def resolve_python(name: str, overrides: Mapping[str, object] | None = None,
                   inis: Sequence[Path] = (),
                   defaults: Mapping[str, tuple[object, str]] | None = None,
                   in_bytes: bool = True, *, rows: int = 1, theirs: bool = False) -> Config:
    """Every setting of a Python environment: [env] holds keywords, of any type.

    name        "gymnasium:CartPole-v1"; rows: agents of one copy
    inis        the files to read; the last one counts
    defaults    {"vec.total_agents": (64, "why")}: in place of the table's
    in_bytes    whether its rows are bytes, as far as that is known; theirs: as in resolve()
    """
    resolver = _Resolver(None, None, False, python=True, name=name, theirs=theirs)
    resolver.in_bytes, resolver.rows = in_bytes, rows
    for full, (value, why) in (defaults or {}).items():
        resolver.given[full] = Given(value, f"auto: {why}", why, full)
    return torch_class.named(resolver.run(inis, overrides or {}), None, theirs)


def resolve(folder: Path | str, overrides: Mapping[str, object] | None = None,
            spec: Spec | None = None, ocean: bool | None = None,
            ini: Path | None = None, *, over: Sequence[Path] = (),
            warn_unread: bool = True, theirs: bool = False) -> Config:
    """Every setting of the environment in this folder.

    overrides   {'train.learning_rate': '0.01'}; dashes or underscores, text or plain values
    spec        lets [env] be checked against the struct's fields
    ocean       be as lenient as upstream's inis need; None: if it has PufferLib's form
    warn_unread    say which [env] keys no struct field takes (check has PUF105 for that)
    ini         read this file alone (a run's config.ini, say), none of the environment's own
    over        files that lie over those, such as --config's; the last one counts
    theirs      both are of a run or a sweep: they say neither what may be run, nor env_name
    Raises UsageError naming file, line, what was expected and the nearest valid key.
    """
    folder = Path(folder).resolve()
    if ocean is None:
        ocean = paths.is_ocean(folder)
    resolver = _Resolver(folder, spec, ocean, name=folder.name, theirs=theirs)
    resolver.of_tree = upstream.of_tree(own_inis(folder), folder) if ini is None else ()
    config = resolver.run([*([ini] if ini else own_inis(folder)), *over], overrides or {})
    if warn_unread:
        resolver.warn_unread()
    return torch_class.named(config, folder, theirs)


class _Resolver:
    """One pass over ini and overrides; collects faults, then raises them together."""

    def __init__(self, folder: Path | None, spec: Spec | None, ocean: bool, python: bool = False,
                 name: str = "", theirs: bool = False):
        self.folder, self.spec, self.ocean, self.python = folder, spec, ocean, python
        self.name, self.theirs = name, theirs
        self.given: dict[str, Given] = {}
        self.env: dict[str, Any] = {}
        self.in_bytes = spec is None or spec.obs_dtype == "u8"
        self.of_tree: Sequence[Path] = ()       # PufferLib's own inis
        self.rows = 0                           # agents of a copy, 0: [env]'s
        self.former: dict[str, Given] = {}      # keys of earlier versions, by their names
        self.skipped: dict[str, str] = {}
        self.faults: list[UsageError] = []
        self.refused: dict[str, UsageError] = {}    # faults of values of this layer, by their key
        self.earlier: dict[str, UsageError] = {}    # and of earlier layers

    def run(self, inis: Sequence[Path], overrides: Mapping[str, object]) -> Config:
        inis = list(dict.fromkeys(Path(path).absolute() for path in inis))
        leaves = None                   # the last file with a key that was skipped
        for path, label in zip(inis, inifile.labels(inis)):
            before = len(self.skipped)
            self._read_ini(path, label)
            if len(self.skipped) > before:
                leaves = path
        if leaves and self.ocean:       # of our own dialect each key has had its own warning
            self._warn_of_skipped(leaves)
        if self.folder is not None and not inis:
            self._warn_without_ini(self.folder)
        self._read_overrides(overrides)
        self.faults += worlds_section.unknown(self.given, self._env_exists, self._env_names)
        inifile.raise_all(self.faults)
        self._take_former()
        if self.theirs:
            self.given.pop("base.env_name", None)
        for full, (fixed, why) in upstream.ALWAYS.items() if self.of_tree else ():
            self.given.setdefault(full, Given(fixed, f"auto: {why}", why, full))
        config = complete(self.given, self.env, skipped=self.skipped, env_name=self.name,
                          rows=self.rows)
        return Conflicts(config, self.given, self.ocean, self.folder, self.spec).resolve()

    # -- the ini

    def _read_ini(self, path: Path, label: str) -> None:
        """label: its name in origins."""
        entries, sections, faults = inifile.read(path)
        self.faults += faults
        self._begin_layer()
        for section, line in sections.items():
            if section in (*INI_SECTIONS, "build", "worlds") or section.startswith("sweep."):
                continue            # [build] is outside_libraries.py's
            if self.ocean or self.theirs and section == "loop":     # own_run.py's
                self.skipped[f"[{section}]"] = inifile.where(path, line)
            else:
                self._fault(f"there is no section [{section}]", inifile.where(path, line),
                            "a known section", f"[{section}]",
                            inifile.section_hint(section, INI_SECTIONS))
        layer: dict[str, Given] = {}
        for entry in entries:
            if entry.section in (*INI_SECTIONS, "worlds") and entry.section != "sweep":
                text, place = entry.text, inifile.where(path, entry.line)
                text = inifile.without_comment(text) if self.ocean else text
                text = upstream.meant(entry, text) if path in self.of_tree else text
                self._take(entry.section, entry.key, text, f"{label}:{entry.line}", place, layer)

    def _warn_without_ini(self, folder: Path) -> None:
        strays = sorted(path.name for path in folder.glob("*.ini"))
        if strays:
            ui.warn_once(f"{folder.name} has no {folder.name}.ini; "
                         f"{', '.join(strays)} is not read", "rename it, or its folder")
        elif self.ocean:
            places = " or ".join(inifile.where(path) for path in ini_places(folder))
            ui.warn_once(f"{folder.name} has no ini ({places}): settings have our defaults")

    def _warn_of_skipped(self, path: Path) -> None:
        """One line about all keys without effect."""
        shown = ", ".join([*self.skipped][:3]) + ", ..." * (len(self.skipped) > 3)
        ui.warn_once(f"{inifile.where(path)}: {ui.plural(len(self.skipped), 'setting')} "
                     f"without effect here ({shown})", None if ui.verbose else
                     f"puffer-sdk config {self.name} lists them, and so does --verbose",
                     [f"{name}: {place}" for name, place in self.skipped.items() if ui.verbose])

    # -- the command line

    def _read_overrides(self, overrides: Mapping[str, object]) -> None:
        layer: dict[str, Given] = {}
        self._begin_layer()
        for raw, value in overrides.items():
            section, dot, name = raw.strip().lstrip("-").replace("-", "_").partition(".")
            flag = f"--{section}.{name.replace('_', '-')}" if dot else f"--{section}"
            place = f"{COMMAND_LINE}, {flag}"
            if not dot:
                homes = [key.flag for key in table.used_keys() if key.name == section]
                self._fault(f"'{raw}' is not a setting", place, "--section.key",
                            flag, f"write {' or '.join(homes)}" if homes else None)
                continue
            if section == "sweep":
                self._fault(f"{flag} belongs to `puffer-sdk sweep`", place,
                            "a setting of one run", flag, "leave it out, or start a sweep")
                continue
            if section not in (*SECTIONS, "env", "worlds"):
                self._fault(f"there is no setting {flag}", place, "a known section",
                            f"[{section}]", inifile.section_hint(section, (*EFFECTIVE, "env")))
                continue
            if re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", text := show(value).strip()):
                self._fault(f"the value of {flag} contains a character that an ini cannot hold",
                            place, "text on one line", repr(text), None)
                continue
            self._take(section, name, text, COMMAND_LINE, place, layer)

    # -- one key, from either

    def _take(self, section: str, name: str, text: str, origin: str, where: str,
              layer: dict[str, Given]) -> None:
        if section in ("env", "worlds"):
            take = self._take_env if section == "env" else self._take_worlds
            take(name, text, origin, where)
            return
        key, from_ini = KEYS.get(f"{section}.{name}"), origin != COMMAND_LINE
        if key is None:
            hint = key_hints.hint_for(section, name, flags=not from_ini)
            if self.ocean and from_ini:
                self.skipped[f"[{section}] {name}"] = f"{where}; {hint}" if hint else where
            else:
                self._fault(f"[{section}] has no setting '{name}'", where,
                            f"a setting of [{section}]", f"'{name}'", hint)
            return
        if key.status == IGNORED:
            if from_ini:
                self.skipped[key.shown] = where
                if not self.ocean:
                    ui.warn_once(f"{where}: {key.shown} belongs to PufferLib's own trainer "
                                 f"({key.help}) and has no effect here; skipped")
            else:
                self._fault(f"{key.flag} has no effect here", where, "a setting that is used",
                            f"one of PufferLib's own ({key.help})", "leave it out")
            return
        target = KEYS[key.target] if key.status == ALIAS else key
        self._forgive(target.full)
        try:
            value = table.parse(target, text, cut=self.ocean and from_ini)
        except ValueError as error:
            shown = key.shown if from_ini else key.flag
            self._fault(f"{shown} cannot be '{text}'" if text else f"{shown} has no value",
                        where, target.expected, f"'{text}'" if text else "nothing",
                        str(error) or None, target.full if from_ini else None)
            return
        if target.type in ("int", "bool") and has_fraction(text):
            ui.warn_once(f"{where}: {key.name} = {text} is not a whole number; "
                         f"{show(value)} is used")
        if value == table.AUTO != text:
            origin = f"auto: {upstream.ZERO_THREADS}"
        given = Given(value, origin, where, key.full)
        if key.status == FORMER:        # of these and what has taken their place, the last counts
            self.given.pop(key.target, None)
            self.former[key.name] = given
            return
        self.former = {} if target.full == OBS_SCALE else self.former
        self._give(target.full, given, layer)

    def _take_former(self) -> None:
        """obs_scale, where only keys of earlier versions are given."""
        values = {name: given.value for name, given in self.former.items()}
        own = getattr(self.given.get("policy.torch_class"), "value", "")
        value = factors.from_former(values, in_bytes=self.in_bytes, own_network=bool(own))
        if value is not None:
            self.given[OBS_SCALE] = replace(next(iter(self.former.values())), value=value)

    def _give(self, full: str, given: Given, layer: dict[str, Given]) -> None:
        """Take a value; two names of one key may not disagree within one layer."""
        other = layer.get(full)
        if other is not None and other.value != given.value and self.ocean \
                and given.origin != COMMAND_LINE:       # upstream has a use for each
            used, left = (other, given) if other.key == full else (given, other)
            ui.warn_once(f"{left.where}: {left.key} and {used.key} are one setting here; "
                         f"{used.key} = {show(used.value)} is used")
            layer[full] = self.given[full] = used
            return
        if other is not None and other.value != given.value:
            self._fault(f"{given.key} and {other.key} are one setting with two values",
                        given.where, f"{show(other.value)}, as {other.where} says",
                        show(given.value), f"keep {full} alone")
            return
        layer[full] = self.given[full] = given

    def _take_env(self, name: str, text: str, origin: str, where: str) -> None:
        shown = f"[env] {name}"
        if origin == COMMAND_LINE and not self._env_exists(name):
            names = self._env_names()
            close = nearest(name, names)
            hint = f"did you mean --env.{close}?" if close else (
                "[env] has " + ", ".join(names) if names else "this environment has no settings")
            homes = [key.flag for key in table.used_keys() if key.name == name]
            self._fault(f"the environment has no setting '{name}'", where,
                        "a key of [env] or a field of the struct", f"'{name}'",
                        f"did you mean {homes[-1]}?" if homes and not close else hint)
            return
        self._forgive(f"env.{name}")
        if self.python:
            self._give_env(name, literal(text), origin, where)
            return
        spec = None if self.ocean else self.spec
        field = next((f for f in spec.settable if f.name == name), None) if spec else None
        layered = f"env.{name}" if origin != COMMAND_LINE else None
        try:
            value = env_value(text, free=bool(self.spec and self.spec.by_agent))
        except ValueError as error:
            reason = f"the value is {error}" if str(error) else None
            self._fault(f"{shown} is not a number", where, c_expected(field.type if field else ""),
                        f"'{text}'" if text else "nothing",
                        "a comment stands on a line of its own" if re.search(r"\s[#;]", text)
                        else reason, layered)
            return
        if spec and field:
            low, high = SCALARS[field.type]
            if field.type not in ("float", "double") and isinstance(value, float) or \
                    not low <= value <= high:
                self._fault(f"{shown} does not fit its C field", where, c_expected(field.type),
                            text, f"{spec.header.name}:{field.line} declares {field.type} {name}",
                            layered)
                return
        self._give_env(name, value if isinstance(value, EnvText) else float(value), origin, where)

    def _take_worlds(self, name: str, text: str, origin: str, where: str) -> None:
        self.given.pop(f"worlds.{name}", None)      # for good, where the value is empty
        if fault := worlds_section.refuse(name, text, where, python=self.python):
            self.faults.append(fault)
        elif text:
            self.given[f"worlds.{name}"] = Given(text, origin, where, f"worlds.{name}")

    def _give_env(self, name: str, value: object, origin: str, where: str) -> None:
        self.env[name] = value
        self.given[f"env.{name}"] = Given(value, origin, where, f"env.{name}")

    def warn_unread(self) -> None:
        """One warning for each [env] key of the ini that no struct field takes."""
        if self.spec is None or self.ocean:
            return
        fields = [f.name for f in self.spec.settable]
        for name in self.env:
            if name not in fields:
                close = nearest(name, fields)
                ui.warn_once(f"{self.given[f'env.{name}'].where}: [env] {name} sets nothing: "
                             f"struct {self.spec.struct} has no numeric field of that name",
                             hint=f"did you mean '{close}'?" if close else None)

    def _env_exists(self, name: str) -> bool:
        if name in self.env or self.spec is None or any(
                field.name == name for field in self.spec.settable):
            return True
        return self.ocean and f'"{name}"' in self._binding_text()

    def _env_names(self) -> list[str]:
        names = [*self.env, *re.findall(r'dict_get\w*\s*\(\s*\w+\s*,\s*"(\w+)"',
                                        self._binding_text() if self.ocean else "")]
        if self.spec and not self.ocean:
            names += [f.name for f in self.spec.settable if f.name != "num_agents"]
        return list(dict.fromkeys(names))

    def _binding_text(self) -> str:
        path = self.spec.binding if self.spec else None
        try:
            return paths.text(path or (self.folder or Path()) / "binding.c")
        except OSError:
            return ""

    def _fault(self, message: str, where: str, expected: str, actual: str, hint: str | None,
               full: str | None = None) -> None:
        """full: the key that this is a value for, if a later layer may give it another."""
        fault = UsageError(message, where=where, expected=expected, actual=actual, hint=hint)
        self.faults.append(fault)
        if full:
            self.refused[full] = fault

    def _begin_layer(self) -> None:
        self.earlier |= self.refused
        self.refused = {}

    def _forgive(self, full: str) -> None:
        """This layer gives the key another value than the one that was refused."""
        fault = self.earlier.pop(full, None)
        if fault is not None:
            self.faults.remove(fault)
