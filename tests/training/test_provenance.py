"""A run is evidence: what it was made of, who groups by that, and the same once more."""
from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base import trust
from puffer_sdk.base.errors import UsageError
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.settings import config
from puffer_sdk.training import plotting, provenance, repeating
from puffer_sdk.training.runs import Run

ONE_EPOCH = {**SMALL, "train.total_timesteps": 32 * 8}
SHORT = {"eval.episodes": 8, "vec.total_agents": 8, "train.minibatch_size": 64}


@pytest.fixture
def env(squared, tmp_path, monkeypatch):
    """squared in a project of its own, with what it was compiled to."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(squared, tmp_path / "squared",
                                ignore=shutil.ignore_patterns(".git")))


def own_run(env, seed=1, tag="", **more) -> Run:
    """A run of one epoch, trained in this process."""
    with puffer_sdk.make(env, num_envs=32, seed=1) as vec, \
            puffer_sdk.Trainer(vec, {**ONE_EPOCH, "train.seed": seed, **more}) as trainer, \
            puffer_sdk.Run(trainer, tag=tag) as run:
        trainer.rollout()
        trainer.update()
        run.log(env={"perf": 0.1 * seed})
        run.save()
    return Run(run.folder)


def edit(env, old="", new="// another line\n") -> None:
    header = env / "squared.h"
    text = header.read_text()
    assert old in text
    header.write_text(text.replace(old, new) if old else text + new)


def named(env) -> provenance.Made:
    source = env_source.find(env)
    return provenance.of_folder(source.folder, source.own_inis())


def test_a_run_says_what_it_was_made_of(env, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/loop.py", f"{env}/x", os.path.expanduser("~/y")])
    git = ["git", "-C", env.parent, "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "squared/squared.h", "squared/squared.ini"],
                  ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    run = own_run(env)
    code = run.info["code"]
    assert code["files"]["squared/squared.h"]["copied"] and code["dirty"] is False
    assert (run.folder / "code/squared/squared.h").read_bytes() == (
        env / "squared.h").read_bytes()
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    assert code["commit"] == head.stdout.strip() and "-O3" in code["flags"]
    assert code["machine"]["puffer_sdk"] == puffer_sdk.__version__
    assert code["command"] == "loop.py squared/x '~/y'"
    text = (run.folder / "run.json").read_text()
    assert socket.gethostname() not in text and os.path.expanduser("~/") not in text
    assert str(env.parent) not in text and run.status == "finished"
    edit(env)
    assert provenance._commit(env, named(env).files.values())[1] is True
    assert provenance._commit(env, [env / "untracked.h"])[1] is False


def test_files_are_those_that_the_code_includes_and_the_network_imports(env, tmp_path):
    (tmp_path / "common.h").write_text("#define COMMON 1\n")
    edit(env, new='#include "../common.h"\n')
    (tmp_path / "net.py").write_text("import os\nimport layers\n")
    (tmp_path / "layers.py").write_text("SIZE = 3\n" + "# " * provenance.MOST)
    made = provenance.of_folder(env, [env / "squared.ini",
                                      *provenance.network_files(f"{tmp_path / 'net.py'}:Net")])
    assert set(made.files) == {"squared/squared.h", "squared/squared.ini", "common.h", "net.py",
                               "layers.py"}
    run = own_run(env)
    kept = provenance.keep(run, made)
    assert [name for name, each in kept["files"].items() if not each["copied"]] == ["layers.py"]
    for name in ("common.h", "layers.py", "net.py"):
        (tmp_path / name).write_text("int another;\n" if name.endswith("h") else "SIZE = 4\n")
        assert provenance.changes(kept, replace(made))[-1] == name
    assert provenance.changes(kept, replace(
        made, packages={"gymnasium": "2"}))[
        -1] == "gymnasium"
    hashes = replace(made).hash
    (env / "squared.ini").write_text("[train]\nseed = 3\n")      # settings are no code
    assert replace(made).hash == hashes


def test_runs_of_other_code_are_apart(env, capsys):
    first, second = own_run(env, 1), own_run(env, 2)
    edit(env)
    third, again = own_run(env, 1), own_run(env, 1)
    _, curves = plotting.curves([first, second, third, again])
    assert [[run.number for run in curve.runs] for curve in curves] == [[1, 2], [4]]
    assert all("code " in curve.label for curve in curves)
    assert cli.main(["runs", "squared"]) == 0
    out = capsys.readouterr().out.splitlines()
    codes = [line.split()[out[0].split().index("code") + 1] for line in out[1:]]  # an age: "3 s"
    assert codes[0] == codes[1] != codes[2] == codes[3]
    assert cli.main(["runs", "compare", "2", "3", "--env", "squared", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found["code"]) == ["squared/squared.h"]
    assert found["settings"] == {"train.seed": ["2", "1"]}
    assert puffer_sdk.runs(env)[2]["code"] == codes[2]


def test_eval_says_that_the_code_has_changed_and_plays_it_as_trained(env, capsys):
    run = own_run(env)
    assert puffer_sdk.evaluate(env, SHORT, model="1").changed == ()
    edit(env, "-1.0f", "-0.5f")
    today = puffer_sdk.evaluate(env, SHORT, model="1")
    assert today.changed == ("squared.h",)
    assert "changed since run 1 was trained: squared.h" in " ".join(
        capsys.readouterr().err.split())
    then = puffer_sdk.evaluate(env, SHORT, model="1", as_trained=True)
    assert then.env == "squared" and then.changed == ()
    idle = [result.scores["idle"].mean["score"] for result in (then, today)]
    assert idle == [-1.0, -0.5]
    with pytest.raises(UsageError, match="--as-trained plays the copies"):
        puffer_sdk.evaluate(env, SHORT, model=None, as_trained=True)
    assert cli.main(["eval", "squared", "--as-trained", "--gif", "a.gif"]) == 2
    copy = run.folder / "code/squared/squared.h"
    copy.write_text(copy.read_text() + "\n")
    with pytest.raises(UsageError, match="not what the run was trained with"):
        puffer_sdk.evaluate(env, SHORT, model="1", as_trained=True)
    copy.unlink()
    with pytest.raises(UsageError, match="as it was trained") as caught:
        puffer_sdk.evaluate(env, SHORT, model="1", as_trained=True)
    assert "squared/squared.h" in caught.value.actual


def test_copies_of_somebody_else_are_not_run(env):
    run = own_run(env)
    moved = Run(Path(shutil.copytree(run.folder, run.folder.with_name("0002"))))
    source = env_source.find(env)
    with pytest.raises(UsageError, match="no command of yours copied") as caught:
        repeating.prepare_as_trained(moved, source, SHORT, verbose=False)
    assert "--trust" in caught.value.hint and not (moved.folder / "code/squared/build").exists()
    trust.trust_everything()
    shutil.copytree(env / "build", moved.folder / "code/squared/build")
    prepared = repeating.prepare_as_trained(moved, source, SHORT, verbose=False)
    assert prepared.folder == moved.folder / "code/squared" and prepared.cwd == env


WALK = """\
import gymnasium as gym
import numpy as np
from rules import PAY


class Walk(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.tick = 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.tick += 1
        return np.zeros(2, np.float32), PAY, self.tick == 4, False, {}
"""


@pytest.mark.parametrize("name, where, imported", [
    ("walk.py:Walk", ".", "rules"),
    ("walks.deep.walk:Walk", "walks/deep", ".rules")])
def test_a_python_environment_as_trained(name, where, imported, tmp_path, monkeypatch):
    """With the module that it imports, which lies beside it, or in its package."""
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / where
    folder.mkdir(parents=True, exist_ok=True)
    for package in ("walks", "walks/deep") if where != "." else ():
        (tmp_path / package / "__init__.py").touch()
    (folder / "walk.py").write_text(WALK.replace("from rules", f"from {imported}"))
    (folder / "rules.py").write_text("PAY = 1.0\n")
    with puffer_sdk.wrap(name, 32, workers=1) as vec, \
            puffer_sdk.Trainer(vec, ONE_EPOCH) as trainer, puffer_sdk.Run(trainer) as run:
        trainer.rollout()
        trainer.update()
        run.save()
    assert {Path(name).name for name in Run(run.folder).info["code"]["files"]} >= {
        "walk.py", "rules.py"}
    (folder / "rules.py").write_text("PAY = 1.0 + 1.0\n")      # of another size: Python looks
    few = {**SHORT, "eval.episodes": 4, "train.horizon": 8}
    then, today = (puffer_sdk.evaluate(name, few, model="1", as_trained=each)
                   for each in (True, False))
    assert today.changed == ("rules.py",) and then.env == today.env == name
    returns = [each.scores["random"].mean["episode_return"] for each in (then, today)]
    assert returns == [4.0, 8.0]


def test_what_registers_an_environment_is_no_copy(tmp_path):
    code = {"files": {"place/mine.py": {}}}
    with pytest.raises(UsageError, match="modules that register"):
        repeating._of_copies(env_source.PythonSource("gymnasium:mine:Walk-v0"), tmp_path, code)
    with pytest.raises(UsageError, match="hold no other.py"):
        repeating._of_copies(env_source.PythonSource("other:Walk"), tmp_path, code)


def test_like_repeats_a_run_and_says_what_differs(env):
    run = own_run(env, 5)
    (env / "squared.ini").write_text("[train]\nlearning_rate = 0.5\n")
    edit(env)
    prepared = repeating.prepare_like(run, env_source.find(env), {"train.seed": 6}, verbose=False)
    assert prepared.config.train.horizon == 8 and prepared.config.train.learning_rate < 0.1
    said = repeating.differences(run, prepared.config, provenance.look(prepared, prepared.config))
    assert said == ["train.seed 5 -> 6", "changed code: squared.h"]
    facts = run.info
    facts["code"]["machine"]["compiler"] = "cc 1"
    run.set_progress(code=facts["code"])
    assert repeating.differences(run, prepared.config, named(env))[-1].startswith(
        "compiler cc 1 -> ")
    run.set_progress(code=None)
    assert "not known" in repeating.differences(run, prepared.config, named(env))[-1]
    with pytest.raises(UsageError, match="no copies of its code"):
        repeating.prepare_as_trained(run, env_source.find(env), {}, verbose=False)
    assert repeating.env_of(run.folder) == env.resolve() and repeating.env_of("1") is None
    with pytest.raises(UsageError, match="--resume and --like"):
        puffer_sdk.train(env, like="1", resume="1")


def test_a_run_that_went_on_with_other_code_is_of_both(env):
    run = own_run(env)
    first = run.info["code"]["hash"]
    edit(env)
    run.set_progress(code=provenance.keep(run, named(env)))
    assert run.info["code"]["before"] == [first]
    assert Run(run.folder).codes == (first, run.info["code"]["hash"])
    assert provenance.keep(run, named(env))["before"] == [first]


def test_a_run_of_ones_own_loop(env):
    with puffer_sdk.make(env, num_envs=4, seed=3) as vec, pytest.raises(KeyboardInterrupt), \
            puffer_sdk.Run(vec, {"lr": 0.1, "seed": 8}, tag="mine") as run:
        vec.reset()
        vec.step([0, 0, 0, 0])
        run.log({"novelty": 0.25}, env={"perf": 0.5})
        with pytest.raises(UsageError, match="'novelty' is no number"):
            run.log({"novelty": "high"})
        with pytest.raises(UsageError, match="no Trainer to save"):
            run.save()
        torch = pytest.importorskip("torch")
        with pytest.raises(UsageError, match="does not import"):
            run.save(torch.nn.Linear(2, 2))
        raise KeyboardInterrupt
    (record,) = puffer_sdk.runs(env)
    assert (record["status"], record["tag"], record["step"]) == ("interrupted", "mine", 4)
    assert (record["loop.lr"], record["train.seed"], record["env.size"]) == (0.1, 8, 11)
    assert record["curve"][0]["novelty"] == 0.25 and record["curve"][0]["env/perf"] == 0.5
    assert Path(__file__).name in {Path(name).name for name in Run(
        run.folder).info["code"]["files"]}
    assert plotting.curves([Run(run.folder)], "novelty")[1][0].mean == [0.25]
    with puffer_sdk.wrap("gymnasium:CartPole-v1", 2, workers=0) as vec, puffer_sdk.Run(vec) as own:
        own.log({"step": 2})
    assert own.folder.parts[-4:] == ("runs", "gymnasium", "CartPole-v1", "0001")
    assert "gymnasium" in Run(own.folder).info["code"]["packages"]
    with pytest.raises(UsageError, match="a Run is of a Trainer or a VecEnv"):
        puffer_sdk.Run("my_env")


@pytest.mark.parametrize(("now", "changed"), [("1", []), ("3", ["loop.py"])])
def test_a_loop_that_holds_the_network_is_code_of_it(now, changed):
    then = {"files": {"a/loop.py": {"sha256": "1"}, "a/a.h": {"sha256": "2"}},
            "loop": ["a/loop.py"]}
    found = SimpleNamespace(hashes={"a/a.h": "2", "a/loop.py": now}, loop=(), packages={})
    assert provenance.changes(then, found) == changed


def test_the_section_of_a_loop_is_read_in_a_run_alone(env, tmp_path):
    ini = tmp_path / "config.ini"
    ini.write_text("[loop]\nlr = 0.1\n")
    assert config.resolve(env, ini=ini, theirs=True).train.gamma
    with pytest.raises(UsageError, match=r"no section \[loop\]"):
        config.resolve(env, ini=ini)
