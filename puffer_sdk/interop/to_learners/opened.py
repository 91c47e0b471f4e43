"""An environment, opened for others.  a name or folder -> Opened -> VecEnv

One that draws lives in a process of its own (drawn.py): which raylib an environment calls is
decided when the first library of a process is opened.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from ...base import paths
from ...base.errors import UsageError
from ...env import build as building
from ...env import obs_spec
from ...env.library import Description, Library
from ...env.seeds import mix_seed
from ...env.vec import VecEnv
from ...settings import config
from .seeded_copies import make_vec

RENDER_MODES = ("rgb_array", "human")
USUAL_FPS = 30              # of an environment that asks for none


class Opened:
    """One environment under given settings.

    agents      rows of one copy
    about       its Description
    row         what its header says of an observation; None where that is nothing
    """

    def __init__(self, env, env_settings: Mapping[str, float] | None = None,
                 render_mode: str | None = None):
        if render_mode not in (None, *RENDER_MODES):
            raise UsageError(f"render_mode cannot be {render_mode!r}",
                             expected=", ".join(RENDER_MODES) + " or None",
                             actual=repr(render_mode))
        self.folder, self.render_mode = paths.find_env(env), render_mode
        built = building.build(self.folder)
        given = {f"env.{key}": str(value) for key, value in (env_settings or {}).items()}
        self.settings = config.resolve(self.folder, given, spec=built.spec).env
        self.name, self._spec = built.spec.name, built.spec
        self._library = Library(built.library, self.folder)
        self.about = self._library.describe(self.settings)
        self.agents = self._library.agents_per_env(self.settings)

    @property
    def keeps_finals(self) -> bool:
        """Whether every episode's final observation is kept, and not those of some alone."""
        finals = self._spec.final_obs
        return self.agents == 1 and finals is not None and finals.function is not None

    @cached_property
    def row(self) -> obs_spec.ObsSpec | None:
        return obs_spec.read(self._spec, self.about.obs_size, self.about.act_sizes, self.settings)

    def vec(self, seeds: Sequence[int], *, threads: int = 1, last: VecEnv | None = None):
        """A VecEnv, or what stands for one, with a copy for each of these seeds.

        A copy plays what it would play alone with its seed. `last` is the vec that this one
        replaces; it is closed.
        """
        mixed = [mix_seed(int(seed), 0) for seed in seeds]
        if self.render_mode is not None:
            from .drawn import DrawnVec

            if isinstance(last, DrawnVec):
                last.begin(mixed)
                return last
            return DrawnVec(self, mixed)
        if last is not None:
            last.close()
        return make_vec(self._library, mixed, self.agents, self.settings, threads)


def renew(vec, copy: int, seed: int) -> None:
    """Restart one copy of an Opened.vec(), as it would start alone with this seed.

    Raises UsageError where an environment's copies cannot be made one by one.
    """
    vec.renew(copy, mix_seed(int(seed), 0))
    vec.reset_range(copy, 1)


class Finals:
    """What episodes saw last, for adapters that hand out copies of the observations.

    Where the library keeps no final observation, the one before the last step stands for it.
    """

    def __init__(self, about: Description, rows: np.ndarray):
        """rows (N, D): what was handed out last, by reset or step"""
        self.kept, self.last = about.has_final_obs, rows

    def of(self, vec, rows: np.ndarray) -> np.ndarray:
        """(n, D): copies, for rows (n,) whose episodes the last step ended."""
        if not self.kept:
            return self.last[rows].copy()
        return np.where(vec.has_final[rows, None] != 0, vec.final_observations[rows],
                        self.last[rows])
