"""Record what `eval` measures.  ENV, a checkpoint -> FILE.gif, FILE.mp4, DIR/frame_000000.png

A child plays and draws (film.py). The parent puts its pictures together and encodes them at the
same time. They come through a ring in shared memory that env code cannot reach, so a recording of
any length takes the same memory. It shows what was measured: the same envs, seeds, policy and
actions.
"""
from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..base import drafts, files
from ..base.errors import UsageError
from ..env import child_process
from ..interop.python_envs import env_source
from ..interop.python_envs.env_source import CompiledSource, Prepared
from ..policy.players import find_contestant
from ..raylib import drawing
from ..settings import torch_class
from ..training import backends, checkpoint, flat
from ..training.find_model import find_model, run_folder
from . import montage
from . import writers as images
from .film import FilmJob, Pane, Ring
from .gif import GifWriter, Spool
from .palette import pack, unpack
from .recorded import RecordingRow
from .screen import canvas

Progress = Callable[[str, float, float], None]      # what, done, total
MOST_TILES = 256
PICTURES = {".gif", ".png", ".jpg", ".jpeg", ".webp", ".mp4", ".mov", ".avi", ".webm", ".mkv"}
MOST_WIDTH = 4096           # pixels: what H.264 players take, and memory holds


class Writer(Protocol):
    """What pictures go to."""

    def write(self, frame: np.ndarray) -> None: ...
    def close(self, on_progress: Callable[[int, int], None] | None = None) -> None: ...
    def abandon(self) -> None: ...


@dataclass(frozen=True)
class Options:
    """What to record, and into which files. None: the default, which `record` states."""

    gif: Path | None = None
    mp4: Path | None = None
    frames: Path | None = None          # a folder
    episodes: int | None = None         # of each visible env
    ticks: int | None = None            # at most
    fps: float | None = None            # the speed of the picture
    env_index: int = 0                  # the first visible env
    grid: tuple[int, int] = (1, 1)      # rows, columns
    beside: str | None = None           # "random" or "idle", to the right of the policy
    width: int | None = None            # pixels
    force: bool = False                 # write frames into a folder with other files

    def check(self) -> None:
        """Raises UsageError for what is wrong before anything is played."""
        if not (self.gif or self.mp4 or self.frames):
            raise UsageError("a recording needs a file",
                             hint="--gif out.gif, --mp4 out.mp4 or --frames DIR")
        for name, value, low in (("record-episodes", self.episodes, 1), ("ticks", self.ticks, 1),
                                 ("env-index", self.env_index, 0), ("width", self.width, 16)):
            if value is not None and value < low:
                raise UsageError(f"--{name} is too small", expected=f"{low} or more",
                                 actual=value)
        if self.width is not None and self.width > MOST_WIDTH:
            raise UsageError("--width is too large", expected=f"{MOST_WIDTH} or less",
                             actual=self.width)
        if self.fps is not None and not 0.01 <= self.fps <= 1000:
            raise UsageError("--fps is out of range", expected="0.01 to 1000", actual=self.fps)
        if min(self.grid) < 1 or self.grid[0] * self.grid[1] > MOST_TILES:
            raise UsageError("--grid is out of range", actual="x".join(map(str, self.grid)),
                             expected=f"rows x columns, such as 4x4, of {MOST_TILES} at most")
        if self.mp4:
            images.require_video()
        if self.gif and self.gif == self.mp4:
            raise UsageError("the GIF and the film are the same file", where=self.gif,
                             expected="two names")
        for path, what, suffix in ((self.gif, "the GIF", ".gif"), (self.mp4, "the film", ".mp4")):
            if path and path.suffix.lower() in PICTURES - {suffix}:
                raise UsageError(f"{what} has the suffix of another format", where=path,
                                 expected=suffix, actual=path.suffix)
            if path:
                drafts.check(path, what)
        if self.frames:
            images.PngWriter.check(self.frames, force=self.force)

    def writers(self, fps: float) -> list[Writer]:
        """The writers that the pictures go to."""
        found: list[Writer] = [GifWriter(self.gif, fps)] if self.gif else []
        if self.mp4:
            found.append(images.Mp4Writer(self.mp4, fps))
        if self.frames:
            found.append(images.PngWriter(self.frames, force=self.force))
        return found


@dataclass(frozen=True)
class Recording:
    """What was recorded."""

    env: str
    paths: list[Path]
    policies: list[str]         # from left to right
    fps: float                  # ticks per second
    width: int
    height: int
    frames: int                 # one per tick; a GIF above 50 fps shows every nth of them
    episodes: list[dict[str, str | float]] = field(repr=False)  # that ended in visible envs
    unfinished: list[str]       # policies whose picture ends within an episode
    ticks: dict[str, int]       # of each policy
    missing: list[str]          # paths of textures in whose place a pattern is shown

    @property
    def seconds(self) -> float:
        """How long the recording plays."""
        return self.frames / self.fps

    def _repr_html_(self) -> str:
        """The GIF or the film itself, where a notebook shows it; else where the pictures are."""
        for path in self.paths:
            kind = {".gif": "image/gif", ".mp4": "video/mp4"}.get(path.suffix.lower())
            if kind and path.is_file():
                data = base64.b64encode(path.read_bytes()).decode()
                source = f'src="data:{kind};base64,{data}" width="{self.width}"'
                alt = escape(f"{self.env}, played by {' and '.join(self.policies)}")
                return (f'<img {source} alt="{alt}">' if kind == "image/gif" else
                        f'<video {source} aria-label="{alt}" controls loop muted></video>')
        return "<br>".join(escape(str(path)) for path in self.paths)

    def to_dict(self) -> RecordingRow:
        """JSON-able."""
        return {"env": self.env, "paths": [str(path) for path in self.paths],
                "policies": self.policies, "fps": self.fps, "width": self.width,
                "height": self.height, "frames": self.frames, "episodes": self.episodes,
                "unfinished": self.unfinished, "ticks": self.ticks, "missing": self.missing,
                "seconds": self.seconds}


def record(env: str | Path | None = None, settings: Mapping[str, object] | None = None, *,
           gif: str | Path | None = None, mp4: str | Path | None = None,
           frames: str | Path | None = None, model: str | Path | None = "best",
           episodes: int | None = None, ticks: int | None = None, fps: float | None = None,
           env_index: int = 0, grid: str | tuple[int, int] = (1, 1), beside: str | None = None,
           width: int | None = None, greedy: bool = False, force: bool = False,
           opponent: str | None = None, ini: Path | None = None, runs_dir: Path | None = None,
           on_progress: Progress | None = None, verbose: bool = False) -> Recording:
    """Record ENV as the trained policy plays it: into a GIF, a film or a folder of frames.

    model         as for evaluate; None: random play
    episodes      how many of each visible env; an env that is done is dimmed
                  [as many of the first env as fill 5 seconds, at least one]
    ticks         at most this many [30 seconds; 10 if episodes do not end, or if several agents
                  share an env and end their episodes one by one]
    fps           ticks per second [what the env asks of SetTargetFPS, else 30]
    env_index     the first visible env, of those that `evaluate` plays
    grid          "4x4" or (rows, columns): this many envs, from env_index on
    beside        "random" or "idle": the same seeds, played that way, on the right side
    width         pixels [the window's size, made smaller if it exceeds 1280]
    opponent      who plays the other teams, as for evaluate
    ini           a file of settings over the environment's own ini
    on_progress   called as on_progress(what, done, total)
    Returns what was recorded. Raises UsageError, BuildError, and RunError if the environment fails.
    """
    if isinstance(grid, str):
        grid = parse_grid(grid)
    places = [files.typed(path) if path else None for path in (gif, mp4, frames)]
    options = Options(places[0], places[1], places[2], episodes, ticks, fps, env_index, grid,
                      beside, width, force)
    return record_options(options, env, settings, model=model, greedy=greedy, opponent=opponent,
                          ini=ini, runs_dir=runs_dir, on_progress=on_progress, verbose=verbose)


def parse_grid(text: str) -> tuple[int, int]:
    """'4x4' -> (4, 4), rows and columns."""
    rows, x, columns = text.lower().partition("x")
    if not (x and rows.strip().isdigit() and columns.strip().isdigit()):
        raise UsageError("--grid is invalid", expected="ROWSxCOLUMNS, such as 4x4",
                         actual=text)
    return int(rows), int(columns)


def record_options(options: Options, env: str | Path | None,
                   settings: Mapping[str, object] | None, *, model: str | Path | None = "best",
                   greedy: bool = False, opponent: str | None = None, first: str | None = None,
                   ini: Path | None = None, runs_dir: Path | None = None,
                   on_progress: Progress | None = None, verbose: bool = False) -> Recording:
    """record(), for Options. first: who meets the opponent, in place of the model"""
    options.check()
    source = env_source.find(env, ini)
    found = find_model(source.runs_dir(runs_dir), model) if model else None
    other, one = (text and find_contestant(text, source, settings, runs_dir, verbose=verbose)
                  for text in (opponent, first))
    shown = one.name if one else "trained" if found else "random"
    policies = [shown, *([options.beside] if options.beside else [])]
    if len(set(policies)) < len(policies):
        raise UsageError("the recording already shows random play", where="--beside random",
                         hint="leave out --beside, or --baselines")
    weights = flat.as_checkpoint(found, source, settings) if found else None
    past = checkpoint.load(weights) if weights else None
    torch_class.name_given(source, settings)
    if past:
        backends.require_actor(past.config, past.path, verbose=verbose)
    raylib = director = None
    prepared: Prepared
    if isinstance(source, CompiledSource):
        source.resolve(settings, warn_unread=False)     # refused before raylib is compiled
        served = drawing.shared("headless", verbose=verbose, on_progress=on_progress)
        prepared = source.prepare(settings, raylib_headers=served.headers, verbose=verbose)
        raylib, director = served.library, canvas.build(served, verbose=verbose)
    else:
        prepared = source.prepare(settings, verbose=verbose).drawn("rgb_array").as_trained(
            past.facts["env"] if past else None)
    folder_of_run = run_folder(found)
    with files.private("puffer-record-") as home:
        job = prepared.job(FilmJob, model=weights, greedy=greedy, policies=tuple(policies),
                           opponent=other, first=one,
                           raylib=raylib, director=director, ring=Path(home) / "ring",
                           env_index=options.env_index, grid=options.grid,
                           episodes=options.episodes, ticks=options.ticks,
                           fps=options.fps or getattr(prepared.spec, "steps_per_second", None),
                           width=options.width)
        with Compositor(options, policies, job.ring, on_progress) as compositor:
            child_process.run("puffer_sdk.pictures.film:work", job, compositor.on_event,
                      log=folder_of_run / "eval.log" if folder_of_run else None,
                      cwd=prepared.cwd, step_timeout=prepared.patience)
            checkpoint.warn_of_other_name(past, prepared.spec.name)
            return compositor.finish(prepared.spec.name)


class Compositor:
    """Puts the child's pictures together and passes them to the writers.

    As a context manager, it removes the files that `finish` has not completed.
    """

    def __init__(self, options: Options, policies: list[str], ring: Path,
                 on_progress: Progress | None):
        self.options, self.policies, self.path = options, policies, ring
        self.on_progress = on_progress or (lambda what, done, total: None)
        self.writers: list[Writer] = []
        self.panes: list[Pane] = []             # those that are done
        self.missing: list[str] = []
        self.size, self.fps, self.count = (0, 0), 0.0, 0
        self.left: Spool | None = None          # the first of two panes, until the second comes
        self._pairs: Iterator[np.ndarray] = iter(())    # what stands left of the next pictures
        self._stack = ExitStack()

    def on_event(self, kind: str, payload: Any) -> None:
        if kind == "opening":
            self.open(payload["slots"], payload["shape"], payload["fps"])
        elif kind == "frame":
            self.take(self.ring.pictures[payload["slot"]])
            done = (len(self.panes) + payload["done"]) / len(self.policies)
            self.on_progress("draw", min(done, 1.0), 1.0)
        elif kind == "pane":
            self.panes.append(Pane(**payload))
            if self.left is not None and len(self.panes) == 1:
                self._pairs = self._lefts(self.left)
        elif kind == "missing_texture":
            self.missing.append(payload["path"])

    def open(self, slots: int, shape: tuple[int, int, int], fps: float) -> None:
        self.ring = Ring(self.path, slots, shape, make=False)
        self.fps = fps
        for writer in self.options.writers(fps):
            self.writers.append(writer)
            self._stack.callback(writer.abandon)
        if len(self.policies) == 2:
            self.left = Spool()
            self._stack.callback(self.left.close)
            self.labels = [montage.label(name, shape[1]) for name in self.policies]

    def take(self, picture: np.ndarray) -> None:
        """The next picture of the current pane. It is borrowed: the ring will reuse its memory."""
        if self.left is None:
            self.write(picture)
        elif not self.panes:
            self.left.append(pack(picture))
        else:
            self.right = picture.copy()
            self.write_pair(next(self._pairs), self.right)

    @staticmethod
    def _lefts(left: Spool) -> Iterator[np.ndarray]:
        """The left pane's pictures, then the last of them dimmed, without end."""
        for packed, _ in left:
            last = unpack(packed)
            yield last
        faint = montage.dim(last)
        while True:
            yield faint

    def write_pair(self, left: np.ndarray, right: np.ndarray) -> None:
        self.write(montage.beside([left, right], self.labels))

    def write(self, picture: np.ndarray) -> None:
        for writer in self.writers:
            writer.write(picture)
        self.size, self.count = (picture.shape[0], picture.shape[1]), self.count + 1

    def finish(self, name: str) -> Recording:
        """The child is done: complete the files."""
        if self.left is not None:
            faint = montage.dim(self.right)
            for _ in range(len(self.left) - self.count):
                self.write_pair(next(self._pairs), faint)
        for writer in self.writers:
            writer.close(on_progress=lambda done, total: self.on_progress("encode", done, total))
        self._stack.pop_all()
        if self.left is not None:
            self.left.close()
        done = [path for path in (self.options.gif, self.options.mp4, self.options.frames) if path]
        episodes: list[dict[str, str | float]] = [
            {"policy": pane.policy, **episode} for pane in self.panes for episode in pane.episodes]
        return Recording(name, done, self.policies, self.fps, self.size[1], self.size[0],
                         self.count, episodes,
                         [pane.policy for pane in self.panes if not pane.ended],
                         {pane.policy: pane.ticks for pane in self.panes}, self.missing)

    def __enter__(self) -> Compositor:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
