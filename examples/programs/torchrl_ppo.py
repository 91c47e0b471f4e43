"""TorchRL's PPO on copies of an environment in C, which GymWrapper takes as one batch.

    pip install 'puffer-sdk[gymnasium]' torchrl
    python torchrl_ppo.py                       # cartpole, 100,000 steps
    python torchrl_ppo.py ENV STEPS SEED        # one discrete action

TorchRL reads vectors whose autoreset is "same_step" or "disabled".
"""
import sys
import time
import warnings
from collections import deque

import numpy as np
import torch
from tensordict.nn import TensorDictModule
from torch import nn
from torch.distributions import Categorical
from torchrl.collectors import Collector
from torchrl.envs import Compose, GymWrapper, RewardSum, TransformedEnv
from torchrl.envs.utils import check_env_specs
from torchrl.modules import ProbabilisticActor, ValueOperator
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

import puffer_sdk

COPIES, HORIZON, EPOCHS, MINIBATCH = 64, 32, 4, 512
name = sys.argv[1] if len(sys.argv) > 1 else "cartpole"
steps = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1

warnings.filterwarnings("ignore")
torch.manual_seed(seed)
torch.set_num_threads(1)                    # networks of 64 gain nothing from a second one
copies = puffer_sdk.to_vector(name, COPIES, autoreset="same_step")
env = TransformedEnv(GymWrapper(copies, categorical_action_encoding=True), Compose(RewardSum()))
check_env_specs(env)
env.set_seed(seed)


class Rows(nn.Module):
    """Observations may be boards of bytes, as those of the default template are."""

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return observations.float().flatten(-len(copies.single_observation_space.shape))


def network(outputs: int) -> nn.Sequential:
    return nn.Sequential(Rows(), nn.LazyLinear(64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(),
                         nn.Linear(64, outputs))


logits = TensorDictModule(network(int(copies.single_action_space.n)), ["observation"], ["logits"])
actor = ProbabilisticActor(logits, in_keys=["logits"], distribution_class=Categorical,
                           return_log_prob=True)
critic = ValueOperator(network(1), in_keys=["observation"])
seen = env.reset()
actor(seen.clone())                         # lazy layers learn their sizes
critic(seen.clone())
advantage = GAE(gamma=0.98, lmbda=0.9, value_network=critic, average_gae=False)
loss_of = ClipPPOLoss(actor, critic, clip_epsilon=0.2, entropy_bonus=False, critic_coeff=0.5,
                      loss_critic_type="l2", normalize_advantage=True)
optimizer = torch.optim.Adam(loss_of.parameters(), lr=2e-3, eps=1e-5)
updates = max(1, steps // (COPIES * HORIZON))
collector = Collector(env, actor, frames_per_batch=COPIES * HORIZON,
                              total_frames=updates * COPIES * HORIZON)
last = deque(maxlen=100)                    # returns of episodes
began = time.perf_counter()

for update, batch in enumerate(collector):
    optimizer.param_groups[0]["lr"] = 2e-3 * (1 - update / updates)
    with torch.no_grad():
        advantage(batch)
    ended = batch["next", "done"]
    last.extend(batch["next", "episode_reward"][ended].tolist())
    rows = batch.reshape(-1)
    for _ in range(EPOCHS):
        for picks in torch.randperm(len(rows)).split(MINIBATCH):
            losses = loss_of(rows[picks])
            optimizer.zero_grad()
            (losses["loss_objective"] + losses["loss_critic"]).backward()
            nn.utils.clip_grad_norm_(loss_of.parameters(), 0.5)
            optimizer.step()

collector.shutdown()
steps = updates * COPIES * HORIZON
print(f"{steps / (time.perf_counter() - began):.0f} steps/s")
print(f"score {np.mean(last):.1f} after {steps} steps")
