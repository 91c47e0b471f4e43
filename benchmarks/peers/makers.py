"""Environments that a name cannot say: a function a package, as users write them in a file."""
import gymnasium


class OldGym(gymnasium.Env):
    """An environment whose step() returns four values and whose reset() takes no seed."""

    def __init__(self, env, observation_space, action_space):
        self.env, self.observation_space, self.action_space = env, observation_space, action_space

    def reset(self, *, seed=None, options=None):
        return self.env.reset(), {}

    def step(self, action):
        ob, reward, over, info = self.env.step(action)
        return ob, reward, over, False, info


def minigrid():
    """MiniGrid without its mission, a text. The import registers its environments."""
    import minigrid  # noqa: F401
    return gymnasium.wrappers.FilterObservation(
        gymnasium.make("MiniGrid-Empty-8x8-v0"), ["image", "direction"])


def crafter(seed=None):
    from crafter import Env
    return OldGym(Env(seed=seed), gymnasium.spaces.Box(0, 255, (64, 64, 3), "uint8"),
                  gymnasium.spaces.Discrete(17))


def coinrun(**keywords):
    from procgen.gym_registration import make_env
    return OldGym(make_env(env_name="coinrun", **keywords),
                  gymnasium.spaces.Box(0, 255, (64, 64, 3), "uint8"), gymnasium.spaces.Discrete(15))
