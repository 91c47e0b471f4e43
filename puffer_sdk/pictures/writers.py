"""Write pictures.  frames (h, w, 3) uint8 RGB, row 0 on top -> FILE.gif, FILE.mp4, DIR/*.png

A writer takes frames one at a time and keeps none of them in memory:

    with GifWriter(Path("out.gif"), fps=30) as writer:
        for frame in frames:
            writer.write(frame)

A file gets its name once it is complete. All frames of a file have one size.
"""
from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

from ..base.errors import RunError, UsageError
from ..base.files import Draft, Finished
from .gif import GifWriter

FRAME_NAME = "frame_{:06}.png"
OUR_FRAMES = re.compile(r"frame_\d{6,}\.png|\.frame_\d{6,}\.png\.\d+")    # or a draft of one


def write_gif(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """Write all frames to a GIF that loops for ever. See gif.py for colours, size and time."""
    with GifWriter(path, fps) as writer:
        for frame in frames:
            writer.write(frame)


def write_mp4(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """Write all frames to an H.264 film for browsers. UsageError without the extra `video`."""
    with Mp4Writer(path, fps) as writer:
        for frame in frames:
            writer.write(frame)


def write_png(path: Path, frame: np.ndarray) -> None:
    """Write one frame. Raises RunError where it cannot be written."""
    from PIL import Image

    draft = Draft(path, what="the picture")
    with draft.errors():
        Image.fromarray(np.ascontiguousarray(frame)).save(draft.file, "PNG")
    draft.keep()


def require_video() -> None:
    """Raises UsageError where mp4 cannot be written."""
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        raise UsageError("an mp4 needs imageio-ffmpeg, and it is not installed",
                         hint="pip install 'puffer-sdk[video]'; or make a GIF: --gif out.gif")


class Mp4Writer(Finished):
    """An H.264 film: yuv420p in the colours of BT.709, its index at the front (faststart).

    Sides that are odd get one more row or column of the same colours: the format needs even ones.
    """

    OUTPUT = ["-f", "mp4", "-crf", "16", "-preset", "medium", "-movflags", "+faststart",
              # Stated, so that no player has to guess the colour space
              "-vf", "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd",
              "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709",
              "-color_range", "tv"]

    def __init__(self, path: Path, fps: float):
        if not fps > 0:
            raise UsageError("a film needs more than 0 frames per second", actual=fps)
        require_video()
        self.fps, self.count, self._shape = float(fps), 0, None
        self._draft = Draft(path, what="the film")
        self._ffmpeg = self._stderr = None

    def write(self, frame: np.ndarray) -> None:
        height, width = frame.shape[:2]
        if self._ffmpeg is None:
            self._open(height, width)
        if frame.shape != self._shape:
            raise ValueError(f"a frame of {frame.shape} among frames of {self._shape}")
        if height % 2 or width % 2:
            frame = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        with self._errors():
            self._ffmpeg.stdin.write(np.ascontiguousarray(frame))
        self.count += 1

    def _open(self, height: int, width: int) -> None:
        import imageio_ffmpeg

        self._shape = (height, width, 3)
        size = f"{width + width % 2}x{height + height % 2}"
        rate = str(Fraction(self.fps).limit_denominator())
        with self._errors():
            self._stderr = tempfile.TemporaryFile()       # noqa: SIM115 - ends with the writer
            self._ffmpeg = subprocess.Popen(
                [imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error",
                 "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", rate, "-i", "-",
                 "-an", "-vcodec", "libx264", "-pix_fmt", "yuv420p", *self.OUTPUT,
                 str(self._draft.temporary)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr,
                start_new_session=True)         # Ctrl-C goes to us; we end it

    @contextlib.contextmanager
    def _errors(self):
        """Turns errors into a RunError with ffmpeg's last lines; leaves no file."""
        try:
            yield
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            self.abandon()
            lines = [line for line in self._stderr_text().splitlines() if line.strip()]
            raise RunError("ffmpeg cannot write the film", where=self._draft.path,
                           detail="\n".join(lines[-4:]) or str(error),
                           hint="free some space, or make a GIF: --gif out.gif") from None

    def _stderr_text(self) -> str:
        if self._stderr is None:
            return ""
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def close(self, on_progress=None) -> None:
        """Finish the film and put it in its place."""
        if self._ffmpeg is None:
            self.abandon()
            raise UsageError("a film needs at least one frame", where=self._draft.path)
        with self._errors():
            self._ffmpeg.stdin.close()
            # Only its status tells of a film that was cut off, by a full disk for example
            if status := self._ffmpeg.wait():
                raise subprocess.CalledProcessError(status, "ffmpeg")
        self._draft.keep()

    def abandon(self) -> None:
        if self._ffmpeg is not None:
            self._ffmpeg.kill()
            self._ffmpeg.wait()
            with contextlib.suppress(OSError):      # frames that it has not read
                self._ffmpeg.stdin.close()
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
            self.folder.mkdir(exist_ok=True)

    @staticmethod
    def check(folder: Path, *, force: bool = False) -> None:
        """Raises UsageError where frames cannot be written."""
        if folder.exists() and not folder.is_dir():
            raise UsageError("frames need a folder", where=folder, actual="a file")
        if not folder.parent.is_dir():
            raise UsageError("there is no such folder to write to", where=folder.parent)
        others = sorted(item.name for item in folder.glob("*")
                        if not OUR_FRAMES.fullmatch(item.name)) if folder.is_dir() else []
        if others and not force:
            raise UsageError("the folder for the frames holds other files", where=folder,
                             actual=", ".join(others[:3]) + (", ..." if others[3:] else ""),
                             hint="name another folder, or write among them: --force")

    def write(self, frame: np.ndarray) -> None:
        from PIL import Image

        name = FRAME_NAME.format(self.count)
        draft = self.folder / f".{name}.{os.getpid()}"
        self._drafts.append(draft)
        with self._errors(), draft.open("wb") as file:
            Image.fromarray(np.ascontiguousarray(frame)).save(file, "PNG", compress_level=3)
        self.count += 1

    @contextlib.contextmanager
    def _errors(self):
        try:
            yield
        except OSError as error:
            self.abandon()
            raise RunError("cannot write the frames", where=self.folder,
                           detail=error.strerror or str(error),
                           hint="free some space, or choose another place") from None

    def close(self, on_progress=None) -> None:
        written = dict.fromkeys(FRAME_NAME.format(index) for index in range(self.count))
        with self._errors():
            for name, draft in zip(written, self._drafts):
                draft.replace(self.folder / name)
            for old in self.folder.iterdir():
                if OUR_FRAMES.fullmatch(old.name) and old.name not in written:
                    old.unlink()
        self._drafts = []

    def abandon(self) -> None:
        for draft in self._drafts:
            with contextlib.suppress(OSError):
                draft.unlink()
        self._drafts = []
        if self._made:
            with contextlib.suppress(OSError):
                self.folder.rmdir()
