"""C environments in other people's libraries: Gymnasium, PettingZoo, Stable-Baselines3.

    env = puffer_sdk.to_gymnasium("my_env", render_mode="rgb_array")    a gymnasium.Env
    envs = puffer_sdk.to_vector("my_env", 64)                           a gymnasium.vector.VectorEnv
    env = puffer_sdk.to_parallel("my_env")                              a pettingzoo.ParallelEnv
    envs = puffer_sdk.to_sb3("my_env", 64)                              a VecEnv of SB3

Each library is imported when its function is called.
"""
