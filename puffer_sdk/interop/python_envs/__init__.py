"""Python environments: Gymnasium, PettingZoo; worker processes behind the arrays of VecEnv."""
