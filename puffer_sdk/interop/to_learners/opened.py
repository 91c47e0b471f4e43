"""An environment, opened for others.  a name or folder -> Opened -> VecEnv

One that draws lives in a process of its own (drawn.py): which raylib an environment calls is
decided when the first library of a process is opened.
"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from ...base import paths
from ...base.errors import UsageError
from ...env import build as building
from ...env import obs_spec
from ...env.library import Library
from ...env.seeds import mix_seed
from ...env.spaces import Actions, Observations
from ...env.vec import VecEnv
from ...settings import config
from .seeded_copies import make_vec

if TYPE_CHECKING:
    from .drawn import DrawnVec

    Copies = VecEnv | DrawnVec

RENDER_MODES = ("rgb_array", "human")
USUAL_FPS = 30              # of an environment that asks for none


class Opened:
    """One environment under given settings.

    agents          rows of one copy
    about           its Description
    observations    its rows as observations of a space
    actions         actions of a space as its heads
    """

    def __init__(self, env: str | os.PathLike[str], env_settings: Mapping[str, float] | None,
                 render_mode: str | None, layout: str):
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
        row = obs_spec.read(self._spec, self.about.obs_size, self.about.act_sizes, self.settings)
        self.observations, self.actions = Observations(self.about, row, layout), Actions(self.about)
        self._told = False

    @property
    def keeps_finals(self) -> bool:
        """Whether every episode's final observation is kept, and not those of some alone."""
        finals = self._spec.final_obs
        return self.agents == 1 and finals is not None and finals.function is not None

    def warn_of_missing(self, vec: Copies, rows: NDArray[np.intp]) -> None:
        """Say once that nothing shows what these rows, whose episodes ended, saw last."""
        kept = vec.has_final
        if self._told or len(rows) == 0 or kept is not None and kept[rows].all():
            return
        self._told = True
        why = self._spec.no_final_obs or "it was not written in this step, or past its row"
        gymnasium.logger.warn(f"{self.name} gives no final observation of an episode: the one "
                              f"before the last step stands in ({why}; "
                              f"{paths.page('trainer/algorithm.md')})")

    def vec(self, seeds: Sequence[int], *, threads: int = 1, last: Copies | None = None) -> Copies:
        """A VecEnv, or a DrawnVec, with a copy for each of these seeds.

        A copy plays what it would play alone with its seed. `last` is the vec that this one
        replaces; it is closed.
        """
        mixed = [mix_seed(int(seed), 0) for seed in seeds]
        if self.render_mode is not None:
            from .drawn import DrawnVec

            if isinstance(last, DrawnVec):
                last.begin(mixed)
                return last
            return DrawnVec(self.folder, self.settings, self.agents, self.about, mixed,
                            visible=self.render_mode == "human")
        if last is not None:
            last.close()
        return make_vec(self._library, mixed, self.agents, self.settings, threads)

    def show(self, vec: Copies) -> None:
        """Draw the first copy in its window, with render_mode "human"."""
        if self.render_mode == "human" and not isinstance(vec, VecEnv):
            vec.frame(0)


def renew(vec: Copies, copy: int, seed: int) -> None:
    """Restart one copy of an Opened.vec(), as it would start alone with this seed.

    Raises UsageError where an environment's copies cannot be made one by one.
    """
    vec.renew(copy, mix_seed(int(seed), 0))
    vec.reset_range(copy, 1)


def drawn(vec: Copies | None) -> DrawnVec | None:
    """The copies as ones that draw; None, and a warning, where no render_mode was given.

    Raises UsageError before the first reset.
    """
    if vec is None:
        raise UsageError("nothing to render yet", expected="reset() first")
    if isinstance(vec, VecEnv):
        gymnasium.logger.warn("render() was called, and no render_mode was given: "
                              "render_mode='rgb_array'")
        return None
    return vec


class Episode:
    """The episode that one copy plays, for adapters that hand out copies of its observations.

    last    (N, D): what was handed out last, by reset or step
    """

    def __init__(self, vec: Copies):
        self.vec, self.last = vec, vec.observations.copy()

    def finals(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """(n, D): what these rows (n,), whose episodes the last step ended, saw last: copies.

        Without a final observation from the library, the one before the last step is used.
        """
        vec = self.vec
        if vec.has_final is None or vec.final_observations is None:
            return np.take(self.last, rows, 0)
        kept: NDArray[np.bool_] = vec.has_final[rows, None] != 0
        found: NDArray[Any] = np.where(kept, vec.final_observations[rows], self.last[rows])
        return found

    def logged(self) -> dict[str, object]:
        """What the copy has logged of the episode that ended, by the names of its log."""
        n, values = self.vec.logs_of(np.array([0]))
        return dict(zip(self.vec.description.log_names, values[0].tolist())) if n[0] else {}
