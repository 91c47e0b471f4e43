"""An environment's library, opened.  NAME-HASH.so -> Description, agents per env, its errors"""
from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..base import paths
from ..base.errors import BuildError, NoEnvs, NotWhole, PufferError, RunError, UsageError, nearest
from ..raylib import headers
from ..settings.texts import show
from .abi import CObject, error_kinds, ffi, new_error, number, text_of

Obs: TypeAlias = NDArray[Any]           # rows of observations: uint8, float32 or int32
DTYPES: dict[int, np.dtype[Any]] = {0: np.dtype(np.uint8), 1: np.dtype(np.float32),
                                    2: np.dtype(np.int32)}


class Layout(Protocol):
    """How rows unflatten into the observations of a Python environment."""

    def to_dict(self) -> dict[str, object]: ...


@dataclass(frozen=True)
class Description:
    """What an environment looks like under given settings."""

    name: str
    obs_dtype: np.dtype[Any]    # uint8, float32 or int32
    obs_size: int               # D
    act_sizes: tuple[int, ...]  # head widths, 1 = continuous
    mask_size: int
    has_truncations: bool
    has_final_obs: bool         # of truncated episodes
    has_all_finals: bool        # of all, where PUFFER_ALL_FINALS asks for them
    has_alive: bool             # variable number of agents
    whole_steps: bool           # every step takes all envs
    log_names: tuple[str, ...]
    layout: Layout | None = None    # of rows that a space describes: space_rows.Observations
    actions: Layout | None = None   # of heads likewise: space_rows.Actions

    def facts(self) -> dict[str, object]:
        """What a checkpoint says about the rows and heads that its network is made for."""
        facts: dict[str, object] = {
            "obs_size": self.obs_size, "obs_dtype": self.obs_dtype.name,
            "act_sizes": list(self.act_sizes), "masked": self.mask_size > 0,
            "comes_and_goes": self.has_alive}
        return facts if self.layout is None else {**facts, "layout": self.layout.to_dict()}


class EnvLibrary(Protocol):
    """What opens environments: a Library of compiled ones, or a PoolLibrary of Python ones."""

    armed: bool                 # Link.watches(arm=...)

    @property
    def folder(self) -> Path | None: ...        # of a compiled environment
    @property
    def path(self) -> Path | None: ...          # of the library that it was compiled into
    @property
    def api(self) -> CObject: ...
    def describe(self, env_settings: Mapping[str, float] | None = None) -> Description: ...
    def agents_per_env(self, env_settings: Mapping[str, float] | None = None,
                       watches: CObject = None) -> int: ...
    def among_resources(self) -> AbstractContextManager[None]: ...


class Library:
    """An opened environment library. Opening runs no code of the author's."""

    armed = True                # Link.watches(arm=...)

    def __init__(self, path: Path, folder: Path | None = None):
        """folder: the environment's, so that errors can name the line of its ini"""
        headers.load_null()
        self.path, self.folder = Path(path), folder
        beside = self.path.parent.parent            # where build/ usually stands
        if folder is None and paths.is_env_folder(beside):
            self.folder = beside
        try:
            handle: CObject = ffi().dlopen(str(path))
            self._handle, self.api = handle, handle.puffer_api()
        except (OSError, AttributeError) as error:
            missing = re.search(r"undefined symbol: (\w+)", str(error))
            if missing:
                raise BuildError(f"{missing[1]} is declared and used, but defined nowhere",
                                 where=self.folder or path,
                                 hint="define it in the header, or include its "
                                      "definition") from None
            raise RunError("cannot load the environment library", where=path,
                           detail=str(error), hint="delete it and build again") from None
        version = number("PUFFER_ABI_VERSION")
        if self.api.abi_version != version:
            raise RunError("the environment library has a different ABI version", where=self.path,
                           expected=version, actual=self.api.abi_version,
                           hint="delete it and build again")

    def describe(self, env_settings: Mapping[str, float] | None = None) -> Description:
        """Sizes under these [env] settings. Raises UsageError, e.g. for a missing key."""
        settings = Settings(env_settings or {})
        out: CObject = ffi().new("PufferDescription*")
        error = new_error()
        if self.api.describe(settings.c, out, error):
            raise error_of(error, settings, folder=self.folder)
        return Description(
            name=text_of(out.name), obs_dtype=DTYPES[out.obs_dtype],
            obs_size=out.obs_size, act_sizes=tuple(out.act_sizes[0:out.num_atns]),
            mask_size=out.mask_size, has_truncations=bool(out.has_truncations),
            has_final_obs=out.has_final_obs == 1, has_all_finals=bool(out.has_final_obs),
            has_alive=bool(out.has_alive),
            whole_steps=bool(out.whole_steps),
            log_names=tuple(text_of(out.log_names[i]) for i in range(out.num_logs)))

    def agents_per_env(self, env_settings: Mapping[str, float] | None = None,
                       watches: CObject = None) -> int:
        """Agents of one copy under these settings, at most. Runs the author's init.

        watches    as VecEnv takes them
        """
        settings, error = Settings(env_settings or {}), new_error()
        watch = ffi().NULL if watches is None else ffi().addressof(watches, 0)
        with self.among_resources():
            agents: int = self.api.agents_per_env(settings.c, watch, error)
        if agents < 1:
            raise error_of(error, settings, folder=self.folder)
        return agents

    @contextmanager
    def among_resources(self) -> Iterator[None]:
        """Inside, the working directory is where env code finds its resources/, if it has any."""
        place = paths.working_dir(self.folder) if self.folder else None
        if place is None or not (place / "resources").is_dir() or place == Path.cwd():
            yield
            return
        before = os.getcwd()
        os.chdir(place)
        try:
            yield
        finally:
            os.chdir(before)


@dataclass(frozen=True)
class Refusal:
    """A PufferError of puffer_abi.h, or the fact of that kind: why there are no envs."""

    kind: int
    a: int
    b: int
    name: str
    text: str

    @property
    def kind_name(self) -> str:
        return error_kinds()[self.kind]


@cache
def kept_text(text: str) -> CObject:
    """A text of C that is never freed: a puf_init may keep a pointer to it."""
    return ffi().new("char[]", text.encode())


class Settings:
    """A section of numbers as the C side takes it; keeps its memory alive."""

    def __init__(self, values: Mapping[str, float]):
        self.keys = list(values)
        self._items = ffi().new("PufferSetting[]", max(1, len(values)))
        for item, (key, value) in zip(self._items, values.items(), strict=False):
            item.key, item.value, item.text = kept_text(key), float(value), kept_text(show(value))
        self.c: CObject = ffi().new("PufferSettings*", {"items": self._items, "count": len(values)})


def error_of(given: CObject, env: Settings, vec: Settings | None = None, *,
             folder: Path | None) -> PufferError:
    """The PufferError that the C side filled, as an error to raise.

    env, vec    the sections that the call was given
    folder      the environment's, if known
    """
    seen = Refusal(given.kind, given.a, given.b, text_of(given.name), text_of(given.text))
    asked = vec if seen.kind_name == "MISSING_VEC_KEY" and vec else env
    return explain_error(seen, asked.keys, folder)


def explain_error(seen: Refusal, keys: Sequence[str], folder: Path | None = None) -> PufferError:
    """What the C side refused, as an error with a hint and a rule's code, if one names it.

    keys    that the section gives
    folder  the environment's, if known
    """
    kind, key = seen.kind_name, seen.name
    if kind in ("MISSING_KEY", "MISSING_VEC_KEY"):
        section = "env" if kind == "MISSING_KEY" else "vec"
        close = nearest(key, [each for each in keys if not _reads(folder, each)])
        where, ini = _place_in_ini(folder, section, close)
        lacking = f"which {ini} does not give" if ini else "and there is no ini that gives it"
        return UsageError(f"the binding reads [{section}] {key}, {lacking}",
                          code="PUF106", where=where, expected=f"a value for {key}",
                          actual=", ".join(keys) or f"no [{section}] keys",
                          hint=f"rename {close} to {key}" if close
                          else f"add to [{section}]{'' if ini else f' of {where}'}: {key} = ...")
    if kind == "LOG_FULL":
        most = number("PUFFER_MAX_LOG")
        return UsageError("my_log reports too many values", code="PUF104",
                          expected=f"at most {most}", actual=f"{key} is number {most + 1}",
                          hint="report a sum or a mean of several")
    if kind == "NO_ENVS":
        return NoEnvs(f"{key} created no environment",
                      hint="files that it reads may be missing" + _where_it_reads(folder))
    if kind == "NOT_WHOLE":
        error = NotWhole("total_agents is not a multiple of the agents per environment",
                         detail=seen.text)
        error.fits = seen.a or None
        working = " or ".join(str(number) for number in (seen.a, seen.b) if number)
        error.hint = f"set vec.total_agents to {working}" if working else \
            "make vec.total_agents a multiple of num_agents x num_buffers"
        return error
    if kind == "TOO_MANY_AGENTS":
        return UsageError("num_agents is larger than agents[]", code="PUF112",
                          where=folder and paths.header_of(folder).name,
                          expected=f"at most {seen.b}", actual=seen.a,
                          hint=f"Agent agents[{seen.a}]; or a smaller num_agents")
    hints = {"NO_AGENTS": f"init must set {key} to at least 1",
             "BAD_SIZES": "OBS_SIZE must be at least 1 and equal in all envs, before and after "
                          "init",
             "NO_MEMORY": "lower vec.total_agents"}
    return UsageError(seen.text or "the environment could not be created", hint=hints.get(kind),
                      code="PUF112" if kind in ("BAD_SIZES", "NO_AGENTS") else None)


def _where_it_reads(folder: Path | None) -> str:
    """Where the paths of an environment's code begin, if that does not depend on the caller."""
    place = paths.working_dir(folder) if folder else None
    return f"; their paths begin in {place}" if place and (place / "resources").is_dir() else ""


def _reads(folder: Path | None, key: str) -> bool:
    """Whether the environment's C names a key: then it is no other one misspelt."""
    return folder is not None and any(f'"{key}"' in paths.text(path)
                                      for path in paths.c_files(folder))


def _place_in_ini(folder: Path | None, section: str, key: str | None
                  ) -> tuple[str | None, str | None]:
    """file:line of a key or else of its section, and the ini's name; None for the name where there
    is none, and the file that it would be."""
    from ..settings import config, inifile

    if folder is None:
        return None, "the settings"
    ini = config.find_ini(folder)
    if ini is None:
        return inifile.where(config.ini_places(folder)[-1]), None
    entries, sections, _ = inifile.read(ini)
    lines = [entry.line for entry in entries if (entry.section, entry.key) == (section, key)]
    line = lines[0] if lines else sections.get(section)
    return inifile.where(ini, line) if line else str(ini), ini.name
