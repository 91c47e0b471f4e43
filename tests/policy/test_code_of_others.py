"""What a checkpoint or a run of somebody else names is not run."""
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.short_or_long import long_only
from safetensors.numpy import save

from puffer_sdk import Policy
from puffer_sdk.base import trust
from puffer_sdk.base.errors import UsageError
from puffer_sdk.cli import cli
from puffer_sdk.pictures import record
from puffer_sdk.playing import play
from puffer_sdk.policy import evaluate, export
from puffer_sdk.settings import config, torch_class
from puffer_sdk.training import checkpoint, runs, train

NET = """\
from pathlib import Path

from puffer_sdk.training.reference.policy import Policy

Path(__file__).with_suffix(".ran").touch()


class Net(Policy):
    pass
"""


class Project:
    """An environment, and beside it a folder of somebody else with a class and a checkpoint."""

    def __init__(self, folder, elsewhere):
        self.folder, self.net = folder, elsewhere / "net.py"
        self.path = elsewhere / "000000000001.safetensors"
        elsewhere.mkdir()
        self.net.write_text(NET)
        defaults = config.defaults()
        policy = replace(defaults.policy, hidden_size=8, num_layers=1,
                         torch_class=f"{self.net}:Net")
        self.config = replace(defaults, policy=policy, base=replace(
            defaults.base, env_name=folder.name))
        self.facts = {"env": {"name": folder.name, "obs_size": 2, "obs_dtype": "float32",
                              "act_sizes": [3]}, "config": self.config.to_dict(),
                      "counters": {"epoch": 1, "global_step": 1}, "epoch": 1, "step": 1,
                      "seconds": 1.0}
        self.tensors = {"encoder": np.zeros((8, 2), np.float32),
                        "decoder": np.zeros((4, 8), np.float32),
                        "layers.0": np.zeros((24, 8), np.float32)}
        self.save()

    def save(self):
        return checkpoint.save(self.path, self.tensors, self.facts)

    def forge(self, mac):
        """The checkpoint as somebody else would have written it."""
        text = json.dumps({"format_version": 1, **self.facts})
        self.path.write_bytes(save(self.tensors, metadata={
            "puffer": text, **({} if mac is None else {"mac": mac})}))

    @property
    def ran(self):
        return self.net.with_suffix(".ran").exists()


@pytest.fixture
def project(probe, tmp_path):
    return Project(probe(), tmp_path / "elsewhere")


def as_torch(project):
    export.export(project.path, "torch", project.folder.parent / "x.pt2")


DOORS = {
    "export": as_torch,
    "export ENV": lambda project: export.export(project.folder, "torch", model=project.path),
    "Policy.load": lambda project: Policy.load(project.path),
    "eval": lambda project: evaluate.evaluate(project.folder, model=project.path),
    "play": lambda project: play.play(project.folder, model=project.path),
    "record": lambda project: record.record_options(
        record.Options(gif=project.folder.parent / "a.gif"), project.folder, None,
        model=project.path),
}


@pytest.mark.parametrize("door", DOORS)
def test_no_command_runs_the_class_of_a_checkpoint(project, door, monkeypatch):
    monkeypatch.setattr(play, "_require_display", lambda name: None)
    project.forge(None)
    with pytest.raises(UsageError, match="Python code that you did not name") as caught:
        DOORS[door](project)
    assert not project.ran and "--trust" in caught.value.hint
    assert caught.value.actual == f"{project.net}:Net"
    assert str(project.path) in caught.value.where


def forged(project, how):
    if how == "a made-up MAC":
        project.forge("0" * 64)
    elif how == "no text":
        project.forge("\u20ac" * 64)
    elif how == "that of another checkpoint":
        ours = replace(project.config.policy, torch_class="")
        text = json.dumps({**project.facts, "config": {
            **project.facts["config"], "policy": {**project.facts["config"]["policy"],
                                                  "torch_class": ours.torch_class}}})
        project.forge(trust.mac("checkpoint", project.path, text))
    elif how == "moved":
        project.path = project.path.rename(project.path.with_name("000000000002.safetensors"))
    elif how == "changed":
        data = project.path.read_bytes()
        assert data.count(b"net.py") == 1
        project.path.write_bytes(data.replace(b"net.py", b"Net.py"))
        project.net = project.net.rename(project.net.with_name("Net.py"))


@pytest.mark.parametrize("how", ["a made-up MAC", "no text", "that of another checkpoint", "moved",
                                 "changed"])
def test_a_mac_is_not_to_be_had(project, how):
    forged(project, how)
    with pytest.raises(UsageError, match="did not name"):
        as_torch(project)
    assert not project.ran


def test_ones_own_is_run_and_another_users_is_not(project, tmp_path, monkeypatch):
    actions = Policy.load(project.path).act(np.zeros((5, 2), np.float32))
    assert actions.shape == (5, 1) and project.ran
    project.net.with_suffix(".ran").unlink()
    monkeypatch.delenv(trust.NAMED)
    monkeypatch.setattr(trust, "_secret", lambda folder: b"another user's")
    with pytest.raises(UsageError, match="did not name"):
        Policy.load(project.path)
    assert not project.ran
    assert Policy.load(project.path, trust=True).act(np.zeros(2, np.float32)).shape == (1,)


@long_only
def test_trust_is_an_option(project, monkeypatch):
    project.forge(None)
    target = project.folder.parent / "x.pt2"
    words = ["export", str(project.path), "--to", "torch", "--output", str(target)]
    refused = CliRunner().invoke(cli, words)
    assert isinstance(refused.exception, UsageError) and not project.ran
    done = CliRunner().invoke(cli, [*words, "--trust"])
    assert done.exit_code == 0 and project.ran and target.exists()


def test_what_the_ini_names_is_run_wherever_the_run_was_made(project, tmp_path):
    """A project that was cloned with its runs: its own file counts."""
    project.forge(None)
    own = project.folder / "net.py"
    shutil.copy(project.net, own)
    ini = project.folder / f"{project.folder.name}.ini"
    ini.write_text("[policy]\ntorch_class = net.py:Net\nhidden_size = 8\nnum_layers = 1\n"
                   "[vec]\ntotal_agents = 4\n[eval]\nepisodes = 4\nsteps = 20\n")
    done = evaluate.evaluate(project.folder, {"env.limit": 5}, model=project.path)
    assert "trained" in done.scores
    assert own.with_suffix(".ran").exists() and not project.ran


@pytest.mark.parametrize("named", ["other.py:Net", "net.py:Other", "net.py:", ""])
def test_another_name_in_the_ini_says_nothing(project, named):
    project.forge(None)
    for name in ("net.py", "other.py"):
        (project.folder / name).write_text(NET)
    ini = project.folder / f"{project.folder.name}.ini"
    ini.write_text(f"[policy]\ntorch_class = {named}\n")
    with pytest.raises(UsageError, match="did not name"):
        evaluate.evaluate(project.folder, model=project.path)
    assert not project.ran


def test_the_command_line_names_it(project):
    project.forge(None)
    torch_class.name_given(SimpleNamespace(folder=project.folder, own_inis=list, over=()),
                           {"policy.torch_class": f"{project.net}:Net"})
    as_torch(project)
    assert project.ran


# -- a run that goes on ----------------------------------------------------------------------------

SMALL = {"train.total_timesteps": 128, "train.horizon": 8, "vec.total_agents": 4,
         "train.minibatch_size": 32, "policy.hidden_size": 8, "policy.num_layers": 1,
         "train.device": "cpu", "vec.num_threads": 1, "env.limit": 5}


@long_only
def test_a_run_goes_on_with_its_class_and_no_other(project, tmp_path, monkeypatch):
    """The settings of a run are data: on its own files resume asks nothing."""
    own = tmp_path / "own.py"
    own.write_text(NET)
    own_class = {**SMALL, "policy.torch_class": f"{own}:Net"}
    done = train.train(project.folder, own_class, runs_dir=tmp_path / "runs")
    assert own.with_suffix(".ran").exists()
    monkeypatch.delenv(trust.NAMED, raising=False)
    more = train.train(project.folder, {"train.total_timesteps": 192}, resume="latest",
                       runs_dir=tmp_path / "runs")
    assert more.steps > done.steps

    run = runs.Run(done.folder)
    run.config_path.write_text(run.config_path.read_text().replace(str(own), str(project.net)))
    monkeypatch.delenv(trust.NAMED, raising=False)
    with pytest.raises(UsageError, match="did not name"):
        train.train(project.folder, {"train.total_timesteps": 256}, resume="latest",
                    runs_dir=tmp_path / "runs")
    assert not project.ran
