"""Whether environments can be stepped as one.  what each worker made -> their spaces, batched"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector.utils import batch_differing_spaces, batch_space

from .lane import Made

Space = gymnasium.Space[Any]
Mode = str | tuple[Space, Space]        # of observations: "same", "different", (batched, single)


def batched(made: Sequence[Made], mode: Mode, num_envs: int) -> tuple[Space, Space, Space, Space]:
    """(single observation space, batched, single action space, batched).

    Raises RuntimeError where spaces differ, ValueError or TypeError for another mode.
    """
    seen = [space for each in made for space in each.observation_spaces]
    acts = [space for each in made for space in each.action_spaces]
    single, together = _observations(seen, mode, num_envs)
    fits = [space == single if mode == "same" else is_space_dtype_shape_equiv(space, single)
            for space in seen]
    if not all(fits):
        raise RuntimeError(
            f"env {fits.index(False)} has another observation space than env 0: "
            f"{seen[fits.index(False)]}, not {seen[0]}"
            + ("; observation_mode='different' is for spaces with other bounds"
               if mode == "same" else ""))
    if any(space != acts[0] for space in acts):
        raise RuntimeError("all environments must have the same action space, and they have "
                           f"{', '.join(dict.fromkeys(map(str, acts)))}")
    return single, together, acts[0], batch_space(acts[0], num_envs)


def _observations(seen: list[Space], mode: Mode, num_envs: int) -> tuple[Space, Space]:
    if isinstance(mode, tuple) and len(mode) == 2:
        if not all(isinstance(space, gymnasium.Space) for space in mode):
            raise TypeError("observation_mode has two parts that must be spaces, and they are "
                            f"{type(mode[0]).__name__} and {type(mode[1]).__name__}")
        return mode[1], mode[0]
    if mode == "same":
        return seen[0], batch_space(seen[0], num_envs)
    if mode == "different":
        return seen[0], batch_differing_spaces(seen)
    raise ValueError(f"observation_mode cannot be {mode!r}: 'same', 'different', or a batched "
                     "space and a single one")
