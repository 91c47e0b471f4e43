"""Train with nothing but PyTorch: a plain PPO of your own over our envs, in one screen.

    pip install torch
    puffer-sdk new my_env
    python torch_loop.py my_env size=5          # [env] settings, over those of the ini

This is the place to try another algorithm: the envs are behind tensors that share their memory,
and nothing of our trainers is used. One discrete action head, no memory, no tricks.
"""
import sys

import torch
from torch import nn
from torch.distributions import Categorical

import puffer_sdk

AGENTS, HORIZON, EPOCHS, MINIBATCH = 512, 32, 60, 2048
GAMMA, LAMBDA, CLIP, ENTROPY = 0.97, 0.9, 0.2, 0.02

if len(sys.argv) < 2:
    sys.exit("usage: python torch_loop.py ENV [KEY=VALUE]...")
name, settings = sys.argv[1], dict(word.split("=") for word in sys.argv[2:])
torch.manual_seed(0)
torch.set_num_threads(1)                # products this small are done before a second one wakes
vec = puffer_sdk.make(name, total_agents=AGENTS, seed=1, env_settings=settings)
if len(vec.act_sizes) != 1 or vec.act_sizes[0] == 1:
    sys.exit("this example plays environments with one discrete action head")
envs = vec.torch()                      # tensors over the envs' own memory
body = nn.Sequential(nn.Linear(vec.obs_size, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
actor, critic = nn.Linear(64, vec.act_sizes[0]), nn.Linear(64, 1)
weights = [*body.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(weights, lr=5e-3)
vec.reset()

for epoch in range(1, EPOCHS + 1):
    # -- play: a row holds what belongs to one tick of all agents
    rows = []
    with torch.no_grad():
        for _ in range(HORIZON):
            obs = envs.observations.to(torch.float32, copy=True)    # the envs write to theirs
            hidden = body(obs)
            policy = Categorical(logits=actor(hidden))
            action = policy.sample()
            vec.actions = action                        # copied into the envs' buffer
            vec.step()                                  # envs that end begin anew by themselves
            rows.append((obs, action, policy.log_prob(action), critic(hidden)[:, 0],
                         envs.rewards.clone(), envs.terminals.clone()))
        following = critic(body(envs.observations.float()))[:, 0]
    obs, actions, log_probs, values, rewards, ends = map(torch.stack, zip(*rows))

    # -- judge: generalised advantage estimation, from the last tick to the first
    advantages, carried = torch.zeros_like(rewards), torch.zeros(AGENTS)
    for t in reversed(range(HORIZON)):
        alive = 1 - ends[t]
        surprise = rewards[t] + GAMMA * alive * following - values[t]
        carried = surprise + GAMMA * LAMBDA * alive * carried
        advantages[t], following = carried, values[t]
    returns = advantages + values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)

    # -- learn: every row once, in shuffled minibatches
    batch = [part.flatten(0, 1) for part in (obs, actions, log_probs, advantages, returns)]
    for picks in torch.randperm(AGENTS * HORIZON).split(MINIBATCH):
        seen, done, before, advantage, target = (part[picks] for part in batch)
        hidden = body(seen)
        policy = Categorical(logits=actor(hidden))
        ratio = (policy.log_prob(done) - before).exp()
        gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage)
        value_loss = (critic(hidden)[:, 0] - target).square().mean()
        loss = -gain.mean() + 0.5 * value_loss - ENTROPY * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, 0.5)
        optimizer.step()

    if epoch % 10 == 0:
        print(f"{epoch * AGENTS * HORIZON:>9,} steps  loss {loss.item():+.3f}  "
              f"{ {key: round(value, 3) for key, value in vec.log().items()} }")
vec.close()
