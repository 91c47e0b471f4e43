"""Faults of PufferLib's bridges that no other test shows to be absent from ours."""

import numpy as np
import pytest
from helpers.places import SPECIMENS

import puffer_sdk

GAMES = SPECIMENS / "python_envs" / "games.py"


@pytest.mark.parametrize("workers", [0, 2])
def test_rows_without_an_agent_teach_nothing(workers):
    """PufferLib's trainer took rows of agents that were gone for steps of the game."""
    learned = []
    for rubbish in (0.0, 1e6):
        with puffer_sdk.wrap(f"{GAMES}:Walkers", 8, workers=workers, seed=1,
                             keywords={"absent": 2}) as envs:
            assert envs.num_agents == 40
            for row in np.flatnonzero(np.arange(40) % 5 > 2):
                envs.observations[row] = envs.final_observations[row] = rubbish
            with puffer_sdk.Trainer(envs, {"train.total_timesteps": 40 * 64, "train.horizon": 16,
                                           "train.minibatch_size": 160, "policy.hidden_size": 8,
                                           "policy.num_layers": 1}) as trainer:
                while not trainer.finished:
                    trainer.rollout()
                    losses = trainer.update()
                learned.append(np.concatenate([np.ravel(each) for each in
                                               trainer.parameters.values()]))
            absent = envs.observations[np.arange(40) % 5 > 2]
            assert (absent == rubbish).all() and not envs.alive.reshape(8, 5)[:, 3:].any()
            assert losses["train/alive"] < 0.6
    assert np.array_equal(learned[0], learned[1]) and np.isfinite(learned[0]).all()


def test_no_step_is_lost_to_a_reset():
    """PufferLib counted a reset as a step, with reward 0: here 60 steps earn 60 times."""
    for workers in (0, 2):
        with puffer_sdk.wrap(f"{GAMES}:Count", 4, workers=workers,
                             keywords={"length": 5}) as envs:
            envs.reset()
            earned = sum(envs.step(np.ones(4))[1] for _ in range(60))
            assert earned.tolist() == [60] * 4
            log = envs.log()
            assert (log["n"], log["episode_length"], log["episode_return"]) == (48, 5, 5)
