"""One env, its player and its past.  a library, a policy, a seed -> ticks, forward and back

An env's state cannot be saved, but the same seed and actions lead to the same state. So going
back starts again from the seed and repeats the actions.
"""
from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ..env.agent_slots import ended, fill_empty, forget_empty, living, random_actions
from ..env.copies import make_copies
from ..env.library import Library
from ..env.vec import VecEnv
from ..settings.values import Config
from ..training import backends, checkpoint

CURVE = 150             # ticks of the value's curve
STATE_TICKS = 2000      # how many ticks back the player's recurrent state is stored ...
STATE_BYTES = 64 << 20  # ... as long as it takes no more than this


class PolicyPlayer:
    """A checkpoint's policy: proposes actions and estimates values."""

    def __init__(self, vec: VecEnv, past: checkpoint.Checkpoint, seed: int, greedy: bool):
        with past.named():
            self.actor = backends.make_actor(vec, past.config, past.tensors, seed, greedy=greedy)
        weights = past.facts.get("weights")         # PufferLib's file, which knows no step
        self.name = f"the policy of {weights}" if weights else f"the policy of step {past.step:,}"

    def begin(self) -> None:
        self.actor.reset()
        self.actor.tick = 0

    def save_state(self) -> np.ndarray | None:
        """The recurrent state; None if it cannot be copied, only reached by playing."""
        state = self.actor.state
        return state.copy() if isinstance(state, np.ndarray) else None

    def restore_state(self, tick: int, state: np.ndarray) -> None:
        """Return to the state before the proposal of that tick."""
        now = self.actor.state
        if isinstance(now, np.ndarray):
            now[:] = state
        self.actor.tick = tick

    def propose(self, vec: VecEnv) -> tuple[np.ndarray, np.ndarray]:
        actions, values = self.actor.act_and_value(fill_empty(vec.observations, vec.alive),
                                                   fill_empty(vec.action_mask, vec.alive, 1))
        forget_empty(self.actor, vec.alive)
        return fill_empty(actions, vec.alive), fill_empty(values, vec.alive)

    def ended(self, over: np.ndarray) -> None:
        self.actor.ended(over)


class DicePlayer:
    """Random play. A tick's actions depend only on the seed and the tick."""

    name = "dice"

    def __init__(self, seed: int):
        self.seed, self.tick = seed, 0

    def begin(self) -> None:
        self.tick = 0

    def save_state(self) -> np.ndarray:
        return np.empty(0)

    def restore_state(self, tick: int, state: np.ndarray) -> None:
        self.tick = tick

    def propose(self, vec: VecEnv) -> tuple[np.ndarray, None]:
        rng = np.random.default_rng((self.seed, self.tick))
        self.tick += 1
        return random_actions(vec, rng), None

    def ended(self, over: np.ndarray) -> None:
        pass


class Game:
    """One env, its player and its past.

    tick, episode           of agent 0, from 0 and 1
    history                 the actions (N, K) of every tick since the seed; longer than `tick`
                            after going back
    values (N,) or None     the policy's value estimates at this tick
    """

    def __init__(self, library: Library, config: Config, past: checkpoint.Checkpoint | None,
                 seed: int, greedy: bool, watches: Any):
        self.library, self.config, self.past = library, config, past
        self.greedy, self.watches = greedy, watches
        self.vec = self._make(seed)
        self.player = self.make_player(past)
        self.begin(seed)

    def _make(self, seed: int) -> VecEnv:
        return make_copies(self.library, 1, self.watches, seed=seed,
                           env_settings=self.config.env)

    def make_player(self, past: checkpoint.Checkpoint | None) -> PolicyPlayer | DicePlayer:
        if past is None:
            return DicePlayer(self.vec.seed)
        about = self.vec.description
        checkpoint.check_fits(past, {"name": past.facts["env"]["name"], "obs_size": about.obs_size,
                                     "obs_dtype": about.obs_dtype.name,
                                     "act_sizes": list(about.act_sizes)}, self.config.env)
        return PolicyPlayer(self.vec, past, self.vec.seed, self.greedy)

    def begin(self, seed: int) -> None:
        """Start a new game at tick 0, with an empty history."""
        self.history: list[np.ndarray] = []
        self.states: dict[int, np.ndarray] = {}     # tick -> the player's state then
        self._start(seed)
        self._propose()

    def _start(self, seed: int) -> None:
        self.vec.close()
        self.vec = self._make(seed)
        self.vec.reset()
        agents = self.vec.num_agents
        self.tick, self.episode, self.last = 0, 1, 0.0
        self.returns, self.rewards = np.zeros(agents), np.zeros(agents)
        self.lived, self.over = living(self.vec), np.zeros(agents, bool)
        self.curve: deque[np.ndarray] = deque(maxlen=CURVE)
        self.player.begin()

    def _propose(self) -> None:
        state = self.player.save_state()
        if state is not None:
            self.states[self.tick] = state
            while len(self.states) * max(1, state.nbytes) > STATE_BYTES or \
                    len(self.states) > STATE_TICKS:
                del self.states[next(iter(self.states))]
        self.planned: np.ndarray
        self.values: np.ndarray | None
        self.planned, self.values = self.player.propose(self.vec)
        if self.values is not None:
            self.curve.append(self.values)

    def advance(self, hand: Callable[[VecEnv], bool | None] | None = None) -> bool:
        """One tick. hand: hand(vec) may change the proposed actions; if it returns False, there is
        no tick, and advance returns False."""
        self.vec.actions[:] = self.planned
        if hand is not None and hand(self.vec) is False:
            return False
        del self.history[self.tick:]
        self.history.append(self.vec.actions.copy())
        self._step()
        return True

    def redo(self) -> None:
        """One tick with the actions that it had before going back; a new tick after the last."""
        if self.tick == len(self.history):
            self.advance()
        else:
            self.vec.actions[:] = self.history[self.tick]
            self._step()

    def _step(self, propose: bool = True) -> None:
        vec = self.vec
        self.returns[self.over] = 0.0
        vec.step()
        self.tick += 1
        self.rewards = np.where(self.lived, vec.rewards, 0)
        self.returns += self.rewards
        self.over, self.lived = ended(vec, self.lived), living(vec)
        if self.over[0]:
            self.episode += 1
            self.last = float(self.returns[0])
        if propose:
            self.player.ended(ended(vec))
            self._propose()

    def back(self, ticks: int) -> None:
        """Go back this many ticks: start from the seed and repeat the actions."""
        target = max(0, self.tick - ticks)
        state, curve = self.states.get(target), list(self.curve)[:target - self.tick - 1]
        self._start(self.vec.seed)
        if state is None:                   # the player must play these ticks again
            self._propose()
        while self.tick < target:
            self.vec.actions[:] = self.history[self.tick]
            self._step(propose=state is None)
        if state is not None:
            self.states = {tick: kept for tick, kept in self.states.items() if tick < target}
            self.curve.extend(curve)
            self.player.restore_state(target, state)
            self._propose()

    def adopt(self, library: Library, config: Config, same_state: bool) -> str:
        """Continue with a rebuilt library. Returns a sentence about what became of the game.

        same_state    the struct and the settings are unchanged: the env keeps its state
        """
        old, before = self.vec, self.vec.description
        self.library, self.config = library, config
        self.vec = self._make(old.seed)
        about = self.vec.description
        fits = (about.obs_size, about.obs_dtype, about.act_sizes, about.mask_size) == \
            (before.obs_size, before.obs_dtype, before.act_sizes, before.mask_size)
        if not fits:
            self.player = DicePlayer(old.seed)
            self.begin(old.seed)
            return "rebuilt; sizes changed: a new game, dice play"
        size = library.api.env_struct_size()
        if not same_state or size != old.library.api.env_struct_size():
            self.begin(old.seed)
            return "rebuilt; the state or the settings changed: a new game"
        self.vec.take_over(old)
        self.states = {}                    # the new rules lead to other states
        return "rebuilt, the game goes on"
