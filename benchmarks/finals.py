"""What final observations change: `python benchmarks/finals.py`, about 5 minutes.

Where a time limit ends an episode, its return goes on with the value of the final observation.
Before there were any, the value of the observation before it stood in. Both are trained with seeds
1 to 5: cartpole and pendulum with their own settings until the goal is reached; and trek, a way of
up to 63 steps in episodes of LIMITS ticks, for 2 M steps: which share of 256 walkers who have time
arrives?
Writes docs/data/finals.json, for docs/trainer/algorithm.md.
"""
from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np
from bench import machine, write_figures
from training_runs import close, open_trainer, solve

import puffer_sdk
from puffer_sdk.training import backends

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (1, 2, 3, 4, 5)
LIMITS, WALKERS, TIME = (2, 4, 16), 256, 200
GAMES = {name: f"{name}: million steps to the goal" for name in ("cartpole", "pendulum")} | {
    f"trek {limit}": f"trek, {limit} ticks an episode: share that arrives" for limit in LIMITS}
WAYS = {"value of the final observation": True, "value of the one before": False}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, write nothing")
    asked = parser.parse_args()
    seeds = SEEDS[:1] if asked.quick else SEEDS
    figures = {"machine": machine(), "seeds": list(seeds), "results": {}}
    for way, finals in WAYS.items():
        prepare = None if finals else forget_finals
        for game in GAMES:
            print(f"{game}, {way} ...", file=sys.stderr, flush=True)
            figures["results"].setdefault(way, {})[game] = [
                result(game, seed, prepare) for seed in seeds]
    print(table(figures))
    if not asked.quick:
        write_figures("finals", figures)
    return 0


def forget_finals(vec) -> None:
    """As an env whose final observations nobody writes."""
    vec._final_observations = vec._has_final = None


def result(game: str, seed: int, prepare) -> float | None:
    name, _, limit = game.partition(" ")
    if not limit:
        steps = solve(ROOT / "examples" / name, {}, seed, prepare=prepare).steps
        return steps and steps / 1e6
    folder = ROOT / "benchmarks" / name
    settings = {"env.max_steps": int(limit), "train.seed": seed}
    vec, trainer = open_trainer(folder, settings, prepare)
    while not trainer.finished:
        trainer.rollout()
        trainer.update()
    arrived = share_that_arrives(folder, trainer)
    close(vec, trainer)
    return arrived


def share_that_arrives(folder: Path, trainer) -> float:
    with puffer_sdk.make(folder, total_agents=WALKERS, seed=7,
                         env_settings={"max_steps": TIME}) as vec:
        actor = backends.make_actor(vec, trainer.config, trainer.state_tensors(), 7)
        vec.reset()
        going, arrived = np.ones(WALKERS, bool), np.zeros(WALKERS, bool)
        for _ in range(TIME):
            vec.actions[:] = actor.act(vec.observations)
            vec.step()
            arrived |= going & (vec.rewards > 0.5)
            going &= vec.terminals == 0
        return float(arrived.mean())


def table(figures: dict) -> str:
    lines = ["| | " + " | ".join(WAYS) + " |", "|---|---|---|"]
    for game, title in GAMES.items():
        cells = [spread(figures["results"][way][game]) for way in WAYS]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def spread(values: list[float | None]) -> str:
    """'2.33 (2.21 to 2.40)': median, lowest and highest; and how many, if some are missing."""
    known = [value for value in values if value is not None]
    if not known:
        return f"0 of {len(values)}"
    text = f"{statistics.median(known):.2f} ({min(known):.2f} to {max(known):.2f})"
    return text if len(known) == len(values) else f"{text}, {len(known)} of {len(values)}"


if __name__ == "__main__":
    sys.exit(main())
