"""Environments that a name cannot say: a function a package, as users write them in a file."""


def minigrid():
    """MiniGrid without its mission, a text. The import registers its environments."""
    import gymnasium
    import minigrid  # noqa: F401
    return gymnasium.wrappers.FilterObservation(
        gymnasium.make("MiniGrid-Empty-8x8-v0"), ["image", "direction"])


def crafter():
    """Crafter speaks the Gym of 2021."""
    import crafter as package
    import shimmy
    return shimmy.GymV21CompatibilityV0(env=package.Env())


def coinrun():
    """Procgen is registered with Gym 0.26."""
    import gym
    import shimmy
    return shimmy.GymV26CompatibilityV0(env=gym.make("procgen:procgen-coinrun-v0"))
