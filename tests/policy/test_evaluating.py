"""`eval`: fixed seeds, fair episodes, intervals that can be recomputed, checkpoints that fit."""
import json
import math
import shutil
import statistics
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from helpers.places import SPECIMENS, broken
from helpers.playground import flags, overrides
from helpers.policies import make_policy
from helpers.short_or_long import long_only, some_or_all

from puffer_sdk.base.errors import RunError, UsageError
from puffer_sdk.cli import cmd_eval as eval_command
from puffer_sdk.policy import evaluate, export
from puffer_sdk.policy.trained_policy import Policy
from puffer_sdk.scoring import play_episodes
from puffer_sdk.scoring.score import ENDLESS, PER_EPISODE, Score
from puffer_sdk.settings.goal import parse_goal
from puffer_sdk.training import checkpoint, flat, train
from puffer_sdk.training.find_model import find_model

pytest_plugins = ["helpers.playground_fixtures"]
INNINGS = SPECIMENS / "innings"


@pytest.fixture(scope="module")
def trained(faulty, tmp_path_factory):
    """A run that has learned a little: half a second of training."""
    return train.train(faulty, {"train.total_timesteps": 60_000, "policy.hidden_size": 32},
                          runs_dir=tmp_path_factory.mktemp("trained")).folder


def baselines(env, **settings):
    return evaluate.evaluate(env, settings, model=None).scores


def env_settings(**env):
    return {f"env.{key}": value for key, value in env.items()}


@long_only
def test_the_same_seeds_give_the_same_file(faulty, trained, tmp_path):
    files = [tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.json"]
    for path in files[:2]:
        evaluate.evaluate(faulty, model=trained, output=path)
    evaluate.evaluate(faulty, {"eval.seed": 2}, model=trained, output=files[2])
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


def test_episodes_mean_and_interval(faulty, trained):
    """64 episodes: four of each of 16 envs."""
    result = evaluate.evaluate(faulty, model=trained)
    assert result.path == trained / "episodes.json"
    written = json.loads(result.path.read_text())["policies"]
    assert list(written) == ["trained", "random", "idle"]
    seeds = [[e["seed"] for e in score["episodes"]] for score in written.values()]
    assert seeds[0] == seeds[1] == seeds[2] and len(set(seeds[0])) == 16
    for name, score in written.items():
        episodes = score["episodes"]
        assert score["unit"] == PER_EPISODE and score["count"] == len(episodes) == 64
        for key, mean in score["mean"].items():
            assert mean == pytest.approx(statistics.fmean(e[key] for e in episodes))
            envs = [statistics.fmean(e[key] for e in episodes if e["env"] == env)
                    for env in range(16)]
            half = 2.131 * statistics.stdev(envs) / math.sqrt(16)       # t, 15 degrees of freedom
            assert score["interval"][key] == pytest.approx(half, rel=0.01, abs=1e-12)
        assert {e["episode_length"] for e in episodes} == {7}
        assert [e["perf"] * 7 for e in episodes] == pytest.approx([e["score"] for e in episodes])
        assert result.scores[name].mean == score["mean"]
    assert written["trained"]["mean"]["perf"] > written["random"]["mean"]["perf"] + 0.1


def test_every_agent_plays_the_same_number_of_episodes(faulty):
    scores = baselines(faulty, **{"eval.episodes": 200, "vec.total_agents": 64})
    for score in scores.values():
        agents = [e["agent"] for e in score.episodes]
        assert score.count == 200 and {agents.count(agent) for agent in range(50)} == {4}


def test_envs_without_endings_are_judged_by_their_ticks(faulty):
    scores = baselines(faulty, **env_settings(length=0), **{"eval.steps": 50})
    for score in scores.values():
        ticks = 50 * play_episodes.PATIENCE
        assert (score.unit, score.ticks, score.count, score.episodes) == (ENDLESS, ticks, 0, [])
        assert score.mean["return_per_1000_ticks"] == pytest.approx(500, abs=60)
        assert 0 < score.interval["return_per_1000_ticks"] < 60
        assert score.mean["entries_per_1000_ticks"] == 0


def test_several_agents_an_env_have_the_columns_of_its_log(faulty):
    scores = baselines(faulty, **env_settings(agents=3), **{"vec.total_agents": 63,
                                                            "eval.episodes": 63,
                                                            "train.minibatch_size": 8})
    for score in scores.values():
        assert score.count == 8 * play_episodes.GAMES and score.unfinished == 0   # one entry a game
        assert {e["env"] for e in score.episodes} == set(range(8))
        assert list(score.mean) == ["perf", "score", "episode_return", "episode_length"]
        assert score.mean["episode_length"] == 7 and 0 < score.mean["perf"] < 1


def test_agents_that_never_finish_are_counted_and_waited_for_no_longer_than_said(faulty, capsys):
    settings = {**env_settings(agents=2, mortal=1), "eval.steps": 10, "eval.episodes": 64}
    result = evaluate.evaluate(faulty, settings, model=None)
    for score in result.scores.values():
        assert score.ticks == 10 * play_episodes.PATIENCE
        assert score.unfinished == 8 and score.count == 32
    eval_command.print_table(result)
    assert "random play: 8 agents did not finish all episodes" in capsys.readouterr().err


@pytest.mark.parametrize("outs", some_or_all([20, 0, 1], 0))
@pytest.mark.parametrize("agents", [1, 2])
def test_each_log_entry_counts_once_with_a_terminal_or_without(outs, agents):
    """Returns from terminal to terminal would be 20 x 199 = 3980."""
    found = baselines(INNINGS, **env_settings(outs=outs, agents=agents))
    for score in found.values():
        mean = score.mean
        assert mean["episode_return"] == mean["score"] == mean["episode_length"] == 199
        assert score.count == len(score.episodes) >= 32
        assert max(e["episode_return"] for e in score.episodes) == 199
        assert mean["wickets"] == {20: 0, 0: 0, 1: 1}[outs]
        assert mean["perf"] >= 0.75         # not the first game of each env alone


@long_only
def test_long_episodes_are_not_taken_for_endless_ones():
    """2,040 ticks each, where [eval] steps is 1000."""
    (score, _) = baselines(INNINGS, **env_settings(length=2040, outs=1)).values()
    assert score.unit == PER_EPISODE and score.mean["episode_return"] == 2040


def test_one_env_says_why_it_has_no_interval(capsys):
    settings = {**env_settings(agents=64, outs=1), "vec.total_agents": 64}
    result = evaluate.evaluate(INNINGS, settings, model=None)
    assert set(result.scores["random"].interval.values()) == {None}
    eval_command.print_table(result)
    assert "no ± intervals: agents of one env" in capsys.readouterr().err


def test_a_goal_that_was_never_logged_is_not_met(capsys):
    score = Score("trained", ENDLESS, 0, 10, 0, {"return_per_1000_ticks": 1.0}, {})
    result = evaluate.Evaluation("innings", None, {"trained": score}, None, parse_goal("perf >= 0"))
    assert result.solved is False
    eval_command.print_result(result)
    assert "not met: the environment logged no perf" in capsys.readouterr().out


@long_only
def test_a_table_in_a_pipe_keeps_its_digits(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    done = cli("eval", INNINGS, "--baselines", "--env.length", 1_000_000, "--eval.steps", 10)
    assert done.returncode == 0 and "…" not in done.stdout
    assert done.stdout.count("1,000.0 ± 0.0") == 2


def test_greedy_play_is_the_likeliest_action(faulty, trained, tmp_path):
    drawn = evaluate.evaluate(faulty, model=trained, output=tmp_path / "a.json").scores["trained"]
    best = evaluate.evaluate(faulty, model=trained, greedy=True, output=tmp_path / "b.json").scores
    assert best["trained"].mean["perf"] > drawn.mean["perf"]


@pytest.mark.parametrize("which", ["latest", "best", "1", "0001", "FOLDER", "FILE"])
def test_ways_to_name_a_policy(which, faulty, trained, tmp_path):
    newest = trained / "checkpoints" / max(p.name for p in (trained / "checkpoints").iterdir())
    wanted = newest if which in ("latest", "FILE") else trained / "best.safetensors"
    which = {"FOLDER": trained, "FILE": newest}.get(which, which)
    assert find_model(trained.parent, str(which)) == wanted


@pytest.mark.parametrize(("settings", "text"), some_or_all([
    ({"name": "other", "obs_size": 9}, "another environment, other, with"),
    ({"obs_size": 9}, "another observation size"),
    ({"act_sizes": [2, 2]}, "another set of action heads")], 0))
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


@long_only
def test_a_policy_of_another_name_plays(faulty, trained, tmp_path, capsys):
    """The folder of the environment was renamed."""
    good = checkpoint.load(next((trained / "checkpoints").iterdir()))
    facts = {**good.facts, "env": {**good.facts["env"], "name": "flawed"}}
    renamed = checkpoint.save(tmp_path / "renamed.safetensors", good.tensors, facts)
    scores = [evaluate.evaluate(faulty, model=model, output=tmp_path / "out.json").scores
              for model in (good.path, renamed)]
    assert scores[0]["trained"] == scores[1]["trained"]
    assert capsys.readouterr().err.count("the policy was trained as flawed") == 1


def test_weights_of_another_network_are_refused(faulty, trained, tmp_path):
    good = checkpoint.load(next((trained / "checkpoints").iterdir()))
    tensors = {**good.tensors, "encoder": good.tensors["encoder"][:-1]}
    bad = checkpoint.save(tmp_path / "bad.safetensors", tensors, good.facts)
    with pytest.raises(UsageError, match="tensor 'encoder' has the wrong size"):
        evaluate.evaluate(faulty, model=bad)


@pytest.mark.parametrize(("tensors", "config", "says"), [
    ({"encoder": None}, {}, "has no tensor 'encoder'|do not fit its settings: encoder"),
    ({"encoder": "int32"}, {}, "tensor 'encoder' is not floating-point"),
    ({}, {"policy": {"hidden_size": "wide"}}, "saved settings contain a key that this version"),
])
def test_what_is_wrong_with_a_checkpoint_is_said_with_its_name(tensors, config, says, faulty,
                                                               trained, tmp_path):
    good = checkpoint.load(next((trained / "checkpoints").iterdir()))
    changed = {name: good.tensors[name].astype(kind) for name, kind in tensors.items() if kind}
    kept = {name: value for name, value in good.tensors.items() if name not in tensors}
    bad = checkpoint.save(tmp_path / "bad.safetensors", {**kept, **changed},
                          {**good.facts, "config": {**good.facts["config"], **config}})
    seen = np.zeros((1, good.facts["env"]["obs_size"]), good.facts["env"]["obs_dtype"])
    for use in (lambda: evaluate.evaluate(faulty, model=bad), lambda: export.read_policy(bad),
                lambda: Policy.load(bad).act(seen)):
        with pytest.raises(UsageError, match=says) as caught:
            use()
        assert str(bad) in caught.value.where


def test_a_folder_or_a_lost_link_is_no_checkpoint(faulty, tmp_path):
    (tmp_path / "a.safetensors").symlink_to("a.safetensors")
    (tmp_path / "b.safetensors").mkdir()
    missing = "there is no such checkpoint"
    for name, message, found in (("a.safetensors", missing, "a link that leads nowhere"),
                                 ("b.safetensors", missing, "a folder"),
                                 (".", "this folder is not a run", None)):
        with pytest.raises(UsageError, match=message) as caught:
            evaluate.evaluate(faulty, model=tmp_path / name)
        assert (caught.value.where, caught.value.actual) == (str(tmp_path / name), found)


@pytest.mark.parametrize(("damage", "status"), some_or_all([("truncated", 2), ("a folder", 2),
                                                ("non-finite", 4), ("absent", 2)], 0, 2))
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


@long_only
@pytest.mark.parametrize("options", some_or_all([
    ["eval", "--baselines"], ["train", "--train.total-timesteps", "20000"]], 0), ids=lambda o: o[0])
def test_a_perf_above_1_is_warned_of_at_the_end(options, cli, tmp_path):
    golf = tmp_path / "puf423_golf"
    shutil.copytree(broken(golf.name), golf, ignore=shutil.ignore_patterns("build"))
    header = golf / f"{golf.name}.h"
    header.write_text(header.read_text().replace("log.perf += ", "log.perf += 3.0f + "))
    done = cli(options[0], golf, *options[1:], "--runs-dir", tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("warning: Log.perf is") == 1
    assert "outside [0, 1]" in done.stderr and "puffer-sdk check" in done.stderr


def test_json_is_one_document(faulty, cli):
    done = cli("eval", faulty, "--baselines", "--format", "json", *flags(overrides("NAN_LOG")))
    result = json.loads(done.stdout, parse_constant=pytest.fail)
    assert done.returncode == 0 and list(result["policies"]) == ["random", "idle"]
    assert result["checkpoint"] is None
    assert result["policies"]["random"]["episodes"][0]["perf"] is None


@pytest.mark.parametrize(("fault", "name"), [("NAN_REWARD", "rewards"),
                                             ("NAN_OBSERVATION", "observations")])
def test_numbers_that_went_bad_are_named(fault, name, faulty):
    with pytest.raises(RunError, match=f"{name} not finite: nan in random play") as caught:
        evaluate.evaluate(faulty, overrides(fault, at=3), model=None)
    assert caught.value.where.startswith("env 0, seed ") and "step 3" in caught.value.where


def test_a_folder_that_is_not_there_is_refused_before_anything_is_played(faulty, tmp_path):
    with pytest.raises(UsageError, match="output folder does not exist"):
        evaluate.evaluate(faulty, overrides("EXIT_IN_RESET"), model=None,
                          output=tmp_path / "no/e.json")


def test_a_run_that_cannot_be_written_to_is_evaluated_all_the_same(trained, faulty, monkeypatch,
                                                                   capsys):
    (trained / "episodes.json").unlink(missing_ok=True)
    (trained / "episodes.json").mkdir()             # root may write anywhere else
    result = evaluate.evaluate(faulty, model=trained)
    assert result.path is None and result.scores["trained"].count == 64
    assert "cannot save the episodes" in capsys.readouterr().err
    monkeypatch.setattr(evaluate.os, "access", lambda place, how: False)
    result = evaluate.evaluate(faulty, model=trained)
    assert result.path is None and result.scores["trained"].count == 64
    assert "cannot be written to, so the episodes are not saved" in capsys.readouterr().err
    (trained / "episodes.json").rmdir()


def test_a_notebook_shows_the_table(faulty, trained, tmp_path):
    result = evaluate.evaluate(faulty, model=trained, output=tmp_path / "e.json")
    shown = result._repr_html_()
    assert ET.fromstring(shown).tag == "table" and shown.count("<tr>") == 6
    assert all(text in shown for text in ("faulty, per episode", "trained", "episode return", "±"))


def test_the_table_fits_80_columns(faulty, trained, cli):
    done = cli("eval", faulty, "--runs-dir", trained.parent.parent)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and max(map(len, lines[:-1])) <= 80
    assert lines[0].strip() == "faulty, per episode"
    assert lines[1].split() == ["trained", "random", "idle"]
    assert [line[:14].rstrip() for line in lines[2:7]] == [
        "perf", "score", "episode return", "episode length", "episodes"]
    assert all(line.count("±") == 3 for line in lines[2:6])
    assert lines[7] == "weights   the best of run 1, after 59,904 steps"
    assert lines[8] == f"episodes  {trained}/episodes.json"


# -- PufferLib's weights ---------------------------------------------------------------------------


@long_only
def test_weights_of_pufferlib_play_as_the_checkpoint(faulty, trained, tmp_path):
    """The same numbers in PufferLib's file, with our trailer and without: the same episodes."""
    ours = evaluate.evaluate(faulty, {"policy.hidden_size": 32}, model=trained,
                             output=tmp_path / "ours.json").scores["trained"]
    packed = export.export(trained, output=tmp_path / "packed_weights.bin")
    plain = tmp_path / "plain_weights.bin"
    trailer = int.from_bytes(packed.read_bytes()[-12:-8], "little")
    plain.write_bytes(packed.read_bytes()[:-trailer])
    for file in (packed, plain):
        found = evaluate.evaluate(faulty, {"policy.hidden_size": 32}, model=file)
        assert found.scores["trained"] == ours
        assert found.weights == f"those of {file.name}" and found.checkpoint == file
        assert found.path == file.with_suffix(".episodes.json")


def test_weights_of_pufferlib_that_do_not_fit(faulty, trained, tmp_path):
    packed = export.export(trained, output=tmp_path / "weights.bin")
    with pytest.raises(UsageError, match="do not fit the network") as caught:
        evaluate.evaluate(faulty, model=packed)                 # the ini has another hidden_size
    assert caught.value.expected == \
        "880 numbers (4 observations, hidden_size 16, num_layers 1, heads 2)"
    assert caught.value.hint == "--policy.hidden-size 32 --policy.num-layers 1 would fit"


def test_weights_of_pufferlib_are_of_flat_networks(faulty, trained, tmp_path):
    packed = export.export(trained, output=tmp_path / "weights.bin")
    with pytest.raises(UsageError, match="PufferLib's weights are of a network that sees a flat"):
        evaluate.evaluate(faulty, {"policy.encoder": "image 0 2x2x1: 3x2"}, model=packed)
    sees = make_policy(tmp_path, obs_size=4, encoder="image 0 2x2x1: 3x2").export(
        "c", tmp_path / "sees.bin")
    with pytest.raises(UsageError, match="an export of a network that sees more") as caught:
        evaluate.evaluate(faulty, model=sees)
    assert caught.value.hint == "name the run or the checkpoint that it was exported from"


@pytest.mark.parametrize("sizes, align", [([3, 2], 8), ([1] * 6, 8), ([1] * 6, 4)])
def test_tensors_are_cut_where_pufferlib_begins_them(sizes, align, tmp_path):
    """A logstd of six numbers is followed by two, or by none where the unit is four numbers."""
    wanted = flat.shapes(5, sizes, 16, 2)
    starts, end = flat.places(wanted, align)
    numbers = np.zeros(end, np.float32)
    for value, (start, shape) in enumerate(zip(starts, wanted.values(), strict=True), 1):
        numbers[start:start + math.prod(shape)] = value
    tensors = flat.cut(numbers, 5, sizes, 16, 2, tmp_path)
    assert [np.unique(tensor).tolist() for tensor in tensors.values()] == \
        [[value] for value in range(1, len(wanted) + 1)]
    assert ("logstd" in tensors) == (set(sizes) == {1})
    lstm = np.zeros(128 * 6 + 4 * 129 + 8 * 128 * 129, np.float32)
    with pytest.raises(UsageError) as caught:
        flat.cut(lstm, 5, [3], 128, 1, tmp_path)
    assert "an LSTM" in caught.value.hint
