"""Choose the trainer.  settings -> NativePPO or TorchPPO, and the actor that belongs to it

The native trainer is the default, on a GPU where one can be used. Only the user's own network
([policy] torch_class) and the reference trainer need PyTorch.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base import extras
from ..base.errors import PufferError
from ..distributed.group import Alone
from ..settings import torch_class
from ..settings.values import Config
from .schedules import has_turns

if TYPE_CHECKING:
    import numpy as np

    from .native.actor import NativeActor
    from .native.native_ppo import NativePPO
    from .own_code import OwnCode
    from .reference.action_heads import Actor
    from .reference.reference_ppo import TorchPPO
    from .schedules import Envs, Rows


AUTO = "auto: "         # how the origin of a value that was chosen begins
SMALL_WORK = 1 << 19    # agent steps of a minibatch x hidden size, below which one thread is faster


def require(resolved: Config, folder: Path | None = None, *, verbose: bool = False) -> Config:
    """Check for what the settings' trainer needs: PyTorch, or the native trainer, compiled here.

    folder    the environment's, which is compiled too if it runs on the GPU
    Returns the settings to train with: those given, but on the CPU where train.device = auto chose
    a GPU on which nothing can be trained. Raises UsageError where PyTorch is missing or no GPU is
    usable and the settings need one, BuildError where the native trainer or the environment does
    not compile.
    """
    for spec in torch_class.functions(resolved):
        torch_class.find(torch_class.absolute(spec, folder))
    if resolved.train.backend == "torch":
        require_torch(resolved, folder)
        return resolved
    if may_leave_gpu(resolved):
        from .native import gpu_trial
        problem = gpu_trial.try_gpu(verbose=verbose).problem
        if problem is None:
            return resolved
        resolved = on_cpu(resolved, problem)
    elif resolved.train.device == "cuda":
        require_gpu(resolved, folder, verbose=verbose)
        return resolved
    from .native.trainer_library import build_trainer
    if is_auto(resolved):
        from ..toolchain import gpu_kept
        gpu_kept.warn_of_unused(reason_of(resolved))
    build_trainer(verbose=verbose)
    return resolved


def is_auto(resolved: Config) -> bool:
    """Whether train.device was chosen, and nobody asked for it."""
    return resolved.origin.get("train.device", "").startswith(AUTO)


def may_leave_gpu(resolved: Config) -> bool:
    """Whether the CPU may stand in for the GPU: nobody asked for one, or for what needs one."""
    train = resolved.train
    return (train.device == "cuda" and is_auto(resolved) and resolved.vec.device == "cpu"
            and train.gpus == 1 and not train.async_)


def on_cpu(resolved: Config, reason: str) -> Config:
    """The same settings for the CPU; why: a part of a sentence."""
    return resolved.with_auto("train.device", "cpu", reason)


def reason_of(resolved: Config) -> str:
    """Why train.device is what it was chosen to be."""
    return resolved.origin["train.device"].removeprefix(AUTO)


def as_chosen(resolved: Config, past: Mapping[str, Mapping[str, Any]]) -> Config:
    """A resumed run's settings: its ini holds the device, and `past`, the settings of its
    checkpoint, whether that was chosen."""
    origin = past.get("origin", {}).get("train.device", "")
    if not origin.startswith(AUTO) or past["train"]["device"] != resolved.train.device:
        return resolved
    return resolved.with_auto("train.device", resolved.train.device, origin.removeprefix(AUTO))


def require_gpu(resolved: Config, folder: Path | None = None, *, verbose: bool = False) -> None:
    """require, for the native trainer on a GPU."""
    from ..toolchain import gpu
    from .native import cuda

    envs_too = resolved.vec.device == "cuda"
    instead = [gpu.ON_CPU, *(["--vec.device cpu"] if envs_too else []),
               *(["--train.gpus 1"] if resolved.train.gpus > 1 else [])]
    gpu.choose_device("cuda", "vec.device cuda" if envs_too else "train.device cuda",
                      " ".join(instead), resolved.train.precision)
    gpu.require_gpus(resolved.train.gpus)
    cuda.build(verbose=verbose)
    if envs_too and folder is not None:
        from .native.envs import build_program
        build_program(folder, verbose=verbose)


def require_actor(resolved: Config, where: object = None, *, folder: Path | None = None,
                  verbose: bool = False) -> None:
    """require, for acting with weights. Raises UsageError where the settings name a class that may
    not be run.

    where   the checkpoint that the settings come from; None: they are the user's own
    """
    if resolved.policy.torch_class:
        require_torch(resolved, folder, where)
    else:
        from .native.trainer_library import build_trainer
        build_trainer(verbose=verbose, reference=False)


def require_torch(resolved: Config, folder: Path | None = None, where: object = None) -> None:
    """Raises UsageError where PyTorch is not installed, or the settings name a class that may not
    be run.

    where   the file that the settings come from
    """
    named = resolved.policy.torch_class
    extras.require_torch("[policy] torch_class" if named else "train.backend torch")
    if named:
        torch_class.find(torch_class.absolute(named, folder), where)


def use_threads(resolved: Config) -> None:
    """Set PyTorch's number of threads by the sizes only.

    Its products and sums round differently on different numbers of threads. So the number depends
    neither on vec.num_threads nor on the machine, and a run gives the same bytes whatever they
    are. Small products use one thread: it is done before a second one has woken up.
    """
    import torch

    small = resolved.train.minibatch_size * resolved.policy.hidden_size < SMALL_WORK
    torch.set_num_threads(1 if small else 2)


def with_class_file(resolved: Config, folder: Path) -> Config:
    """Files of code by their absolute paths: next to the header, or in this folder."""
    for name, spec in torch_class.specs(resolved).items():
        section, _, key = name.partition(".")
        full = {key: torch_class.absolute(spec, folder)}
        resolved = replace(resolved, **{section: replace(getattr(resolved, section), **full)})
    return resolved


def where_trained(resolved: Config) -> str:
    """Where the network trains, and why: "on the CPU (no NVIDIA driver on this machine)"."""
    where, given = "the CPU", f"train.device is {resolved.train.device}"
    if resolved.train.device == "cuda":
        where = "a GPU" if resolved.train.gpus == 1 else f"{resolved.train.gpus} GPUs"
        if resolved.train.backend == "native":
            from ..toolchain import gpu
            where, given = gpu.emulated_name(where), gpu.reason()
        if resolved.vec.device == "cuda":
            return f"on {where}, environments too ({given})"
    return f"on {where} ({reason_of(resolved) if is_auto(resolved) else given})"


def available_paths(resolved: Config) -> list[str]:
    """Instruction sets of the CPU that the trainer can take here, the best one last."""
    if resolved.train.backend == "torch":
        return ["torch"]
    from .native.handle import choose_path
    from .native.trainer_library import PATHS, available_paths
    forced = PATHS[choose_path()]
    return available_paths() if forced == "auto" else [forced]


def make_trainer(vec: Envs, resolved: Config, *, timed: bool = False, path: str = "auto",
                 group: Alone | None = None, own: OwnCode | None = None
                 ) -> NativePPO | TorchPPO:
    """The trainer that [train] backend names, over these envs: NativePPO or TorchPPO.

    path     an instruction set of the CPU
    group    of the processes that share the run; resolved is of this one's part
    own      functions of the user's; None: theirs are not called
    The trainer's `config` is resolved, or the same on the CPU (leave_gpu).
    """
    try:
        return _make_trainer(vec, resolved, timed, path, group, own)
    except (PufferError, RuntimeError) as error:
        there = leave_gpu(resolved, error, group)
        if there is None:
            raise
    return _make_trainer(vec, there, timed, path, group, own)


def as_made(resolved: Config, trainer: NativePPO | TorchPPO) -> Config:
    """These settings with the device that make_trainer took for this trainer."""
    made = trainer.config
    if made.train.device == resolved.train.device:
        return resolved
    return on_cpu(resolved, reason_of(made))


def leave_gpu(resolved: Config, error: Exception, group: Alone | None = None) -> Config | None:
    """The settings to go on with on the CPU after this error; None where that would not help, or
    where a GPU was asked for."""
    reason = None
    if isinstance(error, PufferError):
        reason = error.message if error.of_gpu else None
    elif resolved.train.backend == "torch" and "CUDA" in str(error):    # PyTorch has no type of it
        reason = str(error).partition("\n")[0]
    if reason is None or not may_leave_gpu(resolved) or (group and group.size > 1):
        return None
    return on_cpu(resolved, reason)


def _make_trainer(vec: Envs, resolved: Config, timed: bool, path: str, group: Alone | None,
                  own: OwnCode | None) -> NativePPO | TorchPPO:
    if resolved.train.backend == "torch":
        from .reference.reference_ppo import TorchPPO
        use_threads(resolved)
        loss, optimizer = (own.loss, own.optimizer) if own else (None, None)
        return TorchPPO(vec, resolved, resolved.train.device, group=group, loss=loss,
                        optimizer=optimizer, extras=own is None or loss is not None)
    from .native.native_ppo import NativePPO
    from .native.self_play_ppo import SelfPlayPPO
    kind = SelfPlayPPO if resolved.selfplay.enabled else NativePPO
    return kind(vec, resolved, device=resolved.train.device, timed=timed, path=path, group=group)


def make_actor(vec: Rows, trained: Config, tensors: Mapping[str, np.ndarray], seed: int, *,
               greedy: bool = False, threads: int = 1) -> NativeActor | Actor:
    """The actor of a checkpoint's weights, for all agents of `vec`: NativeActor or reference Actor.

    trained    the settings that the checkpoint was trained with
    """
    if not trained.policy.torch_class:
        from .native.actor import NativeActor
        exact = replace(trained, train=replace(trained.train, precision="fp32"))
        return NativeActor(tensors, exact, vec.observations.dtype, vec.obs_size, vec.act_sizes,
                           seed, vec.num_agents, greedy=greedy, threads=threads,
                           waits=has_turns(vec))
    from .reference.action_heads import Actor
    from .reference.policy import build_policy, load_weights

    use_threads(trained)
    policy = build_policy(vec.obs_size, vec.act_sizes, trained,
                          obs_dtype=vec.observations.dtype,
                          layout=getattr(vec, "layout", None))
    load_weights(policy, tensors)
    return Actor(policy, vec.act_sizes, seed, vec.num_agents, greedy=greedy, waits=has_turns(vec))
