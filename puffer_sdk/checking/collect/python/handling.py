"""What an environment does with arrays, pictures and its end.  Desk -> Oddities, Compared"""
import copy
import functools
import inspect
import sys
import warnings
from collections.abc import Hashable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....base.errors import UsageError
from ....interop.python_envs import displays
from ....interop.python_envs.oddities import Oddity
from . import traces
from .playing import ByAgent, Desk, EnvRaised, Player, Turn
from .python_facts import RENDER, Compared, Given, Skipped
from .traces import Trace

STEPS = 64
CANNOT_DRAW = "this machine cannot draw it, without a display; MUJOCO_GL=egl may help: "
FRAMES = 32             # steps with a picture after each


class Kept(NamedTuple):
    """What was returned, and its arrays as they were."""

    agent: Hashable
    what: str           # "observation", "info"
    when: str           # "reset", "step"
    step: int
    value: Given
    arrays: list[NDArray[np.generic]]
    copies: list[NDArray[np.generic]]


def keeping(desk: Desk) -> None:
    """Are observations and infos that were returned left alone, and actions as well?"""
    player, other = Player(desk), None if desk.alone else Player(desk)
    actor = player.actor(9)
    kept: list[Kept] = []
    resets = _count_resets(player)
    neighbour = {agent: [(array, array.copy()) for array in _arrays(ob)]
                 for agent, ob in other.reset(desk.seed + 1).items()} if other else {}
    player.reset(desk.seed)
    _keep(kept, player, "reset")
    for _ in range(STEPS):
        actions = actor.choose(player.living, player.masks)
        before = copy.deepcopy(actions)
        count = resets[0]
        turn = player.step(actions)
        if not _equal(before, actions):
            desk.odd(Oddity("action-written", actual="another action than it was given",
                            expected="the action as it was"), step=player.step_number)
        if resets[0] > count:
            desk.odd(Oddity("reset-in-step" if turn.over else "reset-hidden"),
                     step=player.step_number)
        _look_at(desk, player, kept)
        _keep(kept, player, "step")
        if turn.over:
            player.reset()
            _look_at(desk, player, kept)
            _keep(kept, player, "reset")
    for agent, pairs in neighbour.items():
        mine = [id(array) for array in _arrays(player.obs.get(agent))]
        if any(id(array) in mine or _changed(array, before) for array, before in pairs):
            desk.odd(Oddity("obs-shared", expected="an array of its own", actual="the array of "
                            "another instance"), agent=str(agent))
    if not player.parallel and "reset-options" not in {kind for kind, *_ in desk.told}:
        player.reset(options={})
    player.close()
    if other:
        other.close()
        _close_again(desk, player)


def _count_resets(player: Player) -> list[int]:
    """Counts calls of reset() on the innermost environment; [0] where it cannot be hooked."""
    count, inner = [0], player.inner
    try:
        original = inner.reset

        @functools.wraps(original)      # others look at what it takes
        def counting(*args: object, **keywords: object) -> Given:
            count[0] += 1
            return original(*args, **keywords)
        inner.reset = counting
    except AttributeError:
        pass
    return count


def _arrays(value: Given) -> list[NDArray[np.generic]]:
    if isinstance(value, np.ndarray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [array for part in value for array in _arrays(part)]
    return []


def _keep(kept: list[Kept], player: Player, when: str) -> None:
    for agent, ob in player.obs.items():
        for what, value in (("observation", ob), ("info", player.infos.get(agent))):
            arrays = _arrays(value)
            kept.append(Kept(agent, what, when, player.step_number, value, arrays,
                             [array.copy() for array in arrays]))
    del kept[:-16]


def _look_at(desk: Desk, player: Player, kept: list[Kept]) -> None:
    """What was returned before, against what it was then, and against what came now."""
    for agent, what, when, step, value, arrays, copies in kept:
        kind = "obs" if what == "observation" else "info"
        if any(map(_changed, arrays, copies)):
            desk.odd(Oddity(f"{kind}-rewritten", what=when, expected="the array as it was",
                            actual=f"changed after step {step}"), agent=str(agent),
                     step=player.step_number)
            continue
        now = player.obs.get(agent) if kind == "obs" else player.infos.get(agent)
        if player.parallel:             # PettingZoo asks only that nothing is changed
            continue
        # objects, and not their memory: windows of a table that nobody writes are no fault
        if isinstance(value, dict) and value is now or any(
                a is b for a, b in zip(arrays, _arrays(now))):
            desk.odd(Oddity(f"{kind}-reused", expected="a new one", actual="the same object again"),
                     agent=str(agent), step=player.step_number)
        elif any(np.shares_memory(a, b) for a, b in zip(arrays, _arrays(now))):
            desk.odd(Oddity("windows"))     # Gymnasium's checker refuses them


def _changed(array: NDArray[np.generic], before: NDArray[np.generic]) -> bool:
    return not np.array_equal(array, before, equal_nan=array.dtype.kind == "f")


def _equal(one: Given, other: Given) -> bool:
    if isinstance(one, dict):
        return isinstance(other, dict) and one.keys() == other.keys() and all(
            _equal(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(_equal, one, other))
    return np.array_equal(one, other)


def _close_again(desk: Desk, player: Player) -> None:
    try:
        player.call(5, player.env.close)
    except EnvRaised as error:
        if isinstance(error.error, Exception) and hasattr(player.env, "close"):
            desk.odd(Oddity("close-twice", expected="nothing", actual=type(error.error).__name__))


def overwriting(desk: Desk, first: Trace) -> None:
    """Arrays of actions are overwritten after each step, as a trainer does with its own."""
    def scribble(player: Player, actions: ByAgent, turn: Turn) -> None:
        for value in actions.values():
            for array in _arrays(value):
                if array.flags.writeable and array.dtype.kind in "iuf":
                    array[...] = 0
    lengths = [min(len(first.plays[0]) - 1, STEPS)]
    traces.reseed()
    player = traces.make(desk)
    found = traces.record(desk, player, lengths=lengths, after=scribble)
    player.close()
    desk.put(Compared("overwritten", traces.difference(first, found), found.steps))


def drawing(desk: Desk, first: Trace) -> None:
    """render(), where the metadata promise pictures; and what these say of themselves."""
    modes = _check_metadata(desk)
    if "rgb_array" not in modes:
        desk.put(Skipped("drawing", "it draws no pictures"))
        return
    try:
        traces.reseed()
        player = traces.make(desk, render_mode="rgb_array")
    except EnvRaised as error:
        if isinstance(error.error, UsageError) or type(error.error).__name__ in (
                "DependencyNotInstalled", "ModuleNotFoundError", "ImportError"):
            if isinstance(error.error, UsageError) and error.error.expected:
                desk.odd(Oddity("no-render-mode", expected="a keyword render_mode",
                                actual="none"), when="made")
            desk.put(Skipped("drawing", str(error.error).partition("\n")[0]))
            return
        if desk.alone:
            desk.put(Skipped("drawing", "it cannot be created twice in a process"))
            return
        raise

    frames: list[tuple[NDArray[np.generic], NDArray[np.generic]]] = []

    def draw(player: Player, actions: ByAgent, turn: Turn) -> None:
        frame = player.render()
        _check_picture(desk, frame)
        if isinstance(frame, np.ndarray):
            frames.append((frame, frame.copy()))
    lengths = [min(len(first.plays[0]) - 1, FRAMES)]
    undrawn = traces.record(desk, player, lengths=lengths)      # in this mode, and not yet drawn
    player.close()
    try:
        traces.reseed()
        player = traces.make(desk, render_mode="rgb_array")
        found = traces.record(desk, player, lengths=lengths, after=draw)
    except EnvRaised as error:
        if not _machine_cannot(player, error):
            raise
        desk.put(Skipped("drawing", CANNOT_DRAW + str(error.error).partition("\n")[0]))
        return
    player.close()
    if any(not np.array_equal(frame, copy_) for frame, copy_ in frames):
        desk.odd(Oddity("picture-rewritten", expected="an array of its own", actual="one array "
                        "for all pictures"), when="render")
    desk.put(Compared("drawn", traces.difference(undrawn, found), found.steps))


def _machine_cannot(player: Player, error: EnvRaised) -> bool:
    """Whether a picture failed for want of a package or of a display, and not by the env's code:
    there is no display, and another package than its own raised the exception."""
    if isinstance(error.error, ImportError) \
            or type(error.error).__name__ == "DependencyNotInstalled":
        return True
    if not displays.missing() or error.phase != RENDER:
        return False
    trace = error.error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = trace.tb_frame.f_globals.get("__name__", "") if trace else ""
    own = type(player.inner).__module__.partition(".")[0]
    others = {name.partition(".")[0] for name in (raised_in, type(error.error).__module__)}
    return bool(others - {own, "builtins", "numpy"} - sys.stdlib_module_names)


def _check_metadata(desk: Desk) -> tuple[str, ...]:
    player = Player(desk)
    metadata = getattr(player.env, "metadata", None)
    metadata = metadata if isinstance(metadata, dict) else {}
    modes = metadata.get("render_modes")
    player.close()
    if not isinstance(modes, (list, tuple)) or not all(isinstance(mode, str) for mode in modes):
        if not player.parallel:
            desk.odd(Oddity("metadata", what="render_modes", expected="a list of texts",
                            actual=str(modes)[:60]))
        return ()
    fps = metadata.get("render_fps")
    if modes and not player.parallel and (
            not isinstance(fps, (int, float, np.number)) or not fps > 0):
        desk.odd(Oddity("metadata", what="render_fps", expected="a number above 0",
                        actual=str(fps)[:60]))
    mode = getattr(player.env, "render_mode", None)
    if mode is not None and mode not in modes:
        desk.odd(Oddity("metadata", what="render_mode", expected=f"one of {list(modes)}",
                        actual=str(mode)[:60]))
    return tuple(modes)


def _check_picture(desk: Desk, frame: Given) -> None:
    form = type(frame).__name__ if not isinstance(frame, np.ndarray) else \
        f"{frame.shape} {frame.dtype}"
    if not isinstance(frame, np.ndarray) or frame.ndim != 3 or frame.shape[2] != 3 \
            or frame.dtype != np.uint8:
        desk.odd(Oddity("picture", expected="(H, W, 3) uint8", actual=form), when="render")


def gymnasium_check(desk: Desk) -> None:
    """Gymnasium's own checker, as one more experiment: only whether it refuses."""
    from gymnasium.utils.env_checker import check_env

    player = Player(desk)
    if player.parallel or desk.shape and desk.shape.masked:    # it chooses what a mask forbids
        return
    checked: Given = getattr(player.env, "unwrapped", player.env)
    checked.action_space.seed(desk.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            known = inspect.signature(check_env).parameters     # one more since version 1.1
            player.call(1, check_env, checked, **{name: True for name in (
                "skip_render_check", "skip_close_check") if name in known})
        except EnvRaised as error:
            text = str(error.error).partition("\n")[0]
            # it takes a np.bool_ for an ending
            if not text.startswith("Environment truncates after 1 step"):
                desk.odd(Oddity("gymnasium-refuses", expected="no objection", actual=text[:160]))
    player.close()


