"""What a rollout of the reference trainer fills.  sizes of envs -> buffers"""
from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...settings.table import Train
from ..schedules import Envs
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
        self.live = None if getattr(vec, "alive", None) is None else buffer(    # (N, T) or None
            n, t, dtype=torch.bool)
        self.state0 = self.actor.state.clone()                  # (N, L, H) before the first tick
        self.masks = None if vec.action_mask is None else buffer(    # (N, T, A) legal actions
            n, t, vec.action_mask.shape[1], dtype=torch.bool)

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
        rewards, limit, clipped = self.rewards, self.settings.reward_clip, 0
        if limit:
            clipped = int(self.means.total(int((rewards.abs() > limit).sum())))
            rewards = rewards.clamp(-limit, limit)
        return rewards.to(self.device) * reward_scale(self.return_rms), clipped
