"""Compare a policy with random and idle play.  checkpoint -> episodes.json"""
from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Annotated, Any, TypedDict

from ..base import files, paths, ui
from ..base.documents import says
from ..base.errors import Refused, RunError, UsageError
from ..env import child_process
from ..interop.python_envs import env_source, makers
from ..scoring.score import Score
from ..settings import torch_class
from ..settings.goal import Goal, parse_goal
from ..training import backends, checkpoint, flat, repeating
from ..training.find_model import find_model, run_folder, which_weights
from ..training.metrics import without_nan
from ..training.runs import Run
from ..training.world_stages import played_on
from .players import PlayersJob, find_contestant


class Evaluated(TypedDict):
    """What episodes.json holds."""

    env: Annotated[str, says("what was played")]
    checkpoint: Annotated[str | None, says("the weights' file; null: no policy was played")]
    weights: Annotated[str, says('which they are: "the best of run 3, after 4,096 steps"')]
    opponent: Annotated[str, says('whom the policies met, in games of teams; "": each played all')]
    changed: Annotated[list[str], says("files and packages that changed since it was trained")]
    worlds: Annotated[list[str], says(
        "what it was trained on, where that is not what was played")]
    goal: Annotated[str | None, says("the ini's")]
    solved: Annotated[bool | None, says("whether the policy meets the goal; null without one")]
    policies: Annotated[dict[str, Any], says("by player: trained, random, idle", each=Score)]


@dataclass(frozen=True)
class Evaluation:
    """The scores, and the file that holds them."""

    env: str
    checkpoint: Path | None
    scores: dict[str, Score]
    path: Path | None
    goal: Goal | None = None
    weights: str = ""       # which they are: "the best of run 3, after 4,096 steps"
    registered: Goal | None = None      # what Gymnasium has for it, where nobody stated a goal
    changed: tuple[str, ...] = ()       # files and packages, since the run was trained
    worlds: tuple[str, ...] = ()        # what it was trained on, where that is not what was played

    @property
    def solved(self) -> bool | None:
        """Whether the trained policy meets the goal; None without a goal or a policy. A goal on
        something that was never logged is not met."""
        if self.goal is None or "trained" not in self.scores:
            return None
        mean = self.scores["trained"].mean.get(self.goal.name)
        return mean is not None and self.goal.is_met(mean)

    @property
    def opponent(self) -> str:
        """Whom the policies met; "" where each played all agents."""
        return next((score.opponent for score in self.scores.values()), "")

    @property
    def measured(self) -> bool:
        """Whether the trained policy's play logged what the goal names."""
        return bool(self.goal and "trained" in self.scores
                    and self.goal.name in self.scores["trained"].mean)

    def _repr_html_(self) -> str:
        """A table, where a notebook shows it."""
        scores = list(self.scores.values())
        names = dict.fromkeys(name for score in scores for name in score.mean)
        head = "".join(f"<th>{escape(score.policy)}</th>" for score in scores)
        rows = "".join(
            f"<tr><td>{escape(name.replace('_', ' '))}</td>" + "".join(
                f"<td>{_measure(score.mean.get(name), score.interval.get(name))}</td>"
                for score in scores) + "</tr>" for name in names)
        counts = "".join(f"<td>{score.count:,}</td>" for score in scores)
        title = escape(f"{self.env}, {scores[0].unit}") if scores else escape(self.env)
        return (f"<table><caption>{title}</caption><tr><th></th>{head}</tr>{rows}"
                f"<tr><td>entries</td>{counts}</tr></table>")

    def to_dict(self) -> Evaluated:
        """JSON-able; a number that is not finite becomes None."""
        return {
            "env": self.env, "checkpoint": str(self.checkpoint) if self.checkpoint else None,
            "weights": self.weights, "opponent": self.opponent, "changed": list(self.changed),
            "worlds": list(self.worlds), "goal": str(self.goal) if self.goal else None,
            "solved": self.solved,
            "policies": {name: without_nan(asdict(score)) for name, score in self.scores.items()}}


def _measure(mean: float | None, half: float | None) -> str:
    if mean is None:
        return "-"
    return f"{mean:,.4g}" + (f" ± {half:,.2g}" if half is not None else "")


def evaluate(env: str | Path | Callable[..., object] | None = None,
             settings: Mapping[str, object] | None = None, *,
             model: str | Path | None = "best", output: Path | None = None,
             runs_dir: Path | None = None, ini: Path | None = None, greedy: bool = False,
             as_trained: bool = False, opponent: str | None = None,
             on_progress: Callable[[str, int, int], None] | None = None, verbose: bool = False,
             seconds: float = 0.0) -> Evaluation:
    """Play ENV with a trained policy, with random and with idle play, from fixed seeds.

    model         "best" or "latest" of the newest run, a run's number or folder (its best), a
                  checkpoint file; None: only baselines
    output        the JSON file; default: the run's episodes.json
    ini           a file of settings over the environment's own ini
    greedy        take the likeliest action instead of drawing one
    as_trained    play the copies of the code that the run has, with its settings, rather than the
                  code of today
    opponent      who plays the other teams: "random", "idle", "bot:LEVEL", a run or weights; or
                  "self": each policy plays all agents. None: random play where teams are declared,
                  or the rewards of two agents are opposites; else "self"
    on_progress   called as on_progress(policy, done, total)
    seconds       of each policy, at most, after which nothing is written; 0: to the end
    Returns the scores. Raises UsageError for a checkpoint that is damaged or of other sizes,
    BuildError, RunError if the environment fails, Interrupted after Ctrl-C.
    """
    source = env_source.find(makers.as_name(env), ini)
    found = find_model(source.runs_dir(runs_dir), model) if model else None
    weights = flat.as_checkpoint(found, source, settings) if found else None
    past = checkpoint.load(weights) if weights else None
    torch_class.name_given(source, settings)
    home = run_folder(found)
    run = Run(home) if home else None
    if as_trained and run is None:
        raise UsageError("--as-trained plays the copies of code in a run's folder",
                         where="command line", expected="a run, or a checkpoint in its folder",
                         actual=found or "no policy", hint="puffer-sdk runs lists all runs")
    if past and not as_trained:         # first: what it names may be somebody else's
        backends.require_actor(past.config, past.path, verbose=verbose)
    prepared = repeating.prepare_as_trained(run, source, settings, verbose=verbose) \
        if run and as_trained else source.prepare(settings, verbose=verbose)
    own_class = prepared.config.policy.torch_class if as_trained else ""
    if past and as_trained:
        past = past.with_class(own_class)
        backends.require_actor(past.config, past.path, verbose=verbose)
    asked = output is not None
    if output is None and found and not seconds:
        output = home / "episodes.json" if home else found.with_suffix(".episodes.json")
        if not os.access(output.parent, os.W_OK):       # somebody else's run, perhaps
            ui.warn(f"{paths.shown(output.parent)} cannot be written to, so the episodes are not "
                    "saved", hint="--output FILE saves them elsewhere")
            home = output = None
    if output is not None and not Path(output).parent.is_dir():
        raise UsageError("the output folder does not exist", where=Path(output).parent)
    changed = repeating.changed_since(run, prepared, past.config) if run and past \
        and not as_trained and past.facts["env"]["name"] == prepared.spec.name else []
    if changed:
        ui.warn(f"the code has changed since run {run.number if run else ''} was trained: "
                f"{', '.join(ui.first(changed, 5))}",
                "--as-trained plays the run's copies of it")
    if unused := [full for full in settings or () if full.lstrip("-").startswith("worlds.")]:
        raise UsageError(f"{unused[0]} has no effect on an evaluation, which plays [env]",
                         where=unused[0], expected="a setting of [env]", actual="one of [worlds]",
                         hint=f"--{unused[0].lstrip('-').replace('worlds.', 'env.')} VALUE")
    prepared = prepared.as_trained(past.facts["env"] if past else None)
    resolved = prepared.config
    job = prepared.job(PlayersJob, model=weights, greedy=greedy, seconds=seconds,
                       torch_class=own_class, opponent=opponent and find_contestant(
                           opponent, source, settings, runs_dir, verbose=verbose))

    def on_event(kind: str, payload: Any) -> None:
        if kind == "progress" and on_progress:
            on_progress(payload["policy"], payload["done"], payload["total"])

    scores = child_process.run("puffer_sdk.policy.scoring:work", job, on_event,
                       log=home / "eval.log" if home else None,
                       cwd=prepared.cwd, step_timeout=prepared.patience)
    name = source.name if as_trained else prepared.spec.name
    checkpoint.warn_of_other_name(past, name)
    result = Evaluation(name, found,
                        {name: Score(**score) for name, score in scores.items()}, output,
                        parse_goal(resolved.eval.goal), which_weights(past) if past else "",
                        None if resolved.eval.goal else parse_goal(prepared.spec.registered),
                        tuple(changed), tuple(played_on(past.facts, resolved)) if past else ())
    if output is None:
        return result
    try:
        save = files.save_typed if asked else files.save
        save(Path(output), json.dumps(result.to_dict(), indent=1) + "\n", what="the episodes")
    except (RunError, Refused) as error:
        if asked:
            raise
        ui.warn(f"{error.message}: {error.detail or error.actual}",
                hint="--output FILE saves them elsewhere")
        return replace(result, path=None)
    return result
