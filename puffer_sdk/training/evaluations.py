"""Evaluations within a run.  weights after an epoch -> the best ones, "solved", the run's claim

Means over the episodes that ended in training say little about a policy: quick episodes end first,
and a policy that no longer loses ends none. So the weights play fresh envs, as eval plays:

    choosing    each EIGHTH of the run, if the window promises more, and each OFTEN-th where the
                budget pays for many games; and where the window meets the goal. The seeds are
                the same each time, so that two policies meet the same starts
    confirming  the goal, after the choosing evaluation met it, on seeds of its own
    the claim   at the end: the best weights, and random play, on seeds that chose nothing

The window is what triggers, never what is claimed. Counts alone decide, so that a resumed run
repeats everything: all evaluations together cost at most one SHARE-th of the steps done so far, and
those before the end half of that; one SHORT_SHARE-th where this pays for fewer than ENOUGH games.
Training's envs and random numbers are left alone.

Best weights give way to later ones, unless the later ones are worse by more than chance. In the
end the best, those at the peak of training's means and the last ones play on the same seeds.

Where episodes do not all end, policies are compared by what comes in 1000 ticks, over as many ticks
of every env. Whether they end is for the choosing evaluation to find: were it for the claim alone,
a claim in which all happened to end would say something else than the others.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypedDict

import numpy as np

from ..base.philox import MAX_SEED
from ..env.child_pipe import Link
from ..env.library import EnvLibrary
from ..env.seeds import mix_seed
from ..scoring import apart
from ..scoring.entries import STUCK
from ..scoring.games import MEASURES, is_for_sides
from ..scoring.play_episodes import (
    PATIENCE,
    SLACK,
    for_rates,
    may_wait,
    plan,
    within,
)
from ..scoring.score import ENDLESS, RATES, RETURN_RATE, Score, comparable, rates_of, score_of
from ..settings.goal import Goal, parse_goal
from ..settings.values import Config
from . import judging
from .log_window import Window
from .looks import Look, State, is_less, kept_of, length_of, of_envs, without_episodes
from .opponent_pool import rivals_in
from .run_records import Facts, KeptState, Reached

SHARE = 20              # evaluations take at most one of so many steps ...
SHORT_SHARE = 5         # ... or of so many, until they have paid for ...
ENOUGH = 128            # ... so many games
EIGHTH = 8              # of the run, between two choosing evaluations ...
OFTEN = 32              # ... or such a part of it, where that is no burden
PLAYED_RATE = "played_rate"     # of looks: rewards of 1000 ticks, of all that an env played
LACKING = 0.1           # of all agents may have ended no episode where training's means count
PEAKS = 64              # of the run, between two weights that are kept for the end at least
GOAL_PAUSE = 64         # of the run, at least, after a goal that was not confirmed ...
GOAL_SHARE = 3 / 4      # of all evaluations: those before the end, where a goal may end the run
GOAL_FACTOR = 1.25      # ... and so many times the steps of that try
CHOOSING = 64           # envs that choose, at most; a game of each agent
TICK = 128              # agent steps that take as long as a tick of few agents, about; in C
FEWEST_GAMES = 8        # that a budget must be expected to pay for before the end
FEWEST_ENVS = 2         # likewise: one alone has no interval
LEAST_SHARE = 1 / 6     # of what is left at the end, for each that may be the best
CLAIM_SHARE = 0.75      # of what is left then, for the claim; the rest is for random play
ORDER = ("perf", "score", "episode_return")     # what is compared, after what the goal names
Weights = Mapping[str, np.ndarray]


class Found(TypedDict):
    """What rank 0 found, for all ranks."""

    row: dict[str, float]
    state: KeptState


class Evaluations:
    """Those of one run, for its worker.

    config      settings of the whole run
    leads       whether this rank plays; the others take over what it found (share)
    """

    def __init__(self, config: Config, library: EnvLibrary, link: Link,
                 share: Callable[[Found | None], Found], leads: bool):
        """share: what rank 0 found, on all ranks"""
        self.config, self.link, self.share, self.leads = config, link, share, leads
        self.goal: Goal | None = parse_goal(config.eval.goal)
        self.state = State()
        self.rivals: list[Weights] = []         # earlier weights that policies meet
        with apart.own_random(0):
            self.library = apart.copy_of(library)
            watches = link.watches(library.armed)
            self.agents = self.library.agents_per_env(config.env, watches)      # of one env
            self.for_sides = is_for_sides(self.library, config, link, self.agents)
        order = MEASURES if self.for_sides else ORDER
        self.names = [self.goal.name, *order] if self.goal and (
            not self.for_sides or self.goal.name in MEASURES) else list(order)
        self.plan = plan(config, self.agents)
        self.may_wait = may_wait(self.library, config.env)
        most = self.plan.envs if config.of_python else -(-config.vec.total_agents // self.agents)
        self.choosing = replace(self.plan, envs=min(most, CHOOSING), quota=1)

    def add_facts(self, facts: Facts) -> None:
        """Add the state, when the goal was confirmed, and the claim, if it is of these weights."""
        claim = self.state.claim
        facts["evaluations"] = self.state.kept()
        if self.met:
            facts["goal"] = self.met
        if claim and claim["step"] == facts["step"]:
            facts["evaluation"] = claim

    @property
    def met(self) -> Reached | None:
        """When this goal was confirmed; None if it was not."""
        met = self.state.goal
        return met if met and self.goal and met["goal"] == str(self.goal) else None

    # -- when

    def begin(self) -> None:
        """Training's envs have just started: what they had begun is cut."""
        self.state.noted, self.state.entries, self.state.logged = 0, 0.0, 0.0

    def note(self, log: Mapping[str, float], steps: int) -> None:
        """An epoch of training, of so many agent steps, logged this."""
        self.state.note(log, steps, self.config.train.total_timesteps / EIGHTH)

    @property
    def metric(self) -> str:
        """What policies are compared by: what the goal names, perf, score or the return."""
        return self.state.compared(self.names)[0]

    @property
    def sign(self) -> float:
        return -1.0 if self.goal and self.goal.name == self.metric and not self.goal.at_least \
            else 1.0

    def due(self, step: int, window: Window) -> str | None:
        """What to evaluate after this epoch: "goal", "best" or nothing."""
        state, goal, total = self.state, self.goal, self.config.train.total_timesteps
        credit = self.credit(step, window)
        looks = credit / self.price(FEWEST_GAMES, step, window)     # that it pays for
        value = window.means.get(goal.name) if goal and window.full else None
        if goal and value is not None and looks >= 2 and not self.met and goal.is_met(value) \
                and step >= state.pause:
            return "goal"
        if looks < 1:
            return None
        ticks = 0.0 if self.config.of_python else self.expected(step, window)
        pause = OFTEN if credit >= 2 * self.price(CHOOSING, step, window) else EIGHTH
        if step - state.looked < max(total / pause, 2 * SHARE * TICK * ticks):
            return None
        value = window.means.get(self.metric) if window.full else None
        promises = value is None or state.promise is None \
            or self.sign * value > self.sign * state.promise
        return "best" if promises else None

    def allowed(self, step: int, window: Window) -> float:
        """Agent steps that all evaluations together may take, after so many of training."""
        enough = ENOUGH * self.agents * self.expected(step, window)
        return max(step / SHARE, min(step / SHORT_SHARE, enough))

    def is_peak(self, step: int, window: Window, lacking: int) -> bool:
        """Whether training's means promise as much as ever, and leave few agents out, so that these
        weights play in the end: a task may be unlearned before a budget pays for an evaluation."""
        few = lacking <= LACKING * self.config.vec.total_agents
        value, pause = window.means.get(self.metric), self.config.train.total_timesteps / PEAKS
        return window.full and few and value is not None and self.state.is_peak(
            step, self.metric, self.sign * value, pause)

    def credit(self, step: int, window: Window) -> float:
        """Agent steps that evaluations before the end may take now: more where they may end it."""
        share = GOAL_SHARE if self.config.train.stop_at_goal else 1 / 2
        return share * self.allowed(step, window) - self.state.spent

    @property
    def tail(self) -> float:
        """How long all envs play over an episode's length: the longest one's, if none can wait."""
        return 1.0 if self.may_wait else self.state.tail

    def price(self, games: int, step: int, window: Window) -> float:
        """Agent steps that so many games are expected to take."""
        envs = max(FEWEST_ENVS, -(-games // self.agents))
        of_episodes = SLACK * self.tail * envs * self.agents * self.expected(step, window)
        return max(of_episodes, self.price_of_rates) if self.wants_rates(window) else of_episodes

    def wants_rates(self, window: Window) -> bool:
        """Whether episodes may not all end: by the last evaluation, or by the training, where the
        agents' latest episodes have gone on for much longer than those that ended. Were they like
        these, they would be half to one length old, unless lengths differ much."""
        state, length = self.state, window.means.get("episode_length", 0.0)
        if state.endless or not window.total:
            return True
        each = self.agents if state.logged * self.agents <= state.noted else 1  # a game, an agent
        age = (state.noted - state.logged * each) / self.config.vec.total_agents
        return length > 0 and age > STUCK * length

    @property
    def price_of_rates(self) -> float:
        """Agent steps of the fewest envs that rates can be compared in."""
        return FEWEST_ENVS * self.agents * self.plan.span

    def expected(self, step: int, window: Window) -> float:
        """Ticks that an episode is expected to take: what the last evaluation saw, or more where
        training logs longer ones since. Without an evaluation, what training did."""
        logged = window.means.get("episode_length", 0.0)
        if self.state.length:
            return max(self.state.length, logged)
        games = window.total * self.agents or self.config.vec.total_agents  # one entry a game
        return max(1.0, logged, step / games)

    # -- what

    def after_epoch(self, step: int, seconds: float, window: Window,
                    tensors: Callable[[], Weights], best: Callable[[], Weights | None]
                    ) -> dict[str, float] | None:
        """Evaluate, if it is time. Returns what to log, or None; "best": these weights are it now.

        tensors     returns the weights, by name
        best        returns the best weights that were kept, or None where there are none
        """
        why = self.due(step, window)
        if why is None:
            return None
        return self._together(lambda: self._choose(why, step, seconds, window, tensors(), best))

    def finish(self, step: int, seconds: float, window: Window, tensors: Callable[[], Weights],
               best: Callable[[], Weights | None], peak: Callable[[], Weights | None] = lambda: None
               ) -> dict[str, float]:
        """The claim. Returns what to log; "best" or "peak": the last weights are, or the peak's."""
        return self._together(lambda: self._finish(step, seconds, window, tensors(), best(),
                                                   peak()))

    def _together(self, work: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Rank 0 works; all have its state then."""
        found = self.share({"row": work(), "state": self.state.kept()} if self.leads else None)
        self.state = State.of(found["state"])
        return found["row"]

    def _choose(self, why: str, step: int, seconds: float, window: Window, tensors: Weights,
                best: Callable[[], Weights | None]) -> dict[str, float]:
        state, credit = self.state, self.credit(step, window)
        budget = max(credit / 2, min(credit, self.price(FEWEST_GAMES, step, window)))
        known, self.rivals = state.best, rivals_in(tensors)
        if known and len(self.rivals) != state.rivals and (kept := best()):     # others to meet
            state.best = kept_of(self._look(0, known["step"], kept, budget, window))
        state.rivals = len(self.rivals)
        look = self._look(0, step, tensors, budget, window)
        state.looked, state.promise = step, window.means.get(self.metric)
        row = self._row("eval", look.score)
        if not self.is_worse(look, lambda: self._best_rated(
                best, self.credit(step, window), window)):
            state.best, row["best"] = kept_of(look), True
        if why == "goal":
            state.attempts += 1
            second = self.meets(look.score) and self._look(
                1 + state.attempts, step, tensors, self.credit(step, window), window)
            if second and self.meets(second.score):
                state.goal = {"goal": str(self.goal), "step": step, "seconds": seconds}
            else:
                pause = self.config.train.total_timesteps / GOAL_PAUSE
                state.pause = int(max(GOAL_FACTOR * step, step + pause))
        return row

    def _finish(self, step: int, seconds: float, window: Window, tensors: Weights,
                best: Weights | None, peak: Weights | None) -> dict[str, float]:
        state, allowed = self.state, self.allowed(step, window)
        self.rivals = rivals_in(tensors)
        share = LEAST_SHARE * (allowed - state.spent)
        found = ((state.peak, peak), (state.best, best))
        rivals = {each["step"]: kept for each, kept in found if each and kept} | {step: tensors}
        last, chosen = None, state.best["step"] if state.best else 0
        if len(rivals) > 1 or chosen != step:
            surely = not state.has_lost(self.metric, self.sign, window.means)
            state.best = None           # all play the same again: as many envs, as many ticks
            for at in sorted(rivals):
                last = self._look(0, at, rivals[at], share, window)
                if not self.is_worse(last, lambda: None, surely):
                    state.best, chosen = kept_of(last), at
        left, endless = allowed - state.spent, state.endless
        share = (1 - CLAIM_SHARE) * left
        if endless:
            share = min(max(share, self.agents * self.plan.span), left / 2)
        claim = self._look(1, chosen, rivals[chosen], left - share, window)
        endless = endless or not claim.score.settled
        random = self._look(1, 0, None, allowed - state.spent, window, endless, claim.score.span)
        if not self.met and self.goal and self.meets(claim.score) \
                and (last is None or chosen != step or self.meets(last.score)):
            state.goal = {"goal": str(self.goal), "step": claim.step, "seconds": seconds}
        state.claim = {
            "step": claim.step, "metric": self.metric, "least": self.sign < 0, "shown": claim.shown,
            "unmoved": self.state.compared(self.names)[1], "rated": endless,
            "trained": without_episodes(claim.score), "random": without_episodes(random.score)}
        if last and chosen != step:
            state.claim |= {"last": without_episodes(last.score), "last_step": step}
        return {**self._row("claim", claim.score), "claim/step": claim.step,
                **({"best": True} if chosen == step else {}),
                **({"peak": True} if state.peak and chosen == state.peak["step"] < step else {})}

    def _row(self, kind: str, score: Score) -> dict[str, float]:
        [score] = comparable([score])
        found = {f"{kind}/{name}": mean for name, mean in score.mean.items() if mean is not None}
        found |= {f"{kind}/{name}_interval": half for name, half in score.interval.items()
                  if half is not None}
        return {**found, f"{kind}/n": score.count, f"{kind}/unfinished": score.unfinished,
                f"{kind}/steps": self.state.spent}

    # -- one evaluation

    def _look(self, kind: int, step: int, tensors: Mapping[str, np.ndarray] | None, budget: float,
              window: Window, rating: bool | None = None, span: int = 0) -> Look:
        """Play.

        kind        0: the seeds that choose, 1: that claim, 2, 3, ...: that confirm
        tensors     the weights; None: random play
        rating      whether rates are wanted; None: where episodes do not all end, by the last
                    evaluation that chose, or perhaps do not, where this one chooses
        span        that they are to be of; 0: [eval] steps
        """
        config = self.config
        if rating is None:
            rating = self.state.endless if kind else \
                self.wants_rates(window) and budget >= self.price_of_rates
        seed = mix_seed(mix_seed(config.eval.seed, config.train.seed), kind) % (MAX_SEED + 1)
        with apart.own_random(seed):
            whole = self.choosing if kind == 0 else self.plan
            if tensors is None:
                whole = replace(whole, envs=min(whole.envs, CHOOSING), span=span or whole.span)
            length = tensors is None and self.state.began or self.expected(step or 1, window)
            budget = max(0.0, budget)
            chosen = for_rates(whole, budget, self.agents) if rating else within(
                whole, budget, self.agents, self.tail * length, self.may_wait)
            play, watched, met = judging.play(
                self.library, config, self.link, chosen, tensors, seed, for_sides=self.for_sides,
                watches=kind == 1, rivals=self.rivals)
        entries = play.entries
        self.state.spent += play.cost
        score = score_of(entries, play.name, met)
        if tensors is not None:
            self.state.length = length_of(entries, length, config.eval.steps / self.plan.quota)
            lengths = [each["episode_length"] for each in entries.episodes]
            if lengths:
                self.state.tail = max(lengths) / float(np.mean(lengths))
            self.state.endless = entries.goes_on(window.means.get("episode_length", 0.0)) \
                and not (score.settled and score.unit == ENDLESS)
            for pick in (min, max):
                self.state.note_spans({
                    name: pick(each.get(name, mean) for each in score.episodes) for name, mean in
                    score.mean.items() if name not in RATES and mean is not None})
        found = of_envs(entries, [self.metric, *self.names])
        found[PLAYED_RATE] = rates_of(entries)[RETURN_RATE].tolist()
        if score.span == whole.span:
            found[RETURN_RATE] = found[PLAYED_RATE]
        return Look(step, score, found, watched.shown())

    # -- what follows

    def meets(self, score: Score) -> bool:
        """Whether the goal is met. A few episodes meet nothing, and neither do means over some of
        them alone, unless the others were waited for as long as eval waits."""
        long = score.ticks >= PATIENCE * self.config.eval.steps
        mean = score.mean.get(self.goal.name) if self.goal else None
        return bool(self.goal and mean is not None and self.goal.is_met(mean)
                    and (not score.unfinished or long) and score.count >= FEWEST_GAMES)

    def _best_rated(self, best: Callable[[], Weights | None], budget: float, window: Window
                    ) -> None:
        """Play the best weights for the whole span, if the budget pays for it."""
        known = self.state.best
        if known and budget >= self.price_of_rates and (kept := best()):
            look = self._look(0, known["step"], kept, budget, window, rating=True)
            self.state.best = kept_of(look)

    def is_worse(self, look: Look, rate_best: Callable[[], None], surely: bool = True) -> bool:
        """Whether a look is worse than the best so far, by more than chance or, not surely, by
        anything. rate_best is called where that takes rates of the best that were not played."""
        best, metric, sign = self.state.best, self.metric, self.sign
        if best is None:
            return False
        if not (look.score.settled and Score(**best["score"]).settled):
            metric, sign = RETURN_RATE, 1.0
            if RETURN_RATE in look.of_envs and RETURN_RATE not in best["of_envs"]:
                rate_best()
            best = self.state.best or best
            if not (RETURN_RATE in look.of_envs and RETURN_RATE in best["of_envs"]):
                metric = PLAYED_RATE    # of as many ticks as each had: no budget for more
        return is_less(look.of_envs.get(metric, ()), best["of_envs"].get(metric, ()), sign,
                       surely)
