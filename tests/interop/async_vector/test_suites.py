"""Others' test suites on what we give out, in a short form; `make test-long` runs all of them."""
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import suites
from helpers.places import ROOT
from helpers.short_or_long import long_only

SHORT = "seeding or dict_spaces"       # each copy imports PyTorch: some seconds a test


@long_only
def test_some_of_sb3s_own_vec_env_tests_pass():
    """Of the installed version's sdist, which pip brings once."""
    suite = replace(suites.SB3, tests=("tests/test_vec_envs.py",))
    source = suites.sdist(suite, version("stable-baselines3"))
    found = suites.judge(suite, suites.run(suite, source, Path(sys.executable), "-k", SHORT))
    assert not found["failed"] and not found["exceptions"], found
    assert found["passed"] == found["tests"] == 4


CHECK = """
import puffer_sdk
from torchrl.envs import GymWrapper
from torchrl.envs.utils import check_env_specs
for env in ("cartpole", "pendulum", "breakout"):
    for mode in ("same_step", "disabled"):
        check_env_specs(GymWrapper(puffer_sdk.to_vector(env, 4, autoreset=mode)))
"""


@long_only
def test_torchrls_check_finds_nothing():
    subprocess.run([sys.executable, "-c", CHECK], check=True, cwd=ROOT, timeout=300)
