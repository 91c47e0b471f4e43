"""Play, and keep everything.  a policy, a vec -> Transitions"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base import paths, ui
from ..base.errors import UsageError, did_you_mean
from ..base.number_limits import whole_number
from ..env.agent_slots import ended, living, random_actions
from ..env.vec import VecEnv
from ..env.vec_wrapper import VecWrapper
from .trained_policy import Policy
from .transitions import Transitions

SAME_STEP = "same_step"     # of wrap(): in other modes, an action in some steps does nothing


def collect(policy: Policy | Callable[[NDArray[Any]], ArrayLike] | str, vec: VecEnv | VecWrapper,
            steps: int, *, seed: int | None = None) -> Transitions:
    """Play `steps` transitions, all agents together, and keep them.

        with puffer_sdk.make("my_env", num_envs=1024, seed=1) as vec:
            data = puffer_sdk.collect(puffer_sdk.Policy.load("runs/my_env/0001"), vec, 100_000)
        data.save("my_env.npz")

    policy      a Policy; "random"; or fn(observations (N, D)) -> actions (N, K), which may read
                `vec` for more: vec.action_mask, vec.alive
    steps       of agents, rounded up to whole steps of the vec; a row without an agent makes none
    seed        recreate all copies first, as vec.reset(seed), and seed "random"
    The vec is reset first. Where an ended episode has no final observation, a warning says why.
    Raises UsageError where an argument is none of these, or actions do not fit.
    """
    if not isinstance(vec, (VecEnv, VecWrapper)):
        raise UsageError("this cannot be played", expected="a VecEnv of make() or wrap()",
                         actual=type(vec).__name__)
    autoreset = getattr(vec.library, "autoreset", SAME_STEP)
    if autoreset != SAME_STEP:
        raise UsageError("some steps of this vec ignore their action", where="collect",
                         expected=f"wrap(..., autoreset='{SAME_STEP}')", actual=autoreset)
    act = _acting(policy, vec, seed)
    ticks = -(-whole_number("steps", steps, 1, 2**40) // vec.num_agents)
    tape = _Tape(vec, ticks)
    kept, vec.all_finals = vec.all_finals, vec.description.has_all_finals
    try:
        vec.reset(seed)
        for tick in range(ticks):
            tape.before(tick)
            vec.actions = act()
            tape.actions[tick] = vec.actions
            vec.step()
            tape.after(tick)
            if isinstance(policy, Policy):
                policy.ended(tape.ends[tick])
        return tape.cut()
    finally:
        vec.all_finals = kept


def _acting(policy: object, vec: VecEnv | VecWrapper, seed: int | None
            ) -> Callable[[], ArrayLike]:
    if isinstance(policy, Policy):
        policy.reset()
        return lambda: policy.act(vec.observations, vec.action_mask, vec.alive)
    if isinstance(policy, str) and policy == "random":
        rng = np.random.default_rng(vec.seed if seed is None else seed)
        return lambda: random_actions(vec, rng)
    if not callable(policy):
        raise UsageError("this is no policy", where="collect", actual=repr(policy),
                         expected="a Policy, 'random', or a function of observations",
                         hint=did_you_mean(policy, ("random",)) if isinstance(policy, str)
                         and "/" not in policy else "puffer_sdk.Policy.load(run)")
    return lambda: policy(vec.observations)


class _Tape:
    """What a vec shows, tick by tick: (T, N, ...) arrays."""

    def __init__(self, vec: VecEnv | VecWrapper, ticks: int):
        self.vec, shape = vec, (ticks, vec.num_agents)
        about = vec.description
        self.obs = np.empty((*shape, about.obs_size), about.obs_dtype)
        self.actions = np.empty((*shape, len(about.act_sizes)), np.float32)
        self.rewards = np.empty(shape, np.float32)
        self.ends, self.truncated, self.lived = (np.zeros(shape, bool) for _ in range(3))
        self.masks = None if vec.action_mask is None \
            else np.empty((*shape, about.mask_size), np.uint8)
        # of each tick: numbers of the steps that ended with these final observations, (n,), (n, D)
        self.shown: list[tuple[NDArray[np.intp], NDArray[Any]]] = [
            (np.zeros(0, np.intp), self.obs[0, :0])]

    def before(self, tick: int) -> None:
        self.obs[tick] = self.vec.observations
        self.lived[tick] = living(self.vec)
        if self.masks is not None:
            self.masks[tick] = self.vec.action_mask

    def after(self, tick: int) -> None:
        vec = self.vec
        self.rewards[tick] = vec.rewards
        over = self.ends[tick] = ended(vec, self.lived[tick])
        self.truncated[tick] = over & (vec.truncations != 0)
        if vec.has_final is not None and vec.final_observations is not None:
            rows = np.flatnonzero(over & (vec.has_final != 0))
            self.shown.append((rows * len(self.obs) + tick, vec.final_observations[rows]))

    def cut(self) -> Transitions:
        """Agent after agent, without the ticks in which a row had no agent."""
        vec, about = self.vec, self.vec.description

        def flat(array: NDArray[Any]) -> NDArray[Any]:
            rows: NDArray[Any] = np.swapaxes(array, 0, 1)[self.lived.T]
            return rows

        agents, ticks = np.nonzero(self.lived.T)
        ends = flat(self.ends)
        breaks = np.flatnonzero(ends[:-1] | (np.diff(agents) != 0)) + 1
        edges = np.concatenate([[0], breaks, [len(ends)]]).astype(np.int64)
        episodes = np.stack([edges[:-1], edges[1:]], 1)
        last = edges[1:] - 1
        finals = np.where(ends[last, None], 0, vec.observations[agents[last]])
        has_final = ~ends[last]
        keys, rows = (np.concatenate(parts) for parts in zip(*self.shown))
        at = np.searchsorted(agents[last] * len(self.obs) + ticks[last], keys)
        finals[at], has_final[at] = rows, True
        if missing := int((~has_final).sum()):
            self._warn(missing, len(episodes))
        actions = flat(self.actions)
        if 1 not in about.act_sizes:
            actions = actions.astype(np.int64)
            actions = actions[:, 0] if len(about.act_sizes) == 1 else actions
        truncations = flat(self.truncated)
        return Transitions(about.name, flat(self.obs), actions, flat(self.rewards),
                           ends & ~truncations, truncations,
                           None if self.masks is None else flat(self.masks), episodes, finals,
                           has_final, *_spaces(vec))

    def _warn(self, missing: int, episodes: int) -> None:
        from ..env import header

        folder = self.vec.library.folder
        why = header.read(folder).no_final_obs if folder else ""
        ui.warn(f"{missing:,} of {episodes:,} episodes have no final observation"
                + (f": {why}" if why else ": it was written past its row, or by another step"),
                paths.page("trainer/algorithm.md"))


def _spaces(vec: VecEnv | VecWrapper) -> tuple[Any, Any]:
    """Gymnasium's, where it is installed."""
    try:
        import gymnasium  # noqa: F401
    except ModuleNotFoundError:
        return None, None
    return vec.single_observation_space, vec.single_action_space
