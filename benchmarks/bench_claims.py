"""Does a run say the truth of its policy?  `python benchmarks/bench_claims.py [ENV ...]`

Trains on the templates, the examples, two environments in Python and every ENV (a folder, or
FILE.py:NAME), each for some steps with the settings of its ini, and evaluates the same weights
anew: other seeds and more episodes than the run had. A row compares what the run claims with that;
the difference is counted in standard errors of both. Environments that do not build or train as
they are leave no row. Writes docs/data/claims.json, for docs/why/claims.md.

--upstream TREE tries the environments of a PufferLib 4.0 checkout instead, all with the small
network and the few agents of UPSTREAM. --only keeps the other rows.
"""
from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench import machine, write_figures

import puffer_sdk
from puffer_sdk.base.errors import Interrupted, PufferError
from puffer_sdk.scoring.score import FEW, RETURN_RATE, Score
from puffer_sdk.scoring.words import headline, measure

ROOT = Path(__file__).resolve().parent.parent
STEPS, STEPS_PYTHON = 400_000, 40_000
EPISODES = 300
PYTHON = ("gymnasium:CartPole-v1", "gymnasium:Acrobot-v1")
UPSTREAM = {"train.total_timesteps": 600_000, "eval.episodes": 400, "policy.hidden_size": 64,
            "policy.num_layers": 1,
            "vec.total_agents": 512, "train.horizon": 32, "train.minibatch_size": 4096,
            "vec.num_threads": 1}
TWO_SIDED = 1.96                # standard errors in half a 95 % interval, of many envs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("envs", nargs="*", help="more environments")
    parser.add_argument("--only", action="store_true", help="these alone; other rows are kept")
    parser.add_argument("--upstream", type=Path, metavar="TREE", help="a PufferLib 4.0 checkout")
    asked = parser.parse_args()
    figures = {"machine": machine(), "steps": STEPS, "steps_python": STEPS_PYTHON,
               "episodes": EPISODES, "rows": {}, "upstream": {}, **(
                   kept() if asked.only or asked.upstream else {})}
    with tempfile.TemporaryDirectory() as home:
        if asked.upstream:
            part, settings = "upstream", UPSTREAM
            envs = {folder.name: folder for folder in sorted((asked.upstream / "ocean").iterdir())}
        else:
            part, settings = "rows", {}
            envs = {} if asked.only else dict(environments(Path(home)))
            envs |= {Path(env).name: env for env in asked.envs}
        for name, env in envs.items():
            print(f"{name} ...", file=sys.stderr, flush=True)
            try:
                figures[part][name] = row(env, Path(home) / "runs", settings)
            except Interrupted:
                raise
            except PufferError as error:
                print(f"left out: {error.message}", file=sys.stderr)
            write_figures("claims", figures)
    print(table(figures))
    return 0


def kept() -> dict:
    return json.loads((ROOT / "docs" / "data" / "claims.json").read_text())


def environments(home: Path) -> Iterator[tuple[str, str | Path]]:
    for template in ("squared", "target"):
        yield template, puffer_sdk.new(template, template=template, output_dir=home).folder
    for path in sorted(ROOT.glob("examples/*/*.ini")):
        yield path.parent.name, path.parent
    for name in PYTHON:
        yield name, name


def row(env: str | Path, home: Path, settings: Mapping[str, object]) -> dict:
    """What a run claims, and what a fresh evaluation of the same weights says."""
    steps = STEPS_PYTHON if ":" in str(env) else STEPS
    settings = {"train.total_timesteps": steps, "eval.episodes": EPISODES,
                "train.stop_at_goal": 0, "train.device": "cpu", **settings}
    result = puffer_sdk.train(env, {name: value for name, value in settings.items()
                                    if name != "eval.episodes"}, runs_dir=home)
    name = headline(result.claim)
    claimed, random = (Score(**result.claim[who]) for who in ("trained", "random"))
    span = {"eval.steps": claimed.span} if name == RETURN_RATE and claimed.span else {}
    fresh = puffer_sdk.evaluate(env, {**settings, "eval.seed": 1_000_003, **span},
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
    theirs = {f"PufferLib 4.0: {name}": each for name, each in figures.get("upstream", {}).items()}
    for name, each in (figures["rows"] | theirs).items():
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
