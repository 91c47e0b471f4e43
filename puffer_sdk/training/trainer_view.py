"""A trainer as the user's own code sees it.  NativePPO or TorchPPO -> counters, weights, log()"""
from __future__ import annotations

from typing import TYPE_CHECKING, SupportsFloat

from ..base.sealed import Sealed
from ..settings.values import Config
from .own_metrics import OwnMetrics

if TYPE_CHECKING:
    import numpy as np

    from ..env.vec import VecEnv
    from ..env.vec_wrapper import VecWrapper
    from .native.native_ppo import NativePPO
    from .reference.reference_ppo import TorchPPO


class TrainerView(Sealed):
    """What a Trainer shows between two updates: how far it is, its weights, metrics of your own.

    Attributes: config (its settings), vec (its envs: vec.set() changes their settings; do not step
    them), and the properties below.
    """

    def __init__(self, trainer: NativePPO | TorchPPO, config: Config, own: OwnMetrics,
                 vec: VecEnv | VecWrapper):
        self._trainer, self.config, self._own, self.vec = trainer, config, own, vec

    @property
    def metrics(self) -> dict[str, float]:
        """Of the last update(), by the names of metrics.jsonl, with what was logged since."""
        return self._own.row

    def log(self, name: str, value: SupportsFloat) -> None:
        """A metric of your own, in this epoch's row of metrics: metrics.jsonl, the terminal,
        `runs plot --metric NAME`, Weights & Biases, TensorBoard.

            trainer.log("novelty", rollout.rewards.std())

        An epoch lasts from its rollout() to the next one; its last value of a name counts. Raises
        UsageError for a name of ours, or what is no one number, RunError for NaN.
        """
        self._own.log(name, value)

    @property
    def epoch(self) -> int:
        """Updates done."""
        return self._trainer.epoch

    @property
    def total_epochs(self) -> int:
        """Updates that train.total_timesteps allows."""
        return self._trainer.total_epochs

    @property
    def global_step(self) -> int:
        """Agent steps trained on."""
        return self._trainer.global_step

    @property
    def finished(self) -> bool:
        """True once train.total_timesteps are done; you may continue."""
        return self._trainer.finished

    @property
    def learning_rate(self) -> float:
        """Of the next update."""
        return self._trainer.learning_rate

    @property
    def agents(self) -> int:
        """N"""
        return self._trainer.agents

    @property
    def horizon(self) -> int:
        """T"""
        return self._trainer.horizon

    @property
    def batch_size(self) -> int:
        """Agent steps of one epoch."""
        return self._trainer.batch_size

    @property
    def parameters(self) -> dict[str, np.ndarray]:
        """The live weights, by name, without a copy: encoder (H, E) of the E numbers that the
        network sees, layers.i (3H, H), decoder (A + 1, H) with the value's row last, logstd,
        parts.P.L of the encoder's parts. After writing into one, call touch()."""
        return self._trainer.parameters

    def touch(self) -> None:
        """Call this after writing to weights."""
        self._trainer.touch()
