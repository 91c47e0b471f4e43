"""What tests of exports share: checkpoints of random weights, observations, what they must give.

    made = make_policy(tmp_path, act_sizes=(3, 1), hidden=20)
    script = made.script(ticks=30)
    logits, values = made.expected(script)          # (ticks, agents, A), (ticks, agents)
"""
from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from puffer_sdk.policy import export as exporting
from puffer_sdk.settings import config
from puffer_sdk.settings.encoder import parse
from puffer_sdk.settings.values import Config
from puffer_sdk.training import checkpoint
from puffer_sdk.training.reference.own_network import zero_ended
from puffer_sdk.training.reference.policy import DECODER_GAIN, Policy

SCALE = 1 / 256         # of "scaled" observations, which are bytes of any size


@dataclass
class Script:
    """What a policy sees in an episode or more: (ticks, agents, ...) each."""

    observations: np.ndarray
    masks: np.ndarray | None
    ended: np.ndarray               # of the tick before; all 0 in the first


@dataclass
class Made:
    """A checkpoint with the network that it came from."""

    path: Path
    policy: Policy
    config: Config
    agents: int
    obs_size: int
    dtype: np.dtype
    act_sizes: tuple[int, ...]
    masked: bool

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        return {name: p.detach().numpy() for name, p in self.policy.named_parameters()}

    def export(self, to: str, target: Path) -> Path:
        """exporting.export, also of no layers at all, which no settings ask for."""
        if self.config.policy.num_layers:
            return exporting.export(self.path, to, target)
        p = self.config.policy
        policy = exporting.TrainedPolicy(
            self.path, self.path.stem, 1, self.obs_size, self.dtype.name, self.act_sizes,
            p.hidden_size, 0, "", self.config, self.tensors)
        target.write_bytes(exporting.WRITERS[to](policy))
        return target

    def script(self, ticks: int = 40, seed: int = 0) -> Script:
        """Every agent's episode ends a few times, at its own ticks."""
        draw = np.random.default_rng(seed)
        shape = (ticks, self.agents, self.obs_size)
        if self.dtype == np.uint8:
            high = 3 if self.config.train.obs_scale == "1" else 256
            observations = draw.integers(0, high, shape).astype(np.uint8)
        elif self.dtype == np.int32:
            observations = draw.integers(-3, 4, shape).astype(np.int32)
        elif self.policy.seen:          # ids, what is none, and things that are not there
            observations = (draw.integers(-1, 5, shape) / 2).astype(np.float32)
        else:
            observations = draw.normal(size=shape).astype(np.float32)
        masks = None
        if self.masked:
            masks = (draw.random((ticks, self.agents, sum(self.act_sizes))) < 0.6).astype(np.uint8)
            for first in np.cumsum((0, *self.act_sizes[:-1])):
                masks[..., first] = 1
        ended = (draw.random((ticks, self.agents)) < 0.1).astype(np.float32)
        ended[0] = 0
        return Script(observations, masks, ended)

    @torch.no_grad()
    def expected(self, script: Script) -> tuple[np.ndarray, np.ndarray]:
        """PyTorch's logits and values, in double precision."""
        policy = self.policy.double()
        state, rows = policy.initial_state(self.agents), []
        for observations, ended in zip(script.observations, script.ended):
            state = zero_ended(state, torch.from_numpy(ended))
            logits, value, state = policy.step(torch.from_numpy(observations), state)
            rows.append((logits.numpy(), value.numpy()))
        self.policy.float()
        return tuple(np.stack(column) for column in zip(*rows))


def make_policy(folder: Path, act_sizes=(5,), *, hidden=16, layers=1, obs_size=6, agents=1,
                dtype=np.float32, scale=False, masked=False, gain=2.0, name="game",
                seed=3, encoder="flat") -> Made:
    """A checkpoint of random weights, `gain` times as large as a network starts with, but for the
    decoder, which is as the layers are."""
    settings = config.defaults({"policy.hidden_size": hidden, "policy.num_layers": max(layers, 1),
                                "train.obs_scale": SCALE if scale else 1,
                                "policy.encoder": encoder})
    settings = replace(settings, policy=replace(settings.policy, num_layers=layers))
    policy = Policy(obs_size, act_sizes, hidden, layers, seen=parse(encoder))
    policy.initialise(seed, np.full(obs_size, SCALE, np.float32) if scale else None)
    with torch.no_grad():
        for weight in policy.parameters():
            weight.mul_(gain)
        policy.decoder.div_(DECODER_GAIN)       # outputs that differ, as after training
        if hasattr(policy, "logstd"):
            policy.logstd.copy_(torch.linspace(-1, 0.5, len(policy.logstd)))
    made = Made(Path(folder) / f"{name}.safetensors", policy, settings, agents, obs_size,
                np.dtype(dtype), tuple(act_sizes), masked)
    facts = {"env": {"name": name, "spec_hash": "0" * 8, "obs_size": obs_size,
                     "obs_dtype": made.dtype.name, "act_sizes": list(act_sizes)},
             "config": settings.to_dict(), "counters": {}, "epoch": 7, "step": 5_000_000_123,
             "seconds": 1.0}
    checkpoint.save(made.path, made.tensors, facts)
    return made


CASES = {
    "discrete": dict(),
    "multi-discrete": dict(act_sizes=(9, 5), obs_size=28, hidden=33, layers=2, agents=8),
    "continuous": dict(act_sizes=(1, 1, 1), hidden=7, layers=3, agents=2),
    "mixed": dict(act_sizes=(3, 1, 4, 1), hidden=21, layers=2, agents=3),
    "masked": dict(act_sizes=(4, 2, 6), masked=True, agents=5),
    "masked mixed": dict(act_sizes=(4, 1, 3), masked=True, agents=2, hidden=9),
    "bytes": dict(obs_size=121, dtype=np.uint8, hidden=32, gain=1.0, agents=2),
    "scaled bytes": dict(obs_size=50, dtype=np.uint8, scale=True, hidden=19, layers=2),
    "ints": dict(act_sizes=(4,), dtype=np.int32, agents=3),
    "no layers": dict(act_sizes=(3, 1), layers=0, hidden=5, agents=2),
    "large": dict(act_sizes=(3,), obs_size=118, hidden=128, layers=4, gain=1.0),
}

# networks that see more than a row of numbers: the encoder, and plain numbers around its parts
SEEING = {
    "image": dict(encoder="image 2 14x11x3: 5x4/2 7x2", obs_size=2 + 14 * 11 * 3 + 1, gain=1.0,
                  agents=3),
    "image of bytes": dict(encoder="image 0 12x12x1: 8x3/2 6x3", obs_size=144, dtype=np.uint8,
                           scale=True, act_sizes=(3, 1), hidden=19, gain=1.0, agents=2),
    "planes": dict(encoder="image 3 9x8x4 planes: 5x3/2 6x2", obs_size=3 + 9 * 8 * 4, gain=1.0),
    "grid": dict(encoder="grid 1 7x5x3 of 4,0,2: 6x3 3x2/2", obs_size=1 + 105, dtype=np.uint8,
                 gain=1.0, agents=2),
    "ids": dict(encoder="ids 1 3 of 3", obs_size=5, dtype=np.int32, agents=3),
    "list": dict(encoder="list 0 6x4 mask 1: 9 5", obs_size=25, agents=4),
    "list of ids": dict(encoder="list 3 5x3 of 3,0,0: 8", obs_size=18, layers=2, agents=2),
    "everything": dict(
        encoder="ids 2 2 of 2 + grid 4 6x6x2 of 3,0: 5x3/2 4x2 + list 80 4x3 mask 2: 7 6 + "
                "image 93 9x8x2: 4x3/2 5", obs_size=93 + 144 + 4, act_sizes=(4, 1, 3), masked=True,
        hidden=21, layers=2, gain=1.0, agents=2),
}
