"""Is there anything to learn, and do the observations carry it?  Facts -> facts.learning

Two policies are trained for some seconds: a normal one, and one whose agents see what agents of
another env see. Both then play the same episodes as random play, as doing nothing, and as each
action held for ever; rules/learning.py compares the scores. Lengths depend on sizes and on the
coarse cost of a step, so the same source trains on the same steps on every machine.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product
from typing import TYPE_CHECKING

from ....base import paths
from ....base.errors import BadNumber, Interrupted, RunError, UsageError
from ....env import build, child_process, encoder_choice
from ....env.child_pipe import Link
from ....env.job import EnvJob
from ....scoring.baselines import Player, actor_player, random_player, same_actions
from ....scoring.entries import Entries
from ....scoring.facing import facing, paired_seeds
from ....scoring.games import Games, is_for_sides
from ....settings.encoder import FLAT
from ....settings.texts import parse_action
from ....settings.values import Config
from ....training import backends
from ....training.looks import of_envs
from ....training.native.network_flops import Network
from ...core.fact_kinds import CostFact
from ...core.facts import Facts, Learning
from ...core.result import LearningScore, LearningSummary
from .blind_vec import Blind
from .sizes import cost_class

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ....env.library import Description
    from ....env.vec import VecEnv

    Tensors = Mapping[str, NDArray[np.generic]]
    Make = Callable[[VecEnv], Player]

SECONDS = 12.0          # of the whole probe, on the machine that the constants below describe
TRAINING = 0.4          # of them for each of the two trainings
EPOCHS = 48             # of a training: so often it looks at what it did
COST = {                # of each trainer: FLOP/s in small matrix products, and the seconds that
    "native": (1.6e11, 1e-6),   # an agent's step costs besides the products and the env
    "torch": (4e10, 4e-6)}
HIDDEN, LAYERS = 64, 1  # the probe's network; a [policy] torch_class keeps its own
TICKS = 1024            # of an evaluation, at most
EPISODES = 4            # of each agent that count
AGENTS = 512            # in an evaluation, at most
CONSTANTS = 24          # held actions that are tried, at most
RANDOM, IDLE, TRAINED, BLIND = "random", "idle", "trained", "trained blind"


def probe(facts: Facts, seconds: float, on_progress: Callable[[str, int, int], None],
          verbose: bool = False) -> None:
    """Fill facts.learning: {"steps", "unit", "scores": {name: [mean of each env]}}; or
    {"skipped": why}; or, where training met a number that is not finite, {"nan": in words, "row",
    "element", "value"}: see BadNumber."""
    if facts.outcome("probe") is None:
        facts.learning = {"skipped": "the environment did not survive its first steps"}
        return
    built = build.build(facts.folder, verbose=verbose)
    try:
        config, step_cost = sizes(facts, seconds)
        config = backends.require(config, verbose=verbose)
    except UsageError as error:         # no PyTorch for its network; an encoder of another row
        facts.learning = {"skipped": f"{error.message}: {error.hint}"}
        return
    job = LearningJob.of(built, config, unit=facts.shape.agents,
                         agents=evaluation_agents(facts, seconds, step_cost))

    def on_event(kind: str, payload: child_process.Payload) -> None:
        if kind == "progress":
            on_progress(payload["what"], payload["done"], payload["total"])

    try:
        facts.learning = child_process.run(f"{__name__}:work", job, on_event,
                                       cwd=paths.working_dir(facts.folder),
                                       step_timeout=config.vec.step_timeout)
    except Interrupted:
        raise
    except RunError as error:           # other rules say what is wrong with such an env
        facts.learning = {"skipped": f"the probe did not come to its end: {error.message}"}


def sizes(facts: Facts, seconds: float) -> tuple[Config, float]:
    """Settings of one training that takes its share of the seconds; seconds of an env's step."""
    config, shape = replace(facts.config, train=replace(facts.config.train, device="cpu")), \
        facts.shape
    config = encoder_choice.resolve(config, shape.obs_size, lambda: facts.row)
    cost = facts.fact("probe", CostFact)
    step_cost = cost_class(cost.seconds if cost else None)
    policy = config.policy
    if not policy.torch_class:
        policy = replace(policy, hidden_size=min(policy.hidden_size, HIDDEN),
                         num_layers=min(policy.num_layers, LAYERS))
    network = Network.of(shape.obs_size, facts.known_spec.act_widths or (4,), policy.hidden_size,
                         policy.num_layers, FLAT if policy.torch_class else policy.encoder)
    forward = network.encoder + network.body + network.decoder      # FLOP of a row
    backend = "torch" if policy.torch_class else "native"
    flops, overhead = COST[backend]
    each = overhead + 4 * forward / flops + step_cost / shape.env_agents
    steps = 1 << int(math.log2(max(1 << 14, seconds * TRAINING / each)))
    unit, horizon = shape.agents, min(config.train.horizon, 64)
    envs = max(4, min(steps // EPOCHS // horizon, config.vec.total_agents) // unit)
    batch = envs * unit * horizon
    minibatch = max(1, min(config.train.minibatch_size, batch // 4) // horizon) * horizon
    train = replace(config.train, total_timesteps=max(steps, batch), horizon=horizon,
                    minibatch_size=minibatch, seed=facts.seed, async_=False,
                    precision="fp32", backend=backend)
    vec = replace(config.vec, total_agents=envs * unit, num_buffers=1, device="cpu")
    return replace(config, policy=policy, train=train, vec=vec), step_cost


def evaluation_agents(facts: Facts, seconds: float, step_cost: float) -> int:
    """As many as play in a tenth of the seconds, in whole envs; eight envs at least."""
    unit, per_env = facts.shape.agents, facts.shape.env_agents
    envs = int(0.1 * seconds / (TICKS * 8 * step_cost))
    units = min(envs * per_env, AGENTS) // unit
    return max(8 * per_env // unit, units, 2) * unit


# -- in the child ------------------------------------------------------------------


@dataclass(frozen=True)
class LearningJob(EnvJob):
    """What the child needs to train and play."""

    unit: int       # agents that are created together
    agents: int     # in an evaluation


def work(job: LearningJob, link: Link) -> Learning:
    """The child's target: scores of all players, or what was not finite."""
    return _Probe(job, link).run()


class _Probe:
    def __init__(self, job: LearningJob, link: Link):
        self.job, self.link = job, link
        self.config, self.library = job.config, job.open()
        self.watches = link.watches()
        self.for_sides = is_for_sides(self.library, self.config, link,
                                      self.library.agents_per_env(self.config.env, self.watches))
        self.step = 0

    def run(self) -> Learning:
        try:
            weights = {TRAINED: self.train(False), BLIND: self.train(True)}
            scores: dict[str, list[float]] = {}
            ended = []
            players: list[tuple[str, Make]] = [
                (RANDOM, self.random_player), (IDLE, self.constant(self.idle())),
                *self.constants(), *((name, self.policy_player(tensors, name == BLIND))
                                     for name, tensors in weights.items())]
            for number, (name, make) in enumerate(players):
                self.link.emit("progress", what="playing", done=number, total=len(players))
                scores[name], any_ended = self.play(make)
                ended.append(any_ended)
        except BadNumber as error:
            return {"nan": error.message, "step": self.step, "row": error.row,
                    "element": error.element,
                    "value": None if error.value is None else f"{error.value:g}"}
        return {"steps": self.config.train.total_timesteps,
                "unit": ("return per episode" if any(ended) else f"return in {TICKS} ticks")
                + ", against random play" * self.for_sides,
                "masked": self.about().mask_size > 0, "scores": scores}

    # -- training

    def make_vec(self, agents: int, seed: int, seeds: list[int] | None = None) -> VecEnv:
        from ....env.vec import VecEnv

        return VecEnv(self.library, total_agents=agents, seed=seed,
                      threads=min(self.config.vec.num_threads, 2), adaptive=True,
                      env_settings=self.config.env, watches=self.watches, env_seeds=seeds)

    def train(self, blind: bool) -> Tensors:
        seed = self.config.train.seed
        vec = self.make_vec(self.config.vec.total_agents, seed)
        trainer = backends.make_trainer(Blind(vec, self.job.unit, seed) if blind else vec,
                                        self.config)
        while not (trainer.finished or self.link.stop):
            trainer.rollout()
            trainer.update()
            self.step = trainer.global_step
            self.link.emit("progress", what=BLIND if blind else TRAINED, done=trainer.epoch,
                           total=trainer.total_epochs)
        vec.close()
        tensors: Tensors = trainer.state_tensors()
        return tensors

    # -- playing

    def play(self, make_player: Make) -> tuple[list[float], bool]:
        """Mean return of each env over the first episodes that it logs; whether any ended.

        Where it has teams, random play has the other ones. Where the env logs no return it is
        measured, from ending to ending. An env that comes to no end counts with what its agents got
        in TICKS ticks.
        """
        seed = self.config.train.seed + 1
        vec = self.make_vec(self.job.agents, seed,
                            paired_seeds(seed, self.job.agents) if self.for_sides else None)
        vec.reset()
        player: Player = facing([lambda rows, _: make_player(rows), random_player])(
            vec, self.config) if self.for_sides else make_player(vec)
        entries = (Games if self.for_sides else Entries)(vec, EPISODES, TICKS)
        for _ in range(TICKS):
            player(vec)
            vec.step()
            if not math.isfinite(float(vec.rewards[entries.lived].sum())):
                raise BadNumber("rewards are not finite in play")
            entries.look()
            if entries.done.all():
                break
        vec.close()
        return returns_of_envs(entries), bool(entries.ended.any())

    def random_player(self, vec: VecEnv) -> Player:
        return random_player(vec, self.config)

    def idle(self) -> tuple[float, ...]:
        text = self.config.eval.idle_action
        return parse_action(text) if text else (0.0,) * len(self.about().act_sizes)

    def about(self) -> Description:
        return self.library.describe(self.config.env)

    def constants(self) -> Iterator[tuple[str, Make]]:
        """Held actions: all of them where they are few, else one head moved at a time."""
        widths = self.about().act_sizes
        values = [(-1.0, 0.0, 1.0) if width == 1 else tuple(map(float, range(width)))
                  for width in widths]
        actions: Iterable[tuple[float, ...]]
        if math.prod(map(len, values)) <= CONSTANTS:
            actions = product(*values)
        else:
            idle = self.idle()
            actions = dict.fromkeys(
                (*idle[:head], value, *idle[head + 1:])
                for value in range(-1, max(widths)) for head in range(len(widths))
                if value in values[head])
        for action in islice(actions, CONSTANTS):
            yield "{" + ", ".join(f"{value:g}" for value in action) + "}", self.constant(action)

    @staticmethod
    def constant(action: tuple[float, ...]) -> Make:
        """Makes the player of one action; where a mask forbids it, the next that it allows."""
        def make(vec: VecEnv) -> Player:
            def play(vec: VecEnv) -> None:
                vec.actions[:] = same_actions(vec, action)
            return play
        return make

    def policy_player(self, tensors: Tensors, blind: bool) -> Make:
        def make(vec: VecEnv) -> Player:
            actor = backends.make_actor(vec, self.config, tensors, self.config.train.seed + 1)
            eyes = Blind(vec, self.job.unit, 1) if blind else None
            player = actor_player(actor, eyes.observations if eyes else None)

            def play(vec: VecEnv) -> None:
                if eyes:
                    eyes.mix()
                player(vec)
            return play
        return make


def returns_of_envs(entries: Entries) -> list[float]:
    """Mean return of each env's agents: of its entries, or of the whole play where nothing ends. Of
    games between two sides, that of side 0 in each pair of envs."""
    import numpy as np

    if isinstance(entries, Games):
        name = "episode_return"
        return [value for value in of_envs(entries, [name])[name] if value is not None]
    means = (np.add.reduceat(entries.earned, entries.vec.first_row[:-1])
             / entries.agents_of_envs.clip(1))
    if entries.ended.any():
        sums, weights = np.zeros_like(means), np.zeros_like(means)
        for entry in entries.counted:
            value = entry.get("episode_return", math.nan)
            if math.isfinite(value):
                sums[entry["env"]] += entry["n"] * value
                weights[entry["env"]] += entry["n"]
        means = np.where(weights > 0, sums / np.maximum(weights, 1e-9), means)
    return [float(mean) for mean in means]


# -- what follows from the scores -----------------------------------------------------


WORDS = {
    "learns": "There is something to learn here, and the observations carry it.",
    "random": "So far nothing was learned: the policy does no better than random play.",
    "constant": "What was learned needs no eyes: one action held for ever does as well.",
    "blind": "The observations carried nothing: shown another env's, it does as well."}


def verdict(found: Learning) -> str:
    """A key of WORDS. The first that holds: no better than random, constant, blind play.

    Where the env masks actions, a blind policy still has its own mask, and tells nothing.
    """
    scores = found["scores"]
    for word, other in (("random", RANDOM), ("constant", best_constant(scores)),
                        ("blind", BLIND)):
        if word == "blind" and found["masked"]:
            continue
        if not is_better(scores[TRAINED], scores[other]):
            return word
    return "learns"


def best_constant(scores: dict[str, list[float]]) -> str:
    """The name of the held action with the highest mean; the idle one where there is no other."""
    held = [name for name in scores if name.startswith("{")] or [IDLE]
    return max(held, key=lambda name: math.fsum(scores[name]))


def is_better(one: list[float], other: list[float]) -> bool:
    """Whether one scores more than the other: 95 %, by t over pairs of envs with equal seeds."""
    import numpy as np

    from ....scoring.intervals import clustered_mean

    gaps = np.subtract(one, other)
    gap, half = clustered_mean(gaps, range(len(gaps)))
    return gap > max(half or 0.0, 1e-6 * (1 + abs(float(np.mean(other)))))


def summary(found: Learning | None) -> LearningSummary | None:
    """What the report and the JSON document say of the probe."""
    from ....scoring.intervals import clustered_mean

    if found is None:
        return None
    if "skipped" in found:
        return {"skipped": found["skipped"]}
    if "nan" in found:
        return {"nan": found["nan"], "step": found["step"], "row": found["row"],
                "element": found["element"], "value": found["value"]}
    scores = found["scores"]
    best = best_constant(scores)
    table: dict[str, LearningScore] = {}
    for name in (RANDOM, IDLE, best, TRAINED, BLIND):
        mean, half = clustered_mean(scores[name], range(len(scores[name])))
        title = f"always {name}" if name.startswith("{") else name
        table[title] = {"mean": round(mean, 6), "interval": round(half or 0.0, 6)}
    return {"steps": found["steps"], "unit": found["unit"], "verdict": verdict(found),
            "scores": table}


def lines(found: LearningSummary) -> Iterator[tuple[str, str | None]]:
    """The table of a summary, and its verdict in plain words."""
    if "scores" not in found:
        return                          # the rules say why
    yield f"trained on {found['steps']:,} steps; {found['unit']}:", None
    for name, score in found["scores"].items():
        note = "  (shown what another env sees)" if name == BLIND else ""
        yield f"  {name:<16}{score['mean']:>10.4g} ± {score['interval']:<9.3g}{note}".rstrip(), None
    yield WORDS[found["verdict"]], "green" if found["verdict"] == "learns" else "yellow"
