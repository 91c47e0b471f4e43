"""Worlds that change: set() takes effect at the next reset, on any number of threads alike; what
cannot begin is refused."""
import shutil
import zlib

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.shared import once
from helpers.small_trainer import SMALL

import puffer_sdk
from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.env import worlds
from puffer_sdk.settings import world_values


@pytest.fixture(scope="session")
def corridor(tmp_path_factory):
    return once(tmp_path_factory, "corridor", lambda folder: (
        shutil.copytree(SPECIMENS / "corridor", folder / "corridor"),
        puffer_sdk.build(folder / "corridor"))) / "corridor"


def make(corridor, copies=8, threads=1, **settings):
    return puffer_sdk.make(corridor, num_envs=copies, seed=3, threads=threads,
                           env_settings=settings)


def play(vec, ticks, dice):
    """Random play; a checksum of all that the envs write."""
    crc = 0
    for _ in range(ticks):
        vec.actions[:, 0] = dice.integers(2, size=vec.num_agents)
        for array in vec.step():
            crc = zlib.crc32(array.tobytes(), crc)
    return crc


def goals(vec):
    return np.abs(np.rint(vec.observations[:, 1] * 20)).astype(int)


def test_it_begins_with_the_next_episode_of_these_envs(corridor):
    with make(corridor) as vec:
        vec.reset()
        first = [vec.env_seed(env) for env in range(8)]
        vec.set("level", 7, envs=slice(0, 4))
        assert vec.waiting == 4 and (goals(vec) == 2).all()
        changed = np.zeros(8, bool)
        vec.actions[:] = 0
        for _ in range(40):
            before = goals(vec)
            vec.step()
            changed |= vec.terminals != 0
            wanted = np.where(changed[:4], 7, 2)
            assert (goals(vec)[:4] == wanted).all() and (goals(vec)[4:] == 2).all()
            assert (goals(vec)[vec.terminals == 0] == before[vec.terminals == 0]).all()
            assert (vec.rewards[vec.terminals != 0] == (vec.truncations[vec.terminals != 0] == 0)
                    ).all()
        assert changed.all() and vec.waiting == 0
        seeds = [vec.env_seed(env) for env in range(8)]
        assert seeds[4:] == first[4:] and not set(seeds[:4]) & set(first)
        log = vec.log_of(0)                         # the episode before the change is counted
        assert log["n"] * log["level"] == pytest.approx(2 + 7 * (log["n"] - 1))
        vec.reset(seed=5)
        assert (goals(vec) == [7] * 4 + [2] * 4).all()


def test_threads_change_nothing_and_calls_can_be_repeated(corridor):
    found, said = [], []
    for threads in (1, 2):
        with make(corridor, 16, threads) as vec:
            vec.reset()
            dice = np.random.default_rng(0)
            crc = play(vec, 50, dice)
            vec.set("level", "3..6", envs=[1, 2, 9])
            vec.set("limit", np.arange(10, 18), envs=np.arange(16) < 8)
            crc ^= play(vec, 300, dice)
            vec.set("level", "4 | 9")
            found.append(crc ^ play(vec, 300, dice))
            said.append((vec.changes, vec.changes_now))
    assert found[0] == found[1] and said[0] == said[1]
    with make(corridor, 16) as vec:                 # as a resumed run repeats them
        vec.reset()
        dice, crc = np.random.default_rng(0), 0
        for tick, until in ((50, 350), (350, 650)):
            crc ^= play(vec, tick - vec.ticks, dice)
            vec.set_again(each for each in said[0][0] if each["tick"] == tick)
            crc ^= play(vec, until - tick, dice)
        assert crc == found[0]
        assert vec.changes == said[0][0]
    with make(corridor, 16) as vec:
        vec.set_again(said[0][1])
        vec.reset()
        assert vec.changes_now == said[0][1]
        assert set(goals(vec)) == {4, 9} and vec.waiting == 0


def test_each_world_draws_of_a_range(corridor):
    with make(corridor, 64) as vec:
        vec.set("level", "1..4")
        vec.set("limit", "10.5..11.5")              # numbers: C cuts them off
        vec.reset()
        seen = np.array([goals(vec)])
        for _ in range(200):
            vec.actions[:] = 0
            vec.step()
            seen = np.append(seen, [goals(vec)], axis=0)
        counts = np.bincount(seen[:, 0], minlength=5)
        assert (counts[1:5] > 0).all() and counts.sum() == len(seen)        # of one env
        first = np.bincount(seen[0], minlength=5)[1:]
        assert (first > 6).all() and first.sum() == 64
        vec.set("level", 3)                         # no range any more
        vec.reset()
        assert (goals(vec) == 3).all()


def test_who_is_in_a_later_episode_is_truncated(corridor):
    with make(corridor, 1, walkers=2) as vec:
        vec.reset()
        vec.actions[:, 0] = side = (vec.observations[:, 1] > 0)
        vec.actions[1, 0] = not side[1]       # the second walks away
        vec.set("level", 5)
        vec.step()
        vec.step()
        assert vec.terminals.tolist() == [1, 0] and (goals(vec) == 2).all()
        while not vec.terminals[1]:
            vec.actions[:, 0] = [vec.ticks % 2, not side[1]]
            vec.step()
        assert vec.ticks == 40 and (goals(vec) == 5).all()
        assert vec.terminals.tolist() == vec.truncations.tolist() == [1, 1]


@pytest.mark.parametrize(("call", "match"), [
    (("levl", 3), "no setting 'levl'"), (("level", "x"), "level cannot be 'x'"),
    (("level", "5..1"), "level cannot be"), (("walkers", 2), "changes the number of agents"),
    (("walkers", "1..2"), "changes the number of agents"),
    (("level", [1, 2]), "one value, or one for each env"),
    (("level", 3, 8), "no such envs"), (("endless", 1), "these worlds never end")])
def test_what_cannot_begin_is_refused(corridor, call, match, monkeypatch):
    monkeypatch.setattr(worlds, "ENDING_TICKS", 200)
    with make(corridor) as vec:
        vec.reset()
        with pytest.raises(UsageError, match=match) as caught:
            vec.set(*call)
        error = caught.value
        assert error.where and error.expected and error.actual is not None
        assert match != "no setting 'levl'" or error.hint == "did you mean 'level'?"
        assert not vec.changes and not vec.waiting


def test_worlds_that_never_end_take_it_before_they_begin(corridor, monkeypatch):
    monkeypatch.setattr(worlds, "ENDING_TICKS", 200)
    with make(corridor, endless=1) as vec:
        vec.set("level", 6)
        vec.reset()
        assert (goals(vec) == 6).all()
        with pytest.raises(UsageError, match="1 of 1 agents ended no episode in 200 ticks"):
            vec.set("level", 7)


def test_an_env_that_cannot_begin_ends_the_step_with_an_error(corridor, monkeypatch):
    monkeypatch.setattr(worlds.Worlds, "_check_value", lambda *given: None)
    with make(corridor) as vec:
        vec.reset()
        vec.set("walkers", 3, envs=2)
        with pytest.raises(RunError, match="could not begin with other settings") as caught:
            play(vec, 100, np.random.default_rng(0))
        assert "env 2 has 3 agents" in caught.value.detail


@pytest.mark.parametrize("backend", ["native", "torch"])
def test_trainers_see_it_and_each_sees_the_same(corridor, backend):
    with make(corridor, 32, 2) as vec, puffer_sdk.Trainer(
            vec, {**SMALL, "train.backend": backend, "train.horizon": 32,
                  "train.minibatch_size": 256}) as trainer:
        trainer.rollout()
        vec.set("level", 9, envs=slice(0, 16))
        trainer.rollout()
        found = trainer.rollout()
        assert vec.waiting == 0 and vec.changes[0]["tick"] == 32
        levels = np.abs(np.rint(found.obs[:, :, 1] * 20))
        assert (levels[:16] == 9).all() and (levels[16:] == 2).all()


@pytest.mark.parametrize(("why", "settings"), [("play on the GPU", "program"), ("async", "async")])
def test_envs_that_nobody_can_change_refuse_it(corridor, why, settings):
    with make(corridor) as vec:
        vec.fix_settings(f"{settings}: they {why}")
        with pytest.raises(UsageError, match=f"no effect here: {settings}: they {why}"):
            vec.set("level", 3)
        vec.fix_settings("")
        vec.set("level", 3)
        with pytest.raises(UsageError, match="what was set in these envs has no effect"):
            vec.fix_settings(f"they {why}")


def test_stages_are_read_and_wrong_ones_named():
    stages = world_values.parse_stages("1..2 then 1..4 from 25% then 0.5 | 3 from 900")
    assert [stage.begins(1000) for stage in stages] == [0, 250, 900]
    at = [world_values.shown(world_values.value_at(stages, step, 1000)) for step in
          (0, 249, 250, 899, 900)]
    assert at == ["1..2", "1..2", "1..4", "1..4", "0.5 | 3"]
    assert world_values.parse("0.0..1") == world_values.Drawn("0.0..1", 0, 1)
    for text in ("1..", "a..b", "3..1", "", "1 |", "1 then 2", "1 from 3%", "1 then 2 from x",
                 "1 then 2 from 120%", "1 then 2 from 50% then 3 from 20%"):
        with pytest.raises(ValueError, match=r"."):
            world_values.parse_stages(text)


def test_the_final_observation_of_who_is_truncated_is_its_last(corridor):
    with make(corridor, 1, walkers=2, limit=9) as vec:
        vec.reset()
        vec.set("level", 5)
        for _ in range(2):                          # the first wins, the second walks away
            sides = vec.observations[:, 1] > 0
            vec.actions[:, 0] = [sides[0], not sides[1]]
            vec.step()
        for _ in range(7):
            vec.actions[:, 0] = [vec.ticks % 2, not sides[1]]
            vec.step()
        assert vec.terminals.tolist() == vec.truncations.tolist() == [1, 1]
        assert vec.has_final.tolist() == [1, 1] and (goals(vec) == 5).all()
        finals = np.rint(vec.final_observations * 20).astype(int)
        assert abs(finals[0, 0]) == 1 and abs(finals[0, 1]) == 2


def test_envs_with_resources_begin_anew_in_their_own_folder(corridor, tmp_path, monkeypatch):
    monkeypatch.setattr(worlds.paths, "working_dir", lambda folder: tmp_path)
    (tmp_path / "resources").mkdir()
    with make(corridor) as vec:
        with pytest.raises(UsageError, match="in their own folder alone"):
            vec.set("level", 3)
        monkeypatch.chdir(tmp_path)
        vec.set("level", 3)
