"""One training in several processes that Ray Train starts, on as many machines as Ray has.

    pip install 'puffer-sdk[torch]' 'ray[train]'
    python scale_ray.py my_env
"""
import os
import sys

import torch.distributed as dist
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

import puffer_sdk

AGENTS, PROCESSES = 64, 2


def train(config: dict) -> None:
    """What each process does, once Ray has made the process group."""
    rank, size = dist.get_rank(), dist.get_world_size()
    vec = puffer_sdk.make(config["env"], total_agents=AGENTS // size, seed=rank)
    settings = {"train.horizon": 16, "train.minibatch_size": AGENTS * 16,
                "train.total_timesteps": 16384, "train.device": "cpu"}
    with puffer_sdk.Trainer(vec, settings, group=dist.group.WORLD) as trainer:
        while not trainer.finished:
            trainer.rollout()
            trainer.update()
        if rank == 0:
            trainer.save(config["policy"])


if __name__ == "__main__":
    env, policy = os.path.abspath(sys.argv[1]), os.path.abspath("policy.safetensors")
    TorchTrainer(train, train_loop_config={"env": env, "policy": policy},
                 scaling_config=ScalingConfig(num_workers=PROCESSES),
                 run_config=RunConfig(name="scale", storage_path=os.path.abspath("ray"))).fit()
    print(policy)
