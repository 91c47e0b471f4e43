"""The code that `export` prints.  a policy, what its environment gives -> lines that play it

The lines choose as training and eval do: no illegal action, nothing for a row without an agent,
and with the same draws the same actions. Each language gets what it needs and no more: a mask only
where there are masks.

Sizes: n agents, D observation, K heads, A sum of head widths.
"""
from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

from ..base import paths
from ..base.errors import PufferError
from ..base.spec import Spec
from ..env import header
from .export import Exported, TrainedPolicy

ENDED = "each tick, after state[i] = 0 where the episode of agent i has ended:"
COUNTED, MARKED = "i < env.num_agents", "env.alive[i]"
EMPTY = "actions[alive == 0], state[alive == 0] = 0, 0"
# A mask of zeros: it waits for another's turn, with the state that it had
BEFORE = "waits, before = (mask == 0).all(1), state"
REST = "actions[waits], state[waits] = 0, before[waits]"


@dataclass(frozen=True)
class Inputs:
    """What the environment gives a policy besides observations and terminals, as C over `env`."""

    mask: str | None = None         # "action_mask", or the first element of the observation that
                                    # is the mask; None without
    alive: tuple[str, ...] = ()     # conditions of row i having an agent; () where all have one
    certain: bool = True            # False: nobody knows whether there are masks
    clears: bool = True             # c_step writes each terminal; False: its caller clears them

    @property
    def rows(self) -> str:
        return "env.max_agents" if COUNTED in self.alive else "env.num_agents"


def inputs_of(policy: TrainedPolicy) -> Inputs:
    """From the environment's header where that is at hand, else from what the checkpoint says."""
    spec = _spec_of(policy.name)
    if spec is None:
        return Inputs("action_mask" if policy.masked is not False else None,
                      (MARKED,) if policy.comes_and_goes is not False else (),
                      policy.masked is not None, clears=False)
    seen = re.sub(r"\s*->\s*", ".", spec.mask_at).strip() if spec.mask_at else None
    return Inputs(seen or ("action_mask" if spec.has_mask else None),
                  (COUNTED,) * spec.has_max_agents + (MARKED,) * spec.has_alive,
                  clears=spec.binding is None)


def _spec_of(name: str) -> Spec | None:
    try:
        return header.read(paths.find_env(name))
    except PufferError:             # a Python environment, or one that is elsewhere
        return None


def lines(done: Exported) -> list[str]:
    """Code that plays the exported file."""
    write = {"c": c_lines, "onnx": onnx_lines, "torch": torch_lines}[done.to]
    return write(done.policy, json.dumps(paths.shown(done.path)))


def c_lines(policy: TrainedPolicy, shown: str) -> list[str]:
    """shown: the file, as a literal of C."""
    gives, sizes = inputs_of(policy), ", ".join(map(str, policy.act_sizes))
    rows, width, obs = gives.rows, sum(policy.act_sizes), policy.obs_size
    once = [f"int sizes[] = {{{sizes}}};",
            f"PufferNet* net = puffernet_load({shown}, {rows}, {obs}, sizes, "
            f"{len(policy.act_sizes)});"]
    tick, perhaps = [], "" if gives.certain else "    // if it has one"
    if gives.mask == "action_mask":
        once.append(f"net->mask = env.action_mask;{perhaps}")
    elif gives.mask:
        seen = gives.mask if re.fullmatch(r"\w+|\([^()]*\)", gives.mask) else f"({gives.mask})"
        once += [f"unsigned char* mask = (unsigned char*)malloc((size_t){rows} * {width});",
                 "net->mask = mask;"]
        tick += [f"for (int i = 0; i < {rows} * {width}; i++)",
                 f"    mask[i] = env.observations[i / {width} * {obs} + {seen} + "
                 f"i % {width}] != 0;"]
    if COUNTED in gives.alive:
        once += [f"unsigned char* alive = (unsigned char*)malloc((size_t){rows});",
                 "net->alive = alive;"]
        tick += [f"for (int i = 0; i < {rows}; i++)",
                 f"    alive[i] = {' && '.join(gives.alive)};"]
    elif gives.alive:
        once.append(f"net->alive = env.alive;{perhaps}")
    act = ["puffernet_act(net, env.observations, env.actions, env.terminals);"]
    if not gives.clears:            # PufferLib's environments, for one, leave them as they are
        act.append(f"memset(env.terminals, 0, {rows} * sizeof(float));")
    if not tick and len(once) == 2 and len(act) == 1:
        return [*once, *act]
    return [*once, "// before each c_step:", *tick, *act]


def onnx_lines(policy: TrainedPolicy, shown: str) -> list[str]:
    """observations (n, D), state (n, L, H), mask (n, A), alive (n,) -> actions (n, K)."""
    odds = "np.exp({0} - {0}.max(1, keepdims=True)).cumsum(1)"
    draw = "(odds <= odds[:, -1:] * rng.random((len(odds), 1))).sum(1)"
    if len(policy.act_sizes) == 1 and not policy.continuous:
        once, choose = [], [f"odds = {odds.format('logits')}", f"actions = {draw}[:, None]"]
    else:
        once = ["def draw(head):     # (n, width) logits -> (n,) ids",
                f"    odds = {odds.format('head')}", f"    return {draw}"]
        once = once if policy.continuous < len(policy.act_sizes) else []
        choose = [f"actions = np.stack([{_heads(policy, 'rng.normal')}], 1)"]
    gives = inputs_of(policy)
    return ["import numpy as np",
            f"session = onnxruntime.InferenceSession({shown})",
            "rng = np.random.default_rng()", *once,
            f"# {ENDED}",
            *_only(gives.alive, "observations = np.where(alive[:, None], observations, 0)", gives),
            *_only(gives.mask, BEFORE, gives),
            "logits, value, state = session.run(",
            "    None, {'observations': observations, 'state': state})",
            *_only(gives.mask, "logits = np.where(mask, logits, -1e9)", gives),
            *choose, *_only(gives.mask, REST, gives), *_only(gives.alive, EMPTY, gives)]


def torch_lines(policy: TrainedPolicy, shown: str) -> list[str]:
    """The same of tensors."""
    draw = "torch.distributions.Categorical(logits={}).sample()"
    if len(policy.act_sizes) == 1 and not policy.continuous:
        once, choose = [], [f"actions = {draw.format('logits')}[:, None]"]
    else:
        once = ["def draw(head):     # (n, width) logits -> (n,) ids",
                f"    return {draw.format('head')}"]
        once = once if policy.continuous < len(policy.act_sizes) else []
        choose = [f"actions = torch.stack([{_heads(policy, 'torch.normal')}], 1)"]
    gives = inputs_of(policy)
    return [f"policy = torch.export.load({shown}).module()", *once,
            f"# {ENDED}",
            *_only(gives.alive,
                   "observations = torch.where(alive[:, None] != 0, observations, 0)", gives),
            *_only(gives.mask, BEFORE, gives),
            "logits, value, state = policy(observations, state)",
            *_only(gives.mask, "logits = torch.where(mask != 0, logits, -1e9)", gives),
            *choose, *_only(gives.mask, REST, gives), *_only(gives.alive, EMPTY, gives)]


def _only(needed: object, line: str, gives: Inputs) -> list[str]:
    return [line + ("" if gives.certain else "     # if it has one")] if needed else []


def _heads(policy: TrainedPolicy, normal: str) -> str:
    """The choice of each head, from its columns of the logits: draw(...), normal(...)."""
    found, column, deviations = [], 0, iter(_deviations(policy))
    for width in policy.act_sizes:
        found.append(f"{normal}(logits[:, {column}], {next(deviations):.6g})" if width == 1 else
                     f"draw(logits[:, {column}:{column + width}])")
        column += width
    return ", ".join(found)


def _deviations(policy: TrainedPolicy) -> list[float]:
    """Of the continuous heads; 0 where a network of one's own has none."""
    logstd = policy.weights.get("logstd", [-math.inf] * policy.continuous)
    return [math.exp(min(max(float(x), -20.0), 2.0)) if x > -math.inf else 0.0 for x in logstd]
