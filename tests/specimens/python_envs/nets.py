"""Networks of one's own for games.py, as users write them."""
import torch
from torch import nn


class Seeing(nn.Module):
    """For Camera: asserts what it sees."""

    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs=False, *, layout):
        super().__init__()
        self.layout = layout
        self.eye = nn.Linear(8 * 8 * 3, hidden_size)
        self.body = nn.Linear(3 + 3 + 3, hidden_size)
        self.mode = nn.Embedding(2, hidden_size)
        self.decoder = nn.Linear(hidden_size, sum(act_sizes) + 1)

    def initial_state(self, n):
        return torch.zeros(n, 0)

    def look_at(self, obs, parts):
        lead = obs.shape[:-1]
        shapes = {"image": ((8, 8, 3), torch.uint8), "where": ((3,), torch.float32),
                  "mode": ((), torch.int64), "big": ((), torch.int64)}
        for name, (shape, dtype) in shapes.items():
            assert parts[name].shape == (*lead, *shape) and parts[name].dtype == dtype, name
            assert parts[name].untyped_storage().data_ptr() == obs.untyped_storage().data_ptr()
        binary, ids = parts["flags"]
        assert binary.dtype == torch.int8 and ids.dtype == torch.int64
        assert int(parts["mode"].min()) >= 5 and int(parts["mode"].max()) <= 6
        assert float(parts["where"].abs().max()) <= 1 and parts["big"].abs().max() < 10**16

    def see(self, obs):
        parts = self.layout.unflatten(obs)
        if not torch.compiler.is_compiling():
            self.look_at(obs, parts)
        binary, ids = parts["flags"]
        small = torch.cat([parts["where"], binary.float(), ids[..., :1] / 300, ids[..., 1:].float(),
                           parts["big"].unsqueeze(-1) / 1e16], -1)
        return torch.relu(self.eye(parts["image"].flatten(-3) / 255) + self.body(small)
                          + self.mode(parts["mode"] - 5))

    def step(self, obs, state):
        out = self.decoder(self.see(obs))
        return out[..., :-1], out[..., -1], state

    def sequence(self, obs, state0, ended):
        logits, values, _ = self.step(obs, state0)
        return logits, values


class Blind(nn.Module):
    """Takes no layout."""

    def __init__(self, obs_size, act_sizes, hidden_size, num_layers, scale_obs=False):
        super().__init__()
        self.decoder = nn.Linear(obs_size, sum(act_sizes) + 1)

    initial_state, step, sequence = Seeing.initial_state, Seeing.step, Seeing.sequence
