"""Evaluations within a run: when, at what cost, what they say, and that they disturb nothing."""
from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.playground import overrides, tensors
from helpers.short_or_long import LONG, long_only, short_or_long

import puffer_sdk
from puffer_sdk.base.errors import RunError
from puffer_sdk.env import build
from puffer_sdk.env.library import Library
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.policy import scoring as policy_scoring
from puffer_sdk.scoring import play_episodes
from puffer_sdk.scoring.score import ENDLESS, PER_EPISODE, RETURN_RATE, Score
from puffer_sdk.scoring.words import headline, notes
from puffer_sdk.settings import config
from puffer_sdk.training import backends, checkpoint, evaluations, runs
from puffer_sdk.training.evaluations import Evaluations
from puffer_sdk.training.find_model import find_model
from puffer_sdk.training.log_window import Window
from puffer_sdk.training.looks import Look, State
from puffer_sdk.training.run_comparison import best_score

DOORS, PYTHON = SPECIMENS / "doors", SPECIMENS / "python_envs" / "doors.py"
STILL = {"train.learning_rate": 0, "vec.num_threads": 1, "train.device": "cpu"}
KINDS = {"short wins": {"env.win": 5, "env.loss": 60}, "long wins": {"env.win": 60, "env.loss": 5},
         "endless wins": {"env.win": 0, "env.loss": 20},
         "two modes": {"env.win": 100, "env.loss": 100, "env.odds": 5}}
LINK = SimpleNamespace(watches=lambda arm: None)


@pytest.fixture(scope="module")
def library():
    return Library(build.build(DOORS).library, DOORS)


def settings(**given):
    return config.resolve(DOORS, {**STILL, **{key.replace("__", "."): value
                                              for key, value in given.items()}})


def evaluations_of(library, resolved) -> Evaluations:
    return Evaluations(resolved, library, LINK, lambda found: found, True)


def learn_nothing(library, resolved, judge) -> tuple[dict, Window]:
    """Train for 128 ticks. Returns the weights, and what was logged."""
    from puffer_sdk.env.vec import make_vec

    agents, window = resolved.vec.total_agents, Window()
    with make_vec(library, total_agents=agents, env_settings=resolved.env,
                  seed=resolved.train.seed) as vec:
        trainer = backends.make_trainer(vec, resolved)
        for epoch in range(128 // resolved.train.horizon):
            trainer.rollout()
            window.add((epoch + 1) * agents * resolved.train.horizon, log := vec.log())
            judge.note(log, agents * resolved.train.horizon)
        found = trainer.state_tensors()
        trainer.close()
    return found, window


# -- the claim -------------------------------------------------------------------------------------

@long_only
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("language", ["C", "Python"])
def test_over_many_seeds_the_claim_is_neither_too_high_nor_too_low(language, kind, library):
    """Weights that do not learn: what a run claims against a long play of the same weights."""
    gaps, base = [], settings(**KINDS[kind], eval__steps=200)
    if language == "Python":
        prepared = env_source.find(f"{PYTHON}:{kind.title().replace(' ', '')}").prepare(
            {**STILL, "vec.num_workers": 0, "eval.steps": 200, "vec.total_agents": 64,
             "train.total_timesteps": 50_000, "policy.hidden_size": 8, "policy.num_layers": 1})
        base, library = prepared.config, prepared.opener.open(prepared.config)
    few = range(8 if language == "C" else 5)
    for seed in short_or_long(few, range(100)):
        resolved = replace(base, train=replace(base.train, seed=seed))
        judge, step = evaluations_of(library, resolved), resolved.train.total_timesteps
        given, window = learn_nothing(library, resolved, judge)
        row = judge.finish(step, 1.0, window, lambda given=given: given, lambda: None)
        claim = judge.state.claim
        assert judge.state.spent <= judge.allowed(step, window) and row["claim/n"] >= 0
        name = headline(claim)
        truth = long_play(library, resolved, given, name)
        gaps.append(claim["trained"]["mean"][name] - truth)
    error = np.std(gaps, ddof=1) / len(gaps) ** 0.5
    assert abs(np.mean(gaps)) <= (2 if LONG else 3) * error + 1e-9


def long_play(library, resolved, given, name: str) -> float:
    from puffer_sdk.scoring.baselines import actor_player
    from puffer_sdk.scoring.score import score_of

    steps = resolved.eval.steps                     # all episodes are alike
    envs = 1000 if library.path else 128
    plan = play_episodes.Plan(envs if LONG else envs // 3, 1, steps, steps,
                              rating=name == RETURN_RATE)
    seed = 10_000 + resolved.train.seed
    vec = play_episodes.make_envs(library, resolved, LINK, plan.envs, seed)
    actor = backends.make_actor(vec, resolved, given, seed)
    with vec:
        return score_of(play_episodes.Play(vec, actor_player(actor), plan, "t").run(),
                        "t").mean[name]


def test_a_play_that_is_short_of_steps_favours_no_end(library):
    """Wins take 5 ticks and losses 60. A budget that pays for 15 ticks of all must not count the
    quick games alone: envs leave by their numbers, and those that count have all ended."""
    resolved = settings()
    vec = play_episodes.make_envs(library, resolved, LINK, 100, 7)

    def right_key(vec):
        vec.actions[:] = vec.observations[:, :1] > 0

    with vec:
        play = play_episodes.Play(vec, right_key, play_episodes.Plan(100, 1, 1000, 1000, 1500), "t")
        entries = play.run()
    assert play.cost <= 1500 and entries.kept < 100
    counted = entries.counted
    assert len(counted) == entries.kept and {each["env"] for each in counted} == set(
        range(entries.kept))


def test_a_budget_decides_how_much_is_played():
    resolved = SimpleNamespace(eval=SimpleNamespace(episodes=1000, steps=1000),
                               vec=SimpleNamespace(total_agents=1024))
    whole = play_episodes.plan(resolved, 1)
    assert (whole.envs, whole.quota) == (250, 4)
    assert play_episodes.within(whole, 1e9, 1, 100.0, True).envs == 250
    for budget in (10, 1000, 10_000, 100_000):
        part = play_episodes.within(whole, budget, 1, 100.0, True)
        assert part.reserve <= budget / 4
        assert part.envs * part.quota * 100 <= max(200, budget)
        assert part.budget == budget
        rates = play_episodes.for_rates(whole, budget, 1)
        assert rates.rating and rates.envs * rates.span <= budget and rates.span <= whole.span


# -- comparing -------------------------------------------------------------------------------------

def look(values, *, unit=PER_EPISODE, rates=(), step=1, name="perf") -> Look:
    score = Score("trained", unit, len(values), 9, 0, {name: float(np.mean(values or [0]))}, {})
    return Look(step, score, {name: list(values), RETURN_RATE: list(rates)})


@pytest.mark.parametrize(("new", "worse"), [
    ([0.1] * 4 + [0.2] * 4, True),                  # by more than chance
    ([0.9, 0.1] * 4, False),                        # less, but not by more than chance
    ([1.0] * 8, False)])
def test_later_weights_are_kept_unless_they_are_worse_by_more_than_chance(new, worse, library):
    judge = evaluations_of(library, settings())
    judge.state.spans = {"perf": [0.0, 1.0]}
    judge.state.best = vars(look([0.6, 0.8, 0.7, 0.7, 0.8, 0.6, 0.7, 0.7])) | {
        "score": vars(look([0.7] * 8).score)}
    assert judge.is_worse(look(new), pytest.fail) is worse


def test_a_policy_that_ends_nothing_is_compared_by_its_rate(library):
    judge = evaluations_of(library, settings())
    judge.state.spans = {"perf": [0.0, 1.0]}
    judge.state.best = vars(look([0.3] * 8, rates=[1.0, 1.1] * 4)) | {
        "score": vars(look([0.3] * 8).score)}
    assert not judge.is_worse(look([], unit=ENDLESS, rates=[9.0, 9.1] * 4), pytest.fail)
    assert judge.is_worse(look([], unit=ENDLESS, rates=[0.1, 0.2] * 4), pytest.fail)


def test_a_best_policy_without_rates_is_played_for_them(library):
    judge = evaluations_of(library, settings())
    judge.note({"perf": 0.0, "n": 1}, 9)
    before = look([0.3] * 8)
    del before.of_envs[RETURN_RATE]             # all its episodes ended
    judge.state.best = vars(before) | {"score": vars(before.score)}
    after = look([], unit=ENDLESS, rates=[0.1, 0.2] * 4)

    def rate() -> None:
        judge.state.best["of_envs"][RETURN_RATE] = [9.0, 9.1] * 4

    assert not judge.is_worse(after, lambda: None)      # where the budget does not pay for it ...
    for each, rates in ((judge.state.best["of_envs"], [9.0, 9.1]), (after.of_envs, [0.1, 0.2])):
        each[evaluations.PLAYED_RATE] = rates * 4
    assert judge.is_worse(after, lambda: None)          # ... and the ticks that they had tell
    assert judge.is_worse(after, rate)


def test_rates_are_wanted_where_training_s_latest_episodes_go_on(library):
    judge, window = evaluations_of(library, settings()), Window()
    assert judge.wants_rates(window)            # nothing has ended yet
    log = {"episode_length": 20.0, "n": 500.0}
    window.add(12_800, log)
    judge.note(log, 12_800)
    assert not judge.wants_rates(window)        # 256 agents are 11 ticks into theirs, on average
    judge.note({}, 25_600)
    assert judge.wants_rates(window)            # 111 ticks
    judge.begin()
    assert not judge.wants_rates(window)
    judge.state.endless = True
    assert judge.wants_rates(window)


@pytest.mark.parametrize(("peak", "best", "last", "chosen"), [
    (0.9, 0.5, 0.1, 3),                 # unlearned before the budget paid for an evaluation
    (0.9, 0.9, 0.1, 5),                 # of two that are alike, the later one
    (0.2, 0.9, 0.1, 5),                 # the means promised too much
    (0.9, None, 0.1, 3), (None, 0.5, 0.1, 5), (0.1, 0.5, 0.9, 9), (None, None, 0.1, 9)])
def test_the_peak_the_best_and_the_last_weights_play_the_same_in_the_end(
        peak, best, last, chosen, library, monkeypatch):
    judge, window = evaluations_of(library, settings()), Window()
    judge.state.spans = {"perf": [0.0, 1.0]}
    known = {3: peak, 5: best, 9: last, 0: 0.05}
    played = []

    def play(kind, step, *more) -> Look:
        played.append((kind, step))
        found = look([known[step], known[step] + 0.01] * 4, step=step)
        found.shown = {"held": [float(step)]}
        return found

    monkeypatch.setattr(judge, "_look", play)
    if peak is not None:
        assert judge.state.is_peak(3, "perf", 1.0, 4)
    if best is not None:
        kept = look([0.5] * 8, step=5)
        judge.state.best = vars(kept) | {"score": vars(kept.score)}
    row = judge.finish(9, 1.0, window, lambda: {"w": 9}, lambda: best and {"w": 5},
                       lambda: peak and {"w": 3})
    assert judge.state.claim["step"] == judge.state.best["step"] == chosen
    assert ("peak" in row, "best" in row) == (chosen == 3, chosen == 9)
    steps = [step for step in (3, 5, 9) if known[step] is not None]
    assert played == [*((0, step) for step in steps), (1, chosen), (1, 0)]
    assert ("last" in judge.state.claim) == (chosen != 9)
    assert judge.state.claim["shown"] == {"held": [chosen]}


def test_training_s_means_tell_what_an_evaluation_is_too_short_to_prove(library):
    state = State()
    state.spans = {"score": (-2.0, 1.0)}
    assert state.is_peak(3, "score", 1.0, 4)
    assert [state.has_lost("score", 1.0, {"score": each}) for each in (0.9, 0.3, -2.0)] == [
        False, True, True]
    assert not state.has_lost("perf", 1.0, {"perf": 0.0, "score": -2.0})
    judge = evaluations_of(library, settings())
    judge.state.spans = {"perf": (0.0, 1.0)}
    kept = look([1.0, 1.0, 0.0, 1.0])
    judge.state.best = vars(kept) | {"score": vars(kept.score)}
    lower = look([1.0, 0.0, 0.0, 1.0])
    assert not judge.is_worse(lower, pytest.fail) and judge.is_worse(lower, pytest.fail, False)


def test_a_peak_is_above_all_before_it_and_not_at_every_epoch():
    state = State()
    assert [state.is_peak(step, "score", value, 10) for step, value in (
        (1, 1.0), (5, 2.0), (11, 0.5), (12, 2.0), (13, 3.0), (30, 2.0), (45, 1.9))
    ] == [True, False, False, True, False, True, False]
    assert state.is_peak(31, "perf", -9.0, 10)      # another measure from here on


def test_a_metric_that_never_moved_is_none(library):
    judge = evaluations_of(library, settings())
    judge.note({"perf": 0.0, "score": 0.0, "episode_return": -1.0, "n": 9}, 9)
    judge.note({"perf": 0.0, "score": 1e-9, "episode_return": 1.0, "n": 4}, 9)
    assert judge.state.compared(["perf", "score", "episode_return"]) == ("score", ["perf"])
    judge.note({"perf": 0.5, "n": 1}, 9)
    assert judge.metric == "perf" and judge.state.compared(["perf", "score"])[1] == []


# -- whole runs ------------------------------------------------------------------------------------

def train(home, **given):
    return puffer_sdk.train(DOORS, {**STILL, "train.learning_rate": 0.02, **{
        key.replace("__", "."): value for key, value in given.items()}}, runs_dir=home)


def rows_of(result) -> list[dict]:
    return runs.Run(result.folder).metrics()


def without_times(row: dict) -> dict:
    return {key: value for key, value in row.items()
            if not key.startswith("time/") and key not in ("seconds", "cpu", "sps")}


def without_evaluations(rows: list[dict]) -> list[dict]:
    return [{key: value for key, value in without_times(row).items()
             if not key.startswith(("eval/", "claim/"))} for row in rows]


@pytest.fixture(scope="module")
def luck(tmp_path_factory):
    """Runs of an environment with a static variable and rand(), evaluated differently."""
    home = tmp_path_factory.mktemp("luck")
    return [train(home, env__global=1, eval__seed=seed, eval__episodes=episodes, eval__goal=goal,
                  train__total_timesteps=300_000)
            for seed, episodes, goal in ((1, 100, "perf >= 0.4"), (2, 20, "score >= 0.9"))]


def test_training_goes_on_as_if_nobody_had_evaluated(luck):
    """Env code keeps numbers in static variables and draws from rand()."""
    rows = [rows_of(result) for result in luck]
    assert without_evaluations(rows[0]) == without_evaluations(rows[1])
    assert tensors(luck[0].checkpoint) == tensors(luck[1].checkpoint)
    looks = [[row["eval/perf"] for row in each if "eval/perf" in row] for each in rows]
    assert looks[0] and looks[0] != looks[1]


def test_all_evaluations_take_a_twentieth_of_the_steps_at_most_and_a_fifth_of_a_short_run(luck):
    for result in luck:
        spent = [(row["step"], row[key]) for row in rows_of(result)
                 for key in ("eval/steps", "claim/steps") if key in row]
        assert len(spent) >= 2
        assert all(steps <= step / evaluations.SHORT_SHARE / 2 for step, steps in spent[:-1])
        step, steps = spent[-1]         # by now a twentieth is enough
        assert steps <= step / evaluations.SHARE


def test_quick_wins_solve_nothing(tmp_path):
    """The window says perf 1.0 while only won games have ended; 0.6 is all that can be."""
    result = train(tmp_path, env__loss=600, eval__goal="perf >= 0.9", train__stop_at_goal=1,
                   train__horizon=64, train__total_timesteps=300_000)
    rows = rows_of(result)
    assert max(row.get("window/perf", 0) for row in rows) == 1.0 and rows[0]["train/lacking"]
    assert result.goal is None and result.missed == "perf >= 0.9" and result.steps == 294_912
    assert result.claim["trained"]["mean"]["perf"] < 0.9


def test_a_goal_that_is_confirmed_ends_the_run(tmp_path):
    result = train(tmp_path, eval__goal="perf >= 0.45", train__stop_at_goal=1,
                   train__total_timesteps=400_000)
    assert result.goal[0] == result.steps < 390_000 and not result.missed
    assert result.claim["trained"]["mean"]["perf"] > 0.3
    run = runs.Run(result.folder)
    assert run.evaluation == result.claim and run.reached()["perf"] == result.reached["perf"]
    assert best_score([run])["value"] == result.reached["perf"]


def test_what_is_claimed_is_in_the_files_that_are_taken_by_default(luck):
    result = luck[0]
    run = runs.Run(result.folder)
    best = checkpoint.load(run.best_path)
    assert find_model(result.folder.parent, str(run.number)) == run.best_path
    assert find_model(result.folder.parent, result.folder) == run.best_path
    assert best.evaluation == json.loads(json.dumps(result.claim))
    assert best.step == result.claim["step"]
    assert checkpoint.load(result.checkpoint).facts["format_version"] == 2


@long_only
def test_a_crash_in_the_last_evaluation_loses_no_epoch(tmp_path):
    """These games never end, so an evaluation comes to a tick that no training does."""
    def run(at, where, **how):
        return puffer_sdk.train(SPECIMENS / "faulty", {
            **STILL, "train.learning_rate": 0.02, "vec.total_agents": 128, "train.horizon": 32,
            "train.total_timesteps": 16_384, "train.minibatch_size": 1024, "eval.steps": 1000,
            **overrides("EXIT_3", at=at, length=0)}, runs_dir=tmp_path / where, **how)

    straight = run(10_000, "straight")
    with pytest.raises(RunError, match="step 200"):
        run(200, "runs")
    [crashed] = runs.list_runs(tmp_path / "runs/faulty")
    assert checkpoint.load(crashed.checkpoints()[-1]).step == straight.steps
    assert crashed.evaluation is None and len(crashed.metrics()) == 3
    result = run(10_000, "runs", resume="latest")
    assert result.claim == straight.claim
    assert [list(row) for row in rows_of(result)] == [list(row) for row in rows_of(straight)]
    assert [without_times(row) for row in rows_of(result)] == \
        [without_times(row) for row in rows_of(straight)]
    assert tensors(result.checkpoint) == tensors(straight.checkpoint)


def test_a_claim_is_made_of_a_run_that_an_older_version_finished(tmp_path):
    import shutil
    from pathlib import Path

    corpus = Path(__file__).parents[1] / "corpus" / "v1"
    shutil.copytree(corpus, tmp_path / "v1")
    home = tmp_path / "v1/runs"
    assert find_model(home / "walk", "1").parent.name == "checkpoints"  # its best is of a window
    result = puffer_sdk.train(tmp_path / "v1/walk", resume="1", runs_dir=home)
    assert result.steps == 49_152 and result.claim["trained"]["count"] > 0
    assert result.goal is None or result.goal[0] == 49_152      # no window's goal is taken over
    assert find_model(home / "walk", "1") == home / "walk/0001/best.safetensors"


def test_two_agents_that_play_against_each_other_are_not_judged_by_that(tmp_path):
    """Nothing is declared, but what one wins the other loses, and each can only be its own team."""
    claim = train(tmp_path, env__duel=1, train__total_timesteps=20_000).claim
    assert claim["trained"]["opponent"] == claim["random"]["opponent"] == "random"
    assert claim["metric"] == "win_rate" and notes(claim) == []


def test_a_binding_that_steps_all_envs_at_once_is_evaluated(tmp_path):
    """MY_VEC_STEP: none can wait for the others."""
    result = puffer_sdk.train(SPECIMENS / "ocean/rain", {
        "vec.total_agents": 64, "train.total_timesteps": 40_960, "train.device": "cpu",
        "policy.hidden_size": 8, "policy.num_layers": 1}, runs_dir=tmp_path)
    score = result.claim["trained"]
    assert score["count"] >= 2 and not score["unfinished"] and score["mean"]["score"] > 0
    assert result.metrics["claim/steps"] <= result.steps / evaluations.SHORT_SHARE


@long_only
def test_the_torch_trainer_and_the_native_one_are_evaluated_alike(tmp_path):
    pytest.importorskip("torch")
    result = train(tmp_path, train__backend="torch", train__total_timesteps=20_000)
    assert result.claim["trained"]["count"] and rows_of(result)[-1]["claim/n"]


# -- eval ------------------------------------------------------------------------------------------

def test_players_that_were_done_sooner_play_the_span_as_well(library, monkeypatch):
    """One loses every game, the other none: what comes in 1000 ticks is of as many ticks."""
    def keys(fits: bool):
        def make(vec, resolved):
            def play(vec) -> None:
                vec.actions[:] = (vec.observations[:, :1] > 0) == fits
            return play
        return make

    monkeypatch.setattr(policy_scoring, "load_players", lambda job, library, opponent: {
        "random": keys(False), "trained": keys(True)})
    job = SimpleNamespace(seconds=0.0, opponent=None, open=lambda: library, config=settings(
        env__win=0, env__loss=20, env__odds=10, eval__steps=100, eval__episodes=32))
    link = SimpleNamespace(stop=False, watches=lambda arm: None, emit=lambda *kind, **facts: None)
    found = policy_scoring.work(job, link)
    assert [each["span"] for each in found.values()] == [100, 100]
    assert found["random"]["mean"]["entries_per_1000_ticks"] == 50
    assert found["random"]["mean"]["return_per_1000_ticks"] == 0
    assert found["trained"]["mean"]["return_per_1000_ticks"] == pytest.approx(100)
