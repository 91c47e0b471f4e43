"""What the play of a claim shows of a policy.  a player -> the action that it holds, observations
that are far from unit scale
"""
from __future__ import annotations

import numpy as np

from ..env.agent_slots import living
from ..env.vec import VecEnv
from ..scoring.baselines import Player
from ..scoring.kept_scores import FarNumbers, Shown
from ..settings import factors

TICKS = 128             # that are watched
HELD = 0.99             # of all actions are one: the policy takes it whatever it sees ...
STILL = 0.05            # ... or the standard deviation of a continuous one, of about 1 at first
FAR = 64.0              # numbers above it, or below 1 over it, are far from unit scale
SHORT = 60              # characters of factors that a line can show


class Watched:
    """A player whose first TICKS are watched.

    scale       (D,) train.obs_scale of each number, or None: 1
    watches     whether they are: where nobody asks, nothing is kept
    """

    def __init__(self, player: Player, scale: np.ndarray | None, watches: bool = True):
        self.player, self.scale, self.left = player, scale, TICKS if watches else 0
        self.seen: list[np.ndarray] = []        # (D,) the largest size of each number, a tick
        self.taken: list[np.ndarray] = []       # (n, K) actions of those who can act, a tick
        self.widths: tuple[int, ...] = ()

    def __call__(self, vec: VecEnv) -> None:
        self.player(vec)
        if self.left == 0:
            return
        self.left -= 1
        rows = living(vec)
        if not rows.any():
            return
        self.widths = vec.act_sizes
        seen = vec.observations[rows]
        ends = np.stack([seen.min(0), seen.max(0)]).astype(np.float64)
        self.seen.append(np.abs(ends).max(0))
        acting = rows if vec.action_mask is None else rows & vec.action_mask.any(1)
        self.taken.append(vec.actions[acting].copy())

    def shown(self) -> Shown:
        """What there is to say, for a claim."""
        found: Shown = {}
        if held := self._held():
            found["held"] = held
        if far := self._far():
            found["far"] = far
        return found

    def _held(self) -> list[float]:
        """The action that is taken on nearly every tick; [] where it depends on something."""
        taken = np.concatenate(self.taken) if self.taken else np.zeros((0, 0))
        held = []
        for head, width in enumerate(self.widths if len(taken) else ()):
            column = taken[:, head]
            if width == 1:
                action, is_held = column.mean(), column.std() <= STILL
            else:
                ids, counts = np.unique(column, return_counts=True)
                action, is_held = ids[counts.argmax()], counts.max() >= HELD * len(column)
            if not is_held:
                return []
            held.append(round(float(action), 2) + 0.0)      # -0.0 becomes 0.0
        return held

    def _far(self) -> FarNumbers | None:
        """How many numbers stay far from 1, after their factors; a number that stays 0 is not."""
        if not self.seen:
            return None
        raw = np.max(self.seen, 0)
        scale = np.ones(len(raw)) if self.scale is None else np.broadcast_to(self.scale, raw.shape)
        sizes = raw * scale
        far = (raw > 0) & np.isfinite(raw) & ((sizes > FAR) | (sizes < 1 / FAR))
        if not far.any():
            return None
        exponents = np.abs(np.log2(sizes, where=far, out=np.zeros(len(raw))))
        better = scale.astype(np.float64)
        better[far] = np.clip(1 / raw[far], None, factors.MOST)
        text = factors.join([float(f"{factor:.1g}") for factor in better])
        return {"count": int(far.sum()), "of": len(raw), "size": float(sizes[exponents.argmax()]),
                "factors": text if len(text) <= SHORT else ""}
