"""Play as `eval` plays, and draw it.  a library, a raylib, a job -> frames in shared memory

Runs in the child. The envs are those of the evaluation, all of them, though few are drawn: the
policy draws its actions from one stream for all agents, so with fewer envs it would act otherwise.

What the parent hears:

    opening   once the first picture is there: its size, the pace that the env asked for, the ring
    frame     number `slot` of the ring holds the next picture of the pane
    pane      this policy is done: its episodes, and why it ended
"""
from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..base.errors import RunError, UsageError
from ..env.link import Link
from ..policy.evaluate import PlayersJob, load_players, make_envs
from ..settings.values import Config
from .montage import Grid, Scale, dim

RING_BYTES = 48 << 20           # memory for pictures that the parent has not dealt with yet
USUAL_FPS = 30                  # where neither the env nor the user names a pace
FILLED = 5.0                    # seconds that episodes are shown for, unless so many are asked for
LONGEST = 30.0                  # seconds at most, unless --ticks says otherwise
ENDLESS = 10.0                  # the same where episodes do not end, or each agent's ends alone


# A c_close may take it that where a window is, this env has drawn too: most of these have not
_never_closed: list = []


class Ring:
    """Pictures of one size in a file that two processes map."""

    def __init__(self, path: Path, slots: int, shape: tuple[int, int, int], *, make: bool):
        size = slots * int(np.prod(shape))
        with open(path, "wb+" if make else "rb+") as file:
            if make:                # the disk must have the room: a hole in a full one is SIGBUS
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    os.truncate(file.fileno(), size)
            memory = mmap.mmap(file.fileno(), size)
        self.pictures = np.frombuffer(memory, np.uint8).reshape(slots, *shape)


@dataclass
class Tile:
    """One env of the picture."""

    env: int
    first: int                  # its agents' rows: first to last
    last: int
    done: bool = False
    shown: np.ndarray | None = None     # its last picture


@dataclass
class Film:
    """What one policy's pane shows, as the parent hears it."""

    policy: str
    ticks: int = 0
    episodes: list[dict] = field(default_factory=list)
    ended: bool = False         # where it is meant to; else the limit cut an episode off


@dataclass(frozen=True)
class FilmJob(PlayersJob):
    """What the child needs to film; the options are those of record.Shot."""

    policies: tuple[str, ...]       # one pane each
    raylib: Path                    # the library to draw with ...
    director: Path                  # ... and ours around it
    ring: Path                      # the file that frames go through
    env_index: int
    grid: tuple[int, int]
    episodes: int | None
    ticks: int | None
    fps: float | None
    width: int | None


def work(job: FilmJob, link: Link) -> None:
    """The child's target."""
    from .screen.canvas import Screen

    screen = Screen.load(job.director, job.raylib, visible=False)
    resolved, library = job.config, job.open()
    players = load_players(job, library)
    camera = Camera(screen, job, link)
    camera.endings = _has_endings(library, resolved, players["random"], link)
    for policy in job.policies:
        if link.stop:
            break
        vec = make_envs(library, resolved, link)
        _never_closed.append(vec)
        camera.film(policy, vec, players[policy](vec, resolved))


def _has_endings(library, resolved: Config, make_player, link: Link) -> bool:
    """Whether random play comes to the end of an episode within [eval] steps, as eval asks."""
    vec = make_envs(library, resolved, link)
    player = make_player(vec, resolved)
    vec.reset()
    for _ in range(resolved.eval.steps):
        player(vec)
        vec.step()
        if vec.terminals.any() or vec.truncations.any():
            break
        if link.stop:
            return False
    else:
        vec.close()
        return False
    vec.close()
    return True


class Camera:
    """Draws envs of one VecEnv after another into the ring.

    endings     whether episodes are known to end
    whole       whether the film is to end with an episode
    following   a pane before this one has settled how long the film is
    """

    def __init__(self, screen, job: FilmJob, link: Link):
        self.screen, self.job, self.link = screen, job, link
        self.endings = self.following = self.whole = False
        self.rows, self.columns = job.grid
        self.scale: Scale | None = None
        self.ring: Ring | None = None
        self.fps, self.sent, self.limit = 0.0, 0, 0

    def film(self, policy: str, vec, player) -> None:
        """Play from the reset to the end of the episodes that are shown."""
        film, count = Film(policy), self.rows * self.columns
        first = self.job.env_index
        if first + count > vec.num_envs:
            asked = f"env {first}" if count == 1 else f"envs {first} to {first + count - 1}"
            raise UsageError(f"the evaluation has no {asked}", expected=f"0 to {vec.num_envs - 1}",
                             actual=asked, hint="more envs are evaluated with a larger "
                             "--eval.episodes (and --vec.total-agents)")
        tiles = [Tile(env, int(vec.first_row[env]), int(vec.first_row[env + 1]))
                 for env in range(first, first + count)]
        grid, over = None, False
        counted = _Episodes(vec)
        vec.reset()
        while not self.link.stop:
            for index, tile in enumerate(tiles):
                if not tile.done:
                    self.draw(vec, tile)
                    grid = grid or Grid(self.scale.tile, self.rows, self.columns)
                    grid.put(index, tile.shown)
            self.send(grid.picture, film, counted, tiles)
            player(vec)
            vec.step()
            film.ticks += 1
            over = self.note_endings(vec, film, counted, tiles, grid)
            if over or film.ticks >= self.limit:
                break
        film.ended = over or self.following or not self.whole
        if not self.job.episodes:
            self.limit, self.following = film.ticks, True
        self.link.emit("pane", **vars(film))

    def draw(self, vec, tile: Tile) -> None:
        """The env's picture, at the tile's size. One that draws nothing this time keeps its last.

        Some open their window in one call and draw from the next one on.
        """
        for _ in range(2 if tile.shown is None else 1):
            frame = self.screen.render(vec, tile.env)
            if frame is not None:
                break
        else:
            if tile.shown is None:
                raise RunError("c_render draws nothing", where=self.job.folder,
                               hint="it opens a window with InitWindow, and draws between "
                                    "BeginDrawing and EndDrawing")
            return
        if self.scale is None:
            self.open(frame, alone=tile.last - tile.first == 1)
        tile.shown = self.scale(frame)

    def open(self, frame: np.ndarray, *, alone: bool) -> None:
        """The first picture says how large the others are, and how fast they follow.

        alone    whether an env has one agent
        """
        panes, job = len(self.job.policies), self.job
        self.scale = Scale(frame.shape[:2], self.rows, self.columns, panes, job.width)
        self.fps = float(job.fps or self.screen.asked_fps or USUAL_FPS)
        self.limit = job.ticks or max(1, round(self.fps * (
            LONGEST if job.episodes or (self.endings and alone) else ENDLESS)))
        self.whole = bool(job.episodes) or (self.endings and alone)
        shape = Grid(self.scale.tile, self.rows, self.columns).picture.shape
        slots = int(min(64, max(2, RING_BYTES // np.prod(shape))))
        try:
            self.ring = Ring(job.ring, slots, shape, make=True)
        except OSError as error:
            raise RunError("there is no room for pictures on their way", where=job.ring,
                           detail=error.strerror or str(error),
                           hint="free some space, or point TMPDIR at another disk") from None
        self.link.emit("opening", slots=slots, shape=shape, fps=self.fps,
                       native=self.scale.native, asked_fps=self.screen.asked_fps)

    def send(self, picture: np.ndarray, film: Film, counted: _Episodes,
             tiles: list[Tile]) -> None:
        """The next picture of this pane, once the parent has a place for it."""
        slots = len(self.ring.pictures)
        self.link.wait_for_parent(behind=slots - 1)
        slot = self.sent % slots
        self.ring.pictures[slot] = picture
        self.sent += 1
        share = film.ticks / self.limit
        if self.job.episodes:
            rows = [row for tile in tiles for row in range(tile.first, tile.last)]
            finished = counted.finished[rows].clip(max=self.job.episodes)
            share = max(share, float(finished.mean()) / self.job.episodes)
        self.link.emit("frame", slot=slot, done=share, policy=film.policy)

    def note_endings(self, vec, film: Film, counted: _Episodes, tiles: list[Tile],
                     grid: Grid) -> bool:
        """Keep the episodes that ended in the picture. Returns whether this was the last tick.

        Where so many episodes are asked for, each env shows its own and is dimmed then. Else the
        first env of the first pane settles when it is enough, and the others play on until then.
        """
        ended = counted.count(vec, tiles[0].first, tiles[-1].last)
        for index, tile in enumerate(tiles):
            mine = [episode for episode in ended if tile.first <= episode["agent"] < tile.last]
            finished = counted.finished[tile.first:tile.last]
            if not tile.done:
                film.episodes += mine
            if self.job.episodes:
                tile.done = bool((finished >= self.job.episodes).all())
                if tile.done and len(tiles) > 1:
                    grid.put(index, dim(tile.shown))
            elif index == 0 and not self.following:
                tile.done = bool(mine and finished.all() and film.ticks >= FILLED * self.fps)
        return all(tile.done for tile in tiles) if self.job.episodes else tiles[0].done


class _Episodes:
    """Counts and measures the episodes of every agent, as evaluating.py does.

    finished  (N,)  episodes that each agent has ended
    """

    def __init__(self, vec):
        n = vec.num_agents
        self.finished, self.returns, self.lengths = np.zeros(n, int), np.zeros(n), np.zeros(n, int)
        self.env_of = np.repeat(np.arange(vec.num_envs), np.diff(vec.first_row))

    def count(self, vec, first: int, last: int) -> list[dict]:
        """After a step: the episodes that it ended among these rows."""
        self.returns += vec.rewards
        self.lengths += 1
        ended = np.flatnonzero((vec.terminals != 0) | (vec.truncations != 0))
        found = [{"env": int(self.env_of[agent]), "agent": int(agent),
                  "seed": vec.env_seed(int(self.env_of[agent])),
                  "episode_return": float(self.returns[agent]),
                  "episode_length": int(self.lengths[agent])} for agent in ended
                 if first <= agent < last]
        self.finished[ended] += 1
        self.returns[ended], self.lengths[ended] = 0.0, 0
        return found
