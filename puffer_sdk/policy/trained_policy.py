"""Act with a trained policy in Python.  a run or a checkpoint -> Policy; observations -> actions"""
from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import files
from ..base.errors import UsageError
from ..env.agent_slots import fill_empty, forget_empty
from ..interop.python_envs import layouts
from ..interop.python_envs.interfaces import Value
from ..interop.python_envs.masks import MASK, flat_mask
from ..interop.python_envs.space_rows import describe
from ..settings import torch_class
from ..training import backends, checkpoint
from ..training.find_model import find_model, run_folder
from ..training.runs import Run

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from ..interop.python_envs.space_rows import Actions, Observations
    from ..training.native.actor import NativeActor
    from ..training.reference.action_heads import Actor


@dataclass
class _Rows:
    """What an actor is made for."""

    observations: np.ndarray
    obs_size: int
    act_sizes: tuple[int, ...]
    num_agents: int
    layout: Observations | None


class Policy:
    """A trained policy and its agents' recurrent state.

        policy = puffer_sdk.Policy.load("runs/my_env/0007")
        vec.reset()
        while True:
            vec.actions[:] = policy.act(vec.observations, vec.action_mask, vec.alive)
            vec.step()
            policy.ended(vec.terminals)

    The number of agents is that of the first call of act(). The same seed gives the same actions.

    Attributes: path, env (a name), step (agent steps trained), obs_size, obs_dtype, act_sizes,
    config (the settings it was trained with), n (agents; 0 before the first act()), layout and
    actions (of the rows and heads of a Python environment, or None).
    """

    def __init__(self, past: checkpoint.Checkpoint, *, greedy: bool = False, seed: int = 0):
        import numpy as np

        env = past.facts["env"]
        self.path, self.step, self.env = past.path, past.step, str(env["name"])
        self.obs_size, self.obs_dtype = int(env["obs_size"]), np.dtype(env["obs_dtype"])
        self.act_sizes = tuple(int(width) for width in env["act_sizes"])
        self.config, self.layout = past.config, layouts.from_dict(env.get("layout"))
        self.actions = layouts.actions_from_dict(env.get("actions"))
        self.greedy, self.seed, self.n = greedy, seed, 0
        self._past = past
        self._actor: NativeActor | Actor | None = None

    @classmethod
    def load(cls, run: str | os.PathLike[str], *, best: bool = True, greedy: bool = False,
             seed: int = 0, trust: bool = False) -> Policy:
        """The policy of a run's folder, or of a checkpoint file (Trainer.save() writes them too).

        best        of a run, its best weights, if it has evaluated any; False: its last ones
        greedy      take the likeliest action instead of drawing one
        trust       run the network's code that a checkpoint of somebody else names
        Raises UsageError for a file that is missing, damaged or no checkpoint; where the policy
        needs PyTorch and that is not installed, or code that you did not name; BuildError where
        the C does not compile.
        """
        path = Path(os.path.expanduser(run))
        if not path.exists():
            raise UsageError("there is no such run or checkpoint", where=path,
                             expected="runs/NAME/NNNN, or a .safetensors file",
                             hint="puffer-sdk runs lists all runs")
        found = find_model(files.real(path).parent, path)
        folder = run_folder(found)
        if not best and folder and not path.is_file():
            found = Run(folder).checkpoints()[-1]
        past = checkpoint.load(found)
        policy = cls(past, greedy=greedy, seed=seed)
        if trust:
            torch_class.name(policy.config.policy.torch_class, None)
        backends.require_actor(past.config, past.path)
        return policy

    def act(self, observations: Value, mask: np.ndarray | None = None,
            alive: np.ndarray | None = None) -> Value:
        """observations (n, D), mask (n, A) of 0 and 1 -> actions (n, K) float32: ids, or values of
        continuous heads. One observation (D,) gives one action (K,). Moves `state` on.

        Of a Python environment, one observation as its space holds it gives one action as the
        action space holds it: env.step(policy.act(obs)). An `action_mask` in it counts.

        alive       (n,) 0 where a row has no agent: its action is 0, and it carries nothing over

        Raises UsageError for another shape, or another number of agents than before.
        """
        if self.layout is not None and self.actions is not None \
                and not self._are_rows(observations):
            return self._act_in_space(self.layout, self.actions, observations, mask)
        return self._act(observations, mask, alive)

    def _are_rows(self, observations: Value) -> bool:
        shape = getattr(observations, "shape", None)
        return shape is not None and len(shape) == 2 and shape[1] == self.obs_size

    def _act_in_space(self, layout: Observations, actions: Actions, ob: Value,
                      mask: np.ndarray | None) -> Value:
        import numpy as np

        if mask is None and isinstance(ob, dict) and MASK in ob:
            mask = ob[MASK]
        try:
            row = layout.row_of(ob)
        except (ValueError, LookupError, TypeError) as error:
            raise UsageError("this is no observation of the space that the policy was trained on",
                             expected=f"{', '.join(describe(layout.leaves))}, or rows "
                                      f"(n, {self.obs_size})",
                             actual=f"{type(ob).__name__} {getattr(ob, 'shape', '')}".rstrip(),
                             detail=str(error)) from None
        flat = None if mask is None else flat_mask(mask, actions.mask_size)[None]
        heads = np.asarray(self._act(row[None], flat, None), np.float32)
        return actions.reader()(heads)[0]

    def _act(self, observations: np.ndarray, mask: np.ndarray | None,
             alive: np.ndarray | None) -> np.ndarray:
        import numpy as np

        observations = np.asarray(observations, self.obs_dtype)
        single = observations.ndim == 1
        rows = observations[None] if single else observations
        if rows.ndim != 2 or rows.shape[1] != self.obs_size:
            raise UsageError("observations have the wrong shape",
                             expected=f"(n, {self.obs_size})", actual=observations.shape)
        if mask is not None:
            mask = np.asarray(mask, np.uint8).reshape(len(rows), -1)
        actor = self._actor or self._make_actor(len(rows))
        if len(rows) != self.n:
            raise UsageError("the number of agents has changed", expected=self.n,
                             actual=len(rows), hint="load the policy again for others")
        if alive is not None:
            alive = np.asarray(alive).reshape(len(rows))
        rows, mask = fill_empty(rows, alive), fill_empty(mask, alive, 1)
        actions = fill_empty(actor.act(np.ascontiguousarray(rows), mask), alive)
        forget_empty(actor, alive)
        return np.asarray(actions[0]) if single else actions

    def ended(self, terminals: np.ndarray) -> None:
        """(n,) nonzero where an episode has just ended: the agent carries nothing over."""
        import numpy as np

        if self._actor is not None:
            ended = np.atleast_1d(np.asarray(terminals) != 0)
            self._actor.ended(ended.astype(np.float32))

    def reset(self) -> None:
        """Reset the state of all agents."""
        if self._actor is not None:
            self._actor.reset()

    @property
    def state(self) -> np.ndarray | Tensor | None:
        """(n, L, H) the recurrent state: a NumPy array, or the network's own tensor. Writable. None
        before the first act()."""
        return None if self._actor is None else self._actor.state

    def _make_actor(self, n: int) -> NativeActor | Actor:
        import numpy as np

        rows = _Rows(np.empty(0, self.obs_dtype), self.obs_size, self.act_sizes, n, self.layout)
        with self._past.named():
            actor = backends.make_actor(rows, self.config, self._past.tensors, self.seed,
                                        greedy=self.greedy)
        self._actor, self.n = actor, n
        return actor

    def __repr__(self) -> str:
        heads = "x".join(map(str, self.act_sizes))
        return (f"<Policy {self.env}: {self.obs_size} {self.obs_dtype.name} observations, actions "
                f"{heads}, trained for {self.step:,} steps>")
