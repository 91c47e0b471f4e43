"""Worker processes behind a gymnasium.vector.VectorEnv and a VecEnv of SB3: puffer_sdk.vector"""
