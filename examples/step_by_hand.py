"""Drive an environment from Python: ten thousand steps at random in 256 copies.

    puffer-sdk new my_env
    python step_by_hand.py my_env

Everything is a NumPy view of the C side's memory: filling `vec.actions` is all it takes to act.
"""
import sys
import time

import numpy as np

import puffer_sdk

if len(sys.argv) != 2:
    sys.exit("usage: python step_by_hand.py ENV")
rng = np.random.default_rng(0)

with puffer_sdk.make(sys.argv[1], num_envs=256, seed=0) as vec:
    vec.reset()
    began = time.perf_counter()
    steps = 0
    while steps < 10_000 * vec.num_agents:
        for head, width in enumerate(vec.act_sizes):
            draw = rng.integers(width, size=vec.num_agents) if width > 1 else rng.normal(
                size=vec.num_agents)
            vec.actions[:, head] = draw
        vec.step()
        steps += vec.num_agents
    seconds = time.perf_counter() - began
    print(f"{steps:,} agent steps in {seconds:.2f} s: {steps / seconds:,.0f} a second")
    print({name: round(value, 3) for name, value in vec.log().items()})
