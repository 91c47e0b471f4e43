"""time_to_goal: what a run counts for that does not get there."""
import math

import pytest
from helpers.claims import claim

from puffer_sdk.sweeping.store import DONE, FAILED, Stored
from puffer_sdk.sweeping.sweep_plan import Plan
from puffer_sdk.sweeping.sweep_worker import best, censored, front, learned
from puffer_sdk.sweeping.trial import _Watch
from puffer_sdk.sweeping.verdict import judge

ROWS = {"train.learning_rate": {"distribution": "log_normal", "min": 1e-3, "max": 0.1},
        "train.total_timesteps": {"distribution": "log_normal", "min": 1e4, "max": 1e6}}
PLAN = Plan("pond", ROWS, {"train.learning_rate": 0.02, "train.total_timesteps": 1e6}, {},
            metric="time_to_goal", minimize=True, goal="score >= 20",
            base={"train.horizon": 64, "vec.total_agents": 64})


def trial(number: int, cost: float, missing: float | None = None, rate: float = 0.02,
          steps: float = 1e6, **facts) -> Stored:
    """missing: the share of the way that was left; None where the goal was reached."""
    facts |= {"cost": cost, "reached": missing is None, "settings": {
        "train.learning_rate": rate, "train.total_timesteps": steps}}
    if missing is not None:
        facts["missing"] = missing
    return Stored(number, DONE, facts, number, score=cost)


def test_what_ends_early_and_learns_nothing_is_not_fast():
    """One run reaches the goal for 3; many end at once, at a tenth of that."""
    trials = [trial(0, 3.0), *(trial(k, 0.1, 1.0, steps=1e4 + k) for k in range(1, 20)),
              trial(20, 2.0, 0.1, rate=0.03), trial(21, 5.0, 0.0, rate=0.05)]
    sampler, stored = learned(PLAN, trials)
    told = {stored[each.number].number: math.exp(each.score) for each in sampler.trials}
    assert told[0] == pytest.approx(3) and min(told[k] for k in range(1, 22)) > 6
    assert told[20] < told[21] < told[1]        # nearer the goal, or for less, is better
    assert best(PLAN, trials).number == 0 and [t.number for t in front(PLAN, trials)] == [0]


def test_what_counts_follows_what_was_reached_later():
    trials = [trial(0, 0.1, 0.5), trial(1, 1.0)]
    assert censored(0.1, 0.5, trials) == 3.0
    assert censored(0.1, 0.5, [*trials, trial(2, 4.0)]) == 12.0
    assert censored(0.1, 0.5, trials[:1]) == pytest.approx(0.3)


def test_the_search_goes_where_the_goal_is_reached():
    """The goal takes 2e5 steps at the right rate: the sampler must not fall for cheap failures."""
    trials = []
    for number in range(50):
        sampler, _ = learned(PLAN, trials)
        asked = sampler.ask(number)
        rate, steps = asked.settings["train.learning_rate"], asked.settings["train.total_timesteps"]
        needed = 2e5 * (1 + 3 * (math.log10(rate) + 1.7) ** 2)
        trials.append(trial(number, min(needed, steps) / 1e5,
                            None if needed <= steps else 1 - steps / needed, rate, steps))
    later = trials[25:]
    assert sum(each.facts["reached"] for each in later) >= 10
    assert best(PLAN, trials).cost < 2.2


@pytest.mark.parametrize("misses, better", [(0, True), (3, False)])
def test_the_verdict_counts_seeds_on_which_the_best_does_not_arrive(misses, better):
    trials = [trial(0, 4.0)]
    for k in range(5):
        trials += [trial(2 * k + 1, 1.0 + 0.01 * k, 1.0 if k < misses else None, seed=k,
                         verdict="best", trial=7),
                   trial(2 * k + 2, 4.0 + 0.01 * k, seed=k, verdict="default")]
        if k < misses:
            trials[-2].score = censored(1.0, 1.0, trials)
    found = judge(PLAN, trials)
    assert len(found.seeds) == 5 and found.sentence.startswith("better") is better
    assert ("3 runs of trial 7 did not reach it" in found.sentence) is not better
    trials.append(trial(7, 3.0, start=True))
    assert judge(PLAN, trials).sentence.startswith("none is better than the default, which is")


@pytest.mark.parametrize(("means", "state"), [({"perf": 0.25}, DONE), ({}, FAILED)])
def test_a_trial_s_score_is_its_claim_and_nothing_else(means, state):
    """A policy that never loses logs nothing; what training logged are its losses of before."""
    watch = _Watch.__new__(_Watch)
    watch.goal, watch.metric, watch.bad, watch.cost, watch.steps = None, "perf", "", 1.0, 64
    watch.score, watch.curve = 0.9, []
    watch.claim = {"least": False, "unmoved": [], **claim(perf=0.5)}
    watch.claim["trained"] = {**watch.claim["trained"], "mean": means}
    found = watch.outcome(None, None)
    assert (found.state, found.score) == (state, means.get("perf"))
    assert state == DONE or "no fresh episode that logs perf has ended" in found.facts["error"]
