"""What the training benchmarks share: a run until its goal, and a rate over some epochs."""
from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import puffer_sdk
from puffer_sdk.base import philox
from puffer_sdk.scoring.baselines import actor_player
from puffer_sdk.scoring.play_episodes import Play, make_envs, plan
from puffer_sdk.scoring.score import score_of
from puffer_sdk.settings.goal import Goal, parse_goal
from puffer_sdk.settings.values import Config
from puffer_sdk.training import backends
from puffer_sdk.training.log_window import Window
from puffer_sdk.training.native.network_flops import Network

WINDOW = 0.3            # seconds of training in one measurement of a rate
AGAIN = 1.05            # times the steps of a try that missed the goal, at which the next is due
PLAYED = 1_000_000      # seeds of what decides whether a goal is met, from here on
# breakout for a wide network or a GPU: larger batches than its ini's, which suit two cores
BREAKOUT = {"vec.total_agents": 1024, "policy.hidden_size": 32, "train.total_timesteps": 30_000_000,
            "train.minibatch_size": 8192, "train.replay_ratio": 1, "train.learning_rate": 0.02,
            "train.gamma": 0.995, "train.gae_lambda": 0.9, "train.clip_coef": 0.2,
            "train.ent_coef": 0.02, "train.vf_coef": 2, "train.max_grad_norm": 1.5,
            "train.beta1": 0.95}


@dataclass(frozen=True)
class Solved:
    """One run: when its goal was reached, or None, and how it went."""

    steps: int | None
    seconds: float | None
    sps: float


def open_trainer(env: str | Path, settings: Mapping[str, object],
                 prepare: Callable[[object], None] | None = None):
    """(VecEnv, NativePPO or TorchPPO) as `train` would make them, in this process.

    prepare     called with the VecEnv before the trainer is made
    """
    resolved = puffer_sdk.configure(env, settings)
    seed = philox.env_seed(resolved.train.seed, 0, 0)
    vec = puffer_sdk.make(env, total_agents=resolved.vec.total_agents, seed=seed,
                          threads=resolved.vec.num_threads, num_buffers=resolved.vec.num_buffers,
                          env_settings=resolved.env)
    if prepare:
        prepare(vec)
    return vec, backends.make_trainer(vec, resolved)


def close(vec, trainer) -> None:
    if hasattr(trainer, "close"):
        trainer.close()
    vec.close()


def solve(env: str | Path, settings: Mapping[str, object], seed: int, goal: str = "",
          prepare: Callable[[object], None] | None = None) -> Solved:
    """Train until the ini's goal (or `goal`) is met, or the run is over. Where the episodes that
    ended meet it, fresh episodes of the weights decide; their seconds do not count."""
    vec, trainer = open_trainer(env, {**settings, "train.seed": seed}, prepare)
    aim, window, reached = parse_goal(goal or trainer.config.eval.goal), Window(), False
    began, played, pause = time.perf_counter(), 0.0, 0
    while not trainer.finished and not reached:
        trainer.rollout()
        trainer.update()
        window.add(trainer.global_step, vec.log())
        if aim and window.full and aim.is_met(window.means[aim.name]) \
                and trainer.global_step >= pause:
            now = time.perf_counter()
            reached = is_met(aim, vec, trainer, seed)
            played += time.perf_counter() - now
            pause = trainer.global_step * AGAIN
    seconds = time.perf_counter() - began - played
    steps = trainer.global_step
    close(vec, trainer)
    return Solved(steps if reached else None, seconds if reached else None, steps / seconds)


def is_met(aim: Goal, vec, trainer, seed: int) -> bool:
    """Whether fresh episodes meet the goal, as many as [eval] asks for."""
    resolved, link = trainer.config, SimpleNamespace(watches=lambda armed: None)
    wanted = plan(resolved, vec.num_agents // vec.num_envs)
    with make_envs(vec.library, resolved, link, wanted.envs, PLAYED + seed) as fresh:
        player = actor_player(backends.make_actor(fresh, resolved, trainer.state_tensors(), seed))
        mean = score_of(Play(fresh, player, wanted, "trained").run(), "trained").mean
    return aim.name in mean and aim.is_met(mean[aim.name])


def rate(vec, trainer, looks: int = 3) -> float:
    """Agent steps a second: the median of some looks, rollout and update alike."""
    trainer.rollout()
    trainer.update()
    rates = []
    for _ in range(looks):
        began, steps = time.perf_counter(), 0
        while time.perf_counter() - began < WINDOW:
            trainer.rollout()
            trainer.update()
            steps += trainer.batch_size
        rates.append(steps / (time.perf_counter() - began))
    return statistics.median(rates)


def flops_per_step(resolved: Config, obs_size: int, act_sizes, dense: bool) -> float:
    """Multiplications and additions of all products for one agent step, trained on
    `replay_ratio` times. An encoder that skips zeros is not counted."""
    network = Network.of(obs_size, act_sizes, resolved.policy.hidden_size,
                         resolved.policy.num_layers)
    learned = resolved.train.replay_ratio
    by_phase = network.by_phase(1 + 1 / resolved.train.horizon,  # the bootstrap is one more tick
                                learned, learned / resolved.train.minibatch_size)
    return sum(flops for phase, flops in by_phase.items() if dense or "encoder" not in phase)
