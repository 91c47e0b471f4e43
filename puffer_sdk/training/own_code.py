"""Functions of the user's own in a training.  settings FILE.py:NAME, or objects -> called, checked
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..base import ui
from ..base.errors import UsageError, did_you_mean
from ..settings import torch_class
from ..settings.table import TORCH_FUNCTIONS
from ..settings.values import COMMAND_LINE, Config
from . import own_state
from .own_calls import call, module_of, place_of
from .own_metrics import OwnMetrics
from .seams import Advantage, Reward, ask_advantages, replace_rewards, require_own_advantages
from .trainer_view import TrainerView

if TYPE_CHECKING:
    from ..env.vec import VecEnv
    from .native.native_ppo import NativePPO
    from .reference.own_loss import Loss
    from .reference.own_optimizer import MakeOptimizer
    from .reference.reference_ppo import TorchPPO

RATE = "train.learning_rate"
SETTINGS = {"reward": "train.reward", "advantage": "train.advantage",
            "on_epoch": "train.on_epoch", "loss": "train.torch_loss",
            "optimizer": "train.torch_optimizer"}
OnEpoch = Callable[[TrainerView], "bool | None"]


def warn_of_rate(config: Config) -> None:
    """Say that an ini's learning rate does nothing beside an optimiser of the user's own."""
    origin = config.origin.get(RATE, "default")
    if origin != "default" and not origin.startswith("auto"):
        ui.warn_once(f"{origin}: learning_rate has no effect on an optimiser of your own",
                     "the rate is in your function")


@dataclass
class OwnCode:
    """What of a training is the user's own, and this epoch's metrics of theirs."""

    reward: Reward | None = None
    advantage: Advantage | None = None
    on_epoch: OnEpoch | None = None
    loss: Loss | None = None
    optimizer: MakeOptimizer | None = None

    def __post_init__(self) -> None:
        self.metrics = OwnMetrics()
        self._made: object = None   # the optimiser that the trainer has made
        self.enough = False         # whether on_epoch has ended the training

    @classmethod
    def of(cls, config: Config, ranks: int = 1, **given: Any) -> OwnCode:
        """Those that the settings name, and in place of them these objects. Raises UsageError."""
        modules: dict[str, ModuleType] = {}
        found = {}
        for name, key in SETTINGS.items():
            spec, function = config[key], given.get(name)
            if function is None and spec:
                spec = torch_class.find(str(spec))
                file, _, wanted = spec.rpartition(":")
                module = modules[file] = modules.get(file) or module_of(spec, key)
                function = getattr(module, wanted, None)
                if not callable(function):
                    raise UsageError(f"{key}: the file has no function '{wanted}'", where=spec,
                                     hint=did_you_mean(wanted, [
                                         each for each, value in vars(module).items()
                                         if callable(value)]))
                if isinstance(function, type):      # whose objects may have state
                    function = call(key, function)
            if function is not None and not callable(function):
                raise UsageError(f"{name}= takes a function", actual=type(function).__name__)
            if function is not None and ranks > 1:
                raise UsageError(f"{name}, a function of your own, needs one process",
                                 actual=f"{ranks} processes")
            if function is not None and key in TORCH_FUNCTIONS \
                    and config.train.backend == "native":
                raise UsageError(f"{name}= is in PyTorch, which the native trainer does not take",
                                 where="train.backend", expected="torch", actual="native",
                                 hint="leave train.backend at auto")
            found[name] = function
        if found["optimizer"] and config.origin.get(RATE) == COMMAND_LINE:
            raise UsageError(f"{RATE} has no effect on an optimiser of your own", where=RATE,
                             expected="the rate in your function", actual=config[RATE],
                             hint="such as torch.optim.Adam(parameters, lr=1e-3)")
        return cls(**found)

    def take(self, trainer: NativePPO | TorchPPO) -> None:
        """The trainer that calls these: its optimiser has state. Raises UsageError where it does
        not give its rollout."""
        for what in ("reward", "advantage"):
            if getattr(self, what) is not None:
                require_own_advantages(trainer.config, 1, f"{what}s")
        self._made = getattr(getattr(trainer, "muon", None), "optimizer", None)

    def view(self, trainer: NativePPO | TorchPPO, config: Config, vec: VecEnv) -> TrainerView:
        """What on_epoch sees of a trainer."""
        return TrainerView(trainer, config, self.metrics, vec)

    def after_rollout(self, trainer: NativePPO | TorchPPO) -> None:
        """Call reward: what it returns is what the trainer learns from."""
        if self.reward is not None:
            self.metrics.log("reward", replace_rewards(self.reward, trainer.rollout_arrays()))

    def advantages(self, trainer: NativePPO | TorchPPO
                   ) -> tuple[ArrayLike, ArrayLike] | tuple[None, None]:
        """Call advantage: what update() is to take, or (None, None)."""
        if self.advantage is None:
            return None, None
        return ask_advantages(self.advantage, trainer.rollout_arrays())

    def after_epoch(self, view: TrainerView) -> None:
        """Call on_epoch. Raises RunError where it fails, UsageError for what it may not return."""
        if self.on_epoch is None:
            return
        stop = call("on_epoch", self.on_epoch, view)
        if not isinstance(stop, (bool, np.bool_, type(None))):
            raise UsageError("on_epoch must return True to end the training, or nothing",
                             where=place_of(self.on_epoch), actual=type(stop).__name__,
                             expected="True, False or None")
        self.enough = self.enough or bool(stop)

    # -- checkpoints

    def _objects(self) -> dict[str, Any]:
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        found["optimizer"] = self._made
        return {name: held for name, held in found.items() if held is not None}

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """Tensors, and facts for facts["own"]: what objects with a state_dict() hold."""
        tensors: dict[str, np.ndarray] = {}
        facts: dict[str, object] = {}
        for what, held in self._objects().items():
            found, kept = own_state.save(what, held)
            if kept is not None:
                tensors |= found
                facts[what] = kept
        return tensors, facts

    def load(self, tensors: Mapping[str, np.ndarray], facts: Mapping[str, object]) -> None:
        """Take back what state() gave. Raises UsageError where an object cannot."""
        for what, held in self._objects().items():
            if what == "optimizer" and what not in facts:
                raise UsageError("the checkpoint has no state of your optimiser", where=what,
                                 hint="begin a new run: --load-model-path takes weights alone")
            own_state.load(what, held, tensors, facts.get(what))
