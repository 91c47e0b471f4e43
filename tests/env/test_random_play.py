"""What rewards and observations are multiplied by: found by random play, the same for every run."""
import math
import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.playground import overrides
from helpers.ranks import in_threads
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import RunError
from puffer_sdk.env import random_play
from puffer_sdk.env.obs_spec import ObsField, ObsSpec
from puffer_sdk.policy import export
from puffer_sdk.settings import factors
from puffer_sdk.training import checkpoint
from puffer_sdk.training import train as training
from puffer_sdk.training.rank_sync import Joint

pytest_plugins = ["helpers.playground_fixtures"]

FIELD = """// Run to a mark. Places are in pixels, the picture around the runner is in bytes' sizes.
#pragma once
#include <stdlib.h>
#define OBS_SIZE OBS_COUNT
#define ACT_SIZES {3}
enum {
    OBS_X,              // [0, 800]
    OBS_ANGLE,          // [-1, 1]
    OBS_VIEW,           // image 3 x 3 [0, 255]
    OBS_COUNT = OBS_VIEW + 9
};
typedef struct Log { float perf, score, episode_return, episode_length, n; } Log;
typedef struct Field {
    Log log;
    float* observations;
    float* actions;
    float* rewards;
    float* terminals;
    int num_agents;
    unsigned int rng;
    int x, tick;
} Field;
static void observe(Field* env) {
    env->observations[OBS_X] = (float)env->x;
    env->observations[OBS_ANGLE] = env->tick % 2 ? 1.0f : -0.5f;
    for (int i = 0; i < 9; i++)
        env->observations[OBS_VIEW + i] = i == env->tick % 9 ? 255.0f : 40.0f;
}
void c_reset(Field* env) {
    env->x = 400 + (int)(rand_r(&env->rng) % 100u);
    env->tick = 0;
    observe(env);
}
void c_step(Field* env) {
    env->x += 10 * ((int)env->actions[0] - 1);
    env->rewards[0] = (float)((int)env->actions[0] - 1);
    env->terminals[0] = 0.0f;
    if (++env->tick == 20) {
        env->terminals[0] = 1.0f;
        env->log.perf += (float)env->x / 800.0f;
        env->log.score += (float)env->x;
        env->log.episode_return += (float)env->x;
        env->log.episode_length += 20.0f;
        env->log.n += 1.0f;
        c_reset(env);
        return;
    }
    observe(env);
}
void c_render(Field* env) { (void)env; }
void c_close(Field* env) { (void)env; }
"""
SMALL = {"vec.total_agents": 16, "train.horizon": 8, "train.minibatch_size": 128,
         "policy.hidden_size": 8, "policy.num_layers": 1, "train.total_timesteps": 512}


def choose(squares, *parts: ObsField) -> tuple[list[float], str]:
    row = ObsSpec(len(squares), parts)
    text, reason = random_play.choose_obs_scale(np.array(squares, float), lambda: row)
    return factors.expand(text, len(squares)), reason


@pytest.mark.parametrize(("rms", "factor"), [
    (0, 1), (1e-3, 1), (1, 1), (3.99, 1), (4, 1 / 2), (5.6, 1 / 2), (5.7, 1 / 4), (56.5, 1 / 32),
    (128, 1 / 64), (255, 1 / 128), (1e6, 2.0**-19), (1e30, 2.0**-30), (math.inf, 1),
    (math.nan, 1)])
def test_large_numbers_are_brought_to_about_two(rms, factor):
    assert choose([rms**2] * 4)[0] == [factor] * 4
    if factor < 1 and rms < 1e9:
        assert math.sqrt(2) <= rms * factor <= 2 * math.sqrt(2)


def test_rows_of_very_many_numbers_become_no_longer_than_they_can_be_learned_from():
    for size, factor in ((4096, 1 / 16), (4 * 4096, 1 / 32), (100 * 4096, 1 / 128)):
        text, _ = random_play.choose_obs_scale(np.full(size, 32.0**2), lambda: None)
        assert float(text) == factor and 90 < 32 * factor * math.sqrt(size) < 182
    assert random_play.choose_obs_scale(np.full(4096, 3.9**2), lambda: None)[0] == "1"
    assert random_play.choose_obs_scale(np.ones(9 * 4096), lambda: None)[0] == "1"
    assert random_play.choose_obs_scale(np.ones(36 * 4096), lambda: None)[0] == "0.25"


def test_parts_that_are_described_have_factors_of_their_own():
    """What lies between them shares one: a number that was never seen may belong to a picture."""
    speed = ObsField("OBS_SPEED", 1, 2, None, None, "game.h", 1)
    place = ObsField("OBS_PLACE", 4, 1, None, None, "game.h", 2)
    values, reason = choose([0, 1, 4, 50**2, 1e12], speed, place)
    assert values == [2.0**-4, 1, 1, 2.0**-4, 2.0**-19]
    assert reason == ("random play meets OBS_PLACE of about 1e+06 (times 1/524288), "
                      "numbers of about 35.4 (times 1/16)")
    assert choose([1, 9, 15.9]) == ([1, 1, 1], "random play meets no large numbers")
    assert choose([0, 40**2, 0, 0])[0] == [2.0**-3] * 4


def test_a_large_number_that_would_hide_others_has_a_factor_of_its_own():
    values, reason = choose([1e12, 1, 0.25, 0, 100**2])
    assert values == [2.0**-19, 1, 1, 1, 2.0**-6]
    assert reason == ("random play meets numbers of up to about 1e+06 "
                      "(2 of 5 times a factor of their own)")
    picture = np.tile([0, 1 / 8, 1, 60, 255], 20) ** 2      # bytes, some of them seldom
    assert choose(picture)[0] == [2.0**-6] * 100
    places = ObsField("OBS_PLACES", 0, 2, None, None, "game.h", 1)
    assert choose([1e12, 1, 1], places)[0] == [2.0**-19, 1, 1]


def test_a_description_is_read_only_for_large_numbers():
    def never():
        raise AssertionError

    assert random_play.choose_obs_scale(np.ones(3), never)[0] == "1"


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    folder = tmp_path_factory.mktemp("field") / "field"
    folder.mkdir()
    (folder / "field.h").write_text(FIELD)
    (folder / "field.ini").write_text("[base]\nenv_name = field\n")
    return folder


@long_only
def test_a_run_keeps_what_random_play_found(field, tmp_path, capsys):
    """In config.ini and in checkpoints; said at the start; equal in every run, and as before in a
    resumed one."""
    run = training.train(field, SMALL, runs_dir=tmp_path)
    found = f"{2.0**-8} x 1, 1 x 1, {2.0**-6} x 9"
    said = " ".join(capsys.readouterr().err.split())
    assert "observations are scaled: random play meets OBS_X of about 449 (times 1/256), " \
        "OBS_VIEW of about 93 (times 1/64); train.obs_scale 1 disables it" in said
    ini = (run.folder / "config.ini").read_text()
    assert f"obs_scale = {found}\n" in ini and "# auto: random play meets OBS_X" in ini
    past = checkpoint.load(run.checkpoint)
    assert past.config.train.obs_scale == found
    assert export.read_policy(run.checkpoint).config.train.obs_scale == found
    weights = abs(past.tensors["encoder"])
    assert weights[:, 0].max() < 0.02 < 0.1 < weights[:, 1].max()
    again = training.train(field, {"train.total_timesteps": 1024}, runs_dir=tmp_path,
                           resume="latest")
    assert checkpoint.load(again.checkpoint).config.train.obs_scale == found
    assert f"obs_scale = {found}\n" in (again.folder / "config.ini").read_text()
    other = training.train(field, {**SMALL, "train.seed": 9, "vec.num_threads": 2},
                           runs_dir=tmp_path)
    assert f"obs_scale = {found}\n" in (other.folder / "config.ini").read_text()
    given = training.train(field, {**SMALL, "train.obs_scale": 0.5}, runs_dir=tmp_path)
    assert "obs_scale = 0.5\n" in (given.folder / "config.ini").read_text()


@long_only
def test_small_numbers_are_left_as_they_are(field, tmp_path, capsys):
    """The bytes of a run with obs_scale 1, which nothing is said of."""
    plain = field.parent / "small" / "field"
    plain.mkdir(parents=True)
    (plain / "field.h").write_text(FIELD.replace("(float)env->x;\n    env->observations[OBS_A",
                                                 "(float)env->x / 800;\n    env->observations[OBS_A"
                                                 ).replace("255.0f : 40.0f", "1.0f : 0.0f"))
    runs = [training.train(plain, {**SMALL, **more}, runs_dir=tmp_path)
            for more in ({}, {"train.obs_scale": 1})]
    first, second = (checkpoint.load(run.checkpoint).tensors for run in runs)
    assert all(np.array_equal(first[name], second[name]) for name in second)
    assert "obs_scale = 1\n" in (runs[0].folder / "config.ini").read_text()
    assert "scaled" not in capsys.readouterr().err


def test_ranks_take_what_the_first_one_found():
    played = []

    def work(group):
        return Joint(group).from_first(lambda: played.append(group.rank) or ["0.5", "why"])

    assert in_threads(2, work) == [["0.5", "why"]] * 2 and played == [0]


# -- the copy that plays -----------------------------------------------------------------------

def in_a_copy(function, size=2):
    page = SimpleNamespace(watches=np.ones(3))
    found = random_play._in_a_copy(size, SimpleNamespace(page=page), function)
    assert not page.watches.any()
    return found


def test_numbers_come_back_from_the_copy_and_nothing_else(tmp_path):
    before = os.getpid()
    assert in_a_copy(lambda: [before == os.getppid(), 3]).tolist() == [1, 3]
    (tmp_path / "x").write_text("")
    os.environ.pop("PLAYED", None)

    def change():
        os.environ["PLAYED"] = "1"
        os.closerange(0, 100)
        return [1, 2]

    assert in_a_copy(change).tolist() == [1, 2] and "PLAYED" not in os.environ


@pytest.mark.parametrize("end", [lambda: os._exit(0), lambda: os.kill(os.getpid(), signal.SIGKILL),
                                 lambda: 1 / 0, lambda: [1, 2, 3]])
def test_a_copy_that_dies_says_nothing(end):
    assert in_a_copy(end) is None


def test_env_code_that_dies_is_reported_by_the_training(faulty, tmp_path):
    """With the seed and the step of the run's own envs."""
    with pytest.raises(RunError, match="failed in c_step: SIGSEGV .*step 4[01]"):
        training.train(faulty, {**overrides("SEGFAULT", at=40), "train.obs_scale": "auto"},
                       runs_dir=tmp_path)


def test_env_code_that_hangs_is_reported_at_once(faulty, tmp_path):
    with pytest.raises(RunError, match="no return for 0.5 seconds .env 0, seed .*, step 4[01]"):
        training.train(faulty, {**overrides("LOOP_IN_STEP", at=40), "train.obs_scale": "auto",
                                "vec.step_timeout": 0.5}, runs_dir=tmp_path)
