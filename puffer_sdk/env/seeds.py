"""Seeds of copies.  the seed of a vec, a copy's index -> its own"""
from __future__ import annotations


def mix_seed(seed: int, env: int) -> int:
    """The seed of one env of those created with `seed`: puffer_mix of vecenv.h."""
    mask = 2**64 - 1
    z = (seed + (env + 1) * 0x9E3779B97F4A7C15) & mask
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
    return (z ^ (z >> 31)) >> 16 & 0xFFFFFFFF
