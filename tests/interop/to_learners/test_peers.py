"""benchmarks/peers/breakout.py beside examples/breakout: the same rules, in Python and in C."""
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from peers import breakout

import puffer_sdk


class Served(breakout.Breakout):
    """Serves as a copy in C does: random_between() of breakout.h."""

    def __init__(self, seed: int):
        self.rng = seed

    def serve_angle(self):
        self.rng = bits = (self.rng + 0x9E3779B9) % 2**32
        bits = (bits ^ bits >> 16) * 0x21F0AAAD % 2**32
        bits = (bits ^ bits >> 15) * 0x735A2D97 % 2**32
        bits ^= bits >> 15
        return (2 * (bits >> 8) / 2**24 - 1) * breakout.SERVE_ANGLE


def pilot(row, draw) -> int:
    """Follows the ball, a little beside its middle, so that it goes up at an angle."""
    ball, middle = row[2] * 576 + 16, row[0] * 576 + 31 * row[9]
    aim = ball - middle + draw.uniform(-15, 15)
    return breakout.RIGHT if aim > 8 else breakout.LEFT if aim < -8 else breakout.STAY


def follow(theirs, row) -> None:
    """Take the places of an observation in C over: what a float rounds would add up."""
    theirs.paddle_x, theirs.x, theirs.y = row[0] * 576.0, row[2] * 576.0, row[3] * 330.0
    theirs.vx, theirs.vy = row[4] * 448.0, row[5] * 448.0


@pytest.mark.parametrize("steers, ticks", [(False, 400), (True, 1500)], ids=["random", "pilot"])
def test_it_plays_what_the_one_in_c_plays(steers, ticks):
    draw, scores = np.random.default_rng(2), []
    with puffer_sdk.make("breakout", num_envs=1, seed=6) as ours:
        theirs, halved = Served(ours.env_seed(0)), False
        ours.reset()
        row, _ = theirs.reset(seed=0)
        for _ in range(ticks):
            assert np.allclose(row, ours.observations[0], atol=1e-4), theirs.tick
            follow(theirs, ours.observations[0].astype(float))
            halved |= theirs.paddle < breakout.PADDLE
            action = pilot(row, draw) if steers else int(draw.integers(3))
            row, reward, over, late, info = theirs.step(action)
            ours.step([action])
            assert (reward, over, late) == (ours.rewards[0], ours.terminals[0], 0)
            if over:
                scores.append(info["score"])
                row, _ = theirs.reset()
        log = ours.log()
    assert theirs.score > 200 and halved if steers else len(scores) > 3
    assert not scores or log["n"] == len(scores) and log["score"] == pytest.approx(np.mean(scores))


def test_gymnasiums_checker_finds_nothing():
    check_env(breakout.Breakout(), skip_render_check=True)
