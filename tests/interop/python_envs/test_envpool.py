"""EnvPool by its name, through a stand-in with its interface; in the long form, EnvPool itself."""
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import LONG, long_only
from peers import venvs

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.interop.python_envs.makers import read_name
from puffer_sdk.training import checkpoint

NAME, STAND_IN = "envpool:CartPole-v1", SPECIMENS / "envpool_stand_in"
SMALL = {"train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 16,
         "policy.hidden_size": 16, "train.total_timesteps": 16 * 16 * 6}


@pytest.fixture
def stand_in(monkeypatch, tmp_path):
    """Where the name leads to the stand-in, here and in child processes."""
    for name in [name for name in sys.modules if name.split(".")[0] == "envpool"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(STAND_IN)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("envpool", None)


def test_copies_have_seeds_of_their_own_however_they_are_dealt(stand_in):
    seen = []
    for workers in (0, 1, 3):
        with puffer_sdk.wrap(NAME, 6, workers=workers, seed=3) as envs:
            rows = [envs.reset().copy()]
            rows += [envs.step(np.arange(6) % 2)[0].copy() for _ in range(30)]
            assert envs.obs_size == 4 and envs.act_sizes == (2,)
            assert len({row.tobytes() for row in rows[0]}) == 6
            seen.append(np.array(rows))
    assert np.array_equal(seen[0], seen[1]) and np.array_equal(seen[1], seen[2])


def test_nobody_learns_from_the_step_that_resets(stand_in):
    """It resets in the step after an ending; a limit of its own is a truncation."""
    with puffer_sdk.wrap(NAME, 2, workers=0, keywords={"max_episode_steps": 3}) as envs:
        envs.reset()
        for step in range(1, 9):
            envs.step([0, 1])
            ends = step % 4 == 3
            assert envs.truncations.tolist() == envs.terminals.tolist() == [ends] * 2
            assert envs.alive.tolist() == [not ends] * 2 and envs.has_final.tolist() == [ends] * 2
            assert envs.rewards.tolist() == [step % 4 != 0] * 2
        assert envs.log()["episode_length"] == 3


@long_only
def test_it_trains_with_the_same_bytes_in_any_number_of_processes(stand_in):
    runs = [puffer_sdk.train(NAME, {**SMALL, "vec.num_workers": workers}) for workers in (0, 1, 2)]
    learned = [{name: tensor.tobytes() for name, tensor in
                checkpoint.load(run.checkpoint).tensors.items()} for run in runs]
    assert learned[0] == learned[1] == learned[2] and "decoder" in learned[0]
    assert runs[0].metrics["window/episode_return"] > 5


def commands(python, folder, around) -> None:
    """train, eval, check, sweep and runs with the name, as a user gives them."""
    def run(*words, status=0):
        done = subprocess.run([python, "-m", "puffer_sdk", *map(str, words)], cwd=folder,
                              capture_output=True, text=True, timeout=240,
                              env={**os.environ, **around})
        assert done.returncode == status, done.stdout + done.stderr
        return done
    small = [word for name, value in SMALL.items()
             for word in (f"--{name.replace('_', '-')}", value)]
    assert "runs/envpool/CartPole-v1/0001" in run("train", NAME, *small).stdout
    found = run("eval", NAME, "--eval.episodes", 8, "--format", "json").stdout
    scores = json.loads(found)["policies"]
    assert scores["idle"]["mean"]["episode_length"] < 12
    assert scores["random"]["mean"]["episode_length"] > 12
    checked = run("check", NAME).stdout
    assert "CartPole-v1: pass" in checked and "endings" in checked
    run("sweep", NAME, *small, "--runs", 2, "--workers", 1, "--seeds", 0, "--only", "lr")
    trials = json.loads(run("runs", "list", NAME, "--sweep", 1, "--format", "json").stdout)
    assert [trial["env"] for trial in trials["runs"]] == [NAME] * 2
    spec = json.loads((folder / "runs/envpool/CartPole-v1/0001/spec.json").read_text())
    assert spec["packages"]["envpool"] == "1.2.7" and spec["kind"] == "batch"


@long_only
def test_the_commands_take_the_name(stand_in):
    commands(sys.executable, stand_in, {"PYTHONPATH": os.pathsep.join(map(str, (STAND_IN, ROOT)))})


if LONG:        # it has no wheel for this Python
    @pytest.mark.long
    def test_the_commands_take_envpool_itself(tmp_path):
        try:
            python = venvs.python_of("envpool", editable=ROOT)
        except venvs.Missing as why:
            pytest.skip(f"EnvPool cannot be installed: {why}")
        commands(python, tmp_path, {"PYTHONPATH": str(ROOT)})


def test_a_name_that_leads_nowhere_says_which_are_near(stand_in):
    with pytest.raises(UsageError, match="has no environment CartPole-v2") as raised:
        read_name("envpool:CartPole-v2")()
    assert "CartPole-v1" in raised.value.hint


def test_an_envpool_without_gymnasiums_vectors_is_refused(stand_in, monkeypatch):
    import envpool
    monkeypatch.setattr(envpool, "make_gymnasium", lambda *words, **more: object())
    monkeypatch.setattr(envpool, "__version__", "0.8.4")
    with pytest.raises(UsageError, match="too old") as raised:
        read_name(NAME)()
    assert raised.value.actual == "0.8.4"


def test_where_it_is_missing_its_pythons_are_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "envpool", None)
    with pytest.raises(UsageError, match="envpool is not installed") as raised:
        read_name(NAME)()
    assert "Python 3.12" in raised.value.hint
