"""Play fresh envs until each has played its share.  a library, settings, a player -> Entries

A player is a function play(vec) that fills vec.actions. Envs that have played their share wait for
the others, where the library can step some envs alone.

A budget of agent steps may end a play early. Whatever is counted must not depend on what ends
soon, so envs leave in the order of their numbers: once CUT of the budget is spent only the first
quarter of them plays on and counts, and so on, down to the last ones. Where envs can wait for
others, as much is left as these need for the whole span, so that rates are measured over it: one
RESERVE-th of the budget at most, or half of it for one env.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..base.errors import RunError
from ..env.agent_slots import living
from ..env.child_pipe import Link
from ..env.copies import make_copies
from ..env.library import EnvLibrary, Library
from ..env.vec import VecEnv
from ..settings.values import Config
from .baselines import Player
from .entries import Entries
from .facing import paired_seeds

PATIENCE = 20           # times [eval] steps: the most ticks to wait for something to end
GAMES = 4               # entries of each agent, at least: first ones alone may be unlike the others
LEAST_ENVS = 8          # for an interval that says something
FEWEST = 4              # envs that play on where the budget is short, at most
RESERVE = 4             # one of so many steps is left for them
SLACK = 1.4             # times the expected cost, that a plan leaves room for
CUT = 0.75              # of the budget that is left, after which a quarter of the envs goes on
QUOTAS = ((32, 1), (128, 2))    # games below which an agent plays so many: rather more envs


@dataclass(frozen=True)
class Plan:
    """How much to play.

    envs        that play
    quota       entries of each agent
    span        ticks that rates are measured over, and to play where nothing ends
    most        ticks to play at all
    budget      agent steps that may be taken; inf: any number
    last        envs that play on where the budget is short ...
    reserve     ... and what is left for them
    rating      whether rates are wanted: then all envs play the span
    """

    envs: int
    quota: int
    span: int
    most: int
    budget: float = math.inf
    last: int = FEWEST
    reserve: float = 0.0
    rating: bool = False


def plan(resolved: Config, agents: int, *, least_envs: int = LEAST_ENVS) -> Plan:
    """What [eval] asks for.

    agents      of one env
    least_envs  if [vec] total_agents allows so many
    """
    evaluation = resolved.eval
    wanted = max(-(-evaluation.episodes // (GAMES * agents)), least_envs)
    envs = max(1, min(wanted, -(-resolved.vec.total_agents // agents)))
    quota = max(GAMES, -(-evaluation.episodes // (envs * agents)))
    return Plan(envs, quota, evaluation.steps, evaluation.steps * PATIENCE)


def within(whole: Plan, budget: float, agents: int, length: float, waits: bool) -> Plan:
    """As much of a plan as a budget of agent steps is expected to pay for.

    length      ticks that an episode is expected to take
    waits       whether envs can wait for others
    """
    each = agents * whole.span
    last = int(min(FEWEST, budget // (RESERVE * each)) or budget >= 2 * each) if waits else 0
    reserve = last * each
    games = int((budget - reserve) / (SLACK * agents * max(1.0, length)))
    quota = min(whole.quota, next((few for below, few in QUOTAS if games < below), GAMES))
    envs = min(whole.envs, max(2, games // quota))
    quota = min(whole.quota, max(quota, games // envs))
    return replace(whole, envs=envs, quota=quota, budget=budget, last=last or FEWEST,
                   reserve=reserve)


def for_rates(whole: Plan, budget: float, agents: int) -> Plan:
    """As many envs of a plan as a budget of agent steps pays the whole span for: of one alone, a
    shorter span."""
    span = int(min(whole.span, max(1, budget // agents)))
    envs = int(min(whole.envs, max(1, budget // (agents * span))))
    return replace(whole, envs=envs, span=span, budget=budget, last=envs, rating=True)


def may_wait(library: EnvLibrary, env_settings: Mapping[str, float]) -> bool:
    """Whether some envs can be stepped without the others."""
    return isinstance(library, Library) and not library.describe(env_settings).whole_steps


def make_envs(library: EnvLibrary, resolved: Config, link: Link, envs: int,
              seed: int | None = None, paired: bool = False) -> VecEnv:
    """So many fresh envs, as a VecEnv.

    link        watches the envs for the parent
    seed        of the envs; [eval] seed unless given
    paired      neighbours begin alike: facing.py
    """
    seed = resolved.eval.seed if seed is None else seed
    return make_copies(library, envs, link.watches(library.armed), seed=seed,
                       env_settings=resolved.env,
                       env_seeds=paired_seeds(seed, envs) if paired else None)


class Play:
    """One player in one vec, from its reset to the end of the plan.

    entries     what counted
    cost        agent steps taken
    """

    def __init__(self, vec: VecEnv, player: Player, plan: Plan, name: str,
                 counts: type[Entries] = Entries):
        """name: of the player, for errors; counts: Games, where two sides play"""
        self.vec, self.player, self.plan, self.name = vec, player, plan, name
        self.cost = 0
        self._may_wait = may_wait(vec.library, vec.env_settings)
        vec.reset()
        self.entries = counts(vec, plan.quota, plan.span, plan.rating)

    def run(self, stop: Callable[[], bool] = lambda: False,
            report: Callable[[Play], None] | None = None) -> Entries:
        """Play to the end, or until stop(). report: called now and then"""
        entries, plan = self.entries, self.plan
        free = plan.budget - plan.reserve
        limit = CUT * free
        while entries.tick < plan.most and not entries.over and not stop():
            agents = self._agents()
            if self.cost + agents > limit and entries.kept > plan.last:
                limit, before = limit + CUT * (free - limit), entries.kept
                entries.keep(max(plan.last, entries.kept // 4))
                if entries.kept < before:       # of a last pair none can be left out
                    continue
            if self.cost + agents > plan.budget:
                break
            self._step()
            self.cost += agents
            if report and entries.tick % 50 == 0:
                report(self)
        return entries

    def _waiting(self) -> np.ndarray:
        """(num_envs,) bool: envs that are not stepped."""
        return self.entries.waiting if self._may_wait else np.zeros(self.vec.num_envs, bool)

    def _agents(self) -> int:
        """That the next tick steps."""
        return int(self.entries.sizes[~self._waiting()].sum())

    def _step(self) -> None:
        vec, entries, waiting = self.vec, self.entries, self._waiting()
        self.player(vec)
        if waiting.any():
            vec.step_others(waiting)
        else:
            vec.step()
        self._check_finite()
        entries.look(waiting if waiting.any() else None)

    def _check_finite(self) -> None:
        """What the step that was just made wrote for agents that live, or lived before it."""
        vec, entries = self.vec, self.entries
        for name, rows, there in (("rewards", vec.rewards, entries.lived),
                                  ("observations", vec.observations, living(vec))):
            if rows.dtype.kind != "f" or np.isfinite(rows.sum()):
                continue
            bad = [place for place in np.argwhere(~np.isfinite(rows)) if there[place[0]]]
            if bad:
                agent = int(bad[0][0])
                env = int(entries.env_of[agent])
                raise RunError(f"{name} not finite: {float(rows[tuple(bad[0])])} in {self.name} "
                               "play", where=f"env {env}, seed {vec.env_seed(env)}, "
                               f"step {entries.tick + 1}, "
                               f"agent {agent - vec.first_row[env]} of that env",
                               hint="the environment wrote it; `puffer-sdk check` finds the line")
