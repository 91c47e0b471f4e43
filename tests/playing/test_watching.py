"""`puffer-sdk play` on a Python environment: it opens its own window, and a policy plays."""
import pytest
from helpers.display import Display
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only

pytest_plugins = ["helpers.playground_fixtures"]


@pytest.fixture(scope="module")
def display():
    made = Display()
    yield made
    made.close()


@long_only
def test_gymnasium_draws_while_dice_play(display, start, cli, tmp_path):
    process = start("play", "gymnasium:CartPole-v1", "--ticks", 150, "--seed", 3, env=display.env)
    display.wait_for(lambda picture: bool(picture.any()) or process.poll() is not None, 60)
    assert process.poll() is None and display.pixels().any()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "no trained policy yet: dice play" in err and out.startswith("played  150 ticks")
    refused = cli("play", f"{SPECIMENS}/python_envs/games.py:Guess", env=display.env)
    assert refused.returncode == 2 and "no render mode human" in refused.stderr
    paused = cli("play", "gymnasium:CartPole-v1", "--paused", env=display.env)
    assert paused.returncode == 2 and "its own window" in paused.stderr
