"""[eval] goal: parsed, refused, watched in training, judged by eval."""
import pytest
from helpers.places import SPECIMENS
from helpers.playground import COMMAND
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import UsageError
from puffer_sdk.policy import evaluate
from puffer_sdk.settings import config
from puffer_sdk.settings.goal import Goal, parse_goal
from puffer_sdk.training import train


def test_a_goal_is_read_and_written_alike():
    assert parse_goal("score >= 800") == Goal("score", True, 800.0)
    assert parse_goal("episode_length<=1e2") == Goal("episode_length", False, 100.0)
    assert parse_goal("  ") is None
    assert str(parse_goal("score>=-200")) == "score >= -200"


@pytest.mark.parametrize("text", ["score", "score > 3", "score >= ", ">= 3", "score >= high",
                                  "score >= 3 now", "score >= nan"])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError):
        parse_goal(text)


def test_a_goal_is_met_at_its_number():
    assert Goal("score", True, 2.0).is_met(2.0) and not Goal("score", True, 2.0).is_met(1.9)
    assert Goal("score", False, 2.0).is_met(2.0) and not Goal("score", False, 2.0).is_met(2.1)


def test_a_goal_that_nothing_logs_is_refused(squared):
    with pytest.raises(UsageError, match="not logged") as caught:
        config.resolve(squared, {"eval.goal": "scor >= 3"}, spec=config_spec(squared))
    assert "did you mean 'score'" in str(caught.value.hint)


def test_a_goal_of_teams_is_one_that_games_tell():
    """What is logged is of both sides: a goal on it would never be met."""
    duel = SPECIMENS / "duel"
    settings = {"eval.goal": "win_rate >= 0.9"}
    assert config.resolve(duel, settings, spec=config_spec(duel)).eval.goal == "win_rate >= 0.9"
    with pytest.raises(UsageError, match="games do not tell") as caught:
        config.resolve(duel, {"eval.goal": "perf >= 0.9"}, spec=config_spec(duel))
    assert "both sides" in str(caught.value.hint)


def test_stopping_needs_a_goal(squared):
    with pytest.raises(UsageError, match="without a goal"):
        config.resolve(squared, {"train.stop_at_goal": "1", "eval.goal": ""})
    with pytest.raises(UsageError, match="cannot be read"):
        config.resolve(squared, {"eval.goal": "better"})


def config_spec(folder):
    from puffer_sdk.env import header
    return header.read(folder)


def test_training_ends_at_the_goal_and_eval_judges_it(squared, tmp_path):
    settings = {"eval.goal": "perf >= 0.3", "train.stop_at_goal": "1", "eval.episodes": "200"}
    result = train.train(squared, settings, runs_dir=tmp_path)
    steps, seconds = result.goal
    assert steps == result.steps < 3_000_000 and 0 < seconds <= result.seconds
    met = evaluate.evaluate(squared, settings, runs_dir=tmp_path)
    assert met.solved is True and met.to_dict()["goal"] == "perf >= 0.3"
    harder = evaluate.evaluate(squared, {**settings, "eval.goal": "perf >= 1"},
                                 runs_dir=tmp_path)
    assert harder.solved is False
    elsewhere = evaluate.evaluate(squared, settings, model=None)
    assert elsewhere.solved is None


@long_only
def test_a_run_that_stopped_at_its_goal_is_over(squared, tmp_path, capfd):
    settings = {"eval.goal": "perf >= 0.3", "train.stop_at_goal": "1"}
    first = train.train(squared, settings, runs_dir=tmp_path)
    assert "was confirmed after" not in capfd.readouterr().err
    again = train.train(squared, resume="latest", runs_dir=tmp_path)
    said = capfd.readouterr().err
    assert f"confirmed after {first.steps:,} steps" in said and "--train.stop-at-goal 0" in said
    assert (again.steps, again.goal, again.checkpoint) == (first.steps, first.goal,
                                                           first.checkpoint)
    further = {"train.stop_at_goal": "0", "train.total_timesteps": first.steps + 150_000}
    on = train.train(squared, further, resume="latest", runs_dir=tmp_path)
    assert on.steps > first.steps and on.goal == first.goal     # when it was first reached
    other = train.train(squared, {**further, "eval.goal": "perf >= 0"}, resume="latest",
                           runs_dir=tmp_path)
    assert other.goal != first.goal                             # another goal is another matter


@long_only
def test_eval_says_so_with_its_status(squared, tmp_path):
    import subprocess
    train.train(squared, {"train.total_timesteps": "100_000"}, runs_dir=tmp_path)
    asked = [*COMMAND, "eval", squared, "--runs-dir", tmp_path, "--eval.episodes", "50"]
    done = subprocess.run([*asked, "--eval.goal", "perf >= 1"], capture_output=True, text=True)
    assert done.returncode == 1 and "goal      perf >= 1: not met\nto read " in done.stdout
    done = subprocess.run([*asked, "--eval.goal", "perf >= 0"], capture_output=True, text=True)
    assert done.returncode == 0 and "goal      perf >= 0: met" in done.stdout
