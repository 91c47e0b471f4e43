"""What each choice in the algorithm is worth: `python benchmarks/ablate.py`, about 15 minutes.

Every example is trained with its own settings, and again with one of them changed, over seeds
1 to 5, until its goal is reached or the steps of its ini are used up. Steps do not depend
on the machine's speed. Writes docs/data/ablations.json and the table
of docs/trainer/ablations.md.
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
GAMES = ("squared", "cartpole", "pendulum", "pong", "snake", "breakout")
CHANGES = {
    "as it is": {},
    "prioritised replay": {"train.prio_alpha": 0.8},
    "advantages not normalised": {"train.norm_adv": False},
    "state zeroed every horizon": {"base.reset_state": True},
    "horizon halved": {"train.horizon": 0.5},
    "horizon doubled": {"train.horizon": 2},
    "rewards clipped to 1": {"train.reward_clip": 1},
    "each step trained on twice": {"train.replay_ratio": 2},
    "learning rate not annealed": {"train.anneal_lr": False},
    "no V-trace weights": {"train.vtrace_rho_clip": 1000, "train.vtrace_c_clip": 1000},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, write nothing")
    parser.add_argument("--games", nargs="*", choices=GAMES, default=GAMES)
    asked = parser.parse_args()
    seeds = SEEDS[:1] if asked.quick else SEEDS
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        puffer_sdk.new("squared", template="squared")
        games = {name: ablate("squared" if name == "squared" else ROOT / "examples" / name, seeds)
                 for name in asked.games}
        os.chdir(ROOT)
    figures = {"machine": machine(), "seeds": list(seeds), "games": games}
    print(table(figures))
    if not asked.quick and asked.games == GAMES:
        write_figures("ablations", figures)
    return 0


def ablate(env, seeds) -> dict[str, list[int | None]]:
    """change -> steps to the goal, one a seed; None where it was not reached."""
    base, out = puffer_sdk.configure(env), {}
    for name, change in CHANGES.items():
        settings = {key: int(base[key] * value) if key == "train.horizon" else value
                    for key, value in change.items()}
        print(f"{Path(env).name}, {name} ...", file=sys.stderr, flush=True)
        out[name] = [solve(env, settings, seed).steps for seed in seeds]
    return out


def table(figures: dict) -> str:
    games, count = figures["games"], len(figures["seeds"])
    lines = ["| | " + " | ".join(games) + " |", "|---" * (len(games) + 1) + "|"]
    for change in CHANGES:
        cells = [cell(results[change], results["as it is"], count) for results in games.values()]
        lines.append(f"| {change} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cell(steps: list[int | None], base: list[int | None], count: int) -> str:
    """'12.3 M', with what that is of the unchanged run's, and how many seeds got there."""
    there = [value for value in steps if value is not None]
    known = [value for value in base if value is not None]
    if not there:
        return f"0 of {count}"
    middle = statistics.median(there)
    text = f"{middle / 1e6:.1f} M"
    if steps is not base and known:
        text += f" ({middle / statistics.median(known):.1f} x)"
    return text if len(there) == count else f"{text}, {len(there)} of {count}"


if __name__ == "__main__":
    sys.exit(main())
