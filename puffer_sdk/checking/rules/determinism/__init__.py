"""The same bytes from the same seed.

    determinism     PUF501-505: seeds, other envs, threads (threads.c), builds
    secrets         PUF506: what an agent must not see (private.c)

repeated_reset.c looks whether one episode differs from the next.
"""
