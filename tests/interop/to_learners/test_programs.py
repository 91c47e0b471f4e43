"""The programs of examples/programs: each runs as it stands, and learns what it says."""
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest
from helpers.own_venvs import python_of
from helpers.places import ROOT
from helpers.short_or_long import LONG
from peers import cleanrl

PROGRAMS = ROOT / "examples" / "programs"
# program, its words, and the least score; a random policy scores 22 on cartpole, and snakes -0.7
SHORT = [("ppo.py", ["--steps", 16_384, "--autoreset", "same_step"], 38)]
# and the list of benchmarks/peers that names its packages
LONGER = [("sb3_ppo.py", "sb3", [], 180),
          ("ppo.py", "cleanrl", ["--autoreset", "next_step"], 190),
          ("ppo.py", "cleanrl", ["--autoreset", "same_step"], 190),
          ("ppo.py", "cleanrl", ["--env", "puffer/cartpole"], 190),
          ("ppo.py", "cleanrl", ["--env", "CartPole-v1", "--envs", 8, "--steps", 100_000], 200),
          ("pettingzoo_sb3.py", "supersuit", [], 1.0),
          ("pettingzoo_sb3.py", "supersuit", [40_000, "--supersuit"], -0.6),
          ("torchrl_ppo.py", "torchrl", [], 150), ("rllib_ppo.py", "rllib", [], 120)]


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
    @pytest.mark.long
    @pytest.mark.parametrize("program, name, words, least", LONGER)
    def test_a_program_learns_in_a_venv_of_its_own(program, name, words, least):
        assert score_of(python_of(name), PROGRAMS / program, words) > least

    @pytest.mark.long
    @pytest.mark.parametrize("env_id", cleanrl.RUNS)
    def test_cleanrl_runs_with_the_diff(env_id, tmp_path):
        """CLEANRL=FOLDER: a checkout of CleanRL at the diff's commit."""
        if not os.environ.get("CLEANRL"):
            pytest.skip("make test-long CLEANRL=FOLDER, a checkout at the diff's commit")
        run, folder = cleanrl.RUNS[env_id], ROOT / os.environ["CLEANRL"]
        assert cleanrl.score(python_of(run.venv), folder, env_id, tmp_path) > run.least


def test_the_diff_adds_two_lines_and_holds_none_of_cleanrls():
    lines = [line for line in cleanrl.hunks()[1:] if not line.startswith(("+++ ", "@@ "))]
    assert len(lines) == 2 and all(line.startswith("+") for line in lines)


def test_the_line_for_a_dict_gives_cleanrl_rows():
    import gymnasium

    from puffer_sdk.vector import OldInfos, Vector

    named: dict = {"__name__": "__main__"}      # so that its class reaches the workers by value
    exec(cleanrl.NAMED, named)
    parts = named["Parts"]
    made = types.SimpleNamespace(env_fns=[lambda: parts(gymnasium.make("CartPole-v1"))] * 2)
    scope = {"gym": gymnasium, "OldInfos": OldInfos, "Vector": Vector, "envs": made}
    exec(cleanrl.line_for_a_dict(), scope)
    try:
        assert scope["envs"].single_observation_space.shape == (4,)
        assert scope["envs"].reset(seed=0)[0].shape == (2, 4)
    finally:
        scope["envs"].close()
        del gymnasium.registry["Parts-v0"]
