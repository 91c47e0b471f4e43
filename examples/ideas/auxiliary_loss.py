"""An auxiliary loss: the network also guesses each tick's reward, which shapes what it looks at.

    puffer-sdk new my_env
    puffer-sdk train my_env --policy.torch-class auxiliary_loss.py:Net \\
        --train.torch-loss auxiliary_loss.py:loss           # beside the header, or here

The metric `guess` is the mean squared error of the guesses. In PyTorch.
"""
import torch
from torch import nn

WEIGHT = 0.5


class Net(nn.Module):
    """Two layers without memory: the state is an empty tensor that is handed through."""

    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs=False):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_size, hidden_size), nn.ReLU(),
                                  nn.Linear(hidden_size, hidden_size), nn.ReLU())
        self.decoder = nn.Linear(hidden_size, sum(act_sizes) + 1)
        self.guess = nn.Linear(hidden_size, 1)
        if continuous := sum(width == 1 for width in act_sizes):
            self.logstd = nn.Parameter(torch.zeros(continuous))

    def initial_state(self, n):
        return torch.zeros(n, 0)

    def step(self, obs, state):
        """obs (n, D) -> logits (n, A), value (n,), state"""
        out = self.decoder(self.body(obs.float()))
        return out[..., :-1], out[..., -1], state

    def sequence(self, obs, state0, ended):
        """obs (S, T, D) -> logits (S, T, A), values (S, T), and for `loss`: guesses (S, T)"""
        hidden = self.body(obs.float())
        out = self.decoder(hidden)
        return out[..., :-1], out[..., -1], self.guess(hidden)[..., 0]


def loss(batch, outputs):
    """PPO's loss and the guesses' error."""
    error = (outputs.extra - batch.rewards).square().mean()
    return outputs.loss + WEIGHT * error, {"guess": error}
