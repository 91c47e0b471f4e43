"""PPO in one file: all of it, from rollout to update, in PyTorch, for you to change.

    puffer-sdk new my_env --loop        # this file as my_env/loop.py. It needs PyTorch
    python my_env/loop.py               # or: loop.py lr=0.01 seed=2 env=../other env.size=5
    puffer-sdk eval my_env              # and runs, plot, compare, play: as for a run of train

None of puffer-sdk's trainers is used: `make` gives tensors over the environments' own memory, and
what learns is below. Any action heads and masks; no memory, and always the same agents.
"""
import sys
from dataclasses import asdict, dataclass

import torch
from torch import nn
from torch.distributions import Categorical, Normal

import puffer_sdk


@dataclass
class Settings:
    env: str = sys.path[0]                  # a name or a folder: where this file is
    seed: int = 1
    total: int = 3_000_000                  # agent steps
    hidden: int = 128                       # width of the network
    agents: int = 512
    horizon: int = 32                       # ticks of a rollout
    passes: int = 3                         # over each rollout
    minibatch: int = 1024
    lr: float = 3e-3                        # falls to 0
    gamma: float = 0.97
    lam: float = 0.9                        # lambda of generalised advantage estimation
    clip: float = 0.2
    entropy: float = 0.03


class Net(nn.Module):
    """Observations -> logits of all heads, and a value. eval and play call the last three."""
    def __init__(self, obs_size, act_sizes, hidden_size=64, num_layers=1, scale_obs=False):
        super().__init__()
        self.act_sizes = list(act_sizes)
        self.body = nn.Sequential(
            nn.Linear(obs_size, hidden_size), nn.LayerNorm(hidden_size), nn.ReLU(),
            nn.Linear(hidden_size, hidden_size), nn.ReLU())
        self.actor = nn.Linear(hidden_size, sum(act_sizes))
        self.critic = nn.Linear(hidden_size, 1)
        nn.init.normal_(self.actor.weight, std=0.01)            # begin nearly even
        self.logstd = nn.Parameter(torch.zeros(sum(width == 1 for width in act_sizes)))

    def forward(self, obs):
        hidden = self.body(obs.float())
        return self.actor(hidden), self.critic(hidden)[..., 0]

    def policy(self, obs, mask):
        """A distribution for each head, and the values."""
        logits, values = self(obs)
        parts = logits.masked_fill(mask == 0, -1e9).split(self.act_sizes, -1)
        spread = iter(self.logstd.exp())
        return [Categorical(logits=part) if part.shape[-1] > 1
                else Normal(part[..., 0], next(spread)) for part in parts], values

    def initial_state(self, n):
        return torch.zeros(n, 0)

    def step(self, obs, state):
        return *self(obs), state

    def sequence(self, obs, state0, ended):
        return self(obs)


def log_prob(heads, actions):
    return sum(head.log_prob(actions[..., i]) for i, head in enumerate(heads))


def rollout(vec, envs, net, s):
    """Play `horizon` ticks -> a dict of tensors (T, N, ...), with advantages and returns."""
    rows = []
    for _ in range(s.horizon):
        obs = envs.observations.clone()                 # the environments write to theirs
        mask = obs.new_ones(s.agents, 1) if vec.action_mask is None else envs.action_mask.clone()
        heads, values = net.policy(obs, mask)
        actions = torch.stack([head.sample().float() for head in heads], -1)
        vec.step(actions)                               # who ends begins anew in the same step
        rewards = envs.rewards.clone()
        if envs.has_final is not None and envs.has_final.any():     # a time limit: it could go on
            rewards += s.gamma * envs.truncations * envs.has_final * net(envs.final_observations)[1]
        rows.append(dict(obs=obs, mask=mask, actions=actions, logp=log_prob(heads, actions),
                         values=values, rewards=rewards, ends=envs.terminals.clone()))
    batch = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
    following, carried = net(envs.observations)[1], 0
    advantages = torch.empty_like(batch["values"])
    for t in reversed(range(s.horizon)):                # generalised advantage estimation
        alive = 1 - batch["ends"][t]
        delta = batch["rewards"][t] + s.gamma * alive * following - batch["values"][t]
        advantages[t] = carried = delta + s.gamma * s.lam * alive * carried
        following = batch["values"][t]
    return batch | {"advantages": advantages, "returns": advantages + batch["values"]}


def update(net, optimizer, batch, s):
    """Learn from a rollout in shuffled minibatches -> mean losses."""
    flat = {name: tensor.flatten(0, 1) for name, tensor in batch.items()}
    found = []
    for _ in range(s.passes):
        for picks in torch.randperm(s.agents * s.horizon).split(s.minibatch):
            b = {name: tensor[picks] for name, tensor in flat.items()}
            heads, values = net.policy(b["obs"], b["mask"])
            ratio = (log_prob(heads, b["actions"]) - b["logp"]).exp()
            gain = (b["advantages"] - b["advantages"].mean()) / (b["advantages"].std() + 1e-8)
            policy_loss = -torch.min(ratio * gain,
                                     ratio.clamp(1 - s.clip, 1 + s.clip) * gain).mean()
            value_loss = (values - b["returns"]).square().mean()
            entropy = sum(head.entropy() for head in heads).mean()
            loss = policy_loss + 0.5 * value_loss - s.entropy * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 0.5)
            optimizer.step()
            found.append(torch.stack([policy_loss, value_loss, entropy]).detach())
    means = torch.stack(found).mean(0).tolist()
    return dict(zip(("loss/policy", "loss/value", "loss/entropy"), means))


def train(s, env_settings):
    torch.manual_seed(s.seed)
    torch.set_num_threads(1)            # products this small are done before a second thread wakes
    vec = puffer_sdk.make(s.env, total_agents=s.agents, seed=s.seed, env_settings=env_settings)
    with vec, puffer_sdk.Run(vec, asdict(s) | {"policy.hidden_size": s.hidden}) as run:
        envs, net = vec.torch(), Net(vec.obs_size, vec.act_sizes, s.hidden)
        optimizer = torch.optim.Adam(net.parameters(), lr=s.lr, eps=1e-5)
        vec.reset()
        epochs = max(1, s.total // (s.agents * s.horizon))
        for epoch in range(epochs):
            optimizer.param_groups[0]["lr"] = s.lr * (1 - epoch / epochs)
            with torch.no_grad():
                batch = rollout(vec, envs, net, s)
            losses, episodes = update(net, optimizer, batch, s), vec.log()
            run.log(losses, env=episodes)
            if (epoch + 1) % max(1, epochs // 20) == 0:
                means = (f" {name} {value:.3f}" for name, value in episodes.items())
                print(f"{vec.ticks * s.agents:>11,} steps", *means)
        print(f"saved {run.save(net)}")


if __name__ == "__main__":
    words = [word.split("=") for word in sys.argv[1:]]
    train(Settings(**{key: type(getattr(Settings, key))(text) for key, text in words
                      if not key.startswith("env.")}),
          {key[4:]: text for key, text in words if key.startswith("env.")})
