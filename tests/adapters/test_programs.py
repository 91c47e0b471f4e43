"""The programs of examples/programs: each runs as it stands, and learns what it says."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.forms import LONG, forms
from helpers.places import ROOT
from peers import venvs

PROGRAMS = ROOT / "examples" / "programs"
# program, its words, and the least score; a random policy scores 22 on cartpole, and snakes -0.7
SHORT = [("sb3_ppo.py", ["cartpole", 6_000], 40),
         ("ppo.py", ["--steps", 16_384, "--autoreset", "next_step"], 38),
         ("ppo.py", ["--steps", 16_384, "--autoreset", "same_step"], 38),
         ("pettingzoo_sb3.py", [40_000], -0.45)]
LONGER = [("sb3_ppo.py", [], 180),
          ("ppo.py", ["--autoreset", "next_step"], 190),
          ("ppo.py", ["--autoreset", "same_step"], 190),
          ("ppo.py", ["--env", "puffer/cartpole"], 190),
          ("ppo.py", ["--env", "CartPole-v1", "--envs", "8", "--steps", "100000"], 200),
          ("pettingzoo_sb3.py", [], 1.0)]
# programs whose packages are not ours: the list of benchmarks/peers that names them
OTHERS = [("torchrl_ppo.py", "torchrl", [], 150), ("rllib_ppo.py", "rllib", [], 120),
          ("pettingzoo_sb3.py", "supersuit", [40_000, "--supersuit"], -0.6)]


def score_of(python: str | Path, program: Path, words: list, limit: float = 1500) -> float:
    """What the last line of a program says that it scored."""
    done = subprocess.run([python, program, *map(str, words)], capture_output=True, text=True,
                          timeout=limit, env={**os.environ, "PYTHONPATH": str(ROOT),
                                              "PYTHONWARNINGS": "ignore"})
    assert done.returncode == 0, done.stderr[-3000:]
    said = re.fullmatch(r"score (-?\d+\.\d+) after (\d+) steps", done.stdout.splitlines()[-1])
    assert said, done.stdout[-500:]
    return float(said[1])


@pytest.mark.proof
@pytest.mark.parametrize("program, words, least", forms(SHORT, LONGER))
def test_a_program_learns(program, words, least):
    assert score_of(sys.executable, PROGRAMS / program, words) > least


def python_of(name: str) -> Path:
    try:
        return venvs.python_of(name, editable=ROOT)
    except venvs.Missing as why:
        pytest.skip(f"{name} cannot be installed: {why}")


if LONG:        # what these need is not installed for the short forms
    @pytest.mark.proof
    @pytest.mark.parametrize("program, name, words, least", OTHERS)
    def test_a_program_of_another_library_learns(program, name, words, least):
        assert score_of(python_of(name), PROGRAMS / program, words) > least

    @pytest.mark.proof
    def test_cleanrl_runs_with_the_diff(tmp_path):
        """CLEANRL=FOLDER: a checkout of CleanRL at the diff's commit."""
        if not os.environ.get("CLEANRL"):
            pytest.skip("make proof CLEANRL=FOLDER, a checkout at the diff's commit")
        run_cleanrl(tmp_path)


def hunks() -> list[str]:
    """The lines of cleanrl.diff from the names of its files on."""
    return (PROGRAMS / "cleanrl.diff").read_text().partition("--- a/")[2].splitlines()


def test_the_diff_adds_two_lines_and_holds_none_of_cleanrls():
    lines = [line for line in hunks()[1:] if not line.startswith(("+++ ", "@@ "))]
    assert len(lines) == 2 and all(line.startswith("+") for line in lines)


def run_cleanrl(tmp_path):
    shutil.copytree(Path(os.environ["CLEANRL"]) / "cleanrl", tmp_path / "cleanrl")
    subprocess.run(["patch", "-p1", "-i", PROGRAMS / "cleanrl.diff"], cwd=tmp_path, check=True,
                   capture_output=True)
    done = subprocess.run(
        [python_of("cleanrl"), "cleanrl/ppo.py", "--total-timesteps", "30000", "--no-cuda"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr[-3000:]
    returns = [float(each) for each in re.findall(r"episodic_return=([\d.]+)", done.stdout)]
    assert len(returns) > 100 and sum(returns[-20:]) / 20 > 70
