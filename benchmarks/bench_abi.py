"""What stepping through the ABI costs.  an env folder -> a ratio, and rates

    python benchmarks/bench_abi.py                  the Squared template
    python benchmarks/bench_abi.py --json out.json

A plain C loop over c_step and the library's api->step play the same seeds and actions in turns,
in one process (bench_abi.c); the ratio is the median over many short rounds. Also measures env
steps per second of VecEnv.step from Python. Only for environments with one agent per env.
"""
from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import puffer_sdk
from puffer_sdk.env import build, open_env
from puffer_sdk.raylib import headers
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers

HERE = Path(__file__).resolve().parent
TARGET = 1.03


def compile_bench(built: build.Build, folder: Path) -> Path:
    """bench_abi.c with this environment inside, under the library's own flags."""
    spec = built.spec
    program = folder / "bench_abi"
    command = [*compilers.find_compiler().command, *build.library_flags(spec),
               f'-DBENCH_HEADER="{spec.header.name}"', f"-DBENCH_ENV={spec.struct}",
               f'-DBENCH_CONFIG="{built.library.parent / f"{spec.name}_config.h"}"',
               f"-DBENCH_CONFIGURE={spec.name}_configure", "-O3", "-march=native",
               str(HERE / "bench_abi.c"), str(headers.null_library()),
               f"-Wl,-rpath,{headers.null_library().parent}", "-lm", "-ldl"]
    compilers.compile_to(program, command, source=HERE / "bench_abi.c", what="bench_abi.c")
    return program


def compare(env: Path, envs: int, rounds: int, ticks: int) -> dict:
    """Nanoseconds per env step of the plain loop and of the library, and their ratio."""
    built = open_env.build(env)
    settings = config.resolve(env, spec=built.spec).env
    with tempfile.TemporaryDirectory() as scratch:
        program = compile_bench(built, Path(scratch))
        done = subprocess.run([program, built.library, str(envs), str(rounds), str(ticks),
                               *(f"{key}={value!r}" for key, value in settings.items())],
                              capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"bench_abi: status {done.returncode}: the two ways differ\n"
                         f"{done.stderr}")
    pairs = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
    ratios = sorted(library / plain for plain, library in pairs)
    return {"plain_ns": statistics.median(p for p, _ in pairs),
            "library_ns": statistics.median(b for _, b in pairs),
            "ratio": statistics.median(ratios), "rounds": len(pairs),
            "ratio_quartiles": [ratios[len(ratios) // 4], ratios[3 * len(ratios) // 4]]}


def vec_rate(env: Path, envs: int, threads: int, seconds: float) -> float:
    """Agent steps per second of VecEnv.step, actions drawn beforehand."""
    with puffer_sdk.make(env, num_envs=envs, threads=threads) as vec:
        draw = np.random.default_rng(0)
        tables = [np.stack([draw.integers(0, width, vec.num_agents) for width in vec.act_sizes],
                           axis=1).astype(np.float32) for _ in range(16)]
        vec.reset()
        ticks, began = 0, time.perf_counter()
        while time.perf_counter() - began < seconds:
            vec.actions[:] = tables[ticks % 16]
            vec.step()
            ticks += 1
        return ticks * vec.num_agents / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", type=Path, help="an environment; default: the Squared template")
    parser.add_argument("--envs", type=int, default=1024, help="copies")
    parser.add_argument("--rounds", type=int, default=201)
    parser.add_argument("--ticks", type=int, default=20, help="ticks of a round")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each rate from Python")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        env = options.env or puffer_sdk.new("squared", output_dir=scratch).folder
        result = compare(env, options.envs, options.rounds, options.ticks)
        result["vec_steps_per_second"] = {
            str(threads): round(vec_rate(env, 4 * options.envs, threads, options.seconds))
            for threads in (1, 2)}
    result |= {"env": env.name, "envs": options.envs, "target": TARGET,
               "met": result["ratio"] <= TARGET, "machine": platform.machine(),
               "compiler": compilers.find_compiler().banner}

    low, high = result["ratio_quartiles"]
    print(f"plain C loop    {result['plain_ns']:7.2f} ns per env step")
    print(f"through the ABI {result['library_ns']:7.2f} ns per env step")
    print(f"ratio           {result['ratio']:7.3f}    (quartiles {low:.3f} .. {high:.3f}, "
          f"{result['rounds']} rounds; target {TARGET})")
    for threads, rate in result["vec_steps_per_second"].items():
        print(f"VecEnv.step     {rate / 1e6:7.1f} M steps/s with {threads} "
              f"thread{'s' if threads != '1' else ''}, {4 * options.envs} envs")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if result["met"] else 1)


if __name__ == "__main__":
    main()
