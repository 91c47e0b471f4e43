"""Which encoder suits a row.  policy.encoder, the row's description -> its parts, and why

An image or a grid goes through convolutions, a list through layers that its things share; of ids,
each becomes a number that is 0 or 1. Everything else stays as it is.
"""
from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..base import paths
from ..base.errors import PufferError, UsageError
from ..settings import encoder
from ..settings.encoder import FLAT, MAX_IDS, PRESETS, Part
from ..settings.table import AUTO, ENCODER
from ..settings.values import Config

if TYPE_CHECKING:
    from .job import EnvJob
    from .library import Description
    from .obs_spec import ObsField, ObsSpec

LEAST_SIDE = 9              # of an image or a grid; a smaller one is few numbers,
LEAST_OF_IDS = 5            # but ids want their own ones
MOST_CHANNELS = 64          # of an image; the smallest side is its channels where they come first
NO_OTHER = "the GPU's trainer has no other"


def resolve(config: Config, obs_size: int, read_row: Callable[[], ObsSpec | None]) -> Config:
    """The settings with the parts of policy.encoder, where it is `auto` or a preset.

    read_row    the row's description; read only where it is asked for
    Raises UsageError where a preset finds no image, or parts do not fit the row.
    """
    text = config.policy.encoder
    if text != AUTO and text not in PRESETS:
        encoder.parts_of(text, obs_size)
        return config
    if config.policy.torch_class:
        return config.with_auto(ENCODER, FLAT, "a network of your own sees the whole row")
    row = read_row()
    try:
        parts = choose(row, text)
    except ValueError as error:
        raise UsageError(f"policy.encoder = {text} is too large for the image", where=ENCODER,
                         expected="auto, or a preset that fits", actual=str(error),
                         hint="policy.encoder = auto takes convolutions by its size") from None
    if parts and text == AUTO and (config.train.backend, config.train.device) == (
            "native", "cuda"):
        return config.with_auto(ENCODER, FLAT, NO_OTHER)
    if text in PRESETS and not any(part.kind == "image" for part in parts):
        raise UsageError(f"policy.encoder = {text} finds no image in the observation",
                         where=ENCODER, expected="`image H x W x C` in the comment of OBS_SIZE or "
                         "of an OBS_ enumerator, or a Box of bytes",
                         actual=_described(row) or "no description",
                         hint="describe it, or name the part: `image 0 48x48x1: 32x8/4 64x4/2`")
    return config.with_auto(ENCODER, encoder.show(parts), "the description of the observation"
                            if parts else "the observation has no image, grid, list or ids")


def choose(row: ObsSpec | None, preset: str = AUTO) -> tuple[Part, ...]:
    """The parts of a described row, with their convolutions; () where it has none. Raises
    ValueError where the preset is too large for an image."""
    found = [_part_of(field) for field in (row.described if row else ())
             if field.fits and not field.unclear]
    parts = [encoder.layers_for(part, preset) for part in found if part is not None]
    return tuple(sorted(parts[:encoder.MAX_PARTS], key=lambda part: part.first))


def say(config: Config) -> str | None:
    """The sentence of a run's first lines; None where it is flat because nothing else fits."""
    origin = config.origin.get(ENCODER, "")
    if origin == f"{AUTO}: {NO_OTHER}":
        return ("encoder: flat, as the trainer on a GPU has no other; --train.device cpu sees the "
                "parts that are described")
    if config.policy.encoder == FLAT or not origin.startswith(f"{AUTO}: "):
        return None
    return f"encoder: {config.policy.encoder}; policy.encoder flat disables it"


def _part_of(field: ObsField) -> Part | None:
    if field.kind in ("image", "grid") and len(field.shape) in (2, 3):
        return _cells_of(field)
    if field.kind == "list" and field.shape[0] > 1 and not field.ids:
        return Part("list", field.first, field.shape[0], 1, field.shape[1], mask=field.mask)
    if field.kind == "numbers" and 2 <= field.ids <= MAX_IDS:
        return Part("ids", field.first, field.count, 1, 1, (field.ids,))
    return None


def _cells_of(field: ObsField) -> Part | None:
    sizes = field.shape if len(field.shape) == 3 else (*field.shape, 1)
    planes = sizes[0] < LEAST_SIDE <= min(sizes[1:]) and sizes[2] > sizes[0]
    height, width, channels = (*sizes[1:], sizes[0]) if planes else sizes
    least = LEAST_OF_IDS if field.ids or field.cell else LEAST_SIDE
    if min(height, width) < least or channels > MOST_CHANNELS \
            or max(field.ids, *field.cell, 0) > MAX_IDS or 1 in field.cell:
        return None
    ids = field.cell or ((field.ids,) * channels if field.ids > 1 else ())
    if planes and ids:
        return None
    return Part(field.kind, field.first, height, width, channels, ids, planes=planes)


def _described(row: ObsSpec | None) -> str:
    return ", ".join(filter(None, (field.described for field in row.described))) if row else ""


# -- compiled environments ---------------------------------------------------------------------


def of_compiled(job: EnvJob, about: Description) -> Config:
    """The job's settings with its encoder resolved."""
    return of_folder(job.config, job.folder, about)


def of_folder(config: Config, folder: Path | None, about: Description) -> Config:
    """The settings with the encoder that the header of this folder asks for. folder None: of a
    Python environment that nobody has measured."""
    return resolve(config, about.obs_size, lambda: read_row(folder, about, config)
                   if _may_be_described(folder) else None)


def read_row(folder: Path | None, about: Description, config: Config) -> ObsSpec | None:
    """What the header says of the row."""
    from . import header, obs_spec

    if folder is None:
        return None
    with suppress(PufferError):
        return obs_spec.read(header.read(folder), about.obs_size, about.act_sizes, config.env)
    return None


def _may_be_described(folder: Path | None) -> bool:
    """Whether a source of the environment has words that may describe parts of a row."""
    from . import obs_comments
    return folder is not None and any(
        obs_comments.may_describe(paths.text(path)) for path in paths.c_files(folder))
