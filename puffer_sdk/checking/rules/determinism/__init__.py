"""Determinism: same seed, same bytes.

    determinism     PUF501-505: seeds, other envs, threads (threads.c), builds
    secrets         PUF506: what an agent must not see (private.c)

repeated_reset.c compares one episode with the next.
"""
