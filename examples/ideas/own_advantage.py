"""Advantages of your own, in NumPy: generalised advantage estimation, to change. Either trainer.

    puffer-sdk new my_env
    puffer-sdk train my_env --train.advantage own_advantage.py:gae      # beside the header, or here

It is called once in every update, and all minibatches see what it returns.
"""
import numpy as np

GAMMA, LAMBDA = 0.99, 0.95


def gae(rollout):
    """rollout.rewards, .values, .ended (N, T), .bootstrap (N,) -> advantages, returns (N, T)"""
    # what follows a tick: the next value; after a time limit, that of the final observation
    following = np.concatenate([rollout.values[:, 1:], rollout.bootstrap[:, None]], 1)
    going = (rollout.ended == 0).astype(np.float32)
    following *= going
    if rollout.finals is not None:
        following += np.where(rollout.truncated != 0, np.nan_to_num(rollout.finals), 0)
    delta = rollout.rewards + GAMMA * following - rollout.values
    weight = np.ascontiguousarray((GAMMA * LAMBDA * going).T)       # tick after tick in memory
    delta = np.ascontiguousarray(delta.T)
    advantages, carried = np.empty_like(delta), 0
    for t in reversed(range(len(delta))):
        advantages[t] = carried = delta[t] + weight[t] * carried
    return advantages.T, advantages.T + rollout.values
