"""What a GPU reaches: `make bench-gpu`, about ten minutes. Writes docs/data/benchmarks-gpu.json.

    python benchmarks/bench_gpu.py            everything
    python benchmarks/bench_gpu.py --quick    one seed, short looks, nothing written
    python benchmarks/bench_gpu.py --seeds 3  fewer minutes

First, tests compare every kernel with the CPU's. Then each kernel is timed, breakout is solved
over some seeds, and its steps per second are measured: in fp32 and bf16, learning after a rollout
and during the next one, and with the environments on the GPU. Seconds are those of training, after
the trainer is compiled and the environments are made. Without a GPU it ends with a sentence. With
PUFFER_CUDA=emulated the figures mean nothing, and are not written.
"""
from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

from bench import machine, write_figures
from training_runs import BREAKOUT, close, open_trainer, rate, solve

import puffer_sdk
from puffer_sdk.base import ui
from puffer_sdk.base.errors import PufferError
from puffer_sdk.toolchain import gpu
from puffer_sdk.training.native import cuda

ROOT = Path(__file__).resolve().parent.parent
TESTS = [f"tests/{name}.py" for name in (
    "kernels/test_cuda_network", "kernels/test_cuda_updates", "trainer/test_cuda_training",
    "trainer/test_cuda_envs", "trainer/test_cuda_ranks", "trainer/test_native_parity",
    "trainer/test_native_rollout", "trainer/test_native_errors")]
# several at once on the one GPU
PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n",
          str(min(8, os.cpu_count() or 1)))
SHOWN = 0.02            # of all kernels' time: those below it are neither kept nor shown
WIDE = {"vec.total_agents": 4096, "train.horizon": 64, "train.minibatch_size": 32768,
        "policy.hidden_size": 64, "policy.num_layers": 2}
HOW = {"": {}, ", async": {"train.async": True}, ", envs too": {"vec.device": "cuda"}}
WAYS = {precision + name: {"train.device": "cuda", "train.precision": precision, **how}
        for precision in ("fp32", "bf16") for name, how in HOW.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one seed, write nothing")
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="1 to N (default: 5)")
    parser.add_argument("--env", type=Path, default=ROOT / "examples" / "breakout")
    parser.add_argument("--set", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"),
                        help="settings in place of the wide network's")
    parser.add_argument("--no-tests", action="store_true", help="time alone")
    asked = parser.parse_args()
    try:
        _, why = gpu.choose_device("cuda")
        cuda.build()
        figures = measure(asked, why)
    except PufferError as error:
        ui.print_error(error)
        return error.exit_status
    print(table(figures))
    emulated = os.environ.get("PUFFER_CUDA") == "emulated"
    if not (asked.quick or emulated or asked.no_tests or asked.set):
        write_figures("benchmarks-gpu", figures)
    return 0 if figures["tests"].get("failed", 0) == 0 else 1


def measure(asked, why: str) -> dict:
    seeds = range(1, 2 if asked.quick else asked.seeds + 1)
    wide = dict(asked.set) or WIDE
    batch = BREAKOUT if asked.env.name == "breakout" else {}
    tests = {} if asked.no_tests else run_tests()
    say("timing kernels ...")
    seconds, looks = (0.3, 1) if asked.quick else (5.0, 3)
    found = {way: puffer_sdk.profile(asked.env, {**wide, **how}, seconds=seconds).to_dict()
             for way, how in WAYS.items() if "async" not in way}
    return {"machine": machine(), "gpu": next(iter(found.values()))["gpu"], "why": why,
            "command": "make bench-gpu", "env": asked.env.name, "settings": wide, "tests": tests,
            "kernels": [each for each in found["fp32"]["kernels"] if each["share"] >= SHOWN],
            "busy": {way: each["busy"] for way, each in found.items()},
            "copy_rate": found["fp32"]["copy_rate"],
            "steps_per_second": {way: speed(asked.env, {**wide, **how}, looks)
                                 for way, how in WAYS.items()},
            "solved": {way: [vars(solve_once(asked.env, {**batch, **dict(asked.set), **how}, seed))
                             for seed in seeds] for way, how in WAYS.items()}}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run_tests() -> dict[str, int]:
    """{"passed": n, "failed": n, ...} of the tests that hold a GPU against the CPU."""
    say("holding every kernel against the CPU's ...")
    done = subprocess.run([*PYTEST, *TESTS], capture_output=True, text=True, cwd=ROOT)
    said = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    counts = {word: int(number) for number, word in
              re.findall(r"(\d+) (passed|failed|skipped|errors?)", said)}
    if done.returncode:
        say(done.stdout[-4000:])
        counts.setdefault("failed", 1)
    return counts


def speed(env, settings, looks: int) -> float:
    """Agent steps a second, environments included."""
    say(f"steps a second, {settings['train.precision']} ...")
    vec, trainer = open_trainer(env, {**settings, "train.total_timesteps": 10**10})
    got = rate(vec, trainer, looks)
    close(vec, trainer)
    return got


def solve_once(env, settings, seed: int):
    say(f"solving {Path(env).name}, {settings['train.precision']}, seed {seed} ...")
    return solve(env, settings, seed)


def table(figures: dict) -> str:
    gpu = figures["gpu"]
    lines = [f"{gpu['name']} (sm_{gpu['compute_capability'][0]}{gpu['compute_capability'][1]}), "
             f"{figures['machine']['cores']} cores, {figures['machine']['date']}", "",
             f"| {figures['env']} | steps/s | kernels | solved, median (fastest-slowest) |",
             "|---|---|---|---|"]
    for way in WAYS:
        runs = [each["seconds"] for each in figures["solved"][way] if each["seconds"]]
        solved = f"{statistics.median(runs):.2f} s ({min(runs):.2f}-{max(runs):.2f}), " \
                 f"{len(runs)} of {len(figures['solved'][way])}" if runs else "no"
        busy = figures["busy"].get(way)
        lines.append(f"| {way} | {figures['steps_per_second'][way] / 1e6:.1f} M | "
                     f"{f'{busy:.0%}' if busy else ''} | {solved} |")
    lines += ["", "| kernel, fp32 | share | us | GB/s | of a copy |", "|---|---|---|---|---|"]
    for kernel in figures["kernels"]:
        lines.append(f"| `{kernel['name']}` | {kernel['share']:.0%} | "
                     f"{kernel['microseconds']:.1f} | {kernel['bandwidth'] / 1e9:,.0f} | "
                     f"{kernel['of_copy']:.0%} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
