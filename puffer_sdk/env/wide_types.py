"""Types that ask for more alignment than malloc gives.  an env folder -> bytes

    typedef struct __attribute__((aligned(32))) { float at[8]; } Item;
    typedef struct { __m256 at; } Item;

A compiler may move such a struct with instructions that fail at any other address, and calloc gives
multiples of 16. The libraries that this package makes get their memory aligned.
"""
from __future__ import annotations

import re
from pathlib import Path

from ..base import paths
from .source import hide

GIVEN = 16              # by malloc
MOST = 4096
_ASKED = re.compile(
    r"\b(?:aligned|vector_size|_Alignas|alignas)(?:__)?\s*\(\s*(\d{1,4}|[A-Za-z_]\w*)\s*\)")
_NUMBER = re.compile(r"^\s*#\s*define\s+(\w+)\s+(\d{1,4})\b", re.M)
_VECTOR = re.compile(r"\b__m(256|512)(?:[dihx]|bh)?\b")        # of immintrin.h, in bits


def asked_for(folder: Path) -> int:
    """The widest alignment that the author's files name, in bytes; 0 where malloc's is enough."""
    text = "\n".join(hide(paths.text(file)) for file in paths.c_files(folder))
    numbers = dict(_NUMBER.findall(text))
    named = [int(numbers.get(found, found)) for found in _ASKED.findall(text)
             if found.isdigit() or found in numbers]
    wide = max([*named, *(int(bits) // 8 for bits in _VECTOR.findall(text))], default=0)
    return wide if GIVEN < wide <= MOST and not wide & (wide - 1) else 0


def flags(folder: Path) -> list[str]:
    """What aligns the memory of a library: include/puffer_prelude.h."""
    wide = asked_for(folder)
    return [f"-DPUFFER_ALIGNED={wide}"] if wide else []
