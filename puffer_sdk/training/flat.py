"""PufferLib's own weights.  NAME_weights.bin, an environment, its [policy] -> a checkpoint file

The file holds one tensor after the other, float32, little-endian, in the order that puffernet.h
draws, and nothing about their sizes: these come from the environment and [policy]. Each tensor
starts at a multiple of 8 numbers or, where PufferLib was built with --float, of 4. Behind the
tensors there may be the trailer of `puffer-sdk export`.
"""
from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base import paths
from ..base.errors import UsageError
from ..env import child_process, job
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from ..settings.encoder import FLAT
from ..settings.table import AUTO
from ..settings.texts import show
from . import checkpoint
from .run_records import Facts

SUFFIX = ".bin"
ALIGNMENTS = (8, 4)                         # of PufferLib's allocator, in numbers
MARK = b"PUFFNET1"                          # how a trailer ends
WITH_PARTS = b"\2\0\0\0"                    # how one begins: its version
HIDDEN, LAYERS = (16, 32, 64, 128, 256, 512, 1024, 2048), range(1, 17)      # that are looked for
LSTM = 128                                  # the width of every LinearLSTM


def as_checkpoint(found: Path, source: CompiledSource | PythonSource,
                  settings: Mapping[str, object] | None) -> Path:
    """The checkpoint file of a model that find_model found: the file itself, or one in the cache
    that PufferLib's weights were written into.

    source, settings    the environment that will play, and what was given for it: [policy] says
                        what the network is
    Raises UsageError where the weights are too few or too many for that, naming the count.
    """
    if found.suffix != SUFFIX:
        return found
    if not source.in_c:
        raise UsageError("PufferLib's weights support only C environments", where=found,
                         expected="a .safetensors file", actual=found.name)
    prepared = source.prepare(settings)
    about = child_process.run("puffer_sdk.env.job:describe_work", prepared.job(job.EnvJob),
                      lambda kind, payload: None, cwd=prepared.cwd)
    config, data = prepared.config, paths.content(found, 1 << 30)
    if config.policy.encoder not in (AUTO, FLAT):
        raise UsageError("PufferLib's weights are of a network that sees a flat row", where=found,
                         expected="policy.encoder = flat", actual=config.policy.encoder,
                         hint="use --policy.encoder flat")
    size = _trailer_size(data)
    if size and data[-size:4 - size] == WITH_PARTS:
        raise UsageError("this file is an export of a network that sees more than a flat row",
                         where=found, expected="a .safetensors file", actual=found.name,
                         hint="name the run or the checkpoint that it was exported from")
    data = data[:len(data) - size]
    config = replace(config, train=replace(config.train, obs_scale="1"),    # PufferLib has none
                     policy=replace(config.policy, encoder=FLAT))
    numbers = np.frombuffer(data[:len(data) // 4 * 4], "<f4")
    tensors = cut(numbers, about["obs_size"], about["act_sizes"], config.policy.hidden_size,
                  config.policy.num_layers, found)
    facts: Facts = {"env": {"name": prepared.spec.name, "obs_size": about["obs_size"],
                            "obs_dtype": about["obs_dtype"], "act_sizes": about["act_sizes"]},
                    "config": config.to_dict(), "counters": {}, "epoch": 0, "step": 0,
                    "seconds": 0.0, "weights": found.name}
    name = hashlib.sha256(data + repr(facts).encode()).hexdigest()[:16]
    home = paths.writable(paths.cache_dir() / "weights", purpose="PufferLib's weights")
    return checkpoint.save(home / f"{name}.safetensors", tensors, facts, durable=False)


def _trailer_size(data: bytes) -> int:
    """Bytes of the trailer; 0 without one."""
    return int.from_bytes(data[-12:-8], "little") if data[-8:] == MARK else 0


def shapes(obs_size: int, act_sizes: list[int], hidden: int, layers: int
           ) -> dict[str, tuple[int, ...]]:
    """The tensors in the order of the file. Heads that are all continuous have a logstd each."""
    found: dict[str, tuple[int, ...]] = {"encoder": (hidden, obs_size),
                                         "decoder": (sum(act_sizes) + 1, hidden)}
    if set(act_sizes) == {1}:
        found["logstd"] = (len(act_sizes),)
    return {**found, **{f"layers.{layer}": (3 * hidden, hidden) for layer in range(layers)}}


def places(wanted: Mapping[str, tuple[int, ...]], align: int) -> tuple[list[int], int]:
    """Where each tensor begins, and where the last one ends, in numbers."""
    starts, end = [], 0
    for shape in wanted.values():
        starts.append(-(-end // align) * align)
        end = starts[-1] + math.prod(shape)
    return starts, end


def cut(numbers: np.ndarray, obs_size: int, act_sizes: list[int], hidden: int, layers: int,
        path: Path) -> dict[str, np.ndarray]:
    """{"encoder": (H, D), ...}: the tensors in a file's numbers. Raises UsageError."""
    wanted = shapes(obs_size, act_sizes, hidden, layers)
    for align in ALIGNMENTS:
        starts, end = places(wanted, align)
        if len(numbers) in (end, -(-end // align) * align):
            return {name: numbers[start:start + math.prod(shape)].reshape(shape).copy()
                    for (name, shape), start in zip(wanted.items(), starts, strict=True)}
    raise UsageError(
        "these weights do not fit the network", where=path,
        expected=f"{places(wanted, ALIGNMENTS[0])[1]:,} numbers ({obs_size} observations, "
                 f"hidden_size {hidden}, num_layers {layers}, heads {show_heads(act_sizes)})",
        actual=f"{len(numbers):,}", hint=_explain(len(numbers), obs_size, act_sizes))


def show_heads(act_sizes: list[int]) -> str:
    return ", ".join(map(show, act_sizes)) if len(act_sizes) <= 8 else f"{len(act_sizes)} in all"


def _explain(count: int, obs_size: int, act_sizes: list[int]) -> str:
    """What has so many numbers."""
    for hidden in HIDDEN:
        for layers in LAYERS:
            ends = [places(shapes(obs_size, act_sizes, hidden, layers), align)[1]
                    for align in ALIGNMENTS]
            if count in ends:
                return f"--policy.hidden-size {hidden} --policy.num-layers {layers} would fit"
    outputs = sum(act_sizes) + 1
    recurrent = LSTM * (obs_size + 1) + outputs * (LSTM + 1) + 8 * LSTM * (LSTM + 1)
    if count == recurrent:
        return "they are of an LSTM, PufferLib's network before 4.0: its own program plays them"
    return "they are of another network, or of other observations or actions"
