"""What was collected, for other libraries.  arrays -> .npz, Minari, a Hugging Face dataset"""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base import files
from ..interop.python_envs.importing import need

if TYPE_CHECKING:
    from datasets import Dataset
    from gymnasium.spaces import Space
    from minari import MinariDataset


@dataclass(frozen=True)
class Transitions:
    """M transitions, episode after episode: an episode is the slice first:stop of every array.

    observations    (M, D)          rows as the VecEnv has them: uint8, int32 or float32
    actions         (M,) or (M, K)  int64 ids of one head or of several; float32 where a head is
                                    continuous
    rewards         (M,) float32
    terminations    (M,) bool       the game ended the episode
    truncations     (M,) bool       a time limit did
    action_masks    (M, A) uint8    what was legal, 1; None: everything always is
    episodes        (E, 2) int64    first and stop of each
    finals          (E, D)          the observation behind an episode's last action
    has_final       (E,) bool       False: nobody can give it, and `finals` has zeros there

    The last episode of an agent is cut where collecting stopped, unless it ended there: it has
    neither flag in its last row, and its final observation.
    """

    env: str
    observations: NDArray[Any]
    actions: NDArray[Any]
    rewards: NDArray[np.float32]
    terminations: NDArray[np.bool_]
    truncations: NDArray[np.bool_]
    action_masks: NDArray[np.uint8] | None
    episodes: NDArray[np.int64]
    finals: NDArray[Any]
    has_final: NDArray[np.bool_]
    observation_space: Space[Any] | None = None
    action_space: Space[Any] | None = None

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def next_observations(self) -> NDArray[Any]:
        """(M, D): what each action led to. At an ending, the final observation."""
        found = np.empty_like(self.observations)
        found[:-1] = self.observations[1:]
        found[self.episodes[:, 1] - 1] = self.finals
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays by name, next_observations among them."""
        names = ("observations", "actions", "rewards", "next_observations", "terminations",
                 "truncations", "action_masks", "episodes", "finals", "has_final")
        return {name: array for name in names if (array := getattr(self, name)) is not None}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write arrays() as PATH.npz, for numpy.load. Raises RunError where that fails."""
        place = files.typed(path)
        place = place if place.suffix == ".npz" else place.with_name(place.name + ".npz")
        with files.refused("cannot save the transitions", where=place), \
                files.replacing(place) as draft, files.open(draft, "rb+") as file:
            np.savez(file, allow_pickle=False, **self.arrays())
        return place

    def to_minari(self, dataset_id: str, **about: Any) -> MinariDataset:
        """Write a Minari dataset, such as "my_env/expert-v0", with a row of it for each episode.

        about       what minari.create_dataset_from_buffers takes besides: author, env, ...
        One that was cut is truncated there. An episode without a final observation ends with the
        observation before. Raises UsageError where Minari is not installed.
        """
        minari = need("minari", "'minari[hdf5]'")
        buffers, last = [], np.where(self.has_final[:, None], self.finals,
                                     self.observations[self.episodes[:, 1] - 1])
        for number, (first, stop) in enumerate(self.episodes):
            truncations = self.truncations[first:stop].copy()
            truncations[-1] |= not self.terminations[stop - 1]
            buffers.append(minari.data_collector.EpisodeBuffer(
                id=number, actions=self.actions[first:stop],
                observations=np.concatenate([self.observations[first:stop], last[number:][:1]]),
                rewards=self.rewards[first:stop].tolist(), truncations=truncations.tolist(),
                terminations=self.terminations[first:stop].tolist()))
        spaces = {"observation_space": self.observation_space, "action_space": self.action_space}
        found: MinariDataset = minari.create_dataset_from_buffers(
            dataset_id, buffers, **{**spaces, "description": f"{self.env}, by puffer-sdk", **about})
        return found

    def to_huggingface(self) -> Dataset:
        """A datasets.Dataset with a row for each transition, and its episode's number: its own
        save_to_disk and push_to_hub write it. Raises UsageError where datasets is not installed."""
        datasets = need("datasets", "datasets")
        count = self.episodes[:, 1] - self.episodes[:, 0]
        columns = {name: array for name, array in self.arrays().items() if len(array) == len(self)
                   and name not in ("episodes", "finals", "has_final")}
        found: Dataset = datasets.Dataset.from_dict(
            {**columns, "episode": np.repeat(np.arange(len(count)), count)}).with_format("numpy")
        return found
