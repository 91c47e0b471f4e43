"""The environments of one worker, by kind: Gymnasium, PettingZoo, vectorised by itself."""
