"""Networks of one's own see what the environment gave: shapes, types, values, without copies."""
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from helpers.places import SPECIMENS
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.base.errors import UsageError
from puffer_sdk.interop.python_envs import env_source, layouts
from puffer_sdk.interop.python_envs.makers import find_callable
from puffer_sdk.interop.python_envs.space_rows import observations_of

GAMES = SPECIMENS / "python_envs" / "games.py"
NETS = SPECIMENS / "python_envs" / "nets.py"
SMALL = {"train.horizon": 16, "train.minibatch_size": 128, "vec.total_agents": 16,
         "policy.hidden_size": 16, "train.total_timesteps": 16 * 16 * 4}


def samples(space, count=4):
    space.seed(2)
    return [space.sample() for _ in range(count)]


def flat(value, prefix=""):
    """{path: array} of nested parts."""
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, tuple):
        pairs = enumerate(value)
    else:
        return {prefix: value}
    return {name: leaf for key, part in pairs
            for name, leaf in flat(part, f"{prefix}.{key}").items()}


@pytest.mark.parametrize("form", [np.asarray, torch.from_numpy], ids=["numpy", "torch"])
def test_raw_rows_give_back_every_value_in_its_own_type(form):
    space = find_callable(f"{GAMES}:Camera")().observation_space
    plan, values = layouts.with_rows(observations_of(space), True), samples(space)
    assert plan.raw and plan.dtype == np.uint8 and plan.size % 8 == 0
    rows = np.zeros((4, plan.size), np.uint8)
    for row, value in zip(rows, values):
        plan.writer(row)(value)
    found = flat(plan.unflatten(form(rows)))
    parts = [flat(value) for value in values]
    assert list(found) == list(parts[0])
    for name, leaf in found.items():
        wanted = np.stack([each[name] for each in parts])
        assert leaf.shape == wanted.shape and np.asarray(leaf).dtype == wanted.dtype, name
        assert np.array_equal(np.asarray(leaf), wanted), name
        assert np.shares_memory(np.asarray(leaf), rows), name
    again, both = np.zeros_like(rows), plan.unflatten(form(rows.reshape(2, 2, -1)))
    plan.write_all(again, {key: np.stack([value[key] for value in values]) if key != "flags" else
                           tuple(np.stack([value["flags"][i] for value in values]) for i in (0, 1))
                           for key in space.spaces})
    assert np.array_equal(again, rows) and tuple(both["image"].shape) == (2, 2, 8, 8, 3)


def test_rows_of_one_type_stay_numbers():
    for space, dtype in ((spaces.Box(-1, 1, (2,), np.float64), np.float32),
                         (spaces.Dict({"a": spaces.Discrete(3), "b": spaces.Discrete(2)}),
                          np.float32),
                         (spaces.Tuple((spaces.Box(0, 255, (2,), np.uint8),) * 2), np.uint8)):
        plan = observations_of(space)
        assert layouts.with_rows(plan, True) is plan and plan.dtype == dtype


def test_a_layout_survives_json_and_turns_into_rows_of_numbers_again():
    import json

    for name in ("Rich", "Camera", "Sorted"):
        plain = observations_of(find_callable(f"{GAMES}:{name}")().observation_space)
        raw = layouts.with_rows(plain, True)
        assert raw.raw and layouts.with_rows(raw, False) == plain
        for plan in (plain, raw):
            found = layouts.from_dict(json.loads(json.dumps(plan.to_dict())))
            assert found == plan and type(found) is type(plan)
            assert np.array_equal(found.example(3), plan.example(3))


def test_examples_lie_in_the_space():
    space = find_callable(f"{GAMES}:Camera")().observation_space
    plan = layouts.with_rows(observations_of(space), True)
    rows = plan.example(50)
    for row in rows:
        parts = plan.unflatten(row)
        value = {**parts, "mode": np.int64(parts["mode"])}
        assert space.contains(value), value
    assert {*plan.unflatten(rows)["mode"].tolist()} == {5, 6}


@pytest.mark.parametrize("ids", [{"mode": 4}, {"mode": 7}, {"gears": [0, 3]}, {"gears": [-1, 0]}])
def test_raw_rows_refuse_ids_outside_their_space(ids):
    space = spaces.Dict({"mode": spaces.Discrete(2, start=5), "gears": spaces.MultiDiscrete([3, 3]),
                         "speed": spaces.Box(-1, 1, (2,), np.float32)})
    plan = layouts.with_rows(observations_of(space), True)
    row = np.zeros(plan.size, np.uint8)
    write = plan.writer(row)
    good = {"mode": np.int64(6), "gears": np.array([2, 0]), "speed": np.ones(2, np.float32)}
    write(good)
    assert plan.unflatten(row)["mode"] == 6 and [*plan.unflatten(row)["gears"]] == [2, 0]
    with pytest.raises(IndexError):
        write({**good, **{name: np.array(value) for name, value in ids.items()}})


@pytest.mark.parametrize("workers", [0, 2])
def test_wrap_gives_raw_rows_on_request(workers):
    with puffer_sdk.wrap(f"{GAMES}:Camera", 3, workers=workers, seed=4, raw=True) as envs:
        envs.reset()
        for _ in range(9):
            envs.step(np.zeros(3))
        seen = envs.unflatten()
        assert seen["image"].dtype == np.uint8 and seen["big"].dtype == np.int64
        assert seen["where"].shape == (3, 3) and set(seen["mode"]) <= {5, 6}
        assert np.shares_memory(seen["where"], envs.observations)
        raw = {name: np.array(leaf) for name, leaf in flat(seen).items()}
    with puffer_sdk.wrap(f"{GAMES}:Camera", 3, workers=0, seed=4) as envs:
        envs.reset()
        for _ in range(9):
            envs.step(np.zeros(3))
        plain = flat(envs.unflatten())
        assert envs.observations.dtype == np.float32
    for name, leaf in raw.items():
        if name == ".mode":
            leaf = np.eye(2)[leaf - 5]
        if name == ".flags.1":
            assert np.array_equal(plain[name].argmax(1), leaf[:, 0])
            continue
        assert np.array_equal(plain[name], leaf.astype(np.float32)), name


@long_only
def test_a_network_of_ones_own_trains_evaluates_acts_and_is_exported(tmp_path, monkeypatch):
    """Seeing.step and .sequence assert the types and shapes of all parts."""
    monkeypatch.chdir(tmp_path)
    name = f"{GAMES}:Camera"
    run = puffer_sdk.train(name, {**SMALL, "policy.torch_class": f"{NETS}:Seeing",
                                  "train.total_timesteps": 16 * 16 * 8})
    assert run.steps == 16 * 16 * 8 and run.metrics["loss/grad_norm"] > 0
    found = puffer_sdk.evaluate(name, {"eval.episodes": 8})
    assert {*found.scores} == {"trained", "random", "idle"}
    policy = puffer_sdk.Policy.load(run.folder)
    with puffer_sdk.wrap(name, 2, workers=1, raw=True) as envs:
        actions = policy.act(envs.reset())
        assert actions.shape == (2, 1) and policy.layout == envs.layout
        path = puffer_sdk.export(run.folder, to="torch", output="seeing.pt2")
        logits = torch.export.load(path).module()(torch.from_numpy(envs.observations),
                                                  torch.zeros(2, 0))[0]
        assert logits.shape == (2, 8)
    rows = [env_source.find(name).prepare(settings).spec.facts.observations.dtype for settings in (
        {}, {"policy.torch_class": f"{NETS}:Seeing"})]
    assert rows == [np.float32, np.uint8]           # the built-in network has numbers


@long_only
def test_a_network_that_takes_no_layout_is_refused_raw_rows(tmp_path):
    with pytest.raises(UsageError, match="does not take a layout, and its rows are bytes"):
        puffer_sdk.train(f"{GAMES}:Camera", {**SMALL, "policy.torch_class": f"{NETS}:Blind"},
                         runs_dir=tmp_path)


def test_compiled_rows_unflatten_into_themselves():
    plan = layouts.plain(5)
    rows = torch.rand(2, 3, 5)
    assert plan.unflatten(rows).data_ptr() == rows.data_ptr()
    assert plan.unflatten(rows).shape == rows.shape


@long_only
def test_the_program_of_the_guide_learns(tmp_path):
    from helpers.places import ROOT
    from helpers.sessions import blocks

    room, *_ = blocks(ROOT / "docs" / "guides" / "python.md", "python")
    (tmp_path / "room.py").write_text(room)
    done = subprocess.run([sys.executable, "room.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (reached,) = re.findall(r"return ([\d.]+) of 16", done.stdout)
    assert float(reached) > 3.5         # at random: 2.0


@pytest.mark.parametrize("made", [
    find_callable(f"{GAMES}:Rich"), lambda: gymnasium.make("Pendulum-v1"),
    lambda: gymnasium.make("CartPole-v1"), find_callable(f"{GAMES}:Guess")],
    ids=["Rich", "Pendulum", "CartPole", "Guess"])
def test_a_policy_takes_what_the_space_holds_and_gives_what_the_action_space_holds(made, tmp_path):
    with puffer_sdk.wrap(made, 4, workers=0) as envs:
        trainer = puffer_sdk.Trainer(envs, {
            "train.horizon": 4, "train.minibatch_size": 16, "policy.hidden_size": 8})
        trainer.save(tmp_path / "policy.safetensors")
        trainer.close()
    env, policies = made(), [puffer_sdk.Policy.load(tmp_path / "policy.safetensors", seed=3)
                             for _ in range(2)]
    ob, info = env.reset(seed=0)
    for _ in range(3):
        action = policies[0].act(ob, info.get("action_mask"))
        assert action in env.action_space
        row = policies[1].layout.row_of(ob)[None]           # the same, by rows and heads
        mask = info.get("action_mask")
        heads = policies[1].act(row, None if mask is None else mask[None])
        assert str(policies[1].actions.reader()(heads)[0]) == str(action)
        ob, _, over, _, info = env.step(action)
    with pytest.raises(UsageError, match="no observation of the space"):
        policies[0].act({"nothing": 1})
