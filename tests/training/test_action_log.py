"""The record of actions: what goes in comes out, in as few bits as are needed; and when envs start
anew."""
from __future__ import annotations

import math

import numpy as np
import pytest

from puffer_sdk.training import action_log
from puffer_sdk.training.action_log import Journal, Restarts

WIDTHS = {2: 1, 3: 2, 4: 2, 5: 4, 16: 4, 17: 8, 256: 8, 257: 16, 65536: 16, 65537: 32, 1: 32}


@pytest.mark.parametrize("width, bits", WIDTHS.items())
def test_a_head_takes_as_many_bits_as_it_needs(width, bits):
    assert action_log.bits_of(width) == bits


@pytest.mark.parametrize("widths", [(2,), (4, 9), (3, 1, 300), (1, 1), (200, 2, 16)])
@pytest.mark.parametrize("agents", [1, 7])
def test_what_goes_in_comes_out(widths, agents, tmp_path):
    rng, horizon = np.random.default_rng(1), 5
    epochs = [np.stack([rng.normal(size=(agents, horizon)) if width == 1 else
                        rng.integers(0, width, (agents, horizon)) for width in widths],
                       -1).astype(np.float32) for _ in range(3)]
    record = Journal(tmp_path, agents, horizon, widths)
    for actions in epochs:
        record.append(actions)
    assert record.size == 3 * record.epoch_bytes == record.path.stat().st_size
    assert record.epoch_bytes <= agents * horizon * sum(max(action_log.bits_of(w), 1)
                                                        for w in widths) // 8 + len(widths)
    for read, actions in zip(Journal(tmp_path, agents, horizon, widths).read(record.size), epochs,
                             strict=True):
        assert read.dtype == np.float32 and np.array_equal(read, actions)


def test_what_lies_behind_a_checkpoint_is_overwritten(tmp_path):
    record = Journal(tmp_path, 1, 8, (2,))
    for value in (0, 1, 1):
        record.append(np.full((1, 8, 1), value, np.float32))
    resumed = Journal(tmp_path, 1, 8, (2,))
    assert [int(actions[0, 0, 0]) for actions in resumed.read(2)] == [0, 1]
    resumed.append(np.zeros((1, 8, 1), np.float32))
    assert record.path.read_bytes() == b"\x00\xff\x00"


def test_a_record_that_was_cut_off_is_an_error(tmp_path):
    record = Journal(tmp_path, 1, 8, (2,))
    record.append(np.zeros((1, 8, 1), np.float32))
    with pytest.raises(ValueError, match="too short"):
        list(Journal(tmp_path, 1, 8, (2,)).read(2))


@pytest.mark.parametrize("length, ticks", [(100, 16384), (3000, 24_000), (20_000, 160_000)])
def test_envs_start_anew_after_eight_episodes_and_16384_ticks_at_least(length, ticks):
    restarts = Restarts(envs=4, epoch_bytes=64)
    done = 0
    while not restarts.due():
        before, done = done // length, done + 64
        ended = done // length - before
        restarts.note({"n": 4.0 * ended, "episode_length": float(length)} if ended else {}, 64)
    assert done == -(-ticks // 64) * 64


def test_without_lengths_in_the_log_entries_tell_them():
    restarts = Restarts(envs=2, epoch_bytes=64)
    restarts.note({"n": 8.0, "score": 1.0}, 40_000)         # an entry of each env in 10,000 ticks
    assert not restarts.due()
    restarts.note({"n": 8.0, "episode_length": math.nan}, 40_000)
    assert restarts.due()


def test_without_an_entry_only_a_full_record_starts_envs_anew(monkeypatch):
    monkeypatch.setattr(action_log, "MOST_BYTES", 1000)
    restarts = Restarts(envs=2, epoch_bytes=100)
    for _ in range(9):
        restarts.note({}, 1_000_000)
        assert not restarts.due()
    restarts.note({}, 1_000_000)
    assert restarts.full and restarts.due() and not restarts.entries


def test_its_state_goes_through_a_checkpoint():
    first, second = Restarts(4, 64), Restarts(4, 64)
    first.note({"n": 3.0, "episode_length": 10.5}, 64)
    second.load(first.state)
    assert second.state == first.state
