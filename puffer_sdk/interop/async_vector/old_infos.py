"""Infos as Gymnasium had them before 1.0.  a vector -> a vector, for programs of that time"""
from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
from numpy.typing import NDArray

from ...base.errors import UsageError


class OldInfos(VectorWrapper):
    """A vector whose infos say of episodes that end what Gymnasium 0.29 said.

    envs        a vector whose autoreset is "same_step": the only one there was

    infos["final_info"] and ["final_observation"] are arrays (num_envs,) of objects: a dict and an
    observation where an episode has ended, None elsewhere; masks begin with _. A vector's own
    "episode", of RecordEpisodeStatistics, is in final_info as well.
    Raises UsageError for another autoreset.
    """

    def __init__(self, envs: VectorEnv):
        mode = envs.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise UsageError("OldInfos requires autoreset in the same step",
                             expected=f"autoreset_mode={AutoresetMode.SAME_STEP}",
                             actual=f"autoreset_mode={mode}")
        super().__init__(envs)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """As the vector's own, with other infos."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        ends = np.logical_or(terminations, truncations)
        if ends.any():
            infos = self._told(dict(infos), ends)
        return observations, rewards, terminations, truncations, infos

    def _told(self, infos: dict[str, Any], ends: NDArray[np.bool_]) -> dict[str, Any]:
        finals = infos.pop("final_info", {})
        if "episode" in infos:
            finals = {**finals, "episode": infos["episode"],
                      "_episode": infos.get("_episode", ends)}
        told = np.full(self.num_envs, None, object)
        for env in np.flatnonzero(ends).tolist():
            told[env] = _of(finals, env)
        infos |= {"final_info": told, "_final_info": ends}
        if "final_obs" in infos:
            infos |= {"final_observation": infos.pop("final_obs"),
                      "_final_observation": infos.pop("_final_obs", ends)}
        return infos


def _of(infos: dict[str, Any], env: int) -> dict[str, Any]:
    """What the infos of all say of one."""
    found: dict[str, Any] = {}
    for name, values in infos.items():
        mask = infos.get(f"_{name}")
        if name.startswith("_") or (mask is not None and not np.asarray(mask)[env]):
            continue
        found[name] = _of(values, env) if isinstance(values, dict) else values[env]
    return found
