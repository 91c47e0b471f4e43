"""Trainer: training in your own loop.  a VecEnv and settings -> rollout(), update(), save()"""
from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ..base import extras, files
from ..base.errors import UsageError, did_you_mean
from ..base.sealed import Fixed
from ..distributed import dividing
from ..distributed.group import Alone, over
from ..env import encoder_choice, header
from ..env.vec import VecEnv
from ..env.vec_wrapper import VecWrapper
from ..interop.python_envs.python_spec import PythonSpec
from ..settings import config
from ..settings.table import Train
from ..settings.values import COMMAND_LINE, Config
from ..toolchain import gpu_kept
from . import backends, checkpoint, own_code
from .own_code import OnEpoch
from .run_records import Env as EnvFacts
from .run_records import Facts
from .seams import Advantage, Reward, Rollout
from .trainer_view import TrainerView

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from torch.distributed import ProcessGroup

    from .reference.own_loss import Loss
    from .reference.own_optimizer import MakeOptimizer


class Trainer(TrainerView):
    """A policy and its training over one VecEnv, for your own loop.

        vec = puffer_sdk.make("my_env", num_envs=1024)
        with puffer_sdk.Trainer(vec, {"train.learning_rate": 0.02}) as trainer:
            while not trainer.finished:
                trainer.rollout()                   # T ticks of all agents
                losses = trainer.update()           # learn from them
                print(trainer.global_step, vec.log(), losses)
            trainer.save("policy.safetensors")      # for `puffer-sdk eval`, or load()

    vec       a VecEnv, or a VecWrapper with a step() of your own; the first rollout resets its
              envs; do not step them yourself in between
    config    settings over those of the environment's ini, or a Config from configure();
              train.obs_scale is 1 unless given
    advantage a function of yours: (Rollout) -> (advantages, returns), (N, T) both. Called once in
              every update(), in place of V-trace: all minibatches see the same, and so do
              priorities. On the CPU, in one process, without train.async
    reward    a function of yours: (Rollout) -> rewards (N, T), in place of the env's: called at the
              end of every rollout(); where `advantage` works. Logs their mean as `reward`
    on_epoch  a function of yours: (trainer) -> True to end the training (`finished`), or nothing.
              Called at the end of every update()
    loss      a function of yours: (Batch, Outputs) -> a scalar, or (scalar, {name: number}), for
              each minibatch, in PyTorch (reference/own_loss.py has the shapes). Ours is
              outputs.loss; the metrics' means are the epoch's
    optimizer a function of yours: (parameters) -> torch.optim.Optimizer, in place of Muon, in
              PyTorch, with learning rates of its own; checkpoints have its state_dict()
    group     several processes share the run: a torch.distributed process group, or a Group of
              distributed/group.py. vec is this process's part of the environments, as many
              agents as any other's, with seeds of its own; settings are of the whole run. All
              processes make the same calls, and have the same weights after each update()
    Attributes: vec, config, and the properties below.
    Raises UsageError if sizes or settings contradict each other.
    """

    def __init__(self, vec: VecEnv | VecWrapper,
                 config: Mapping[str, object] | Config | None = None, *,
                 advantage: Advantage | None = None,
                 reward: Reward | None = None, on_epoch: OnEpoch | None = None,
                 loss: Loss | None = None,
                 optimizer: MakeOptimizer | None = None,
                 group: Alone | ProcessGroup | None = None):
        _check_kinds(vec, config)
        self._group = over(group)
        self._made_group = self._group is not group
        wanted = _config_for(vec, config, self._group.size)
        if (loss or optimizer) and wanted.origin["train.backend"].startswith(backends.AUTO):
            extras.require_torch("loss=" if loss else "optimizer=")
            if not isinstance(config, Config):
                config = {**(config or {}), "train.backend": "torch"}
                wanted = _config_for(vec, config, self._group.size)
        if backends.may_leave_gpu(wanted):
            wanted = backends.require(wanted)
        self._code = own_code.OwnCode.of(wanted, self._group.size, on_epoch=on_epoch, loss=loss,
                                         optimizer=optimizer, reward=reward, advantage=advantage)
        trainer = backends.make_trainer(vec, dividing.part_of(wanted, self._group.size),
                                        group=self._group, own=self._code)
        self._code.take(trainer)
        if self._code.optimizer:
            own_code.warn_of_rate(wanted)
        super().__init__(trainer, backends.as_made(wanted, trainer), self._code.metrics, vec)
        if self.config is not wanted:
            gpu_kept.warn_of_failure(backends.reason_of(self.config))
        self.advantage = self._code.advantage
        self._env_facts = facts_of(vec)
        self._rolled_out = False        # whether there is a rollout to learn from
        self._seconds = 0.0             # spent in rollout and update, over all loaded parts
        self.seal()

    _instead = {
        "vec": "trainer.use(vec) continues with other envs",
        "rollout_tensors": "rollout() returns them",
        **dict.fromkeys(("config", *(each.name for each in fields(Train))),
                        "settings are given to Trainer(vec, {...}); save() and load() carry "
                        "weights from one trainer to another")}

    def __getattr__(self, name: str) -> NoReturn:
        raise Fixed(f"Trainer has no attribute '{name}'", hint=self._instead.get(name)
                    or did_you_mean(name, [each for each in dir(type(self)) if each[0] != "_"]))

    # -- the loop

    def rollout(self) -> Rollout:
        """`horizon` ticks of all agents with the current policy. Returns their arrays, as views."""
        began, self._rolled_out = time.perf_counter(), False
        self._own.begin()
        self._trainer.rollout()
        self._code.after_rollout(self._trainer)
        self._rolled_out = True
        self._seconds += time.perf_counter() - began
        return self._trainer.rollout_arrays()

    def update(self, advantages: ArrayLike | None = None, returns: ArrayLike | None = None
               ) -> dict[str, float]:
        """Learn from the rollout. Returns losses and rates, by the names of metrics.jsonl, and
        what was logged.

        advantages, returns     (N, T) both, in place of ours: as `advantage` would return them
        """
        if not self._rolled_out:
            raise UsageError("there is no rollout to train on", hint="roll out first: rollout()")
        began = time.perf_counter()
        if (advantages is None) != (returns is None):
            raise UsageError("advantages and returns come together", expected="both, or neither",
                             actual="returns" if advantages is None else "advantages")
        if advantages is None:
            advantages, returns = self._code.advantages(self._trainer)
        self._own.end(self._trainer.update(advantages, returns))
        self._seconds += time.perf_counter() - began
        self._code.after_epoch(self)
        return self.metrics

    def use(self, vec: VecEnv | VecWrapper) -> None:
        """Continue with other envs, for example a harder level: as many agents, the same sizes."""
        _check_kinds(vec, None)
        self._trainer.restart_envs(vec)
        vars(self).update(vec=vec, config=replace(self.config, env=vec.env_settings))

    @property
    def finished(self) -> bool:
        """True once train.total_timesteps are done, or on_epoch returned True; you may continue."""
        return super().finished or self._code.enough

    # -- weights

    def save(self, path: str | os.PathLike[str]) -> Path:
        """A checkpoint: weights, optimiser, counters and settings, whole or not at all.

        `puffer-sdk eval ENV --load-model-path PATH` plays it. Returns the path. Raises RunError if
        it cannot be written.
        """
        tensors = self._trainer.state_tensors()     # once they are there, so are the counters
        facts: Facts = {"env": self._env_facts, "config": self.config.to_dict(),
                 "counters": self._trainer.counters, "epoch": self._trainer.epoch,
                 "step": self._trainer.global_step, "seconds": self._seconds}
        own, facts["own"] = self._code.state()
        checkpoint.save(files.typed(path), {**tensors, **own}, facts)
        return Path(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a checkpoint, with fresh episodes. UsageError if it does not fit."""
        past = checkpoint.load(files.typed(path))
        checkpoint.check_fits(past, self._env_facts, self.vec.env_settings)
        checkpoint.check_sees(past, self.config.policy)
        checkpoint.warn_of_other_name(past, self._env_facts["name"])
        with past.named():
            self._trainer.load_state_tensors(past.tensors)
            self._code.load(past.tensors, past.facts.get("own", {}))
        self._trainer.load_counters(past.facts["counters"])
        self._trainer.restart_envs(self.vec)
        self._rolled_out = False
        self._seconds = past.facts["seconds"]

    # -- the end

    def close(self) -> None:
        """Free threads and memory. The envs stay open, and the process group: they are yours."""
        self._trainer.close()
        if self._made_group:
            self._group.close()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _check_kinds(vec: object, config: object) -> None:
    """Raises UsageError for what is no VecEnv or no settings."""
    if not isinstance(vec, (VecEnv, VecWrapper)):
        name = repr(vec) if isinstance(vec, str) else '"my_env"'
        opener = "wrap" if ":" in name else "make"
        raise UsageError("a Trainer learns on a VecEnv", expected="what make() or wrap() returns, "
                         "or a VecWrapper", actual=name if isinstance(vec, str)
                         else type(vec).__name__, hint=f"Trainer(puffer_sdk.{opener}({name}, "
                         f"num_envs=1024)); puffer_sdk.train({name}) has a loop of its own")
    if config is not None and not isinstance(config, (Mapping, Config)):
        raise UsageError("these are no settings", actual=type(config).__name__,
                         expected='a dict such as {"train.gamma": 0.99}, or a Config',
                         hint='puffer_sdk.configure("my_env", ini=path) reads a file of settings')


def _config_for(vec: VecEnv | VecWrapper, given: Mapping[str, object] | Config | None, ranks: int
                ) -> Config:
    """The settings for these envs, whose number and [env] are already fixed; of all ranks."""
    folder, agents = vec.library.folder, vec.num_agents * ranks
    if isinstance(given, Config):
        _refuse_lost(given, vec, agents)
    else:
        asked = dict(given or {})
        own = {"vec.total_agents": agents, "vec.num_buffers": vec.num_buffers}
        for name, value in asked.items():
            if name.startswith("env.") or name in own:
                raise UsageError(f"{name} cannot change after the envs are created", where=name,
                                 expected="settings of the training", actual=value,
                                 hint="pass it to puffer_sdk.make")
        asked.update(own)
        given = config.resolve(folder, asked, header.find(folder), warn_unread=False) if folder \
            else config.defaults(asked)
    if folder:
        given = backends.with_class_file(given, folder)
    given = replace(given, env=vec.env_settings, vec=replace(
        given.vec, total_agents=agents, num_buffers=vec.num_buffers))
    if folder is None and (facts := getattr(vec.library, "facts", None)):
        return encoder_choice.resolve(given, vec.obs_size, lambda: PythonSpec("", facts).row())
    return encoder_choice.of_folder(given, folder, vec.description)


def _refuse_lost(given: Config, vec: VecEnv | VecWrapper, agents: int) -> None:
    """Raises UsageError for what somebody gave, and these envs have otherwise."""
    have: dict[str, object] = {f"env.{key}": value for key, value in vec.env_settings.items()}
    have |= {"vec.total_agents": agents, "vec.num_buffers": vec.num_buffers}
    for name, value in have.items():
        if given.origin.get(name) == COMMAND_LINE and given[name] != value:
            raise UsageError(f"{name} cannot change after the envs are created", where=name,
                             expected=f"{value}, as the envs have it", actual=given[name],
                             hint="make the envs with it: puffer_sdk.make")


def facts_of(vec: VecEnv | VecWrapper) -> EnvFacts:
    """What a checkpoint says about its environment."""
    about, folder = vec.description, vec.library.folder
    return checkpoint.env_facts(about, folder.name if folder else about.name,
                                header.read(folder).hash() if folder else None)
