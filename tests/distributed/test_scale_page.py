"""docs/guides/scale.md: its programs are those of the repository, and run."""
from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from helpers.groups import Group
from helpers.own_venvs import python_of
from helpers.places import ROOT
from helpers.playground import tensors
from helpers.short_or_long import LONG, long_only

PAGE = ROOT / "docs" / "guides" / "scale.md"
PROGRAMS = ROOT / "examples" / "programs"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.M | re.S)


def test_the_page_shows_the_programs_as_they_are():
    assert blocks("python") == [(PROGRAMS / "scale.py").read_text()]
    assert [text for text in blocks("sh") if text.startswith("#!")] \
        == [(PROGRAMS / "scale.sbatch").read_text()]


def test_the_model_was_checked():
    figures = json.loads((ROOT / "docs" / "data" / "scale.json").read_text())
    for check in figures["model"]["checks"].values():
        assert check["points"] >= 3 and 0 <= check["median"] <= check["worst"]


@long_only
def test_the_program_trains_in_two_processes(games, tmp_path):
    words = [sys.executable, PROGRAMS / "scale.py", games["squared"]]
    with Group(2, words, cwd=tmp_path) as group:
        first, second = group.finish()
    assert first[:2] == (0, "policy.safetensors\n") and second[:2] == (0, ""), first[2] + second[2]
    assert (tmp_path / "policy.safetensors").is_file()


if LONG:        # Ray is not installed for the short forms
    @pytest.mark.long
    def test_ray_train_makes_the_same_weights(games, tmp_path):
        for name in ("scale", "ray"):
            (tmp_path / name).mkdir()
        with Group(2, [sys.executable, PROGRAMS / "scale.py", games["squared"]],
                   cwd=tmp_path / "scale") as group:
            assert [status for status, *_ in group.finish()] == [0, 0]
        done = subprocess.run(
            [python_of("rllib"), PROGRAMS / "scale_ray.py", games["squared"]], timeout=300,
            cwd=tmp_path / "ray", capture_output=True, text=True, env={
                **os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"})
        assert done.returncode == 0, done.stderr[-3000:]
        one, two = (tensors(tmp_path / name / "policy.safetensors") for name in ("scale", "ray"))
        assert one == two


def test_the_lines_for_torchrun_are_lines_it_takes():
    """torchrun parses them; what they start is tested in test_scaled_training.py."""
    from torch.distributed.run import get_args_parser

    lines = [line for text in blocks("sh") if not text.startswith("#!")
             for line in text.splitlines()]
    assert len(lines) == 3
    for line in lines:
        words = shlex.split(line)
        given = get_args_parser().parse_args(words[1:])
        assert words[0] == "torchrun" and given.module and given.training_script == "puffer_sdk"
        assert given.training_script_args[0] in ("train", "profile")


@pytest.mark.parametrize("lint", [["sh", "-n"], ["shellcheck"]], ids=" ".join)
def test_the_slurm_script_is_linted(lint):
    tool = shutil.which(lint[0], path=f"{sys.exec_prefix}/bin") or shutil.which(lint[0])
    assert tool, lint
    done = subprocess.run([tool, *lint[1:], PROGRAMS / "scale.sbatch"], capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stdout + done.stderr
