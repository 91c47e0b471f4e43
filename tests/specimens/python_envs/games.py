"""Small environments in Python, as users write them: for tests of the bridges."""
import contextlib
import os
import time

import gymnasium
import numpy as np
from gymnasium import spaces

from puffer_sdk.env.seeds import mix_seed


class Count(gymnasium.Env):
    """Counts up from its seed's digit. Says all that it is told, so that tests can look.

    length      steps of an episode; every third one is truncated in place of terminated
    fault       what happens at step `at` of each episode: raise, die, kill, exit, hang, nan, shape
    once        a file: the fault happens where it does not exist yet, and makes it
    victim      the seed of the only copy that it happens to; None: to all
    slow, burn  seconds that a step sleeps, and that it computes
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, length=5, fault="", at=3, render_mode=None, slow=0.0, burn=0.0,
                 once="", victim=None):
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Discrete(3)
        self.length, self.fault, self.at, self.render_mode = length, fault, at, render_mode
        self.slow, self.burn, self.once, self.episode = slow, burn, once, 0
        self.victim = victim

    def look(self):
        return np.array([self.np_random_seed % 1000, self.episode, self.t], np.float32)

    def is_due(self):
        if not self.fault or self.t != self.at or \
                self.victim not in (None, self.np_random_seed):
            return False
        with contextlib.suppress(FileExistsError):
            if self.once:
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
            return True
        return False

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.episode, self.t = self.episode + 1, 0
        if self.is_due():
            self.end_process()
        return self.look(), {}

    def end_process(self):
        if self.fault == "die":
            os.kill(os.getpid(), 11)
        if self.fault == "kill":
            os.kill(os.getpid(), 9)
        if self.fault == "exit":
            os._exit(3)

    def step(self, action):
        self.t += 1
        if self.slow:
            time.sleep(self.slow)
        if self.burn:
            end = time.thread_time() + self.burn
            while time.thread_time() < end:
                pass
        if self.is_due():
            if self.fault == "raise":
                raise ValueError("no such lever")
            self.end_process()
            if self.fault == "hang":
                time.sleep(60)
            if self.fault == "nan":
                return self.look(), float("nan"), False, False, {}
            if self.fault == "shape":
                return np.zeros(4, np.float32), 0.0, False, False, {}
        over = self.t >= self.length
        cut = over and self.episode % 3 == 0
        info = {"levers": float(action), "text": "no number"} if over else {}
        return self.look(), float(action), over and not cut, cut, info

    def render(self):
        frame = np.zeros((24, 32, 3), np.uint8)
        frame[:, :self.t + 1] = (0, 200, 0)
        return frame


class Rich(gymnasium.Env):
    """Every space that can be a row, nested; it repeats what it samples."""

    def __init__(self):
        self.observation_space = spaces.Dict({
            "where": spaces.Box(-2.0, 2.0, (2, 2), np.float64),
            "tool": spaces.Discrete(4, start=-1),
            "bag": spaces.Tuple((spaces.MultiDiscrete([2, 3]), spaces.MultiBinary(3))),
            "deep": spaces.Dict({"pixels": spaces.Box(0, 255, (2, 3), np.uint8)})})
        self.action_space = spaces.Dict({
            "go": spaces.Discrete(3, start=1), "press": spaces.MultiBinary(2),
            "pick": spaces.Tuple((spaces.MultiDiscrete([2, 4]), spaces.Discrete(2)))})

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.t, self.last = 0, self.observation_space.sample()
        return self.last, {}

    def step(self, action):
        assert self.action_space.contains(action), action
        self.t, self.last = self.t + 1, self.observation_space.sample()
        return self.last, 1.0, self.t == 4, False, {}


class Guess(gymnasium.Env):
    """One of eight numbers is right, and the observation says which. The lower half is legal, or
    the upper one."""

    def __init__(self, in_observation=False):
        simple = spaces.Box(0, 1, (8,), np.float32)
        self.inside = in_observation
        self.observation_space = spaces.Dict({
            "observation": simple, "action_mask": spaces.MultiBinary(8)}) if in_observation \
            else simple
        self.action_space = spaces.Discrete(8)

    def say(self):
        self.right = int(self.np_random.integers(8))
        row = np.zeros(8, np.float32)
        row[self.right] = 1
        self.mask = np.zeros(8, np.int8)
        self.mask[4 * (self.right // 4):4 * (self.right // 4) + 4] = 1
        if self.inside:
            return {"observation": row, "action_mask": self.mask}, {}
        return row, {"action_mask": self.mask}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.say()

    def step(self, action):
        assert self.mask[action], "a mask forbids this"
        hit, self.t = float(action == self.right), self.t + 1
        ob, info = self.say()
        return ob, hit, False, self.t == 8, info


class Brittle(Count):
    """Its constructor fails where a file exists: raise, kill or hang as Count's steps."""

    def __init__(self, file="", how="", **keywords):
        super().__init__(**keywords)
        if file and os.path.exists(file):
            self.fault, self.t, self.at, self.once = how, 0, 1, ""
            self.step(0)


class Worse(Count):
    """Raises at step 3, and after that its process dies there."""

    def is_due(self):
        self.fault = "die" if os.path.exists(self.once) else "raise"
        return super().is_due() or self.fault == "die" and self.t == self.at


class Walkers:
    """PettingZoo's parallel interface: three walkers; each leaves after a number of steps of its
    own, and the third one joins late. Others, `absent`, never come."""

    metadata = {"name": "walkers", "render_modes": []}

    def __init__(self, joins=2, once="", absent=0):
        self.joins, self.once = joins, once
        self.possible_agents = ["ann", "bob", "cy", *(f"absent{n}" for n in range(absent))]

    def observation_space(self, agent):
        return spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(2)

    def look(self, agent):
        return np.array([self.possible_agents.index(agent), self.t], np.float32)

    def reset(self, seed=None, options=None):
        self.t, self.agents = 0, ["ann", "bob"]
        return {agent: self.look(agent) for agent in self.agents}, {a: {} for a in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents), actions
        self.t += 1
        if self.once and self.t == 4:
            with contextlib.suppress(FileExistsError):      # of two at once, one dies
                os.close(os.open(self.once, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), 9)
        over = {agent: self.t == 3 and agent == "ann" for agent in self.agents}
        cut = {agent: self.t == 5 for agent in self.agents}
        rewards = {agent: float(actions[agent]) for agent in self.agents}
        looks = {agent: self.look(agent) for agent in self.agents}
        infos = {agent: {"left_at": self.t} for agent in self.agents}
        self.agents = [a for a in self.agents if not (over[a] or cut[a])]
        if self.t == self.joins:
            self.agents.append("cy")
            looks["cy"], infos["cy"] = self.look("cy"), {}
        return looks, rewards, over, cut, infos

    def close(self):
        pass


class Guessers:
    """PettingZoo's parallel interface: each agent has a Guess of its own. One leaves early."""

    metadata = {"name": "guessers", "render_modes": []}

    def __init__(self, in_observation=True):
        self.possible_agents = ["ann", "bob"]
        self.games = {agent: Guess(in_observation) for agent in self.possible_agents}

    def observation_space(self, agent):
        return self.games[agent].observation_space

    def action_space(self, agent):
        return self.games[agent].action_space

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        begun = {agent: game.reset(seed=None if seed is None else mix_seed(seed, number))
                 for number, (agent, game) in enumerate(self.games.items())}
        return tuple({agent: pair[part] for agent, pair in begun.items()} for part in (0, 1))

    def step(self, actions):
        assert set(actions) == set(self.agents), actions
        stepped = {agent: self.games[agent].step(action) for agent, action in actions.items()}
        found = [{agent: each[part] for agent, each in stepped.items()} for part in range(5)]
        found[2] = {agent: agent == "bob" and self.games[agent].t == 5 for agent in stepped}
        self.agents = [a for a in self.agents if not (found[2][a] or found[3][a])]
        return tuple(found)

    def close(self):
        pass


class OldGym:
    """Gym's interface of 2021: four values."""

    observation_space, action_space = spaces.Box(0, 1, (1,), np.float32), spaces.Discrete(2)

    def reset(self, seed=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), 0.0, False, {}


def short(length=2):
    return Count(length=length)


def texts():
    env = Count()
    env.observation_space = spaces.Dict({"says": spaces.Text(10)})
    return env


def unpicklable():
    class Odd(Exception):
        def __init__(self, a, b):
            super().__init__(a)

    class Raises(Count):
        def step(self, action):
            raise Odd("odd", 1)
    return Raises()


class Uneven(Count):
    """The first copy of a vec with seed 0 is slow."""

    def step(self, action):
        if self.np_random_seed == mix_seed(0, 0):
            time.sleep(0.3)
        return super().step(action)


class Sorted(Count):
    """Count, whose observation is a Dict with ids."""

    def __init__(self, **keywords):
        super().__init__(**keywords)
        self.observation_space = spaces.Dict({"ids": spaces.MultiDiscrete([3, 2]),
                                              "all": self.observation_space})

    def look(self):
        return {"ids": np.array([self.t % 3, self.t % 2]), "all": super().look()}


class Told(Count):
    """Count, which tells of many things: numbers of several types, and what is none. The first info
    of an episode has other values, and its last one has keys of its own."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed, options=options)[0], {"pace": -100, "begun": 1.0}

    def step(self, action):
        ob, reward, over, cut, info = super().step(action)
        info |= {"pace": self.t, "_hidden": 0.5, "list": [1, 2], "array": np.ones(3),
                 "nested": {"pace": 7}, "mixed": "word" if self.episode % 2 else 3}
        if over or cut:
            info["won"] = np.bool_(self.episode % 4 == 0)
            if self.episode % 2:
                info["rare"] = self.episode
        return ob, reward, over, cut, info


def together(num_envs=1, mode="NextStep", kind="Count", bare=False, **keywords):
    """Copies that one object steps. It takes seeds as an array, as ALE does.

    kind    of the copies: a class of this file
    bare    infos without the arrays that say whose they are, as EnvPool's
    """
    class Together(gymnasium.vector.SyncVectorEnv):
        def reset(self, *, seed=None, options=None):
            if not (seed is None or isinstance(seed, np.ndarray)):
                raise TypeError("Unsupported seed type")
            return self.told(*super().reset(seed=None if seed is None else seed.tolist(),
                                            options=options))

        def step(self, actions):
            return self.told(*super().step(actions))

        def told(self, *found):
            infos = {key: value for key, value in found[-1].items() if key[0] != "_"}
            return (*found[:-1], infos) if bare else found
    makers = [lambda: globals()[kind](**keywords)] * num_envs
    return Together(makers, autoreset_mode=gymnasium.vector.AutoresetMode(mode))


class Stuck(Count):
    """Its reset does not return, but for whoever looks at its spaces: with the seeds 0 and 1."""

    def reset(self, *, seed=None, options=None):
        if seed and seed > 1:
            time.sleep(60)
        return super().reset(seed=seed, options=options)


class Camera(gymnasium.Env):
    """A picture of bytes, a vector, an id: the brightest column of the picture is right, or the
    position is, by the mode."""

    def __init__(self, side=8):
        self.observation_space = spaces.Dict({
            "image": spaces.Box(0, 255, (side, side, 3), np.uint8),
            "where": spaces.Box(-1, 1, (3,), np.float32),
            "mode": spaces.Discrete(2, start=5), "big": spaces.Box(-9e15, 9e15, (), np.int64),
            "flags": spaces.Tuple((spaces.MultiBinary(3), spaces.MultiDiscrete([300, 2])))})
        self.action_space = spaces.Discrete(side)
        self.side, self.seen = side, None

    def look(self):
        self.seen = self.observation_space.sample()
        self.right = self.seen["image"].astype(int).sum((0, 2)).argmax() \
            if self.seen["mode"] == 5 else int((self.seen["where"][0] + 1) / 2 * (self.side - 1))
        return self.seen

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.t = 0
        return self.look(), {}

    def step(self, action):
        hit, self.t = float(action == self.right), self.t + 1
        return self.look(), hit, False, self.t == 8, {}


class Bytes(gymnasium.Env):
    """Noise of bytes up to `high`; there is nothing to earn."""

    observation_space, action_space = spaces.Box(0, 255, (4, 4), np.uint8), spaces.Discrete(2)

    def __init__(self, high=255):
        self.high = high

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.np_random.integers(self.high, size=(4, 4), dtype=np.uint8), {}

    def step(self, action):
        return self.reset()[0], 0.0, False, False, {}


class Loud(Count):
    """Count, whose numbers are four times as large."""

    def look(self):
        return 4 * super().look()


class Glyphs(Guess):
    """Guess, whose observation is a screen of large numbers: where it is right, one stands out."""

    def __init__(self, high=5000, cells=800):
        super().__init__()
        self.high, self.cells = high, cells
        self.observation_space = spaces.Box(0, high, (8, cells // 8), np.int32)

    def say(self):
        _, info = super().say()
        screen = np.full(self.observation_space.shape, self.high // 2, np.int32)
        screen[self.right] = self.high // 4
        return screen, info


class Maze(Count):
    """What it observes has as many numbers as `size` says."""

    def __init__(self, size=3, map="four_rooms", **keywords):
        super().__init__(**keywords)
        self.size, self.map = size, map
        self.observation_space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def look(self):
        return np.full(self.size, self.t, np.float32)
