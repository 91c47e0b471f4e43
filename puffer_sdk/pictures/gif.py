"""Encode a GIF.  frames (h, w, 3) uint8, one after the other -> FILE.gif, small and exact

    colours    exact if all frames together have 256 or fewer; else the best 255, the same for
               all frames and without dithering, so that nothing flickers
    regions    each frame is the box that changed; unchanged pixels in it are transparent if that
               is shorter
    time       delays are hundredths of a second that add up to the right total. Browsers show
               delays below 2 slowly, so above 50 frames a second only every nth frame is written

Frames are encoded as they come. With the 257th colour the best ones must be found, for which all
frames are needed: so the change of each frame is stored too, compressed, on the disk once it is
long. Memory does not grow with the number of frames.

Pillow compresses (LZW) and finds the best colours. Its own GIF writer does not serve: it keeps all
frames in memory, takes colours from the first frame or gives each frame its own, and spends 9 bits
a code on pictures of four colours.
"""
from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from ..base.drafts import Draft, Finished
from ..base.errors import UsageError
from .palette import Table, best_colours, distinct, pack, sample, unpack

FASTEST = 50                # frames per second: browsers slow down faster ones
IN_MEMORY = 32 << 20        # bytes of a spool before it goes to the disk
KEEP = 1 << 2               # disposal: the next frame is drawn over this one
Box = tuple[int, int, int, int]     # top, bottom, left, right
LONGEST = 65535             # hundredths of a second: the longest delay of one frame


def changed_box(old: np.ndarray | None, new: np.ndarray) -> Box | None:
    """The smallest box outside of which nothing differs; None: nothing."""
    if old is None:
        return 0, new.shape[0], 0, new.shape[1]
    if old.shape != new.shape:
        raise ValueError(f"a frame of {new.shape} among frames of {old.shape}")
    differs = old != new
    rows = np.flatnonzero(differs.any(axis=1))
    if not len(rows):
        return None
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    columns = np.flatnonzero(differs[top:bottom].any(axis=0))
    return top, bottom, int(columns[0]), int(columns[-1]) + 1


class Spool:
    """Frames (h, w) of one size and type, stored as changes. Can be iterated many times."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)   # noqa: SIM115
        self._entries: list[tuple[Box | None, int]] = []    # (box, bytes), or (None, 0): no change
        self._last: np.ndarray | None = None
        self.shape, self.dtype = (0, 0), np.dtype(np.uint8)     # (h, w), once there is a frame

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, frame: np.ndarray) -> None:
        """Store a frame. The array is kept until the next call: do not write into it."""
        box = changed_box(self._last, frame)
        self._last = frame
        self.append_part(None if box is None else (frame[box[0]:box[1], box[2]:box[3]], box))

    def append_part(self, change: tuple[np.ndarray, Box] | None) -> None:
        """Store a frame by its known change; None: no change."""
        if change is None:
            self._entries.append((None, 0))
            return
        part, box = change
        data = zlib.compress(np.ascontiguousarray(part).data, 1)
        self._file.write(data)
        if not self._entries:
            self.shape, self.dtype = (part.shape[0], part.shape[1]), part.dtype
        self._entries.append((box, len(data)))

    def __iter__(self) -> Iterator[tuple[np.ndarray, Box | None]]:
        """(the frame, the box that changed or None). The frame is valid until the next."""
        if not self._entries:
            return
        canvas = np.zeros(self.shape, self.dtype)
        position = 0
        for box, size in self._entries:
            if box is not None:
                self._file.seek(position)
                top, bottom, left, right = box
                part = np.frombuffer(zlib.decompress(self._file.read(size)), self.dtype)
                canvas[top:bottom, left:right] = part.reshape(bottom - top, right - left)
                position += size
            yield canvas, box
        self._file.seek(0, 2)

    def close(self) -> None:
        self._file.close()


class GifWriter(Finished):
    """Writes frames one by one; `close` completes the file. As a context manager, it leaves no file
    after an exception.

    path     written under a temporary name, then renamed
    fps      frames per second; any positive number
    """

    def __init__(self, path: Path, fps: float):
        if not fps > 0:
            raise UsageError("a GIF needs more than 0 frames per second", actual=fps)
        self.fps, self.count = float(fps), 0
        self.every = max(1, int(np.ceil(fps / FASTEST)))        # only every nth frame is written
        self._draft = Draft(path, what="the GIF")
        self._spool = Spool()               # of indices; later perhaps of packed colours
        self._last: np.ndarray | None = None
        self._blocks: Blocks | None = None
        self._index = np.full(1 << 24, -1, np.int16)    # packed colour -> index, or -1
        self._colours = np.empty(0, np.uint32)          # index -> packed colour
        self._exact = True

    def write(self, frame: np.ndarray) -> None:
        """The next frame, (h, w, 3) uint8, of the same size as the others."""
        self.count += 1
        if (self.count - 1) % self.every:
            return
        packed = pack(frame)
        box = changed_box(self._last, packed)
        self._last = packed
        if box is None:
            self._spool.append_part(None)
            return
        part = packed[box[0]:box[1], box[2]:box[3]]
        with self._draft.errors():
            if self._exact:
                self._exact = self._index_new(part)
                if not self._exact:
                    self._unpack_spool()
            if self._exact:
                part = self._index[part].astype(np.uint8)
                height, width = packed.shape
                self._blocks = self._blocks or Blocks(self._draft.file, (height, width))
                self._blocks.add(part, box, self._start(self.count - 1), len(self._colours))
            self._spool.append_part((part, box))

    def _index_new(self, part: np.ndarray) -> bool:
        """Give new colours an index; False if there are too many."""
        new = part[self._index[part] < 0]
        if new.size:
            new = distinct(new)
            if len(self._colours) + len(new) > 256:
                return False
            self._index[new] = np.arange(len(self._colours), len(self._colours) + len(new))
            self._colours = np.concatenate([self._colours, new])
        return True

    def _unpack_spool(self) -> None:
        """Convert the spool from indices to packed colours."""
        old, self._spool = self._spool, Spool()
        for indices, box in old:
            self._spool.append_part(None if box is None else (
                self._colours[indices[box[0]:box[1], box[2]:box[3]]], box))
        old.close()

    def _start(self, frame: int) -> int:
        """The time at which a frame begins, in hundredths of a second."""
        return round(100 * frame / self.fps)

    def close(self, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Encode the rest and put the file in its place. on_progress(done, total): frames."""
        if not self.count:
            self.abandon()
            raise UsageError("a GIF needs at least one frame", where=self._draft.path)
        with self._draft.errors():
            blocks = self._blocks if self._exact else self._encode(on_progress)
            if blocks is not None:          # there is a frame, so there is a block
                blocks.end(self._start(self.count), self._colours)
        self._draft.keep()
        self._spool.close()

    def _encode(self, on_progress: Callable[[int, int], None] | None) -> Blocks:
        """Encode all frames again, with the best colours."""
        self._draft.file.seek(0)
        self._draft.file.truncate()
        blocks = Blocks(self._draft.file, self._spool.shape)
        self._colours = best_colours(*sample(self._spool), 255)
        table = Table(self._colours)
        for i, (packed, box) in enumerate(self._spool):
            if box is not None:
                part = table.indices(packed[box[0]:box[1], box[2]:box[3]])
                blocks.add(part, box, self._start(i * self.every), len(self._colours))
            if on_progress:
                on_progress(i + 1, len(self._spool))
        return blocks

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._draft.drop()
        self._spool.close()


class Blocks:
    """Writes the GIF format: a header, then images, each after its delay.

    The delay comes first, so an image is written once the next one begins.
    """

    TABLE = 13                  # offset of the 256 colours

    def __init__(self, file: IO[bytes], shape: tuple[int, int]):
        self.file, self.shape = file, shape
        self.shown = np.empty(shape, np.uint8)          # indices: what viewers see
        self.waiting, self.begun = b"", 0               # an image, and since when
        self.clear: int | None = None
        file.write(b"GIF89a" + struct.pack("<HHBBB", shape[1], shape[0], 0xF7, 0, 0)
                   + bytes(768) + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")  # loops for ever

    def add(self, part: np.ndarray, box: Box, when: int, colours: int) -> None:
        """From time `when` on, the box shows these indices, all below `colours`."""
        bits = max(2, min(colours, 255).bit_length())
        clear = colours if colours < 256 else None      # the index that means: unchanged
        top, bottom, left, right = box
        if not self.waiting:
            image = _image(part, None, 0, 0, bits, None)
        else:
            image = _change(self.shown[top:bottom, left:right], part, top, left, bits, clear)
            if not image:
                return
            self._write(when)
        self.shown[top:bottom, left:right] = part
        self.waiting, self.clear, self.begun = image, clear, when

    def end(self, when: int, colours: np.ndarray) -> None:
        """Show the last image until `when`. colours: packed, by index."""
        self._write(max(when, self.begun + 2))
        self.file.write(b";")
        self.file.seek(self.TABLE)
        self.file.write(unpack(colours).tobytes())

    def _write(self, until: int) -> None:
        delay, image, clear = until - self.begun, self.waiting, self.clear
        while True:
            now = min(delay, LONGEST)
            flags = KEEP | (clear is not None)
            self.file.write(b"\x21\xf9\x04" + struct.pack("<BHBB", flags, now, clear or 0, 0)
                            + image)
            delay -= now
            if not delay:
                return
            # Extend the delay by a pixel that changes nothing; without a clear index, by all pixels
            image = _image(np.full((1, 1), clear, np.uint8), None, 0, 0, 8, None) \
                if clear is not None else _image(self.shown, None, 0, 0, 8, None)


def _change(old: np.ndarray, new: np.ndarray, top: int, left: int, bits: int,
            clear: int | None) -> bytes:
    """The image that turns old into new, or b"" if they are equal."""
    box = changed_box(old, new)
    if box is None:
        return b""
    y0, y1, x0, x1 = box
    return _image(new[y0:y1, x0:x1], old[y0:y1, x0:x1], top + y0, left + x0, bits, clear)


def _image(part: np.ndarray, old: np.ndarray | None, top: int, left: int, bits: int,
           clear: int | None) -> bytes:
    """An image block: all pixels, or unchanged ones transparent, whichever is shorter."""
    data = _lzw(part, bits)
    if clear is not None and old is not None:
        sparse = _lzw(np.where(part == old, np.uint8(clear), part), bits)
        data = min(data, sparse, key=len)
    height, width = part.shape
    return b"," + struct.pack("<HHHHB", left, top, width, height, 0) + data


def _lzw(part: np.ndarray, bits: int) -> bytes:
    from PIL import Image

    packed = Image.fromarray(np.ascontiguousarray(part)).tobytes("gif", "L", bits, 0)
    return bytes([bits]) + packed + b"\0"
