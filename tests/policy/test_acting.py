"""puffer_sdk.Policy: a run or a file, and actions in the user's own loop."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from helpers.places import ROOT, SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.policy import evaluate
from puffer_sdk.training import runs

INNINGS = SPECIMENS / "innings"
@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs")
    return puffer_sdk.train(INNINGS, {"env.length": 16, "env.outs": 1}, runs_dir=home).folder


def returns(policy, envs: int = 8, ticks: int = 64, seed: int = 1) -> np.ndarray:
    """(ticks, envs, K) the actions of a play."""
    with puffer_sdk.make(INNINGS, num_envs=envs, seed=seed) as vec:
        vec.reset()
        actions = []
        for _ in range(ticks):
            vec.actions[:] = policy.act(vec.observations)
            actions.append(vec.actions.copy())
            vec.step()
            policy.ended(vec.terminals)
    return np.array(actions)


def test_it_acts_in_a_loop_of_ones_own(run):
    policy = puffer_sdk.Policy.load(run)
    assert policy.path == runs.Run(run).best_path and policy.step == 65536
    assert puffer_sdk.Policy.load(run, best=False).path == runs.Run(run).checkpoints()[-1]
    assert (policy.env, policy.obs_size, policy.act_sizes) == ("innings", 1, (2,))
    assert repr(policy) == ("<Policy innings: 1 float32 observations, actions 2, trained for "
                            "65,536 steps>")
    assert policy.state is None
    played = returns(policy)
    assert set(played.flat) == {0.0, 1.0} and policy.state.shape[0] == policy.n == 8
    assert np.array_equal(returns(puffer_sdk.Policy.load(run)), played)
    assert not np.array_equal(returns(puffer_sdk.Policy.load(run, seed=1)), played)


def test_a_file_of_ones_own_trainer_and_the_best_of_a_run(run, tmp_path):
    with puffer_sdk.make(INNINGS, num_envs=8) as vec, puffer_sdk.Trainer(
            vec, {"train.minibatch_size": 64}) as trainer:
        saved = trainer.save(tmp_path / "mine.safetensors")
    assert puffer_sdk.Policy.load(saved).step == 0
    best = puffer_sdk.Policy.load(run, best=True)
    assert best.path == runs.Run(run).best_path and best.step <= 65536


def test_one_observation_gives_one_action_and_a_greedy_one_is_the_likeliest(run):
    policy = puffer_sdk.Policy.load(str(run), greedy=True)
    first = policy.act(np.zeros(1, np.float32))
    assert first.shape == (1,) and policy.n == 1
    state = policy.state.copy()
    policy.act([0.5])
    assert not np.array_equal(policy.state, state)
    policy.state[:] = state                     # back to where it was
    again = policy.act([0.5])
    policy.ended([1])
    assert not policy.state.any() and again.shape == (1,)
    policy.act([0.5])
    policy.reset()
    assert not policy.state.any()
    assert np.array_equal(policy.act(np.zeros(1)), first)


@pytest.mark.parametrize(("obs", "text"), [
    (np.zeros((3, 2)), "wrong shape"), (np.zeros((1, 1, 1)), "wrong shape"),
    (np.zeros((5, 1)), "number of agents has changed")])
def test_what_does_not_fit_is_refused(obs, text, run):
    policy = puffer_sdk.Policy.load(run)
    policy.act(np.zeros((2, 1)))
    with pytest.raises(UsageError, match=text):
        policy.act(obs)


def test_a_place_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="no such run or checkpoint"):
        puffer_sdk.Policy.load(tmp_path / "0001")


def test_a_network_of_ones_own_trains_and_acts(tmp_path):
    """The documented example: a small convolution, [policy] torch_class."""
    settings = {"policy.torch_class": f"{ROOT}/examples/conv_net.py:Net", "env.length": 16,
                "env.outs": 1, "train.total_timesteps": 3 * 4096, "policy.hidden_size": 16}
    result = puffer_sdk.train(INNINGS, settings, runs_dir=tmp_path)
    assert set(returns(puffer_sdk.Policy.load(result.folder)).flat) <= {0.0, 1.0}
    scores = evaluate.evaluate(INNINGS, settings, model=result.checkpoint).scores
    assert scores["trained"].mean["episode_length"] == 16


def test_the_example_of_the_page(run):
    done = subprocess.run([sys.executable, str(ROOT / "examples" / "act.py"), str(INNINGS),
                           str(run)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "<Policy innings: 1 float32" in done.stdout and "'episode_length': 199.0" in done.stdout


# -- where training starts -------------------------------------------------------------------------


def test_training_starts_from_given_weights(run, tmp_path):
    frozen = {"env.length": 8, "env.outs": 1, "train.seed": 9, "train.learning_rate": 0,
              "train.total_timesteps": 4096}
    result = puffer_sdk.train(INNINGS, frozen, model=run, runs_dir=tmp_path)
    old, new = (puffer_sdk.Policy.load(place)._past.tensors for place in (run, result.folder))
    assert all(np.array_equal(old[name], new[name]) for name in ("encoder", "decoder"))
    kept = result.folder / runs.Run(result.folder).info["model"]
    assert kept.resolve() == runs.Run(run).best_path.resolve()
    assert puffer_sdk.Policy.load(result.folder).step == 4096


@pytest.mark.parametrize(("settings", "options", "text"), [
    ({"policy.hidden_size": 32}, {}, "tensor 'encoder' has the wrong size"),
    ({}, {"resume": "latest"}, "cannot be combined")])
def test_weights_that_do_not_fit_are_named(settings, options, text, run, tmp_path):
    with pytest.raises(UsageError, match=text):
        puffer_sdk.train(INNINGS, settings, model=run, runs_dir=run.parent.parent
                         if options else tmp_path, **options)
    assert not options or len(runs.list_runs(run.parent)) == 1
    assert options or not runs.list_runs(tmp_path / "innings")
