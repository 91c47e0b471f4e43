"""The encoder of a network, as text.  "image 0 48x48x1: 32x8/4 64x4/2 64x3" <-> its parts

An observation is a row of D numbers. Each part takes some of them and gives features; numbers
that no part takes pass as they are, and come first. So the network sees `seen_size` numbers in
place of D, in a fixed order: those numbers, then the features of one part after another.

    flat                                    no parts: the row as it is
    image 0 48x48x1: 32x8/4 64x4/2 64x3     from element 0 on: height x width x channels, through
                                            convolutions: 32 filters of 8 x 8 with stride 4, ...
    image 0 84x84x4 planes: 32x8/4 64x4/2   the same, where the row has one channel after another
    grid 4 11x15x3 of 16,64,0: 32x3 64x3/2  the same of cells: a channel is one of 16 ids, one of
                                            64, or a number (0)
    ids 2 3 of 10                           from element 2 on 3 numbers, each one of 10 ids
    list 7 6x4 mask 0: 64 64                up to 6 things of 4 numbers, through layers of 64 that
                                            they share, then the maximum of each feature over the
                                            things that are there: number 0 of a thing is not 0

Parts are joined by " + ". An id becomes as many numbers as there are ids, one of which is 1; any
other value than an id becomes zeros. A convolution has no padding, no bias, and ends in max(0, x);
its output has (size - kernel) // stride + 1 rows and columns. Features are ordered by row, column,
filter.
"""
from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..base.errors import UsageError

FLAT = "flat"
PRESETS = ("nature", "impala", "small")
PARTS = "parts as in `image 0 48x48x1: 32x8/4 64x4/2 64x3`"
WORDS = f"flat, {', '.join(PRESETS)}, or {PARTS}"
MAX_PARTS, MAX_CONVOLUTIONS, MAX_CHANNELS = 16, 8, 64       # as in puffer_trainer.h
MAX_FILTERS, MAX_IDS = 1024, 4096

_HEAD = re.compile(r"(image|grid|ids|list)\s+(\d+)\s+(\d+(?:x\d+)*)"
                   r"(?:\s+of\s+(\d+(?:,\d+)*))?(?:\s+mask\s+(\d+))?(\s+planes)?", re.ASCII)
_CONVOLUTION = re.compile(r"(\d+)(?:x(\d+))?(?:/(\d+))?", re.ASCII)
_SIZES = {"image": 3, "grid": 3, "list": 2, "ids": 1}       # numbers of a shape


@dataclass(frozen=True)
class Convolution:
    """Filters of kernel x kernel cells; the next one begins `stride` cells further on."""

    filters: int
    kernel: int = 1
    stride: int = 1

    def __str__(self) -> str:
        return (f"{self.filters}" + f"x{self.kernel}" * (self.kernel > 1)
                + f"/{self.stride}" * (self.stride > 1))


@dataclass(frozen=True)
class Part:
    """Elements of a row that the encoder takes together: height x width cells of `channels`."""

    kind: str                   # "image", "grid", "ids" or "list"
    first: int                  # element of the row
    height: int
    width: int
    channels: int
    ids: tuple[int, ...] = ()   # of each channel; 0 = a number; () = all are numbers
    planes: bool = False        # the row has (channels, height, width) of it
    mask: int | None = None     # of a list: the channel that is not 0 where there is a thing
    layers: tuple[Convolution, ...] = ()

    @property
    def count(self) -> int:
        """Elements of the row."""
        return self.height * self.width * self.channels

    @property
    def inputs(self) -> int:
        """Numbers of a cell, with an id's zeros and one."""
        return sum(count or 1 for count in self.ids) if self.ids else self.channels

    @property
    def pooled(self) -> bool:
        """Whether features are the maximum over all cells."""
        return self.kind == "list"

    @property
    def sizes(self) -> tuple[tuple[int, int, int], ...]:
        """Height, width and channels before the first convolution, and after each."""
        found = [(self.height, self.width, self.inputs)]
        for layer in self.layers:
            height, width, _ = found[-1]
            found.append(((height - layer.kernel) // layer.stride + 1,
                          (width - layer.kernel) // layer.stride + 1, layer.filters))
        return tuple(found)

    @property
    def features(self) -> int:
        """Numbers that the part gives to the network."""
        return self.sizes[-1][2] if self.pooled else math.prod(self.sizes[-1])

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Of each convolution's weights: (filters, kernel * kernel * channels before)."""
        return tuple((layer.filters, layer.kernel ** 2 * before[2])
                     for layer, before in zip(self.layers, self.sizes, strict=False))

    def __str__(self) -> str:
        shape = {"ids": (self.height,), "list": (self.height, self.channels)}.get(
            self.kind, (self.height, self.width, self.channels))
        return (f"{self.kind} {self.first} {'x'.join(map(str, shape))}"
                + (f" of {','.join(map(str, self.ids))}" if self.ids else "")
                + " planes" * self.planes
                + (f" mask {self.mask}" if self.mask is not None else "")
                + (f": {' '.join(map(str, self.layers))}" if self.layers else ""))


def parse(text: str) -> tuple[Part, ...]:
    """The parts, by their first element; () of "flat". Raises ValueError with a reason."""
    if text.strip() == FLAT:
        return ()
    parts = sorted((_part(piece.strip()) for piece in text.split(" + ")),
                   key=lambda part: part.first)
    if len(parts) > MAX_PARTS:
        raise ValueError(f"at most {MAX_PARTS} parts")
    for one, other in zip(parts, parts[1:], strict=False):
        if one.first + one.count > other.first:
            raise ValueError(f"`{one.kind} {one.first}` reaches into `{other.kind} {other.first}`")
    return tuple(parts)


def show(parts: Sequence[Part]) -> str:
    """The text of these parts: parse(show(parts)) == parts."""
    return " + ".join(map(str, parts)) if parts else FLAT


def canonical(text: str) -> str:
    """The same encoder as an ini holds it. Raises ValueError."""
    words = text.strip().lower()
    return words if words in PRESETS else show(parse(words))


def _part(text: str) -> Part:
    head, _, layers = text.partition(":")
    match = _HEAD.fullmatch(head.strip())
    if not match:
        raise ValueError(f"cannot read `{text}`")
    kind, first, ids, mask = match[1], int(match[2]), match[4], match[5]
    shape = [int(size) for size in match[3].split("x")]
    if len(shape) == 2 and kind in ("image", "grid"):
        shape.append(1)
    if len(shape) != _SIZES[kind] or min(shape) < 1:
        raise ValueError(f"`{kind}` takes {_SIZES[kind]} sizes from 1, not {match[3]}")
    height, width, channels = {"ids": (shape[0], 1, 1), "list": (shape[0], 1, shape[-1])}.get(
        kind, tuple(shape[:3]))
    counts = tuple(int(count) for count in ids.split(",")) if ids else ()
    if len(counts) == 1 and channels > 1:
        counts *= channels
    part = Part(kind, first, height, width, channels, counts, bool(match[6]),
                int(mask) if mask else None, tuple(map(_convolution, layers.split())))
    _check(part)
    return part


def _convolution(text: str) -> Convolution:
    match = _CONVOLUTION.fullmatch(text)
    if not match:
        raise ValueError(f"cannot read the convolution `{text}`: FILTERSxKERNEL/STRIDE")
    return Convolution(int(match[1]), int(match[2] or 1), int(match[3] or 1))


def _check(part: Part) -> None:
    """Raises ValueError where the part cannot be."""
    if part.ids and (len(part.ids) != part.channels or part.channels > MAX_CHANNELS):
        raise ValueError(f"{len(part.ids)} counts of ids for {part.channels} channels "
                         f"(at most {MAX_CHANNELS})")
    if part.planes and (part.kind not in ("image", "grid") or part.ids):
        raise ValueError("`planes` is of an image or a grid of numbers")
    if part.kind == "ids" and (not part.ids or part.layers):
        raise ValueError("`ids` takes `of COUNT`, and no layers")
    if any(count == 1 or count > MAX_IDS for count in part.ids):
        raise ValueError(f"a count of ids is 0 or from 2 to {MAX_IDS}")
    if part.mask is not None and (part.kind != "list" or part.mask >= part.channels):
        raise ValueError("`mask` is of a list, and one of its numbers")
    if part.kind != "ids" and not part.layers:
        raise ValueError(f"`{part.kind} {part.first}` has no layers")
    if len(part.layers) > MAX_CONVOLUTIONS:
        raise ValueError(f"at most {MAX_CONVOLUTIONS} convolutions")
    for layer in part.layers:
        if not 1 <= layer.filters <= MAX_FILTERS or layer.stride < 1 or layer.kernel < 1:
            raise ValueError(f"`{layer}`: filters from 1 to {MAX_FILTERS}, kernel and stride from "
                             "1")
    for layer, (height, width, _) in zip(part.layers, part.sizes, strict=False):
        if min(height, width) < layer.kernel and not part.pooled:
            raise ValueError(f"`{layer}` is larger than what it sees, {height} x {width}")
        if part.pooled and (layer.kernel, layer.stride) != (1, 1):
            raise ValueError("layers of a list have no kernel and no stride: `64 64`")


# -- how a network sees a row ------------------------------------------------------------------


def parts_of(text: str, obs_size: int) -> tuple[Part, ...]:
    """The parts of a row of so many numbers; () where `auto` was not resolved: flat.

    Raises UsageError where they do not fit the row, and for a preset of no part."""
    if text == "auto":
        return ()
    if text in PRESETS:
        raise UsageError(f"policy.encoder = {text} names no part of the observation",
                         expected=PARTS, actual=text,
                         hint="puffer_sdk.Trainer and train find the image; a trainer made by hand "
                              "is told where it is")
    try:
        parts = parse(text)
    except ValueError as error:
        raise UsageError("policy.encoder cannot be read", expected=WORDS, actual=text,
                         detail=str(error)) from None
    if parts and parts[-1].first + parts[-1].count > obs_size:
        last = parts[-1]
        raise UsageError("policy.encoder does not fit the observation",
                         expected=f"parts of {obs_size} numbers",
                         actual=f"`{last}`, whose last element is {last.first + last.count - 1}",
                         hint="policy.encoder = auto takes the parts from the header")
    return parts


def plain_numbers(parts: Sequence[Part], obs_size: int) -> tuple[slice, ...]:
    """The elements that no part takes, in order."""
    ends = [0, *(part.first + part.count for part in parts)]
    return tuple(slice(end, begin) for end, begin in zip(
        ends, [*(part.first for part in parts), obs_size], strict=True) if end < begin)


def seen_size(parts: Sequence[Part], obs_size: int) -> int:
    """Numbers that the network sees: those that no part takes, and the features."""
    return obs_size + sum(part.features - part.count for part in parts)


def weight_shapes(parts: Sequence[Part]) -> dict[str, tuple[int, int]]:
    """{"parts.0.1": (filters, kernel * kernel * channels)}: part 0, its convolution 1."""
    return {f"parts.{number}.{layer}": shape for number, part in enumerate(parts)
            for layer, shape in enumerate(part.shapes)}


# -- what a row's description asks for ----------------------------------------------------------


_CONVOLUTIONS = {
    "nature": "32x8/4 64x4/2 64x3",
    "impala": "16x3/2 16x3 32x3/2 32x3 32x3/2 32x3",
    "small": "16x8/4 32x4/2"}
# smallest side -> convolutions. On a CPU half of nature's filters learn as much in less time
_BY_SIZE = ((36, "16x8/4 32x4/2 32x3"), (18, "16x4/2 32x3/2 32x3"), (9, "16x3 32x3/2"),
            (3, "32x3"), (1, "32"))
_SHARED = "64 64"           # of a list


def layers_for(part: Part, preset: str = "auto") -> Part:
    """The part with the convolutions of a preset, or those that suit its size."""
    side = min(part.height, part.width)
    if part.kind == "ids":
        return part
    if part.kind == "list":
        text = _SHARED
    elif preset in _CONVOLUTIONS and part.kind == "image":
        text = _CONVOLUTIONS[preset]
    else:
        text = next(layers for least, layers in _BY_SIZE if side >= least)
    made = replace(part, layers=tuple(map(_convolution, text.split())))
    _check(made)
    return made
