"""Copies with seeds of their own.  a Library, seeds -> VecEnv that keeps all final observations"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...env.library import Library
from ...env.vec import VecEnv


def make_vec(library: Library, seeds: Sequence[int], agents: int, settings: Mapping[str, float],
             threads: int = 1) -> VecEnv:
    """A VecEnv of copies with these own seeds, that keeps all final observations."""
    vec = VecEnv(library, total_agents=len(seeds) * agents, env_seeds=seeds, threads=threads,
                 env_settings=settings)
    vec.all_finals = vec.description.has_all_finals
    return vec
