"""Recurrent PPO.  a VecEnv, settings -> rollouts, updated weights

Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
S segments in a minibatch. One row of a buffer holds what belongs to one (agent, tick): the
observation, the action chosen on it, and the reward and ending which that action caused.
"""
from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from ...distributed.group import Alone
from ...settings.encoder import parts_of
from ...settings.values import Config
from ..schedules import (
    LOSSES,
    Envs,
    Schedules,
    check_config,
    check_same_envs,
    check_sizes,
    check_tensors,
    factors_of_columns,
    has_turns,
    obs_factors,
)
from ..seams import check_given, require_own_advantages
from .action_heads import Actor
from .finite import raise_if_bad, weights_of
from .formulas import (
    advantages,
    earned_return,
    explained_variance,
)
from .means import Means
from .minibatches import Minibatches
from .muon import Muon
from .own_loss import Loss, OwnLoss
from .own_optimizer import MakeOptimizer, OwnOptimizer
from .policy import build_policy, copy_by_name
from .rollout_buffers import Buffers


class TorchPPO(Schedules, Buffers, Minibatches):
    """A training loop in two halves over one VecEnv: rollout() fills buffers, update() learns.

    `vec` needs observations, actions, rewards, terminals, truncations, action_mask (arrays that
    stay in place), num_agents, obs_size, act_sizes, reset() and step(). `first_agent` is the
    global number of its first row, where several processes share a run; of the first rank's, with
    the `group` of these processes (distributed/group.py), each of which has a part of the agents.
    `loss` and `optimizer` are the user's own; `extras`: whether the network's sequence() may
    return a third value, which only such a loss takes.
    """

    def __init__(self, vec: Envs, config: Config, device: str = "cpu", *, first_agent: int = 0,
                 group: Alone | None = None, loss: Loss | None = None,
                 optimizer: MakeOptimizer | None = None, extras: bool = False):
        check_config(config, "TorchPPO")
        self.means = Means(group)
        self.group, self.ranks = self.means.group, self.means.group.size
        self.config, self.settings = config, config.train
        self.agents, self.horizon = vec.num_agents, config.train.horizon        # N, T
        check_sizes(vec, config.train)
        self.policy = build_policy(vec.obs_size, vec.act_sizes, config, device,
                                   obs_dtype=vec.observations.dtype,
                                   layout=getattr(vec, "layout", None), extras=extras)
        self.own_loss = OwnLoss(loss) if loss else None
        self.device = next(self.policy.parameters()).device
        t = self.settings
        self.actor = Actor(self.policy, vec.act_sizes, t.seed, self.agents,
                           first_agent=first_agent + self.group.rank * self.agents,
                           waits=has_turns(vec))
        self.heads = self.actor.heads
        factors = None if config.policy.torch_class else obs_factors(t, vec.obs_size)
        scales = {} if factors is None else {
            name: torch.from_numpy(each).to(self.device) for name, each in factors_of_columns(
                factors, parts_of(config.policy.encoder, vec.obs_size)).items()}
        self.muon: Muon | OwnOptimizer = Muon(
            self.policy, t.beta1, t.beta2, t.eps, t.max_grad_norm, scales) if optimizer is None \
            else OwnOptimizer(optimizer, self.policy, t.max_grad_norm, scales)
        self.epoch = self.global_step = 0
        self.minibatch_carry = 0.0
        self.return_rms = 0.0           # the unit of values; 0: 1, as nothing was measured yet
        self.rate_factor = 0.0          # of the learning rate; 0: before the first update
        self.highest_return = 0.0       # that rewards brought so far
        self.timers = {"env": 0.0, "forward": 0.0, "train": 0.0}
        self.picks: list[tuple[np.ndarray, np.ndarray]] = []    # (rows, q) of the last update
        self._alive = np.arange(self.agents)        # segments with an agent, to pick from
        self.allocate(vec)
        self.vec = vec
        self._unreset, self._env = True, {"actions": torch.empty(0)}     # restart_envs sets both
        self.restart_envs(vec)

    def take_timers(self) -> dict[str, float]:
        """Seconds in env, forward and train since the last call; resets them to 0."""
        taken = dict(self.timers)
        self.timers.update(dict.fromkeys(self.timers, 0.0))
        return taken

    @property
    def learning_rate(self) -> float:
        """Of the next update; of an optimiser of the user's own, what it says."""
        return self.muon.learning_rate if isinstance(self.muon, OwnOptimizer) \
            else super().learning_rate

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
        actor.tick = self.global_step // (self.agents * self.ranks)
        self._begin_rows()
        for t in range(self.horizon):
            obs, empty = self._read_obs(), self._empty()
            mask = None if vec.action_mask is None else actor.to_mask(
                vec.action_mask if empty is None else vec.action_mask | empty[:, None])
            actions, log_probs, values = actor.forward(obs, mask)
            if empty is not None:                               # it acts with zeros, then forgets
                for rows in (actions, log_probs, values):
                    rows[torch.from_numpy(empty)] = 0
            self.played[:, t] = actions
            self._add_moves(t, obs, actions, log_probs, values, mask, empty)
            self._env["actions"].copy_(actions)
            self._timed(vec.step)
            rewards, cut = vec.rewards, vec.truncations != 0
            ended = (vec.terminals != 0) | cut
            if empty is not None:
                rewards, cut = np.where(empty, np.float32(0), rewards), cut & ~empty
                ended |= empty | (self._read("alive") == 0)
            self._check_input("rewards", rewards)
            finals = None if self.final_values is None else self._value_finals(cut)
            self._add_results(t, rewards, ended, cut, finals)
            actor.ended(ended)
        self.bootstrap.copy_(actor.value(self._read_obs()))
        if (empty := self._empty()) is not None:
            self.bootstrap[torch.from_numpy(empty)] = 0
        if self.moves is not None:
            self._close_rows(self._waits(), self.moves)
        raise_if_bad([("values", self.bootstrap)], where=f"tick {actor.tick}")
        self.global_step += self.batch_size
        elapsed = time.perf_counter() - started
        self.timers["forward"] += elapsed - (self.timers["env"] - in_env)

    def _empty(self) -> np.ndarray | None:
        """(N,) rows that have no agent now; None where all always have one."""
        return None if getattr(self.vec, "alive", None) is None else self._read("alive") == 0

    def _waits(self) -> np.ndarray:
        """(N,) agents whose mask allows nothing now."""
        waits, empty = ~self._read("action_mask").any(1), self._empty()
        return np.asarray(waits if empty is None else waits & ~empty)

    def _read(self, name: str) -> np.ndarray:
        """An array that not every vec has."""
        array: np.ndarray = getattr(self.vec, name)
        return array

    def _value_finals(self, cut: np.ndarray) -> Tensor:
        """(N,) the values of final observations of episodes that were cut off, with the state
        before it is zeroed; NaN where there is none."""
        out = torch.full((self.agents,), math.nan, device=self.device)
        rows = np.flatnonzero(cut & (self._read("has_final") != 0))
        if len(rows):
            pick = torch.from_numpy(rows).to(self.device)
            obs = torch.from_numpy(self._read("final_observations")[rows]).to(self.device)
            out[pick] = self.actor.value(obs, pick)
            where = f"tick {self.actor.tick - 1}"
            raise_if_bad([("final observations", obs.float())], where, of_env=True)
            raise_if_bad([("values", out[pick])], where)
        return out

    def _read_obs(self) -> Tensor:
        """This tick's observations, our own copy on the device."""
        obs, empty = self._env["observations"].to(self.device, copy=True), self._empty()
        if empty is not None:
            obs[torch.from_numpy(empty)] = 0
        if self.obs.dtype.is_floating_point:
            self._check_input("observations", obs.numpy() if empty is not None
                              else self.vec.observations)
        return obs

    def _check_input(self, name: str, array: np.ndarray) -> None:
        if not math.isfinite(float(array.sum())):
            raise_if_bad([(name, torch.from_numpy(array))], where=f"tick {self.actor.tick}",
                         of_env=True)

    def _timed(self, call: Callable[[], object]) -> None:
        started = time.perf_counter()
        call()
        self.timers["env"] += time.perf_counter() - started

    # -- update --

    def update(self, given_advantages: ArrayLike | None = None, returns: ArrayLike | None = None
               ) -> dict[str, float]:
        """Learn from the rollout. Returns this epoch's metrics; advances the epoch counter.

        given_advantages, returns   (N, T) in place of those of V-trace, for all minibatches
        """
        started = time.perf_counter()
        given = None
        if given_advantages is not None and returns is not None:
            require_own_advantages(self.config, self.ranks)
            given = [torch.from_numpy(array) for array in
                     check_given(given_advantages, returns, self.rollout_arrays())]
        t = self.settings
        learning_rate, ent_coef = self.learning_rate, self.ent_coef
        beta = t.prio_beta0 + (1 - t.prio_beta0) * self.progress
        rewards, clipped = self._scaled_rewards()
        earned = self.means.highest(earned_return(self._clipped_rewards(), self.ended,
                                                  self.truncated, t.gamma))
        ended, truncated = self.ended.to(self.device), self.truncated.to(self.device)
        values, ratio = self.values.clone(), torch.ones_like(self.values)   # the current ones
        if self.live is not None:
            self._alive = np.flatnonzero(self.live.any(1).cpu().numpy())
        segments = self.means.total(len(self._alive))
        wanted = (t.replay_ratio * (segments * self.horizon) / (t.minibatch_size * self.ranks)
                  + self.minibatch_carry)
        if not t.minibatch_carry and segments:
            wanted = max(1.0, wanted)
        count = int(wanted)
        self.minibatch_carry, self.picks = wanted - count if t.minibatch_carry else 0.0, []
        explained, square, sums, norms = 0.0, 1.0, torch.zeros(len(LOSSES), device=self.device), 0.0
        for number in range(count):
            if given is not None:
                advantage, target = given
            else:
                advantage = advantages(rewards, values, self.bootstrap, ended, truncated, ratio,
                                       t.gamma, t.gae_lambda, t.vtrace_rho_clip, t.vtrace_c_clip,
                                       self.final_values, self.live, self.highest_value)
                target = advantage + values
            if number == 0:
                explained = explained_variance(self._of_live(self.values),
                                               self._of_live(target), self.means)
                if given is None:       # returns of the caller's own leave the unit as it is
                    square = float(self.means.whole(self._of_live(target).square()))
            rows, q = self._pick(advantage, number, beta)
            self.picks.append((rows, q))
            pick = torch.from_numpy(rows).to(self.device)
            batch = {"obs": self.obs[pick], "state0": self.state0[pick], "ended": ended[pick],
                     "actions": self.actions[pick], "rewards": rewards[pick],
                     "log_prob_old": self.log_probs[pick], "value_old": self.values[pick],
                     "advantage": advantage[pick], "returns": target[pick],
                     "q": torch.from_numpy(q).to(self.device).unsqueeze(1)}
            if self.live is not None:
                batch["live"] = self.live[pick]
            mask = None if self.masks is None else self.masks[pick]
            parts, norm, value, new_ratio = self._learn(batch, mask, learning_rate, ent_coef)
            sums, norms = sums + parts, norms + norm
            # A segment drawn twice is written once: rows of one product may round differently.
            first = np.unique(rows, return_index=True)[1]
            pick, once = pick[first], torch.from_numpy(first).to(self.device)
            values[pick], ratio[pick] = value[once], new_ratio[once]
        raise_if_bad(weights_of(self.policy), where=f"epoch {self.epoch}, after its last minibatch")
        if count:
            self._follow(square, float(sums[LOSSES.index("approx_kl")]) / count, earned)
        self.epoch += 1
        self.timers["train"] += time.perf_counter() - started
        metrics = {"train/learning_rate": learning_rate, "train/ent_coef": ent_coef,
                   "train/reward_clipped": clipped}
        if self.live is not None:
            metrics["train/alive"] = self.means.total(float(self.live.sum())) / self.batch_size
        if count:
            metrics |= {f"loss/{key}": total / count for key, total in zip(LOSSES, sums.tolist())}
            metrics |= {"loss/explained_variance": explained, "loss/grad_norm": norms / count}
        if self.own_loss:
            metrics |= self.own_loss.take()
        return metrics

    # -- checkpoints --

    def restart_envs(self, vec: Envs) -> None:
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
        """Whether a resumed run can continue in the middle of episodes."""
        return self.device.type == "cpu"

    @property
    def endings(self) -> np.ndarray:
        """(N, T) nonzero where the last rollout ended an episode."""
        return self.ended.numpy()

    def recurrent_state(self) -> dict[str, np.ndarray]:
        """What agents carry from rollout to rollout besides their envs, as a copy."""
        return {"carried.state": self.actor.state.numpy().copy()}

    def resume_mid_episode(self, vec: Envs, recurrent_state: Mapping[str, np.ndarray]) -> None:
        """Go on with envs in the middle of their episodes: no reset."""
        self.restart_envs(vec)
        check_tensors({"carried.state": tuple(self.actor.state.shape)}, recurrent_state)
        self.actor.state.copy_(torch.from_numpy(np.array(recurrent_state["carried.state"])))
        self._unreset = False

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The weights by name; on a CPU without a copy."""
        return {name: weight.detach().cpu().numpy()
                for name, weight in self.policy.named_parameters()}

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

    def touch(self) -> None:
        """As NativePPO's: nothing is made of the weights here."""

    def close(self) -> None:
        """As NativePPO's: nothing is to be freed."""

    def _all_tensors(self) -> dict[str, Tensor]:
        return {**dict(self.policy.named_parameters()), **self.muon.tensors}

    @property
    def counters(self) -> dict[str, int | float]:
        """The numbers that a resume needs in addition to the tensors; JSON keeps them exactly."""
        return {"epoch": self.epoch, "global_step": self.global_step,
                "minibatch_carry": self.minibatch_carry, "optimizer_steps": self.muon.steps,
                "return_rms": self.return_rms, "rate_factor": self.rate_factor,
                "highest_return": self.highest_return}

    def load_counters(self, counters: Mapping[str, int | float]) -> None:
        self.epoch, self.global_step = int(counters["epoch"]), int(counters["global_step"])
        self.minibatch_carry = float(counters["minibatch_carry"])
        self.return_rms = float(counters.get("return_rms", 0))
        self.rate_factor = float(counters.get("rate_factor", 0))
        self.highest_return = float(counters.get("highest_return", 0))
        self.muon.steps = int(counters["optimizer_steps"])
