"""What is said of scores, and plays that disturb nothing."""
import random

import numpy as np
import pytest
from helpers.claims import claim

from puffer_sdk.scoring import words
from puffer_sdk.scoring.apart import own_random
from puffer_sdk.scoring.score import ENDLESS, Score


def said(**changes) -> str:
    """The sentence for a perf of 0.9 beside random play of 0.2, with these changes of the play."""
    found = claim(perf=0.9)
    found["random"] = {**found["random"], "policy": "random", "mean": {"perf": 0.2}}
    for part in ("trained", "random"):
        found[part] = {**found[part], **changes}
    return words.claimed({"least": False, "unmoved": [], **found})


def test_a_claim_stands_beside_random_play():
    assert said() == ("perf 0.900 ± 0.100, random play 0.200 ± 0.100 (100 fresh episodes)")


def test_a_claim_of_few_episodes_has_no_interval():
    assert said(count=4) == "perf 0.900, random play 0.200 (only 4 fresh episodes)"


def test_a_claim_says_where_nothing_ended():
    rates = {"return_per_1000_ticks": 12.0}
    text = said(unit=ENDLESS, count=0, ticks=5000, mean=rates,
                interval={"return_per_1000_ticks": 1.0})
    assert text.startswith("return per 1000 ticks 12.000 ± 1.000, no better than random play")
    assert text.endswith("(no episode ended in 5,000 fresh ticks)")


def test_a_claim_that_is_rated_says_what_comes_in_how_many_ticks():
    """Though every episode happened to end."""
    rates = {"perf": 0.9, "return_per_1000_ticks": 12.0}
    found = {**claim(perf=0.9), "least": False, "unmoved": [], "rated": True}
    for part in ("trained", "random"):
        found[part] = {**found[part], "mean": rates, "interval": rates, "span": 200}
    assert words.claimed(found).startswith("return per 1000 ticks 12.000 ± 12.000")
    assert words.claimed(found).endswith("(100 fresh episodes in 200 ticks)")
    assert words.claimed({**found, "rated": False}).startswith("perf 0.900")


def test_a_claim_says_how_many_have_not_ended():
    assert said(unfinished=3, ticks=900).endswith(
        "(3 agents did not end every episode in 900 fresh ticks)")


@pytest.mark.parametrize("least, text", [(False, "no better than random"), (True, "")])
def test_worse_than_random_is_said(least, text):
    found = {**claim(crashes=0.2), "least": least, "unmoved": []}
    found["random"] = {**found["random"], "mean": {"crashes": 0.7}}
    assert (text or "0.100, random play") in words.claimed(found)


def ended(best: float, last: float | None, random: float | None, **more) -> dict:
    """A claim of such scores; last: None where the last weights are no worse."""
    found = {**claim(score=best), "step": 4096, **more}
    means = {} if random is None else {"score": random}
    found["random"] = {**found["random"], "mean": means}
    if last is not None:
        found |= {"last": {**found["trained"], "mean": {"score": last}}, "last_step": 9999}
    return found


def test_the_best_is_said_with_its_step_and_beside_the_end():
    assert words.best_at(ended(9.89, None, 5.9)) == "9.890 at 4,096 steps, the last weights"
    assert words.best_at(ended(9.89, -2, 5.9)) == \
        "9.890 at 4,096 steps; the last weights, of 9,999 steps: -2.000"


@pytest.mark.parametrize("scale", [1e-3, 1, 1e6])
@pytest.mark.parametrize(("best", "last", "random", "far"), [
    (9.89, -2, 5.9, True), (1.0, 0.52, 0.1, True), (500, 450, 22, False),
    (-150, -160, -1200, False), (-285, -606, -1200, True), (-269, -748, -269, True),
    (1.0, 0.1, None, True), (9.89, None, 5.9, False)])
def test_an_end_far_below_the_best_is_told_by_the_share_of_what_was_learned(
        best, last, random, far, scale):
    """In any unit: a reward's scale is the author's choice."""
    found = ended(*(None if each is None else scale * each for each in (best, last, random)))
    assert bool(words.fell(found)) == far
    if last is not None:        # steps to the exit, or anything else that is better if less
        turned = ended(-best, -last, None if random is None else -random, least=True)
        assert bool(words.fell(turned)) == far


def test_an_end_is_compared_by_a_measure_that_both_have():
    found = ended(1.0, 0.2, 0.0)
    found["trained"] = {**found["trained"], "mean": {"score": 1.0, "return_per_1000_ticks": 9.0}}
    found["last"] = {**found["last"], "mean": {"return_per_1000_ticks": 1.0}}
    assert "return per 1000 ticks 1.000 after 9,999 steps, 9.000 at 4,096" in words.fell(found)


@pytest.mark.parametrize("trained, random, said", [
    (1.00005, 0.2, ""), (1.0002, 0.2, "1.0002 on average in trained play"), (-0.00005, 0.2, ""),
    (-0.0002, 0.2, "-0.0002 on average in trained play"), (1.5, -30.0, "-30 on average in random"),
    (float("nan"), 0.2, ""), (None, 0.2, "")])
def test_a_perf_outside_of_0_and_1_is_warned_of(trained, random, said, capsys):
    words.warn_of_perf({"trained": {"perf": trained}, "random": {"perf": random}, "idle": {}})
    text = capsys.readouterr().err
    assert text.startswith(f"warning: Log.perf is {said}") if said else text == ""
    assert ("puffer-sdk check" in text) == bool(said)


def test_a_cell_says_how_few_entries_there_are():
    score = Score("trained", "per episode", 3, 10, 0, {"perf": 0.5}, {"perf": 0.2})
    assert words.cell(score, "perf") == "0.500 (3 only)" and words.cell(score, "score") == "-"


def test_a_play_apart_leaves_the_process_s_generators_alone():
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    drawn = []
    for _ in range(2):
        with own_random(5):
            drawn.append((random.random(), np.random.random()))  # noqa: NPY002
    assert drawn[0] == drawn[1] != expected
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002
