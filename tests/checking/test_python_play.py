"""How check plays a Python environment: single functions, on players that are made up."""
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium import spaces

from puffer_sdk.checking.collect.python import handling, playing, traces


@pytest.mark.parametrize("metadata, mode, parallel, told", [
    ({"render_modes": ["ansi"], "render_fps": 4}, None, False, []),
    ({"render_modes": ["ansi"], "render_fps": 4}, "ansi", False, []),
    ({"render_modes": ["ansi"], "render_fps": 4}, "human", False, ["render_mode"]),
    ({"render_modes": ["ansi"], "render_fps": 0}, None, False, ["render_fps"]),
    ({"render_modes": ["ansi"]}, None, False, ["render_fps"]),
    ({"render_modes": ["ansi"]}, None, True, []),
    ({"render_modes": []}, None, False, []),
    ({"render_modes": [3]}, None, False, ["render_modes"]),
    ({"render_modes": "ansi"}, None, True, []),
    (None, None, False, ["render_modes"])])
def test_metadata_that_cannot_be(metadata, mode, parallel, told, monkeypatch):
    found = []
    env = SimpleNamespace(metadata=metadata, render_mode=mode)
    monkeypatch.setattr(handling, "Player", lambda desk: SimpleNamespace(
        env=env, parallel=parallel, close=lambda: None))
    modes = handling._check_metadata(SimpleNamespace(odd=found.append))
    assert [oddity.what for oddity in found] == told
    assert modes == (("ansi",) if metadata and metadata["render_modes"] == ["ansi"] else ())


def test_which_numbers_are_bytes():
    """Those of arrays of bytes that are no pictures, wherever they lie."""
    def bytes_at(space) -> np.ndarray | None:
        return playing.Player.bytes_at.fget(SimpleNamespace(
            agents=[None], observation_space=lambda agent: space,
            flat_size=playing.Flat(space).size))

    found = bytes_at(spaces.Tuple([spaces.Box(-1, 1, (2,)), spaces.Box(0, 255, (3,), np.uint8),
                                   spaces.Discrete(4), spaces.Box(0, 255, (2, 2), np.uint8)]))
    assert np.flatnonzero(found).tolist() == [2, 3, 4]
    assert bytes_at(spaces.Box(-1, 1, (2,))) is None


@pytest.mark.parametrize("length, steps, left", [(4, 9, 1), (4, 8, 1), (9, 8, 8)])
def test_a_play_before_is_left_in_the_middle_of_an_episode(length, steps, left):
    """That lasts so many steps."""
    actor = SimpleNamespace(choose=lambda living, masks: {})
    player = SimpleNamespace(step_number=0, living=[], masks={}, resets=0,
                             actor=lambda *seed, style: actor)

    def step(actions) -> SimpleNamespace:
        player.step_number += 1
        return SimpleNamespace(over=player.step_number == length)

    def reset() -> None:
        player.step_number, player.resets = 0, player.resets + 1

    player.step, player.reset = step, reset
    traces._spend(None, player, steps)
    assert (player.step_number, player.resets) == (left, steps // length)
