"""What `train` and `runs` print for programs.  a TrainResult -> TrainDocument"""
from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypedDict

from ..base.documents import says
from ..scoring.kept_scores import Claim

if TYPE_CHECKING:
    from .train import TrainResult


class TrainDocument(TypedDict):
    """The result of `train`."""

    folder: Annotated[str, says("of the run: runs/NAME/NNNN")]
    checkpoint: Annotated[str, says("the last one")]
    steps: Annotated[int, says("agent steps trained")]
    seconds: Annotated[float, says("of training, over all resumed parts")]
    evaluating: Annotated[float, says("of these, the seconds that evaluations took")]
    goal: Annotated[tuple[int, float] | None, says(
        "agent steps and seconds until the goal was confirmed")]
    missed: Annotated[str, says('the goal, if it was not confirmed; else ""')]
    lost: Annotated[str, says(
        'the goal, if it was confirmed and the best weights miss it on fresh episodes; else ""')]
    claim: Annotated[Claim | None, says(
        "what the best weights and random play do on fresh episodes")]
    registered: Annotated[str | None, says(
        "the goal that Gymnasium has for it, where nobody stated one")]
    why: Annotated[list[str], says("symptoms of a run that did not learn, a sentence each")]
    metrics: Annotated[dict[str, float | None], says(
        "the last value of each key of metrics.jsonl; null: not a finite number")]


def train_document(result: TrainResult, why: list[str]) -> TrainDocument:
    """why: of symptoms_of"""
    return {"folder": str(result.folder), "checkpoint": str(result.checkpoint),
            "steps": result.steps, "seconds": result.seconds, "evaluating": result.evaluating,
            "goal": result.goal, "missed": result.missed, "lost": result.lost,
            "claim": result.claim, "registered": result.registered or None, "why": why,
            "metrics": {**result.metrics}}


class RunRow(TypedDict):
    """One run. What is not known is null."""

    env: Annotated[str, says("its environment")]
    number: Annotated[int, says("of the run: runs/NAME/NUMBER")]
    status: Annotated[str, says("running, finished, interrupted, failed, killed or damaged: its "
                                "files cannot be read")]
    tag: Annotated[str, says('from --tag, or ""')]
    started: Annotated[str | None, says("ISO 8601, UTC")]
    step: Annotated[int | None, says("agent steps done")]
    total: Annotated[int | None, says("agent steps in total")]
    sps: Annotated[float | None, says("agent steps per second of training")]
    win_rate: Annotated[float | None, says("share of games won, where there are teams")]
    perf: Annotated[float | None, says("what it reached: the headline number, from 0 to 1")]
    score: Annotated[float | None, says("what it reached, in the unit of the log")]
    episode_return: Annotated[float | None, says("what it reached: sum of rewards of an episode")]
    fell: Annotated[str, says('what the end lost, where it is far below the best; else ""')]
    code: Annotated[str | None, says("a hash: runs of the same code may be compared")]
    commit: Annotated[str | None, says("of the repository")]
    dirty: Annotated[bool | None, says("whether the code differs from it")]
    command: Annotated[str | None, says("the command line")]
    cpu: Annotated[str | None, says("the processor")]
    processes: Annotated[int, says("that shared the run")]
    hosts: Annotated[list[str], says("their machines")]
    checkpoints: Annotated[int, says("how many there are")]
    folder: Annotated[str, says("of the run")]


class RunsDocument(TypedDict):
    """The result of `runs`."""

    runs: Annotated[list[RunRow], says("oldest first")]
