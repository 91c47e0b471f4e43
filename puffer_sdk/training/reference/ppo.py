"""Recurrent PPO.  a VecEnv, settings -> rollouts, advantages, loss, updated weights

Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
S segments in a minibatch. One row of a buffer holds what belongs to one (agent, tick): the
observation, the action chosen on it, and the reward and ending which that action caused.
"""
from __future__ import annotations

import math
import time
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from ...base import philox
from ...base.errors import RunError
from ...base.philox import Purpose
from ..schedules import (
    ENV_HINT,
    LOSSES,
    SCALE_HINT,
    Schedules,
    check_same_envs,
    check_sizes,
    check_tensors,
)
from .actions import Actor, apply_mask
from .finite import raise_if_bad, weights_of
from .muon import Muon
from .policy import build_policy, copy_by_name

# ---- advantages and segments ------------------------------------------------------------------

def advantages(rewards: Tensor, values: Tensor, bootstrap: Tensor, ended: Tensor, truncated: Tensor,
               ratio: Tensor, gamma: float, gae_lambda: float, rho_clip: float,
               c_clip: float) -> Tensor:
    """GAE with V-trace clipping, for every horizon. bootstrap is (N,), all other tensors (N, T).

    The value after a tick is that of the next tick, or `bootstrap` after the last one. Where a time
    limit truncated the episode, it is the value of the last state seen; where it ended, 0.
    """
    following = torch.cat([values[:, 1:], bootstrap.unsqueeze(1)], 1)
    following = torch.where(ended, torch.where(truncated, values, 0), following)
    delta = ratio.clamp(max=rho_clip) * (rewards + gamma * following - values)
    decay = gamma * gae_lambda * ratio.clamp(max=c_clip) * ~ended
    delta, decay = delta.T.contiguous(), decay.T.contiguous()       # (T, N): a tick is one row
    for t in range(len(delta) - 2, -1, -1):
        delta[t].addcmul_(decay[t], delta[t + 1])
    return delta.T


def segment_probabilities(advantage: Tensor, alpha: float) -> np.ndarray:
    """(N,) float64: p_i ~ (sum_t |A_it|)^alpha + 1e-6, never 0."""
    weight = advantage.abs().sum(1).cpu().double().numpy() ** alpha + 1e-6
    return weight / weight.sum()


def draw_segments(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Inverse CDF, with replacement: one segment for each uniform in [0, 1)."""
    cdf = np.cumsum(probabilities)
    rows = np.searchsorted(cdf, uniforms.astype(np.float64) * cdf[-1], side="right")
    return np.minimum(rows, len(cdf) - 1)


def importance_weights(probabilities: np.ndarray, rows: np.ndarray, beta: float) -> np.ndarray:
    """(S,) float32: q_i = (N p_i)^-beta. beta = 1 undoes the bias of prioritised sampling."""
    return ((len(probabilities) * probabilities[rows]) ** -beta).astype(np.float32)


# ---- loss -------------------------------------------------------------------------------------

def mean(x: Tensor) -> Tensor:
    """The mean of all elements, summed in an order that does not depend on the number of threads.

    PyTorch splits one sum of 32768 numbers or more among its threads, but never a row of a matrix.
    """
    count, x = x.numel(), x.flatten()
    while len(x) > 4096:
        whole = len(x) // 256 * 256
        x = torch.cat([x[:whole].view(-1, 256).sum(1), x[whole:]])
    return x.sum() / count


def ppo_loss(log_prob: Tensor, entropy: Tensor, value: Tensor, batch: Mapping[str, Tensor],
             settings, ent_coef: float) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, its parts in the order of LOSSES, and the importance ratio; arguments are (S, T).

    batch: log_prob_old, value_old (the rollout's), advantage, returns, and q (S, 1), which weighs
    only the normalised advantage. Mean and deviation are those of the minibatch; the variance is
    a sum divided by n.
    """
    advantage = batch["advantage"]
    if settings.norm_adv:
        advantage = advantage - mean(advantage)
        advantage = advantage / (mean(advantage.square()).sqrt() + 1e-8)
    advantage = batch["q"] * advantage
    log_ratio = log_prob - batch["log_prob_old"]
    ratio = log_ratio.exp()
    clip = settings.clip_coef
    policy_loss = mean(torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - clip, 1 + clip)))
    moved = (value - batch["value_old"]).clamp(-settings.vf_clip_coef, settings.vf_clip_coef)
    clipped_error = (batch["value_old"] + moved - batch["returns"]).square()
    value_loss = 0.5 * mean(torch.max((value - batch["returns"]).square(), clipped_error))
    loss = policy_loss + settings.vf_coef * value_loss - ent_coef * mean(entropy)
    with torch.no_grad():
        parts = torch.stack([policy_loss, value_loss, mean(entropy), -mean(log_ratio),
                             mean(ratio - 1 - log_ratio),
                             mean(((ratio - 1).abs() > clip).to(ratio.dtype))])
    return loss, parts, ratio.detach()


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 - Var(R - V) / Var(R): 1 is perfect, 0 no better than a constant. 0 where R is constant."""
    def variance(x: Tensor) -> float:
        return float(mean((x - mean(x)).square()))

    spread = variance(returns)
    return 1 - variance(returns - values) / spread if spread > 0 else 0.0


# ---- the trainer ------------------------------------------------------------------------------

class TorchPPO(Schedules):
    """A training loop in two halves over one VecEnv: rollout() fills buffers, update() learns.

    `vec` needs observations, actions, rewards, terminals, truncations, action_mask (arrays that
    stay in place), num_agents, obs_size, act_sizes, reset() and step(). `first_agent` is the
    global number of its first row, where several processes share a run.
    """

    def __init__(self, vec, config, device="cpu", *, first_agent: int = 0):
        self.config, self.settings = config, config.train
        self.agents, self.horizon = vec.num_agents, config.train.horizon        # N, T
        check_sizes(vec, config.train)
        self.policy = build_policy(vec.obs_size, vec.act_sizes, config, device)
        self.device = next(self.policy.parameters()).device
        t = self.settings
        self.actor = Actor(self.policy, vec.act_sizes, t.seed, self.agents, first_agent=first_agent)
        self.heads = self.actor.heads
        self.muon = Muon(self.policy, t.beta1, t.beta2, t.eps, t.max_grad_norm)
        self.epoch = self.global_step = 0
        self.minibatch_carry = 0.0
        self.timers = {"env": 0.0, "forward": 0.0, "train": 0.0}
        self.picks: list[tuple[np.ndarray, np.ndarray]] = []    # (rows, q) of the last update
        self._allocate(vec)
        self.vec = vec
        self.barrier(vec)

    def _allocate(self, vec) -> None:
        n, t = self.agents, self.horizon

        def buffer(*shape: int, dtype=torch.float32, device=self.device) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        kind = torch.uint8 if vec.observations.dtype == np.uint8 else torch.float32
        self.obs = buffer(n, t, vec.obs_size, dtype=kind)       # (N, T, D), the env's own type
        self.actions = buffer(n, t, len(vec.act_sizes))         # (N, T, K) ids, or values
        self.log_probs = buffer(n, t)                           # (N, T) the rollout's
        self.values = buffer(n, t)                              # (N, T) the rollout's
        self.bootstrap = buffer(n)                              # (N,) value after the last tick
        self.rewards = buffer(n, t, device="cpu")               # (N, T)
        self.ended = buffer(n, t, dtype=torch.bool, device="cpu")        # (N, T)
        self.truncated = buffer(n, t, dtype=torch.bool, device="cpu")    # (N, T) a subset of ended
        self.state0 = self.actor.state.clone()                  # (N, L, H) before the first tick
        self.masks = None if vec.action_mask is None else buffer(    # (N, T, A) legal actions
            n, t, vec.action_mask.shape[1], dtype=torch.bool)

    def take_timers(self) -> dict[str, float]:
        """Seconds in env, forward and train since the last call; resets them to 0."""
        taken = dict(self.timers)
        self.timers.update(dict.fromkeys(self.timers, 0.0))
        return taken

    # -- rollout --

    @torch.no_grad()
    def rollout(self) -> None:
        """T ticks of all agents into the buffers, then the bootstrap value."""
        started, in_env = time.perf_counter(), self.timers["env"]
        vec, actor = self.vec, self.actor
        if self._unreset:
            self._timed(vec.reset)
            self._unreset = False
        if self.config.base.reset_state:
            actor.reset()
        actor.tick = self.global_step // self.agents
        self.state0.copy_(actor.state)
        for t in range(self.horizon):
            obs = self._read_obs()
            mask = None if vec.action_mask is None else actor.to_mask(vec.action_mask)
            actions, self.log_probs[:, t], self.values[:, t] = actor.forward(obs, mask)
            self.obs[:, t], self.actions[:, t] = obs, actions
            if mask is not None:
                self.masks[:, t] = mask
            self._env["actions"].copy_(actions)
            self._timed(vec.step)
            self._check_input("rewards", vec.rewards)
            ended = (vec.terminals != 0) | (vec.truncations != 0)
            self.rewards[:, t] = self._env["rewards"]
            self.ended[:, t] = torch.from_numpy(ended)
            self.truncated[:, t] = self._env["truncations"] != 0
            actor.ended(ended)
        self.bootstrap.copy_(actor.value(self._read_obs()))
        raise_if_bad([("values", self.bootstrap)], where=f"tick {actor.tick}")
        self.global_step += self.batch_size
        elapsed = time.perf_counter() - started
        self.timers["forward"] += elapsed - (self.timers["env"] - in_env)

    def _read_obs(self) -> Tensor:
        """This tick's observations, our own copy on the device."""
        if self.obs.dtype != torch.uint8:
            self._check_input("observations", self.vec.observations)
        return self._env["observations"].to(self.device, copy=True)

    def _check_input(self, name: str, array: np.ndarray) -> None:
        if not math.isfinite(float(array.sum())):
            raise_if_bad([(name, torch.from_numpy(array))], where=f"tick {self.actor.tick}",
                         hint=ENV_HINT)

    def _timed(self, call) -> None:
        started = time.perf_counter()
        call()
        self.timers["env"] += time.perf_counter() - started

    # -- update --

    def update(self) -> dict[str, float]:
        """Learn from the rollout. Returns this epoch's metrics; advances the epoch counter."""
        started = time.perf_counter()
        t = self.settings
        learning_rate, ent_coef = self.learning_rate, self.ent_coef
        beta = t.prio_beta0 + (1 - t.prio_beta0) * self.progress
        rewards, clipped = self._clipped_rewards()
        ended, truncated = self.ended.to(self.device), self.truncated.to(self.device)
        values, ratio = self.values.clone(), torch.ones_like(self.values)   # the current ones
        wanted = t.replay_ratio * self.batch_size / t.minibatch_size + self.minibatch_carry
        count = int(wanted)
        self.minibatch_carry, self.picks = wanted - count, []
        explained, sums, norms = 0.0, torch.zeros(len(LOSSES), device=self.device), 0.0
        for number in range(count):
            advantage = advantages(rewards, values, self.bootstrap, ended, truncated, ratio,
                                   t.gamma, t.gae_lambda, t.vtrace_rho_clip, t.vtrace_c_clip)
            returns = advantage + values
            if number == 0:
                explained = explained_variance(self.values, returns)
            rows, q = self._pick(advantage, number, beta)
            self.picks.append((rows, q))
            pick = torch.from_numpy(rows).to(self.device)
            batch = {"obs": self.obs[pick], "state0": self.state0[pick], "ended": ended[pick],
                     "actions": self.actions[pick], "rewards": rewards[pick],
                     "log_prob_old": self.log_probs[pick], "value_old": self.values[pick],
                     "advantage": advantage[pick], "returns": returns[pick],
                     "q": torch.from_numpy(q).to(self.device).unsqueeze(1)}
            mask = None if self.masks is None else self.masks[pick]
            parts, norm, value, new_ratio = self._learn(batch, mask, learning_rate, ent_coef)
            sums, norms = sums + parts, norms + norm
            # A segment drawn twice is written once: rows of one product may round differently.
            once = np.unique(rows, return_index=True)[1]
            pick, once = pick[once], torch.from_numpy(once).to(self.device)
            values[pick], ratio[pick] = value[once], new_ratio[once]
        raise_if_bad(weights_of(self.policy), where=f"epoch {self.epoch}, after its last minibatch")
        self.epoch += 1
        self.timers["train"] += time.perf_counter() - started
        metrics = {"train/learning_rate": learning_rate, "train/ent_coef": ent_coef,
                   "train/reward_clipped": clipped}
        if count:
            metrics |= {f"loss/{key}": total / count for key, total in zip(LOSSES, sums.tolist())}
            metrics |= {"loss/explained_variance": explained, "loss/grad_norm": norms / count}
        return metrics

    def _clipped_rewards(self) -> tuple[Tensor, int]:
        rewards, limit = self.rewards, self.settings.reward_clip
        if not limit:
            return rewards.to(self.device), 0
        return rewards.clamp(-limit, limit).to(self.device), int((rewards.abs() > limit).sum())

    def _pick(self, advantage: Tensor, number: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """The S segments of this epoch's minibatch `number`, and their weights q."""
        t, size = self.settings, self.settings.minibatch_size // self.horizon
        if t.prio_alpha == 0:       # deal from shuffled decks; a deck holds every segment once
            places = np.arange(number * size, (number + 1) * size)
            laps = places // self.agents
            decks = {lap: philox.permutation(t.seed, self.agents, self.epoch, lap)
                     for lap in range(laps[0], laps[-1] + 1)}
            rows = np.array([decks[lap][place % self.agents] for lap, place in zip(laps, places)])
            return rows, np.ones(size, np.float32)
        uniforms = philox.uniform((t.seed, Purpose.PRIORITY), np.arange(size), self.epoch, number)
        probabilities = segment_probabilities(advantage, t.prio_alpha)
        rows = draw_segments(probabilities, uniforms)
        return rows, importance_weights(probabilities, rows, beta)

    def _learn(self, batch: Mapping[str, Tensor], mask: Tensor | None, learning_rate: float,
               ent_coef: float) -> tuple[Tensor, float, Tensor, Tensor]:
        """One minibatch: forward, loss, backward, Muon. Returns parts, gradient norm, V and w."""
        logits, value = self.policy.sequence(batch["obs"], batch["state0"], batch["ended"])
        log_prob, entropy = self.heads.log_prob_and_entropy(
            apply_mask(logits, mask), getattr(self.policy, "logstd", None), batch["actions"])
        loss, parts, ratio = ppo_loss(log_prob, entropy, value, batch, self.settings, ent_coef)
        self.policy.zero_grad(set_to_none=True)
        loss.backward()
        loss_now, norm = torch.stack([loss.detach(), self.muon.grad_norm()]).tolist()
        if not math.isfinite(loss_now + norm):      # before the step: the weights stay as they were
            gradients = [(f"gradient of {name}", p.grad)
                         for name, p in self.policy.named_parameters() if p.grad is not None]
            forward = [("logits", logits), ("values", value), ("log-probabilities", log_prob),
                       ("entropy", entropy), ("ratio", ratio), ("loss", loss)]
            raise_if_bad([*batch.items(), *weights_of(self.policy), *forward, *gradients],
                         where=f"epoch {self.epoch}")
            raise RunError("the gradient norm overflows", where=f"epoch {self.epoch}",
                           hint=SCALE_HINT)
        self.muon.step(learning_rate, norm)
        return parts, norm, value.detach(), ratio

    # -- checkpoints --

    def barrier(self, vec) -> None:
        """Continue with freshly created envs and zeroed state, as a resumed run does.

        The next rollout resets the envs once, however often this is called.
        """
        check_same_envs(vec, self.vec)
        self.vec, self._unreset = vec, True
        self._env = {name: torch.from_numpy(getattr(vec, name))
                     for name in ("observations", "actions", "rewards", "truncations")}
        self.actor.reset()

    @property
    def repeatable(self) -> bool:
        """Whether a resumed run can go on in the middle of episodes."""
        return self.device.type == "cpu"

    def carried(self) -> dict[str, np.ndarray]:
        """What agents carry from rollout to rollout besides their envs, as a copy."""
        return {"carried.state": self.actor.state.numpy().copy()}

    def proceed(self, vec, carried: Mapping[str, np.ndarray]) -> None:
        """Go on with envs in the middle of their episodes: no reset. carried: of carried()"""
        self.barrier(vec)
        check_tensors({"carried.state": tuple(self.actor.state.shape)}, carried)
        self.actor.state.copy_(torch.from_numpy(np.array(carried["carried.state"])))
        self._unreset = False

    def state_tensors(self) -> dict[str, np.ndarray]:
        """Weights, momentum (muon.NAME) and Adam (adam.m.NAME, adam.v.NAME), as copies."""
        return {name: tensor.detach().cpu().numpy().copy()
                for name, tensor in self._all_tensors().items()}

    def load_weights(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Only the weights, by name; the optimiser's state stays as it is."""
        copy_by_name(dict(self.policy.named_parameters()), tensors)

    def load_state_tensors(self, tensors: Mapping[str, np.ndarray]) -> None:
        """Load what state_tensors() gave. Checks all names and sizes before it copies any."""
        copy_by_name(self._all_tensors(), tensors)

    def _all_tensors(self) -> dict[str, Tensor]:
        return {**dict(self.policy.named_parameters()), **self.muon.tensors}

    @property
    def counters(self) -> dict[str, int | float]:
        """The numbers that a resume needs in addition to the tensors; JSON keeps them exactly."""
        return {"epoch": self.epoch, "global_step": self.global_step,
                "minibatch_carry": self.minibatch_carry, "optimizer_steps": self.muon.steps}

    def load_counters(self, counters: Mapping[str, int | float]) -> None:
        self.epoch, self.global_step = int(counters["epoch"]), int(counters["global_step"])
        self.minibatch_carry = float(counters["minibatch_carry"])
        self.muon.steps = int(counters["optimizer_steps"])
