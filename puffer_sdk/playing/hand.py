"""Play by hand.  keys -> the actions of one agent, or that it waits for a key"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

import numpy as np

from ..env.abi import ffi
from ..env.library import Library
from ..env.vec import VecEnv
from ..pictures.screen import canvas
from ..scoring.baselines import same_actions
from ..settings.texts import parse_action
from ..settings.values import Config

# As raylib numbers them
KEY = {"ESCAPE": 256, "F1": 290, "F2": 291, "F5": 294, "F6": 295, "F12": 301, "LEFT_SHIFT": 340,
       "RIGHT_SHIFT": 344, "LEFT_CONTROL": 341, "RIGHT_CONTROL": 345, "P": 80, "PERIOD": 46,
       "COMMA": 44, "MINUS": 45, "EQUAL": 61, "LEFT_BRACKET": 91, "RIGHT_BRACKET": 93,
       "RIGHT": 262, "LEFT": 263, "DOWN": 264, "UP": 265, "0": 48}
SHIFT, CONTROL = ("LEFT_SHIFT", "RIGHT_SHIFT"), ("LEFT_CONTROL", "RIGHT_CONTROL")
MODIFIERS, F_KEYS = range(340, 348), range(290, 315)
# What c_keys may read: all keys but the player's own
THEIRS = [key for key in (*range(32, 97), *range(257, 349))
          if key not in (*MODIFIERS, *F_KEYS, *(KEY[name] for name in (
              "P", "PERIOD", "COMMA", "MINUS", "EQUAL", "LEFT_BRACKET", "RIGHT_BRACKET")))]


Hand = Callable[[VecEnv, canvas.Screen], None]      # writes actions from the keys


def make_hand(library: Library, vec: VecEnv, config: Config) -> tuple[Hand, str]:
    """What SHIFT does, and a word for it.

    It is the env's own c_keys if NAME.c or a header of PufferLib 5.0 has one. Otherwise digits
    choose the first head's action, arrows push the first two continuous heads, and the other heads
    idle. Where there is a mask and no idle action, the first head waits for its digit.
    """
    try:
        keys = ctypes.CDLL(os.fspath(library.path)).puffer_keys
    except AttributeError:
        text, unset = config.eval.idle_action, 0.0 if vec.action_mask is None else -1.0
        idle = parse_action(text) if text else tuple(
            unset if head == 0 and width > 1 else 0.0 for head, width in enumerate(vec.act_sizes))
        return lambda vec, screen: _generic_keys(vec, screen, idle), "digits, arrows"
    keys.argtypes, keys.restype = [ctypes.c_void_p], None

    def own(vec: VecEnv, screen: canvas.Screen) -> None:
        keys(int(ffi().cast("intptr_t", library.api.env_struct(vec.handle, 0))))

    return own, "drive"


def _generic_keys(vec: VecEnv, screen: canvas.Screen, idle: tuple[float, ...]) -> None:
    vec.actions[0] = idle
    if vec.act_sizes[0] > 1:
        for digit in range(min(10, vec.act_sizes[0])):
            if screen.is_down(KEY["0"] + digit):
                vec.actions[0, 0] = digit
    pairs = (("RIGHT", "LEFT"), ("UP", "DOWN"))
    smooth = [head for head, width in enumerate(vec.act_sizes) if width == 1]
    for head, (more, less) in zip(smooth, pairs):
        vec.actions[0, head] = float(screen.is_down(KEY[more])) - float(screen.is_down(KEY[less]))


def drive(vec: VecEnv, seat: int, lives: bool, write_keys: Callable[[], None]) -> bool:
    """The keys' actions for one agent, into vec.actions. False: there is no key yet, so it waits.

    lives        whether the seat has an agent now
    write_keys   writes agent 0's row from the keys: it is the seat's meanwhile
    """
    swapped = [seat, 0]
    vec.actions[[0, seat]] = vec.actions[swapped]
    write_keys()
    vec.actions[[0, seat]] = vec.actions[swapped]
    if not lives:
        vec.actions[seat] = 0
        return True
    wanted = with_forced(vec, seat)
    if any(wanted[head] < 0 for head, width in enumerate(vec.act_sizes) if width > 1):
        return False
    vec.actions[seat] = same_actions(vec, wanted)[seat]         # a key for what a mask forbids
    return True


def with_forced(vec: VecEnv, agent: int) -> np.ndarray:
    """(K,) an agent's actions, where the only legal id of a head stands in for no key yet, and 0
    where none is legal: it is another's turn."""
    actions: np.ndarray = vec.actions[agent].copy()
    column = 0
    for head, width in enumerate(vec.act_sizes):
        if width > 1 and actions[head] < 0 and vec.action_mask is not None:
            legal = np.flatnonzero(vec.action_mask[agent, column:column + width])
            actions[head] = -1 if len(legal) > 1 else legal[0] if len(legal) else 0
        column += width
    return actions
