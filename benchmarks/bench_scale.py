"""One run in two processes against two threads of one: docs/data/scale.json.

    python benchmarks/bench_scale.py                ten minutes on two quiet cores
    python benchmarks/bench_scale.py --short        one round, one size; writes nothing

Both use the same two cores. `puffer-sdk profile` measures them in turns, and the best rate of
each counts. The time in exchange is that of the rank that waits least: the one that the others
wait for.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys

from bench import ROOT, machine, write_figures

ENV = ROOT / "examples" / "breakout"
NETWORKS = ((32, 1), (128, 4), (256, 4))        # width, layers
MINIBATCHES = (8192, 32768)
ROUNDS, SECONDS = 5, 6.0
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
            "-m", "puffer_sdk"]
ALONE = [sys.executable, "-m", "puffer_sdk"]


def profile(command: list[str], threads: int, minibatch: int, hidden: int, layers: int,
            seconds: float) -> dict:
    """What `profile` prints as JSON."""
    words = ["profile", ENV, "--seconds", seconds, "--format", "json", "--train.device", "cpu",
             "--vec.num-threads", threads, "--train.minibatch-size", minibatch,
             "--policy.hidden-size", hidden, "--policy.num-layers", layers]
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    return json.loads(done.stdout)



def measure(minibatch: int, hidden: int, layers: int, rounds: int, seconds: float) -> dict:
    """Rates of both ways, and what the exchange takes."""
    rates, share = {"threads": [], "processes": []}, []
    for _ in range(rounds):
        size = (minibatch, hidden, layers, seconds)
        rates["threads"].append(profile(ALONE, 2, *size)["steps_per_second"])
        found = profile(TORCHRUN, 1, *size)
        rates["processes"].append(found["steps_per_second"])
        share.append(min(rank["exchange"] / (rank["rollout"] + rank["update"])
                         for rank in found["ranks"]))
    best = {way: max(each) for way, each in rates.items()}
    return {"minibatch": minibatch, "hidden": hidden, "layers": layers, **best,
            "of_threads": best["processes"] / best["threads"], "exchange": min(share),
            "rounds": rates}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true")
    short = parser.parse_args().short
    rows = []
    for hidden, layers in NETWORKS[1:2] if short else NETWORKS:
        for minibatch in MINIBATCHES[1:] if short else MINIBATCHES:
            row = measure(minibatch, hidden, layers, 1 if short else ROUNDS,
                          2.0 if short else SECONDS)
            rows.append(row)
            print(f"{hidden:4} x {layers}, minibatch {minibatch:6}: {row['threads'] / 1e6:.2f}M/s "
                  f"with threads, {row['processes'] / 1e6:.2f}M/s with processes "
                  f"({row['of_threads']:.0%}), {row['exchange']:.1%} in exchange", flush=True)
    if not short:
        write_figures("scale", {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
