"""What older versions wrote is still read: runs, sweeps, settings and policies (README.md)."""
from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.training import checkpoint, runs

CORPUS = Path(__file__).parent
VERSIONS = sorted(path.name for path in CORPUS.iterdir() if path.is_dir() and
                  (path / "walk").is_dir())


@pytest.fixture(scope="module", params=VERSIONS)
def corpus(request, tmp_path_factory):
    """A copy of one version's folder, which tests may add runs to."""
    folder = tmp_path_factory.mktemp("corpus") / request.param
    shutil.copytree(CORPUS / request.param, folder)
    if request.param != "v1":           # the same environments
        shutil.copytree(CORPUS / "v1/walk", folder / "walk")
        shutil.copy(CORPUS / "v1/line.py", folder)
    for name in ("sweep.json", "journal"):              # they name places, which are here now
        for path in folder.rglob(f"sweeps/*/{name}"):
            text = path.read_text().replace("/home/me/walk/runs", f"{folder}/runs")
            path.write_text(text.replace("/home/me/walk", f"{folder}/walk"))
    return folder


@pytest.fixture(autouse=True)
def inside(corpus, monkeypatch):
    monkeypatch.chdir(corpus)


def puffer(*words: str) -> None:
    """Run a command, which must succeed."""
    try:
        status = cli.main(list(words))
    except SystemExit as error:
        status = error.code
    assert status == 0


def run_of(path: str) -> runs.Run:
    return runs.Run(Path(path))


def test_every_checkpoint_is_read(corpus):
    found = sorted(corpus.rglob("*.safetensors"))
    assert len(found) >= 9
    for path in found:
        past = checkpoint.load(path)
        assert past.config.policy.hidden_size == 8 and past.step > 0
        assert past.tensors["encoder"].shape[0] == 8


def test_runs_are_listed_and_shown(corpus, capsys):
    puffer("runs", "list", "walk")
    said = capsys.readouterr().out
    assert "finished" in said and "interrupted" in said and "49.2k" in said
    puffer("runs", "compare", "1", "2", "--env", "walk")
    assert run_of("runs/walk/0001").settings()["train.total_timesteps"] == "49152"


def test_a_policy_is_evaluated(corpus, capsys):
    for which in ("2", "best"):
        puffer("eval", "walk", "--load-model-path", which, "--eval.episodes", "20",
               "--eval.goal", "perf >= 0")
    assert "trained" in capsys.readouterr().out


def test_a_python_policy_is_evaluated(corpus, capsys):
    puffer("eval", "line.py:Line", "--eval.episodes", "20")
    assert "episode return" in capsys.readouterr().out


def test_a_policy_is_exported_as_it_was(corpus, tmp_path):
    """The flat file's bytes, for puffernet.h of then and now."""
    past = corpus / "runs/walk/0001/best.safetensors"
    puffer_sdk.export(past, output=tmp_path / "policy.bin")
    assert (tmp_path / "policy.bin").read_bytes() == (corpus / "walk_policy.bin").read_bytes()


def test_an_interrupted_run_is_resumed(corpus):
    before = checkpoint.load(run_of("runs/walk/0002").checkpoints()[-1])
    puffer("train", "walk", "--resume", "2", "--train.total-timesteps", "32_768")
    run = run_of("runs/walk/0002")
    after = checkpoint.load(run.checkpoints()[-1])
    assert run.status == "finished" and after.step == 32_768 and before.step < after.step
    steps = [row["step"] for row in run.metrics() if "sps" in row]
    assert steps == sorted(set(steps)) and steps[-1] == 32_768
    assert not np.array_equal(before.tensors["decoder"], after.tensors["decoder"])


def test_a_finished_run_goes_on(corpus):
    puffer("train", "walk", "--resume", "1", "--train.total-timesteps", "65_536",
           "--train.stop-at-goal", "0")
    assert checkpoint.load(run_of("runs/walk/0001").checkpoints()[-1]).step == 65_536


def test_a_run_of_a_python_environment_is_resumed(corpus):
    puffer("train", "line.py:Line", "--resume",
           "--train.total-timesteps", "8192")
    assert run_of("runs/line/Line/0001").status == "finished"


def test_weights_start_a_new_run(corpus):
    puffer("train", "walk", "--load-model-path", "runs/walk/0001/best.safetensors",
           "--train.total-timesteps", "4096")


def test_a_sweep_is_shown_and_resumed(corpus, capsys):
    puffer("sweep", "walk", "--show", "1")
    assert "0.00691" in capsys.readouterr().out
    puffer("sweep", "walk", "--resume", "1", "--runs", "3", "--seeds", "0", "--workers", "1")
    assert len(list((corpus / "runs/walk/sweeps/0001/trials").glob("[0-9]*"))) == 3


def test_a_policy_acts_in_python(corpus):
    policy = puffer_sdk.Policy.load("runs/walk/0001", best=True)
    actions = policy.act(np.zeros((4, policy.obs_size), policy.obs_dtype))
    assert actions.shape == (4, 1) and (actions >= 0).all() and (actions < 5).all()
