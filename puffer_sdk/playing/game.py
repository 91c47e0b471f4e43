"""One env, who plays it, and its past.  a library, a policy, a seed -> ticks, forward and back

Going back starts again from the seed and takes the same actions: an env's state is its own affair
and cannot be saved, but the same seed and actions lead to the same state.
"""
from __future__ import annotations

from collections import deque

import numpy as np

from ..env.library import Library
from ..env.vec import VecEnv
from ..policy.evaluate import random_actions
from ..settings.values import Config
from ..training import backends, checkpoint

CURVE = 150             # ticks of the value's curve
KNOWN_TICKS = 2000      # so far back the mind's memory is kept, as long as it takes
KNOWN_BYTES = 64 << 20  # no more than this


class Policy:
    """A checkpoint's weights: proposes actions, and says what it expects to earn."""

    def __init__(self, vec: VecEnv, past: checkpoint.Checkpoint, seed: int, greedy: bool):
        trained = Config.from_dict(past.facts["config"])
        self.actor = backends.make_actor(vec, trained, past.tensors, seed, greedy=greedy)
        self.name = f"the policy of step {past.step:,}"

    def begin(self) -> None:
        self.actor.reset()
        self.actor.tick = 0

    def remember(self) -> np.ndarray | None:
        """All that it knows of the past; None where only living through it tells."""
        state = getattr(self.actor, "state", None)
        return None if state is None or not isinstance(state, np.ndarray) else state.copy()

    def recall(self, tick: int, state: np.ndarray) -> None:
        """Be as it was before the proposal of that tick."""
        self.actor.state[:] = state
        self.actor.tick = tick

    def propose(self, vec: VecEnv) -> tuple[np.ndarray, np.ndarray | None]:
        actions, _, values = self.actor.forward(vec.observations, vec.action_mask)
        return actions, values

    def ended(self, over: np.ndarray) -> None:
        self.actor.ended(over)


class Dice:
    """Random play. A tick's actions depend on the seed and the tick alone."""

    name = "dice"

    def __init__(self, seed: int):
        self.seed, self.tick = seed, 0

    def begin(self) -> None:
        self.tick = 0

    def remember(self) -> np.ndarray:
        return np.empty(0)

    def recall(self, tick: int, state: np.ndarray) -> None:
        self.tick = tick

    def propose(self, vec: VecEnv) -> tuple[np.ndarray, None]:
        rng = np.random.default_rng((self.seed, self.tick))
        self.tick += 1
        return random_actions(vec, rng), None

    def ended(self, over: np.ndarray) -> None:
        pass


class Game:
    """One env, who plays it, and its past.

    tick, episode           of agent 0, from 0 and 1
    history                 the actions (N, K) of every tick since the seed; longer than `tick`
                            after going back
    values (N,) or None     what the policy expects from here on
    """

    def __init__(self, library: Library, config: Config, past: checkpoint.Checkpoint | None,
                 seed: int, greedy: bool, watches):
        self.library, self.config, self.past = library, config, past
        self.greedy, self.watches = greedy, watches
        self.vec = self._make(seed)
        self.mind = self.make_mind(past)
        self.begin(seed)

    def _make(self, seed: int) -> VecEnv:
        agents = self.library.agents_per_env(self.config.env, self.watches)
        return VecEnv(self.library, total_agents=agents, seed=seed,
                      env_settings=self.config.env, watches=self.watches)

    def make_mind(self, past: checkpoint.Checkpoint | None) -> Policy | Dice:
        if past is None:
            return Dice(self.vec.seed)
        about = self.vec.description
        checkpoint.check_fits(past, {"name": past.facts["env"]["name"], "obs_size": about.obs_size,
                                     "obs_dtype": about.obs_dtype.name,
                                     "act_sizes": list(about.act_sizes)}, self.config.env)
        return Policy(self.vec, past, self.vec.seed, self.greedy)

    def begin(self, seed: int) -> None:
        """The first tick of a game, with nothing ahead."""
        self.history: list[np.ndarray] = []
        self.known: dict[int, np.ndarray] = {}      # tick -> what the mind remembered then
        self._start(seed)
        self._propose()

    def _start(self, seed: int) -> None:
        self.vec.close()
        self.vec = self._make(seed)
        self.vec.reset()
        agents = self.vec.num_agents
        self.tick, self.episode, self.last = 0, 1, 0.0
        self.returns, self.rewards = np.zeros(agents), np.zeros(agents)
        self.curve: deque[np.ndarray] = deque(maxlen=CURVE)
        self.mind.begin()

    def _propose(self) -> None:
        known = self.mind.remember()
        if known is not None:
            self.known[self.tick] = known
            while len(self.known) * max(1, known.nbytes) > KNOWN_BYTES or \
                    len(self.known) > KNOWN_TICKS:
                del self.known[next(iter(self.known))]
        self.planned, self.values = self.mind.propose(self.vec)
        if self.values is not None:
            self.curve.append(self.values)

    def advance(self, hand=None) -> None:
        """One tick. hand: called with the env's struct once the actions are proposed."""
        self.vec.actions[:] = self.planned
        if hand is not None:
            hand(self.vec)
        del self.history[self.tick:]
        self.history.append(self.vec.actions.copy())
        self._step()

    def again(self) -> None:
        """One tick with the actions that it had before going back; a new one past the last."""
        if self.tick == len(self.history):
            self.advance()
        else:
            self.vec.actions[:] = self.history[self.tick]
            self._step()

    def _step(self, propose: bool = True) -> None:
        vec = self.vec
        fresh = (vec.terminals != 0) | (vec.truncations != 0)
        self.returns[fresh] = 0.0
        vec.step()
        self.tick += 1
        self.rewards = vec.rewards.copy()
        self.returns += self.rewards
        over = (vec.terminals != 0) | (vec.truncations != 0)
        if over[0]:
            self.episode += 1
            self.last = float(self.returns[0])
        if propose:
            self.mind.ended(over)
            self._propose()

    def back(self, ticks: int) -> None:
        """So many ticks before now: from the seed on, with the same actions."""
        target = max(0, self.tick - ticks)
        known, curve = self.known.get(target), list(self.curve)[:target - self.tick - 1]
        self._start(self.vec.seed)
        if known is None:                   # the mind has to live through it again
            self._propose()
        while self.tick < target:
            self.vec.actions[:] = self.history[self.tick]
            self._step(propose=known is None)
        if known is not None:
            self.known = {tick: state for tick, state in self.known.items() if tick < target}
            self.curve.extend(curve)
            self.mind.recall(target, known)
            self._propose()

    def adopt(self, library: Library, config: Config, same_state: bool) -> str:
        """Go on with a library that was rebuilt. Returns what became of the game.

        same_state    the struct and the settings are as they were: the env keeps its state
        """
        old, before = self.vec, self.vec.description
        self.library, self.config = library, config
        self.vec = self._make(old.seed)
        about = self.vec.description
        fits = (about.obs_size, about.obs_dtype, about.act_sizes, about.mask_size) == \
            (before.obs_size, before.obs_dtype, before.act_sizes, before.mask_size)
        if not fits:
            self.mind = Dice(old.seed)
            self.begin(old.seed)
            return "rebuilt; sizes changed: a new game, dice play"
        size = library.api.env_struct_size()
        if not same_state or size != old.library.api.env_struct_size():
            self.begin(old.seed)
            return "rebuilt; the state or the settings changed: a new game"
        self.vec.take_over(old)
        self.known = {}                     # under these rules the past is another
        return "rebuilt, the game goes on"
