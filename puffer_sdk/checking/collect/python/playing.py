"""An environment of either interface, played.  Desk, keywords -> Player -> Turns and Oddities"""
import inspect
import os
import traceback
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ....interop.python_envs import space_checks, space_rows
from ....interop.python_envs.interfaces import is_many, is_parallel
from ....interop.python_envs.makers import CALLABLE, Maker, as_parallel
from ....interop.python_envs.masks import flat_mask, method_of
from ....interop.python_envs.oddities import Oddity
from .acting import UNIFORM, Actor, Swap
from .leaves import Flat
from .python_facts import CLOSE, MADE, RENDER, RESET, STEP, Given, Place, Raised, Shape

ByAgent = dict[Hashable, Given]
ALONE = ""              # the agent of Gymnasium's interface
PULSE, PHASE, AT, EXPERIMENT = 0, 1, 2, 3       # words of the page that the parent watches
WORDS = 8
HERE = str(Path(os.path.abspath(__file__)).parents[3])


class EnvRaised(Exception):
    """The environment's own code raised something."""

    def __init__(self, phase: int, step: int, error: BaseException):
        super().__init__(phase, step, error)
        self.phase, self.step, self.error = phase, step, error


class Broken(Exception):
    """The interface is broken in a way that was recorded: nothing can be played."""


class Desk:
    """What all experiments of a child share.

    put         hands a fact to the parent
    words       the page that the parent watches
    unit        steps of the long play; others take a share of it
    """

    def __init__(self, maker: Maker, seed: int, budget: float, put: Callable[[object], None],
                 words: memoryview):
        self.maker, self.seed, self.budget, self.put, self.words = maker, seed, budget, put, words
        self.unit = 0
        self.steps = 0
        self.shape: Shape | None = None
        self.experiment = ""
        self.told: set[tuple[str, str, str]] = set()
        self.takes_seed = True
        self.alone = False              # only one instance can live in a process
        self.only: Given = None         # that one, which all experiments share

    def odd(self, oddity: Oddity, *, when: str = "", agent: str = "", step: int | None = None
            ) -> None:
        """Record what is odd: of each kind, part and call the first one."""
        key = (oddity.kind, oddity.what, when or oddity.when)
        if key in self.told:
            return
        self.told.add(key)
        self.put(replace(oddity, when=when or oddity.when, agent=agent or oddity.agent,
                         step=oddity.step if step is None else step))

    def raised(self, error: EnvRaised, seed: int | None = None) -> Raised:
        """The fact of an exception, with the last line of the author's that it went through."""
        frames = traceback.extract_tb(error.error.__traceback__)
        theirs = [frame for frame in frames if not frame.filename.startswith((HERE, "<"))]
        place = Place()
        if theirs:
            inner = next((frame for frame in reversed(theirs) if self.shape and not
                          os.path.relpath(frame.filename, self.shape.folder).startswith("..")),
                         theirs[-1])
            place = Place(self.relative(inner.filename), inner.lineno)
        return Raised(self.experiment, error.phase, error.step, type(error.error).__name__,
                      str(error.error)[:300], place, seed,
                      tuple(f"{frame.name} at {os.path.basename(frame.filename)}:{frame.lineno}"
                            for frame in reversed(theirs)))

    def relative(self, file: str) -> str:
        folder = self.shape.folder if self.shape else os.path.dirname(file)
        return os.path.relpath(file, folder)


@dataclass
class Turn:
    """What one step brought, by agent. over: the episode has ended for all of them."""

    obs: ByAgent
    rewards: ByAgent
    terminated: ByAgent
    truncated: ByAgent
    infos: ByAgent
    over: bool


class Player:
    """One environment, made. Between calls `living` are the agents that act next, `obs` and
    `masks` what they see and may do.

    checked     compare all that it returns with what it declared
    """

    def __init__(self, desk: Desk, *, checked: bool = False, **keywords: object):
        self.desk, self.checked = desk, checked
        maker = replace(desk.maker, keywords={**desk.maker.keywords, **keywords}) \
            if keywords else desk.maker
        self.step_number = 0
        self.living: list[Hashable] = []
        self.obs: ByAgent = {}
        self.masks: dict[Hashable, NDArray[np.bool_]] = {}
        self.infos: ByAgent = {}
        self.env: Given = None if keywords else desk.only
        if self.env is not None:
            self._adopt()
            return
        if desk.only is not None:
            self.call(CLOSE, desk.only.close)
            desk.only = None
        self.env = self.call(MADE, maker)
        if is_many(self.env):
            from ....interop.python_envs.one_copy import OneCopy
            self.env = OneCopy(maker, self.env)
        if is_parallel(self.env):
            self.env = self.call(MADE, as_parallel, self.env)
        if desk.alone:
            desk.only = self.env
        self._adopt()

    def _adopt(self) -> None:
        self.parallel = is_parallel(self.env)
        self.ended: set[Hashable] = set()
        self.flats: dict[Hashable, Flat] = {}
        self._plan: space_rows.Actions | None = None

    def call(self, phase: int, function: Callable[..., Given], *args: object,
             **keywords: object) -> Given:
        """The only door to the environment's code."""
        words = self.desk.words
        words[PULSE] += 1
        words[PHASE], words[AT] = phase, self.step_number
        try:
            found = function(*args, **keywords)
        except BaseException as error:
            raise EnvRaised(phase, self.step_number, error) from error
        finally:
            words[PHASE] = 0
        return found

    # -- spaces

    @property
    def agents(self) -> list[Hashable]:
        return list(self.env.possible_agents) if self.parallel else [ALONE]

    def observation_space(self, agent: Hashable) -> Given:
        return self.env.observation_space(agent) if self.parallel else self.env.observation_space

    def action_space(self, agent: Hashable) -> Given:
        return self.env.action_space(agent) if self.parallel else self.env.action_space

    def flat(self, agent: Hashable, ob: Given) -> NDArray[np.float64]:
        if agent not in self.flats:
            self.flats[agent] = Flat(self.observation_space(agent))
        try:
            return self.flats[agent](ob)
        except (TypeError, ValueError, LookupError) as error:
            for oddity in space_checks.observation(self.observation_space(agent), ob):
                self.odd(oddity, "step", agent)
                raise Broken from error
            self.odd(Oddity("obs-type", expected="what its space says",
                            actual=f"{type(ob).__name__}: {error}"[:80]), "step", agent)
            raise Broken from error

    @property
    def plan(self) -> space_rows.Actions:
        """How rows of heads become actions, the same for all agents."""
        if self._plan is None:
            self._plan = space_rows.actions_of(self.action_space(self.agents[0]))
            self._read = self._plan.reader()
        return self._plan

    def actor(self, *seed: int, style: int = UNIFORM, swap: Swap | None = None) -> Actor:
        """Chooses for all agents."""
        sizes = self.plan.sizes
        return Actor(self._read, sizes, self.agents, [self.desk.seed, *seed], style, swap)

    @property
    def flat_size(self) -> int:
        return Flat(self.observation_space(self.agents[0])).size

    @property
    def bytes_at(self) -> NDArray[np.bool_] | None:
        """(D,) numbers that are bytes, and no pixels; None where there are none."""
        leaves = Flat(self.observation_space(self.agents[0])).leaves
        found = np.zeros(self.flat_size, bool)
        for leaf in leaves:
            if leaf.kind == "Box" and leaf.space.dtype == np.uint8 and not leaf.image:
                found[leaf.first:leaf.first + leaf.count] = True
        return found if found.any() else None

    # -- playing

    def odd(self, oddity: Oddity, when: str, agent: Hashable = ALONE) -> None:
        self.desk.odd(oddity, when=when, agent=str(agent), step=self.step_number)

    def reset(self, seed: int | None = None, **more: object) -> ByAgent:
        """A new episode; the observations by agent."""
        self.step_number, self.ended = 0, set()
        if seed is not None and self.desk.takes_seed:
            more["seed"] = seed
        found = self.call(RESET, self.env.reset, **more)
        if not (isinstance(found, tuple) and len(found) == 2):
            self.odd(Oddity("reset-values", expected="(observation, info)", actual=_form(found)),
                     "reset")
            raise Broken
        if self.parallel:
            if not isinstance(found[0], dict):
                self.odd(Oddity("reset-values", expected="dicts by agent", actual=_form(found[0])),
                         "reset")
                raise Broken
            self.obs, infos = dict(found[0]), found[1] if isinstance(found[1], dict) else {}
            self.living = self._living_now("reset")
            self.obs = {agent: self.obs[agent] for agent in self.living}
        else:
            self.living, self.obs, infos = [ALONE], {ALONE: found[0]}, {ALONE: found[1]}
        self._take(infos, "reset")
        if self.checked:
            if self.parallel:
                for oddity in space_checks.info(found[1]):
                    self.odd(oddity, "reset")
            self._check_seen("reset", self.obs, infos)
        return self.obs

    def _living_now(self, when: str) -> list[Hashable]:
        """The agents of env.agents that have an observation."""
        known, found = set(self.env.possible_agents), []
        for agent in list(self.env.agents):
            if agent not in known:
                self.odd(Oddity("agent-unknown", what=str(agent), expected="one of possible_agents",
                                actual=str(agent)), when, agent)
            elif agent not in self.obs:
                self.odd(Oddity("agent-no-obs", expected="an observation", actual="none"), when,
                         agent)
            else:
                found.append(agent)
        if when == "reset" and not found:
            self.odd(Oddity("agents-none"), when)
            raise Broken
        return found

    def mask_of(self, agent: Hashable) -> Given:
        """The action mask of an agent as it is given, or None."""
        found = space_checks.mask_of(self.obs[agent], self.infos.get(agent))
        method = None if self.parallel or found is not None else method_of(self.env)
        return self.call(STEP, method) if method else found

    def _take(self, infos: ByAgent, when: str, over: bool = False) -> None:
        """over: nobody acts next, and nothing need be legal"""
        self.infos, self.masks = infos, {}
        if self.desk.shape is None or not self.desk.shape.masked or over:
            return
        sizes, every = self.desk.shape.sizes, {}
        for agent in self.living:
            given = self.mask_of(agent)
            if given is None:
                continue
            every[agent] = given
            with suppress(ValueError, TypeError):
                self.masks[agent] = flat_mask(given, sum(sizes))
        acting = len(every) < len(self.living) or any(mask.any() for mask in self.masks.values())
        for agent, given in every.items() if self.checked else ():
            for oddity in space_checks.mask(given, sizes, acting):
                self.odd(oddity, when, agent)

    def step(self, actions: ByAgent) -> Turn:
        """One step of all that live."""
        self.step_number += 1
        self.desk.steps += 1
        found = self.call(STEP, self.env.step, actions if self.parallel else actions[ALONE])
        if not isinstance(found, tuple) or len(found) != 5:
            old = isinstance(found, tuple) and len(found) == 4
            self.odd(Oddity("step-old" if old else "step-values", actual=_form(found), expected=
                            "observation, reward, terminated, truncated, info"), "step")
            raise Broken
        turn = self._parallel(found) if self.parallel else self._single(found)
        if self.checked:
            self._check_turn(turn)
        return turn

    def _single(self, found: Given) -> Turn:
        ob, reward, terminated, truncated, info = found
        self.obs = {ALONE: ob}
        over = bool(_truth(terminated) or _truth(truncated))
        self._take({ALONE: info}, "step", over)
        return Turn(self.obs, {ALONE: reward}, {ALONE: terminated}, {ALONE: truncated},
                    {ALONE: info}, over)

    def _parallel(self, found: Given) -> Turn:
        acted = self.living
        names = ("observation", "reward", "terminated", "truncated", "info")
        for name, part in zip(names, found):
            if not isinstance(part, dict):
                self.odd(Oddity("step-values", what=name, expected="a dict by agent",
                                actual=_form(part)), "step")
                raise Broken
            for agent in acted:
                if agent not in part:
                    self.odd(Oddity(f"agent-no-{name}", expected="an entry for each that acted",
                                    actual="none"), "step", agent)
        obs, rewards, terminated, truncated, infos = found
        self.obs = dict(obs)
        after = self._living_now("step")
        ends = {agent for agent in acted
                if _truth(terminated.get(agent)) or _truth(truncated.get(agent))}
        for agent in acted:
            if agent not in ends and agent not in after and agent not in self.env.agents:
                self.odd(Oddity("agent-vanished", expected="terminated or truncated",
                                actual="neither"), "step", agent)
        for agent in ends & set(after):
            self.odd(Oddity("agent-lingers", expected="not in agents any more", actual="still"),
                     "step", agent)
        for agent in self.ended & set(after):
            self.odd(Oddity("agent-back", expected="gone until reset", actual="back"), "step",
                     agent)
        self.ended |= ends
        self.living = [agent for agent in after if agent not in self.ended]
        self._take(infos, "step")
        return Turn(self.obs, rewards, terminated, truncated, infos, not self.living)

    # -- what is odd about it

    def _check_seen(self, when: str, obs: ByAgent, infos: ByAgent) -> None:
        for agent, ob in obs.items():
            for oddity in space_checks.observation(self.observation_space(agent), ob):
                self.odd(oddity, when, agent)
            if agent in infos:
                for oddity in space_checks.info(infos[agent]):
                    self.odd(oddity, when, agent)

    def _check_turn(self, turn: Turn) -> None:
        self._check_seen("step", turn.obs, turn.infos)
        for agent, value in turn.rewards.items():
            for oddity in space_checks.reward(value):
                self.odd(oddity, "step", agent)
        for name, part in (("terminated", turn.terminated), ("truncated", turn.truncated)):
            for agent, value in part.items():
                for oddity in space_checks.ending(name, value):
                    self.odd(oddity, "step", agent)

    def render(self) -> Given:
        return self.call(RENDER, self.env.render)

    def close(self) -> None:
        if self.env is not self.desk.only:
            with suppress(EnvRaised):
                self.call(CLOSE, self.env.close)

    @property
    def inner(self) -> Given:
        """The environment without wrappers."""
        return getattr(self.env, "unwrapped", self.env)

    def places(self) -> dict[str, Place]:
        """Where its class and functions are, and "maker": what was named."""
        found = {}
        inner, maker = getattr(self.inner, "many", self.inner), self.desk.maker
        targets: dict[str, Given] = {name: getattr(type(inner), name, None) for name in (
            "reset", "step", "render", "close", "__init__")}
        targets |= {"class": type(inner),
                    "maker": maker.function() if maker.kind == CALLABLE else None}
        for name, target in targets.items():
            with suppress(TypeError, OSError):
                lines, line = inspect.getsourcelines(target)
                file = inspect.getsourcefile(target)
                line += next((number for number, text in enumerate(lines)
                              if text.lstrip().startswith(("def ", "class "))), 0)
                found[name] = Place(file, line)
        return found


def _truth(value: Given) -> bool:
    try:
        return bool(value)
    except (TypeError, ValueError):
        return bool(np.any(value))


def _form(value: Given) -> str:
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return type(value).__name__
