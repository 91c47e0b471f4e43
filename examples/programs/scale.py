"""One training in several processes.  torchrun --standalone --nproc-per-node 2 scale.py my_env"""
import sys

import torch.distributed as dist

import puffer_sdk

AGENTS = 64

if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    vec = puffer_sdk.make(sys.argv[1], total_agents=AGENTS // size, seed=rank)
    settings = {"train.horizon": 16, "train.minibatch_size": AGENTS * 16,
                "train.total_timesteps": 16384, "train.device": "cpu"}
    with puffer_sdk.Trainer(vec, settings, group=dist.group.WORLD) as trainer:
        while not trainer.finished:
            trainer.rollout()
            trainer.update()
        if rank == 0:
            print(trainer.save("policy.safetensors"))
    dist.destroy_process_group()
