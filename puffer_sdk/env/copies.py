"""Copies of an environment, of equal or unequal sizes.  an opened library, a number -> VecEnv"""
from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.errors import NotWhole
from .abi import CObject
from .library import EnvLibrary
from .vec import VecEnv, VecOptions, make_vec

if TYPE_CHECKING:
    from typing_extensions import Unpack

RETRIES = 3         # numbers of agents that a binding said it fills, and did not


def make_copies(library: EnvLibrary, copies: int, watches: CObject = None,
                **options: Unpack[VecOptions]) -> VecEnv:
    """make_vec of so many copies. Where a binding makes them all at once and they differ in size,
    as many as it makes for so many agents: whole ones."""
    total = copies * library.agents_per_env(options.get("env_settings"), watches)
    for _ in range(RETRIES):
        try:
            return make_vec(library, total_agents=total, watches=watches, **options)
        except NotWhole as error:
            if error.fits is None:
                raise
            total = error.fits
    return make_vec(library, total_agents=total, watches=watches, **options)
