"""MiniGrid's empty room without its mission, a text."""
import gymnasium


def empty():
    import minigrid  # noqa: F401
    return gymnasium.wrappers.FilterObservation(
        gymnasium.make("MiniGrid-Empty-5x5-v0"), ["image", "direction"])
