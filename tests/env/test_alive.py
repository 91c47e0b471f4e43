"""Variable number of agents: inactive rows in the library, in training, play and exports."""
from __future__ import annotations

import subprocess
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.herd import ALIVE, BOTH, KINDS, MAX, open_vec, write_herd
from helpers.places import ROOT
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.base.errors import BuildError, UsageError
from puffer_sdk.env import abi, agent_slots, build, header
from puffer_sdk.env.agent_slots import random_actions
from puffer_sdk.playing.game import Game
from puffer_sdk.policy import evaluate, export
from puffer_sdk.projects import ocean
from puffer_sdk.scoring.baselines import same_actions
from puffer_sdk.scoring.entries import Entries
from puffer_sdk.settings import config
from puffer_sdk.training import checkpoint
from puffer_sdk.training.loop import Trainer
from puffer_sdk.training.reference.reference_ppo import TorchPPO

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


# -- the library -----------------------------------------------------------------------------------


@every_kind
def test_a_row_says_whether_it_has_an_agent(tmp_path, kind):
    folder = write_herd(tmp_path, kind)
    spec = header.read(folder)
    assert spec.has_max_agents == (kind is not ALIVE) and spec.has_alive == (kind is not MAX)
    assert spec.comes_and_goes
    with open_vec(folder) as vec:
        assert vec.description.has_alive and vec.num_envs == 8 and vec.alive.dtype == np.uint8
        vec.reset()
        counts = set()
        for _ in range(60):
            vec.actions[:] = random_actions(vec, np.random.default_rng(1))
            alive = vec.alive.copy()
            assert set(alive) <= {0, 1}
            np.testing.assert_array_equal(np.isfinite(vec.observations).all(1), alive != 0)
            counts |= set(alive.reshape(8, 6).sum(1))
            if kind is MAX:             # the first ones
                assert (np.diff(alive.reshape(8, 6).astype(int)) <= 0).all()
            vec.step()
            np.testing.assert_array_equal(np.isfinite(vec.rewards), alive != 0)
        assert 0 in counts and len(counts) > 4      # nobody, at times


def test_other_environments_have_no_such_row(squared):
    with open_vec(squared, total_agents=4) as vec:
        assert vec.alive is None and not vec.description.has_alive
        assert agent_slots.living(vec).all()


@pytest.mark.parametrize("field, named", [
    ("float max_agents;", "max_agents"), ("float* alive;", "alive"), ("int alive[4];", "alive")])
def test_fields_of_the_wrong_type_are_refused(tmp_path, field, named):
    folder = write_herd(tmp_path, ALIVE)
    path = folder / "herd.h"
    text = path.read_text().replace("unsigned char* alive;", field).replace("env->alive", "other")
    path.write_text(text.replace("static int chance", "static int other[9];\nstatic int chance"))
    with pytest.raises(BuildError, match=f"Herd.{named} has the wrong type"):
        build.build(folder)


def test_a_number_named_alive_is_the_authors_own(tmp_path):
    folder = write_herd(tmp_path, MAX)
    path = folder / "herd.h"
    path.write_text(path.read_text().replace("int max_agents;", "int max_agents; int alive;"))
    assert not header.read(folder).has_alive
    with open_vec(folder) as vec:
        vec.reset()
        assert not vec.alive.all()


def test_max_agents_must_be_set(tmp_path):
    folder = write_herd(tmp_path, {**MAX, "@INIT@": "(void)env;"})
    with pytest.raises(UsageError) as caught:
        open_vec(folder)
    assert "max_agents = 0" in caught.value.message and "max_agents" in caught.value.hint


def test_a_buffer_that_nobody_asked_for_is_the_librarys_own(tmp_path):
    """An env that writes `alive` runs where no trainer reads it: here, bound without."""
    folder = write_herd(tmp_path, BOTH)
    with open_vec(folder) as vec:
        buffers = abi.ffi().new("PufferBuffers*")
        assert buffers.alive == abi.ffi().NULL
        rows = {name: np.zeros((6, width), np.float32) for name, width in
                (("observations", 3), ("actions", 1), ("rewards", 1), ("terminals", 1))}
        for name, array in rows.items():
            setattr(buffers, name, abi.ffi().from_buffer("char[]", array) if name == "observations"
                    else abi.ffi().from_buffer("float[]", array))
        vec.library.api.bind(vec.handle, 0, buffers)
        before, seen = vec.alive[:6].copy(), set()
        for _ in range(30):
            vec.step()
            seen |= set(np.isfinite(rows["observations"]).all(1))
        np.testing.assert_array_equal(vec.alive[:6], before)
        assert seen == {True, False}


# -- training --------------------------------------------------------------------------------------


def train(vec, resolved, trainer=Trainer, epochs=6):
    with trainer(vec, resolved) as made:
        metrics = []
        for _ in range(epochs):
            made.rollout()
            metrics.append(made.update())
        return metrics, {name: array.copy() for name, array in made.parameters.items()}


@long_only
@every_kind
def test_training_takes_no_notice_of_empty_rows(tmp_path, kind):
    """NaN in them would spoil every weight; an action for them aborts the env."""
    with open_vec(write_herd(tmp_path, kind)) as vec:
        metrics, weights = train(vec, {})
    assert all(np.isfinite(array).all() for array in weights.values())
    share = [row["train/alive"] for row in metrics]
    assert all(0 < each < 1 for each in share) and len(set(share)) > 1


@pytest.mark.parametrize("prio", [0, 0.8])
@pytest.mark.parametrize("threads", [1, 3])
def test_padding_changes_no_byte(tmp_path, prio, threads):
    """Six rows, or eight of which two are never taken: the same weights and figures."""
    folder, found = write_herd(tmp_path, MAX), []
    for rows in (6, 8):
        with open_vec(folder, {"env.max_agents": rows}, total_agents=rows) as vec:
            metrics, weights = train(vec, {
                "train.minibatch_size": 24, "train.prio_alpha": prio, "vec.num_threads": threads,
                "train.total_timesteps": rows * 8 * 20}, epochs=20)
        for row in metrics:
            assert row.pop("train/alive") < 1
        found.append((metrics, weights))
    (metrics, weights), (padded, padded_weights) = found
    assert metrics == padded and any(row.get("loss/policy") for row in metrics)
    for name, array in weights.items():
        assert array.tobytes() == padded_weights[name].tobytes(), name


def test_an_env_whose_agents_all_live_trains_as_without_the_field(tmp_path):
    """The same game, once without `alive` and once with a row that is always 1."""
    found = []
    for number, fields in enumerate(("unsigned char* alive;", "unsigned char alive[16];")):
        (tmp_path / str(number)).mkdir()
        folder = write_herd(tmp_path / str(number), {
            **ALIVE, "@FIELDS@": fields, "@JOIN@":
            "for (int i = 0; i < env->most; i++) env->alive[i] = 1;"})
        if number:
            path = folder / "herd.h"
            path.write_text(path.read_text().replace("alive", "present"))
        with open_vec(folder) as vec:
            assert (vec.alive is None) == bool(number)
            metrics, weights = train(vec, {})
        for row in metrics:
            assert row.pop("train/alive", 1) == 1
        found.append((metrics, weights))
    assert found[0][0] == found[1][0]
    for name, array in found[0][1].items():
        assert array.tobytes() == found[1][1][name].tobytes(), name


def test_it_learns(tmp_path):
    """The right action is that of the observation: 1 where it is large, else 0."""
    with open_vec(write_herd(tmp_path, BOTH)) as vec, \
            Trainer(vec, {"train.total_timesteps": 48 * 8 * 120}) as trainer:
        scores = []
        while not trainer.finished:
            trainer.rollout()
            trainer.update()
            scores.append(vec.log()["score"])
    assert np.mean(scores[-10:]) > 1.8 * np.mean(scores[:5])


def test_an_epoch_in_which_nobody_lives_changes_nothing(tmp_path):
    folder = write_herd(tmp_path, {**MAX, "@JOIN@": "env->num_agents = 0;"})
    with open_vec(folder) as vec, Trainer(vec) as trainer:
        before = {name: array.copy() for name, array in trainer.parameters.items()}
        trainer.rollout()
        metrics = trainer.update()
        assert metrics["train/alive"] == 0 and "loss/policy" not in metrics
        for name, array in trainer.parameters.items():
            np.testing.assert_array_equal(array, before[name])


def test_the_referee_trains_them_too(tmp_path):
    with open_vec(write_herd(tmp_path, BOTH)) as vec:
        resolved = config.resolve(tmp_path / "herd", {"train.backend": "torch"})
        trainer = TorchPPO(vec, resolved)
        for _ in range(3):
            trainer.rollout()
            metrics = trainer.update()
        assert 0 < metrics["train/alive"] < 1
        assert all(np.isfinite(weight.detach().numpy()).all()
                   for weight in trainer.policy.parameters())


# -- play and what is counted ----------------------------------------------------------------------


def fake_vec(ticks, rows=4):
    """A vec of one env that replays what each tick left: alive, rewards, terminals."""
    vec = SimpleNamespace(num_agents=rows, num_envs=1, first_row=np.array([0, rows]),
                          truncations=np.zeros(rows), alive=np.ones(rows, np.uint8),
                          rewards=np.zeros(rows), terminals=np.zeros(rows), layout=object(),
                          description=SimpleNamespace(log_names=()))
    vec.log_of, vec.env_seed = lambda env: {}, lambda env: 7

    def step():
        vec.alive[:], vec.rewards[:], vec.terminals[:] = next(ticks)
    vec.step = step
    return vec


def test_death_is_an_ending_and_empty_rows_have_no_quota():
    nan = np.nan
    vec = fake_vec(iter([
        ([1, 0, 1, 0], [1, 2, 3, nan], [0, 0, 0, 0]),       # row 1 dies with its last reward
        ([1, 0, 0, 0], [1, 9, 3, nan], [0, 0, 1, 1]),       # row 2 by a terminal as well
        ([1, 1, 0, 0], [1, 9, 9, nan], [0, 1, 1, 0]),       # row 1 is born: no ending
        ([0, 0, 0, 0], [1, 5, 9, nan], [1, 0, 0, 0])]))
    vec.alive[:] = 1, 1, 1, 0
    entries = Entries(vec, quota=1, span=9)
    for _ in range(4):
        vec.step()
        entries.look()
    assert [(each["agent"], each["tick"], each["episode_return"], each["episode_length"])
            for each in entries.episodes] == [(1, 1, 2.0, 1), (2, 2, 6.0, 2), (0, 4, 4.0, 4)]
    assert list(entries.finished) == [1, 2, 1, 0] and list(entries.seen) == [1, 1, 1, 0]
    assert list(entries.ages) == [4, 2, 2, 0] and list(entries.earned) == [4, 7, 6, 0]
    assert entries.done.all()               # nobody waits for row 3


@long_only
@every_kind
def test_random_and_idle_play_leave_empty_rows_alone(tmp_path, kind):
    with open_vec(write_herd(tmp_path, kind)) as vec:
        vec.reset()
        for actions in (random_actions(vec, np.random.default_rng(0)), same_actions(vec, [2])):
            assert not actions[vec.alive == 0].any() and actions[vec.alive != 0].any()


@every_kind
def test_a_policy_acts_for_those_who_live(tmp_path, kind):
    """What stands in empty rows changes nothing, and they begin anew with nothing remembered."""
    with open_vec(write_herd(tmp_path, kind)) as vec, Trainer(vec) as trainer:
        saved = trainer.save(tmp_path / "policy.safetensors")
        clean, plain = (puffer_sdk.Policy.load(saved, seed=4) for _ in range(2))
        vec.reset()
        for _ in range(12):
            there = vec.alive != 0
            actions = clean.act(vec.observations, alive=vec.alive)
            assert not actions[~there].any() and not clean.state[~there].any()
            same = plain.act(np.where(there[:, None], vec.observations, 0))
            np.testing.assert_array_equal(actions[there], same[there])
            vec.actions[:] = actions
            vec.step()
            for policy in (clean, plain):
                policy.ended(agent_slots.ended(vec))


@every_kind
def test_eval_and_play_go_through_them(tmp_path, kind):
    """Both would stop at a NaN; eval's returns are those of the agents alone."""
    folder = write_herd(tmp_path, kind)
    with open_vec(folder) as vec, Trainer(vec) as trainer:
        trainer.rollout()
        trainer.update()
        saved = trainer.save(tmp_path / "policy.safetensors")
        library = vec.library
    found = evaluate.evaluate(folder, model=saved, settings={"eval.episodes": 64})
    for score in found.scores.values():
        assert score.unit == "per episode" and 0 < score.mean["score"] < 42
    resolved = config.resolve(folder)
    game = Game(library, resolved, checkpoint.load(saved), 1, False, None)
    for _ in range(30):
        game.advance()
        assert np.isfinite(game.returns).all() and np.isfinite(game.values).all()
    returns = game.returns.copy()
    game.back(5)
    for _ in range(5):
        game.redo()
    np.testing.assert_array_equal(game.returns, returns)


# -- C programs and exports ------------------------------------------------------------------------


@long_only
@every_kind
def test_a_program_in_c_plays_them(tmp_path, kind):
    """The generated config.h makes the arrays; dice and a policy act, and the env aborts where they
    act for a row without an agent."""
    folder = write_herd(tmp_path, kind)
    (folder / "play.c").write_text(
        '#include "herd.h"\n#include "build/herd_config.h"\n#include <stdio.h>\n'
        "int main(int argc, char** argv) {\n    Herd env = {0};\n    herd_configure(&env);\n"
        "    env.rng = 5;\n    init(&env);\n    herd_allocate(&env);\n"
        "    PufferNet* policy = herd_policy(&env, argc, argv);\n    c_reset(&env);\n"
        "    for (int t = 0; t < 200; t++) { herd_act(&env, policy); c_step(&env); }\n"
        '    printf("%d %g\\n", policy != NULL, env.log.n);\n'
        "    puffernet_free(policy);\n    herd_free(&env);\n    return 0;\n}\n")
    with open_vec(folder) as vec, Trainer(vec) as trainer:
        trainer.rollout()
        trainer.update()
        saved = trainer.save(tmp_path / "policy.safetensors")
    build.build(folder, env_settings=config.resolve(folder).env)
    weights = export.export(folder, "c", tmp_path / "policy.bin", model=saved)
    built = subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
                            "-g", "-Ibuild", "-o", "play", "play.c", "-lm"], cwd=folder,
                           capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for arguments, wanted in (((), "0 28\n"), ((str(weights),), "1 28\n")):
        done = subprocess.run(["./play", *arguments], cwd=folder, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, wanted), done.stderr


@long_only
@every_kind
def test_a_binding_for_pufferlib_has_room_for_every_row(tmp_path, kind):
    folder = write_herd(tmp_path, kind)
    bound = ocean.bind(folder)
    assert any("fixed number of agents" in note for note in bound.notes)
    text = bound.path.read_text()
    assert ("env->alive = (unsigned char*)calloc" in text) == (kind is not MAX)
    assert ("env->num_agents = env->max_agents" in text) == (kind is not ALIVE)
    with open_vec(folder) as vec:           # the SDK's own vecenv.h goes on as before
        vec.reset()
        assert vec.num_envs == 8 and not vec.alive.all()


def test_no_example_has_them():
    """Examples stay as short as they are; docs/reference/contract.md has one that does."""
    assert not any(header.read(path.parent).comes_and_goes
                   for path in (ROOT / "examples").glob("*/*.ini"))
