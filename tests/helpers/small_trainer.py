"""Settings of a Trainer that is small enough for a test."""
SMALL = {"train.horizon": 8, "train.minibatch_size": 64, "policy.hidden_size": 16,
         "train.total_timesteps": 32 * 8 * 4}
