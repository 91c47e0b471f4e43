"""A network of your own: a small convolution over a square board, in PyTorch.

    puffer-sdk new my_env
    puffer-sdk train my_env --policy.torch-class conv_net.py:Net     # beside the header, or here

puffer_sdk.training.reference.policy.Policy states the interface: n agents or segments, T ticks,
D elements of an observation, A the sum of the action heads' widths.
"""
import math

import torch
from torch import nn


class Net(nn.Module):
    """No memory: the state is an empty tensor that is handed through."""

    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs=False):
        super().__init__()
        self.side = math.isqrt(obs_size)
        if self.side**2 != obs_size:
            raise ValueError(f"{obs_size} elements are no square board")
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * obs_size, hidden_size), nn.ReLU())
        self.decoder = nn.Linear(hidden_size, sum(act_sizes) + 1)

    def initial_state(self, n):
        return torch.zeros(n, 0)

    def step(self, obs, state):
        """obs (n, D) -> logits (n, A), value (n,), state"""
        out = self.decoder(self.body(obs.float().view(-1, 1, self.side, self.side)))
        return out[:, :-1], out[:, -1], state

    def sequence(self, obs, state0, ended):
        """obs (S, T, D) -> logits (S, T, A), values (S, T)"""
        segments, ticks = obs.shape[:2]
        logits, value, _ = self.step(obs.reshape(segments * ticks, -1), state0)
        return logits.view(segments, ticks, -1), value.view(segments, ticks)
