"""The sampler: finds what is good for its cost, and lacks the faults that Protein has."""
import math
import re

import numpy as np
import pytest
from helpers.short_or_long import long_only

from puffer_sdk.base.errors import UsageError
from puffer_sdk.sweeping.front import Front, at_nodes, hidden, improvement
from puffer_sdk.sweeping.gaussian import GaussianProcess
from puffer_sdk.sweeping.sampler import Sampler
from puffer_sdk.sweeping.space import Space
from puffer_sdk.sweeping.warping import unwarped, warped

ROWS = {"rate": {"distribution": "log_normal", "min": 1e-4, "max": 1},
        "horizon": {"distribution": "uniform_pow2", "min": 8, "max": 128},
        "gamma": {"distribution": "logit_normal", "min": 0.8, "max": 0.9999},
        "steps": {"distribution": "log_normal", "min": 1e5, "max": 1e7},
        "bonus": {"distribution": "uniform", "min": 0, "max": 1}}


def training(settings: dict) -> tuple[float, float]:
    """A score of at most 1 that more steps and good settings raise, and its cost."""
    cost = settings["steps"] / 1e5 * (0.5 + settings["horizon"] / 128)
    good = (1 - 0.15 * (math.log10(settings["rate"]) + 2) ** 2
            - 0.1 * (math.log2(settings["horizon"]) - 5) ** 2
            - 0.3 * (math.log10(1 - settings["gamma"]) + 2) ** 2
            - 0.5 * (settings["bonus"] - 0.3) ** 2)
    return max(0.0, good * (1 - math.exp(-cost / 20))), cost


def search(method: str, seed: int, trials: int = 10**6, budget: float = math.inf,
           **options) -> Sampler:
    """So many trials, or those that a budget of cost pays for."""
    sampler = Sampler(Space(ROWS), seed=seed, method=method, **options)
    noise = np.random.default_rng(seed)
    for _ in range(trials):
        trial = sampler.ask()
        score, cost = training(trial.settings)
        sampler.tell(trial, sampler.sign * (score + 0.02 * noise.normal()), cost)
        budget -= cost
        if budget < 0:
            break
    return sampler


def area(sampler: Sampler) -> float:
    """Below the true curve of best score against log cost."""
    grid = np.linspace(math.log(0.5), math.log(150), 100)
    true = [training(trial.settings) for trial in sampler.trials]
    return float(np.mean([max((score for score, cost in true if math.log(cost) <= at), default=0)
                          for at in grid]))


@long_only
def test_it_finds_better_and_cheaper_settings_than_chance():
    ours, chance = ([search(method, seed, budget=900) for seed in range(8)]
                    for method in ("gp", "random"))
    best = [[training(sampler.best().settings)[0] for sampler in group]
            for group in (ours, chance)]
    assert np.median(best[0]) > 0.85 > 0.75 > np.median(best[1])
    areas = [np.median([area(sampler) for sampler in group]) for group in (ours, chance)]
    assert areas[0] > areas[1]


def test_nothing_learned_by_the_first_trials_does_not_trap_it_where_trials_are_cheap():
    """Seed 18's spread trials all score near 0, where the cheapest look as good as any."""
    sampler = search("gp", 18, budget=900)
    assert training(sampler.best().settings)[0] > 0.6


def test_it_looks_where_trials_are_dearer_than_any_before():
    """All that was tried is in the cheap half of steps, and more steps are all that helps."""
    rows = {"steps": ROWS["steps"], "bonus": ROWS["bonus"]}
    for seed in range(3):
        sampler = Sampler(Space(rows), seed=seed)
        for at in np.geomspace(1e5, 9e5, 8):
            sampler.tell(sampler.add({"steps": round(at), "bonus": 0.5}), at / 1e7, at)
        asked = []
        for _ in range(8):
            trial = sampler.ask()
            asked.append(trial.settings["steps"])
            sampler.tell(trial, asked[-1] / 1e7, asked[-1])
        assert max(asked) > 5e6, asked


def test_parameters_are_searched_again_only_where_the_trials_grew_by_a_share(monkeypatch):
    """A new score shifts the ranks of all others: that is no reason."""
    searched, search = [], GaussianProcess.search

    def counted(model, points, values):
        searched.append(len(points))
        return search(model, points, values)

    monkeypatch.setattr(GaussianProcess, "search", counted)
    sampler, rng = Sampler(Space(ROWS)), np.random.default_rng(0)
    for _ in range(64):
        trial = sampler.add(sampler.space.settings(rng.random(len(ROWS))))
        sampler.tell(trial, *training(trial.settings))
    for _ in range(9):
        trial = sampler.ask()
        sampler.tell(trial, *training(trial.settings))
    assert searched == [64, 64, 72, 72]


def test_minimizing_the_negative_proposes_exactly_the_same():
    up, down = search("gp", 3, 24), search("gp", 3, 24, minimize=True)
    assert [trial.settings for trial in up.trials] == [trial.settings for trial in down.trials]
    assert up.best().number == down.best().number
    assert [t.number for t in up.front()] == [t.number for t in down.front()]


def test_the_same_trials_told_again_give_the_same_suggestion():
    first = search("gp", 5, 47)
    again = Sampler(Space(ROWS), seed=5)
    for trial in first.trials:
        again.tell(again.add(trial.settings, trial.reason), trial.score, trial.cost)
    again.best()
    assert again.ask().settings == first.ask().settings


def test_the_start_runs_once_and_first():
    start = {"rate": 0.01, "horizon": 32, "gamma": 0.99, "steps": 1e6, "bonus": 0.5}
    sampler = search("gp", 0, 30, start=start)
    assert sampler.trials[0].settings == start
    assert [trial.settings for trial in sampler.trials].count(start) == 1
    assert "start" in sampler.trials[0].reason


def test_parallel_suggestions_differ():
    sampler = search("gp", 1, 12)
    asked = [sampler.ask() for _ in range(8)]
    assert len({tuple(trial.settings.values()) for trial in asked}) == 8
    points = np.array([trial.point for trial in asked])
    distances = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(8, 1)]
    assert np.median(distances) > 0.1


def test_failures_are_avoided_and_change_no_model():
    """Half of the space fails: the sampler learns to leave it. Failed trials have no cost."""
    sampler = Sampler(Space(ROWS), seed=2)
    for _ in range(40):
        trial = sampler.ask()
        if trial.settings["bonus"] > 0.5:
            sampler.fail(trial)
        else:
            sampler.tell(trial, *training(trial.settings))
    failed = [trial.state == "failed" for trial in sampler.trials]
    assert sum(failed[:5]) >= 1 and sum(failed) <= 8 and sum(failed[-16:]) <= 2
    done = 40 - sum(failed)
    assert len(sampler.costs.points) <= done
    assert all(trial.cost is None and trial.score is None
               for trial in sampler.trials if trial.state == "failed")


def test_no_settings_are_asked_for_twice():
    space = Space({"a": {"distribution": "int_uniform", "min": 1, "max": 5},
                   "b": {"distribution": "uniform_pow2", "min": 1, "max": 16}})
    sampler = Sampler(space, seed=0)
    for _ in range(24):
        trial = sampler.ask()
        sampler.tell(trial, -abs(trial.settings["a"] - 4), trial.settings["b"])
    later = [tuple(trial.settings.values()) for trial in sampler.trials[8:]]
    assert len(set(later)) == len(later)


def test_one_lucky_run_is_not_the_best():
    """Twenty repeats of good settings against one of bad ones that was lucky."""
    space = Space({"a": {"distribution": "uniform", "min": 0, "max": 1}})
    sampler, noise = Sampler(space), np.random.default_rng(0)
    for a in (0.1, 0.5, 0.9):
        for _ in range(20):
            sampler.tell(sampler.add({"a": a}), a + 0.1 * noise.normal())
    sampler.tell(sampler.add({"a": 0.1}), 1.5)
    assert sampler.best().settings["a"] == 0.9


def test_every_suggestion_says_why():
    sampler = search("gp", 0, 12)
    assert all(trial.reason for trial in sampler.trials)
    assert "expects" in sampler.trials[-1].reason and "cost" in sampler.trials[-1].reason


def test_what_cannot_be_told_is_refused():
    sampler = Sampler(Space(ROWS))
    trial = sampler.ask()
    for score, cost in ((math.nan, 1), (1, 0), (1, -2), (1, math.inf)):
        with pytest.raises(UsageError):
            sampler.tell(trial, score, cost)
    sampler.tell(trial, 1, 1)
    with pytest.raises(UsageError, match="already reported"):
        sampler.fail(trial)
    with pytest.raises(UsageError, match="belongs to another sampler"):
        sampler.tell(Sampler(Space(ROWS)).ask(), 1, 1)
    with pytest.raises(UsageError, match="no trial has finished"):
        Sampler(Space(ROWS)).best()
    with pytest.raises(UsageError, match="no such method"):
        Sampler(Space(ROWS), method="grid")


def test_the_reasons_speak_in_the_units_of_the_score():
    """Scores lie between 0 and 1.1; the worse half counts by its ranks, but is not shown so."""
    sampler = search("gp", 4, 30)
    shown = [float(number) for trial in sampler.trials[10:]
             for number in re.findall(r"(?:expects|best so far at that cost is) (-?[\d.e-]+)",
                                      trial.reason)]
    assert len(shown) == 40 and min(shown) > -0.1 and max(shown) < 1.5


def test_a_lucky_result_runs_once_again():
    """One of 2 hides all that is better and dearer, and all settings have run."""
    space = Space({"a": {"distribution": "int_uniform", "min": 0, "max": 19}})
    noise, sampler = np.random.default_rng(0), Sampler(space)
    for a in range(20):
        sampler.tell(sampler.add({"a": a}), a / 20 + 0.05 * noise.normal() + 2 * (a == 3),
                     math.exp(a / 5))
    asked = sampler.ask()
    assert asked.settings == {"a": 3}
    assert asked.reason == "as trial 3: its score may have been luck"
    meanwhile = sampler.ask()
    sampler.tell(asked, 2.1, math.exp(0.6))
    assert meanwhile.settings != {"a": 3} != sampler.ask().settings


def test_the_model_sees_ranks_and_the_way_back_is_known():
    scores = np.random.default_rng(0).normal(size=41)
    scores[7], scores[8] = -1e6, scores[9]
    seen = warped(scores)
    assert (np.argsort(seen, kind="stable") == np.argsort(scores, kind="stable")).all()
    assert seen[8] == seen[9] and np.ptp(seen) < 6 and abs(seen.mean()) < 0.01
    assert (warped(np.exp(scores / 1e6)) == seen).all()
    assert np.allclose(unwarped(seen, scores), scores)
    above, below = unwarped(np.array([seen.max() + 1, -99.0]), scores)
    assert above > scores.max() and below == -1e6
    assert (warped(np.zeros(5)) == 0).all() and (unwarped(np.ones(2), np.zeros(5)) == 0).all()


# ---- the front ---------------------------------------------------------------------------------

def test_the_expected_gain_is_the_mean_area_that_drawn_trials_add():
    rng = np.random.default_rng(0)
    costs, scores = np.array([1.0, 2.0, 3.0, 2.5]), np.array([0.2, 0.5, 0.9, 0.4])
    front = Front(costs, scores, 0.1)
    assert front.members.tolist() == [0, 1, 2] and front.levels.tolist() == [0.1, 0.2, 0.5, 0.9]
    assert front.level(np.array([0.5, 1.0, 2.7, 9.0])).tolist() == [0.1, 0.2, 0.5, 0.9]
    grid = np.linspace(-3, front.end, 2000)
    level, step = front.level(grid), grid[1] - grid[0]
    for score, cost, deviation in ((0.6, 1.5, 0.3), (0.15, 0.8, 0.2), (1.0, 2.9, 0.1)):
        drawn = zip(rng.normal(score, 0.2, 4000), rng.normal(cost, deviation, 4000))
        added = np.mean([(np.maximum(s - level, 0) * (grid >= c)).sum() * step for s, c in drawn])
        found = front.gain(at_nodes(np.array([score]), np.array([0.2]), lambda values: values),
                           np.array([cost]), np.array([deviation]))
        assert found[0] == pytest.approx(added, rel=0.08)


def test_what_a_lucky_result_hides_is_an_area():
    costs, means = np.array([0.0, 1.0, 3.0]), np.array([0.3, 0.5, 0.7])
    assert hidden(costs, means, means).tolist() == [0, 0, 0]
    lucky = np.array([0.6, 0.5, 0.9])       # the cheapest hides the second, for 2 of log cost
    assert hidden(costs, lucky, means) == pytest.approx([0.2 * 2, 0, 0])
    assert hidden(costs[::-1], lucky[::-1], means[::-1]) == pytest.approx([0, 0, 0.2 * 2])


# ---- the Gaussian process ----------------------------------------------------------------------

def test_the_gradient_is_the_losses():
    rng = np.random.default_rng(0)
    points, values = rng.random((30, 4)), rng.normal(size=30)
    model = GaussianProcess(4)
    at = model.parameters + rng.normal(0, 0.3, 6)
    _, gradient = model.loss(at, points, values)
    for k in range(6):
        nudge = 1e-5 * np.eye(6)[k]
        slope = (model.loss(at + nudge, points, values)[0]
                 - model.loss(at - nudge, points, values)[0]) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_it_learns_a_function_its_noise_and_what_matters():
    rng = np.random.default_rng(1)
    points = rng.random((120, 5))
    values = np.sin(6 * points[:, 0]) + points[:, 1] + 0.1 * rng.normal(size=120)
    model = GaussianProcess(5).search(points, values).fit(points, values)
    there = rng.random((200, 5))
    mean, deviation = model.predict(there)
    assert np.corrcoef(mean, np.sin(6 * there[:, 0]) + there[:, 1])[0, 1] > 0.99
    assert math.sqrt(model.noise) * model.scale == pytest.approx(0.1, rel=0.4)
    assert model.lengths[0] < model.lengths[2:].min() and (deviation > 0).all()
    assert np.allclose(model.predict_mean(there), mean)


def test_expected_improvement_is_the_mean_of_what_is_drawn():
    drawn = np.random.default_rng(0).normal(0.4, 0.3, 400_000)
    mean = np.maximum(drawn - 0.6, 0).mean()
    assert improvement(np.array([0.4]), np.array([0.3]), np.array([0.6]))[0] == pytest.approx(
        mean, rel=0.02)
