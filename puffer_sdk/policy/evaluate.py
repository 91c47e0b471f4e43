"""Compare a policy with random and idle play.  checkpoint -> episodes.json"""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from ..base import files, paths
from ..base.errors import UsageError
from ..env import build, child
from ..settings import config
from ..settings.goal import Goal, parse_goal
from ..settings.values import Config
from ..training import backends, checkpoint
from ..training.metrics import without_nan
from ..training.models import find_model, run_folder
from .players import PlayersJob
from .scoring import Score


@dataclass(frozen=True)
class Evaluation:
    """The scores, and the file that holds them."""

    env: str
    checkpoint: Path | None
    scores: dict[str, Score]
    path: Path | None
    goal: Goal | None = None

    @property
    def solved(self) -> bool | None:
        """Whether the trained policy meets the goal; None without a goal or a policy. A goal on
        something that was never logged is not met."""
        if self.goal is None or "trained" not in self.scores:
            return None
        return self.measured and self.goal.is_met(self.scores["trained"].mean[self.goal.name])

    @property
    def measured(self) -> bool:
        """Whether the trained policy's play logged what the goal names."""
        return bool(self.goal and "trained" in self.scores
                    and self.goal.name in self.scores["trained"].mean)

    def to_dict(self) -> dict:
        """JSON-able; a number that is not finite becomes None."""
        return without_nan({
            "env": self.env, "checkpoint": str(self.checkpoint) if self.checkpoint else None,
            "goal": str(self.goal) if self.goal else None, "solved": self.solved,
            "policies": {name: asdict(score) for name, score in self.scores.items()}})


def evaluate(env=None, settings: Mapping[str, object] | None = None, *,
             model: str | Path | None = "latest", output: Path | None = None,
             runs_dir: Path | None = None, greedy: bool = False, on_progress=None,
             verbose: bool = False) -> Evaluation:
    """Play ENV with a trained policy, with random and with idle play, from fixed seeds.

    model         "latest", a run's number or folder, a checkpoint file; None: only baselines
    output        the JSON file; default: the run's episodes.json
    greedy        take the likeliest action instead of drawing one
    on_progress   called as on_progress(policy, done, total)
    Raises UsageError for a checkpoint that is damaged, or of another environment or size.
    """
    folder = paths.find_env(env)
    found = find_model(paths.runs_dir(folder, runs_dir).resolve(), model) if model else None
    past = checkpoint.load(found) if found else None
    if past:
        backends.require_actor(Config.from_dict(past.facts["config"]), verbose=verbose)
    home = run_folder(found)
    if output is None and found:
        output = home / "episodes.json" if home else found.with_suffix(".episodes.json")
    if output is not None and not Path(output).parent.is_dir():
        raise UsageError("there is no such folder to write to", where=Path(output).parent)
    built = build.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec)
    job = PlayersJob.of(built, resolved, model=found, greedy=greedy)

    def on_event(kind: str, payload: dict) -> None:
        if kind == "progress" and on_progress:
            on_progress(payload["policy"], payload["done"], payload["total"])

    scores = child.run("puffer_sdk.policy.scoring:work", job, on_event,
                       log=home / "eval.log" if home else None,
                       cwd=paths.working_dir(folder), step_timeout=resolved.vec.step_timeout)
    result = Evaluation(built.spec.name, found,
                        {name: Score(**score) for name, score in scores.items()}, output,
                        parse_goal(resolved.eval.goal))
    if output is not None:
        files.save(Path(output), json.dumps(result.to_dict(), indent=1) + "\n",
                   what="the episodes")
    return result
