"""Why a run does not learn: each condition, caused by its measurements; silence on what learns."""
import re
from pathlib import Path

import pytest
from helpers.claims import claim

from puffer_sdk.training.symptoms import SYMPTOMS, Measured, lines, missed

PAGE = Path(__file__).parents[2] / "docs/tutorials/debugging.md"
SETTINGS = {"vec.total_agents": "64", "train.horizon": "32", "train.minibatch_size": "64",
            "train.replay_ratio": "1", "train.max_grad_norm": "1.5", "train.ent_coef": "0.01",
            "train.learning_rate": "0.015"}
FINE = {"env/n": 9.0, "env/episode_return": 3.0, "loss/entropy": 0.6, "loss/value": 0.1,
        "loss/explained_variance": 0.8, "loss/clipfrac": 0.1, "loss/approx_kl": 0.01,
        "loss/grad_norm": 1.0, "train/alive": 1.0}


def claim_of(trained: float, random: float, **more) -> dict:
    found = {**claim(score=trained), **more}
    return {**found, "random": {**found["random"], "mean": {"score": random}}}


RANDOM, LEARNED = claim_of(1.0, 0.99), claim_of(5.0, 1.0)


def said(rows=None, given=RANDOM, goal="", epochs=40, settings=None, **changes) -> list[str]:
    """Lines for epochs of these measurements; None: that one is absent."""
    row = {key: value for key, value in {**FINE, **changes}.items() if value is not None}
    return lines(Measured([{**row, **more} for more in rows or [{}] * epochs],
                          {**SETTINGS, **(settings or {})}, given, goal))


FALLING = [{"loss/entropy": value} for value in [0.69, 0.3, 0.01] + [0.001] * 37]
LOST = {**LEARNED, "last": {**LEARNED["trained"], "mean": {"score": -2.0}}, "last_step": 99}
CAUSES = {
    "No agent ever lives": ({"train/alive": 0.0, "env/n": None}, "no row ever had an agent"),
    "Nothing is logged": ({"env/n": None}, "1,280 ticks of each agent: --vec.total-agents 16"),
    "A column never moves": (dict(given={**RANDOM, "unmoved": ["perf"]}), "perf never moved"),
    "So few updates": (dict(epochs=7, settings={"train.minibatch_size": "2048"}),
                       "only 7 updates: --vec.total-agents 16 with --train.minibatch-size 256"),
    "Few agents have ended an episode": ({"train/lacking": 60.0}, "60 of 64 agents"),
    "No reward is ever seen": ({"env/episode_return": 0.0, "loss/value": 0.0}, "no reward"),
    "The entropy is gone early": (dict(rows=FALLING),
                                  "from 0.69 to 0.010 in 3 epochs: --train.ent-coef 0.03"),
    "The value predicts nothing": ({"loss/explained_variance": -3.0},
                                   "variance is -3: the value predicts"),
    "An update moves the policy too far": ({"loss/approx_kl": 0.9},
                                           "KL 0.9: --train.learning-rate 0.005"),
    "Every gradient is clipped": ({"loss/grad_norm": 20.0}, "to 1.5 from 20: --train.learn"),
    "Observations are far from unit scale": (
        dict(given={**RANDOM, "shown": {"far": {"count": 2, "of": 4, "size": 2e6,
                                                "factors": "1e-06 x 1"}}}),
        "2 of 4 numbers of an observation far from 1, such as one of 2e+06"),
    "One action held does as well": (dict(given={**RANDOM, "shown": {"held": [1.0]}}),
                                     "takes the action 1 whatever it sees: --train.ent-coef 0.03"),
    "It was reached and lost again": (dict(given=LOST), "far below the best: score -2.000"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_each_cause_is_said_alone_and_with_a_setting(name):
    changes, text = CAUSES[name]
    [line] = said(**changes)
    assert text in line and ": " in line


@pytest.mark.parametrize("name", CAUSES)
def test_a_run_that_learns_hears_nothing_of_what_did_not_hinder_it(name):
    symptom = next(each for each in SYMPTOMS if each.name == name)
    changes = {**CAUSES[name][0]}
    if changes.get("given") is LOST:
        return
    given = changes.get("given", {})
    changes["given"] = {**LEARNED, **{key: given[key] for key in given.keys() - LEARNED}}
    assert bool(said(**changes)) == symptom.always
    assert said(**changes, goal="score >= 9")           # unless a goal is missed


def test_measurements_as_of_a_run_that_learns_say_nothing():
    assert said() == said(given=None) == said(given=LEARNED) == said(goal="score >= 9") == []


def test_noise_decides_whether_a_policy_is_better_than_random_play():
    few = {"epochs": 7, "settings": {"train.minibatch_size": "2048"}}
    assert not said(given=claim_of(1.2, 1.0), **few)        # 0.1 of an interval each
    assert said(given=claim_of(1.1, 1.0), **few) and said(given=claim_of(0.5, 1.0), **few)
    assert not said(given=claim_of(0.5, 1.0, least=True), **few)


@pytest.mark.parametrize(("goal", "text"), [("score >= 4", ""), ("score >= 6", "score >= 6"),
                                            ("perf >= 0", "perf >= 0"), ("", "")])
def test_a_goal_is_missed_where_the_claim_does_not_meet_it(goal, text):
    assert missed(goal, LEARNED) == text and missed(goal, None) == ""


def test_the_page_has_a_heading_for_each_in_this_order():
    part = PAGE.read_text(encoding="utf-8").split("## What `train` says")[1].split("\n## ")[0]
    assert re.findall(r"^### (.*)$", part, re.M) == [each.name for each in SYMPTOMS]
    assert list(CAUSES) == [each.name for each in SYMPTOMS]
