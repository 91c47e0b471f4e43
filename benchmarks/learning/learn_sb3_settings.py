"""Settings of RL Baselines3 Zoo for the tasks that it has: its hyperparams/ppo.yml at 00128b5d.

Settings of an older version of a task are taken where the Zoo has no newer one. Steps are ours.
"""
from __future__ import annotations


def falling(start: float):
    """A schedule from start to 0."""
    return lambda left: left * start


def wide(log_std: float) -> dict:
    return {"log_std_init": log_std, "ortho_init": False, "activation_fn": "ReLU",
            "net_arch": {"pi": [256, 256], "vf": [256, 256]}}


LANDER = {"n_envs": 16, "n_steps": 1024, "batch_size": 64, "gae_lambda": 0.98, "gamma": 0.999,
          "n_epochs": 4, "ent_coef": 0.01}
# what the Zoo has for a task; `normalize` is a VecNormalize of observations and returns
ZOO = {
    "CartPole-v1": {"n_envs": 8, "n_steps": 32, "batch_size": 256, "gae_lambda": 0.8,
                    "gamma": 0.98, "n_epochs": 20, "ent_coef": 0.0,
                    "learning_rate": falling(0.001), "clip_range": falling(0.2)},
    "Acrobot-v1": {"normalize": True, "n_envs": 16, "n_steps": 256, "gae_lambda": 0.94,
                   "gamma": 0.99, "n_epochs": 4, "ent_coef": 0.0},
    "MountainCar-v0": {"normalize": True, "n_envs": 16, "n_steps": 16, "gae_lambda": 0.98,
                       "gamma": 0.99, "n_epochs": 4, "ent_coef": 0.0},
    "MountainCarContinuous-v0": {
        "normalize": True, "n_envs": 1, "batch_size": 256, "n_steps": 8, "gamma": 0.9999,
        "learning_rate": 7.77e-05, "ent_coef": 0.00429, "clip_range": 0.1, "n_epochs": 10,
        "gae_lambda": 0.9, "max_grad_norm": 5, "vf_coef": 0.19, "use_sde": True,
        "policy_kwargs": {"log_std_init": -3.29, "ortho_init": False}},
    "Pendulum-v1": {"n_envs": 4, "n_steps": 1024, "gae_lambda": 0.95, "gamma": 0.9,
                    "n_epochs": 10, "ent_coef": 0.0, "learning_rate": 1e-3, "clip_range": 0.2,
                    "use_sde": True, "sde_sample_freq": 4},
    "LunarLander-v3": LANDER, "LunarLanderContinuous-v3": LANDER,
    "BipedalWalker-v3": {"normalize": True, "n_envs": 32, "n_steps": 2048, "batch_size": 64,
                         "gae_lambda": 0.95, "gamma": 0.999, "n_epochs": 10, "ent_coef": 0.0,
                         "learning_rate": 3e-4, "clip_range": 0.18},
    "HalfCheetah-v5": {"normalize": True, "n_envs": 1, "batch_size": 64, "n_steps": 512,
                       "gamma": 0.98, "learning_rate": 2.0633e-05, "ent_coef": 0.000401762,
                       "clip_range": 0.1, "n_epochs": 20, "gae_lambda": 0.92,
                       "max_grad_norm": 0.8, "vf_coef": 0.58096, "policy_kwargs": wide(-2)},
    "Hopper-v5": {"normalize": True, "n_envs": 1, "batch_size": 32, "n_steps": 512,
                  "gamma": 0.999, "learning_rate": 9.80828e-05, "ent_coef": 0.00229519,
                  "clip_range": 0.2, "n_epochs": 5, "gae_lambda": 0.99, "max_grad_norm": 0.7,
                  "vf_coef": 0.835671, "policy_kwargs": wide(-2)},
    "Walker2d-v5": {"normalize": True, "n_envs": 1, "batch_size": 32, "n_steps": 512,
                    "gamma": 0.99, "learning_rate": 5.05041e-05, "ent_coef": 0.000585045,
                    "clip_range": 0.1, "n_epochs": 20, "gae_lambda": 0.95, "max_grad_norm": 1,
                    "vf_coef": 0.871923},
    "Swimmer-v5": {"normalize": True, "gamma": 0.9999},
    "InvertedPendulum-v5": {"normalize": True, "n_envs": 1, "batch_size": 64, "n_steps": 32,
                            "gamma": 0.999, "learning_rate": 0.000222425,
                            "ent_coef": 1.37976e-07, "clip_range": 0.4, "n_epochs": 5,
                            "gae_lambda": 0.9, "max_grad_norm": 0.3, "vf_coef": 0.19816},
    "InvertedDoublePendulum-v5": {
        "normalize": True, "n_envs": 1, "batch_size": 512, "n_steps": 128, "gamma": 0.98,
        "learning_rate": 0.000155454, "ent_coef": 1.05057e-06, "clip_range": 0.4, "n_epochs": 10,
        "gae_lambda": 0.8, "max_grad_norm": 0.5, "vf_coef": 0.695929},
    "Reacher-v5": {"normalize": True, "n_envs": 1, "batch_size": 32, "n_steps": 512, "gamma": 0.9,
                   "learning_rate": 0.000104019, "ent_coef": 7.52585e-08, "clip_range": 0.3,
                   "n_epochs": 5, "gae_lambda": 1.0, "max_grad_norm": 0.9, "vf_coef": 0.950368},
    "MiniGrid-DoorKey-5x5-v0": {"normalize": True, "n_envs": 8, "n_steps": 128, "batch_size": 64,
                                "gae_lambda": 0.95, "gamma": 0.99, "n_epochs": 10,
                                "ent_coef": 0.0, "learning_rate": 2.5e-4, "clip_range": 0.2},
}
