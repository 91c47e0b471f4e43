"""Every example reaches the goal of its own ini, with the settings of its own ini."""
import shutil

import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

from puffer_sdk import configure
from puffer_sdk.policy import evaluate
from puffer_sdk.training import train

EXAMPLES = ROOT / "examples"
GAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/*.ini"))


@pytest.fixture(scope="module", params=GAMES)
def game(request, tmp_path_factory):
    """A copy of an example, so that nothing is built in the original."""
    folder = tmp_path_factory.mktemp("learning") / request.param
    shutil.copytree(EXAMPLES / request.param, folder, ignore=shutil.ignore_patterns("build"))
    return folder


@long_only
def test_an_example_is_solved_with_its_own_settings(game, tmp_path):
    """A run's evaluations end snakes' games too seldom to say so: there `eval` does."""
    result = train.train(game, {"train.stop_at_goal": True}, runs_dir=tmp_path)
    if game.name == "snake":
        assert evaluate.evaluate(game, {"eval.episodes": 300}, runs_dir=tmp_path).solved
        return
    assert result.goal, f"{configure(game).eval.goal} was not reached in {result.steps:,} steps"
    assert result.goal[0] <= result.steps <= configure(game).train.total_timesteps


@long_only
def test_a_whole_run_passes_the_evaluation(tmp_path):
    train.train("cartpole", runs_dir=tmp_path)
    evaluation = evaluate.evaluate("cartpole", {"eval.episodes": 300}, runs_dir=tmp_path)
    assert evaluation.solved, evaluation.scores["trained"].mean
    random = evaluation.scores["random"].mean["score"]
    assert evaluation.scores["trained"].mean["score"] > 5 * random
