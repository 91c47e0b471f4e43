"""The recurrent policy.  obs, state -> logits, value, new state

Sizes: n or S rows, T ticks, D observation, E numbers that the encoder sees of one (D without
parts), H hidden, L layers, A sum of head widths.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import DTypeLike
from torch import Tensor, nn

from ...base import philox
from ...base.errors import UsageError
from ...base.philox import Purpose
from ...interop.python_envs.space_rows import Observations
from ...settings import encoder
from ...settings.values import Config
from ..schedules import check_tensors, factors_of_columns, obs_factors
from . import seeing
from .own_network import Network, load_torch_class

LARGE_BYTES = 1 / 8         # obs_scale from which a network of your own divides bytes by 255


def candidate(hid: Tensor) -> Tensor:
    """g(u) = u + 0.5 if u >= 0 else sigmoid(u): positive, continuous, and linear where it grows."""
    return torch.sigmoid(hid.clamp(max=0)) + hid.clamp(min=0)


DECODER_GAIN = 0.01

class LayerScan(torch.autograd.Function):
    """One MinGRU layer over whole segments, gates and highway included, with its own gradient.

        products (S, T, 3H)  x (S, T, H)  state0 (S, H)  keep (S, T)   ->   out (S, T, H)
        h_t = (1 - z) keep_t h_{t-1} + z g(hid)      out = s h_t + (1 - s) x

    The recurrence is linear in h, so both directions are one multiply-add per tick; everything
    else works on all ticks at once. autograd would record some thousand small nodes instead.
    """

    @staticmethod
    def forward(ctx: Any, products: Tensor, x: Tensor, state0: Tensor, keep: Tensor) -> Tensor:
        hid, gate, proj = products.chunk(3, -1)
        g, z, s = candidate(hid), torch.sigmoid(gate), torch.sigmoid(proj)
        decay = (1 - z).mul_(keep.unsqueeze(-1))
        h = z * g
        previous = state0
        for t in range(h.shape[1]):
            previous = h[:, t].addcmul_(decay[:, t], previous)
        ctx.save_for_backward(hid, x, state0, keep, g, z, s, decay, h)
        return torch.lerp(x, h, s)

    @staticmethod
    def backward(ctx: Any, dout: Tensor) -> tuple[Tensor | None, ...]:
        hid, x, state0, keep, g, z, s, decay, h = ctx.saved_tensors
        dh = dout * s
        for t in range(h.shape[1] - 2, -1, -1):
            dh[:, t].addcmul_(decay[:, t + 1], dh[:, t + 1])
        previous = torch.cat([state0.unsqueeze(1), h[:, :-1]], 1).mul_(keep.unsqueeze(-1))
        dg = dh * z
        dproducts = torch.empty((*x.shape[:2], 3 * x.shape[2]), dtype=x.dtype, device=x.device)
        dhid, dgate, dproj = dproducts.chunk(3, -1)
        torch.lerp(sigmoid_gradient(dg, g), dg, (hid >= 0).to(dg.dtype), out=dhid)
        sigmoid_gradient(previous.sub_(g).neg_().mul_(dh), z, out=dgate)
        sigmoid_gradient((h - x).mul_(dout), s, out=dproj)
        dx = torch.addcmul(dout, dout, s, value=-1) if ctx.needs_input_grad[1] else None
        dstate0 = decay[:, 0] * dh[:, 0] if ctx.needs_input_grad[2] else None
        return dproducts, dx, dstate0, None


layer_scan: Callable[..., Tensor] = LayerScan.apply


def sigmoid_gradient(dy: Tensor, y: Tensor, out: Tensor | None = None) -> Tensor:
    """dy * y * (1 - y), in one pass over memory."""
    if out is None:
        out = torch.empty_like(dy)
    torch.ops.aten.sigmoid_backward.grad_input(dy, y, grad_input=out)
    return out


class Policy(nn.Module):
    """PufferNet: encoder, MinGRU layers with highways, one decoder for logits and value; before
    them the convolutions of an observation's parts, if it has any (seeing.py).

    No biases and no norms. This is also the interface that your own class
    (policy.torch_class = file.py:Class) must offer; T, S and n may differ in every call:

        Class(obs_size, act_sizes, hidden_size, num_layers, scale_obs[, layout])
        initial_state(n)             -> zeros (n, ...): the state at the start of an episode
        step(obs, state)             -> logits (n, A), value (n,), new state (n, ...)
        sequence(obs, state0, ended) -> logits (S, T, A), values (S, T)     the same as step() gives
                                        and a third value, if there is a loss that takes it
        logstd                       nn.Parameter, one per head of width 1; only if there are any

    obs is (n, D) or (S, T, D), uint8, int32 or float32; state0 is (S, ...), the state before each
    segment's first tick; ended (S, T) is 1 where an episode ended, so the state after that tick is
    zero. A head of width w > 1 has w logits; a head of width 1 is continuous and has its mean.

    A constructor with a parameter `layout` gets the rows' layout by that name:
    layout.unflatten(obs) gives the parts of a Python environment's observations, as views.
    """

    def __init__(self, obs_size: int, act_sizes: Sequence[int], hidden_size: int, num_layers: int,
                 scale_obs: bool = False, seen: Sequence[encoder.Part] = ()):
        """seen     the parts of a row, as settings/encoder.py has them; parts.P.L are their weights
        """
        super().__init__()
        outputs, continuous = sum(act_sizes), sum(width == 1 for width in act_sizes)
        self.scale_obs, self.seen = bool(scale_obs), tuple(seen)
        self.encoder = nn.Parameter(                                                # (H, E)
            torch.empty(hidden_size, encoder.seen_size(self.seen, obs_size)))
        self.layers = nn.ParameterList(                                             # (3H, H) each
            nn.Parameter(torch.empty(3 * hidden_size, hidden_size)) for _ in range(num_layers))
        self.decoder = nn.Parameter(torch.empty(outputs + 1, hidden_size))          # (A + 1, H)
        if continuous:
            self.logstd = nn.Parameter(torch.zeros(continuous))
        self.parts = nn.ModuleList(                             # (filters, columns) each
            nn.ParameterList(nn.Parameter(torch.empty(shape)) for shape in part.shapes)
            for part in self.seen)
        self.initialise(0)

    def initialise(self, seed: int, factors: np.ndarray | None = None) -> None:
        """Uniform in +-gain / sqrt(fan_in); equal on every device. The encoder's gain is sqrt(2),
        a convolution's sqrt(6). The decoder's is small: the first policy is nearly even, whatever
        an observation holds, and the first values are nearly 0.

        factors     (D,) of an observation's numbers
        """
        columns = {} if factors is None else factors_of_columns(factors, self.seen)
        gains = {"encoder": math.sqrt(2), "decoder": DECODER_GAIN}
        gains |= dict.fromkeys(encoder.weight_shapes(self.seen), seeing.GAIN)
        weights = dict(self.named_parameters())
        names = ["encoder", *(f"layers.{number}" for number in range(len(self.layers))), "decoder",
                 *encoder.weight_shapes(self.seen)]
        for number, name in enumerate(names):
            weight = weights[name]
            gain = gains.get(name, 1.0) / math.sqrt(weight.shape[1])
            draws = philox.uniform((seed, Purpose.INIT), np.arange(weight.numel()), number)
            with torch.no_grad():
                weight.copy_(torch.from_numpy((2 * draws - 1) * np.float32(gain)).view_as(weight))
                if name in columns:
                    weight.mul_(torch.from_numpy(columns[name]))

    def initial_state(self, n: int) -> Tensor:
        return self.encoder.new_zeros((n, len(self.layers), self.encoder.shape[0]))

    def step(self, obs: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One tick. obs (n, D), state (n, L, H) -> logits (n, A), value (n,), new state."""
        x = self._encode(obs)
        new_state = torch.empty_like(state)
        for number, weight in enumerate(self.layers):
            hid, gate, proj = F.linear(x, weight).chunk(3, -1)
            h = torch.lerp(state[:, number], candidate(hid), torch.sigmoid(gate))
            x = torch.lerp(x, h, torch.sigmoid(proj))
            new_state[:, number] = h
        return *self._decode(x), new_state

    def sequence(self, obs: Tensor, state0: Tensor, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Whole segments. obs (S, T, D), state0 (S, L, H), ended (S, T) -> (S, T, A), (S, T)."""
        x = self._encode(obs)
        keep = torch.ones(ended.shape, dtype=x.dtype, device=x.device)
        keep[:, 1:] -= ended[:, :-1].to(x.dtype)
        for number, weight in enumerate(self.layers):
            x = layer_scan(F.linear(x, weight), x, state0[:, number], keep)
        return self._decode(x)

    def _encode(self, obs: Tensor) -> Tensor:
        scale = self.scale_obs and obs.dtype == torch.uint8
        obs = obs.to(self.encoder.dtype)
        seen = seeing.see(obs / 255 if scale else obs, self.seen,
                          cast(seeing.Weights, self.parts))
        return F.linear(seen, self.encoder)

    def _decode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        out = F.linear(x, self.decoder)
        return out[..., :-1], out[..., -1]


def build_policy(obs_size: int, act_sizes: Sequence[int], config: Config, device: str = "cpu", *,
                 obs_dtype: DTypeLike = np.float32, layout: Observations | None = None,
                 extras: bool = True) -> Network:
    """The policy that the settings ask for, initialised from train.seed, on the given device.

    obs_dtype   of observations
    layout      how rows unflatten, for a class that takes it; None: a row is what it is
    extras      whether sequence() may return a third value
    Raises UsageError where the class does not fit, or torch cannot use the device.
    """
    shape = obs_size, tuple(act_sizes), config.policy.hidden_size, config.policy.num_layers
    factors = obs_factors(config.train, obs_size)
    policy: Network
    if not config.policy.torch_class:
        policy = ours = Policy(*shape, seen=encoder.parts_of(config.policy.encoder, obs_size))
        ours.initialise(config.train.seed, factors)
    else:
        in_bytes = np.dtype(obs_dtype) == np.uint8
        large = bool(in_bytes and factors is not None and factors.min() <= LARGE_BYTES)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.train.seed)
            policy = load_torch_class(config.policy.torch_class, (*shape, large), layout,
                                      obs_dtype, extras)
    try:
        policy.to(device)
        return policy
    except (RuntimeError, AssertionError) as error:     # no such device, or torch built without it
        refused = UsageError(f"torch cannot use the device '{device}'",
                             hint="use --train.device cpu", detail=str(error).splitlines()[0])
        refused.of_gpu = "FAILED"
        raise refused from error


def load_weights(policy: Network, tensors: Mapping[str, np.ndarray]) -> None:
    """Copy tensors, by name, into the policy's parameters; extra names are ignored."""
    copy_by_name(dict(policy.named_parameters()), tensors)


def copy_by_name(targets: Mapping[str, Tensor], tensors: Mapping[str, np.ndarray]) -> None:
    check_tensors({name: target.shape for name, target in targets.items()}, tensors)
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(torch.as_tensor(tensors[name]))
