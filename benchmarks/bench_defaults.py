"""What the defaults of Python environments reach: docs/why/bridges.md, docs/data/defaults.json.

    PYTHON benchmarks/bench_defaults.py                 three short runs of each: half an hour
    PYTHON benchmarks/bench_defaults.py --only CartPole
    PYTHON benchmarks/bench_defaults.py --random        random play only

PYTHON is one where all packages are installed: benchmarks/peers/zoo.txt. Each run is one of
`puffer-sdk train NAME --train.total-timesteps STEPS --train.seed SEED`, with no other setting.
"""
from __future__ import annotations

import argparse
import json
import platform
import statistics
import tempfile
from importlib.metadata import version
from pathlib import Path

from bench import ROOT

FILE = ROOT / "docs" / "data" / "defaults.json"
SEEDS = (1, 2, 3)
EPISODES = 100          # of random play, at least
# name of the table, what `train` takes, steps, the best that there is to reach
TASKS = [("CartPole-v1", "gymnasium:CartPole-v1", 50_000, "500"),
         ("Acrobot-v1", "gymnasium:Acrobot-v1", 60_000, "about -70"),
         ("Pendulum-v1", "gymnasium:Pendulum-v1", 60_000, "about -150"),
         ("MiniGrid-Empty-5x5", f"{ROOT / 'benchmarks' / 'peers' / 'grids.py'}:empty", 30_000,
          "0.96"),
         ("MiniHack-Room-5x5", "gymnasium:MiniHack-Room-5x5-v0", 40_000, "1"),
         ("LunarLander-v3", "gymnasium:LunarLander-v3", 60_000, "above 200"),
         ("MiniGrid-Empty-8x8", f"{ROOT / 'benchmarks' / 'peers' / 'makers.py'}:minigrid", 40_000,
          "0.96"),
         ("battle_v4 of magent2", "pettingzoo:magent2.environments.battle_v4", 250_000,
          "not known"),
         ("knights_archers_zombies of PettingZoo",
          "pettingzoo:pettingzoo.butterfly.knights_archers_zombies_v11", 100_000, "not known")]
NAMES = [task[0] for task in TASKS]


def main() -> None:
    from puffer_sdk.training.train import train

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="a part of a name")
    parser.add_argument("--random", action="store_true", help="random play only")
    given = parser.parse_args()
    figures = json.loads(FILE.read_text()) if FILE.is_file() else {"runs": {}}
    figures["machine"] = platform.machine()
    for name, env, steps, best in TASKS:
        if given.only and given.only not in name:
            continue
        row = figures["runs"].setdefault(name, {})
        row["random"] = by_chance(env)
        print(name, "random play", row["random"], flush=True)
        reached = []
        for seed in () if given.random else SEEDS:
            with tempfile.TemporaryDirectory() as folder:
                run = train(env, {"train.total_timesteps": steps, "train.seed": seed},
                            runs_dir=Path(folder))
            reached.append(run.reached["episode_return"])
            print(name, seed, reached[-1], flush=True)
        if reached:
            row |= {"steps": steps, "best": best, "returns": reached,
                    "gymnasium": version("gymnasium")}
        FILE.write_text(json.dumps(figures, indent=1) + "\n")


def by_chance(env: str) -> float:
    """The mean return of random play."""
    import numpy as np

    import puffer_sdk
    from puffer_sdk.env.agent_slots import random_actions

    rng, total, count = np.random.default_rng(0), 0.0, 0.0
    with puffer_sdk.wrap(env, 4, workers=0, step_timeout=60) as envs:
        envs.reset()
        while count < EPISODES:
            for _ in range(50):
                envs.step(random_actions(envs, rng))
            log = envs.log()
            total += log.get("episode_return", 0.0) * log.get("n", 0.0)
            count += log.get("n", 0.0)
    return total / count


def table(figures: dict) -> str:
    """Everything that the script measured, as Markdown."""
    def shown(value: float) -> str:
        return f"{value:.2f}" if abs(value) < 10 else f"{value:.0f}"
    rows = [f"| {name} | {run['steps']:,} | {shown(run['random'])} | "
            f"{' · '.join(map(shown, run['returns']))} | {shown(statistics.mean(run['returns']))} "
            f"| {run['best']} | {run['gymnasium']} |"
            for name, run in sorted(figures["runs"].items(), key=lambda item: NAMES.index(item[0]))]
    return "\n".join(["| environment | steps | random play | return of the last episodes, by seed "
                      "| mean | best possible | gymnasium |", "|---" * 7 + "|", *rows, "",
                      f"({figures['machine']})"])


if __name__ == "__main__":
    main()
