"""Does a run say the truth of its policy?  `python benchmarks/bench_claims.py [FOLDER ...]`

Trains on the templates, the examples, two environments in Python and every FOLDER, each for STEPS
agent steps with the settings of its ini, and evaluates the same weights anew: other seeds and more
episodes than the run had. A row compares what the run claims with that; the difference is counted
in standard errors of both. Writes docs/data/claims.json, for docs/why/claims.md.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench import machine, write_figures

import puffer_sdk
from puffer_sdk.base.errors import PufferError
from puffer_sdk.scoring.score import FEW, Score
from puffer_sdk.scoring.words import headline, measure

ROOT = Path(__file__).resolve().parent.parent
STEPS, STEPS_PYTHON = 1_000_000, 100_000
EPISODES = 1000
PYTHON = ("gymnasium:CartPole-v1", "gymnasium:Acrobot-v1")
TWO_SIDED = 1.96                # standard errors in half a 95 % interval, of many envs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="more environments")
    parser.add_argument("--only", nargs="*", help="names of these rows alone; writes nothing")
    asked = parser.parse_args()
    figures = {"machine": machine(), "steps": STEPS, "steps_python": STEPS_PYTHON, "rows": {}}
    with tempfile.TemporaryDirectory() as home:
        for name, env in environments(Path(home), asked.folders).items():
            if asked.only and name not in asked.only:
                continue
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                figures["rows"][name] = row(env, Path(home) / "runs")
            except PufferError as error:
                figures["rows"][name] = {"failed": error.message}
    print(table(figures))
    if not asked.only:
        write_figures("claims", figures)
    return 0


def environments(home: Path, folders: list[Path]) -> dict[str, str | Path]:
    found: dict[str, str | Path] = {
        template: puffer_sdk.new(template, template=template, output_dir=home).folder
        for template in ("squared", "target")}
    found |= {path.parent.name: path.parent
              for path in sorted((ROOT / "examples").glob("*/*.ini"))}
    found |= {folder.name: folder.resolve() for folder in folders}
    return found | {name: name for name in PYTHON}


def row(env: str | Path, home: Path) -> dict:
    """What a run claims, and what a fresh evaluation of the same weights says."""
    steps = STEPS_PYTHON if env in PYTHON else STEPS
    result = puffer_sdk.train(env, {"train.total_timesteps": steps}, runs_dir=home)
    name = headline(result.claim)
    claimed, random = (Score(**result.claim[who]) for who in ("trained", "random"))
    fresh = puffer_sdk.evaluate(env, {"eval.episodes": EPISODES, "eval.seed": 1_000_003},
                                model=result.folder, runs_dir=home,
                                output=home / "episodes.json").scores["trained"]
    found = {"metric": name, "claim": claimed.mean[name], "within": claimed.interval[name],
             "episodes": claimed.count, "random": random.mean.get(name),
             "fresh_episodes": fresh.count,
             "fresh": fresh.mean.get(name), "fresh_within": fresh.interval.get(name)}
    return found | {"apart": apart(found)}


def apart(found: dict) -> float | None:
    """The difference in standard errors; None where one of them has no interval. Both are of one
    policy: a claim of a few equal episodes is as uncertain as the many of `fresh` say."""
    if None in (found["fresh"], found["within"], found["fresh_within"]):
        return None
    few = found["fresh_within"] * (found["fresh_episodes"] / max(1, found["episodes"])) ** 0.5
    halves = max(found["within"], few), found["fresh_within"]
    error = sum((half / TWO_SIDED) ** 2 for half in halves) ** 0.5
    gap = found["claim"] - found["fresh"]
    return gap / error if error else 0.0 if not gap else float("inf")


def table(figures: dict) -> str:
    lines = ["| environment | measure | the run claims | of episodes | evaluated anew | apart, in "
             "standard errors | random play |", "|---|---|---|---|---|---|---|"]
    for name, each in figures["rows"].items():
        if "failed" in each:
            lines.append(f"| {name} | {each['failed']} | | | | | |")
            continue
        few = each["episodes"] < FEW
        numbers = [measure(each["claim"], None if few else each["within"]),
                   measure(each["fresh"], each["fresh_within"])]
        gap = "-" if each["apart"] is None else f"{each['apart']:+.1f}"
        random = "-" if each["random"] is None else f"{each['random']:.3f}"
        lines.append(f"| {name} | {each['metric'].replace('_', ' ')} | {numbers[0]} | "
                     f"{each['episodes']:,} | {numbers[1]} | {gap} | {random} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
