"""PPO in one file of PyTorch, over any vector of Gymnasium's: copies in C or in Python.

    pip install 'puffer-sdk[gymnasium]' torch
    python ppo.py                                       # cartpole in C, through to_vector
    python ppo.py --env puffer/cartpole                 # the same, through gymnasium.make_vec
    python ppo.py --env CartPole-v1 --envs 8            # Python, through puffer_sdk.vector.Vector
    python ppo.py --env breakout --steps 3000000 --envs 256 --autoreset same_step

Vectors begin a new episode in one of two ways, and this is right for both:

    next_step   the step that ends an episode returns what it saw last. The next step returns what
                the new one sees first: its action changes nothing, and it is left out of the loss
    same_step   the step that ends an episode returns what the new one sees first already; what
                the old one saw last is infos["final_obs"]

An episode that was cut (truncated) goes on in theory: the value of what it saw last counts.
"""
import argparse
import time
from collections import deque

import gymnasium
import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from torch import nn
from torch.distributions import Categorical

import puffer_sdk
from puffer_sdk.vector import Vector


def make_envs(name: str, count: int, autoreset: str):
    if name.startswith("puffer/"):
        return gymnasium.make_vec(name, count, autoreset=autoreset)
    if "-v" in name:
        return Vector([lambda: gymnasium.make(name)] * count,
                      autoreset_mode=AutoresetMode[autoreset.upper()])
    return puffer_sdk.to_vector(name, count, autoreset=autoreset)


def layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, gain)
    nn.init.zeros_(made.bias)
    return made


def network(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    return nn.Sequential(layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(),
                         layer(64, outputs, gain))


parser = argparse.ArgumentParser()
parser.add_argument("--env", default="cartpole")
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--envs", type=int, default=64)
parser.add_argument("--autoreset", choices=["next_step", "same_step"], default="next_step")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--horizon", type=int, default=32)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--minibatches", type=int, default=4)
parser.add_argument("--learning-rate", type=float, default=2e-3)
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--gae-lambda", type=float, default=0.9)
parser.add_argument("--clip", type=float, default=0.2)
parser.add_argument("--entropy", type=float, default=0.0)
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)                    # networks of 64 gain nothing from a second one
envs = make_envs(args.env, args.envs, args.autoreset)
assert isinstance(envs.single_action_space, gymnasium.spaces.Discrete), "one discrete action"
next_step = envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
size = int(np.prod(envs.single_observation_space.shape))
actor = network(size, int(envs.single_action_space.n), 0.01)
critic = network(size, 1, 1.0)
weights = [*actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(weights, lr=args.learning_rate, eps=1e-5)


def tensor(rows) -> torch.Tensor:           # (n, ...) -> (n, size) float32
    return torch.as_tensor(np.asarray(rows, np.float32).reshape(len(rows), -1))


def value(rows: torch.Tensor) -> torch.Tensor:
    return critic(rows)[..., 0]


shape = (args.horizon, args.envs)
obs = torch.zeros(*shape, size)
actions = torch.zeros(shape, dtype=torch.int64)
logprobs, rewards, values, following, dones, real = (torch.zeros(shape) for _ in range(6))
returns, last = np.zeros(args.envs), deque(maxlen=100)      # of episodes
begins = np.zeros(args.envs, bool)                          # next_step: this step only begins
seen, _ = envs.reset(seed=args.seed)
seen = tensor(seen)
updates = max(1, args.steps // (args.horizon * args.envs))
began = time.perf_counter()

for update in range(updates):
    optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - update / updates)

    # -- rollout
    with torch.no_grad():
        for t in range(args.horizon):
            policy = Categorical(logits=actor(seen), validate_args=False)
            action = policy.sample()
            obs[t], actions[t], logprobs[t] = seen, action, policy.log_prob(action)
            rows, reward, terminated, truncated, infos = envs.step(action.numpy())
            done, real[t] = terminated | truncated, torch.from_numpy(~begins)
            seen, rewards[t], dones[t] = tensor(rows), tensor(reward)[:, 0], tensor(done)[:, 0]
            after = seen                    # what each env saw after its action
            if not next_step and done.any():
                ended = np.flatnonzero(done)
                after = seen.clone()
                after[ended] = tensor(np.stack(infos["final_obs"][ended]))
            following[t] = value(after) * torch.from_numpy(~terminated)
            returns += reward
            last.extend(returns[done])
            returns[done] = 0
            begins = done if next_step else begins
        values = value(obs)

        # -- generalised advantage estimation, from the last step to the first
        advantages, carried = torch.zeros(shape), torch.zeros(args.envs)
        for t in reversed(range(args.horizon)):
            delta = rewards[t] + args.gamma * following[t] - values[t]
            carried = delta + args.gamma * args.gae_lambda * (1 - dones[t]) * carried
            advantages[t] = carried

    # -- update: steps that only begin an episode are left out
    kept = real.flatten().nonzero()[:, 0]
    batch = [part.flatten(0, 1)[kept] for part in
             (obs, actions, logprobs, advantages, advantages + values)]
    for _ in range(args.epochs):
        for picks in torch.randperm(len(kept)).tensor_split(args.minibatches):
            saw, did, before, advantage, target = (part[picks] for part in batch)
            policy = Categorical(logits=actor(saw), validate_args=False)
            ratio = (policy.log_prob(did) - before).exp()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage,
                             ratio.clamp(1 - args.clip, 1 + args.clip) * advantage)
            value_loss = (value(saw) - target).square().mean()
            loss = 0.5 * value_loss - gain.mean() - args.entropy * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 0.5)
            optimizer.step()

    if update % max(1, updates // 10) == 0 and last:
        print(f"{(update + 1) * args.horizon * args.envs:>9} steps  return {np.mean(last):.1f}",
              flush=True)

envs.close()
steps = updates * args.horizon * args.envs
print(f"{steps / (time.perf_counter() - began):.0f} steps/s")
print(f"score {np.mean(last):.1f} after {steps} steps")
