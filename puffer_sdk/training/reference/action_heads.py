"""Action heads and acting.  logits -> actions, log-probabilities, entropy

Sizes: n agents, D observation, K heads, A sum of head widths.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...base import philox
from ..schedules import check_mask
from .finite import raise_if_bad, weights_of
from .own_network import Network, call, zero_ended

ILLEGAL = -1e30                     # a masked logit: exp gives 0, and 0 * it is still 0
LOGSTD_MIN, LOGSTD_MAX = -20.0, 2.0
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class ActionHeads:
    """K action heads of widths act_sizes over rows of A logits. Heads of width 1 are continuous."""

    def __init__(self, act_sizes: Sequence[int]):
        self.sizes = tuple(int(width) for width in act_sizes)
        stops = np.cumsum(self.sizes).tolist()
        self.columns = [slice(stop - width, stop) for stop, width in zip(stops, self.sizes)]
        ordinals = (np.cumsum(np.array(self.sizes) == 1) - 1).tolist()
        self.dims = [ordinal if width == 1 else None        # this head's element of logstd
                     for ordinal, width in zip(ordinals, self.sizes)]

    def sample(self, logits: Tensor, logstd: Tensor | None, noise: Tensor | None) -> Tensor:
        """(n, A) -> (n, K) float32. noise (n, K): uniforms and normals; None: the likeliest action.

        Discrete: inverse CDF. With e = exp(logit - max) and total = sum(e), the action is the
        number of partial sums <= u * total, which never lands on an action of probability 0.
        """
        actions = torch.empty((len(logits), len(self.sizes)), device=logits.device)
        for head, (columns, dim) in enumerate(zip(self.columns, self.dims)):
            mine = logits[:, columns]
            if dim is not None:
                choice = mine[:, 0]
                if noise is not None:
                    choice = choice + deviation(logstd, dim).exp() * noise[:, head]
            elif noise is None:
                choice = mine.argmax(-1)
            else:
                sums = (mine - mine.amax(-1, keepdim=True)).exp_().cumsum(-1)
                choice = (sums <= noise[:, head, None] * sums[:, -1:]).sum(-1)
            actions[:, head] = choice
        return actions

    def log_prob(self, logits: Tensor, logstd: Tensor | None, actions: Tensor) -> Tensor:
        """Joint log-probability: (..., A), (..., K) -> (...)."""
        return self.log_prob_and_entropy(logits, logstd, actions, want_entropy=False)[0]

    def log_prob_and_entropy(self, logits: Tensor, logstd: Tensor | None, actions: Tensor,
                             want_entropy: bool = True) -> tuple[Tensor, Tensor]:
        """Both summed over heads, each of shape (...)."""
        log_prob = logits.new_zeros(logits.shape[:-1])
        entropy = torch.zeros_like(log_prob)
        for head, (columns, dim) in enumerate(zip(self.columns, self.dims)):
            mine, action = logits[..., columns], actions[..., head]
            if dim is not None:
                scale = deviation(logstd, dim)
                distance = (action - mine[..., 0]) * torch.exp(-scale)
                log_prob = log_prob - (0.5 * distance.square() + scale + HALF_LOG_2PI)
                entropy = entropy + (scale + HALF_LOG_2PI + 0.5)
                continue
            logs = F.log_softmax(mine, -1)
            log_prob = log_prob + logs.gather(-1, action.long().unsqueeze(-1)).squeeze(-1)
            if want_entropy:
                entropy = entropy - (logs.exp() * logs).sum(-1)
        return log_prob, entropy


def deviation(logstd: Tensor | None, dim: int) -> Tensor:
    """The logarithm of a continuous head's standard deviation."""
    if logstd is None:
        raise RuntimeError("a network with continuous heads has a parameter logstd")
    return logstd[dim].clamp(LOGSTD_MIN, LOGSTD_MAX)


def apply_mask(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Illegal actions get probability 0."""
    return logits if mask is None else torch.where(mask, logits, ILLEGAL)


class Actor:
    """A policy with its agents' carried state and random numbers: one call per tick.

        actor = Actor(policy, act_sizes, seed, n)
        vec.actions[:] = actor.act(vec.observations)
        vec.step()
        actor.ended(vec.terminals)

    The random numbers depend only on (seed, global agent, tick). `greedy`: take the likeliest
    action. `waits`: a mask of zeros says that an agent waits; otherwise it is an error.
    """

    NOISE_TICKS = 64        # ticks whose random numbers are drawn at once

    def __init__(self, policy: Network, act_sizes: Sequence[int], seed: int, n: int, *,
                 greedy: bool = False, first_agent: int = 0, waits: bool = True):
        self.policy, self.seed, self.greedy, self.waits = policy, seed, greedy, waits
        self.heads = ActionHeads(act_sizes)
        self.device = next(policy.parameters()).device
        self.agents = np.arange(first_agent, first_agent + n)
        self.tick = 0
        self._noise, self._noise_tick = torch.empty(0), 0
        with torch.no_grad():
            self.state: Tensor = policy.initial_state(n)

    def act(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """obs (n, D), mask (n, A) of 0 and 1 -> actions (n, K) float32; advances the state."""
        return self.act_and_value(obs, mask)[0]

    def act_and_value(self, obs: np.ndarray, mask: np.ndarray | None = None
                      ) -> tuple[np.ndarray, np.ndarray]:
        """act, and with it the values (n,) of the observations."""
        actions, _, values = self.forward(torch.tensor(obs, device=self.device),
                                          None if mask is None else self.to_mask(mask))
        return actions.cpu().numpy(), values.cpu().numpy()

    @torch.no_grad()
    def forward(self, obs: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """obs (n, D) -> actions (n, K), log-probabilities (n,), values (n,): 0, and the state as
        it was, for agents whose mask is all False: they wait."""
        before, waits = self.state, None if mask is None else ~mask.any(1)
        logits, values, self.state = call(self.policy, "step", obs, before)
        if waits is not None and mask is not None:
            self.state = torch.where(waits.reshape(-1, *[1] * (before.dim() - 1)), before,
                                     self.state)
            mask = mask | waits.unsqueeze(1)
        if not math.isfinite(float(logits.sum() + values.sum())):
            named = [("observations", obs), ("recurrent state", before), *weights_of(self.policy),
                     ("logits", logits), ("values", values)]
            raise_if_bad(named, where=f"tick {self.tick}")
        logits = apply_mask(logits, mask)
        logstd = getattr(self.policy, "logstd", None)
        actions = self.heads.sample(logits, logstd, None if self.greedy else self._next_noise())
        self.tick += 1
        log_probs = self.heads.log_prob(logits, logstd, actions)
        if waits is not None:
            for rows in (actions, log_probs, values := values.clone()):
                rows[waits] = 0
        return actions, log_probs, values

    @torch.no_grad()
    def value(self, obs: Tensor, rows: Tensor | None = None) -> Tensor:
        """The value of an observation, (n,). Advances no state and draws no number.

        rows    the agents that these observations are of; None: all
        """
        value: Tensor = call(self.policy, "step", obs,
                             self.state if rows is None else self.state[rows])[1]
        return value

    def ended(self, terminals: np.ndarray) -> None:
        """Zero the state of agents whose episode just ended, before their next observation."""
        if np.any(terminals):
            zero_ended(self.state, torch.tensor(terminals, device=self.device))

    def reset(self) -> None:
        """Zero the state of all agents; the tick counter stays."""
        self.state = torch.zeros_like(self.state)

    def to_mask(self, mask: np.ndarray) -> Tensor:
        """A checked mask on the device, with continuous heads always legal; but all False for
        agents that wait."""
        check_mask(mask, self.heads.sizes, f"tick {self.tick}", self.waits)
        legal = torch.tensor(mask, device=self.device) != 0
        acts = legal.any(1, keepdim=True)
        for columns, dim in zip(self.heads.columns, self.heads.dims):
            if dim is not None:
                legal[:, columns] = acts
        return legal

    def _next_noise(self) -> Tensor:
        row = self.tick - self._noise_tick
        if not 0 <= row < len(self._noise):
            ticks = np.arange(self.tick, self.tick + self.NOISE_TICKS)
            noise = philox.action_noise(self.seed, self.agents, ticks, self.heads.sizes)
            self._noise = torch.from_numpy(noise).to(self.device)
            self._noise_tick, row = self.tick, 0
        return self._noise[row]
