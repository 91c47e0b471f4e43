"""A trained policy in a loop of your own.

    puffer-sdk train my_env
    python act.py my_env my_env/runs/my_env/0001
"""
import sys

import puffer_sdk

if len(sys.argv) != 3:
    sys.exit("usage: python act.py ENV RUN")
env, run = sys.argv[1:]
policy = puffer_sdk.Policy.load(run, best=True)     # a run's folder, or a checkpoint file
print(policy)

with puffer_sdk.make(env, num_envs=16, seed=1) as vec:
    vec.reset()
    for _ in range(1000):
        vec.actions[:] = policy.act(vec.observations, vec.action_mask)
        vec.step()
        policy.ended(vec.terminals)     # who begins a new episode carries nothing over
    print(vec.log())
