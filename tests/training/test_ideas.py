"""The examples of ideas, examples/ideas/: short, and they do what they say."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import long_only, some_or_all
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.projects import scaffold
from puffer_sdk.training import checkpoint

pytest_plugins = ["helpers.small_fixtures"]
IDEAS = ROOT / "examples" / "ideas"


def test_they_are_short():
    found = sorted(IDEAS.glob("*.py"))
    assert len(found) >= 2
    assert all(len(path.read_text().splitlines()) <= (150 if path.stem == "ppo_loop" else 60)
               for path in found)


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_what_was_seen_pays_less_and_its_counts_are_kept(vec, backend, tmp_path):
    spec = {**SMALL, "train.backend": backend, "train.reward": f"{IDEAS}/curiosity.py:Curious"}
    with puffer_sdk.Trainer(vec, spec) as trainer:
        rollout = trainer.rollout()
        paid = rollout.rewards.copy()
        assert (paid[:, -1] > vec.rewards).all()        # the env's, of the last tick
        losses = trainer.update()
        kept = checkpoint.load(trainer.save(tmp_path / "a.safetensors")).tensors
        counts = kept["own.reward.counts"]
        bonus = paid[:, -1] - vec.rewards
        trainer.load(tmp_path / "a.safetensors")
        again = trainer._code.reward(rollout) - paid    # of the same observations
    assert counts.sum() == 32 * 8 and losses["reward"] == pytest.approx(paid.mean())
    assert (again > 0).all() and (again[:, -1] < bonus).all()


def test_the_auxiliary_loss_learns_to_guess_rewards(vec):
    pytest.importorskip("torch")
    spec = {**SMALL, "policy.torch_class": f"{IDEAS}/auxiliary_loss.py:Net",
            "train.torch_loss": f"{IDEAS}/auxiliary_loss.py:loss",
            "train.total_timesteps": 32 * 8 * 40}
    with puffer_sdk.Trainer(vec, spec) as trainer:
        before = trainer.parameters["guess.bias"].copy()
        for _ in range(3):
            trainer.rollout()
            error = trainer.update()["guess"]
        assert error > 0 and not np.array_equal(before, trainer.parameters["guess.bias"])


def test_its_network_fits_continuous_heads():
    torch = pytest.importorskip("torch")
    module = load("auxiliary_loss")
    assert module.Net(4, (3, 1), 8, 1).logstd.shape == (1,)
    guesses = module.Net(4, (3, 1), 8, 1).sequence(torch.zeros(2, 3, 4), None, None)[2]
    assert guesses.shape == (2, 3)


def load(name):
    """A module of examples/ideas/ by its name, or that of a file."""
    path = IDEAS / f"{name}.py" if isinstance(name, str) else name
    found = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_a_clone_of_collected_data_plays_as_its_policy_does(vec, squared, tmp_path, monkeypatch,
                                                            capsys):
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    module = load("offline_data")

    def walk(obs):
        """To the target's row, then to it."""
        grid = obs.reshape(len(obs), 11, 11)
        here, there = ((grid == what).reshape(len(obs), -1).argmax(1) for what in (1, 2))
        down, right = there // 11 - here // 11, there % 11 - here % 11
        return np.select([down > 0, down < 0, right < 0], [1, 2, 3], 4)

    data = puffer_sdk.collect(walk, vec, 40_000)
    assert module.returns(data) == 1
    play = module.player(module.clone(data))
    assert module.returns(puffer_sdk.collect(play, vec, 3_000)) > 0.6
    with puffer_sdk.Trainer(vec, SMALL) as trainer:
        module.main(squared, trainer.save("policy.safetensors"), 2_000)
    assert "of its clone: 1.000" in capsys.readouterr().out         # two ticks: only wins end
    assert len(np.load("offline.npz")["rewards"]) == 2048


@pytest.mark.parametrize("name", some_or_all(["squared", "pendulum", "ladder"], 0))
def test_the_loop_of_new_runs_and_leaves_a_policy(name, squared, tmp_path, monkeypatch):
    """One head or a mask or a continuous action."""
    pytest.importorskip("torch")
    folder = tmp_path / name
    shutil.copytree(squared if name == "squared" else ROOT / "examples" / name
                    if name == "pendulum" else SPECIMENS / "correct" / name, folder,
                    ignore=shutil.ignore_patterns("build", "runs"))
    scaffold.new(name, output_dir=tmp_path, loop=True)
    with pytest.raises(UsageError, match="has a loop.py already"):
        scaffold.new(name, output_dir=tmp_path, loop=True)
    module = load(folder / "loop.py")
    small = module.Settings(str(folder), agents=32, horizon=8, total=512, hidden=16, minibatch=128)
    monkeypatch.setitem(sys.modules, "loop", module)
    module.train(small, {})
    (record,) = puffer_sdk.runs(folder)
    assert record["loop.lr"] == small.lr and len(record["curve"]) == 2
    assert record["curve"][1]["loss/entropy"] > 0 and record["status"] == "finished"
    policy = puffer_sdk.Policy.load(record["folder"])
    assert policy.act(np.zeros((2, policy.obs_size))).shape == (2, 1)


@long_only
def test_the_loop_of_new_learns(tmp_path):
    scaffold.new("my_env", output_dir=tmp_path, loop=True)
    subprocess.run([sys.executable, tmp_path / "my_env" / "loop.py"], check=True, cwd=tmp_path,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])})
    scores = puffer_sdk.evaluate(tmp_path / "my_env").scores
    assert scores["trained"].mean["perf"] > 0.75 > 0.2 > scores["random"].mean["perf"]


def test_the_curriculum_rises_with_the_policy(tmp_path):
    spec = {"train.on_epoch": f"{IDEAS}/curriculum.py:Rises", "vec.total_agents": 256,
            "train.horizon": 64, "train.total_timesteps": 256 * 64 * 40, "train.device": "cpu",
            "eval.episodes": 10, "train.learning_rate": 0.03}
    done = puffer_sdk.train("cartpole", spec, runs_dir=tmp_path / "runs")
    rows = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
    levels = [row["level"] for row in rows if "level" in row]
    assert levels == sorted(levels) and levels[0] == 25 and levels[-1] > 25
    lengths = [row["env/episode_length"] for row in rows if row.get("level") == 25]
    assert max(lengths[2:]) <= 25
    facts = checkpoint.load(done.checkpoint).facts
    assert facts["worlds"] == [{"tick": 0, "key": "max_steps", "value": str(int(levels[-1])),
                                "envs": None}]


@pytest.mark.parametrize("backend", some_or_all(["native", "torch"], 0))
def test_own_advantages_are_generalised_advantage_estimation(vec, backend):
    """Against the definition, a tick at a time; and training takes them."""
    found = load("own_advantage")
    spec = {**SMALL, "train.backend": backend, "train.norm_returns": False,
            "train.advantage": f"{IDEAS}/own_advantage.py:gae"}
    with puffer_sdk.Trainer(vec, spec) as trainer:
        rollout = trainer.rollout()
        advantages, returns = found.gae(rollout)
        for agent in range(3):
            carried, following = 0.0, rollout.bootstrap[agent]
            for t in reversed(range(8)):
                going = rollout.ended[agent, t] == 0
                delta = rollout.rewards[agent, t] + 0.99 * going * following \
                    - rollout.values[agent, t]
                carried = delta + 0.99 * 0.95 * going * carried
                following = rollout.values[agent, t]
                assert advantages[agent, t] == pytest.approx(carried, abs=1e-5)
        assert np.allclose(returns, advantages + rollout.values)
        assert trainer.update()["loss/entropy"] > 0


def test_a_time_limit_goes_on_with_the_final_value():
    rollout = SimpleNamespace(**{name: np.array([values], np.float32) for name, values in {
        "rewards": [1, 1], "values": [0.5, 0.25], "ended": [1, 0], "truncated": [1, 0],
        "finals": [4, np.nan]}.items()}, bootstrap=np.array([2], np.float32))
    advantages, _ = load("own_advantage").gae(rollout)
    assert np.allclose(advantages, [[1 + 0.99 * 4 - 0.5, 1 + 0.99 * 2 - 0.25]])


def test_seeds_of_an_experiment_are_runs_that_plot_knows(squared, tmp_path, monkeypatch, capsys):
    module = load("five_seeds")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "squared"
    shutil.copytree(squared, folder, ignore=shutil.ignore_patterns("runs"))
    small = {name: value for name, value in SMALL.items() if name != "train.total_timesteps"}
    module.METRIC = "loss/entropy"
    ((mean, low, high),) = module.main(folder, [small], 512, seeds=(1, 2))
    assert low <= mean <= high and low < high and "loss/entropy" in capsys.readouterr().out
    records = puffer_sdk.runs(folder)
    assert sorted(record["train.seed"] for record in records) == [1, 2]
    assert len({record["code"] for record in records}) == 1
    assert module.interval([3.0])[1:] == (3, 3)


PLANTED = {         # what was right, what the fault is, and what the hint of its finding names
    "PUF302": ("    observe(env);\n}\n\n// Advance", "}\n\n// Advance"),
    "PUF421": ("    env->log.n += 1.0f;\n", ""),
    "PUF311": ("    env->rewards[0] = reward;\n", ""),
    "PUF404": ("    env->tick = 0;\n", ""),
    "compile": ("    int row, col;", "    int row col;")}


@long_only
def test_five_planted_faults_are_repaired_from_json_alone(tmp_path, monkeypatch):
    """The assistant knows a repair for each code, and nothing of which faults were planted."""
    module, name = load("repair"), "game"
    monkeypatch.setattr(module, "CHECK", [sys.executable, "-m", "puffer_sdk", "check", "--format",
                                          "json"])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    folder = scaffold.new(name, output_dir=tmp_path).folder
    text = right = (folder / f"{name}.h").read_text()
    for good, bad in PLANTED.values():
        assert text.count(good) == 1
        text = text.replace(good, bad)
    (folder / f"{name}.h").write_text(text)
    file = f"{name}.h"

    def assistant(question):
        """A repair where the finding says what is missing, at the line that it names."""
        lines, edits = question["files"][file].splitlines(keepends=True), []
        for finding in question["findings"]:
            said = f"{finding['message']} {finding['hint']}"
            for words, edit in (
                    ("expected ';'", ("int row col;", "int row, col;")),
                    ("write the whole observation in c_reset",
                     ("}\n\n// Advance", "    observe(env);\n}\n\n// Advance")),
                    ("env->log.n += 1.0f", ("    c_reset(env);               //",
                                            "    env->log.n += 1.0f;\n    c_reset(env);  //")),
                    ("never writes rewards", ("    env->terminals[0] = done",
                                              "    env->rewards[0] = reward;\n"
                                              "    env->terminals[0] = done")),
                    ("set tick in c_reset", ("    env->col = env->size / 2;\n",
                                             "    env->col = env->size / 2;\n"
                                             "    env->tick = 0;\n"))):
                if words in said and edit not in edits:
                    assert 1 <= finding["line"] <= len(lines)
                    edits.append(edit)
        return [{"file": file, "old": old, "new": new} for old, new in edits]

    history = module.repair(folder, assistant)
    assert len(history) <= 4 and not history[-1] and (folder / file).read_text() != right


def test_edits_apply_where_their_text_is_once(tmp_path):
    module = load("repair")
    (tmp_path / "a.h").write_text("int a;\nint b;\n")
    left = module.apply(tmp_path, [{"file": "a.h", "old": "int a;", "new": "int c;"},
                                   {"file": "a.h", "old": "int", "new": "x"},
                                   {"file": "../b.h", "old": "int", "new": "x"}])
    assert (tmp_path / "a.h").read_text() == "int c;\nint b;\n" and len(left) == 2
    answers = iter([[{"line": 1}], []])
    module.check = lambda env: next(answers)
    history = module.repair(tmp_path, lambda question: [
        {"file": "a.h", "old": "int b;", "new": ""}])
    assert history == [[{"line": 1}], []] and (tmp_path / "a.h").read_text() == "int c;\n\n"
