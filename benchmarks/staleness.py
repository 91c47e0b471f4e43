"""What learning during a rollout costs: `python benchmarks/staleness.py`, about 20 minutes.

With train.async, a rollout acts with the weights from before the last update. Environments are
trained with their own settings, with and without train.async, over seeds 1 to 5, until the goal is
reached or the steps of the ini are used up. Steps depend on neither the machine nor its GPU; if
there is no GPU, it is emulated.
Writes docs/data/staleness.json, for docs/trainer/gpu.md.
"""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from pathlib import Path

from bench import machine, write_figures
from training_runs import solve

import puffer_sdk

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (1, 2, 3, 4, 5)
GAMES = ("squared", "cartpole", "pendulum")
WAYS = {"after the rollout": False, "during the next one (`train.async`)": True}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, write nothing")
    parser.add_argument("--games", nargs="*", choices=GAMES, default=GAMES)
    asked = parser.parse_args()
    seeds = SEEDS[:1] if asked.quick else SEEDS
    if not Path("/dev/nvidiactl").exists():
        os.environ["PUFFER_CUDA"] = "emulated"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        puffer_sdk.new("squared", template="squared")
        games = {name: compare("squared" if name == "squared" else ROOT / "examples" / name, seeds)
                 for name in asked.games}
        os.chdir(ROOT)
    figures = {"machine": machine(), "seeds": list(seeds), "games": games,
               "emulated": os.environ.get("PUFFER_CUDA") == "emulated"}
    print(table(figures))
    if not asked.quick and tuple(asked.games) == GAMES:
        write_figures("staleness", figures)
    return 0


def compare(env, seeds) -> dict[str, list[int | None]]:
    """way -> steps to the goal, one a seed; None where it was not reached."""
    out = {}
    for name, overlap in WAYS.items():
        print(f"{Path(env).name}, learning {name} ...", file=sys.stderr, flush=True)
        settings = {"train.device": "cuda", "train.async": overlap}
        out[name] = [solve(env, settings, seed).steps for seed in seeds]
    return out


def table(figures: dict) -> str:
    games = figures["games"]
    lines = ["| learning | " + " | ".join(games) + " |", "|---" * (len(games) + 1) + "|"]
    for way in WAYS:
        lines.append(f"| {way} | " + " | ".join(cell(each[way]) for each in games.values()) + " |")
    return "\n".join(lines)


def cell(steps: list[int | None]) -> str:
    """'2.3 M (2.2-2.4), 5 of 5'"""
    reached = [each / 1e6 for each in steps if each]
    if not reached:
        return f"0 of {len(steps)}"
    return (f"{statistics.median(reached):.2f} M ({min(reached):.2f}-{max(reached):.2f}), "
            f"{len(reached)} of {len(steps)}")


if __name__ == "__main__":
    sys.exit(main())
