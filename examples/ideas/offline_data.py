"""Offline data: a trained policy plays, PyTorch learns from what it did, and plays as well.

    puffer-sdk new my_env && puffer-sdk train my_env
    python offline_data.py my_env my_env/runs/my_env/0001

For one discrete action head. Any library that takes arrays, or datasets (data.to_minari), will do.
"""
import sys

import torch
from torch import nn

import puffer_sdk

STEPS, BATCH, PASSES = 100_000, 1024, 8


def clone(data):
    """Learn which action follows from which observation: (M, D), (M,) -> a network."""
    torch.manual_seed(0)
    obs, actions = torch.from_numpy(data.observations), torch.from_numpy(data.actions)
    width = int(actions.max()) + 1
    net = nn.Sequential(nn.Linear(obs.shape[1], 128), nn.ReLU(), nn.Linear(128, width))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(PASSES):
        for rows in torch.randperm(len(obs)).split(BATCH):
            loss = nn.functional.cross_entropy(net(obs[rows].float()), actions[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return net


def returns(data):
    """The mean return of the episodes that ended."""
    over = data.terminations | data.truncations
    sums = [data.rewards[first:stop].sum() for first, stop in data.episodes if over[stop - 1]]
    return sum(sums) / max(len(sums), 1)


def player(net):
    """(N, D) -> (N,), as collect() takes it."""
    @torch.no_grad()
    def play(obs):
        logits = net(torch.from_numpy(obs).float())
        return torch.distributions.Categorical(logits=logits).sample()
    return play


def main(env, run, steps=STEPS):
    with puffer_sdk.make(env, num_envs=1024, seed=1) as vec:
        data = puffer_sdk.collect(puffer_sdk.Policy.load(run), vec, steps)
        print(f"{len(data):,} transitions in {data.save('offline.npz')}")
        print(f"mean return of the policy: {returns(data):.3f}")
        for name, policy in (("its clone", player(clone(data))), ("random play", "random")):
            print(f"of {name}: {returns(puffer_sdk.collect(policy, vec, steps)):.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 3 else sys.exit("usage: python offline_data.py ENV RUN")
