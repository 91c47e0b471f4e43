"""The programs of examples/programs: each runs as it stands, and learns what it says."""
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from helpers.forms import LONG
from helpers.own_venvs import python_of
from helpers.places import ROOT

PROGRAMS = ROOT / "examples" / "programs"
# program, its words, and the least score; a random policy scores 22 on cartpole, and snakes -0.7
SHORT = [("sb3_ppo.py", ["cartpole", 6_000], 40),
         ("ppo.py", ["--steps", 16_384, "--autoreset", "next_step"], 38),
         ("ppo.py", ["--steps", 16_384, "--autoreset", "same_step"], 38),
         ("pettingzoo_sb3.py", [40_000], -0.45)]
# and the list of benchmarks/peers that names its packages
LONGER = [("sb3_ppo.py", "sb3", [], 180),
          ("ppo.py", "cleanrl", ["--autoreset", "next_step"], 190),
          ("ppo.py", "cleanrl", ["--autoreset", "same_step"], 190),
          ("ppo.py", "cleanrl", ["--env", "puffer/cartpole"], 190),
          ("ppo.py", "cleanrl", ["--env", "CartPole-v1", "--envs", 8, "--steps", 100_000], 200),
          ("pettingzoo_sb3.py", "supersuit", [], 1.0),
          ("pettingzoo_sb3.py", "supersuit", [40_000, "--supersuit"], -0.6),
          ("torchrl_ppo.py", "torchrl", [], 150), ("rllib_ppo.py", "rllib", [], 120)]


TORCHRL = """
import sys, puffer_sdk
from torchrl.envs import GymWrapper
from torchrl.envs.utils import check_env_specs
check_env_specs(GymWrapper(puffer_sdk.to_vector(sys.argv[1], 4, autoreset=sys.argv[2])))
"""

# names for gymnasium.make that CleanRL is given: both have a Dict of observations
NAMED = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Parts(gymnasium.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        self.observation_space = spaces.Dict({
            "cart": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "pole": spaces.Dict({"angle": spaces.Box(-np.inf, np.inf, (1,), np.float32),
                                 "speed": spaces.Box(-np.inf, np.inf, (1,), np.float32)})})

    def observation(self, row):
        return {"cart": row[:2], "pole": {"angle": row[2:3], "speed": row[3:]}}


gymnasium.register("Parts-v0", lambda: Parts(gymnasium.make("CartPole-v1")))
try:
    import minihack  # noqa: F401
except ImportError:
    pass
else:
    gymnasium.register("Room-v0", lambda: gymnasium.make(
        "MiniHack-Room-5x5-v0", observation_keys=("chars_crop", "blstats")))
"""
# id, the list of benchmarks/peers, words, the least score. A random policy has 22 in CartPole, and
# 0.33 in the room
CLEANRL = [("CartPole-v1", "cleanrl", ["--total-timesteps", 30_000], 70),
           ("named:Parts-v0", "cleanrl", ["--total-timesteps", 30_000], 70),
           ("named:Room-v0", "minihack", ["--total-timesteps", 30_000], 0.8)]


def score_of(python: str | Path, program: Path, words: list, limit: float = 1500) -> float:
    """What the last line of a program says that it scored."""
    done = subprocess.run([python, program, *map(str, words)], capture_output=True, text=True,
                          timeout=limit, env={**os.environ, "PYTHONPATH": str(ROOT),
                                              "PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0, done.stderr[-3000:]
    said = re.fullmatch(r"score (-?\d+\.\d+) after (\d+) steps", done.stdout.splitlines()[-1])
    assert said, done.stdout[-500:]
    return float(said[1])


if not LONG:
    @pytest.mark.parametrize("program, words, least", SHORT)
    def test_a_program_learns(program, words, least):
        assert score_of(sys.executable, PROGRAMS / program, words) > least

if LONG:        # what these need is not installed for the short forms
    @pytest.mark.proof
    @pytest.mark.parametrize("program, name, words, least", LONGER)
    def test_a_program_learns_in_a_venv_of_its_own(program, name, words, least):
        assert score_of(python_of(name), PROGRAMS / program, words) > least

    @pytest.mark.proof
    @pytest.mark.parametrize("mode", ["same_step", "disabled"])
    @pytest.mark.parametrize("env", ["cartpole", "pendulum", "breakout"])
    def test_torchrls_check_finds_nothing(env, mode):
        subprocess.run([python_of("torchrl"), "-c", TORCHRL, env, mode], check=True,
                       env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=300)

    @pytest.mark.proof
    @pytest.mark.parametrize("env_id, name, more, least", CLEANRL)
    def test_cleanrl_runs_with_the_diff(env_id, name, more, least, tmp_path):
        """CLEANRL=FOLDER: a checkout of CleanRL at the diff's commit."""
        if not os.environ.get("CLEANRL"):
            pytest.skip("make proof CLEANRL=FOLDER, a checkout at the diff's commit")
        patch(tmp_path, flat=env_id != "CartPole-v1")
        assert cleanrl_score(python_of(name), env_id, more, tmp_path) > least


def hunks() -> list[str]:
    """The lines of cleanrl.diff from the names of its files on."""
    return (PROGRAMS / "cleanrl.diff").read_text().partition("--- a/")[2].splitlines()


def test_the_diff_adds_two_lines_and_holds_none_of_cleanrls():
    lines = [line for line in hunks()[1:] if not line.startswith(("+++ ", "@@ "))]
    assert len(lines) == 2 and all(line.startswith("+") for line in lines)


def test_the_line_for_a_dict_gives_cleanrl_rows():
    import gymnasium

    from puffer_sdk.vector import OldInfos, Vector

    named: dict = {"__name__": "__main__"}      # so that its class reaches the workers by value
    exec(NAMED, named)
    parts = named["Parts"]
    cleanrl = types.SimpleNamespace(env_fns=[lambda: parts(gymnasium.make("CartPole-v1"))] * 2)
    scope = {"gym": gymnasium, "OldInfos": OldInfos, "Vector": Vector, "envs": cleanrl}
    exec(line_for_a_dict(), scope)
    try:
        assert scope["envs"].single_observation_space.shape == (4,)
        assert scope["envs"].reset(seed=0)[0].shape == (2, 4)
    finally:
        scope["envs"].close()
        del gymnasium.registry["Parts-v0"]


def patch(folder: Path, *, flat: bool) -> None:
    """CleanRL with the diff, in a folder; flat: with the second line that it names for a Dict."""
    shutil.copytree(ROOT / os.environ["CLEANRL"] / "cleanrl", folder / "cleanrl")
    subprocess.run(["patch", "-p1", "-i", PROGRAMS / "cleanrl.diff"], cwd=folder, check=True,
                   capture_output=True)
    program, line = folder / "cleanrl" / "ppo.py", hunks()[-1].removeprefix("+")
    assert line in program.read_text()
    if flat:
        program.write_text(program.read_text().replace(line, f"    {line_for_a_dict()}"))
    (folder / "named.py").write_text(NAMED)


def line_for_a_dict() -> str:
    text = (PROGRAMS / "cleanrl.diff").read_text()
    lines = [line.strip() for line in text.partition("--- a/")[0].splitlines()]
    return next(line for line in lines if "FlattenObservation" in line and "=" in line)


def cleanrl_score(python: Path, env_id: str, more: list, folder: Path) -> float:
    """The mean return of the last 100 episodes."""
    done = subprocess.run(
        [python, "cleanrl/ppo.py", "--env-id", env_id, "--no-cuda", *map(str, more)],
        cwd=folder, capture_output=True, text=True, timeout=1500,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"})
    assert done.returncode == 0, done.stderr[-3000:]
    returns = [float(each) for each in re.findall(r"episodic_return=(-?[\d.]+)", done.stdout)]
    assert len(returns) > 100
    return sum(returns[-100:]) / 100
