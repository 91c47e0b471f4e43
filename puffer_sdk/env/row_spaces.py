"""The spaces of a VecEnv, by Gymnasium's names.  sizes and declared bounds -> spaces of its arrays

Gymnasium is imported when a space is first asked for.
"""
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import UsageError
from ..base.extras import require
from .library import Obs
from .vec_arrays import Rows

if TYPE_CHECKING:
    from gymnasium import Space


class RowSpaces(Rows):
    """observation_space holds `observations` as they are, and action_space what step() takes; the
    single spaces are those of one row. Raises UsageError where Gymnasium is not installed."""

    @cached_property
    def single_observation_space(self) -> Space[Any]:
        """A Box (D,) in the rows' own type, with the bounds that the header declares."""
        require("gymnasium", "gymnasium", "observation_space")
        from gymnasium.spaces import Box

        low, high = self._bounds()
        return Box(low, high, dtype=low.dtype.type)

    @cached_property
    def single_action_space(self) -> Space[Any]:
        """A Discrete for one head, a MultiDiscrete for several, a Box in [-1, 1] for continuous
        ones, and a Tuple with a space for each head where both kinds occur."""
        require("gymnasium", "gymnasium", "action_space")
        from .spaces import action_space

        return action_space(self.act_sizes)

    @cached_property
    def observation_space(self) -> Space[Any]:
        """single_observation_space of all N rows at once."""
        return self._batched(self.single_observation_space)

    @cached_property
    def action_space(self) -> Space[Any]:
        """single_action_space of all N rows at once."""
        return self._batched(self.single_action_space)

    @property
    def actions(self) -> NDArray[np.float32]:
        return self._actions

    @actions.setter
    def actions(self, values: ArrayLike) -> None:
        """`vec.actions = x` copies into the buffer: (N, K), or (N,) where there is one head."""
        values = np.asarray(self._one_array(values))
        if values.shape == (self.num_agents,) and len(self.act_sizes) == 1:
            values = values[:, None]
        if values.shape != self._actions.shape:
            raise UsageError("actions have the wrong shape", expected=self._actions.shape,
                             actual=values.shape)
        self._actions[:] = values

    def _one_array(self, actions: ArrayLike) -> ArrayLike:
        """Actions as the setter of `actions` takes them: heads of both kinds may come as a tuple
        with an array for each, a member of action_space."""
        mixed = 1 in self.act_sizes and max(self.act_sizes) > 1
        if mixed and isinstance(actions, tuple) and all(
                isinstance(head, np.ndarray) for head in actions):
            return np.stack([head.reshape(-1) for head in actions], 1)
        return actions

    def _batched(self, space: Space[Any]) -> Space[Any]:
        from gymnasium.vector.utils import batch_space

        return batch_space(space, self.num_agents)

    def _bounds(self) -> tuple[Obs, Obs]:
        """(D,) each, in the rows' own type."""
        from . import header, obs_spec
        from .spaces import bounds

        folder, about = self.library.folder, self.description
        return bounds(about, None if folder is None else obs_spec.read(
            header.read(folder), about.obs_size, about.act_sizes, self.env_settings))
