"""How fast self-play trains, beside one policy for all agents. Writes docs/data/self-play.json.

    python benchmarks/bench_self_play.py        two minutes on two idle cores

All take turns, an epoch each; a ratio is the median over rounds of the times of one round.
"""
from __future__ import annotations

import statistics
import sys
import time
from contextlib import ExitStack

from bench import ROOT, machine, write_figures

import puffer_sdk

AGENTS, HORIZON, ROUNDS, EPOCHS, WARM = 1024, 64, 15, 4, 2
WIDTHS = 32, 64, 128
OPPONENTS = {"one policy": None, "1 opponent, half of the envs": (1, 0.5),
             "4 opponents, half of the envs": (4, 0.5), "1 opponent, all envs": (1, 1.0),
             "4 opponents, all envs": (4, 1.0)}


def trainer_of(width: int, opponents: tuple[int, float] | None) -> puffer_sdk.Trainer:
    """Of the duel of the tests; an opponent changes every 30 epochs."""
    settings: dict[str, object] = {
        "train.device": "cpu", "train.horizon": HORIZON, "train.minibatch_size": 8192,
        "train.replay_ratio": 1, "train.total_timesteps": 10**9, "vec.num_threads": 2,
        "policy.hidden_size": width, "selfplay.snapshot_interval": 60 * AGENTS * HORIZON,
        "selfplay.opp_timeout_steps": 30 * AGENTS * HORIZON}
    if opponents:
        settings |= {"selfplay.enabled": True, "vec.num_policies": 1 + opponents[0],
                     "vec.hist_policy_percent": opponents[1]}
    vec = puffer_sdk.make(ROOT / "tests/specimens/duel", num_envs=AGENTS // 2)
    return puffer_sdk.Trainer(vec, settings)


def measure(width: int) -> list[dict]:
    """Rows of the table: agent steps a second, and times of one policy over those with others."""
    whole: dict[str, list[float]] = {name: [] for name in OPPONENTS}
    rollouts: dict[str, list[float]] = {name: [] for name in OPPONENTS}
    with ExitStack() as stack:
        trainers = {name: stack.enter_context(trainer_of(width, each))
                    for name, each in OPPONENTS.items()}
        for _ in range(ROUNDS):
            for name, trainer in trainers.items():
                began, rolled = time.perf_counter(), 0.0
                for _ in range(EPOCHS):
                    start = time.perf_counter()
                    trainer.rollout()
                    rolled += time.perf_counter() - start
                    trainer.update()
                whole[name].append(time.perf_counter() - began)
                rollouts[name].append(rolled)

    def ratio(times: dict[str, list[float]], name: str) -> float:
        return statistics.median(alone / each for alone, each in zip(
            times["one policy"][WARM:], times[name][WARM:]))

    return [{"width": width, "who": name,
             "steps": EPOCHS * AGENTS * HORIZON / statistics.median(whole[name][WARM:]),
             "speed": ratio(whole, name), "rollout": ratio(rollouts, name),
             "learned": 1 - (each[1] / 2 if each else 0)} for name, each in OPPONENTS.items()]


def table(figures: dict) -> str:
    """The figures as Markdown, with a sentence on where they are from."""
    lines = ["| width | who plays | agent steps | of the rollout alone | learned steps |",
             "|---|---|---|---|---|"]
    lines += [f"| {row['width']} | {row['who']} | {row['speed']:.2f} | {row['rollout']:.2f} | "
              f"{row['speed'] * row['learned']:.2f} |"
              for row in figures["rows"] if row["learned"] < 1]
    where = figures["machine"]
    return "\n".join([*lines, "", f"(`benchmarks/bench_self_play.py`, {where['cores']} cores of "
                      f"{where['cpu']}, {where['date']})"])


def main() -> int:
    figures = {"rows": [row for width in WIDTHS for row in measure(width)], "machine": machine(),
               "command": "python benchmarks/bench_self_play.py"}
    print(table(figures))
    write_figures("self-play", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
