"""Writes a copy of the author's header that counts what goes through some of its expressions.

    obs[0] = (unsigned char)(x - 1);  ->  obs[0] = (unsigned char)(((int)puffer_narrow(0, x - 1)));

Every line stays where it is, and the copy says whose lines they are.
"""
from collections.abc import Sequence
from pathlib import Path

from ....base import files, paths
from ....base.spec import Spec
from . import driver
from .source.sites import Site

CALLS = {"byte": "puffer_narrow", "quotient": "puffer_quotient", "product": "puffer_quotient",
         "copy": "puffer_copy", "clear": "puffer_forget", "replace": "puffer_forget",
         "share": "puffer_share"}


def write(spec: Spec, sites: Sequence[Site], folder: Path) -> list[Site]:
    """The copy of the header in `folder`, and of a hand-written binding, which includes what lies
    beside it; returns the sites that are counted, by their numbers."""
    header = spec.header
    mine = [site for site in sites if site.file == header.name]
    if mine:
        files.mkdir(folder)
        first = f'#define PUFFER_SITES {len(mine)}\n#include "{driver.PLAY / "probes.h"}"\n'
        copy(header, folder, first, probed(paths.content(header), mine))
        if spec.binding and spec.binding != header:
            copy(spec.binding, folder, "", paths.content(spec.binding))
    return mine


def copy(file: Path, folder: Path, first: str, text: bytes) -> None:
    files.write(folder / file.name, f'{first}#line 1 "{file}"\n'.encode() + text)


def probed(data: bytes, sites: Sequence[Site]) -> bytes:
    """The text with each site's expression in a call. Expressions may lie inside one another."""
    edits: list[tuple[int, int, int, bytes, int]] = []  # at, order, .., text, bytes that go
    for number, site in enumerate(sites):
        before, after = f"(({site.type}){CALLS[site.kind]}({number}, ", "))"
        if site.kind in ("clear", "replace"):               # what is stored stays what it was
            before, after = f"({CALLS[site.kind]}({number}, {site.target}), (", "))"
        length = site.end - site.start
        edits += [(site.start, 1, -length, before.encode(), 0),
                  (site.end, 0, length, after.encode(), 0)]
        if site.slash >= 0:
            edits.append((site.slash, 2, 0, b",", 1))
    out, at = [], 0
    for position, _, _, text, replaced in sorted(edits):
        out += [data[at:position], text]
        at = position + replaced
    return b"".join([*out, data[at:]])
