"""Encode a GIF.  frames (h, w, 3) uint8, one after the other -> FILE.gif, small and exact

    colours    all of them exactly, where the frames together have 256 or fewer; else the best 255,
               the same for all frames and without dithering, so that nothing flickers
    regions    each frame is the box that changed, and in it what did not change is transparent
               where that is shorter
    time       delays are hundredths of a second that add up to the right total. Browsers show
               delays below 2 slowly, so above 50 frames a second every nth frame is left out

Frames are encoded as they come. The 257th colour shows that the best ones have to be found, which
takes all frames: so what changed in each is kept too, compressed, on the disk once it is long.
Memory does not grow with the number of frames.

Pillow compresses (LZW) and finds the best colours. Its own GIF writer is not used: it keeps all
frames in memory, takes colours from the first frame or gives each frame its own, and spends 9 bits
a code on pictures of four colours.
"""
from __future__ import annotations

import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from .drafts import Draft
from .errors import UsageError

FASTEST = 50                # frames a second: browsers slow down what is faster
IN_MEMORY = 32 << 20        # bytes of a spool before it goes to the disk
SAMPLE = 1 << 22            # pixels looked at in choosing colours
KEEP = 1 << 2               # disposal: the next frame is drawn over this one
NEAR = 2.0                  # colours at less than this distance (see _points) look the same
LONGEST = 65535             # hundredths of a second that one frame may last


def pack(frame: np.ndarray) -> np.ndarray:
    """(h, w, 3) uint8 as (h, w) 0xRRGGBB."""
    wide = np.zeros((*frame.shape[:2], 4), np.uint8)
    for channel in range(3):            # one by one: five times as fast as all three at once
        wide[..., 2 - channel] = frame[..., channel]
    return wide.view("<u4")[..., 0]


def unpack(packed: np.ndarray) -> np.ndarray:
    """What `pack` was given."""
    wide = np.ascontiguousarray(packed, "<u4").view(np.uint8).reshape(*packed.shape, 4)
    frame = np.empty((*packed.shape, 3), np.uint8)
    for channel in range(3):
        frame[..., channel] = wide[..., 2 - channel]
    return frame


def changed_box(old: np.ndarray | None, new: np.ndarray) -> tuple[int, int, int, int] | None:
    """The smallest (top, bottom, left, right) outside of which nothing differs; None: nothing."""
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
    """Frames (h, w) of one size and type, kept as what changed. Iterate as often as wanted."""

    def __init__(self):
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY)   # noqa: SIM115
        self._entries: list[tuple] = []         # (box, bytes), or (None, 0): as the one before
        self._last: np.ndarray | None = None
        self.shape, self.dtype = None, None     # (h, w), once there is a frame

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, frame: np.ndarray) -> None:
        """The array is kept until the next call: do not write into it."""
        box = changed_box(self._last, frame)
        self._last = frame
        self.append_part(None if box is None else frame[box[0]:box[1], box[2]:box[3]], box)

    def append_part(self, part: np.ndarray | None, box: tuple | None) -> None:
        """The same for what is known to have changed; nothing: None, None."""
        data = b""
        if box is not None:
            data = zlib.compress(np.ascontiguousarray(part), 1)
            self._file.write(data)
            if not self._entries:
                self.shape, self.dtype = part.shape, part.dtype
        self._entries.append((box, len(data)))

    def __iter__(self) -> Iterator[tuple[np.ndarray, tuple | None]]:
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


class GifWriter:
    """Write frames one by one; `close` encodes them. As a context manager an exception leaves
    no file.

    path     written under a temporary name, then renamed
    fps      the speed at which the frames play; any positive number
    """

    def __init__(self, path: Path, fps: float):
        if not fps > 0:
            raise UsageError("a GIF plays at more than 0 frames a second", actual=fps)
        self.fps, self.count = float(fps), 0
        self.every = max(1, int(np.ceil(fps / FASTEST)))        # of so many frames, one is shown
        self._draft = Draft(path, what="the GIF")
        self._spool = Spool()               # indices while all colours are exact, then packed
        self._last: np.ndarray | None = None
        self._blocks: Blocks | None = None
        self._index = np.full(1 << 24, -1, np.int16)    # of a packed colour
        self._colours = np.empty(0, np.uint32)          # as their indices have it
        self._exact = True

    def write(self, frame: np.ndarray) -> None:
        """The next frame, (h, w, 3) uint8, of the same size as the others."""
        self.count += 1
        if (self.count - 1) % self.every:
            return
        packed = pack(frame)
        box = changed_box(self._last, packed)
        self._last = packed
        part = None if box is None else packed[box[0]:box[1], box[2]:box[3]]
        with self._draft.errors():
            if self._exact and box is not None:
                self._exact = self._know(part)
                if not self._exact:
                    self._unpack_spool()
            if self._exact and box is not None:
                part = self._index[part].astype(np.uint8)
                self._blocks = self._blocks or Blocks(self._draft.file, packed.shape)
                self._blocks.add(part, box, self._start(self.count - 1), len(self._colours))
            self._spool.append_part(part, box)

    def _know(self, part: np.ndarray) -> bool:
        """Give the colours that are new an index; False where there are too many."""
        new = part[self._index[part] < 0]
        if new.size:
            new = distinct(new)
            if len(self._colours) + len(new) > 256:
                return False
            self._index[new] = np.arange(len(self._colours), len(self._colours) + len(new))
            self._colours = np.concatenate([self._colours, new])
        return True

    def _unpack_spool(self) -> None:
        """From here on the spool holds packed colours: what was exact has to be done again."""
        old, self._spool = self._spool, Spool()
        for indices, box in old:
            part = None if box is None else self._colours[indices[box[0]:box[1], box[2]:box[3]]]
            self._spool.append_part(part, box)
        old.close()

    def _start(self, frame: int) -> int:
        """When it begins, in hundredths of a second."""
        return round(100 * frame / self.fps)

    def close(self, on_progress=None) -> None:
        """Encode what is left and put the file in its place. on_progress(done, total): frames."""
        if not self.count:
            self.abandon()
            raise UsageError("a GIF needs a frame at least", where=self._draft.path)
        with self._draft.errors():
            if not self._exact:
                self._encode(on_progress)
            self._blocks.end(self._start(self.count), self._colours)
        self._draft.keep()
        self._spool.close()

    def _encode(self, on_progress) -> None:
        """All over again, with the best colours."""
        self._draft.file.seek(0)
        self._draft.file.truncate()
        self._blocks = Blocks(self._draft.file, self._spool.shape)
        self._colours = best_colours(*_sample(self._spool), 255)
        table = Table(self._colours)
        for i, (packed, box) in enumerate(self._spool):
            if box is not None:
                part = table.indices(packed[box[0]:box[1], box[2]:box[3]])
                self._blocks.add(part, box, self._start(i * self.every), len(self._colours))
            if on_progress:
                on_progress(i + 1, len(self._spool))

    def abandon(self) -> None:
        """Leave nothing behind."""
        self._draft.drop()
        self._spool.close()

    def __enter__(self) -> GifWriter:
        return self

    def __exit__(self, kind, *exc) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


class Blocks:
    """The GIF's own format: a header, then images and how long each stays.

    An image is written when the next one is known, as its delay comes before it.
    """

    TABLE = 13                  # where the 256 colours begin

    def __init__(self, file, shape: tuple[int, int]):
        self.file, self.shape = file, shape
        self.shown: np.ndarray | None = None            # (h, w) indices: what viewers see
        self.waiting, self.clear, self.begun = b"", None, 0
        file.write(b"GIF89a" + struct.pack("<HHBBB", shape[1], shape[0], 0xF7, 0, 0)
                   + bytes(768) + b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00")  # for ever

    def add(self, part: np.ndarray, box: tuple, when: int, colours: int) -> None:
        """From `when` on, the box holds these indices, all below `colours`."""
        bits = max(2, min(colours, 255).bit_length())
        clear = colours if colours < 256 else None      # the index that means: as before
        top, bottom, left, right = box
        if self.shown is None:
            image = _image(part, None, 0, 0, bits, None)
            self.shown = np.empty(self.shape, np.uint8)
        else:
            image = _change(self.shown[top:bottom, left:right], part, top, left, bits, clear)
            if not image:
                return
            self._write(when)
        self.shown[top:bottom, left:right] = part
        self.waiting, self.clear, self.begun = image, clear, when

    def end(self, when: int, colours: np.ndarray) -> None:
        """The last image stays until `when`. colours: packed, by index."""
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
            # One pixel that changes nothing goes on waiting; without a clear index, all of them
            image = _image(np.full((1, 1), clear, np.uint8), None, 0, 0, 8, None) \
                if clear is not None else _image(self.shown, None, 0, 0, 8, None)


def _change(old: np.ndarray, new: np.ndarray, top: int, left: int, bits: int,
            clear: int | None) -> bytes:
    """The image that turns old into new, or b"" where that takes none."""
    box = changed_box(old, new)
    if box is None:
        return b""
    y0, y1, x0, x1 = box
    return _image(new[y0:y1, x0:x1], old[y0:y1, x0:x1], top + y0, left + x0, bits, clear)


def _image(part: np.ndarray, old: np.ndarray | None, top: int, left: int, bits: int,
           clear: int | None) -> bytes:
    """An image block: as it is, or with what did not change left out, whichever is shorter."""
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


# -- colours -----------------------------------------------------------------------


class Table:
    """Which palette entry stands for a packed colour. A colour always gives the same entry.

    The palette's own colours are exact; of the others, four neighbours in each channel share one.
    """

    COARSE = 0xFCFCFC

    def __init__(self, colours: np.ndarray):
        self._near = np.zeros(1 << 24, np.uint8)
        self._known = np.zeros(1 << 24, bool)
        self._near[colours], self._known[colours] = np.arange(len(colours)), True
        self._points = _points(colours)

    def indices(self, packed: np.ndarray) -> np.ndarray:
        """Packed colours of any shape -> uint8 of that shape."""
        strange = ~self._known[packed]
        if strange.any():
            self._learn(distinct(packed[strange]))
        return self._near[packed]

    def _learn(self, colours: np.ndarray) -> None:
        cells, place = np.unique(colours & self.COARSE, return_inverse=True)
        norms, near = (self._points ** 2).sum(1), np.empty(len(cells), np.uint8)
        for start in range(0, len(cells), 1 << 14):
            some = slice(start, start + (1 << 14))
            middle = _points(cells[some] + np.uint32(0x020202))
            near[some] = (norms - 2 * middle @ self._points.T).argmin(1)
        self._near[colours], self._known[colours] = near[place], True

    def distances(self, colours: np.ndarray) -> np.ndarray:
        """How far each is from its entry, squared."""
        nearest = self._points[self.indices(colours)]
        return ((_points(colours) - nearest) ** 2).sum(1)


def distinct(packed: np.ndarray) -> np.ndarray:
    """np.unique, which takes ten times as long where there are many."""
    line = np.sort(packed, axis=None)
    return line[np.concatenate([[True], line[1:] != line[:-1]])]


def _points(colours: np.ndarray) -> np.ndarray:
    """Packed colours as (n, 3) floats whose distances are roughly what eyes see."""
    return unpack(colours).astype(np.float32) * np.float32([0.55, 0.77, 0.33])


def _sample(spool: Spool) -> tuple[np.ndarray, np.ndarray]:
    """The colours of some frames, evenly spread over the film, and how many pixels each has."""
    height, width = spool.shape
    frames = min(24, max(4, SAMPLE // (height * width)))
    wanted = {round(i * (len(spool) - 1) / (frames - 1)) for i in range(frames)}
    found = [np.unique(packed, return_counts=True)
             for i, (packed, _) in enumerate(spool) if i in wanted]
    colours, place = np.unique(np.concatenate([c for c, _ in found]), return_inverse=True)
    return colours, np.bincount(place, np.concatenate([n for _, n in found]))


def best_colours(colours: np.ndarray, counts: np.ndarray, number: int) -> np.ndarray:
    """`number` packed colours, or fewer, for these colours and counts of pixels.

    First the flat ones, exactly: a colour of its own that many pixels have. Then median cut over
    the others and a few rounds of k-means, with the square roots of the counts as weights: small
    things keep their colours beside a large background.
    """
    flat = _flat_colours(colours, counts, number // 2)
    rest = Table(flat).distances(colours) > NEAR ** 2
    if not rest.any():
        return flat
    cells, weights = _cells(colours[rest], counts[rest])
    found = _median_cut(cells, weights, number - len(flat))
    for _ in range(6):
        nearest = Table(found).indices(pack(cells[None])[0])
        totals = np.bincount(nearest, weights, len(found))
        means = [np.bincount(nearest, weights * cells[:, c], len(found)) for c in range(3)]
        used = totals > 0
        moved = np.stack(means, 1)[used] / totals[used, None]
        found = np.unique(pack(np.rint(moved).astype(np.uint8)[None])[0])
    return np.union1d(flat, found)


def _flat_colours(colours: np.ndarray, counts: np.ndarray, number: int) -> np.ndarray:
    """The commonest colours, no two of which look alike."""
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] * 5000 > counts.sum()][:4096]
    chosen, points = [], _points(colours[order])
    apart = np.full(len(order), np.inf)
    for i, colour in enumerate(colours[order]):
        if apart[i] > (3 * NEAR) ** 2 or not chosen:
            chosen.append(colour)
            apart = np.minimum(apart, ((points - points[i]) ** 2).sum(1))
            if len(chosen) == number:
                break
    return np.sort(np.array(chosen, np.uint32))


def _cells(colours: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most 2^15 colours (n, 3) uint8 that stand for all of them, and their weights."""
    _, place = np.unique(colours & 0xF8F8F8, return_inverse=True)
    totals = np.bincount(place, counts)
    parts = unpack(colours)
    means = [np.bincount(place, counts * parts[:, c]) / totals for c in range(3)]
    return np.rint(np.stack(means, 1)).astype(np.uint8), np.sqrt(totals)


def _median_cut(cells: np.ndarray, weights: np.ndarray, number: int) -> np.ndarray:
    from PIL import Image

    repeats = np.ceil(weights * min(1.0, (1 << 18) / weights.sum())).astype(int)
    line = Image.fromarray(np.repeat(cells, repeats, axis=0)[None])
    entries = line.quantize(number, Image.Quantize.MEDIANCUT).getpalette()
    return np.unique(pack(np.array(entries, np.uint8).reshape(1, -1, 3))[0])
