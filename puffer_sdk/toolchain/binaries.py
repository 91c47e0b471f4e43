"""What a compiler wrote: is it a whole program, library or object?  path -> None or what it is

Read from the file's first bytes, never by opening it as a library: that would run its code.
"""
from __future__ import annotations

import struct
from pathlib import Path

ELF, WASM = b"\x7fELF", b"\0asm"
MACH = (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")      # of one machine, of several


def unlike(path: Path) -> str | None:
    """None for machine code that is whole; else what there is: "no file", "a file cut short"."""
    try:
        with path.open("rb") as file:
            head, size = file.read(64), path.stat().st_size
    except FileNotFoundError:
        return "no file"
    if not size:
        return "no file"
    if head[:4] in (WASM, *MACH):
        return None
    if head[:4] != ELF or len(head) < 52:
        return "something else than machine code"
    return None if _whole(head, size) else "a file cut short"


def _whole(head: bytes, size: int) -> bool:
    """An ELF file of this size holds its table of sections, which linkers write last."""
    wide, order = head[4] == 2, "<" if head[5] == 1 else ">"
    (at,) = struct.unpack_from(order + ("Q" if wide else "I"), head, 0x28 if wide else 0x20)
    each, count = struct.unpack_from(order + "HH", head, 0x3A if wide else 0x2E)
    end: int = at + each * count
    return end <= size
