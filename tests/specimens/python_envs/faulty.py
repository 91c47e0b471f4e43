"""A small correct environment, and copies of it with one fault each. `expect` names the codes.

    expect      codes of check's findings, in any order; () for what must stay silent
    budget      of the check, where a short one cannot tell
"""
import ctypes
import os
import random
import time

import gymnasium
import numpy as np
from gymnasium import spaces


class Walk(gymnasium.Env):
    """A walk to a goal on a line of 11 fields, within 50 steps."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    expect, budget = (), 0.06

    def __init__(self, render_mode=None):
        self.observation_space = spaces.Box(-1, 1, (3,), np.float32)
        self.action_space = spaces.Discrete(3)
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.goal = (int(number) for number in self.np_random.integers(0, 11, 2))
        self.speed = self.t = 0
        return self.look(), {}

    def step(self, action):
        self.move(action)
        self.t += 1
        return self.look(), self.pay(), self.is_won(), self.t >= 50, {}

    def look(self):
        return np.array([self.x / 5 - 1, self.goal / 5 - 1, self.speed], np.float32)

    def move(self, action):
        self.speed = int(action) - 1
        self.x = min(10, max(0, self.x + self.speed))

    def is_won(self):
        return self.x == self.goal and self.t > 1

    def pay(self):
        return 1.0 if self.is_won() else -0.01

    def render(self):
        frame = np.zeros((8, 11, 3), np.uint8)
        frame[4, self.x] = 255
        return frame


# ---- the interface

class FourValues(Walk):
    expect = ("PUF101",)

    def step(self, action):
        return super().step(action)[:4]


class ResetWithoutInfo(Walk):
    expect = ("PUF101",)

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0]


class NoOptions(Walk):
    expect = ("PUF101",)

    def reset(self, *, seed=None):
        return super().reset(seed=seed)


class NoInfo(Walk):
    expect = ("PUF101",)

    def step(self, action):
        return *super().step(action)[:4], None


class NoSpace(Walk):
    expect = ("PUF102",)

    def __init__(self, render_mode=None):
        self.observation_space = spaces.Box(-1, 1, (3,), np.float32)


class NoFps(Walk):
    expect = ("PUF102",)
    metadata = {"render_modes": ["rgb_array"]}


class Foreign:
    """No gymnasium.Env."""

    expect, budget = ("PUF102",), 0.06
    metadata = {"render_modes": []}

    def __init__(self):
        self.inner = Walk()
        self.observation_space, self.action_space = (self.inner.observation_space,
                                                     self.inner.action_space)

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, action):
        return self.inner.step(action)

    def close(self):
        pass


class Doubles(Walk):
    expect = ("PUF103",)

    def look(self):
        return super().look().astype(np.float64)


class Lists(Walk):
    expect = ("PUF103",)

    def look(self):
        return super().look().tolist()


class EmptyBounds(Walk):
    expect = ("PUF112",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space.low[0], self.observation_space.high[0] = 1, -1


class Texts(Walk):
    expect = ("PUF112",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Dict({"says": spaces.Text(5)})


class GreyPicture(Walk):
    expect = ("PUF101",)

    def render(self):
        return super().render()[:, :, 0]


# ---- observations

class LargerBox(Walk):
    expect = ("PUF306",)

    def look(self):
        return np.concatenate([super().look(), np.zeros(1, np.float32)])


class OutOfBounds(Walk):
    expect = ("PUF306",)

    def look(self):
        return super().look() * np.float32(1.5)


class MissingKey(Walk):
    expect = ("PUF306",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Dict({"x": spaces.Discrete(11), "goal": spaces.Discrete(11),
                                              "speed": spaces.Discrete(3, start=-1)})

    def look(self):
        return {"x": self.x, "goal": self.goal}


class NotFinite(Walk):
    expect = ("PUF303",)

    def look(self):
        ob = super().look()
        with np.errstate(all="ignore"):
            ob[2] = np.float32(self.speed) / np.float32(abs(self.speed))
        return ob


class Pixels(Walk):
    expect = ("PUF304",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Box(0, 1000, (3,), np.float32)

    def look(self):
        return np.array([self.x * 64, self.goal * 64, self.speed + 1], np.float32)


class Forgotten(Walk):
    expect = ("PUF305",)

    def look(self):
        ob = super().look()
        ob[2] = 0
        return ob


class Blind(Walk):
    expect = ("PUF305",)

    def look(self):
        return np.zeros(3, np.float32)


class Wraps(Walk):
    """The distance to the goal as a byte."""

    expect = ("PUF307",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Box(0, 255, (2,), np.uint8)

    def look(self):
        return np.array([self.x, (self.x - self.goal) % 256], np.uint8)


class NeverWritten(Walk):
    expect = ("PUF301",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float32)

    def look(self):
        ob = np.empty(4, np.float32)
        ob[:3] = super().look()
        return ob


class SameArray(Walk):
    expect = ("PUF302",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.row = np.zeros(3, np.float32)

    def look(self):
        self.row[:] = super().look()
        return self.row


class SameInfo(Walk):
    expect = ("PUF302",)
    told = {}

    def step(self, action):
        return *super().step(action)[:4], self.told


class OnlyReset(Walk):
    expect = ("PUF302",)

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        self.first = np.append(super().look()[:2], np.float32(self.np_random.random()))
        return self.first.copy(), found[1]

    def look(self):
        return self.first.copy() if self.t else super().look()


class OneBehind(Walk):
    """Observes before it moves."""

    expect = ("PUF302",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Box(-1, 100, (4,), np.float32)

    def look(self):
        return np.append(super().look(), np.float32(self.t))

    def step(self, action):
        before = self.look()
        return before, *super().step(action)[1:]


class OldOpening(Walk):
    """reset() returns what was seen last."""

    expect = ("PUF302", "PUF404")

    def reset(self, *, seed=None, options=None):
        last = super().look() if hasattr(self, "t") else None
        ob, info = super().reset(seed=seed)
        return ob if last is None else last, info


# ---- rewards and endings

class ArrayReward(Walk):
    expect = ("PUF312",)

    def pay(self):
        return np.array([0.5, 0.5])


class NaNReward(Walk):
    expect = ("PUF312",)

    def pay(self):
        return float("nan") if self.x == 7 else super().pay()


class HugeReward(Walk):
    expect = ("PUF313",)

    def pay(self):
        return 1000.0 * super().pay()


class NoReward(Walk):
    expect, budget = ("PUF314",), 1.0

    def pay(self):
        return 0.0


class SumReward(Walk):
    expect = ("PUF311",)

    def reset(self, *, seed=None, options=None):
        self.total = 0.0
        return super().reset(seed=seed)

    def pay(self):
        self.total += 0.5 if self.x > 3 else 0.0
        return self.total


class NumberEnding(Walk):
    expect = ("PUF322",)

    def is_won(self):
        return 2 if super().is_won() else 0


class Both(Walk):
    expect = ("PUF322",)

    def step(self, action):
        ob, reward, won, late, info = super().step(action)
        return ob, reward, won or late, won or late, info


class LimitIsTheEnd(Walk):
    expect = ("PUF322",)

    def step(self, action):
        ob, reward, won, late, info = super().step(action)
        return ob, reward, late, False, info


class Endless(Walk):
    expect, budget = ("PUF402",), 0.4

    def step(self, action):
        return *super().step(action)[:2], False, False, {}


class StaysDone(Walk):
    expect = ("PUF321", "PUF404")
    done = False

    def step(self, action):
        ob, reward, won, late, info = super().step(action)
        self.done = self.done or won or late
        return ob, reward, self.done, False, info


class SelfReset(Walk):
    expect = ("PUF406",)

    def step(self, action):
        found = super().step(action)
        if found[2] or found[3]:
            return self.reset()[0], *found[1:]
        return found


class HiddenReset(Walk):
    expect = ("PUF406",)

    def step(self, action):
        ob, reward, won, late, info = super().step(action)
        if won:
            ob, _ = self.reset()
        return ob, reward, False, late, info


# ---- the same game again

class Entropy(Walk):
    expect = ("PUF501",)

    def move(self, action):
        super().move(np.random.default_rng().integers(3))


class EntropyInInfos(Walk):
    """Whatever the key is called."""

    expect = ("PUF501",)

    def step(self, action):
        *turn, _ = super().step(action)
        return *turn, {"time": float(np.random.default_rng().random())}


class GlobalNumPy(Walk):
    expect = ("PUF501",)

    def move(self, action):
        super().move(np.random.randint(3) if np.random.random() < 0.5 else action)


class GlobalRandom(Walk):
    expect = ("PUF501",)

    def move(self, action):
        super().move(random.randrange(3) if random.random() < 0.5 else action)


class DrawsAndMoves(Walk):
    """render() moves."""

    expect = ("PUF501",)

    def render(self):
        self.x = (self.x + 1) % 11
        return super().render()


class ConstantSeed(Walk):
    expect = ("PUF305", "PUF502")

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=7)


class ConstantGenerator(Walk):
    expect = ("PUF305", "PUF502")

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        rng = np.random.default_rng(7)
        self.x, self.goal = (int(number) for number in rng.integers(0, 11, 2))
        return self.look(), {}


class SeedDefault(Walk):
    expect = ("PUF502",)

    def reset(self, *, seed=0, options=None):
        return super().reset(seed=seed)


class LostSeed(Walk):
    """A game without chance that leaves np_random alone."""

    expect = ("PUF502",)

    def reset(self, *, seed=None, options=None):
        self.x, self.goal, self.speed, self.t = 5, 9, 0, 0
        return self.look(), {}

    def look(self):
        ob = super().look()
        ob[1] = self.t / 50
        return ob


class KeepsSpeed(Walk):
    expect = ("PUF404",)
    carry = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.speed = self.carry
        return self.look(), {}

    def move(self, action):
        super().move(action)
        self.carry = self.speed


class ClassState(Walk):
    """All instances stand on one field."""

    expect = ("PUF503",)
    field = [0]

    def reset(self, *, seed=None, options=None):
        found = super().reset(seed=seed)
        self.field[0] = self.x
        return found

    def move(self, action):
        self.x = self.field[0]
        super().move(action)
        self.field[0] = self.x


# ---- actions

class DeadAction(Walk):
    expect, budget = ("PUF411",), 0.2

    def move(self, action):
        super().move(min(int(action), 1))


class DeadHead(Walk):
    expect = ("PUF411",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.action_space = spaces.MultiDiscrete([3, 2])

    def move(self, action):
        super().move(action[0])


class DeadDimension(Walk):
    expect = ("PUF411",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)

    def move(self, action):
        super().move(round(float(action[0])) + 1)


class WritesAction(Walk):
    expect = ("PUF205",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.action_space = spaces.Box(-2, 2, (1,), np.float32)

    def move(self, action):
        action *= 0.5
        super().move(round(float(action[0])) + 1)


class KeepsAction(WritesAction):
    """Moves by the last action and this one."""

    expect = ("PUF204",)
    last = None

    def reset(self, *, seed=None, options=None):
        self.last = None
        return super().reset(seed=seed)

    def move(self, action):
        more = 0.0 if self.last is None else float(self.last[0])
        self.last = action
        Walk.move(self, max(-1, min(1, round(float(action[0]) / 2 + more))) + 1)


class ForbidsAll(Walk):
    expect = ("PUF412",)

    def step(self, action):
        found = super().step(action)
        return *found[:4], {"action_mask": np.array([self.x > 0, 0, self.x > 0], np.int8)}

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)[0], {"action_mask": np.ones(3, np.int8)}


class WrongMask(ForbidsAll):
    expect = ("PUF112",)

    def step(self, action):
        return *super().step(action)[:4], {"action_mask": np.ones(4, np.int8)}


# ---- what ends a process

class Raises(Walk):
    expect = ("PUF208",)

    def move(self, action):
        assert self.t < 20, "too far"
        super().move(action)


class Exits(Walk):
    expect = ("PUF208",)

    def move(self, action):
        if self.t == 20:
            os._exit(3)


class Crashes(Walk):
    expect = ("PUF201",)

    def move(self, action):
        if self.t == 20:
            ctypes.string_at(0)


class Hangs(Walk):
    expect = ("PUF405",)

    def move(self, action):
        if self.t == 20:
            time.sleep(60)


class Prints(Walk):
    expect = ("PUF111",)

    def move(self, action):
        print("moved by", action)
        super().move(action)


# ---- correct ones that look odd

class Bandit(gymnasium.Env):
    """Episodes of one step, and nothing to see."""

    expect, budget = (), 0.06
    observation_space, action_space = spaces.Discrete(1), spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return 0, {}

    def step(self, action):
        return 0, float(self.np_random.normal(action)), True, False, {}


class Stacked(Walk):
    """Four frames of pixels, one-hot rows, and a goal that stays."""

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Dict({
            "frames": spaces.Box(0, 255, (4, 3, 11), np.uint8), "bias": spaces.Box(0, 1, (4,)),
            "goal": spaces.Discrete(11)})

    def reset(self, *, seed=None, options=None):
        self.frames = []
        return super().reset(seed=seed)

    def look(self):
        frame = np.zeros((3, 11), np.uint8)
        frame[1, self.x] = 200
        self.frames = ([frame] * 3 + self.frames + [frame])[-4:]
        kind = np.zeros(4, np.float32)
        kind[self.speed + 1] = 1
        return {"frames": np.stack(self.frames), "bias": kind, "goal": self.goal}


class Sparse(Walk):
    """Few rewards, and a fixed number of rounds that the observation counts."""

    def look(self):
        ob = super().look()
        ob[2] = self.t / 50
        return ob

    def step(self, action):
        ob, _, won, late, info = super().step(action)
        return ob, 1.0 if won and self.np_random.random() < 0.1 else 0.0, late, False, info


# ---- agents

class Pair:
    """PettingZoo's parallel interface: two that walk; one leaves early."""

    expect, budget = (), 0.06
    metadata = {"name": "pair", "render_modes": []}
    possible_agents = ["a", "b"]

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def observation_space(self, agent):
        return spaces.Box(-1, 1, (2,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(3)

    def look(self, agent):
        return np.array([self.x[agent] / 5 - 1, self.t / 20], np.float32)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.t = ["a", "b"], 0
        self.x = {agent: int(self.rng.integers(11)) for agent in self.agents}
        return {agent: self.look(agent) for agent in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        self.t += 1
        for agent, action in actions.items():
            self.x[agent] = min(10, max(0, self.x[agent] + int(action) - 1))
        acted = list(self.agents)
        over = {agent: agent == "a" and self.t >= 12 for agent in acted}
        cut = {agent: self.t >= 20 for agent in acted}
        self.agents = [agent for agent in acted if not (over[agent] or cut[agent])]
        rewards = {agent: self.x[agent] / 10 for agent in acted}
        return {agent: self.look(agent) for agent in acted}, rewards, over, cut, \
            {agent: {} for agent in acted}

    def close(self):
        pass


class Vanishes(Pair):
    expect = ("PUF321",)

    def step(self, actions):
        obs, rewards, over, cut, infos = super().step(actions)
        return obs, rewards, dict.fromkeys(over, False), cut, infos


class Returns(Pair):
    """One that has ended comes back."""

    expect = ("PUF401",)

    def step(self, actions):
        found = super().step(actions)
        if self.t == 15:
            self.agents = ["a", *self.agents]
            found[0]["a"] = self.look("a")
        return found


class Unpaid(Pair):
    expect = ("PUF311",)

    def step(self, actions):
        obs, rewards, *rest = super().step(actions)
        rewards.pop("b", None)
        return obs, rewards, *rest


class DeafAgent(Pair):
    """Only a's action counts."""

    expect = ("PUF411",)

    def step(self, actions):
        return super().step({agent: action if agent == "a" else 1
                             for agent, action in actions.items()})


class Nobody(Pair):
    expect = ("PUF407",)

    def reset(self, seed=None, options=None):
        super().reset(seed)
        self.agents = []
        return {}, {}


class Strangers(Pair):
    expect = ("PUF112",)

    def observation_space(self, agent):
        return spaces.Box(-1, 1, (2 if agent == "a" else 3,), np.float32)


# ---- beyond the game

class Remembers(Walk):
    """Keeps the return of each episode, for ever."""

    expect, budget = ("PUF206",), 0.12

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.history = []

    def reset(self, *, seed=None, options=None):
        self.history.append((seed, self.np_random))
        return super().reset(seed=seed)


class Sleeps(Walk):
    expect = ("PUF111",)

    def move(self, action):
        time.sleep(1e-6)
        super().move(action)


class Writes(Walk):
    expect = ("PUF111",)

    def move(self, action):
        with open(os.devnull, "w") as file:
            file.write(f"{action}\n")
        super().move(action)


class TwoSeeds(Walk):
    expect = ("PUF502",)

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None if seed is None else seed % 2)


class OnePicture(Walk):
    expect = ("PUF101",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.frame = np.zeros((8, 11, 3), np.uint8)

    def render(self):
        self.frame[:] = super().render()
        return self.frame


class LostFrame(Stacked):
    expect, budget = ("PUF305",), 0.12

    def look(self):
        ob = super().look()
        ob["frames"][1] = 0
        return ob


# ---- what is no fault, or one

class Windows(Walk):
    """Observations are windows of a table that all instances share and nobody writes."""

    table = np.sin(np.arange(64, dtype=np.float32) * 0.7)

    def look(self):
        return self.table[self.x:self.x + 3]


class Rounded(Walk):
    """One rounding beyond the bounds, below zero and above one."""

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Box(0, 1, (3,), np.float64)

    def look(self):
        ob = super().look().astype(np.float64) / 2 + 0.5
        return np.where(ob >= 1, np.nextafter(1.0, 2.0), np.where(ob <= 0, -1e-17, ob))


class Constants(Walk):
    """Fourteen parts that never change are one finding, as are their dtypes."""

    expect, budget = ("PUF305", "PUF103"), 0.12

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Dict({"walk": self.observation_space, **{
            f"part {number}": spaces.Box(0, 1, (2,), np.float32) for number in range(14)}})

    def look(self):
        return {"walk": super().look(),
                **{f"part {number}": np.full(2, 0.5) for number in range(14)}}


class Fractions(Walk):
    """Floats in a space of bytes."""

    expect = ("PUF103",)

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        self.observation_space = spaces.Box(0, 255, (3,), np.uint8)

    def look(self):
        return super().look().astype(np.float64) / 4 + 0.5


class Emulator(Walk):
    """One instance a process; all else of it is played with that one."""

    expect, living = ("PUF503",), []

    def __init__(self, render_mode=None):
        super().__init__(render_mode)
        if self.living:
            raise RuntimeError("one emulator a process")
        self.living.append(self)

    def close(self):
        self.living.clear()


class OneForAll(Walk):
    expect, made = ("PUF503",), []

    def __new__(cls, render_mode=None):
        cls.made = cls.made or [super().__new__(cls)]
        return cls.made[0]
