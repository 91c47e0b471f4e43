"""What examples/ideas/ cost in speed: `python benchmarks/bench_ideas.py`, about 3 minutes.

In each round the untouched trainer and one with an idea take turns of WINDOW seconds on the same
environment; the figure is the median of their ratios. And what collecting costs.
Writes docs/data/ideas.json, for docs/trainer/ideas.md.
"""
from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from bench import machine, write_figures

import puffer_sdk

ROOT = Path(__file__).resolve().parent.parent
IDEAS = ROOT / "examples" / "ideas"
WINDOW, ROUNDS, STEPS = 0.4, 25, 100_000
TORCH = {"train.backend": "torch"}
COST = {        # idea: (settings of the untouched trainer, its own besides)
    "own_advantage.py": ({}, {"train.advantage": f"{IDEAS}/own_advantage.py:gae"}),
    "curiosity.py": ({}, {"train.reward": f"{IDEAS}/curiosity.py:Curious"}),
    "auxiliary_loss.py": (TORCH, {"policy.torch_class": f"{IDEAS}/auxiliary_loss.py:Net",
                                  "train.torch_loss": f"{IDEAS}/auxiliary_loss.py:loss"}),
    "curriculum.py": ({}, {"train.on_epoch": f"{IDEAS}/curriculum.py:Rises"}),
}
OF = {"curriculum.py": "cartpole"}      # other environments than `new my_env`


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round, write nothing")
    asked = parser.parse_args()
    rounds = 1 if asked.quick else ROUNDS
    figures = {"machine": machine(), "ratios": {}, "rates": {}, "collect": {}}
    with tempfile.TemporaryDirectory() as temporary:
        env = puffer_sdk.new("my_env", output_dir=temporary).folder
        for idea, (base, own) in COST.items():
            print(f"{idea} ...", file=sys.stderr, flush=True)
            pairs = take_turns(OF.get(idea, env), [base, {**base, **own}], rounds)
            figures["ratios"][idea] = statistics.median(b / a for a, b in pairs)
            figures["rates"][idea] = [statistics.median(rates) for rates in zip(*pairs)]
        figures["collect"] = collecting(env, rounds)
    print(table(figures))
    if not asked.quick:
        write_figures("ideas", figures)
    return 0


def take_turns(env: Path | str, ways: list[dict[str, object]], rounds: int) -> list[list[float]]:
    """[steps in a second of each way] of each round: all are open, and one after the other plays.
    The first round counts for nobody."""
    with ExitStack() as stack:
        trainers = []
        for settings in ways:
            config = puffer_sdk.configure(env, {"train.total_timesteps": 10**9, **settings})
            vec = stack.enter_context(puffer_sdk.make(
                env, total_agents=config.vec.total_agents, seed=1, env_settings=config.env))
            trainers.append(stack.enter_context(puffer_sdk.Trainer(vec, config)))
        return [[rate(trainer) for trainer in trainers] for _ in range(rounds + 1)][1:]


def rate(trainer: puffer_sdk.Trainer) -> float:
    began, first = time.perf_counter(), trainer.global_step
    while (seconds := time.perf_counter() - began) < WINDOW:
        trainer.rollout()
        trainer.update()
    return (trainer.global_step - first) / seconds


def collecting(env: Path, rounds: int) -> dict[str, float]:
    """Seconds for STEPS transitions of 1,024 copies."""
    found: dict[str, list[float]] = {"a trained policy": [], "at random": [], "save()": []}
    with puffer_sdk.make(env, num_envs=1024, seed=1) as vec, puffer_sdk.Trainer(vec) as trainer, \
            tempfile.TemporaryDirectory() as temporary:
        policy = puffer_sdk.Policy.load(trainer.save(f"{temporary}/a.safetensors"))
        for _ in range(rounds + 1):
            for name, who in (("a trained policy", policy), ("at random", "random")):
                began = time.perf_counter()
                data = puffer_sdk.collect(who, vec, STEPS)
                found[name].append(time.perf_counter() - began)
            began = time.perf_counter()
            data.save(f"{temporary}/a")
            found["save()"].append(time.perf_counter() - began)
    return {name: statistics.median(seconds[1:]) for name, seconds in found.items()}


def table(figures: dict) -> str:
    lines = ["| idea | trainer | untouched, steps/s | with it | ratio |", "|---|---|---|---|---|"]
    for idea, (base, _) in COST.items():
        before, after = figures["rates"][idea]
        lines.append(f"| [{idea}](../../examples/ideas/{idea}) | "
                     f"{'PyTorch' if base else 'native'} | {before:,.0f} | {after:,.0f} | "
                     f"{figures['ratios'][idea]:.2f} |")
    return "\n".join(lines)


def collect_sentence(figures: dict) -> str:
    found = figures["collect"]
    return (f"{STEPS:,} transitions of `new my_env` with 1,024 copies take "
            f"{found['a trained policy']:.2f} s with a policy and {found['at random']:.2f} s at "
            f"random; `save()` takes {found['save()']:.2f} s more.")


if __name__ == "__main__":
    sys.exit(main())
