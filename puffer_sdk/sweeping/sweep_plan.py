"""What a sweep is asked to do.  [sweep] of the inis and of the command line -> Plan

    [sweep]                         keys of the settings table: method, metric, goal, max_runs, ...
    [sweep.train.learning_rate]     distribution, min and max of one setting (PufferLib's form)

Names of settings are those of the table, its aliases and PufferLib's older ones. Without a
[sweep.SECTION.KEY] for any setting, the default space below is searched.
"""
from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from ..base import files, paths, records, ui
from ..base.documents import says
from ..base.errors import Damaged, UsageError, did_you_mean
from ..base.spec import Spec
from ..interop.python_envs.env_source import CompiledSource, PythonSource
from ..interop.python_envs.python_spec import PythonSpec
from ..scoring.games import WIN
from ..settings import inifile, table, torch_class, upstream
from ..settings.automatic import available_cores
from ..settings.goal import parse_goal
from ..settings.key_hints import SHORT
from ..settings.texts import show, show_literal
from ..settings.values import Config
from .sections import check_bounds, read_inis, read_options
from .space import Row, Settings, Space

TIME_TO_GOAL = "time_to_goal"
METHODS, KEPT = ("gp", "tpe", "random"), ("front", "all")
COST_UNITS = {"cpu": "CPU seconds", "wall": "wall seconds", "compute": "modelled CPU seconds"}
# the default space: distribution and bounds; AROUND: bounds are factors of the environment's value
AROUND = "around"
DEFAULT = {
    "train.total_timesteps": ("log_normal", AROUND, 1 / 16, 1.5),
    "train.learning_rate": ("log_normal", 0.0005, 0.2),
    "train.gamma": ("logit_normal", 0.9, 0.9995),
    "train.gae_lambda": ("logit_normal", 0.5, 0.995),
    "train.ent_coef": ("log_normal", 1e-5, 0.2),
    "train.horizon": ("uniform_pow2", 16, 256),
    "train.minibatch_size": ("uniform_pow2", 1024, 32768),
    "train.replay_ratio": ("uniform", 0.5, 2.5),
    "train.clip_coef": ("uniform", 0.05, 0.5),
    "train.vf_coef": ("log_normal", 0.1, 10),
    "train.max_grad_norm": ("log_normal", 0.2, 5),
    "train.beta1": ("logit_normal", 0.5, 0.99),
    "vec.total_agents": ("uniform_pow2", AROUND, 1 / 8, 2),
    "policy.hidden_size": ("uniform_pow2", AROUND, 1 / 2, 2),
    "policy.num_layers": ("int_uniform", 1, 2),
}


# measured by random play of a Python environment at the start of a sweep, for all trials
MEASURED = ("vec.reward_scale", "train.obs_scale")


@dataclass(frozen=True)
class Plan:
    """One sweep, resolved: it is stored with the trials, so that any worker can join."""

    env: Annotated[str, says("the environment")]
    rows: Annotated[dict[str, dict[str, Any]], says(
        'the space: {"train.gamma": {"distribution": ..., "min": ..., "max": ...}}')]
    start: Annotated[dict[str, Any], says(
        "the settings that run first: the environment's own, of the names in rows")]
    fixed: Annotated[dict[str, str], says(
        "settings of every trial beside those: what the command line says")]
    method: Annotated[str, says("how settings are chosen")] = "gp"
    metric: Annotated[str, says("a name that the environment logs, or time_to_goal")] = "score"
    minimize: Annotated[bool, says("whether less of the metric is better")] = False
    cost: Annotated[str, says(
        "cpu or wall: seconds of training; compute: modelled CPU seconds")] = "cpu"
    runs: Annotated[int, says("trials to finish; 0: no limit")] = 0
    seconds: Annotated[float, says("for all of the sweep; 0: no limit")] = 600.0
    workers: Annotated[int, says("trials at a time")] = 1
    gpus: Annotated[int, says("GPUs that they share")] = 0
    limit: Annotated[float, says("cost at which a trial is ended; 0: none")] = 0.0
    keep: Annotated[str, says("front or all: whose checkpoints stay")] = "front"
    unit: Annotated[int, says("agents that vec.total_agents must be a multiple of")] = 1
    seed: Annotated[int, says("of the choices")] = 0
    spec: Annotated[str, says(
        "the environment's fingerprint: a worker with another environment may not join")] = ""
    goal: Annotated[str, says("the ini's")] = ""
    base: Annotated[dict[str, int | None], says("settings that whole envs need")] \
        = field(default_factory=dict)
    weights: Annotated[list[float], says(
        "of the parts of compute, measured where the sweep began; empty for the other costs")] \
        = field(default_factory=list)
    held: Annotated[dict[str, str], says(
        "settings of every trial that an ini of what was found needs besides: those that do not "
        "come from the environment's own ini")] = field(default_factory=dict)
    inis: Annotated[list[list[str]] | None, says(
        "name and text of the files of settings that the sweep began with: all trials read these, "
        "whatever becomes of the files; null: the environment's own as they are then")] = None
    classes: Annotated[list[str], says(
        "code that settings may name in a trial, with whole paths")] = field(default_factory=list)

    @classmethod
    def from_dict(cls, facts: object, where: object) -> Plan:
        """What to_dict gave, as it comes from a storage, also of a sweep that an earlier version
        began. Raises Damaged."""
        what = "the sweep's plan"
        facts = dict(records.convert(facts, dict[str, Any], where, what))
        alone = facts.pop("ini", "")        # of --config, which stood in place of the others
        if alone:
            facts["inis"] = [["settings.ini", alone]]
        plan = records.convert(facts, cls, where, what)
        for name, _ in records.convert(plan.inis or [], list[tuple[str, str]], where, what):
            files.name(name, "a file of settings", where=where)
        for name in (*plan.rows, *plan.start, *plan.fixed, *plan.held):
            if not re.fullmatch(r"\w+\.\w+", name) or name.partition(".")[0] not in (
                    *table.EFFECTIVE, "env"):
                raise Damaged(f"{what} is damaged", where=where, actual=repr(name),
                              expected="names of settings: SECTION.KEY")
        texts = {**plan.fixed, **plan.held, "env": plan.env, "metric": plan.metric,
                 "goal": plan.goal, "spec": plan.spec}
        for name, text in texts.items():
            if not text.isprintable():
                raise Damaged(f"{what} is damaged", where=f"{where}, {name}", actual=repr(text),
                              expected="a line of text")
        for name, low, high in (("runs", 0, 1 << 31), ("seconds", 0, 1e9), ("workers", 1, 4096),
                                ("gpus", 0, 4096), ("limit", 0, 1e12), ("unit", 1, 1 << 31)):
            if not low <= getattr(plan, name) <= high:
                raise Damaged(f"{what} is damaged", where=f"{where}, {name}",
                              expected=f"{low:,} to {high:,.0f}", actual=getattr(plan, name))
        for name, known in (("cost", COST_UNITS), ("method", METHODS), ("keep", KEPT)):
            if getattr(plan, name) not in known:
                raise Damaged(f"{what} is damaged", where=f"{where}, {name}",
                              expected="one of " + ", ".join(known), actual=getattr(plan, name))
        with records.read_as(what, where):
            plan.repair(plan.space().settings(plan.space().point(plan.start)))
        return plan

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def cost_unit(self) -> str:
        return COST_UNITS[self.cost]

    @property
    def to_goal(self) -> bool:
        """Whether the sweep looks for the least cost to reach the goal."""
        return self.metric == TIME_TO_GOAL

    def space(self) -> Space:
        return Space(self.rows, repair=self.repair)

    def repair(self, settings: Settings) -> Settings:
        """Settings that can run: whole environments, minibatches of whole horizons."""
        settings = {name: round(value) if table.KEYS.get(name) and
                    table.KEYS[name].type == "int" else value for name, value in settings.items()}
        horizon: int = settings.get("train.horizon") or self.base["train.horizon"] or 1
        total: int = settings.get("vec.total_agents") or self.base["vec.total_agents"] or 1
        whole = max(1, round(total / self.unit)) * self.unit
        if whole != total:
            settings["vec.total_agents"] = total = whole
        size = settings.get("train.minibatch_size", self.base.get("train.minibatch_size"))
        if size is not None:        # None: chosen automatically
            fits = max(1, min(size, total * horizon) // horizon) * horizon
            if fits != size:
                settings["train.minibatch_size"] = fits
        return settings


def read(source: CompiledSource | PythonSource, settings: Mapping[str, object], resolved: Config,
         spec: Spec | PythonSpec, unit: int) -> Plan:
    """The plan for an environment.

    settings    of the command line: those of [sweep] are the sweep's, the others hold in all trials
    resolved    the environment's settings, with these
    unit        agents of one environment
    Raises UsageError, with the place, for what cannot be searched.
    """
    asked = {name: show(value) for name, value in settings.items() if name.startswith("sweep.")}
    keys, rows, places = read_inis(source, resolved, spec)
    keys.update(read_options(asked, keys))
    only = [word for word in keys["only"].replace(",", " ").split() if word]
    if not rows:
        rows = _default_rows(resolved, source.ranges)
        rows = {name: row for name, row in rows.items()
                if name in _names(only, rows) or name not in settings}
    chosen = _names(only, rows)
    if chosen:
        missing = [name for name in chosen if name not in rows]
        if missing:
            raise UsageError(f"there is no range to search for {missing[0]}", where="--only",
                             expected="one of " + ", ".join(rows),
                             hint=f"give it one: [sweep.{missing[0]}] in the ini")
        rows = {name: rows[name] for name in rows if name in chosen}
    for name in rows:
        check_bounds(name, rows[name], places.get(name), resolved)
    fixed = {name: show(value) for name, value in settings.items()
             if not name.startswith("sweep.") and name not in rows}
    minibatch = None if is_auto(resolved, "train.minibatch_size") else resolved.train.minibatch_size
    slices = 1 if is_auto(resolved, "vec.num_buffers") else resolved.vec.num_buffers
    if not is_auto(resolved, "vec.num_workers"):
        fixed["vec.num_workers"] = show(resolved.vec.num_workers)
    measured = {name: show(resolved[name]) for name in (*MEASURED, *upstream.ALWAYS)
                if is_auto(resolved, name) and name not in rows}
    fixed |= measured
    metric, minimize = _metric(keys, resolved, spec)
    own = source.own_inis()
    read_from = [*own, *source.over]
    own_labels = inifile.labels(read_from)[:len(own)]

    def is_own(name: str) -> bool:
        return resolved.origin[name].rpartition(":")[0] in own_labels

    plan = Plan(
        env=source.name, rows=rows, start={}, fixed=fixed,
        method={"protein": "gp"}.get(keys["method"], keys["method"]), metric=metric,
        minimize=minimize, cost=keys["cost"], runs=keys["max_runs"], seconds=keys["seconds"],
        workers=_workers(keys), gpus=keys["gpus"], limit=keys["max_suggestion_cost"],
        keep=keys["keep"], unit=math.lcm(unit, slices), seed=resolved.train.seed, spec=spec.hash(),
        goal=resolved.eval.goal,
        base={"train.horizon": resolved.train.horizon,
              "vec.total_agents": resolved.vec.total_agents, "train.minibatch_size": minibatch},
        held={name: text_of(name, value, resolved.of_python) for name, value in resolved.items()
              if name not in rows and is_given(resolved, name) and not is_own(name)} | measured,
        inis=[[path.name, paths.text(path, "strict", "utf-8-sig")] for path in read_from]
        or [["settings.ini", ""]], classes=_classes(source, resolved, rows))
    space = plan.space()
    start = {name: resolved[name] for name in rows}
    start = space.settings(space.point(start)) if any(
        not _holds(row, start[name]) for name, row in rows.items()) else start
    plan.start.update(plan.repair(start))
    return plan


def _classes(source: CompiledSource | PythonSource, resolved: Config, rows: Mapping[str, Row]
             ) -> list[str]:
    found = [*torch_class.specs(resolved).values(),
             *rows.get(torch_class.KEY, {}).get("choices", ())]
    return [torch_class.absolute(each, source.folder)
            for each in found if each]


def is_auto(resolved: Config, name: str) -> bool:
    """Whether a value was chosen for the user."""
    return resolved.origin[name].startswith("auto")


def is_given(resolved: Config, name: str) -> bool:
    """Whether somebody gave a value, in an ini or on the command line."""
    return resolved.origin.get(name, "default") != "default" and not is_auto(resolved, name)


def text_of(name: str, value: object, python: bool) -> str:
    """A value as an ini holds it. python: of a Python environment, whose [env] holds literals."""
    return show_literal(value) if python and name.startswith("env.") else show(value)


def _holds(row: Row, value: Any) -> bool:
    """Whether a value lies within a row's bounds."""
    if "choices" in row:
        return value in row["choices"]
    return bool(row["min"] <= value <= row["max"])


def _workers(keys: Mapping[str, Any]) -> int:
    return int(keys["gpus"] or available_cores() if keys["workers"] == table.AUTO
               else keys["workers"])


# ---- what nobody wrote -------------------------------------------------------------------------

def _default_rows(resolved: Config, ranges: Mapping[str, tuple[Any, ...]]
                  ) -> dict[str, dict[str, Any]]:
    """ranges: of the environment's kind, in place of those of DEFAULT"""
    rows = {}
    for name, (kind, *bounds) in {**DEFAULT, **ranges}.items():
        if bounds[0] == AROUND:
            value = resolved[name]
            low, high = (value * factor for factor in bounds[1:])
            if kind == "uniform_pow2":
                low, high = (2.0 ** max(0, round(math.log2(at))) for at in (low, high))
        else:
            low, high = bounds
        whole = table.KEYS[name].type == "int"
        low, high = (max(1, round(low)), round(high)) if whole else (low, high)
        rows[name] = {"distribution": kind, "min": low, "max": high}
    return rows


def _names(words: list[str], rows: Mapping[str, Row]) -> list[str]:
    """Full names of what --only lists. Raises UsageError for a word that names nothing."""
    found = []
    for word in words:
        word = word.replace("-", "_")
        fits = [SHORT[word]] if word in SHORT else [
            name for name in (*rows, *(key.full for key in table.used_keys()))
            if word in (name, name.partition(".")[2])]
        if not fits:
            known = [name.partition(".")[2] for name in rows]
            raise UsageError(f"there is no setting '{word}'", where="--only",
                             expected="names of settings, with commas between",
                             hint=did_you_mean(word, [*known, *SHORT]))
        found.append(fits[0])
    return found


def _metric(keys: Mapping[str, Any], resolved: Config, spec: Spec | PythonSpec) -> tuple[str, bool]:
    """The metric, and whether less of it is better."""
    metric, known = keys["metric"].rpartition("/")[2], tuple(getattr(spec, "log_names", ()))
    goal = parse_goal(resolved.eval.goal)
    minimize = keys["goal"] == "minimize"
    if metric == TIME_TO_GOAL:
        if goal is None:
            raise UsageError("time_to_goal requires a goal", where="[sweep] metric",
                             expected="[eval] goal = score >= 800", actual="no goal",
                             hint="--eval.goal 'score >= 800'")
        return metric, True
    if not metric:
        if goal:
            return goal.name, not goal.at_least if keys["goal"] == "maximize" else True
        metric = WIN if spec.in_teams else next(
            (name for name in ("score", "perf", "episode_return") if name in known),
            known[0] if known else "score")
    if metric == WIN:           # of games, which evaluations play
        return metric, minimize
    if known and metric not in known and spec.open_log:
        close = did_you_mean(metric, known)
        if close:
            ui.warn(f"no episode has ended, so it is unknown whether '{metric}' is logged", close)
    elif known and metric not in known:
        raise UsageError(f"the environment does not log '{metric}'", where="[sweep] metric",
                         expected="one of " + ", ".join((*known, TIME_TO_GOAL)),
                         hint=did_you_mean(metric, (*known, TIME_TO_GOAL)))
    return metric, minimize
