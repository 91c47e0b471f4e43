"""The first look: an environment is made, its spaces read, its steps timed.  Desk -> Shape"""
import inspect
import os
import time
from contextlib import suppress
from dataclasses import replace

from ....base.errors import UsageError
from ....interop.python_envs import space_checks, space_rows
from ....interop.python_envs.oddities import Oddity
from ....interop.python_envs.probe_env import normalizers_of
from .leaves import Leaf, leaves_of
from .playing import Broken, Desk, EnvRaised, Player
from .python_facts import Place, Shape

UNITS = (8192, 2048, 512, 128, 32, 8)  # steps of the long play: few, so that two checks agree
SECONDS = 1.0                           # that the long play may take
TRIED = 48                              # steps that are timed
GYM = ("reset", "step")
FIELDS = ("observation_space", "action_space")


def begin(desk: Desk) -> None:
    """Sends the Shape. Raises Broken where nothing can be played."""
    player = Player(desk, checked=True)
    _need_members(desk, player)
    places = player.places()
    file = places["class"].file if "class" in places else None
    folder = os.path.dirname(file) if file else os.getcwd()
    desk.shape = Shape(tuple(str(agent) for agent in player.agents), (), (), {
        name: Place(_relative(place.file, folder), place.line)
        for name, place in places.items() if place.file}, player.parallel, folder)
    desk.put(desk.shape)
    _check_spaces(desk, player)
    if not player.parallel:
        _check_signatures(desk, player)
    leaves, plan = _plans(desk, player)
    spec = getattr(player.env, "spec", None)
    desk.shape = replace(desk.shape, leaves=tuple(leaf.told() for leaf in leaves),
                         sizes=plan.sizes,
                         nondeterministic=bool(getattr(spec, "nondeterministic", False)))
    try:
        player.reset(desk.seed)
    except EnvRaised as error:
        if not isinstance(error.error, TypeError) or "seed" not in str(error.error):
            raise
        desk.odd(Oddity("reset-seed", expected="reset(*, seed=None, options=None)",
                        actual=str(error.error)[:80]), when="reset")
        desk.takes_seed = False
        player.reset()
    masked = any(player.mask_of(agent) is not None for agent in player.obs) \
        and 1 not in plan.sizes
    desk.shape = replace(desk.shape, masked=masked)
    desk.put(desk.shape)
    player._take(player.infos, "reset")
    _look_beside(desk, player)
    desk.put(replace(desk.shape, alone=desk.alone, normalizers=normalizers_of(player.env)))
    desk.unit = _unit(desk, player)
    player.close()


def _relative(file: str, folder: str) -> str:
    """A file of the environment; a function elsewhere that makes it is shown from here."""
    found = os.path.relpath(file, folder)
    return os.path.relpath(file) if found.startswith("..") else found


def _look_beside(desk: Desk, player: Player) -> None:
    """Whether a second instance can live beside the first. Raises Broken where it is the first."""
    if desk.maker.own_index:            # a port, perhaps, that the first one holds
        desk.alone, desk.only = True, player.env
        return
    try:
        other = Player(desk)
        other.reset(desk.seed + 1)
    except EnvRaised as error:
        if not isinstance(error.error, Exception):
            raise
        desk.alone, desk.only = True, player.env
        desk.odd(Oddity("alone", expected="an environment of its own",
                        actual=f"{type(error.error).__name__}: {error.error}"[:160]), when="made")
        player.reset(desk.seed)
        return
    if other.inner is player.inner:
        desk.odd(Oddity("same-object", what=desk.maker.shown, expected="a new one each time",
                        actual="one object"), when="made")
        raise Broken
    other.close()


def _need_members(desk: Desk, player: Player) -> None:
    env = player.env
    for name in GYM:
        if not callable(getattr(env, name, None)):
            desk.odd(Oddity("no-function", what=f"{name}()"))
    missing = [name for name in FIELDS if getattr(env, name, None) is None]
    for name in missing:
        desk.odd(Oddity("no-field", what=name))
    if missing or not all(callable(getattr(env, name, None)) for name in GYM):
        raise Broken
    if not player.parallel:
        import gymnasium

        if not isinstance(env, gymnasium.Env):
            desk.odd(Oddity("not-gymnasium", expected="gymnasium.Env",
                            actual=f"{type(env).__module__}.{type(env).__name__}"))
    elif not player.agents:
        desk.odd(Oddity("agents-none"))
        raise Broken


def _check_spaces(desk: Desk, player: Player) -> None:
    broken = False
    for agent in player.agents:
        for which, space in (("observation", player.observation_space(agent)),
                             ("action", player.action_space(agent))):
            for oddity in space_checks.spaces_of(space, which):
                desk.odd(oddity, agent=str(agent))
                broken |= oddity.kind != "space-narrow"
    if broken:
        raise Broken


def _check_signatures(desk: Desk, player: Player) -> None:
    """What reset() takes, as Gymnasium's checker asks it."""
    with suppress(TypeError, ValueError):
        takes = inspect.signature(player.inner.reset).parameters
        anything = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in takes.values())
        if "options" not in takes and not anything:
            desk.odd(Oddity("reset-options", expected="reset(*, seed=None, options=None)",
                            actual=f"reset({', '.join(takes)})"))
        if "seed" in takes and takes["seed"].default is not None \
                and takes["seed"].default is not inspect.Parameter.empty:
            desk.odd(Oddity("seed-default", expected="None", actual=repr(takes["seed"].default)))
        if "return_info" in takes:
            desk.odd(Oddity("old-argument", what="reset()", actual="return_info"))
    if callable(getattr(type(player.inner), "seed", None)):
        desk.odd(Oddity("old-argument", what="the class", actual="seed()"))


def _plans(desk: Desk, player: Player) -> tuple[list[Leaf], space_rows.Actions]:
    """(leaves, action plan) of all agents. Raises Broken."""
    first = player.agents[0]
    try:
        for agent in player.agents:
            space_rows.observations_of(player.observation_space(agent))
            space_rows.actions_of(player.action_space(agent))
    except UsageError as error:
        desk.odd(Oddity("space-refused", what=error.message, actual=error.actual,
                        expected=error.expected))
        raise Broken from None
    plan = space_rows.actions_of(player.action_space(first))
    shapes = {agent: (space_rows.describe(space_rows.observations_of(
        player.observation_space(agent)).leaves), space_rows.actions_of(
        player.action_space(agent)).sizes) for agent in player.agents}
    other = next((agent for agent in shapes if shapes[agent] != shapes[first]), None)
    if other is not None:
        desk.odd(Oddity("agents-differ", what=f"{first} and {other}",
                        expected="the same spaces for all: one policy plays them"),
                 agent=str(other))
        raise Broken
    return leaves_of(player.observation_space(first)), plan


def _unit(desk: Desk, player: Player) -> int:
    """Steps of the long play, from the quickest of some steps."""
    actor = player.actor(1)
    costs = []
    for _ in range(TRIED):
        began = time.perf_counter()
        turn = player.step(actor.choose(player.living, player.masks))
        costs.append(time.perf_counter() - began)
        if turn.over:
            player.reset()
        if sum(costs) > SECONDS and len(costs) >= 4:
            break
    cost = sorted(costs)[len(costs) // 2]
    fits = [unit for unit in UNITS if unit * cost <= SECONDS]
    return max(16, int((fits[0] if fits else UNITS[-1]) * desk.budget))
