"""The generator against its paper's known answers, and the properties the trainer relies on."""
import numpy as np
import pytest
from helpers.philox_answers import KNOWN_ANSWERS, from_hex

from puffer_sdk.base import philox
from puffer_sdk.base.errors import UsageError
from puffer_sdk.base.philox import Purpose


@pytest.mark.parametrize("counter, key, answer", KNOWN_ANSWERS)
def test_known_answers(counter, key, answer):
    got = philox.philox4x32(from_hex(counter), from_hex(key))
    assert tuple(int(word) for word in got) == from_hex(answer)


def test_known_answers_hold_in_one_vectorised_call():
    counters = np.array([from_hex(KNOWN_ANSWERS[0][0])] * 3 + [[1, 0, 0, 0]]).T
    got = philox.philox4x32(tuple(counters), (0, 0))
    assert got[0].dtype == np.uint32 and got[0].shape == (4,)
    assert int(got[0][2]) == 0x6627e8d5 and int(got[0][3]) != 0x6627e8d5


def test_the_key_and_counter_layout_is_pinned():
    """Other devices and checkpoints rely on where each number goes."""
    seed, step = 5 << 32 | 7, 9 << 32 | 11
    got = philox.words((seed, Purpose.PRIORITY), 3, step, 2)
    want = philox.philox4x32((3, 11, 9, 2), (7, 5 << 8 | 3))
    assert [int(word) for word in got] == [int(word) for word in want]


def test_uniforms_have_24_bits_and_the_right_moments():
    draws = philox.uniform((1, Purpose.ACTION), np.arange(400)[:, None], np.arange(500)[None])
    assert draws.dtype == np.float32 and draws.shape == (400, 500)
    assert draws.min() >= 0 and draws.max() < 1
    scaled = draws.astype(np.float64) * 2 ** 24
    assert np.array_equal(scaled, np.round(scaled))
    assert abs(draws.mean() - 0.5) < 3 / np.sqrt(12 * draws.size)
    counts = np.bincount((draws.ravel() * 16).astype(int), minlength=16)
    chi2 = ((counts - draws.size / 16) ** 2 / (draws.size / 16)).sum()
    assert chi2 < 40        # 15 degrees of freedom: p = .0005


def test_normals_have_the_right_moments_and_are_finite():
    draws = philox.normal((1, Purpose.ACTION), np.arange(400)[:, None], np.arange(500)[None])
    assert draws.dtype == np.float32 and np.isfinite(draws).all()
    assert abs(draws.mean()) < 0.01 and abs(draws.std() - 1) < 0.01
    assert abs((draws.astype(np.float64) ** 4).mean() - 3) < 0.1
    assert abs(np.mean(np.abs(draws) > 1.959964) - 0.05) < 0.003


def test_draws_do_not_depend_on_how_the_work_is_cut():
    """Two ranks with half of the agents each, or one tick at a time: the same numbers."""
    sizes = (5, 1, 300)
    whole = philox.action_noise(3, np.arange(8), np.arange(6), sizes)
    second = philox.action_noise(3, np.arange(4, 8), np.arange(6), sizes)
    tick = philox.action_noise(3, np.arange(8), np.arange(5, 6), sizes)
    assert np.array_equal(whole[:, 4:], second)
    assert np.array_equal(whole[5:], tick)


def test_seed_purpose_agent_tick_and_head_all_matter():
    base = philox.uniform((3, Purpose.ACTION), np.arange(100), 5, 0)
    others = [philox.uniform((4, Purpose.ACTION), np.arange(100), 5, 0),
              philox.uniform((3 + 2 ** 40, Purpose.ACTION), np.arange(100), 5, 0),
              philox.uniform((3, Purpose.PRIORITY), np.arange(100), 5, 0),
              philox.uniform((3, Purpose.ACTION), np.arange(100, 200), 5, 0),
              philox.uniform((3, Purpose.ACTION), np.arange(100), 6, 0),
              philox.uniform((3, Purpose.ACTION), np.arange(100), 5 + 2 ** 32, 0),
              philox.uniform((3, Purpose.ACTION), np.arange(100), 5, 1)]
    for other in others:
        assert (base == other).mean() < 0.05


def test_permutation_is_one_and_moves():
    first = philox.permutation(1, 100, epoch=0)
    assert sorted(first.tolist()) == list(range(100))
    for other in (philox.permutation(1, 100, epoch=1), philox.permutation(2, 100, epoch=0),
                  philox.permutation(1, 100, epoch=0, epoch_pass=1), np.arange(100)):
        assert (first == other).mean() < 0.2


def test_ranks_and_envs_never_share_a_seed():
    seeds = {philox.env_seed(1, env, epoch, rank)
             for env in range(50) for epoch in range(3) for rank in range(3)}
    assert len(seeds) == 450
    assert philox.env_seed(2, 0) != philox.env_seed(1, 0)


@pytest.mark.parametrize("seed", [-1, 2 ** 56])
def test_a_seed_out_of_range_is_refused(seed):
    with pytest.raises(UsageError, match="seed"):
        philox.uniform((seed, Purpose.ACTION), 0)
