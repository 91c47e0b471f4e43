"""CleanRL's own ppo.py over our Vector.  a checkout of CleanRL, cleanrl.diff -> a score

The checkout is the reader's, at the commit that the diff names. What runs is a copy of it with the
two lines of examples/programs/cleanrl.diff.
"""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DIFF = ROOT / "examples" / "programs" / "cleanrl.diff"

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


class Run(NamedTuple):
    """One environment: a list of packages beside this file, steps, the least score that a test
    asks for, and what a random policy scores."""

    venv: str
    steps: int
    least: float
    random: float


RUNS = {"CartPole-v1": Run("cleanrl", 30_000, 70, 22),
        "named:Parts-v0": Run("cleanrl", 30_000, 70, 22),
        "named:Room-v0": Run("minihack", 30_000, 0.8, 0.33)}
TITLES = {"CartPole-v1": "CartPole-v1", "named:Parts-v0": "CartPole as a Dict in a Dict",
          "named:Room-v0": "MiniHack-Room-5x5-v0: a Dict"}


def hunks() -> list[str]:
    """The lines of cleanrl.diff from the names of its files on."""
    return DIFF.read_text().partition("--- a/")[2].splitlines()


def line_for_a_dict() -> str:
    """What the diff names in place of its second line."""
    lines = [line.strip() for line in DIFF.read_text().partition("--- a/")[0].splitlines()]
    return next(line for line in lines if "FlattenObservation" in line and "=" in line)


def patch(checkout: Path, folder: Path, *, flat: bool) -> None:
    """CleanRL with the diff, in a folder; flat: with the second line that it names for a Dict."""
    shutil.copytree(checkout / "cleanrl", folder / "cleanrl")
    subprocess.run(["patch", "-p1", "-i", DIFF], cwd=folder, check=True, capture_output=True)
    program, line = folder / "cleanrl" / "ppo.py", hunks()[-1].removeprefix("+")
    assert line in program.read_text()
    if flat:
        program.write_text(program.read_text().replace(line, f"    {line_for_a_dict()}"))
    (folder / "named.py").write_text(NAMED)


def score(python: Path, checkout: Path, env_id: str, folder: Path) -> float:
    """The mean return of the last 100 episodes. folder: an empty one, for what runs

    Raises RuntimeError where it fails.
    """
    patch(checkout, folder, flat=env_id != "CartPole-v1")
    done = subprocess.run(
        [python, "cleanrl/ppo.py", "--env-id", env_id, "--no-cuda", "--total-timesteps",
         str(RUNS[env_id].steps)], cwd=folder, capture_output=True, text=True, timeout=1500,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{folder}"})
    returns = [float(each) for each in re.findall(r"episodic_return=(-?[\d.]+)", done.stdout)]
    if done.returncode or len(returns) < 100:
        raise RuntimeError(done.stderr[-3000:] or "fewer than 100 episodes ended")
    return sum(returns[-100:]) / 100


def described(checkout: Path) -> str:
    """Its commit and the commit's date."""
    return subprocess.run(["git", "log", "-1", "--format=commit %h of %cs"], cwd=checkout,
                          capture_output=True, text=True, check=True).stdout.strip()
