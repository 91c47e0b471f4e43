"""collect: transitions, their ends and final observations; and what other libraries are given."""
from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk
from puffer_sdk.base.errors import UsageError

pytest_plugins = ["helpers.small_fixtures"]


def by_hand(vec, ticks, act):
    """agent -> [(observation, action, reward, terminated, truncated, next observation or None)]"""
    found = {agent: [] for agent in range(vec.num_agents)}
    vec.all_finals = vec.description.has_all_finals
    vec.reset()
    for _ in range(ticks):
        before = vec.observations.copy()
        alive = np.ones(vec.num_agents) if vec.alive is None else vec.alive.copy()
        vec.actions = act(before)
        vec.step()
        for agent in np.flatnonzero(alive):
            over = vec.terminals[agent] or (vec.alive is not None and not vec.alive[agent])
            then = vec.observations[agent].copy()
            if over:
                then = vec.final_observations[agent].copy() \
                    if vec.has_final is not None and vec.has_final[agent] else None
            cut = bool(vec.truncations[agent])
            found[agent].append((before[agent], vec.actions[agent].copy(), vec.rewards[agent],
                                 bool(over) and not cut, cut, then))
    return [step for steps in found.values() for step in steps]


@pytest.mark.parametrize(("name", "agents", "why"), [
    ("squared", 16, ""),
    ("battle", 12, "it was written past its row, or by another step")])     # one dies before others
def test_transitions_are_what_was_played(name, agents, why, squared, capsys):
    folder = squared if name == "squared" else SPECIMENS / "correct" / name

    def act(obs):       # the same in both vecs
        total = np.nan_to_num(obs).astype(int).sum(1)       # NaN: rows without an agent
        return (np.arange(len(obs))[:, None] + total[:, None] * 7
                + np.zeros(len(vec.act_sizes))) % np.array(vec.act_sizes)

    with puffer_sdk.make(folder, total_agents=agents, seed=3) as vec:
        expected = by_hand(vec, 60, act)
        vec.all_finals = False
        data = puffer_sdk.collect(act, vec, 60 * agents - 1, seed=3)
        assert not vec.all_finals
    assert len(data) == len(expected) and data.terminations.sum() >= 2
    assert bool(why) == ("have no final observation: " + why in capsys.readouterr().err)
    finals = dict(zip(data.episodes[:, 1] - 1, data.has_final))
    for number, (obs, action, reward, over, cut, then) in enumerate(expected):
        assert np.array_equal(data.observations[number], obs)
        assert np.array_equal(np.atleast_1d(data.actions[number]), action.astype(int))
        assert (data.rewards[number], data.terminations[number], data.truncations[number]) == \
            (reward, over, cut)
        assert finals.get(number, True) == (then is not None)
        if then is not None:
            assert np.array_equal(data.next_observations[number], then)
    assert data.episodes[0, 0] == 0 and data.episodes[-1, 1] == len(data)
    assert np.array_equal(data.episodes[1:, 0], data.episodes[:-1, 1])


def test_truncations_and_masks_are_kept(tmp_path):
    with puffer_sdk.wrap("gymnasium:CartPole-v1", num_envs=4, seed=1, workers=0) as vec:
        data = puffer_sdk.collect("random", vec, 400)
        assert data.has_final.all() and not data.truncations.any()
        assert (np.abs(data.finals[:-4][:, 2]) > 0.2).any() and data.action_space.n == 2
        again = puffer_sdk.collect("random", vec, 400, seed=1)
        same = puffer_sdk.collect("random", vec, 400, seed=1)
    assert all(np.array_equal(a, same.arrays()[name]) for name, a in again.arrays().items())
    saved = np.load(same.save(tmp_path / "cart"))
    assert set(saved) == set(same.arrays()) and np.array_equal(saved["rewards"], same.rewards)
    with puffer_sdk.make(SPECIMENS / "correct" / "ladder", num_envs=4) as vec:
        masks = puffer_sdk.collect("random", vec, 40).action_masks
    assert masks.shape == (40, 3) and (masks == 0).any()


def test_other_libraries_are_given_whole_episodes(vec, monkeypatch):
    """Stand-ins for Minari and datasets, which keep what they are given."""
    data = puffer_sdk.collect("random", vec, 640)
    with pytest.raises(UsageError, match="datasets is not installed"):
        monkeypatch.setitem(sys.modules, "datasets", None)
        data.to_huggingface()
    given = {}
    monkeypatch.setitem(sys.modules, "minari", SimpleNamespace(
        data_collector=SimpleNamespace(EpisodeBuffer=lambda **values: SimpleNamespace(**values)),
        create_dataset_from_buffers=lambda name, buffers, **about: given.update(
            about, name=name, buffers=buffers)))
    data.to_minari("squared/random-v0", author="me")
    assert given["author"] == "me" and given["observation_space"] == vec.single_observation_space
    for (first, stop), final, buffer in zip(data.episodes, data.finals, given["buffers"]):
        assert buffer.observations.shape == (stop - first + 1, 121)
        assert np.array_equal(buffer.observations[-1], final)
        assert sum(buffer.terminations) + sum(buffer.truncations) == 1
        assert buffer.terminations[-1] != buffer.truncations[-1]
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(Dataset=SimpleNamespace(
        from_dict=lambda columns: given.update(columns) or SimpleNamespace(with_format=str))))
    assert data.to_huggingface() == "numpy" and given["episode"][-1] == len(data.episodes) - 1
    assert len({len(given[name]) for name in ("observations", "next_observations", "episode")}) == 1


@pytest.mark.parametrize(("policy", "steps", "message"), [
    ("randm", 9, "did you mean 'random'"), ("runs/a/0001", 9, "Policy.load"),
    ("random", 0, "steps cannot be 0"), (lambda obs: np.zeros(3), 9, "wrong shape")])
def test_what_cannot_be_collected(vec, policy, steps, message):
    with pytest.raises(UsageError) as caught:
        puffer_sdk.collect(policy, vec, steps)
    assert re.search(message, str(caught.value))


def test_only_steps_that_take_an_action_are_collected():
    with puffer_sdk.wrap("gymnasium:CartPole-v1", num_envs=2, workers=0,
                         autoreset="next_step") as vec, \
            pytest.raises(UsageError, match="ignore their action"):
        puffer_sdk.collect("random", vec, 9)
    with pytest.raises(UsageError, match="cannot be played"):
        puffer_sdk.collect("random", "my_env", 9)
