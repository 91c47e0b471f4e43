"""Worlds that change: other [env] settings for some envs, from their next reset on.
vec.set(key, value, envs) -> records, from which a resumed run repeats them
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import paths
from ..base.errors import RunError, UsageError, did_you_mean
from ..settings import world_values
from ..settings.texts import show
from ..settings.world_values import Change, Drawn, Plain
from . import abi
from .abi import CObject, ffi, new_error
from .library import Settings, error_of, kept_text
from .vec_arrays import Rows

ENDING_TICKS = 20_000       # of random play, in which an episode of all agents must end
Envs: TypeAlias = "slice | int | Sequence[int] | NDArray[Any] | None"
World = Mapping[str, "Plain | Drawn"]           # what was set in an env


class Worlds(Rows):
    """set() and what it needs, for VecEnv."""

    _begun = False              # the envs play
    _why_fixed = ""             # why set() would do nothing, or harm
    _ends = False               # random play has shown that episodes end
    first_row: NDArray[np.int64]
    obs_size: int
    _watches: CObject
    _held: list[CObject]        # choices, which C does not copy
    _worlds: list[World]
    _changes: list[Change]

    def _no_changes(self) -> None:
        vars(self).update(_worlds=[{}] * self.num_envs, _changes=[], _held=[])

    @property
    def changes(self) -> list[Change]:
        """What set() was called with since these envs were made, in order: JSON-able."""
        return list(self._changes)

    @property
    def waiting(self) -> int:
        """Envs that have not begun what was last set there: their episodes have not ended yet."""
        self._check_open()
        return 0 if not self._changes else self._count_waiting()

    def set(self, key: str, value: float | str | ArrayLike, envs: Envs = None) -> None:
        """Another value of an [env] key, from the next reset of these envs on.

            vec.set("level", 7)                         everywhere
            vec.set("level", 7, envs=slice(0, 64))      in some copies: also a list or a mask
            vec.set("level", np.arange(64), envs=slice(0, 64))      one for each of them
            vec.set("level", "1..8")                    each world draws one of 1 to 8
            vec.set("wind", "0.0..0.5"), vec.set("size", "5 | 7 | 11")

        C environments begin anew, init included, with a seed that follows from the one before: in
        the step in which each agent that lives has ended an episode since the call, or in reset().
        Agents in the middle of a later episode are truncated. Trainers that step this vec meanwhile
        see the same, whatever the number of threads. Raises UsageError for unknown keys, keys that
        change the number of agents or the size of an observation, worlds whose episodes do not end,
        and where copies cannot be made one by one.
        """
        self._check_open()
        numbers = self._env_numbers(envs)
        values = self._each(key, value, numbers)
        if self._why_fixed:
            raise UsageError(f"set() has no effect here: {self._why_fixed}", where=f'"{key}"',
                             expected="envs that are stepped on the CPU, between two calls",
                             actual=self._why_fixed,
                             hint="trainer.use(vec) continues with other envs")
        self._check_key(key)
        distinct = dict(zip(values, numbers, strict=True))
        for each, env in distinct.items():
            self._check_value(key, each, env)
        made: dict[tuple[int, object], World] = {}
        before = self._worlds
        worlds = list(before)
        for env, each in zip(numbers, values, strict=True):
            place = id(before[env]), each
            worlds[env] = made[place] = made.get(place) or {**before[env], key: each}
        for first, count in _runs(numbers, worlds):
            self._change(first, count, worlds[first])
        self._worlds = worlds
        for each in distinct:
            mine = [env for env, other in zip(numbers, values, strict=True) if other == each]
            self._changes.append({"tick": self.ticks, "key": key, "value": world_values.shown(each),
                                  "envs": None if len(mine) == self.num_envs else _runs(mine)})

    def set_again(self, changes: Iterable[Change]) -> None:
        """What another vec, or this one in an earlier process, was given."""
        for change in changes:
            envs = None if change["envs"] is None else [
                env for first, count in change["envs"] for env in range(first, first + count)]
            self.set(change["key"], change["value"], envs)

    @property
    def changes_now(self) -> list[Change]:
        """The calls that lead envs which begin now to the same settings."""
        found: list[Change] = []
        for key in dict.fromkeys(change["key"] for change in self._changes):
            by_value: dict[object, list[int]] = {}
            for env, world in enumerate(self._worlds):
                if key in world:
                    by_value.setdefault(world[key], []).append(env)
            found += [{"tick": 0, "key": key, "value": world_values.shown(cast("Plain", value)),
                       "envs": None if len(envs) == self.num_envs else _runs(envs)}
                      for value, envs in by_value.items()]
        return found

    def fix_settings(self, why: str) -> None:
        """Have set() refuse. Raises UsageError where it was called already."""
        vars(self)["_why_fixed"] = why
        if why and self._changes:
            raise UsageError(f"what was set in these envs has no effect: {why}",
                             where=self._changes[0]["key"], expected="envs that nobody has changed",
                             actual=f"{len(self._changes)} calls of set()",
                             hint="make other envs, or leave them on the CPU")

    # -- what a call asks for

    def _env_numbers(self, envs: Envs) -> list[int]:
        every = np.arange(self.num_envs)
        try:
            found = every if envs is None else every[envs if isinstance(envs, (slice, int))
                                                     else np.asarray(envs)]
        except (IndexError, TypeError) as error:
            raise UsageError("there are no such envs", where="envs",
                             expected=f"numbers below {self.num_envs}, a slice or a mask",
                             actual=str(error)) from None
        numbers: list[int] = np.atleast_1d(found).tolist()
        return list(dict.fromkeys(numbers))

    def _each(self, key: str, value: object, numbers: Sequence[int]) -> list[Plain | Drawn]:
        if isinstance(value, (str, bool, int, float, np.number, np.bool_)):
            given: list[Any] = [value] * len(numbers)
        else:
            given = np.asarray(value).tolist() if not isinstance(value, (list, tuple)) else \
                list(value)
            if not isinstance(given, list) or len(given) != len(numbers):
                raise UsageError("set() takes one value, or one for each env", where=f'"{key}"',
                                 expected=f"{len(numbers)} values",
                                 actual=len(given) if isinstance(given, list) else given)
        found, known = [], dict[str, "Plain | Drawn"]()
        for each in given:
            text = each if isinstance(each, str) else show(
                each.item() if isinstance(each, np.generic) else each)
            try:
                if text not in known:
                    known[text] = world_values.parse(text, python=self._of_python)
            except ValueError as error:
                raise UsageError(f"{key} cannot be '{text}'", where=f'set("{key}")',
                                 expected=world_values.ONE, actual=str(error)) from None
            found.append(known[text])
        return found

    _of_python = False

    # -- what kinds of vecs differ in

    def _check_key(self, key: str) -> None:
        """Raises UsageError where there is no such setting, or none of these envs may change."""
        if key not in (known := self._known_keys()):
            raise UsageError(f"the environment has no setting '{key}'",
                             where=self.library.folder or self.description.name,
                             expected="a key of [env]" + ": " * bool(known) + ", ".join(known),
                             actual=f"'{key}'", hint=did_you_mean(key, known))

        place = paths.working_dir(self.library.folder) if self.library.folder else Path.cwd()
        if (place / "resources").is_dir() and place != Path.cwd():
            raise UsageError("envs that read resources/ begin anew in their own folder alone",
                             where=f'set("{key}")', expected=f"the current folder {place}",
                             actual=Path.cwd(), hint=f'os.chdir("{place}") first; train does')

    def _known_keys(self) -> list[str]:
        from . import header

        spec = header.find(self.library.folder) if self.library.folder else None
        fields = [field.name for field in spec.settable] if spec else []
        return list(dict.fromkeys([*self.env_settings, *fields]))

    def _settings(self, world: World) -> dict[str, float]:
        """[env] of this world; what it draws has its first value."""
        firsts = {key: value.samples[0] if isinstance(value, Drawn) else value
                  for key, value in world.items()}
        return {**self.env_settings, **cast("dict[str, float]", firsts)}

    def _check_value(self, key: str, value: Plain | Drawn, env: int) -> None:
        rows = int(self.first_row[env + 1] - self.first_row[env])
        world = self._worlds[env]
        for sample in value.samples if isinstance(value, Drawn) else (value,):
            settings = self._settings({**world, key: sample})
            agents = self.library.agents_per_env(settings, self._watches)
            size = self.library.describe(settings).obs_size
            for what, now, then in (("number of agents", rows, agents),
                                    ("size of an observation", self.obs_size, size)):
                if now != then:
                    raise UsageError(f"{key} = {show(sample)} changes the {what}",
                                     where=f'set("{key}")', expected=f"{now}, as env {env} has",
                                     actual=then, hint="make other envs, and continue with "
                                     "trainer.use(vec)" if what[0] == "n" else
                                     "train another network")
            if self._begun and not self._ends:
                self._check_endings(settings)

    def _check_endings(self, settings: Mapping[str, float]) -> None:
        """Raises UsageError where no episode of all agents ends in random play."""
        from .agent_slots import ended, living, random_actions

        kind = cast("Any", type(self))
        with kind(self.library, total_agents=self.library.agents_per_env(settings, self._watches),
                  watches=self._watches, env_settings=settings) as vec:
            vec.reset()
            dice, awaited = np.random.default_rng(1), living(vec)
            for _ in range(ENDING_TICKS):
                vec.step(random_actions(vec, dice))
                awaited &= ~ended(vec)
                if not awaited.any():
                    self._ends = True
                    return
            left, agents = int(awaited.sum()), vec.num_agents
        raise UsageError("these worlds never end, so what is set would never begin",
                         where=self.library.folder or self.description.name,
                         expected="an ending of every agent (terminals[i] = 1)",
                         actual=f"{left} of {agents} agents ended no episode in "
                                f"{ENDING_TICKS:,} ticks of random play",
                         hint="call set() before the first reset(), or make other envs and "
                              "continue with trainer.use(vec)")

    def _change(self, first: int, count: int, world: World) -> None:
        settings, error = Settings(self._settings(world)), new_error()
        drawn = {key: value for key, value in world.items() if isinstance(value, Drawn)}
        ranges = ffi().new("PufferRange[]", max(1, len(drawn)))
        for item, (key, value) in zip(ranges, drawn.items(), strict=False):
            choices = [Settings({key: cast("float", each)}) for each in value.choices]
            items: CObject = ffi().new("PufferSetting[]", max(1, len(choices)))
            for place, choice in enumerate(choices):
                items[place] = choice.c.items[0]
            self._held += [items]
            item.key = kept_text(key)
            item.low, item.high, item.whole = value.low, value.high, value.whole
            item.choices, item.num_choices = items, len(choices)
        if self.library.api.change(self._handle, first, count, settings.c, ranges, len(drawn),
                                   error):
            raise error_of(error, settings, folder=self.library.folder)

    def _count_waiting(self) -> int:
        return int(self.library.api.waiting(self._handle, new_error()))

    def failed_change(self) -> BaseException | None:
        """What an env that was to begin anew refused; the old one plays on."""
        error = new_error()
        if not self._changes or self.library.api.waiting(self._handle, error) >= 0:
            return None
        return RunError("an env could not begin with other settings", where="set()",
                        detail=abi.text_of(error.text), hint="set values that fit all envs")

    def _raise_failed_change(self) -> None:
        failure = self.failed_change()
        if failure is not None:
            raise failure


def _runs(numbers: Sequence[int], worlds: Sequence[World] | None = None) -> list[list[int]]:
    """[first, count] of envs that follow each other and share a world."""
    found: list[list[int]] = []
    for env in sorted(numbers):
        first, count = found[-1] if found else (env, 0)
        if count and env == first + count and (worlds is None or worlds[env] is worlds[first]):
            found[-1][1] += 1
        else:
            found.append([env, 1])
    return found
