"""What the defaults of Python environments reach: docs/why/bridges.md, docs/data/defaults.json.

    PYTHON benchmarks/bench_defaults.py                 eighteen short runs: a few minutes of CPU
    PYTHON benchmarks/bench_defaults.py --only CartPole

PYTHON is one where Box2D, MiniGrid and MiniHack are installed: benchmarks/peers/zoo.txt. Each run
is one of `puffer-sdk train NAME --train.total-timesteps STEPS --train.seed SEED`, with no other
setting.
"""
from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
from importlib.metadata import version
from pathlib import Path

from bench import ROOT, replace_marked

FILE = ROOT / "docs" / "data" / "defaults.json"
PAGE = ROOT / "docs" / "why" / "bridges.md"
MARK = "<!-- defaults: written by `python benchmarks/bench_defaults.py` -->"
SEEDS = (1, 2, 3)
# name of the table, what `train` takes, steps, the best that there is to reach
TASKS = [("CartPole-v1", "gymnasium:CartPole-v1", 50_000, "500"),
         ("Acrobot-v1", "gymnasium:Acrobot-v1", 60_000, "about -70"),
         ("Pendulum-v1", "gymnasium:Pendulum-v1", 60_000, "about -150"),
         ("MiniGrid-Empty-5x5", f"{ROOT / 'benchmarks' / 'peers' / 'grids.py'}:empty", 30_000,
          "0.96"),
         ("MiniHack-Room-5x5", "gymnasium:MiniHack-Room-5x5-v0", 40_000, "1"),
         ("LunarLander-v3", "gymnasium:LunarLander-v3", 60_000, "above 200")]
NAMES = [task[0] for task in TASKS]


def main() -> None:
    from puffer_sdk.training.train import train

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a part of a name")
    only = parser.parse_args().only
    figures = json.loads(FILE.read_text()) if FILE.is_file() else {"runs": {}}
    figures["machine"] = platform.machine()
    for name, env, steps, best in TASKS:
        if only and only not in name:
            continue
        reached = []
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as folder:   # workers would change no result
                run = train(env, {"train.total_timesteps": steps, "train.seed": seed,
                                  "vec.num_workers": 0}, runs_dir=Path(folder))
            reached.append(run.reached["episode_return"])
            print(name, seed, reached[-1], flush=True)
        figures["runs"][name] = {"steps": steps, "best": best, "returns": reached,
                                 "gymnasium": version("gymnasium")}
        FILE.write_text(json.dumps(figures, indent=1) + "\n")
        replace_marked(PAGE, table(figures), MARK)


def table(figures: dict) -> str:
    """Everything that the script measured, as Markdown."""
    def shown(value: float) -> str:
        return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
    rows = [f"| {name} | {run['steps']:,} | {' · '.join(map(shown, run['returns']))} | "
            f"{shown(statistics.mean(run['returns']))} | {run['best']} | {run['gymnasium']} |"
            for name, run in sorted(figures["runs"].items(), key=lambda item: NAMES.index(item[0]))]
    return "\n".join(["| environment | steps | return of the last episodes, by seed | mean | best "
                      "possible | gymnasium |", "|---|---|---|---|---|---|", *rows, "",
                      f"({figures['machine']})"])


if __name__ == "__main__":
    main()
