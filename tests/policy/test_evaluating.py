"""`eval`: fixed seeds, fair episodes, intervals that can be recomputed, checkpoints that fit."""
import json
import math
import statistics
from types import SimpleNamespace

import pytest
from helpers.playground import flags, overrides

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.cli import eval as eval_command
from puffer_sdk.env import build, library
from puffer_sdk.policy import evaluate, players, scoring
from puffer_sdk.policy.intervals import clustered_mean, student_t
from puffer_sdk.policy.models import find_model
from puffer_sdk.policy.scoring import PER_EPISODE, PER_TICKS
from puffer_sdk.settings import config
from puffer_sdk.training import checkpoint, train

pytest_plugins = ["helpers.playground_fixtures"]


@pytest.fixture(scope="module")
def trained(faulty, tmp_path_factory):
    """A run that has learned a little: half a second of training."""
    return train.train(faulty, {"train.total_timesteps": 60_000, "policy.hidden_size": 32},
                          runs_dir=tmp_path_factory.mktemp("trained")).folder


def baselines(env, **settings):
    return evaluate.evaluate(env, settings, model=None).scores


def env_settings(**env):
    return {f"env.{key}": value for key, value in env.items()}


def test_the_same_seeds_give_the_same_file(faulty, trained, tmp_path):
    files = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.json"]
    for path in files[:2]:
        evaluate.evaluate(faulty, model=trained, output=path)
    evaluate.evaluate(faulty, {"eval.seed": 2}, model=trained, output=files[2])
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_episodes_mean_and_interval(faulty, trained):
    result = evaluate.evaluate(faulty, model=trained)
    assert result.path == trained / "episodes.json"
    written = json.loads(result.path.read_text())["policies"]
    assert list(written) == ["trained", "random", "idle"]
    seeds = [[e["seed"] for e in score["episodes"]] for score in written.values()]
    assert seeds[0] == seeds[1] == seeds[2] and len(set(seeds[0])) == 64
    for name, score in written.items():
        episodes = score["episodes"]
        assert score["unit"] == PER_EPISODE and score["count"] == len(episodes) == 64
        for key, mean in score["mean"].items():
            values = [e[key] for e in episodes]
            assert mean == pytest.approx(statistics.fmean(values))
            half = 1.998 * statistics.stdev(values) / math.sqrt(64)     # t, 63 degrees of freedom
            assert score["interval"][key] == pytest.approx(half, rel=0.01, abs=1e-12)
        assert {e["episode_length"] for e in episodes} == {7}
        assert [e["perf"] * 7 for e in episodes] == pytest.approx([e["score"] for e in episodes])
        assert result.scores[name].mean == score["mean"]
    assert written["trained"]["mean"]["perf"] > written["random"]["mean"]["perf"] + 0.1


def test_students_t():
    for freedom, value in ((1, 12.706), (2, 4.303), (3, 3.182), (5, 2.571), (12, 2.179),
                           (30, 2.042), (1000, 1.962)):
        assert student_t(freedom) == pytest.approx(value, rel=0.01)


def test_the_interval_is_over_environments():
    values, envs = [1, 1, 1, 1, 3, 3, 3, 3], [0, 0, 0, 0, 1, 1, 1, 1]
    mean, half = clustered_mean(values, envs)
    assert mean == 2 and half == pytest.approx(12.706 * math.sqrt(2) / math.sqrt(2))
    assert clustered_mean(values, [0] * 8) == (2, None)


def test_every_agent_plays_the_same_number_of_episodes(faulty):
    scores = baselines(faulty, **{"eval.episodes": 200, "vec.total_agents": 64})
    for score in scores.values():
        agents = [e["agent"] for e in score.episodes]
        assert score.count == 256 and {agents.count(agent) for agent in range(64)} == {4}


def test_envs_without_endings_are_judged_by_their_ticks(faulty):
    scores = baselines(faulty, **env_settings(length=0), **{"eval.steps": 80})
    for score in scores.values():
        assert (score.unit, score.ticks, score.count, score.episodes) == (PER_TICKS, 80, 64, [])
        assert score.mean["return"] == pytest.approx(500, abs=60)
        assert 0 < score.interval["return"] < 60


def test_several_agents_an_env(faulty):
    scores = baselines(faulty, **env_settings(agents=3), **{"vec.total_agents": 63,
                                                            "eval.episodes": 63,
                                                            "train.minibatch_size": 8})
    for score in scores.values():
        assert score.count == 63 and score.unfinished == 0
        assert {e["env"] for e in score.episodes} == set(range(21))
        assert set(score.mean) == {"episode_return", "episode_length"}     # Log is of all agents


def test_agents_that_never_finish_are_counted_and_waited_for_no_longer_than_said(faulty, capsys):
    settings = {**env_settings(agents=2, mortal=1), "eval.steps": 10, "eval.episodes": 64}
    result = evaluate.evaluate(faulty, settings, model=None)
    for score in result.scores.values():
        assert score.ticks == 10 * scoring.PATIENCE
        assert score.unfinished == 32 and score.count == 32
    eval_command.print_table(result)
    assert "random play: 32 agents did not finish within 200 ticks" in capsys.readouterr().err


def test_a_policy_that_outlives_eval_steps_is_waited_for_where_episodes_are_known_to_end(faulty):
    """A good player's episodes may be longer than any of random play's."""
    built = build.build(faulty)
    settings = {**env_settings(length=100), "eval.steps": 30, "eval.episodes": 8}
    resolved = config.resolve(faulty, settings, spec=built.spec)
    link = SimpleNamespace(stop=False, watches=lambda: None, emit=lambda *_, **__: None)
    scores = {}
    for endings in (False, True):
        scorer = scoring.Scorer(library.Library(built.library), resolved, "random", link)
        scores[endings] = scorer.play(players.random_player(scorer.vec, resolved), endings)
    assert (scores[False].unit, scores[False].ticks) == (PER_TICKS, 30)
    assert (scores[True].unit, scores[True].ticks) == (PER_EPISODE, 100)


def test_greedy_play_is_the_likeliest_action(faulty, trained, tmp_path):
    drawn = evaluate.evaluate(faulty, model=trained, output=tmp_path / "a.json").scores["trained"]
    best = evaluate.evaluate(faulty, model=trained, greedy=True, output=tmp_path / "b.json").scores
    assert best["trained"].mean["perf"] > drawn.mean["perf"]


@pytest.mark.parametrize("which", ["latest", "1", "0001", "FOLDER", "FILE"])
def test_ways_to_name_a_policy(which, faulty, trained, tmp_path):
    newest = trained / "checkpoints" / max(p.name for p in (trained / "checkpoints").iterdir())
    which = {"FOLDER": trained, "FILE": newest}.get(which, which)
    assert find_model(trained.parent, str(which)) == newest


@pytest.mark.parametrize(("settings", "text"), [
    ({"name": "other"}, "another environment"), ({"obs_size": 9}, "another observation size"),
    ({"act_sizes": [2, 2]}, "another set of action heads")])
def test_a_checkpoint_that_does_not_fit_is_refused_before_a_step(settings, text, faulty, trained,
                                                                 tmp_path):
    path = next((trained / "checkpoints").iterdir())
    good = checkpoint.load(path)
    facts = {**good.facts, "env": {**good.facts["env"], **settings}}
    bad = checkpoint.save(tmp_path / "bad.safetensors", good.tensors, facts)
    deadly = overrides("EXIT_IN_RESET")     # whoever resets an env dies
    with pytest.raises(UsageError, match=text):
        evaluate.evaluate(faulty, deadly, model=bad)
    assert [item.name for item in tmp_path.iterdir()] == ["bad.safetensors"]


def test_weights_of_another_network_are_refused(faulty, trained, tmp_path):
    good = checkpoint.load(next((trained / "checkpoints").iterdir()))
    tensors = {**good.tensors, "encoder": good.tensors["encoder"][:-1]}
    bad = checkpoint.save(tmp_path / "bad.safetensors", tensors, good.facts)
    with pytest.raises(UsageError, match="tensor 'encoder' has another size"):
        evaluate.evaluate(faulty, model=bad)


@pytest.mark.parametrize(("damage", "status"), [("truncated", 2), ("a folder", 2),
                                                ("non-finite", 4), ("absent", 2)])
def test_a_bad_file_ends_the_command(damage, status, faulty, trained, cli, tmp_path):
    path = tmp_path / "bad.safetensors"
    good = checkpoint.load(next((trained / "checkpoints").iterdir()))
    if damage == "truncated":
        path.write_bytes(good.path.read_bytes()[:-1])
    elif damage == "a folder":
        path.mkdir()
    elif damage == "non-finite":
        checkpoint.save(path, {**good.tensors, "encoder": good.tensors["encoder"] * math.inf},
                        good.facts)
    done = cli("eval", faulty, "--load-model-path", path)
    assert done.returncode == status and str(path) in done.stderr.replace("\n", "")
    assert done.stdout == "" and "Traceback" not in done.stderr


def test_without_a_policy_the_baselines_are_offered(faulty, cli, tmp_path):
    done = cli("eval", faulty, "--runs-dir", tmp_path)
    assert done.returncode == 2 and "--baselines" in done.stderr


def test_json_is_one_document(faulty, cli):
    done = cli("eval", faulty, "--baselines", "--format", "json", *flags(overrides("NAN_LOG")))
    result = json.loads(done.stdout, parse_constant=pytest.fail)
    assert done.returncode == 0 and list(result["policies"]) == ["random", "idle"]
    assert result["checkpoint"] is None
    assert result["policies"]["random"]["episodes"][0]["perf"] is None


@pytest.mark.parametrize(("fault", "name"), [("NAN_REWARD", "rewards"),
                                             ("NAN_OBSERVATION", "observations")])
def test_numbers_that_went_bad_are_named(fault, name, faulty):
    with pytest.raises(RunError, match=f"{name} went bad: nan in random play") as caught:
        evaluate.evaluate(faulty, overrides(fault, at=3), model=None)
    assert caught.value.where.startswith("env 0, seed ") and "step 3" in caught.value.where


def test_a_folder_that_is_not_there_is_refused_before_anything_is_played(faulty, tmp_path):
    with pytest.raises(UsageError, match="no such folder"):
        evaluate.evaluate(faulty, overrides("EXIT_IN_RESET"), model=None,
                          output=tmp_path / "no/e.json")


def test_the_table_fits_80_columns(faulty, trained, cli):
    done = cli("eval", faulty, "--runs-dir", trained.parent.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and max(map(len, lines[:-1])) <= 80
    assert lines[0].strip() == "faulty, per episode"
    assert lines[1].split() == ["trained", "random", "idle"]
    assert [line[:14].rstrip() for line in lines[2:7]] == [
        "perf", "score", "episode return", "episode length", "episodes"]
    assert all(line.count("±") == 3 for line in lines[2:6])
    assert lines[7] == f"episodes  {trained}/episodes.json"
