"""Write pictures.  frames (h, w, 3) uint8 RGB, row 0 on top -> FILE.gif, FILE.mp4, DIR/*.png

A writer takes frames one at a time and keeps none of them in memory:

    with GifWriter(Path("out.gif"), fps=30) as writer:
        for frame in frames:
            writer.write(frame)

A file gets its name once it is complete. All frames of a file have one size. Films are written by
imageio, single pictures by Pillow, GIFs by gif.py.
"""
from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..base import extras, files
from ..base.drafts import Draft, Finished
from ..base.errors import RunError, UsageError
from ..base.files import temporary
from .gif import GifWriter

FRAME_NAME = "frame_{:06}.png"
OUR_FRAMES = re.compile(r"frame_\d{6,}\.png|\.frame_\d{6,}\.png\.[\d.-]+(png)?")  # or a draft


def write_gif(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """Write all frames to a GIF that loops for ever. See gif.py for colours, size and time."""
    with GifWriter(files.typed(path), fps) as writer:
        for frame in frames:
            writer.write(frame)


def write_mp4(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """Write all frames to an H.264 film for browsers. UsageError without the extra `video`."""
    with Mp4Writer(files.typed(path), fps) as writer:
        for frame in frames:
            writer.write(frame)


def write_png(path: Path, frame: np.ndarray) -> None:
    """Write one frame. Raises RunError where it cannot be written."""
    draft = Draft(path, what="the picture")
    with draft.errors():
        _save_png(draft.file, frame)
    draft.keep()


def _save_png(file: IO[bytes], frame: np.ndarray) -> None:
    from PIL import Image

    Image.fromarray(np.ascontiguousarray(frame)).save(file, "PNG", compress_level=3)


def require_video() -> None:
    """Raises UsageError where mp4 cannot be written."""
    for module in ("imageio", "imageio_ffmpeg"):
        extras.require(module, "video", "an mp4", instead="or make a GIF: --gif out.gif")


class Mp4Writer(Finished):
    """An H.264 film: yuv420p in the colours of BT.709, its index at the front (faststart).

    Sides that are odd get one more row or column of the same colours: the format needs even ones.
    """

    OUTPUT = ("-f", "mp4", "-crf", "16", "-preset", "medium", "-movflags", "+faststart",
              # Stated, so that no player has to guess the colour space
              "-vf", "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd",
              "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709",
              "-color_range", "tv")

    def __init__(self, path: Path, fps: float):
        if not fps > 0:
            raise UsageError("a film needs more than 0 frames per second", actual=fps)
        require_video()
        self.fps, self.count = float(fps), 0
        self._shape: tuple[int, ...] = ()
        self._draft = Draft(path, what="the film", suffix=".mp4")
        self._film: Any = None          # imageio's writer, whose types are not what it does

    def write(self, frame: np.ndarray) -> None:
        height, width = frame.shape[:2]
        if self._film is None:
            self._open(frame.shape)
        if frame.shape != self._shape:
            raise ValueError(f"a frame of {frame.shape} among frames of {self._shape}")
        if height % 2 or width % 2:
            frame = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        with self._errors():
            self._film.append_data(frame)
        self.count += 1

    def _open(self, shape: tuple[int, ...]) -> None:
        import imageio.v2 as imageio

        self._shape = shape
        with self._errors():
            self._film = imageio.get_writer(
                self._draft.temporary, format="FFMPEG", mode="I", fps=self.fps, codec="libx264",
                pixelformat="yuv420p", quality=None, macro_block_size=1, ffmpeg_log_level="error",
                output_params=list(self.OUTPUT))

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turns errors into a RunError; leaves no file. ffmpeg's own words are above it."""
        try:
            yield
        except (OSError, RuntimeError) as error:
            self.abandon()
            raise RunError("ffmpeg cannot write the film", where=self._draft.path,
                           detail=str(error).partition("\n")[0],
                           hint="free some space, or make a GIF: --gif out.gif") from None

    def close(self, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Finish the film and put it in its place."""
        if self._film is None:
            self.abandon()
            raise UsageError("a film needs at least one frame", where=self._draft.path)
        with self._errors():
            self._film.close()
            if (kept := self._frames()) != self.count:      # imageio does not ask how ffmpeg ended
                raise OSError(f"it holds {kept:,} of {self.count:,} frames")
        self._draft.keep()

    def _frames(self) -> int:
        """How many frames the file holds; 0 if it was cut off, by a full disk for example."""
        import imageio.v2 as imageio

        try:
            film: Any
            with imageio.get_reader(self._draft.temporary, format="FFMPEG") as film:
                return int(film.count_frames())
        except (OSError, IndexError, RuntimeError):
            return 0

    def abandon(self) -> None:
        if self._film is not None:
            with contextlib.suppress(OSError):      # frames that ffmpeg has not read
                self._film.close()
        self._draft.drop()


class PngWriter(Finished):
    """DIR/frame_000000.png and so on. Makes the folder; deletes the frames of an earlier recording
    once this one is complete; refuses a folder that holds other files."""

    def __init__(self, folder: Path, fps: float = 0, *, force: bool = False):
        self.folder, self.count = Path(folder), 0
        self._drafts: list[Path] = []
        self.check(self.folder, force=force)
        self._made = not self.folder.exists()
        with self._errors():
            files.mkdir(self.folder)

    @staticmethod
    def check(folder: Path, *, force: bool = False) -> None:
        """Raises UsageError where frames cannot be written."""
        if folder.exists() and not folder.is_dir():
            raise UsageError("frames need a folder", where=folder, actual="a file")
        if not folder.parent.is_dir():
            raise UsageError("the output folder does not exist", where=folder.parent)
        others = sorted(item.name for item in folder.glob("*")
                        if not OUR_FRAMES.fullmatch(item.name)) if folder.is_dir() else []
        if others and not force:
            raise UsageError("the folder for the frames contains other files", where=folder,
                             actual=", ".join(others[:3]) + (", ..." if others[3:] else ""),
                             hint="choose another folder, or add --force")

    def write(self, frame: np.ndarray) -> None:
        name = FRAME_NAME.format(self.count)
        with self._errors():
            self._drafts.append(temporary(self.folder / name))
        with self._errors(), files.open(self._drafts[-1], "wb") as file:
            _save_png(file, frame)
        self.count += 1

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.abandon()
            raise RunError("cannot write the frames", where=self.folder,
                           detail=error.strerror or str(error),
                           hint="free some space, or choose another place") from None

    def close(self, on_progress: Callable[[int, int], None] | None = None) -> None:
        written = dict.fromkeys(FRAME_NAME.format(index) for index in range(self.count))
        with self._errors():
            for name, draft in zip(written, self._drafts):
                files.rename(draft, self.folder / name)
            for old in self.folder.iterdir():
                if OUR_FRAMES.fullmatch(old.name) and old.name not in written:
                    files.remove(old)
        self._drafts = []

    def abandon(self) -> None:
        for draft in self._drafts:
            with contextlib.suppress(OSError):
                files.remove(draft)
        self._drafts = []
        if self._made:
            with contextlib.suppress(OSError):
                files.rmdir(self.folder)
