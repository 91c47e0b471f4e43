"""The encoder's parts as text, and what they make of a row."""
from __future__ import annotations

import pytest

from puffer_sdk.base import paths
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import abi
from puffer_sdk.settings import encoder
from puffer_sdk.settings.table import KEYS, parse

MANY = ("ids 2 2 of 10 + grid 4 11x15x3 of 16,64,0: 32x3 64x3/2 + "
        "list 499 6x4 mask 0: 64 64")


@pytest.mark.parametrize("text", ["flat", "image 0 48x48x1: 32x8/4 64x4/2 64x3", MANY])
def test_a_text_comes_back(text: str) -> None:
    assert encoder.show(encoder.parse(text)) == text
    assert parse(KEYS["policy.encoder"], text) == text


def test_parts_are_sorted_and_sizes_follow() -> None:
    pieces = MANY.split(" + ")
    parts = encoder.parse(" + ".join(reversed(pieces)))
    assert encoder.show(parts) == MANY
    assert [part.count for part in parts] == [2, 495, 24]
    assert [part.features for part in parts] == [2 * 10, 4 * 6 * 64, 64]
    assert parts[1].sizes == ((11, 15, 81), (9, 13, 32), (4, 6, 64))
    assert encoder.weight_shapes(parts) == {
        "parts.1.0": (32, 9 * 81), "parts.1.1": (64, 9 * 32),
        "parts.2.0": (64, 4), "parts.2.1": (64, 64)}
    assert encoder.seen_size(parts, 530) == 2 + 7 + 20 + 1536 + 64
    assert encoder.plain_numbers(parts, 530) == (slice(0, 2), slice(523, 530))
    assert encoder.seen_size((), 12) == 12 and encoder.plain_numbers((), 12) == (slice(0, 12),)


@pytest.mark.parametrize("text, reason", [
    ("image 0 48x48", "has no layers"),
    ("image 0 48: 32x8/4", "takes 3 sizes"),
    ("image 0 6x6x1: 32x8/4", "larger than what it sees"),
    ("image 0 9x9x1: 32x8/4 32x2", "larger than what it sees"),
    ("image 0 9x9x1: 32x8/0", "stride from 1"),
    ("image 0 9x9x1: 0x3", "filters from 1"),
    ("image 0 9x9x1: big", "FILTERSxKERNEL/STRIDE"),
    ("ids 0 3", "takes `of COUNT`"),
    ("ids 0 3 of 1", "from 2 to"),
    ("grid 0 5x5x2 of 3,4,5: 32x3", "3 counts of ids for 2"),
    ("list 0 6x4 mask 4: 64", "one of its numbers"),
    ("list 0 6x4: 64x3", "no kernel"),
    ("image 0 9x9x1: 8x3 + ids 80 2 of 4", "reaches into"),
    ("convolutions", "cannot read"),
    ("", "cannot read")])
def test_what_cannot_be_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        encoder.parse(text)
    with pytest.raises(ValueError, match=reason):
        parse(KEYS["policy.encoder"], text)


def test_parts_fit_their_row() -> None:
    assert encoder.parts_of("auto", 3) == ()
    assert len(encoder.parts_of("image 0 48x48x1: 32x8/4", 2304)) == 1
    with pytest.raises(UsageError) as caught:
        encoder.parts_of("image 1 48x48x1: 32x8/4", 2304)
    assert "2304 numbers" in str(caught.value.expected)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 9, 12, 18, 24, 36, 48, 64, 84, 96, 210])
def test_every_size_has_convolutions(size: int) -> None:
    part = encoder.layers_for(encoder.Part("image", 0, size, size, 3))
    assert part.features > 0 and part.layers


def test_the_headers_have_the_same_bounds() -> None:
    trainer = abi.constants(abi.trainer_header())
    player = abi.constants(paths.include_dir() / "puffernet.h")
    for bound, names in (
            (encoder.MAX_PARTS, ("PUFFER_MAX_PARTS", "PUFFERNET_PARTS")),
            (encoder.MAX_CONVOLUTIONS, ("PUFFER_MAX_CONVOLUTIONS", "PUFFERNET_CONVS")),
            (encoder.MAX_CHANNELS, ("PUFFER_MAX_CHANNELS",)),
            (encoder.MAX_FILTERS, ("PUFFERNET_FILTERS",)), (encoder.MAX_IDS, ("PUFFERNET_IDS",))):
        assert {int((trainer | player)[name]) for name in names} == {bound}, names


def test_a_preset_that_nobody_resolved_is_no_flat_row() -> None:
    with pytest.raises(UsageError, match="names no part of the observation"):
        encoder.parts_of("nature", 64 * 64)
