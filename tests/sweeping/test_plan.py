"""[sweep] of the inis, PufferLib's and ours, and the command line -> a plan that can run."""
import json
import re
import shutil

import pytest
from helpers.places import ROOT, SPECIMENS
from helpers.short_or_long import some_or_all

from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import header
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.settings import config
from puffer_sdk.sweeping import results, trial
from puffer_sdk.sweeping import sweep_plan as planning
from puffer_sdk.sweeping.space import Space


@pytest.fixture
def pong(tmp_path):
    return shutil.copytree(ROOT / "examples" / "pong", tmp_path / "pong")


def read(folder, settings=None, unit=1):
    spec = header.read(folder)
    own = {name: value for name, value in (settings or {}).items()
           if not name.startswith("sweep.")}
    resolved = config.resolve(folder, own, spec=spec)
    return planning.read(env_source.find(folder), settings or {}, resolved, spec, unit)


def add(folder, text):
    ini = folder / f"{folder.name}.ini"
    ini.write_text(ini.read_text() + text)


def test_without_sections_a_default_space_is_searched(pong):
    plan = read(pong)
    assert plan.metric == "score" and not plan.minimize and plan.method == "gp"
    assert {"train.learning_rate", "train.gamma", "train.total_timesteps"} <= set(plan.rows)
    assert plan.rows["train.total_timesteps"]["max"] == 1.5 * 15_000_000
    assert plan.start["train.learning_rate"] == 0.02 and plan.start["train.horizon"] == 128


def test_what_pufferlibs_ini_means_holds_in_all_trials(pong, tmp_path):
    (tmp_path / "ocean").mkdir()
    (tmp_path / "config").mkdir()
    folder = pong.rename(tmp_path / "ocean/pong")
    (folder / "pong.ini").rename(tmp_path / "config/pong.ini")
    plan = read(folder)
    assert plan.fixed["train.reward_clip"] == "1" and plan.fixed["train.minibatch_carry"] == "false"


def test_puffers_sections_are_read_as_they_are(pong):
    add(pong, "\n[sweep]\nmethod = Protein\nmetric = score\ngoal = maximize\nmax_runs = 30\n"
        "metric_distribution = linear\ndownsample = 10\n"
        "[sweep.train.learning_rate]\ndistribution = log_normal\nmin = 1e-3\nmax = 1e-1\n"
        "mean = 0.01\nscale = 0.5\n"
        "[sweep.train.bptt_horizon]\ndistribution = uniform_pow2\nmin = 16\nmax = 64\n"
        "scale = auto\n"
        "[sweep.train.total_timesteps]\ndistribution = log_normal\nmin = 1_000_000\nmax = 2e7\n"
        "[sweep.env.paddle_speed]\ndistribution = uniform\nmin = 4\nmax = 12\n")
    plan = read(pong)
    assert list(plan.rows) == ["train.learning_rate", "train.horizon", "train.total_timesteps",
                               "env.paddle_speed"]
    assert plan.runs == 30 and plan.method == "gp"
    settings = plan.space().settings([0.5] * 4)
    assert settings["train.learning_rate"] == pytest.approx(0.01)
    assert settings["train.horizon"] == 32 and isinstance(settings["train.total_timesteps"], int)


def test_keys_without_effect_are_said_once(pong, capsys):
    add(pong, "\n[sweep]\ndownsample = 10\nprune_pareto = True\n")
    read(pong)
    said = capsys.readouterr().err
    assert said.count("downsample") == 1 and "prune_pareto" in said


def test_flags_are_the_keys_of_the_section(pong):
    plan = read(pong, {"sweep.max_runs": "12", "sweep.method": "PROTEIN", "sweep.workers": "3",
                       "sweep.only": "lr,gamma", "train.horizon": "64", "env.max_score": 5})
    assert (plan.runs, plan.method, plan.workers) == (12, "gp", 3)
    assert set(plan.rows) == {"train.learning_rate", "train.gamma"}
    assert plan.fixed == {"train.horizon": "64", "env.max_score": "5"}


def test_a_setting_that_is_given_is_not_searched(pong):
    assert "train.gamma" not in read(pong, {"train.gamma": "0.9"}).rows


def test_repaired_settings_can_always_run(pong):
    """Every combination that is proposed resolves: no trial is wasted on a refusal."""
    plan = read(pong, unit=3)
    space, spec = plan.space(), header.read(pong)
    import numpy as np
    for point in np.random.default_rng(0).random((60, len(space))):
        settings = space.settings(point)
        found = config.resolve(pong, {**plan.fixed, **settings}, spec=spec)
        assert found.vec.total_agents % 3 == 0
        assert found.train.minibatch_size % found.train.horizon == 0
        assert found.train.minibatch_size <= found.vec.total_agents * found.train.horizon


def test_a_start_outside_the_bounds_takes_the_nearest_inside(pong):
    add(pong, "\n[sweep.train.gamma]\ndistribution = logit_normal\nmin = 0.99\nmax = 0.999\n")
    assert read(pong).start == {"train.gamma": 0.99}


@pytest.mark.parametrize("text, told, expected", some_or_all([
    ("[sweep.train.gamma]\ndistribution = logit_normal\nmin = 0.99\nmax = 0.9\n",
     "crossed", "min <= max"),
    ("[sweep.train.gamma]\ndistribution = normal\nmin = 0\nmax = 1\n",
     "there is no such distribution", "uniform"),
    ("[sweep.train.gama]\ndistribution = uniform\nmin = 0\nmax = 1\n",
     "no setting 'train.gama'", "SECTION.KEY"),
    ("[sweep.train.gamma]\ndistribution = uniform\nmin = 0\nmax = 2\n",
     "is not a valid value", "from 0 to 1"),
    ("[sweep.train.gamma]\ndistribution = uniform\nmin = 0\n", "max is missing", "min and max"),
    ("[sweep.env.wings]\ndistribution = uniform\nmin = 0\nmax = 1\n", "no setting", "SECTION"),
    ("[sweep]\nmetrik = score\n", "no setting 'metrik'", "metric"),
    ("[sweep]\nmetric = happiness\n", "does not log 'happiness'", "perf"),
    ("[sweep]\nmax_runs = -1\n", "cannot be '-1'", "a whole number"),
], 0, 3, 6))
def test_what_cannot_be_searched_is_refused_with_its_place(pong, text, told, expected):
    add(pong, "\n" + text)
    with pytest.raises(UsageError, match=re.escape(told)) as caught:
        read(pong)
    assert expected in str(caught.value.expected)
    assert "pong.ini" in str(caught.value.where) or "[sweep]" in str(caught.value.where)


def test_time_to_goal_needs_a_goal(pong):
    assert read(pong, {"sweep.metric": "time_to_goal"}).minimize
    with pytest.raises(UsageError, match="requires a goal"):
        read(pong, {"sweep.metric": "time_to_goal", "eval.goal": ""})


def test_only_names_what_is_there(pong):
    with pytest.raises(UsageError, match="no setting 'gama'") as caught:
        read(pong, {"sweep.only": "gama"})
    assert "gamma" in caught.value.hint


def test_upstreams_ini_is_read_leniently():
    """A PufferLib ini: sections of settings that we lack are left out, and said."""
    plan = read(SPECIMENS / "ocean" / "upstream" / "ocean" / "gopher")
    assert plan.rows and all(Space({name: row}) for name, row in plan.rows.items())


# ---- files -------------------------------------------------------------------------------------

OVER = """
[train]
gamma = 0.97
[vec]
total_agents = 512
[sweep]
max_runs = 7
[sweep.train.gamma]
distribution = logit_normal
min = 0.9
max = 0.99
"""


@pytest.fixture
def both(pong, tmp_path):
    """A plan of pong's own ini, a file over that, and the command line."""
    add(pong, "\n[sweep.train.learning_rate]\ndistribution = log_normal\nmin = 1e-3\nmax = 1e-1\n")
    over = tmp_path / "over.ini"
    over.write_text(OVER)
    source, spec = env_source.find(pong, over), header.read(pong)
    given = {"env.max_score": "5"}
    return planning.read(source, given, source.resolve(given, spec), spec, 1)


def test_a_file_over_the_own_ini_says_what_else_to_search(both):
    assert list(both.rows) == ["train.learning_rate", "train.gamma"] and both.runs == 7
    assert both.start["train.gamma"] == 0.97
    # an ini of what was found holds what the environment's own does not
    assert both.held == {"vec.total_agents": "512", "env.max_score": "5"}
    ini = results.settings_ini(both, {"train.gamma": 0.95}, "head")
    assert "[vec]\ntotal_agents = 512\n" in ini and "[env]\nmax_score = 5\n" in ini


def test_trials_read_the_files_that_the_sweep_began_with(both, pong, tmp_path):
    """Whatever becomes of those, also on a machine that has none of them."""
    source = env_source.find(pong)
    own = source.resolve({"env.max_score": "5"})
    (pong / "pong.ini").write_text("[env]\nmax_score = 3\npaddle_speed = 99\n")
    plan = planning.Plan.from_dict(json.loads(json.dumps(both.to_dict())), "a test")
    assert plan == both
    config = trial.prepare(source, plan, tmp_path / "trials").again(
        {"train.seed": 4, "env.max_score": 6}).config
    assert config.env == {**own.env, "max_score": 6.0}
    assert (config.vec.total_agents, config.train.horizon) == (512, own.train.horizon)
    assert config.origin["vec.total_agents"] == "over.ini:5"
    assert config.origin["env.paddle_speed"].startswith("pong.ini:")


def test_what_was_asked_for_can_be_asked_for_again(both, pong, tmp_path):
    """--config sweep.ini: the same space, though the own ini has another."""
    again = tmp_path / "sweep.ini"
    again.write_text(results.plan_ini(both))
    add(pong, "\n[sweep.train.ent_coef]\ndistribution = log_normal\nmin = 1e-4\nmax = 1e-1\n")
    source, spec = env_source.find(pong, again), header.read(pong)
    plan = planning.read(source, {}, source.resolve({}, spec), spec, 1)
    assert plan.rows == both.rows and plan.runs == 7


def test_plans_of_earlier_versions_are_read(both, tmp_path):
    """--config stood alone; without it the environment's own ini was read by every trial."""
    facts = {name: value for name, value in both.to_dict().items() if name != "inis"}
    assert planning.Plan.from_dict({**facts, "ini": ""}, "a test").inis is None
    plan = planning.Plan.from_dict({**facts, "ini": OVER}, "a test")
    assert plan.inis == [["settings.ini", OVER]]
