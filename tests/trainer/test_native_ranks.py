"""Several ranks share a run on CPUs: each learns from its part, and all have the same weights.

The ranks are threads here; what processes and machines add is in tests/distributed/.
"""
from functools import cache

import numpy as np
import pytest
from helpers.native_fixtures import (
    SIZES,
    as_bytes,
    copy_rollout,
    distance,
    make_native,
    make_reference,
    run,
)
from helpers.places import SPECIMENS
from helpers.ppo_fixtures import FakeVec, one_thread  # noqa: F401   one_thread is a fixture
from helpers.ranks import in_threads, part_of_vec

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.distributed.group import Alone
from puffer_sdk.env import open_env
from puffer_sdk.settings import config
from puffer_sdk.training.native.handle import Handle

AGENTS = 32
WHOLE = dict(hidden_size=20, num_layers=2, horizon=6, total_timesteps=10**5, prio_alpha=0.0)
# agents of an env, and what is special
GAMES = {"pendulum": (1, dict(reward_clip=0.5)),                # continuous, truncations
         "nim": (1, dict(obs_scale="0.25")), "target": (8, dict(norm_adv=0))}


@cache
def opened(folder):
    """The library, and [env]."""
    return open_env.load(folder), config.resolve(folder).env


@pytest.fixture
def make(games):
    """make(game, group, **settings) -> a trainer over this rank's part of that game's envs"""
    def make(game, group, minibatch=AGENTS, **changes):
        rows, special = GAMES[game]
        library, settings = opened(games.get(game, SPECIMENS / "ocean" / game))
        vec = part_of_vec(library, AGENTS, group, rows=rows, env_settings=settings)
        return make_native(vec=vec, group=group, **{
            **WHOLE, **special, "minibatch_size": 6 * minibatch // group.size, **changes})
    return make


@pytest.mark.parametrize("game", GAMES)
def test_any_number_of_ranks_plays_and_learns_the_same(make, game):
    """All segments in one minibatch: only the order of sums differs."""
    def work(group):
        trainer = make(game, group)
        trainer.rollout()
        first = {name: trainer.rollout_tensors[name].copy() for name in ("obs", "actions")}
        trainer.update()
        metrics = run(trainer, 2)
        return first, trainer.state_tensors(), trainer.counters, metrics, trainer.take_timers()

    (alone,), two, four = (in_threads(size, work) for size in (1, 2, 4))
    for ranks in (two, four):
        for name, whole in alone[0].items():
            np.testing.assert_array_equal(np.concatenate([rank[0][name] for rank in ranks]), whole)
        for rank in ranks:
            assert rank[2] == alone[2] and rank[4]["exchange"] > 0
            assert rank[3] == pytest.approx(alone[3], rel=2e-3, abs=1e-5)
            for name, value in alone[1].items():
                assert distance(rank[1][name], value) < 2e-4, name
                assert rank[1][name].tobytes() == ranks[0][1][name].tobytes()   # to the bit
    assert "exchange" not in alone[4]


@pytest.mark.parametrize("alpha", [0.0, 0.8])
def test_the_same_seed_gives_the_same_bytes(make, alpha):
    found = []
    for seed in (1, 1, 2):
        def work(group, seed=seed):
            trainer = make("nim", group, minibatch=8, prio_alpha=alpha, seed=seed,
                           replay_ratio=1.5)
            run(trainer, 3)
            return as_bytes(trainer)

        first, second = in_threads(2, work)
        assert first == second
        found.append(first)
    assert found[0] == found[1] != found[2]


def test_ranks_draw_and_deal_as_the_gpus_of_one_process_do(make):
    """Two ranks' picks are those of trainer/cuda with two GPUs, each among its own segments."""
    for alpha in (0.0, 0.8):
        changes = dict(prio_alpha=alpha, minibatch_size=6 * 16)
        advantages = np.random.default_rng(1).normal(size=(AGENTS, 6))

        def work(group, changes=changes, advantages=advantages):
            trainer = make("nim", group, **{**changes, "minibatch_size": 6 * 16 // group.size})
            trainer.rollout()
            each = AGENTS // group.size
            mine = advantages[group.rank * each:(group.rank + 1) * each]
            return [trainer.pick(mine, number) for number in range(2)]

        library, env = opened(SPECIMENS / "ocean" / "nim")
        vec = part_of_vec(library, AGENTS, Alone(), num_buffers=2, env_settings=env)
        gpus = make_native(vec=vec, path="cuda", gpus=[0, 0], **{**WHOLE, **changes,
                                                                 "obs_scale": "0.25"})
        gpus.rollout()
        first, second = in_threads(2, work)
        for number in range(2):
            rows, q = gpus.pick(advantages.astype(np.float32), number)
            got = np.concatenate([first[number][0], second[number][0] + AGENTS // 2])
            np.testing.assert_array_equal(got, rows)
            np.testing.assert_allclose(np.concatenate([first[number][1], second[number][1]]), q,
                                       rtol=1e-5)


class Deserted(FakeVec):
    """Nobody ever lives here."""

    def observe(self):
        super().observe()
        self.alive[:] = 0


@pytest.mark.parametrize("changes, vec", [
    (dict(prio_alpha=0.0, reward_clip=0.5), {}), (dict(prio_alpha=0.8, replay_ratio=2.0), {}),
    (dict(prio_alpha=0.0, norm_adv=0), dict(alive=True)),
    (dict(prio_alpha=0.8), dict(alive=True, deserted=True))], ids=str)
def test_the_referee_under_the_same_group_agrees(changes, vec):
    vec, deserted = dict(vec), "deserted" in vec
    vec.pop("deserted", None)

    def work(group):
        kind = Deserted if deserted and group.rank else FakeVec
        envs = kind((3, 1), 8, 5, seed=group.rank, **vec)
        sizes = {**SIZES, "horizon": 6, "minibatch_size": 24, **changes}
        reference = make_reference((3, 1), envs, group=group, **sizes)
        native = make_native((3, 1), envs, group=group, **sizes)
        native.load_state_tensors(reference.state_tensors())
        found = []
        for _ in range(3):
            reference.rollout()
            copy_rollout(reference, native)
            want = reference.update()
            if reference.settings.prio_alpha and reference.picks:
                native.replay(*map(np.stack, zip(*reference.picks)))
            got = native.update()
            found.append((want, got, reference.state_tensors(), native.state_tensors()))
            native.load_state_tensors(reference.state_tensors())
        return found, reference.counters

    ranks = in_threads(2, work)
    for found, counters in ranks:
        assert counters == ranks[0][1]
        for number, (want, got, weights, mine) in enumerate(found):
            assert got == pytest.approx(want, rel=1e-4, abs=1e-5)
            for name, value in weights.items():
                assert distance(mine[name], value) < 1e-4, name
                assert value.tobytes() == ranks[0][0][number][2][name].tobytes()


@pytest.mark.parametrize("minibatches", [1, 4])
def test_ranks_meet_once_a_minibatch_and_twice_more(make, minibatches):
    """The totals of the next minibatch travel with the gradients of this one."""
    def work(group):
        trainer = make("nim", group, minibatch=AGENTS // minibatches)
        trainer.rollout()
        before = group.calls
        trainer.update()
        return group.calls - before

    assert in_threads(2, work) == [minibatches + 2] * 2


def test_a_bad_number_of_one_rank_ends_all(make):
    def work(group):
        trainer = make("nim", group)
        trainer.rollout()
        if group.rank == 1:
            trainer.rollout_tensors["rewards"][3, 2] = np.nan
        before = as_bytes(trainer)
        with pytest.raises(RunError, match="not finite|not finite|overflow"):
            trainer.update()
        return before == as_bytes(trainer)          # no rank has made the step

    assert in_threads(2, work) == [True, True]


def test_what_the_exchange_raises_is_raised(make):
    def work(group):
        trainer = make("nim", group)
        trainer.rollout()
        group.sum = broken
        with pytest.raises(ValueError, match="the wire is cut"):
            trainer.update()
        return True

    def broken(array):
        raise ValueError("the wire is cut")

    assert in_threads(2, work) == [True, True]


def test_ranks_without_an_exchange_are_refused():
    fields = dict(agents=8, horizon=0, obs_dtype=1, obs_size=4, num_atns=1, act_sizes=(3,),
                  hidden_size=8, num_layers=1, threads=1, total_epochs=1)
    with pytest.raises(UsageError, match="2 ranks, and no way to exchange"):
        Handle({**fields, "ranks": 2})
    with pytest.raises(UsageError, match="rank is 2, not from 0 to 1"):
        Handle({**fields, "ranks": 2, "rank": 2})
    with pytest.raises(UsageError, match="ranks is 0, not from 1"):
        Handle({**fields, "ranks": 0})
