"""What a rollout of the reference trainer fills.  sizes of envs -> buffers"""
from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...settings.table import Train
from ..schedules import Envs, has_turns
from ..seams import Rollout
from .action_heads import Actor
from .formulas import reward_scale
from .means import Means


class Buffers:
    """Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of widths."""

    agents: int                 # N
    horizon: int                # T
    device: torch.device
    actor: Actor
    settings: Train
    means: Means
    return_rms: float           # the unit of values; 0: 1, as nothing was measured yet

    def allocate(self, vec: Envs) -> None:
        """Makes all buffers for these envs."""
        n, t = self.agents, self.horizon

        def buffer(*shape: int, dtype: torch.dtype = torch.float32,
                   device: torch.device | str = self.device) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        kind = torch.from_numpy(vec.observations[:0]).dtype
        self.obs = buffer(n, t, vec.obs_size, dtype=kind)       # (N, T, D), the env's own type
        self.actions = buffer(n, t, len(vec.act_sizes))         # (N, T, K) ids, or values
        self.log_probs = buffer(n, t)                           # (N, T) the rollout's
        self.values = buffer(n, t)                              # (N, T) the rollout's
        self.bootstrap = buffer(n)                              # (N,) value after the last tick
        self.rewards = buffer(n, t, device="cpu")               # (N, T)
        self.ended = buffer(n, t, dtype=torch.bool, device="cpu")        # (N, T)
        self.truncated = buffer(n, t, dtype=torch.bool, device="cpu")    # (N, T) a subset of ended
        self.final_values = buffer(n, t) if getattr(vec, "has_final", None) is not None else None
        self.moves: np.ndarray | None = None    # (N,) rows filled so far; None: all ticks are
        self.played = self.actions              # (N, T, K) what the envs were given on each tick
        if vec.action_mask is not None and has_turns(vec):
            self.moves, self.played = np.zeros(n, int), torch.zeros_like(self.actions)
        self.live = buffer(n, t, dtype=torch.bool) if (         # (N, T) rows that hold a move
            self.moves is not None or getattr(vec, "alive", None) is not None) else None
        self.state0 = self.actor.state.clone()                  # (N, L, H) before the first tick
        self.masks = None if vec.action_mask is None else buffer(    # (N, T, A) legal actions
            n, t, vec.action_mask.shape[1], dtype=torch.bool)

    def _begin_rows(self) -> None:
        self.state0.copy_(self.actor.state)
        if self.moves is not None:
            self.moves[:] = 0

    def _add_moves(self, t: int, obs: Tensor, actions: Tensor, log_probs: Tensor, values: Tensor,
                   mask: Tensor | None, empty: np.ndarray | None) -> None:
        """A row for each agent on tick t, the next of its own, but for those that wait."""
        rows: Any = slice(None)
        at: Any = t
        if self.moves is not None and mask is not None:
            rows = np.flatnonzero(mask.any(1).cpu().numpy())
            at = self.moves[rows]
            self.moves[rows] += 1
            for result in (self.rewards, self.ended, self.truncated):   # which is added up
                result[rows, at] = 0
        for buffer, found in ((self.obs, obs), (self.actions, actions), (self.values, values),
                              (self.log_probs, log_probs)):
            buffer[rows, at] = found[rows]
        if self.masks is not None and mask is not None:
            self.masks[rows, at] = mask[rows]
        if self.live is not None:
            self.live[rows, at] = True if empty is None else torch.from_numpy(~empty)[rows]

    def _add_results(self, t: int, rewards: np.ndarray, ended: np.ndarray, cut: np.ndarray,
                     finals: Tensor | None) -> None:
        """What tick t caused, to the agents' last moves; to none of an episode that was over."""
        rows: Any = slice(None)
        at: Any = t
        if self.moves is not None:
            every = np.arange(self.agents)
            self.state0[torch.from_numpy(ended & (self.moves == 0))] = 0
            rows = np.flatnonzero((self.moves > 0) & ~self.ended[every, self.moves - 1].numpy())
            at = self.moves[rows] - 1
            rewards = self.rewards[every, self.moves - 1].numpy() + rewards
        self.rewards[rows, at] = torch.from_numpy(rewards[rows])
        self.ended[rows, at] = torch.from_numpy(ended[rows])
        self.truncated[rows, at] = torch.from_numpy(cut[rows])
        if self.final_values is not None and finals is not None:
            self.final_values[rows, at] = finals[rows]

    def _close_rows(self, waits: np.ndarray, moves: np.ndarray) -> None:
        """After the last tick. Where an agent waits, nobody knows what its last move leads to: the
        value that it had itself stands in."""
        rows = np.flatnonzero(waits & (moves > 0))
        self.bootstrap[rows] = self.values[rows, moves[rows] - 1]
        self.bootstrap[np.flatnonzero(waits & (moves == 0))] = 0
        left = torch.from_numpy(np.arange(self.horizon) >= moves[:, None])
        for buffer in (self.obs, self.actions, self.log_probs, self.values, self.rewards,
                       self.ended, self.truncated, self.live):
            if buffer is not None:
                buffer[left] = 0
        if self.masks is not None:
            self.masks[left] = True

    def rollout_arrays(self) -> Rollout:
        """The last rollout; on a CPU without a copy."""
        def view(tensor: Tensor | None) -> np.ndarray | None:
            return None if tensor is None else tensor.detach().cpu().numpy()

        names = {"finals": "final_values", "alive": "live"}
        return Rollout(lambda: {name: view(getattr(self, names.get(name, name)))
                                for name in Rollout.__annotations__})

    def _of_live(self, rows: Tensor) -> Tensor:
        return rows if self.live is None else rows[self.live]

    def _scaled_rewards(self) -> tuple[Tensor, int]:
        """Clipped, then in the unit of values; and how many were clipped."""
        limit, clipped = self.settings.reward_clip, 0
        if limit:
            clipped = int(self.means.total(int((self.rewards.abs() > limit).sum())))
        rewards = self._clipped_rewards().to(self.device)
        return rewards * reward_scale(self.return_rms), clipped

    def _clipped_rewards(self) -> Tensor:
        limit = self.settings.reward_clip
        return self.rewards.clamp(-limit, limit) if limit else self.rewards
