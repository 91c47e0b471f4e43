"""What a sweep is asked to do.  [sweep] of the inis and of the command line -> Plan

    [sweep]                         keys of the settings table: method, metric, goal, max_runs, ...
    [sweep.train.learning_rate]     distribution, min and max of one setting (PufferLib's form)

Names of settings are those of the table, its aliases and PufferLib's older ones. Without a
[sweep.SECTION.KEY] for any setting, the default space below is searched.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..base import ui
from ..base.errors import UsageError, did_you_mean
from ..settings import config, inifile, naming, table
from ..settings.automatic import available_cores
from ..settings.goal import parse_goal
from ..settings.texts import show
from ..settings.values import Config
from .space import DISTRIBUTIONS, Space

TIME_TO_GOAL = "time_to_goal"
COST_UNITS = {"cpu": "CPU seconds", "wall": "wall seconds", "compute": "modelled CPU seconds"}
SHORT = {"lr": "train.learning_rate", "steps": "train.total_timesteps",
         "lambda": "train.gae_lambda", "entropy": "train.ent_coef", "agents": "vec.total_agents",
         "width": "policy.hidden_size", "layers": "policy.num_layers"}
# what is searched where nobody says: distribution, and bounds; AROUND: as factors of the value
# that the environment's settings have
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


@dataclass(frozen=True)
class Plan:
    """One sweep, resolved: it is stored with the trials, so that any worker can join.

    rows        the space: {"train.gamma": {"distribution": ..., "min": ..., "max": ...}}
    start       the settings that run first: the environment's own, of the names in rows
    fixed       settings of every trial beside those: what the command line says
    metric      a name that the environment logs, or time_to_goal
    cost        "cpu" or "wall": seconds of training; "compute": modelled CPU seconds
    weights     of compute.parts, measured where the sweep began; empty for the other costs
    runs        trials to finish, and `seconds` for all of the sweep: 0 for no limit
    keep        "front" or "all": whose checkpoints stay
    limit       cost at which a trial is ended; 0 for none
    unit        agents that vec.total_agents must be a multiple of
    spec        the environment's fingerprint: a worker with another environment may not join
    """

    env: str
    rows: dict
    start: dict
    fixed: dict
    method: str = "gp"
    metric: str = "score"
    minimize: bool = False
    cost: str = "cpu"
    runs: int = 0
    seconds: float = 600.0
    workers: int = 1
    gpus: int = 0
    limit: float = 0.0
    keep: str = "front"
    unit: int = 1
    seed: int = 0
    spec: str = ""
    goal: str = ""
    base: dict = field(default_factory=dict)    # values that repairs need
    weights: list = field(default_factory=list)

    def to_dict(self) -> dict:
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

    def repair(self, settings: dict) -> dict:
        """Settings that can run: whole environments, minibatches of whole horizons."""
        settings = {name: round(value) if table.KEYS.get(name) and
                    table.KEYS[name].type == "int" else value for name, value in settings.items()}
        horizon = settings.get("train.horizon", self.base["train.horizon"])
        total = settings.get("vec.total_agents", self.base["vec.total_agents"])
        whole = max(1, round(total / self.unit)) * self.unit
        if whole != total:
            settings["vec.total_agents"] = total = whole
        size = settings.get("train.minibatch_size", self.base.get("train.minibatch_size"))
        if size is not None:        # None: chosen automatically
            fits = max(1, min(size, total * horizon) // horizon) * horizon
            if fits != size:
                settings["train.minibatch_size"] = fits
        return settings


def read(folder: Path, settings: Mapping[str, object], resolved: Config, spec,
         unit: int) -> Plan:
    """The plan for the environment in `folder`.

    settings    of the command line: those of [sweep] are the sweep's, the others hold in all trials
    resolved    the environment's settings, with these
    unit        agents of one environment
    Raises UsageError, with the place, for what cannot be searched.
    """
    asked = {name: show(value) for name, value in settings.items() if name.startswith("sweep.")}
    keys, rows, places = _read_inis(folder, resolved, spec)
    keys.update(_options(asked, keys))
    only = [word for word in keys["only"].replace(",", " ").split() if word]
    if not rows:
        rows = _default_rows(resolved)
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
        _check_bounds(name, rows[name], places.get(name))
    fixed = {name: show(value) for name, value in settings.items()
             if not name.startswith("sweep.") and name not in rows}
    minibatch = None if resolved.origin["train.minibatch_size"].startswith("auto") \
        else resolved.train.minibatch_size
    slices = 1 if resolved.origin["vec.num_buffers"].startswith("auto") \
        else resolved.vec.num_buffers
    metric, minimize = _metric(keys, resolved, spec)
    plan = Plan(
        env=folder.name, rows=rows, start={}, fixed=fixed,
        method={"protein": "gp"}.get(keys["method"], keys["method"]), metric=metric,
        minimize=minimize, cost=keys["cost"], runs=keys["max_runs"], seconds=keys["seconds"],
        workers=_workers(keys), gpus=keys["gpus"], limit=keys["max_suggestion_cost"],
        keep=keys["keep"], unit=math.lcm(unit, slices), seed=resolved.train.seed, spec=spec.hash(),
        goal=resolved.eval.goal,
        base={"train.horizon": resolved.train.horizon,
              "vec.total_agents": resolved.vec.total_agents, "train.minibatch_size": minibatch})
    space = plan.space()
    start = {name: resolved[name] for name in rows}
    start = space.settings(space.point(start)) if any(
        not row_holds(row, start[name]) for name, row in rows.items()) else start
    plan.start.update(plan.repair(start))
    return plan


def row_holds(row: Mapping, value) -> bool:
    """Whether a value lies within a row's bounds."""
    if "choices" in row:
        return value in row["choices"]
    return row["min"] <= value <= row["max"]


def _workers(keys: Mapping) -> int:
    if keys["workers"] != table.AUTO:
        return keys["workers"]
    return keys["gpus"] or available_cores()


# ---- the sections ------------------------------------------------------------------------------

def _read_inis(folder: Path, resolved: Config, spec) -> tuple[dict, dict, dict]:
    """([sweep] values, rows of the space, where each row stands) of the environment's inis."""
    ini = config.find_ini(folder)
    ocean = (folder / "binding.c").is_file()
    keys = {key.name: key.default for key in table.used_keys("sweep")}
    rows: dict[str, dict] = {}
    places: dict[str, str] = {}
    left: list[str] = []
    for path in filter(None, (config.shared_ini(folder, ini), ini) if ini else ()):
        entries, sections, faults = inifile.read(path)
        inifile.raise_all(faults)
        for section, line in sections.items():
            if not section.startswith("sweep."):
                continue
            place = inifile.where(path, line)
            name = _full_name(section.removeprefix("sweep."), resolved, spec)
            if name is None:
                if not ocean:
                    raise _unknown(section.removeprefix("sweep."), place)
                left.append(f"[{section}]")
                continue
            row = {entry.key: entry.text for entry in entries if entry.section == section}
            rows[name] = _row(name, row, place, ocean)
            places[name] = place
        for entry in entries:
            if entry.section == "sweep":
                place = inifile.where(path, entry.line)
                if not _take(keys, entry.key, entry.text, place, ocean):
                    left.append(entry.key)
    if left:
        ui.warn_once(f"{inifile.where(ini)}: without effect on a sweep here: " + ", ".join(left))
    return keys, rows, places


def _options(asked: Mapping[str, str], keys: Mapping) -> dict:
    found = dict(keys)
    for full, text in asked.items():
        name = full.removeprefix("sweep.")
        place = f"command line, --{full.replace('_', '-')}"
        if not _take(found, name, text, place, False):
            raise UsageError(f"--{full.replace('_', '-')} has no effect here", where=place,
                             hint="leave it out")
    return found


def _take(keys: dict, name: str, text: str, place: str, ocean: bool) -> bool:
    """Store one key of [sweep]. False for one that has no effect here."""
    key = table.KEYS.get(f"sweep.{name}")
    if key is None and ocean:
        return False
    if key is None:
        own = [each.name for each in table.used_keys("sweep")]
        raise UsageError(f"[sweep] has no setting '{name}'", where=place,
                         expected="one of " + ", ".join(own), hint=did_you_mean(name, own))
    if key.status == table.IGNORED:
        return False
    if key.status == table.ALIAS:
        key = table.KEYS[key.target]
    text = text.lower() if key.choices else text
    try:
        keys[key.name] = table.parse(key, text, cut=ocean)
    except ValueError as error:
        raise UsageError(f"[sweep] {key.name} cannot be '{text}'", where=place,
                         expected=key.expected, actual=f"'{text}'",
                         hint=str(error) or None) from None
    return True


def _full_name(text: str, resolved: Config, spec) -> str | None:
    """The setting that [sweep.TEXT] is about; None if there is none of that name."""
    section, _, name = text.partition(".")
    name = name.replace("-", "_")
    if section == "env":
        fields = [each.name for each in spec.settable]
        return f"env.{name}" if name in resolved.env or name in fields else None
    full = naming.RENAMED.get(name, f"{section}.{name}")
    key = table.KEYS.get(full)
    if key is None or key.status == table.IGNORED or key.section == "sweep":
        return None
    return key.target if key.status == table.ALIAS else full


def _unknown(text: str, place: str) -> UsageError:
    section, _, name = text.partition(".")
    close = naming.meant(section, name)
    return UsageError(f"there is no setting '{text}' to search", where=place,
                      expected="[sweep.SECTION.KEY] of a setting",
                      hint=f"did you mean [sweep.{close.full}]?" if close else None)


def _row(name: str, texts: Mapping[str, str], place: str, ocean: bool) -> dict:
    """One description, with numbers for texts. PufferLib's `mean` and `scale` change nothing."""
    row: dict = {}
    key = table.KEYS.get(name)
    for word, text in texts.items():
        if word in ("mean", "scale") or (ocean and word == "search_center"):
            continue
        if word == "distribution":
            row[word] = text.lower()
        elif word == "choices":
            try:
                row[word] = [table.parse(key, each.strip()) if key else float(each)
                             for each in text.strip("()[]").split(",")]
            except ValueError:
                raise UsageError(f"[sweep.{name}] choices cannot be read", where=place,
                                 expected="values of the setting, with commas between",
                                 actual=f"'{text}'") from None
        else:
            row[word] = text.replace("_", "")
    if "choices" in row:
        row.setdefault("distribution", "choice")
    if row.get("distribution") not in DISTRIBUTIONS:
        named = row.get("distribution", "nothing")
        raise UsageError(f"[sweep.{name}] has no distribution of that name", where=place,
                         expected="one of " + ", ".join(DISTRIBUTIONS), actual=f"'{named}'",
                         hint=did_you_mean(named, DISTRIBUTIONS))
    if row["distribution"] != "choice":
        try:
            Space({name: row})
        except UsageError as error:
            error.where = place
            raise
        whole = key is not None and key.type in ("int", "bool")
        for word in ("min", "max"):
            row[word] = round(float(row[word])) if whole else float(row[word])
        if whole and row["distribution"] == "uniform":
            row["distribution"] = "int_uniform"
        if key is not None and key.type == "bool":
            row = {"distribution": "choice", "choices": [False, True]}
    return row


def _check_bounds(name: str, row: Mapping, place: str | None) -> None:
    """The ends of the range must be values that the setting can have."""
    key = table.KEYS.get(name)
    if key is None or key.type in ("str", "bool") or "choices" in row:
        return
    for word in ("min", "max"):
        if not key.allows(row[word]):
            raise UsageError(f"[sweep.{name}] {word} is no value of the setting",
                             where=place or "the default space", expected=key.expected,
                             actual=show(row[word]))


# ---- what nobody wrote -------------------------------------------------------------------------

def _default_rows(resolved: Config) -> dict:
    rows = {}
    for name, (kind, *bounds) in DEFAULT.items():
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


def _names(words: list[str], rows: Mapping) -> list[str]:
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


def _metric(keys: Mapping, resolved: Config, spec) -> tuple[str, bool]:
    """The metric, and whether less of it is better."""
    metric, known = keys["metric"].rpartition("/")[2], tuple(getattr(spec, "log_names", ()))
    goal = parse_goal(resolved.eval.goal)
    minimize = keys["goal"] == "minimize"
    if metric == TIME_TO_GOAL:
        if goal is None:
            raise UsageError("time_to_goal needs a goal", where="[sweep] metric",
                             expected="[eval] goal = score >= 800", actual="no goal",
                             hint="--eval.goal 'score >= 800'")
        return metric, True
    if not metric:
        if goal:
            return goal.name, not goal.at_least if keys["goal"] == "maximize" else True
        metric = next((name for name in ("score", "perf", "episode_return") if name in known),
                      known[0] if known else "score")
    own_log = getattr(spec, "binding", None) is not None
    if known and not own_log and metric not in known:
        raise UsageError(f"the environment does not log '{metric}'", where="[sweep] metric",
                         expected="one of " + ", ".join((*known, TIME_TO_GOAL)),
                         hint=did_you_mean(metric, (*known, TIME_TO_GOAL)))
    return metric, minimize
