"""The referee: recurrent PPO in plain PyTorch. In: a VecEnv and settings. Out: a trained policy.

Read it from top to bottom, in the order data flows: schedules, policy, actions, Actor (acting),
advantages, picking segments, Muon, TorchPPO (rollout, update, resume). It states the algorithm
for readers and for parity tests; a faster trainer has to agree with it.

    trainer = TorchPPO(vec, config)
    while not trainer.finished:
        trainer.rollout()
        losses = trainer.update()

Sizes: N agents, T horizon, D observation, H hidden, L layers, K heads, A sum of head widths,
S segments in a minibatch. One row of a buffer holds what belongs to one (agent, tick): the
observation, the action chosen on it, and the reward and ending which that action caused.
"""
from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..base import philox
from ..base.errors import RunError, UsageError, did_you_mean
from ..base.philox import Purpose
from .schedules import (
    BAD_HINT,
    ENV_HINT,
    LOSSES,
    SCALE_HINT,
    Schedules,
    check_mask,
    check_same_envs,
    check_sizes,
    check_tensors,
)

ILLEGAL = -1e30                     # a masked logit: exp gives 0, and 0 * it is still 0
LOGSTD_MIN, LOGSTD_MAX = -20.0, 2.0
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
VECTOR_LR = 0.1                     # Adam's share of the learning rate, for vectors
NEWTON_SCHULZ = ((4.0848, -6.8946, 2.9270), (3.9505, -6.3029, 2.6377), (3.7418, -5.5913, 2.3037),
                 (2.8769, -3.1427, 1.2046), (2.8366, -3.0525, 1.2012))


# ---- policy -----------------------------------------------------------------------------------

def candidate(hid: Tensor) -> Tensor:
    """g(u) = u + 0.5 if u >= 0 else sigmoid(u): positive, continuous, and linear where it grows."""
    return torch.sigmoid(hid.clamp(max=0)) + hid.clamp(min=0)


class LayerScan(torch.autograd.Function):
    """One MinGRU layer over whole segments, gates and highway included, with its own gradient.

        products (S, T, 3H)  x (S, T, H)  state0 (S, H)  keep (S, T)   ->   out (S, T, H)
        h_t = (1 - z) keep_t h_{t-1} + z g(hid)      out = s h_t + (1 - s) x

    The recurrence is linear in h, so both directions are one multiply-add per tick; everything
    else works on all ticks at once. autograd would record some thousand small nodes instead.
    """

    @staticmethod
    def forward(ctx, products: Tensor, x: Tensor, state0: Tensor, keep: Tensor) -> Tensor:
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
    def backward(ctx, dout: Tensor) -> tuple[Tensor | None, ...]:
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


def sigmoid_gradient(dy: Tensor, y: Tensor, out: Tensor | None = None) -> Tensor:
    """dy * y * (1 - y), in one pass over memory."""
    if out is None:
        out = torch.empty_like(dy)
    return torch.ops.aten.sigmoid_backward.grad_input(dy, y, grad_input=out)


class Policy(nn.Module):
    """PufferNet: encoder, MinGRU layers with highways, one decoder for logits and value.

    No biases and no norms. This is also the interface that a class of one's own
    (policy.torch_class = file.py:Class) has to offer; T, S and n are free in every call:

        Class(obs_size, act_sizes, hidden_size, num_layers, scale_obs)
        initial_state(n)             -> zeros (n, ...); what an ended agent's state is reset to
        step(obs, state)             -> logits (n, A), value (n,), new state (n, ...)
        sequence(obs, state0, ended) -> logits (S, T, A), values (S, T)     what step() would say
        logstd                       nn.Parameter, one per head of width 1; only where there are any

    obs is (n, D) or (S, T, D), uint8 or float32; state0 is (S, ...), the state before each
    segment's first tick; ended (S, T) is 1 where an episode ended, so the state after that tick is
    zero. A head of width w > 1 owns w logits, a head of width 1 is continuous and owns its mean.
    """

    def __init__(self, obs_size: int, act_sizes: Sequence[int], hidden_size: int, num_layers: int,
                 scale_obs: bool = False):
        super().__init__()
        outputs, continuous = sum(act_sizes), sum(width == 1 for width in act_sizes)
        self.scale_obs = bool(scale_obs)
        self.encoder = nn.Parameter(torch.empty(hidden_size, obs_size))             # (H, D)
        self.layers = nn.ParameterList(                                             # (3H, H) each
            nn.Parameter(torch.empty(3 * hidden_size, hidden_size)) for _ in range(num_layers))
        self.decoder = nn.Parameter(torch.empty(outputs + 1, hidden_size))          # (A + 1, H)
        if continuous:
            self.logstd = nn.Parameter(torch.zeros(continuous))
        self.initialise(0)

    def initialise(self, seed: int) -> None:
        """Uniform in +-gain / sqrt(fan_in), gain sqrt(2) for the encoder; equal on every device."""
        for number, weight in enumerate((self.encoder, *self.layers, self.decoder)):
            bound = np.float32((math.sqrt(2) if number == 0 else 1) / math.sqrt(weight.shape[1]))
            draws = philox.uniform((seed, Purpose.INIT), np.arange(weight.numel()), number)
            with torch.no_grad():
                weight.copy_(torch.from_numpy((2 * draws - 1) * bound).view_as(weight))

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
        return self._decode(x, new_state)

    def sequence(self, obs: Tensor, state0: Tensor, ended: Tensor) -> tuple[Tensor, Tensor]:
        """Whole segments. obs (S, T, D), state0 (S, L, H), ended (S, T) -> (S, T, A), (S, T)."""
        x = self._encode(obs)
        keep = torch.ones(ended.shape, dtype=x.dtype, device=x.device)
        keep[:, 1:] -= ended[:, :-1].to(x.dtype)
        for number, weight in enumerate(self.layers):
            x = LayerScan.apply(F.linear(x, weight), x, state0[:, number], keep)
        return self._decode(x)

    def _encode(self, obs: Tensor) -> Tensor:
        scale = self.scale_obs and obs.dtype == torch.uint8
        obs = obs.to(self.encoder.dtype)
        return F.linear(obs / 255 if scale else obs, self.encoder)

    def _decode(self, x: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        out = F.linear(x, self.decoder)
        return out[..., :-1], out[..., -1], *rest


def build_policy(obs_size: int, act_sizes: Sequence[int], config, device="cpu") -> nn.Module:
    """The policy that the settings ask for, initialised from train.seed, on the device."""
    shape = (obs_size, tuple(act_sizes), config.policy.hidden_size, config.policy.num_layers,
             bool(config.train.scale_obs))
    if not config.policy.torch_class:
        policy = Policy(*shape)
        policy.initialise(config.train.seed)
    else:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.train.seed)
            policy = load_torch_class(config.policy.torch_class, shape)
    try:
        return policy.to(device)
    except (RuntimeError, AssertionError) as error:     # no such device, or torch built without it
        raise UsageError(f"torch cannot use the device '{device}'", hint="use --train.device cpu",
                         detail=str(error).splitlines()[0]) from error


def load_torch_class(spec: str, shape: tuple) -> nn.Module:
    """An instance of a user's Class from "file.py:Class", tried on three made-up ticks."""
    def refuse(message: str, **facts) -> UsageError:
        return UsageError(f"policy.torch_class: {message}", where=spec, **facts)

    file, _, name = spec.rpartition(":")
    path = Path(file).expanduser()
    if not file or not path.is_file():
        raise refuse("there is no such file", expected="file.py:Class", actual=f"'{spec}'")
    module_spec = importlib.util.spec_from_file_location(f"puffer_policy_{path.stem}", path)
    module = importlib.util.module_from_spec(module_spec)
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        raise refuse("the file does not import",
                     detail=f"{type(error).__name__}: {error}") from error
    cls = getattr(module, name, None)
    if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
        classes = [key for key, value in vars(module).items()
                   if isinstance(value, type) and issubclass(value, nn.Module)]
        raise refuse(f"'{name}' is not a torch.nn.Module of that file",
                     hint=did_you_mean(name, classes))
    manual = "the interface is in the docstring of puffer_sdk.training.reference.Policy"
    for method in ("initial_state", "step", "sequence"):
        if not callable(getattr(cls, method, None)):
            raise refuse(f"{name} has no method {method}()", hint=manual)
    try:
        policy = cls(*shape)
        found = _try_policy(policy, obs_size=shape[0])
    except Exception as error:
        raise refuse(f"{name} failed on a trial run", hint=manual,
                     detail=f"{type(error).__name__}: {error}") from error
    outputs, continuous = sum(shape[1]), sum(width == 1 for width in shape[1])
    wanted = {"step logits": (2, outputs), "step value": (2,), "sequence logits": (2, 3, outputs),
              "sequence values": (2, 3), "logstd": (continuous,)}
    for what, want in wanted.items():
        if found[what] != want:
            raise refuse(f"{name}: {what} has the wrong shape", expected=want, actual=found[what],
                         hint=manual)
    if found["difference"] > 1e-3:
        raise refuse(f"{name}: sequence() does not repeat what step() says",
                     expected="values equal to 1e-3 or better, resets where ended is 1 included",
                     actual=f"a difference of {found['difference']:.3g}", hint=manual)
    return policy


@torch.no_grad()
def _try_policy(policy: nn.Module, obs_size: int) -> dict[str, object]:
    """Three ticks of two agents, the first agent's episode ending on the second tick."""
    obs = torch.from_numpy(philox.uniform((0, Purpose.INIT), np.arange(6 * obs_size)))
    obs, ended = obs.view(2, 3, obs_size), torch.tensor([[0., 1., 0.], [0., 0., 0.]])
    state, stepped = policy.initial_state(2), []
    for t in range(3):
        logits, value, state = policy.step(obs[:, t], state)
        state = zero_ended(state, ended[:, t])
        stepped.append(torch.cat([logits, value.view(2, 1)], -1))
    many, values = policy.sequence(obs, policy.initial_state(2), ended)
    logstd = getattr(policy, "logstd", None)
    both = torch.cat([many, values.view(2, 3, 1)], -1)
    return {"step logits": tuple(logits.shape), "step value": tuple(value.shape),
            "sequence logits": tuple(many.shape), "sequence values": tuple(values.shape),
            "logstd": (0,) if logstd is None else tuple(logstd.shape),
            "difference": float((both - torch.stack(stepped, 1)).abs().max())}


def load_weights(policy: nn.Module, tensors: Mapping[str, np.ndarray]) -> None:
    """Copy tensors, by name, into the policy's parameters; extra names are left alone."""
    _copy_by_name(dict(policy.named_parameters()), tensors)


def zero_ended(state: Tensor, ended: Tensor) -> Tensor:
    """The carried state with the rows of ended episodes set to zero, in place."""
    return state.masked_fill_((ended != 0).view(-1, *[1] * (state.dim() - 1)), 0)


# ---- actions ----------------------------------------------------------------------------------

class ActionHeads:
    """What K heads of widths act_sizes make of a row of A logits. Width 1 is continuous."""

    def __init__(self, act_sizes: Sequence[int]):
        self.sizes = tuple(int(width) for width in act_sizes)
        stops = np.cumsum(self.sizes).tolist()
        self.columns = [slice(stop - width, stop) for stop, width in zip(stops, self.sizes)]
        ordinals = (np.cumsum(np.array(self.sizes) == 1) - 1).tolist()
        self.dims = [ordinal if width == 1 else None        # this head's element of logstd
                     for ordinal, width in zip(ordinals, self.sizes)]

    def sample(self, logits: Tensor, logstd: Tensor | None, noise: Tensor | None) -> Tensor:
        """(n, A) -> (n, K) float32. noise (n, K): uniforms and normals; None takes the best action.

        Discrete: inverse CDF. With e = exp(logit - max) and total = sum(e), the action is the
        number of partial sums <= u * total, which never lands on an action of probability 0.
        """
        actions = torch.empty((len(logits), len(self.sizes)), device=logits.device)
        for head, (columns, dim) in enumerate(zip(self.columns, self.dims)):
            mine = logits[:, columns]
            if dim is not None:
                choice = mine[:, 0]
                if noise is not None:
                    choice = choice + clamp_logstd(logstd[dim]).exp() * noise[:, head]
            elif noise is None:
                choice = mine.argmax(-1)
            else:
                sums = (mine - mine.amax(-1, keepdim=True)).exp_().cumsum(-1)
                choice = (sums <= noise[:, head, None] * sums[:, -1:]).sum(-1)
            actions[:, head] = choice
        return actions

    def log_prob(self, logits: Tensor, logstd: Tensor | None, actions: Tensor) -> Tensor:
        """Joint log-probability: (..., A), (..., K) -> (...)."""
        return self.log_prob_and_entropy(logits, logstd, actions, want_entropy=False)[0]

    def log_prob_and_entropy(self, logits: Tensor, logstd: Tensor | None, actions: Tensor,
                             want_entropy: bool = True) -> tuple[Tensor, Tensor]:
        """Both summed over heads, each of shape (...)."""
        log_prob = logits.new_zeros(logits.shape[:-1])
        entropy = torch.zeros_like(log_prob)
        for head, (columns, dim) in enumerate(zip(self.columns, self.dims)):
            mine, action = logits[..., columns], actions[..., head]
            if dim is not None:
                scale = clamp_logstd(logstd[dim])
                distance = (action - mine[..., 0]) * torch.exp(-scale)
                log_prob = log_prob - (0.5 * distance.square() + scale + HALF_LOG_2PI)
                entropy = entropy + (scale + HALF_LOG_2PI + 0.5)
                continue
            logs = F.log_softmax(mine, -1)
            log_prob = log_prob + logs.gather(-1, action.long().unsqueeze(-1)).squeeze(-1)
            if want_entropy:
                entropy = entropy - (logs.exp() * logs).sum(-1)
        return log_prob, entropy


def clamp_logstd(logstd: Tensor) -> Tensor:
    return logstd.clamp(LOGSTD_MIN, LOGSTD_MAX)


def apply_mask(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Illegal actions get probability 0."""
    return logits if mask is None else torch.where(mask, logits, ILLEGAL)


# ---- acting -----------------------------------------------------------------------------------

class Actor:
    """A policy with its agents' carried state and random numbers: one call per tick.

        actor = Actor(policy, act_sizes, seed, n)
        vec.actions[:] = actor.act(vec.observations)
        vec.step()
        actor.ended(vec.terminals)

    The numbers depend on (seed, global agent, tick) alone. `greedy` takes the likeliest action.
    """

    NOISE_TICKS = 64        # ticks whose numbers are made in one go

    def __init__(self, policy: nn.Module, act_sizes: Sequence[int], seed: int, n: int, *,
                 greedy: bool = False, first_agent: int = 0):
        self.policy, self.seed, self.greedy = policy, seed, greedy
        self.heads = ActionHeads(act_sizes)
        self.device = next(policy.parameters()).device
        self.agents = np.arange(first_agent, first_agent + n)
        self.tick = 0
        self._noise, self._noise_tick = None, 0
        with torch.no_grad():
            self.state = policy.initial_state(n)

    def act(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """obs (n, D), mask (n, A) of 0 and 1 -> actions (n, K) float32; the state moves on."""
        mask = None if mask is None else self.to_mask(mask)
        return self.forward(torch.tensor(obs, device=self.device), mask)[0].cpu().numpy()

    @torch.no_grad()
    def forward(self, obs: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """obs (n, D) -> actions (n, K), log-probabilities (n,), values (n,)."""
        before = self.state
        logits, values, self.state = self.policy.step(obs, before)
        if not math.isfinite(float(logits.sum() + values.sum())):
            named = [("observations", obs), ("recurrent state", before), *weights_of(self.policy),
                     ("logits", logits), ("values", values)]
            raise_if_bad(named, where=f"tick {self.tick}")
        logits = apply_mask(logits, mask)
        logstd = getattr(self.policy, "logstd", None)
        actions = self.heads.sample(logits, logstd, None if self.greedy else self._next_noise())
        self.tick += 1
        return actions, self.heads.log_prob(logits, logstd, actions), values

    @torch.no_grad()
    def value(self, obs: Tensor) -> Tensor:
        """The value of an observation, (n,). No state advances and no number is drawn."""
        return self.policy.step(obs, self.state)[1]

    def ended(self, terminals: np.ndarray) -> None:
        """Zero the state of agents whose episode just ended, before their next observation."""
        if np.any(terminals):
            zero_ended(self.state, torch.tensor(terminals, device=self.device))

    def reset(self) -> None:
        """Zero the state of all agents; the tick goes on."""
        self.state = torch.zeros_like(self.state)

    def to_mask(self, mask: np.ndarray) -> Tensor:
        """A checked mask on the device, with continuous heads always legal."""
        check_mask(mask, self.heads.sizes, where=f"tick {self.tick}")
        legal = torch.tensor(mask, device=self.device) != 0
        for columns, dim in zip(self.heads.columns, self.heads.dims):
            if dim is not None:
                legal[:, columns] = True
        return legal

    def _next_noise(self) -> Tensor:
        row = self.tick - self._noise_tick
        if self._noise is None or not 0 <= row < self.NOISE_TICKS:
            ticks = np.arange(self.tick, self.tick + self.NOISE_TICKS)
            noise = philox.action_noise(self.seed, self.agents, ticks, self.heads.sizes)
            self._noise = torch.from_numpy(noise).to(self.device)
            self._noise_tick, row = self.tick, 0
        return self._noise[row]


# ---- advantages and segments ------------------------------------------------------------------

def advantages(rewards: Tensor, values: Tensor, bootstrap: Tensor, ended: Tensor, truncated: Tensor,
               ratio: Tensor, gamma: float, gae_lambda: float, rho_clip: float,
               c_clip: float) -> Tensor:
    """GAE with V-trace clipping, for every horizon: (N, T) six times over, bootstrap (N,).

    An episode that goes on is worth the next value, the last row's being `bootstrap`; one cut off
    by a time limit is worth the value of its last seen state; one that truly ended is worth 0.
    """
    following = torch.cat([values[:, 1:], bootstrap.unsqueeze(1)], 1)
    following = torch.where(ended, torch.where(truncated, values, 0), following)
    delta = ratio.clamp(max=rho_clip) * (rewards + gamma * following - values)
    decay = gamma * gae_lambda * ratio.clamp(max=c_clip) * ~ended
    delta, decay = delta.T.contiguous(), decay.T.contiguous()       # (T, N): a tick is one row
    for t in range(len(delta) - 2, -1, -1):
        delta[t].addcmul_(decay[t], delta[t + 1])
    return delta.T


def segment_probabilities(advantage: Tensor, alpha: float) -> np.ndarray:
    """(N,) float64: p_i ~ (sum_t |A_it|)^alpha + 1e-6, which never is 0."""
    weight = advantage.abs().sum(1).cpu().double().numpy() ** alpha + 1e-6
    return weight / weight.sum()


def draw_segments(probabilities: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Inverse CDF, with replacement: one segment for each uniform in [0, 1)."""
    cdf = np.cumsum(probabilities)
    rows = np.searchsorted(cdf, uniforms.astype(np.float64) * cdf[-1], side="right")
    return np.minimum(rows, len(cdf) - 1)


def importance(probabilities: np.ndarray, rows: np.ndarray, beta: float) -> np.ndarray:
    """(S,) float32: q_i = (N p_i)^-beta, which undoes (beta = 1) what prioritising skewed."""
    return ((len(probabilities) * probabilities[rows]) ** -beta).astype(np.float32)


# ---- loss -------------------------------------------------------------------------------------

def mean(x: Tensor) -> Tensor:
    """Of all elements, added in an order that does not depend on the number of threads.

    PyTorch shares one sum of 32768 numbers or more among its threads, but no row of a matrix.
    """
    count, x = x.numel(), x.flatten()
    while len(x) > 4096:
        whole = len(x) // 256 * 256
        x = torch.cat([x[:whole].view(-1, 256).sum(1), x[whole:]])
    return x.sum() / count


def ppo_loss(log_prob: Tensor, entropy: Tensor, value: Tensor, batch: Mapping[str, Tensor],
             settings, ent_coef: float) -> tuple[Tensor, Tensor, Tensor]:
    """The loss, its parts in the order of LOSSES, and the ratio; everything is (S, T).

    batch: log_prob_old, value_old (the rollout's), advantage, returns, and q (S, 1), which weighs
    the normalised advantage and nothing else. Mean and deviation are those of the minibatch, the
    variance a sum divided by n.
    """
    advantage = batch["advantage"]
    if settings.norm_adv:
        advantage = advantage - mean(advantage)
        advantage = advantage / (mean(advantage.square()).sqrt() + 1e-8)
    advantage = batch["q"] * advantage
    log_ratio = log_prob - batch["log_prob_old"]
    ratio = log_ratio.exp()
    clip = settings.clip_coef
    policy_loss = mean(torch.max(-advantage * ratio, -advantage * ratio.clamp(1 - clip, 1 + clip)))
    moved = (value - batch["value_old"]).clamp(-settings.vf_clip_coef, settings.vf_clip_coef)
    clipped_error = (batch["value_old"] + moved - batch["returns"]).square()
    value_loss = 0.5 * mean(torch.max((value - batch["returns"]).square(), clipped_error))
    loss = policy_loss + settings.vf_coef * value_loss - ent_coef * mean(entropy)
    with torch.no_grad():
        parts = torch.stack([policy_loss, value_loss, mean(entropy), -mean(log_ratio),
                             mean(ratio - 1 - log_ratio),
                             mean(((ratio - 1).abs() > clip).to(ratio.dtype))])
    return loss, parts, ratio.detach()


# ---- Muon -------------------------------------------------------------------------------------

def orthogonalise(update: Tensor) -> Tensor:
    """Five Newton-Schulz steps: the same row and column spaces, singular values near 1."""
    if update.shape[0] > update.shape[1]:
        return orthogonalise(update.T).T
    x = update / update.norm().clamp(min=1e-7)
    for a, b, c in NEWTON_SCHULZ:
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class Muon:
    """Matrices move along their orthogonalised Nesterov momentum; vectors use Adam.

    Adam's betas are (0.9, beta2): beta2 and eps act on vectors only, mu on matrices only.
    """

    def __init__(self, policy: nn.Module, mu: float, beta2: float, eps: float,
                 max_grad_norm: float):
        self.parameters = {name: p for name, p in policy.named_parameters() if p.requires_grad}
        self.mu, self.beta2, self.eps, self.max_grad_norm = mu, beta2, eps, max_grad_norm
        self.steps = 0
        self.tensors: dict[str, Tensor] = {}
        for name, parameter in self.parameters.items():
            for kind in (("muon",) if parameter.dim() > 1 else ("adam.m", "adam.v")):
                self.tensors[f"{kind}.{name}"] = torch.zeros_like(parameter)

    def grad_norm(self) -> Tensor:
        """Over all parameters together, before any clipping."""
        norms = [p.grad.norm() for p in self.parameters.values() if p.grad is not None]
        return torch.stack(norms).norm()

    @torch.no_grad()
    def step(self, learning_rate: float, grad_norm: float) -> None:
        self.steps += 1
        scale = min(1.0, self.max_grad_norm / grad_norm) if grad_norm > 0 else 1.0
        for name, weight in self.parameters.items():
            if weight.grad is None:
                continue
            gradient = weight.grad * scale
            if weight.dim() == 1:
                self._adam(name, weight, gradient, VECTOR_LR * learning_rate)
                continue
            momentum = self.tensors[f"muon.{name}"]
            momentum.mul_(self.mu).add_(gradient)
            update = gradient.add(momentum, alpha=self.mu).flatten(1)       # Nesterov
            rows, columns = update.shape
            rate = learning_rate * math.sqrt(max(1.0, rows / columns))
            weight.sub_(orthogonalise(update).view_as(weight), alpha=rate)

    def _adam(self, name: str, weight: Tensor, gradient: Tensor, rate: float) -> None:
        first, second = self.tensors[f"adam.m.{name}"], self.tensors[f"adam.v.{name}"]
        first.lerp_(gradient, 1 - 0.9)
        second.mul_(self.beta2).addcmul_(gradient, gradient, value=1 - self.beta2)
        deviation = (second / (1 - self.beta2 ** self.steps)).sqrt_().add_(self.eps)
        weight.addcdiv_(first, deviation, value=-rate / (1 - 0.9 ** self.steps))


# ---- the trainer ------------------------------------------------------------------------------

class TorchPPO(Schedules):
    """The training loop's two halves over one VecEnv: rollout() fills the buffers, update() learns.

    `vec` needs observations, actions, rewards, terminals, truncations, action_mask (arrays that
    stay where they are), num_agents, obs_size, act_sizes, reset() and step(). `first_agent` is the
    global number of its first row, where several processes share a run.
    """

    def __init__(self, vec, config, device="cpu", *, first_agent: int = 0):
        self.config, self.settings = config, config.train
        self.agents, self.horizon = vec.num_agents, config.train.horizon        # N, T
        check_sizes(vec, config.train)
        self.policy = build_policy(vec.obs_size, vec.act_sizes, config, device)
        self.device = next(self.policy.parameters()).device
        t = self.settings
        self.actor = Actor(self.policy, vec.act_sizes, t.seed, self.agents, first_agent=first_agent)
        self.heads = self.actor.heads
        self.muon = Muon(self.policy, t.beta1, t.beta2, t.eps, t.max_grad_norm)
        self.epoch = self.global_step = 0
        self.minibatch_carry = 0.0
        self.timers = {"env": 0.0, "forward": 0.0, "train": 0.0}
        self.picks: list[tuple[np.ndarray, np.ndarray]] = []    # (rows, q) of the last update
        self._allocate(vec)
        self.vec = vec
        self.barrier(vec)

    def _allocate(self, vec) -> None:
        n, t = self.agents, self.horizon

        def buffer(*shape: int, dtype=torch.float32, device=self.device) -> Tensor:
            return torch.zeros(shape, dtype=dtype, device=device)

        kind = torch.uint8 if vec.observations.dtype == np.uint8 else torch.float32
        self.obs = buffer(n, t, vec.obs_size, dtype=kind)       # (N, T, D), the env's own type
        self.actions = buffer(n, t, len(vec.act_sizes))         # (N, T, K) ids, or values
        self.log_probs = buffer(n, t)                           # (N, T) the rollout's
        self.values = buffer(n, t)                              # (N, T) the rollout's
        self.bootstrap = buffer(n)                              # (N,) value after the last tick
        self.rewards = buffer(n, t, device="cpu")               # (N, T)
        self.ended = buffer(n, t, dtype=torch.bool, device="cpu")        # (N, T)
        self.truncated = buffer(n, t, dtype=torch.bool, device="cpu")    # (N, T) a subset of ended
        self.state0 = self.actor.state.clone()                  # (N, L, H) before the first tick
        self.masks = None if vec.action_mask is None else buffer(    # (N, T, A) legal actions
            n, t, vec.action_mask.shape[1], dtype=torch.bool)

    def take_timers(self) -> dict[str, float]:
        """Seconds in env, forward and train since the last call; then they start again at 0."""
        taken = dict(self.timers)
        self.timers.update(dict.fromkeys(self.timers, 0.0))
        return taken

    # -- rollout --

    @torch.no_grad()
    def rollout(self) -> None:
        """T ticks of all agents into the buffers, then the value of what comes next."""
        started, in_env = time.perf_counter(), self.timers["env"]
        vec, actor = self.vec, self.actor
        if self._unreset:
            self._timed(vec.reset)
            self._unreset = False
        if self.config.base.reset_state:
            actor.reset()
        actor.tick = self.global_step // self.agents
        self.state0.copy_(actor.state)
        for t in range(self.horizon):
            obs = self._read_obs()
            mask = None if vec.action_mask is None else actor.to_mask(vec.action_mask)
            actions, self.log_probs[:, t], self.values[:, t] = actor.forward(obs, mask)
            self.obs[:, t], self.actions[:, t] = obs, actions
            if mask is not None:
                self.masks[:, t] = mask
            self._env["actions"].copy_(actions)
            self._timed(vec.step)
            self._check_input("rewards", vec.rewards)
            ended = (vec.terminals != 0) | (vec.truncations != 0)
            self.rewards[:, t] = self._env["rewards"]
            self.ended[:, t] = torch.from_numpy(ended)
            self.truncated[:, t] = self._env["truncations"] != 0
            actor.ended(ended)
        self.bootstrap.copy_(actor.value(self._read_obs()))
        raise_if_bad([("values", self.bootstrap)], where=f"tick {actor.tick}")
        self.global_step += self.batch_size
        elapsed = time.perf_counter() - started
        self.timers["forward"] += elapsed - (self.timers["env"] - in_env)

    def _read_obs(self) -> Tensor:
        """This tick's observations, our own copy on the device."""
        if self.obs.dtype != torch.uint8:
            self._check_input("observations", self.vec.observations)
        return self._env["observations"].to(self.device, copy=True)

    def _check_input(self, name: str, array: np.ndarray) -> None:
        if not math.isfinite(float(array.sum())):
            raise_if_bad([(name, torch.from_numpy(array))], where=f"tick {self.actor.tick}",
                         hint=ENV_HINT)

    def _timed(self, call) -> None:
        started = time.perf_counter()
        call()
        self.timers["env"] += time.perf_counter() - started

    # -- update --

    def update(self) -> dict[str, float]:
        """Learn from the rollout; the metrics of this epoch. The epoch counter moves on."""
        started = time.perf_counter()
        t = self.settings
        learning_rate, ent_coef = self.learning_rate, self.ent_coef
        beta = t.prio_beta0 + (1 - t.prio_beta0) * self.progress
        rewards, clipped = self._clipped_rewards()
        ended, truncated = self.ended.to(self.device), self.truncated.to(self.device)
        values, ratio = self.values.clone(), torch.ones_like(self.values)   # the current ones
        wanted = t.replay_ratio * self.batch_size / t.minibatch_size + self.minibatch_carry
        count = int(wanted)
        self.minibatch_carry, self.picks = wanted - count, []
        explained, sums, norms = 0.0, torch.zeros(len(LOSSES), device=self.device), 0.0
        for number in range(count):
            advantage = advantages(rewards, values, self.bootstrap, ended, truncated, ratio,
                                   t.gamma, t.gae_lambda, t.vtrace_rho_clip, t.vtrace_c_clip)
            returns = advantage + values
            if number == 0:
                explained = explained_variance(self.values, returns)
            rows, q = self._pick(advantage, number, beta)
            self.picks.append((rows, q))
            pick = torch.from_numpy(rows).to(self.device)
            batch = {"obs": self.obs[pick], "state0": self.state0[pick], "ended": ended[pick],
                     "actions": self.actions[pick], "rewards": rewards[pick],
                     "log_prob_old": self.log_probs[pick], "value_old": self.values[pick],
                     "advantage": advantage[pick], "returns": returns[pick],
                     "q": torch.from_numpy(q).to(self.device).unsqueeze(1)}
            mask = None if self.masks is None else self.masks[pick]
            parts, norm, value, new_ratio = self._learn(batch, mask, learning_rate, ent_coef)
            sums, norms = sums + parts, norms + norm
            # A segment drawn twice is written once: rows of one product may round differently.
            once = np.unique(rows, return_index=True)[1]
            pick, once = pick[once], torch.from_numpy(once).to(self.device)
            values[pick], ratio[pick] = value[once], new_ratio[once]
        raise_if_bad(weights_of(self.policy), where=f"epoch {self.epoch}, after its last minibatch")
        self.epoch += 1
        self.timers["train"] += time.perf_counter() - started
        metrics = {"train/learning_rate": learning_rate, "train/ent_coef": ent_coef,
                   "train/reward_clipped": clipped}
        if count:
            metrics |= {f"loss/{key}": total / count for key, total in zip(LOSSES, sums.tolist())}
            metrics |= {"loss/explained_variance": explained, "loss/grad_norm": norms / count}
        return metrics

    def _clipped_rewards(self) -> tuple[Tensor, int]:
        rewards, limit = self.rewards, self.settings.reward_clip
        if not limit:
            return rewards.to(self.device), 0
        return rewards.clamp(-limit, limit).to(self.device), int((rewards.abs() > limit).sum())

    def _pick(self, advantage: Tensor, number: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
        """The S segments of this epoch's minibatch `number`, and their weights q."""
        t, size = self.settings, self.settings.minibatch_size // self.horizon
        if t.prio_alpha == 0:       # deal from shuffled decks; a deck holds every segment once
            places = np.arange(number * size, (number + 1) * size)
            laps = places // self.agents
            decks = {lap: philox.permutation(t.seed, self.agents, self.epoch, lap)
                     for lap in range(laps[0], laps[-1] + 1)}
            rows = np.array([decks[lap][place % self.agents] for lap, place in zip(laps, places)])
            return rows, np.ones(size, np.float32)
        uniforms = philox.uniform((t.seed, Purpose.PRIORITY), np.arange(size), self.epoch, number)
        probabilities = segment_probabilities(advantage, t.prio_alpha)
        rows = draw_segments(probabilities, uniforms)
        return rows, importance(probabilities, rows, beta)

    def _learn(self, batch: Mapping[str, Tensor], mask: Tensor | None, learning_rate: float,
               ent_coef: float) -> tuple[Tensor, float, Tensor, Tensor]:
        """One minibatch: forward, loss, backward, Muon. Returns parts, gradient norm, V and w."""
        logits, value = self.policy.sequence(batch["obs"], batch["state0"], batch["ended"])
        log_prob, entropy = self.heads.log_prob_and_entropy(
            apply_mask(logits, mask), getattr(self.policy, "logstd", None), batch["actions"])
        loss, parts, ratio = ppo_loss(log_prob, entropy, value, batch, self.settings, ent_coef)
        self.policy.zero_grad(set_to_none=True)
        loss.backward()
        loss_now, norm = torch.stack([loss.detach(), self.muon.grad_norm()]).tolist()
        if not math.isfinite(loss_now + norm):      # before the step: the weights stay as they were
            gradients = [(f"gradient of {name}", p.grad)
                         for name, p in self.policy.named_parameters() if p.grad is not None]
            forward = [("logits", logits), ("values", value), ("log-probabilities", log_prob),
                       ("entropy", entropy), ("ratio", ratio), ("loss", loss)]
            raise_if_bad([*batch.items(), *weights_of(self.policy), *forward, *gradients],
                         where=f"epoch {self.epoch}")
            raise RunError("the gradient norm overflows", where=f"epoch {self.epoch}",
                           hint=SCALE_HINT)
        self.muon.step(learning_rate, norm)
        return parts, norm, value.detach(), ratio

    # -- checkpoints --

    def barrier(self, vec) -> None:
        """Go on with freshly created envs and zero carried state, as a resumed run does.

        The envs are reset when the next rollout starts, once, however often this is called.
        """
        check_same_envs(vec, self.vec)
        self.vec, self._unreset = vec, True
        self._env = {name: torch.from_numpy(getattr(vec, name))
                     for name in ("observations", "actions", "rewards", "truncations")}
        self.actor.reset()

    def state_tensors(self) -> dict[str, np.ndarray]:
        """Weights, momentum (muon.NAME) and Adam (adam.m.NAME, adam.v.NAME), as copies."""
        return {name: tensor.detach().cpu().numpy().copy()
                for name, tensor in self._all_tensors().items()}

    def load_state_tensors(self, tensors: Mapping[str, np.ndarray]) -> None:
        """What state_tensors() gave. Missing names and other sizes are refused before any copy."""
        _copy_by_name(self._all_tensors(), tensors)

    def _all_tensors(self) -> dict[str, Tensor]:
        return {**dict(self.policy.named_parameters()), **self.muon.tensors}

    @property
    def counters(self) -> dict[str, int | float]:
        """The numbers that a resume needs beside the tensors; JSON keeps them exactly."""
        return {"epoch": self.epoch, "global_step": self.global_step,
                "minibatch_carry": self.minibatch_carry, "optimizer_steps": self.muon.steps}

    def load_counters(self, counters: Mapping[str, int | float]) -> None:
        self.epoch, self.global_step = int(counters["epoch"]), int(counters["global_step"])
        self.minibatch_carry = float(counters["minibatch_carry"])
        self.muon.steps = int(counters["optimizer_steps"])


def explained_variance(values: Tensor, returns: Tensor) -> float:
    """1 - Var(R - V) / Var(R): 1 is perfect, 0 no better than a constant. 0 where R is constant."""
    def variance(x: Tensor) -> float:
        return float(mean((x - mean(x)).square()))

    spread = variance(returns)
    return 1 - variance(returns - values) / spread if spread > 0 else 0.0


# ---- names of what went bad -------------------------------------------------------------------

def weights_of(policy: nn.Module) -> list[tuple[str, Tensor]]:
    return [(f"weights of {name}", p.detach()) for name, p in policy.named_parameters()]


def raise_if_bad(named: Iterable[tuple[str, Tensor]], where: str, hint: str | None = None) -> None:
    """A RunError for the first tensor that holds a NaN or an infinity, with its place."""
    for name, tensor in named:
        if not tensor.is_floating_point() or bool(torch.isfinite(tensor).all()):
            continue
        place = (~torch.isfinite(tensor.detach())).nonzero()[0].tolist()
        value = float(tensor.detach()[tuple(place)])
        raise RunError(f"{name} went bad: {value} at {place} of {list(tensor.shape)}", where=where,
                       hint=hint or BAD_HINT)


def _copy_by_name(targets: Mapping[str, Tensor], tensors: Mapping[str, np.ndarray]) -> None:
    check_tensors({name: target.shape for name, target in targets.items()}, tensors)
    with torch.no_grad():
        for name, target in targets.items():
            target.copy_(torch.as_tensor(tensors[name]))
