"""Names that are tried: packages' environments through our names, beside a plain Python loop.

    PYTHON names.py NAME SECONDS        one of them, in the venv that holds the packages
"""
from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FILE = "FILE.py"        # HERE/makers.py, as a user writes one
# (name, package whose version counts, copies)
NAMES = [
    ("gymnasium:ALE/Pong-v5", "ale-py", 8), ("gymnasium.vector:ALE/Pong-v5", "ale-py", 8),
    (f"{FILE}:minigrid", "minigrid", 16), ("gymnasium:MiniHack-Room-5x5-v0", "minihack", 4),
    ("gymnasium:NetHackScore-v0", "nle", 4), (f"{FILE}:crafter", "crafter", 4),
    (f"{FILE}:coinrun", "procgen2", 4), ("gymnasium:VizdoomBasic-v1", "vizdoom", 2),
    ("gymnasium:highway-fast-v0", "highway-env", 2), ("gymnasium:LunarLander-v3", "box2d-py", 16),
    ("pettingzoo:magent2.environments.battle_v4", "magent2", 1),
    ("pettingzoo:pettingzoo.butterfly.knights_archers_zombies_v11", "pettingzoo", 2),
    ("pettingzoo:pettingzoo.sisl.pursuit_v5", "pettingzoo", 2)]


def measure(pythons, short: bool) -> dict:
    """{name: {"version", "rows", "rate", "cpu_us", "loop_rate", "loop_cpu_us"} or {"failed"}}"""
    import bench_bridges
    import venvs

    try:
        python = pythons.of("zoo")
    except venvs.Missing as error:
        return {"failed": str(error)}
    found, seconds = {}, 1.0 if short else 6.0
    versions = venvs.versions(python, tuple({package for _, package, _ in NAMES}))
    for name, package, copies in NAMES[:3] if short else NAMES:
        row = bench_bridges.in_its_own(python, Path(__file__), (name, copies, seconds),
                                       str(bench_bridges.ROOT), 300)
        print(f"{name}: {row}", file=sys.stderr, flush=True)
        found[name] = {"package": package, "version": versions.get(package), **row}
    return found


def loop_of(env, vectorised: bool, copies: int):
    """(step, rows): a plain loop over one environment, as its package steps it."""
    if vectorised:
        env.reset(seed=0)
        return lambda: env.step(env.action_space.sample()), copies
    if hasattr(env, "possible_agents"):
        env.reset(seed=0)

        def step():
            if not env.agents:
                env.reset()
            env.step({agent: env.action_space(agent).sample() for agent in env.agents})
        return step, len(env.possible_agents)
    env.reset(seed=0)

    def step():
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    return step, 1


def timed(step, rows: int, seconds: float) -> dict:
    """Medians over slices: agent steps a second, CPU microseconds of one."""
    import statistics

    import race

    step()
    rates, costs = [], []
    for _ in range(5):
        count, cpu, began = 0, race.cpu_of_tree(), time.perf_counter()
        while (wall := time.perf_counter() - began) < seconds / 5 or not count:
            step()
            count += rows
        rates.append(count / wall)
        costs.append((race.cpu_of_tree() - cpu) / count * 1e6)
    return {"rate": statistics.median(rates), "cpu_us": statistics.median(costs)}


def main() -> None:
    import numpy as np

    import puffer_sdk
    from puffer_sdk.env.agent_slots import random_actions
    from puffer_sdk.interop.python_envs.makers import VECTOR, read_name

    name, copies, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    name = name.replace(f"{FILE}:", f"{HERE / 'makers.py'}:")
    maker = read_name(name)
    vectorised = maker.kind == VECTOR
    env = maker.batch(copies) if vectorised else maker()
    plain = timed(*loop_of(env, vectorised, copies), seconds)
    env.close()
    with puffer_sdk.wrap(name, copies, workers=min(2, copies), step_timeout=60) as envs:
        rng = np.random.default_rng(0)
        drawn = [random_actions(envs, rng) for _ in range(16)] if envs.action_mask is None else None
        envs.reset()
        at = iter(range(1 << 60))
        made = timed(lambda: envs.step(drawn[next(at) % 16] if drawn else
                                       random_actions(envs, rng)), envs.num_agents, seconds)
        facts = {"agents": envs.num_agents // copies, "obs_size": envs.obs_size,
                 "obs_dtype": envs.observations.dtype.name, "acts": list(map(int, envs.act_sizes))}
    print(json.dumps({**facts, **made, "loop_rate": plain["rate"],
                      "loop_cpu_us": plain["cpu_us"]}), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    main()
    sys.stdout.flush()
    os._exit(0)
