"""Action masks: a field is enough, all who choose obey, and each mistake has its error."""
import shutil
import subprocess

import numpy as np
import pytest
from helpers.ladder import FIELD, IN_SIGHT, LADDER, copy_ladder
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base.errors import BuildError, RunError, UsageError
from puffer_sdk.env import build, header, open_env
from puffer_sdk.env.agent_slots import random_actions
from puffer_sdk.policy import evaluate
from puffer_sdk.projects import ocean
from puffer_sdk.scoring.baselines import same_actions
from puffer_sdk.settings import config
from puffer_sdk.training import train

PROGRAM = """
#include "ladder.h"
#include "build/ladder_config.h"

int main(int argc, char** argv) {
    Ladder env = {.rng = 3};
    ladder_configure(&env);
    ladder_allocate(&env);
    PufferNet* policy = ladder_policy(&env, argc, argv);
    c_reset(&env);
    for (int tick = 0; tick < 2000; tick++) {
        ladder_act(&env, policy);
        if (!env.action_mask[(int)env.actions[0]]) return 1;
        c_step(&env);
    }
    puffernet_free(policy);
    ladder_free(&env);
    return env.log.n > 10 ? 0 : 2;
}
"""


@pytest.fixture
def ladder(tmp_path):
    """ladder(old=new, ...) -> a copy of the specimen with these changes of its header."""
    return lambda *changes: copy_ladder(tmp_path / "ladder", *changes)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("envs") / "ladder"
    shutil.copytree(LADDER, folder)
    return folder, train.train(folder, {"train.total_timesteps": 300_000, "vec.total_agents": 256,
                                        "train.minibatch_size": 2048},
                               runs_dir=folder.parent / "runs").folder


def watch_legality(vec, choose, ticks=300):
    vec.reset()
    for _ in range(ticks):
        actions = choose(vec)
        rows = np.arange(vec.num_agents)
        assert vec.action_mask[rows, actions[:, 0].astype(int)].all()
        vec.actions[:] = actions
        vec.step()


def test_random_and_idle_play_is_legal(ladder):
    rng = np.random.default_rng(0)
    with open_env.make(ladder(), total_agents=16, seed=1) as vec:
        assert vec.action_mask.shape == (16, 3) and vec.action_mask.all()
        watch_legality(vec, lambda vec: random_actions(vec, rng))
        for action in range(3):
            watch_legality(vec, lambda vec, action=action: same_actions(vec, (action,)))


def test_the_policy_that_was_trained_is_legal_too(trained):
    folder, run = trained
    policy = puffer_sdk.Policy.load(run)
    with open_env.make(folder, total_agents=16, seed=1) as vec:
        watch_legality(vec, lambda vec: policy.act(vec.observations, vec.action_mask))
    scores = evaluate.evaluate(folder, {"eval.episodes": 64}, model=str(run)).scores
    assert scores["trained"].mean["perf"] > scores["random"].mean["perf"] + 0.3
    assert scores["trained"].mean["score"] == 1


def test_a_program_in_c_obeys_the_mask(trained, tmp_path):
    folder, run = trained
    run_program(folder, run, PROGRAM, tmp_path)


def run_program(folder, run, text, tmp_path):
    """With random play, and with the run's policy: no action was illegal."""
    resolved = config.resolve(folder)
    build.build(folder, env_settings=resolved.env)
    (folder / "main.c").write_text(text)
    program, policy = tmp_path / "program", tmp_path / "policy.bin"
    subprocess.run(["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-o", program,
                    folder / "main.c", "-lm"], check=True)
    puffer_sdk.export(run, output=policy)
    for arguments in ([], [policy]):
        assert subprocess.run([program, *arguments], cwd=tmp_path, check=False).returncode == 0


@long_only
def test_bytes_without_a_mask_are_those_of_a_binding_with_the_macro(ladder):
    """The binding that `bind` writes says the same as the field alone."""
    def played(folder):
        with open_env.make(folder, total_agents=8, seed=1) as vec:
            vec.reset()
            seen = []
            for tick in range(200):
                vec.actions[:] = same_actions(vec, (tick % 3,))
                vec.step()
                seen += [vec.observations.tobytes(), vec.action_mask.tobytes()]
            return seen

    folder = ladder()
    want = played(folder)
    ocean.bind(folder)
    assert "#define MY_ACTION_MASK 3" in (folder / "binding.c").read_text()
    assert played(folder) == want


@pytest.mark.parametrize("change, code, words", [
    ((FIELD, "    float* action_mask;"), "PUF102", "'action_mask' has the wrong type"),
    ((FIELD, "    unsigned char action_mask[3];"), "PUF102", "'action_mask' has the wrong type"),
    ((FIELD, "    int* action_mask;"), "PUF102", "'action_mask' has the wrong type"),
    ((FIELD, FIELD + "\n#define MY_ACTION_MASK 4"), "PUF112",
     "MY_ACTION_MASK is not the number of actions of all heads"),
])
def test_each_mistake_is_named_with_its_line(change, code, words, ladder):
    with pytest.raises(BuildError, match=words) as caught:
        header.read(ladder(change))
    assert caught.value.code == code and str(caught.value.where).startswith("ladder.h:")


def test_the_macro_may_be_stated_and_needs_the_field(ladder):
    assert header.read(ladder((FIELD, FIELD + "\n#define MY_ACTION_MASK ACT_COUNT"))).mask_size == 3
    gone = [("#define ACT_SIZES", "#define MY_ACTION_MASK 3\n#define ACT_SIZES"), (FIELD, "")]
    with pytest.raises(BuildError, match="MY_ACTION_MASK needs a field 'action_mask'"):
        header.read(ladder(*gone))


def test_a_part_of_the_observation_may_be_the_mask(ladder):
    """The same rows as those of the field, from the first observation on."""
    with open_env.make(ladder(), total_agents=6, seed=1) as with_field, \
            open_env.make(ladder(*IN_SIGHT), total_agents=6, seed=1) as seen:
        random = np.random.default_rng(0)
        with_field.reset(), seen.reset()
        for _ in range(300):
            assert np.array_equal(seen.action_mask, with_field.action_mask)
            assert np.array_equal(seen.observations[:, 2:], with_field.action_mask)
            seen.actions[:] = with_field.actions[:] = random_actions(with_field, random)
            with_field.step(), seen.step()


@long_only
def test_a_policy_and_a_program_obey_a_mask_in_sight(ladder, tmp_path):
    folder = ladder(*IN_SIGHT)
    result = puffer_sdk.train(folder, {"train.total_timesteps": 100_000}, runs_dir=tmp_path)
    assert result.reached["score"] > 0.9
    text = PROGRAM.replace("env.action_mask[", "env.observations[OBS_LEGAL + ")
    run_program(folder, result.folder, text, tmp_path)


@pytest.mark.parametrize("changes, code, words", [
    ([("#define ACT_SIZES", "#define ACTION_MASK_AT OBS_LEGAL\n#define ACT_SIZES"),
      IN_SIGHT[0]], "PUF102", "ACTION_MASK_AT and a field 'action_mask' are two masks"),
    ([(IN_SIGHT[1][0], "#define ACTION_MASK_AT 3\n#define ACT_SIZES"), IN_SIGHT[0],
      *IN_SIGHT[2:]], "PUF112", "the 3 actions of ACTION_MASK_AT lie outside the observation")])
def test_a_wrong_place_of_the_mask_is_named(changes, code, words, ladder):
    with pytest.raises(BuildError, match=words) as caught:
        header.read(ladder(*changes))
    assert caught.value.code == code


def test_a_place_that_follows_settings_is_checked_when_envs_are_made(ladder):
    folder = ladder((IN_SIGHT[1][0], "#define ACTION_MASK_AT (env->rungs)\n#define ACT_SIZES"),
                    IN_SIGHT[0], *IN_SIGHT[2:])
    with pytest.raises(UsageError, match="3 actions from there on do not fit into 5"):
        open_env.make(folder, total_agents=4)


def test_a_number_of_that_name_is_the_authors(ladder):
    """Old environments may have a bitmask of their own."""
    folder = ladder((FIELD, "    int action_mask;"), ("env->action_mask[ACT_UP] =",
                                                      "env->action_mask ="),
                    ("    env->action_mask[ACT_DOWN] = env->rung > 0;\n", ""),
                    ("    env->action_mask[ACT_RING] = env->rung == env->bell;\n", ""))
    assert header.read(folder).mask_size == 0
    with open_env.make(folder, total_agents=4, seed=1) as vec:
        assert vec.action_mask is None


@pytest.mark.parametrize("do", some_or_all(["train", "evaluate"], 0))
def test_a_mask_that_forbids_all_ends_training_and_evaluation(do, ladder, trained, tmp_path):
    folder = ladder(("    env->action_mask[ACT_RING] = env->rung == env->bell;\n",
                     "    if (env->rung == 4) memset(env->action_mask, 0, ACT_COUNT);\n"))
    with pytest.raises(RunError, match=r"agent \d+ has no legal action in head 0") as caught:
        if do == "train":
            train.train(folder, {"train.total_timesteps": 300_000}, runs_dir=tmp_path)
        else:
            evaluate.evaluate(folder, model=str(trained[1]))
    assert "tick" in str(caught.value.where)
