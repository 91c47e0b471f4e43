"""Environments and libraries of other people.

python_envs/    Python environments behind the arrays of VecEnv
async_vector/   Python environments in worker processes, for other people's loops
to_learners/    C environments as Gymnasium, PettingZoo and Stable-Baselines3 know them
"""
