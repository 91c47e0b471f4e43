"""Where an environment draws its random numbers.  Desk -> Chance"""
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np

from .playing import Desk, Player
from .python_facts import Chance, Given

OPENINGS = 8            # resets that are compared
STEPS = 24


def chances(desk: Desk) -> None:
    """Sends what is known of the generators."""
    player = Player(desk)
    actor = player.actor(7)
    unseeded = _unseeded(desk, player)
    with _constant_seeds() as constant:
        player.reset(desk.seed)
        before, shared = _own(player), _shared()
        for _ in range(STEPS):
            if player.step(actor.choose(player.living, player.masks)).over:
                player.reset()
        player.reset()
    moved = {name for name, state in (_own(player) | _shared()).items()
             if state != (before | shared).get(name, state)}
    player.reset(desk.seed + 1)
    alike_now = {name for name, state in (_own(player) | _shared()).items()
                 if state == (before | shared).get(name)}
    owned = tuple(sorted(moved & alike_now & before.keys()))
    process_wide = tuple(sorted(moved & alike_now & shared.keys()))
    player.reset(desk.seed)
    alike = {_opening(player) for _ in range(OPENINGS) if player.reset() is not None}
    varied = {_opening(player) for index in range(OPENINGS)
              if player.reset(desk.seed + 31 * index) is not None}
    player.close()
    desk.put(Chance(owned, process_wide, constant[0], unseeded, (OPENINGS, len(alike)),
                    len(varied)))


def _unseeded(desk: Desk, player: Player) -> str:
    """Whether reset(seed) seeds np_random, as Gymnasium's checker asks."""
    inner = player.inner
    if player.parallel or not hasattr(inner, "_np_random") or not desk.takes_seed:
        return ""
    player.reset(desk.seed)
    if inner._np_random is None:
        return "none"
    with suppress(AttributeError):
        one = str(inner._np_random.bit_generator.state)
        player.reset(desk.seed + 1)
        return "same" if one == str(inner._np_random.bit_generator.state) else ""
    return ""


def _opening(player: Player) -> bytes:
    return b"".join(player.flat(agent, ob).tobytes() for agent, ob in player.obs.items())


def _own(player: Player) -> dict[str, str]:
    """States of the generators among the environment's attributes."""
    found = {}
    for name, value in vars(player.inner).items() if hasattr(player.inner, "__dict__") else ():
        with suppress(Exception):
            if isinstance(value, np.random.Generator):
                found[name] = str(value.bit_generator.state)
            elif isinstance(value, np.random.RandomState):
                found[name] = str(value.get_state())
            elif isinstance(value, random.Random):
                found[name] = str(hash(value.getstate()))
    return found


def _shared() -> dict[str, str]:
    state = np.random.get_state(legacy=False)["state"]
    return {"numpy.random": f"{state['pos']} {state['key'].tobytes().hex()}",
            "random": str(hash(random.getstate()))}


@contextmanager
def _constant_seeds() -> Iterator[list[int]]:
    """Counts generators that are made with a number as their seed, the same one each time."""
    count: list[int] = [0]
    seeds: set[int] = set()
    original = np.random.default_rng

    def made(seed: Given = None, *args: object, **keywords: object) -> np.random.Generator:
        if isinstance(seed, (int, np.integer)):
            count[0] += int(seed) in seeds
            seeds.add(int(seed))
        return original(seed, *args, **keywords)
    np.random.default_rng = made
    try:
        yield count
    finally:
        np.random.default_rng = original
