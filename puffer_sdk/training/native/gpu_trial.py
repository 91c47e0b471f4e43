"""Test once whether this machine's GPU trains.  the machine -> Outcome

The trainer is compiled, and a child process learns three tiny epochs on the GPU: a driver that
crashes ends the child, one that hangs is stopped. The outcome is stored (toolchain/gpu_kept.py),
unless the failure is temporary, such as a full GPU or a full disk.
"""
from __future__ import annotations

import re
import time
from typing import TypedDict

import numpy as np

from ...base import ui
from ...base.errors import BuildError, Interrupted, PufferError, RunError
from ...env import child_process
from ...env.child_pipe import Link
from ...settings.config import defaults
from ...toolchain import gpu, gpu_kept
from ...toolchain.gpu_kept import Outcome
from . import cuda
from .trainer_errors import PASSING

SECONDS = 120                   # for the child; an idle machine takes a few
EPOCHS = 3                      # the first is not captured, the others are replayed
AGENTS, OBS, ACTIONS = 8, 5, (3,)
SETTINGS = {"vec.total_agents": AGENTS, "train.horizon": 8, "train.minibatch_size": 32,
            "policy.hidden_size": 16, "policy.num_layers": 1, "vec.num_threads": 1,
            "train.device": "cuda", "train.total_timesteps": EPOCHS * 64}
HINT = "puffer-sdk doctor tries it again; until then, --train.device cpu"


def try_gpu(*, verbose: bool = False, again: bool = False) -> Outcome:
    """Compile for this machine's GPU and train on it, unless that was tried before.

    again    try even if an outcome is kept
    """
    found = gpu.examine()
    if found.problem:
        return Outcome(found.problem, hint=found.hint)
    known = gpu_kept.read(found)
    if known and known.problem and not again:
        return known
    try:
        cuda.build(verbose=verbose)
    except BuildError as error:
        outcome = Outcome(f"the trainer for GPUs does not compile{_first_error(error.detail)}",
                          error.detail, error.hint)
        gpu_kept.write(found, outcome)
        return outcome
    except PufferError as error:        # a full disk
        return Outcome(error.message, error.detail, error.hint)
    if known and not again:
        return known
    ui.say("testing the GPU, once for this machine ...")
    outcome, lasting = _in_child()
    if lasting:
        gpu_kept.write(found, outcome)
    return outcome


def _first_error(detail: str | None) -> str:
    """": no such file", of the compiler's text."""
    said = re.search(r"(?:^|[\s:])error\s*:\s*(.+)", detail or "")
    return f": {said[1].strip()[:120]}" if said else ""


def _in_child() -> tuple[Outcome, bool]:
    """The outcome, and whether the next run would find the same."""
    deadline = time.monotonic() + SECONDS

    def on_event(kind: str, payload: object) -> None:
        if time.monotonic() > deadline:
            raise TimeoutError

    try:
        done = child_process.run(f"{__name__}:work", None, on_event)
    except Interrupted:
        raise
    except TimeoutError:
        problem, detail = f"the GPU did not train a first step within {SECONDS} seconds", None
    except child_process.ChildBug as error:
        problem = f"trying the GPU failed: {error.child_traceback.strip().splitlines()[-1]}"
        detail = error.child_traceback
    except RunError as error:
        problem = f"trying the GPU ended with {error.ended}" if error.ended else error.message
        detail = error.detail
    except PufferError as error:
        problem, detail = error.message, error.detail
    else:
        if not done.get("problem"):
            return Outcome(), True
        return Outcome(done["problem"], hint=HINT), not done["passing"]
    return Outcome(problem, detail, HINT, gpu_kept.this_boot()), True


# ---- in the child --------------------------------------------------------------------------------

class _Envs:
    """Made-up observations and rewards: what a trainer asks of a vec."""

    num_agents, obs_size, act_sizes, action_mask = AGENTS, OBS, ACTIONS, None

    def __init__(self) -> None:
        self.draw = np.random.default_rng(0)
        self.observations = np.zeros((AGENTS, OBS), np.float32)
        self.actions = np.zeros((AGENTS, len(ACTIONS)), np.float32)
        self.rewards, self.terminals, self.truncations = np.zeros((3, AGENTS), np.float32)

    def reset(self) -> None:
        self.observations[:] = self.draw.normal(size=self.observations.shape)

    def step(self) -> None:
        self.reset()
        self.rewards[:] = self.actions[:, 0] == 1
        self.terminals[:] = self.draw.random(AGENTS) < 0.1


class Trouble(TypedDict, total=False):
    """Empty if it trains."""

    problem: str
    passing: bool           # whether another run may do


def work(job: None, link: Link) -> Trouble:
    """The child's target."""
    from .native_ppo import NativePPO
    try:
        with NativePPO(_Envs(), defaults(SETTINGS), device="cuda") as trainer:
            before = trainer.state_tensors()
            for _ in range(EPOCHS):
                trainer.rollout()
                trainer.update()
            after = trainer.state_tensors()
    except PufferError as error:
        return {"problem": error.message, "passing": error.of_gpu in PASSING}
    if all(np.array_equal(before[name], after[name]) for name in before) \
            or not all(np.isfinite(tensor).all() for tensor in after.values()):
        return {"problem": "the GPU computes nothing, or numbers that are not finite",
                "passing": False}
    return {}
