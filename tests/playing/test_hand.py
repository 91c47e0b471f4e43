"""playing.hand: what keys do for a seat, and when there is no key yet."""
from ctypes.util import find_library
from types import SimpleNamespace

import numpy as np
import pytest

from puffer_sdk.playing import hand
from puffer_sdk.settings import config

NO, PLANNED = -1.0, 3.0


def vec_of(act_sizes=(4,), mask=None, agents=2):
    mask = None if mask is None else np.array([mask] * agents, np.uint8)
    return SimpleNamespace(act_sizes=act_sizes, num_atns=len(act_sizes), alive=None,
                           num_agents=agents, action_mask=mask,
                           actions=np.full((agents, len(act_sizes)), PLANNED, np.float32))


def drive(vec, keys, seat=0, lives=True):
    """The actions of all agents after these keys, or None: it waits."""
    def write():
        if keys is not None:
            vec.actions[0] = keys
    return vec.actions.tolist() if hand.drive(vec, seat, lives, write) else None


@pytest.mark.parametrize(("act_sizes", "mask", "keys", "did"), [
    ((4,), None, [2], [2]), ((4,), None, [NO], None),
    ((4,), [0, 1, 1, 0], [NO], None), ((4,), [0, 0, 1, 0], [NO], [2]),     # nothing to choose
    ((4,), [0, 1, 1, 0], [3], [1]),                                         # the next legal one
    ((4,), [0, 0, 0, 0], [NO], [0]),                                        # another's turn
    ((4, 1), None, [0, -0.5], [0, -0.5]), ((1, 1), None, [-1, -1], [-1, -1]),
    ((4, 1), None, [NO, 0.5], None), ((1, 4), None, [-1, NO], None),
    ((2, 3), [0, 1, 1, 1, 1], [NO, 2], [1, 2]), ((2, 3), None, [1, NO], None),
    ((4,), None, None, [PLANNED])])             # c_keys wrote nothing: the policy goes on
@pytest.mark.parametrize("seat", [0, 1])
def test_what_a_key_does(act_sizes, mask, keys, did, seat):
    vec = vec_of(act_sizes, mask)
    others = [PLANNED] * len(act_sizes)
    want = None if did is None else ([did, others] if seat == 0 else [others, did])
    assert drive(vec, keys, seat) == want


def test_nobody_waits_for_a_seat_without_an_agent():
    assert drive(vec_of(), [NO], seat=1, lives=False) == [[PLANNED], [0]]


@pytest.mark.parametrize(("mask", "idle", "down", "did"), [
    (None, "", (), [[0], [3]]), (None, "2", (), [[2], [3]]), ([1, 1, 1, 1], "", (), None),
    ([1, 1, 1, 1], "2", (), [[2], [3]]), ([1, 1, 1, 1], "", ("0",), [[0], [3]])])
def test_without_c_keys_a_masked_game_waits_for_its_digit(mask, idle, down, did):
    vec, keys = vec_of(mask=mask), {hand.KEY[name] for name in down}
    screen = SimpleNamespace(is_down=lambda key: key in keys)
    library = SimpleNamespace(path=find_library("m"))
    make, _ = hand.make_hand(library, vec, config.defaults({"eval.idle_action": idle}))
    assert (vec.actions.tolist() if hand.drive(vec, 0, True, lambda: make(vec, screen))
            else None) == did


def test_the_players_own_keys_are_none_of_the_games():
    assert {65, 48, 57, 32, 262, 265, 257} <= set(hand.THEIRS)      # A 0 9 space right up enter
    assert not set(hand.THEIRS) & {hand.KEY[name] for name in (*hand.SHIFT, *hand.CONTROL, "P",
                                                               "ESCAPE", "F12", "PERIOD")}
