"""What tests of the trainers share: settings, and envs that are made up.

    from helpers.ppo_fixtures import FakeVec, one_thread, settings      # noqa: F401
"""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from puffer_sdk.settings import torch_class
from puffer_sdk.training.reference.reference_ppo import TorchPPO

TRAIN = dict(seed=1, total_timesteps=10_000, learning_rate=0.02, anneal_lr=0, min_lr_ratio=0.0,
             gamma=0.9, gae_lambda=0.9, replay_ratio=1.0, clip_coef=0.2, vf_coef=2.0,
             vf_clip_coef=0.2, max_grad_norm=1.5, ent_coef=0.01, anneal_ent_coef=0,
             min_ent_coef_ratio=0.0, beta1=0.95, beta2=0.999, eps=1e-12, minibatch_size=32,
             horizon=8, vtrace_rho_clip=1.0, vtrace_c_clip=1.0, prio_alpha=0.8, prio_beta0=0.2,
             reward_clip=0.0, minibatch_carry=1, norm_adv=1, norm_returns=0, target_kl=0.0,
             obs_scale="auto", precision="fp32",
             async_=False, gpus=1)
ACTION_KINDS = {"discrete": (3,), "multi-discrete": (2, 3), "continuous": (1,), "mixed": (3, 1)}


@pytest.fixture(autouse=True)
def one_thread():
    """The tensors here are tiny, and a test machine is shared."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def settings(hidden_size=8, num_layers=2, encoder="flat", torch_class="", reset_state=0, **train):
    unknown = set(train) - set(TRAIN)
    assert not unknown, unknown
    return SimpleNamespace(
        train=SimpleNamespace(**{**TRAIN, **train}), base=SimpleNamespace(reset_state=reset_state),
        policy=SimpleNamespace(hidden_size=hidden_size, num_layers=num_layers,
                               encoder=encoder, torch_class=torch_class))


class FakeVec:
    """Random observations, rewards and endings, all drawn from the seed and nothing else."""

    def __init__(self, act_sizes=(3,), num_agents=8, obs_size=4, dtype=np.float32, seed=0,
                 end_chance=0.15, truncate_chance=0.3, mask=False, density=1.0, finals=False,
                 alive=False, waits=0.0):
        self.waits, self.rows = waits, []       # share of ticks on which an agent cannot act
        self.density = density                  # share of byte observations that may not be 0
        self.num_agents, self.obs_size, self.act_sizes = num_agents, obs_size, tuple(act_sizes)
        self.observations = np.zeros((num_agents, obs_size), dtype)
        self.actions = np.zeros((num_agents, len(act_sizes)), np.float32)
        self.rewards, self.terminals, self.truncations = np.zeros((3, num_agents), np.float32)
        self.action_mask = np.ones((num_agents, sum(act_sizes)), np.uint8) if mask else None
        self.final_observations = np.zeros((num_agents, obs_size), dtype) if finals else None
        self.has_final = np.zeros(num_agents, np.uint8) if finals else None
        self.alive = np.ones(num_agents, np.uint8) if alive else None
        self.end_chance, self.truncate_chance = end_chance, truncate_chance
        self.random = np.random.default_rng(seed)
        self.resets = 0

    def reset(self):
        self.resets += 1
        self.observe()
        return self.observations

    def step(self):
        self.rewards[:] = self.random.normal(size=self.num_agents)
        self.terminals[:] = self.random.random(self.num_agents) < self.end_chance
        cut = self.random.random(self.num_agents) < self.truncate_chance
        self.truncations[:] = self.terminals * cut
        if self.has_final is not None:          # two of three are there
            self.final_observations[:] = self.random.integers(0, 5, self.observations.shape)
            self.has_final[:] = cut * (self.random.random(self.num_agents) < 0.67)
        self.observe()
        return self.observations, self.rewards, self.terminals, self.truncations

    def observe(self):
        shape = self.observations.shape
        if self.alive is not None:              # a row never, one always, others for some ticks
            self.alive[:] ^= self.random.random(self.num_agents) < 0.15
            self.alive[[0, -1]] = 1, 0
        if self.observations.dtype == np.uint8:
            self.observations[:] = self.random.integers(0, 3, shape)
            if self.density < 1:
                self.observations[self.random.random(shape) >= self.density] = 0
        else:
            large = 1 if self.observations.dtype.kind == "f" else 40
            self.observations[:] = self.random.normal(size=shape) * large
        if self.action_mask is not None:
            self.action_mask[:] = self.random.random(self.action_mask.shape) < 0.5
            first = 0
            for width in self.act_sizes:
                self.action_mask[:, first + 1 if width > 1 else first] = 1
                first += width
            self.action_mask[self.random.random(self.num_agents) < self.waits] = 0
        if self.alive is not None:              # what stands in empty rows does not matter
            empty = self.alive == 0
            self.observations[empty] = 77 if self.observations.dtype.kind != "f" else np.nan
            self.rewards[empty & (self.random.random(self.num_agents) < 0.5)] += 50
            if self.action_mask is not None:
                self.action_mask[empty] = 0
        if self.waits:                          # whether a row holds this tick: (N,) each
            self.rows.append(self.action_mask.any(1) | (self.alive == 0 if self.alive is not None
                                                        else False))


class Recall(FakeVec):
    """A cue on the first tick of three, asked for on the last: only memory can earn the reward.

    A discrete head of width w must repeat its cue in 0..w-1; a continuous one must give the right
    sign. The reward is the mean over heads, 1 at best. `mask` makes action 0 illegal in every
    discrete head wider than 2.
    """

    LENGTH = 3

    def __init__(self, act_sizes, num_agents=64, seed=0, mask=False):
        cues = sum(max(width, 2) for width in act_sizes)
        super().__init__(act_sizes, num_agents, cues, seed=seed, mask=mask)
        self.masked = mask
        self.returns = []

    def observe(self):
        if not hasattr(self, "tick"):
            self.tick = self.random.integers(0, self.LENGTH, self.num_agents)    # out of phase
            self.cues = np.zeros((self.num_agents, len(self.act_sizes)), int)
        self.observations[:] = 0
        first = 0
        for head, width in enumerate(self.act_sizes):
            fresh = np.flatnonzero(self.tick == 0)
            low = 1 if self.masked and width > 2 else 0
            self.cues[fresh, head] = self.random.integers(low, max(width, 2), len(fresh))
            self.observations[fresh, first + self.cues[fresh, head]] = 1
            first += max(width, 2)
        if self.masked:
            self.action_mask[:] = 1
            starts = np.cumsum((0, *self.act_sizes[:-1]))
            self.action_mask[:, [s for s, w in zip(starts, self.act_sizes) if w > 2]] = 0

    def step(self):
        score = np.zeros(self.num_agents)
        for head, width in enumerate(self.act_sizes):
            action, cue = self.actions[:, head], self.cues[:, head]
            if width == 1:
                score += (action > 0) == (cue == 1)
            else:
                assert np.array_equal(action, np.round(action)) and (action < width).all()
                assert not self.masked or width == 2 or (action > 0).all()
                score += action == cue
        last = self.tick == self.LENGTH - 1
        self.rewards[:] = last * score / len(self.act_sizes)
        self.returns += self.rewards[last].tolist()
        self.terminals[:] = last
        self.tick = (self.tick + 1) % self.LENGTH
        self.observe()


def make_reference(act_sizes=(3,), vec=None, **changes) -> TorchPPO:
    """The reference trainer over `vec`, or over a FakeVec; with a class that an option named."""
    torch_class.name(changes.get("torch_class"), None)
    return TorchPPO(vec or FakeVec(act_sizes), settings(**changes))


def train_reference(epochs=1, **changes):
    """(trainer, metrics of the last epoch)"""
    trainer = make_reference((3, 1), **changes)
    for _ in range(epochs):
        trainer.rollout()
        metrics = trainer.update()
    return trainer, metrics
