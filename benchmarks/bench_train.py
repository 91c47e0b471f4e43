"""How fast training is: part of `make bench`. Writes docs/data/training.json and its tables.

    python benchmarks/bench_train.py            everything, about ten minutes on two idle cores
    python benchmarks/bench_train.py --quick    one seed, one round, nothing written

Native trainer and reference take turns in one process, so a busy machine slows both alike;
rates are medians over rounds. Seconds to solve an example are those of training, without the
start of the process, over seeds 1 to 5, with the settings of its own ini.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from bench import machine, write_figures
from training_runs import BREAKOUT, WINDOW, close, flops_per_step, open_trainer, rate, solve

import puffer_sdk
from puffer_sdk.training.native import trainer_library

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
SLOW = ROOT / "benchmarks" / "slow"
SEEDS, ROUNDS = (1, 2, 3, 4, 5), 5
WIDE = {"vec.total_agents": 4096, "train.horizon": 64, "train.minibatch_size": 32768,
        "train.replay_ratio": 1, "train.total_timesteps": 10**9, "train.anneal_lr": False,
        "train.learning_rate": 0.005}
NARROW = {**WIDE, "vec.total_agents": 1024, "train.minibatch_size": 8192}


def network(hidden: int, layers: int, base: dict) -> dict:
    return {**base, "policy.hidden_size": hidden, "policy.num_layers": layers}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="little of everything, write nothing")
    parser.add_argument("--only", choices=("speed", "split", "scaling", "slow", "solving"))
    asked = parser.parse_args()
    rounds, seeds = (1, SEEDS[:1]) if asked.quick else (ROUNDS, SEEDS)
    parts = {"speed": lambda: bench_speed(rounds), "split": bench_split,
             "scaling": lambda: bench_scaling(asked.quick),
             "slow": lambda: bench_slow(asked.quick), "solving": lambda: bench_solving(seeds)}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        puffer_sdk.new("squared", template="squared")
        figures = {name: part() for name, part in parts.items() if asked.only in (None, name)}
        os.chdir(ROOT)
    figures |= {"machine": machine(), "command": "make bench"}
    print(json.dumps(figures, indent=1) if asked.only else tables(figures))
    if not asked.quick and not asked.only:
        write_figures("training", figures)
    return 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# ---- native and reference -----------------------------------------------------------------------

def contests() -> dict[str, tuple]:
    """name -> (env, settings, whether the encoder's products are full ones)"""
    breakout = EXAMPLES / "breakout"
    return {"Squared, hidden 128 x 1": ("squared", network(128, 1, WIDE), False),
            "breakout, hidden 128 x 1": (breakout, network(128, 1, WIDE), True),
            "breakout, hidden 64 x 2": (breakout, network(64, 2, NARROW), True),
            "breakout, hidden 32 x 1": (breakout, network(32, 1, NARROW), True)}


def bench_speed(rounds: int) -> list[dict]:
    rows = []
    for name, (env, settings, dense) in contests().items():
        say(f"speed of {name} ...")
        kinds = {"native": {}, "bf16": {"train.precision": "bf16"},
                 "reference": {"train.backend": "torch", "train.device": "cpu"}}
        if not trainer_library.has_bf16():
            kinds.pop("bf16")
        pairs = {kind: open_trainer(env, {**settings, **more}) for kind, more in kinds.items()}
        seen = {kind: [] for kind in ("matmul", *pairs)}
        for _ in range(rounds):
            seen["matmul"].append(trainer_library.matmul_rate(threads=2, seconds=0.3))
            for kind, (vec, trainer) in pairs.items():
                seen[kind].append(rate(vec, trainer, 1 if kind == "reference" else 3))
        vec, trainer = pairs["native"]
        flops = flops_per_step(trainer.config, vec.obs_size, vec.act_sizes, dense)
        shares = [1e-9 * flops * sps / best
                  for sps, best in zip(seen["native"], seen["matmul"], strict=True)]
        rows.append({"name": name, **{kind: statistics.median(v) for kind, v in seen.items()},
                     "ratio": statistics.median(a / b for a, b in zip(seen["native"],
                                                                      seen["reference"],
                                                                      strict=True)),
                     "flops_per_step": flops, "share": statistics.median(shares)})
        for pair in pairs.values():
            close(*pair)
    return rows


# ---- where the time goes, and how it grows ----------------------------------------------------

def bench_split() -> dict[str, dict[str, float]]:
    """name -> phase -> share of the workers' time."""
    out = {}
    for name, (env, settings, _) in contests().items():
        vec, trainer = open_trainer(env, settings)
        rate(vec, trainer, 1)
        trainer.stats()
        rate(vec, trainer, 3)
        seconds = trainer.stats()["seconds"]
        total = sum(seconds.values())
        out[name] = {phase: value / total for phase, value in seconds.items()}
        close(vec, trainer)
    return out


def bench_scaling(quick: bool) -> dict[str, dict[str, float]]:
    """What grows -> value -> steps a second, on breakout with hidden 64 x 2."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    grows = {"agents": ("vec.total_agents", (128, 256, 512, 1024, 2048, 4096, 8192)),
             "hidden size": ("policy.hidden_size", (16, 32, 64, 128, 256)),
             "layers": ("policy.num_layers", (1, 2, 4)),
             "threads": ("vec.num_threads", [n for n in (1, 2, 4, 8, 16) if n <= cores])}
    out = {}
    for what, (key, values) in grows.items():
        say(f"scaling with {what} ...")
        out[what] = {}
        for value in values[:2] if quick else values:
            vec, trainer = open_trainer(EXAMPLES / "breakout",
                                        {**network(64, 2, NARROW), key: value})
            out[what][str(value)] = rate(vec, trainer)
            close(vec, trainer)
    return out


def bench_slow(quick: bool) -> dict[str, dict[str, float]]:
    """Microseconds of a step -> threads -> steps a second of 64 envs in a rollout."""
    out = {}
    for micros in (100, 10_000) if quick else (1, 10, 100, 1000, 10_000):
        say(f"steps of {micros} us ...")
        out[str(micros)] = {}
        for threads in (1, 2, 8, 32):
            vec, trainer = open_trainer(SLOW, {"env.micros": micros, "vec.num_threads": threads})
            trainer.rollout()
            rates = []
            for _ in range(3):
                began, steps = time.perf_counter(), 0
                while time.perf_counter() - began < WINDOW:
                    trainer.rollout()
                    steps += trainer.batch_size
                rates.append(steps / (time.perf_counter() - began))
            out[str(micros)][str(threads)] = statistics.median(rates)
            close(vec, trainer)
    return out


# ---- seconds to solve -------------------------------------------------------------------------

def bench_solving(seeds) -> list[dict]:
    wide = {**BREAKOUT, "policy.hidden_size": 64, "policy.num_layers": 2}
    runs = [("Squared", "squared", {})]
    runs += [(name, EXAMPLES / name, {}) for name in
             ("cartpole", "pendulum", "pong", "snake", "breakout")]
    runs += [("breakout, hidden 64 x 2", EXAMPLES / "breakout", wide)]
    if trainer_library.has_bf16():
        runs += [("breakout, hidden 64 x 2, bf16", EXAMPLES / "breakout",
                  {**wide, "train.precision": "bf16"})]
    rows = []
    for name, env, settings in runs:
        say(f"solving {name} ...")
        done = [solve(env, settings, seed) for seed in seeds]
        goal = puffer_sdk.configure(env, settings).eval.goal
        rows.append({"name": name, "goal": goal, "seeds": list(seeds),
                     "steps": [run.steps for run in done], "seconds": [run.seconds for run in done],
                     "sps": statistics.median(run.sps for run in done)})
    return rows


# ---- tables -----------------------------------------------------------------------------------

def tables(figures: dict) -> str:
    about = figures["machine"]
    lines = ["### Native trainer and reference", "",
             "| | native | bf16 | PyTorch reference | native / reference | of the product rate |",
             "|---|---|---|---|---|---|"]
    for row in figures["speed"]:
        bf16 = millions(row["bf16"]) if "bf16" in row else "-"
        lines.append(f"| {row['name']} | {millions(row['native'])} | {bf16} "
                     f"| {millions(row['reference'])} | {row['ratio']:.1f} | {row['share']:.0%} |")
    best = statistics.median(row["matmul"] for row in figures["speed"])
    lines += ["", "Agent steps a second, rollout and update together, replay ratio 1. The product "
              f"rate is what our matrix product reaches by itself: {best:,.0f} GFLOP/s in fp32.",
              "", "### Seconds to solve", "", solving(figures), "", "### Where the time goes", ""]
    names = list(figures["split"])
    lines += ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for phase in figures["split"][names[0]]:
        shares = [figures["split"][name][phase] for name in names]
        lines.append(f"| {phase} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")
    lines += ["", "### How it grows (breakout, hidden 64 x 2 unless stated)", ""]
    for what, rates in figures["scaling"].items():
        cells = [f"{value}: {millions(sps)}" for value, sps in rates.items()]
        lines.append(f"- {what}: " + ", ".join(cells))
    lines += ["", "### Slow steps", "", "Steps a second of 64 envs in a rollout; in brackets, the "
              "share of what so many threads could do at most. Steps below 100 microseconds keep "
              "a core busy, longer ones sleep.", ""]
    threads = list(next(iter(figures["slow"].values())))
    lines += ["| a step takes | " + " | ".join(f"{n} threads" for n in threads) + " |",
              "|---" * (len(threads) + 1) + "|"]
    for micros, rates in figures["slow"].items():
        cells = [f"{sps:,.0f} ({sps * int(micros) * 1e-6 / min(int(n), 64):.0%})"
                 for n, sps in rates.items()]
        lines.append(f"| {int(micros):,} us | " + " | ".join(cells) + " |")
    lines += ["", f"(`make bench`, {about['cores']} cores of an {about['cpu']}, {about['date']})"]
    return "\n".join(lines)


def solving(figures: dict) -> str:
    about = figures["machine"]
    lines = ["| | solved at | seeds | steps | seconds | steps/s |", "|---|---|---|---|---|---|"]
    for row in figures["solving"]:
        steps, seconds = ([v for v in row[key] if v is not None] for key in ("steps", "seconds"))
        shown = (f"{statistics.median(steps) / 1e6:.1f} M | {statistics.median(seconds):.1f} "
                 f"({min(seconds):.1f} to {max(seconds):.1f})") if steps else "- | -"
        lines.append(f"| {row['name']} | {row['goal']} | {len(steps)} of {len(row['steps'])} "
                     f"| {shown} | {millions(row['sps'])} |")
    lines += ["", "Medians over seeds; in brackets the fastest and the slowest. These are the "
              "examples of this project; PufferLib's breakout is another game. (`make bench`, "
              f"{about['cores']} cores of an {about['cpu']}, {about['date']})"]
    return "\n".join(lines)


def millions(sps: float) -> str:
    """'1.31 M', or '245 k'"""
    return f"{sps / 1e6:.2f} M" if sps >= 1e6 else f"{sps / 1e3:,.0f} k"


if __name__ == "__main__":
    sys.exit(main())
