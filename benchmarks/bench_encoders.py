"""How fast convolutions train, beside PyTorch and SB3. Writes docs/data/encoders.json.

    python benchmarks/bench_encoders.py            about four minutes on two idle cores
    python benchmarks/bench_encoders.py --quick    one round, nothing written

Both read orchard's pictures, 64 x 64 bytes. First the encoder alone, on one thread: the phases of
our trainer that encode, against PyTorch's convolutions and linear layer with the same sizes,
forward and backward, on batches of 128, by instruction set. They take turns. Then whole trainings:
SB3's PPO with its CnnPolicy (NatureCNN, 512 units) against ours with `nature`, with 64 units, our
default, and with 512, from as many copies with as many passes over each step, on all cores; steps
per CPU second.
"""
from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from bench import machine, write_figures

import puffer_sdk
from puffer_sdk.settings import encoder
from puffer_sdk.training.native import trainer_library
from puffer_sdk.training.native.native_ppo import NativePPO
from puffer_sdk.training.native.network_flops import Network

ROUNDS, SECONDS, BATCH, HIDDEN = 3, 3.0, 128, 64
PART = encoder.Part("image", 0, 64, 64, 1)
PHASES = "rollout: encoder", "update: encoder", "update: encoder backward"
PASSES, COPIES, HORIZON, MINIBATCH = 4, 8, 128, 256         # RL Zoo's for Atari
STEPS = 8 * 1024
THEIR_SETS = {"avx2": "avx2", "avx512": "avx512", "generic": "default"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round, write nothing")
    quick = parser.parse_args().quick
    rounds = 1 if quick else ROUNDS
    paths = [path for path in ("avx512", "avx2") if path in trainer_library.available_paths()]
    figures = {"rates": [rates(preset, path, rounds) for path in paths
                         for preset in ("small", "nature")],
               "training": trainings(rounds), "machine": machine(),
               "command": "python benchmarks/bench_encoders.py"}
    print(table(figures))
    if not quick:
        write_figures("encoders", figures)
    return 0


# ---- the encoder alone ------------------------------------------------------------------------

TORCH = """
import json, sys, time, torch
from torch import nn
asked = json.loads(sys.argv[1])
torch.set_num_threads(1)
layers, channels = [], 1
for filters, kernel, stride in asked["layers"]:
    layers += [nn.Conv2d(channels, filters, kernel, stride, bias=False), nn.ReLU()]
    channels = filters
net = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(asked["hidden"], bias=False))
obs = torch.randint(0, 255, (asked["batch"], 1, 64, 64), dtype=torch.uint8)
net(obs.float())
for _ in sys.stdin:
    times = []
    for backward in (False, True):
        best, end = 1e9, time.perf_counter() + asked["seconds"]
        while time.perf_counter() < end:
            began = time.perf_counter()
            with torch.set_grad_enabled(backward):
                out = net(obs.float() / 255)
                if backward:
                    out.sum().backward()
            best = min(best, time.perf_counter() - began)
        times.append(best)
    print(json.dumps(times), flush=True)
"""


def rates(preset: str, path: str, rounds: int) -> dict[str, object]:
    """Medians: GFLOP/s of our encoder in training, and its time against PyTorch's for as many rows
    forward, and forward and backward."""
    part = encoder.layers_for(PART, preset)
    network = Network.of(64 * 64, (3,), HIDDEN, 1, str(part))
    asked = {"layers": [(c.filters, c.kernel, c.stride) for c in part.layers], "hidden": HIDDEN,
             "batch": BATCH, "seconds": SECONDS / 3}
    theirs = subprocess.Popen(
        [sys.executable, "-c", TORCH, json.dumps(asked)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, env={
            **os.environ, "ATEN_CPU_CAPABILITY": THEIR_SETS[path],
            "ONEDNN_MAX_CPU_ISA": "AVX512_CORE" if path == "avx512" else "AVX2"})
    settings = {"policy.encoder": str(part), "policy.hidden_size": HIDDEN,
                "vec.total_agents": 64, "train.horizon": 64, "train.minibatch_size": 1024,
                "train.replay_ratio": 1, "vec.num_threads": 1, "train.total_timesteps": 10**9}
    resolved = puffer_sdk.configure("orchard", settings)
    found: dict[str, list[float]] = {"gflops": [], "forward": [], "both": []}
    with puffer_sdk.make("orchard", total_agents=64, seed=1, threads=1) as vec, \
            NativePPO(vec, resolved, path=path) as trainer:
        run(trainer, 0.0)
        for _ in range(rounds):
            trainer.stats()
            rows = run(trainer, SECONDS)
            spent = trainer.stats()["seconds"]
            acted, encoded, backward = (spent[phase] / rows for phase in PHASES)
            print(file=theirs.stdin, flush=True)
            forward, both = (took / BATCH for took in json.loads(theirs.stdout.readline()))
            found["forward"].append(forward / acted)
            found["both"].append(both / (encoded + backward))
            found["gflops"].append(1e-9 * (2 * network.encoder + network.encoder_backward)
                                   / (acted + encoded + backward))
    theirs.stdin.close()
    theirs.wait()
    return {"encoder": preset, "path": path,
            **{name: statistics.median(values) for name, values in found.items()}}


def run(trainer: NativePPO, seconds: float) -> int:
    """Whole epochs until so many seconds have passed; the rows that each phase had."""
    began, first = time.perf_counter(), trainer.global_step
    while True:
        trainer.rollout()
        trainer.update()
        if time.perf_counter() - began >= seconds:
            return trainer.global_step - first


# ---- whole trainings --------------------------------------------------------------------------

SB3 = f"""
import time, puffer_sdk
from stable_baselines3 import PPO
envs = puffer_sdk.to_sb3("orchard", {COPIES}, seed=1)
model = PPO("CnnPolicy", envs, n_steps={HORIZON}, batch_size={MINIBATCH}, n_epochs={PASSES}, seed=1)
model.learn({HORIZON * COPIES})
began = time.process_time()
model.learn({STEPS})
print({STEPS} / (time.process_time() - began))
"""
OURS = f"""
import time, puffer_sdk
settings = {{"policy.encoder": {str(encoder.layers_for(PART, "nature"))!r},
            "policy.hidden_size": UNITS, "train.horizon": {HORIZON},
            "train.minibatch_size": {MINIBATCH}, "train.replay_ratio": {PASSES},
            "train.total_timesteps": 10**9}}
with puffer_sdk.make("orchard", num_envs={COPIES}, seed=1) as vec, \\
        puffer_sdk.Trainer(vec, settings) as trainer:
    trainer.rollout(); trainer.update()
    began, first = time.process_time(), trainer.global_step
    while trainer.global_step - first < {STEPS}:
        trainer.rollout(); trainer.update()
    print({STEPS} / (time.process_time() - began))
"""


def trainings(rounds: int) -> dict[str, float]:
    """Medians of steps per CPU second, ours with both widths and SB3's, in turn."""
    programs = {"ours": OURS.replace("UNITS", str(HIDDEN)), "sb3": SB3,
                "ours_wide": OURS.replace("UNITS", "512")}
    found: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            done = subprocess.run([sys.executable, "-c", program], check=True, text=True,
                                  capture_output=True)
            found[name].append(float(done.stdout.split()[-1]))
    return {name: statistics.median(values) for name, values in found.items()}


def table(figures: dict) -> str:
    about, whole = figures["machine"], figures["training"]
    out = ["| encoder | instructions | our rate | PyTorch's time / ours, forward | with backward |",
           "|---|---|---|---|---|"]
    out += [f"| {row['encoder']} | {row['path']} | {row['gflops']:.0f} GFLOP/s | "
            f"{row['forward']:.2f} | {row['both']:.2f} |" for row in figures["rates"]]
    out += ["", "A whole training with NatureCNN's convolutions, in steps per CPU second: "
            f"{whole['ours']:,.0f} with 64 units,",
            f"{whole['ours_wide']:,.0f} with 512, where each minibatch of {MINIBATCH} steps pays "
            f"for Muon's products; SB3's CnnPolicy {whole['sb3']:,.0f}.",
            "", f"(`benchmarks/bench_encoders.py`, {about['cores']} cores of an {about['cpu']}, "
            f"{about['date']})"]
    return "\n".join(out)


if __name__ == "__main__":
    sys.exit(main())
