"""Play as `eval` plays, and draw it.  a library, a raylib, a job -> frames in shared memory

Runs in the child. It plays all envs of the evaluation but draws few: all agents draw their random
numbers from one stream, so with fewer envs they would act differently.

Events for the parent:

    opening   after the first picture: its size, the frame rate that the env asked for, the ring
    frame     slot number `slot` of the ring holds the next picture of the pane
    pane      this policy is done: its episodes, and whether the last one ended
"""
from __future__ import annotations

import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..base import files
from ..base.errors import RunError, UsageError
from ..env.agent_slots import ended as endings_of
from ..env.agent_slots import living
from ..env.child_pipe import Link
from ..env.vec import VecEnv
from ..policy.players import (
    Contestant,
    PlayersJob,
    find_opponent,
    load_players,
    make_contestant,
    make_sides,
    plan_of,
)
from ..scoring.baselines import MakePlayer, Player
from ..scoring.entries import Entries, Entry
from ..scoring.facing import facing
from ..scoring.play_episodes import GAMES, LEAST_ENVS, PATIENCE
from ..settings.values import Config
from .montage import Grid, Scale, dim

RING_BYTES = 48 << 20           # memory for pictures that the parent has not taken yet
USUAL_FPS = 30                  # if neither the env nor the user asks for another
FILLED = 5.0                    # seconds of episodes to show without --record-episodes
LONGEST = 30.0                  # seconds at most, unless --ticks says otherwise
ENDLESS = 10.0                  # the same if episodes do not end, or end agent by agent


# Not closed: a c_close may assume that an open window means that its env has drawn. Most have not
_never_closed: list[VecEnv] = []


class Drawing(Protocol):
    """What takes pictures of envs: a Screen, or a Python environment's own."""

    @property
    def asked_fps(self) -> float | None: ...
    def render(self, vec: Any, env: int) -> np.ndarray | None: ...     # of a kind that it knows


class Ring:
    """Pictures of one size in a file that two processes map."""

    def __init__(self, path: Path, slots: int, shape: tuple[int, int, int], *, make: bool):
        size = slots * int(np.prod(shape))
        if make:
            files.write(path, b"")
        with files.open(path, "rb+") as file:
            if make:                # reserve the disk space: a hole on a full disk is SIGBUS
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    os.truncate(file.fileno(), size)
            memory = mmap.mmap(file.fileno(), size)
        self.pictures = np.frombuffer(memory, np.uint8).reshape(slots, *shape)


@dataclass
class Tile:
    """One visible env."""

    env: int
    first: int                  # its agents' rows: first to last
    last: int
    done: bool = False
    shown: np.ndarray | None = None     # its last picture


@dataclass
class Pane:
    """What one policy's pane shows, as the parent gets it."""

    policy: str
    ticks: int = 0
    episodes: list[Entry] = field(default_factory=list)
    ended: bool = False         # False: the limit cut an episode off


@dataclass(frozen=True)
class FilmJob(PlayersJob):
    """What the child needs to film; the options are those of record.Options."""

    policies: tuple[str, ...]       # one pane each
    raylib: Path | None             # the library to draw with ...
    director: Path | None           # ... and ours around it; None: the environment draws itself
    ring: Path                      # the file that frames go through
    env_index: int
    grid: tuple[int, int]
    episodes: int | None
    ticks: int | None
    fps: float | None
    width: int | None
    first: Contestant | None = None     # of a match: who meets the opponent


def work(job: FilmJob, link: Link) -> None:
    """The child's target."""
    screen: Drawing
    if job.director and job.raylib:     # before the library: it finds its raylib among what is open
        from .screen.canvas import Screen
        screen = Screen.load(job.director, job.raylib, visible=False)
        library = job.open()
    else:
        from ..interop.python_envs.pool import PoolLibrary
        library = job.open()
        assert isinstance(library, PoolLibrary)
        screen = library.screen()
    resolved = job.config
    agents = library.agents_per_env(resolved.env, link.watches(library.armed))
    opponent = find_opponent(job, library, link, agents)
    players = load_players(job, library, opponent)
    if job.first and opponent:
        players[job.first.name] = facing([make_contestant(who, job, library)
                                          for who in (job.first, opponent)])
    camera = Camera(screen, job, link)

    def envs(least: int = LEAST_ENVS) -> VecEnv:
        """Those that eval plays, or more."""
        return make_sides(library, resolved, link,
                          plan_of(resolved, agents, opponent, least).envs, opponent)

    camera.endings = _has_endings(envs(), resolved, players["random"], link)
    for policy in job.policies:
        if link.stop:
            break
        vec = envs(max(LEAST_ENVS, camera.last))
        _never_closed.append(vec)
        camera.film(policy, vec, players[policy](vec, resolved))
        if not job.director:
            vec.close()


def _has_endings(vec: VecEnv, resolved: Config, make_player: MakePlayer, link: Link) -> bool:
    """Whether random play ends an episode, as eval decides it."""
    player, steps = make_player(vec, resolved), resolved.eval.steps
    vec.reset()
    entries = Entries(vec, GAMES, steps)
    while not (entries.ended.any() or entries.done.all() or link.stop) \
            and entries.tick < steps * PATIENCE:
        player(vec)
        vec.step()
        entries.look()
    vec.close()
    return bool(entries.ended.any())


class Camera:
    """Draws envs of one VecEnv after another into the ring.

    endings     whether episodes are known to end
    whole       whether the pane must end with an episode
    following   whether an earlier pane decided how many ticks to show
    """

    scale: Scale
    ring: Ring

    def __init__(self, screen: Drawing, job: FilmJob, link: Link):
        self.screen, self.job, self.link = screen, job, link
        self.endings = self.following = self.whole = False
        self.rows, self.columns = job.grid
        self.last = job.env_index + self.rows * self.columns        # the first env not shown
        self.opened = False             # with the first picture: scale and ring are there
        self.fps, self.sent, self.limit = 0.0, 0, 0

    def film(self, policy: str, vec: VecEnv, player: Player) -> None:
        """Play from the reset to the end of the last episode to show."""
        pane, count = Pane(policy), self.rows * self.columns
        first = self.job.env_index
        if self.last > vec.num_envs:
            asked = f"env {first}" if count == 1 else f"envs {first} to {first + count - 1}"
            raise UsageError(f"the evaluation has no {asked}", expected=f"0 to {vec.num_envs - 1}",
                             actual=asked, hint="a larger --vec.total-agents allows more envs")
        tiles = [Tile(env, int(vec.first_row[env]), int(vec.first_row[env + 1]))
                 for env in range(first, self.last)]
        grid, over = None, False
        vec.reset()
        counted = _Episodes(vec)
        while not self.link.stop:
            for index, tile in enumerate(tiles):
                if not tile.done:
                    picture = self.draw(vec, tile)
                    grid = grid or Grid(self.scale.tile, self.rows, self.columns)
                    grid.put(index, picture)
            assert grid is not None         # there is at least one tile
            self.send(grid.picture, pane, counted, tiles)
            player(vec)
            vec.step()
            pane.ticks += 1
            over = self.record_endings(vec, pane, counted, tiles, grid)
            if over or pane.ticks >= self.limit:
                break
        pane.ended = over or self.following or not self.whole
        if not self.job.episodes:
            self.limit, self.following = pane.ticks, True
        self.link.emit("pane", **vars(pane))

    def draw(self, vec: VecEnv, tile: Tile) -> np.ndarray:
        """The tile's picture. An env that draws nothing this time keeps its last picture.

        Some envs open their window in one c_render and draw from the next one on.
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
            return tile.shown
        if not self.opened:
            self.open(frame, alone=tile.last - tile.first == 1)
        tile.shown = self.scale(frame)
        return tile.shown

    def open(self, frame: np.ndarray, *, alone: bool) -> None:
        """Set size, frame rate and length by the first picture, and make the ring.

        alone    whether an env has one agent
        """
        panes, job = len(self.job.policies), self.job
        height, wide, _ = frame.shape
        self.scale = Scale((height, wide), self.rows, self.columns, panes, job.width)
        self.fps = float(job.fps or self.screen.asked_fps or USUAL_FPS)
        self.limit = job.ticks or max(1, round(self.fps * (
            LONGEST if job.episodes or (self.endings and alone) else ENDLESS)))
        self.whole = bool(job.episodes) or (self.endings and alone)
        shape = Grid(self.scale.tile, self.rows, self.columns).picture.shape
        slots = int(min(64, max(2, RING_BYTES // np.prod(shape))))
        try:
            self.ring = Ring(job.ring, slots, shape, make=True)
        except OSError as error:
            raise RunError("shared memory is full (frame buffer)", where=job.ring,
                           detail=error.strerror or str(error),
                           hint="free some space, or point TMPDIR at another disk") from None
        self.opened = True
        self.link.emit("opening", slots=slots, shape=shape, fps=self.fps,
                       native=self.scale.native, asked_fps=self.screen.asked_fps)

    def send(self, picture: np.ndarray, pane: Pane, counted: _Episodes,
             tiles: list[Tile]) -> None:
        """Send this pane's next picture, once the ring has a free slot."""
        slots = len(self.ring.pictures)
        self.link.wait_for_parent(behind=slots - 1)
        slot = self.sent % slots
        self.ring.pictures[slot] = picture
        self.sent += 1
        share = pane.ticks / self.limit
        if self.job.episodes:
            finished = counted.of(tiles[0].first, tiles[-1].last).clip(max=self.job.episodes)
            share = max(share, float(finished.mean()) / self.job.episodes)
        self.link.emit("frame", slot=slot, done=share, policy=pane.policy)

    def record_endings(self, vec: VecEnv, pane: Pane, counted: _Episodes, tiles: list[Tile],
                       grid: Grid) -> bool:
        """Record the episodes of visible envs that ended. Returns whether this was the last tick.

        With --record-episodes, each env shows that many and is then dimmed. Otherwise the first env
        of the first pane decides when to stop, and the others play on until then.
        """
        ended = counted.count(vec, tiles[0].first, tiles[-1].last)
        for index, tile in enumerate(tiles):
            mine = [episode for episode in ended if tile.first <= episode["agent"] < tile.last]
            finished = counted.of(tile.first, tile.last)
            if not tile.done:
                pane.episodes += mine
            if self.job.episodes:
                tile.done = bool((finished >= self.job.episodes).all())
                if tile.done and len(tiles) > 1 and tile.shown is not None:
                    grid.put(index, dim(tile.shown))
            elif index == 0 and not self.following:
                tile.done = bool(mine and finished.all() and pane.ticks >= FILLED * self.fps)
        return all(tile.done for tile in tiles) if self.job.episodes else tiles[0].done


class _Episodes:
    """Counts and measures the episodes of every agent, as scoring/entries.py does.

    finished  (N,)  episodes that each agent has ended
    """

    def __init__(self, vec: VecEnv):
        n = vec.num_agents
        self.finished, self.returns, self.lengths = np.zeros(n, int), np.zeros(n), np.zeros(n, int)
        self.env_of = np.repeat(np.arange(vec.num_envs), np.diff(vec.first_row))
        self.lived = self.seen = living(vec)

    def of(self, first: int, last: int) -> np.ndarray:
        """The episodes that each agent of these rows has ended. Omits rows that were never
        active."""
        seen = self.seen[first:last]
        return self.finished[first:last][seen] if seen.any() else np.zeros(1, int)

    def count(self, vec: VecEnv, first: int, last: int) -> list[Entry]:
        """The episodes that the last step ended, of agents in these rows."""
        self.returns[self.lived] += vec.rewards[self.lived]
        self.lengths += self.lived
        ended = np.flatnonzero(endings_of(vec, self.lived))
        self.lived = living(vec)
        self.seen = self.seen | self.lived
        found: list[Entry] = [{"env": int(self.env_of[agent]), "agent": int(agent),
                  "seed": vec.env_seed(int(self.env_of[agent])),
                  "episode_return": float(self.returns[agent]),
                  "episode_length": int(self.lengths[agent])} for agent in ended
                 if first <= agent < last]
        self.finished[ended] += 1
        self.returns[ended], self.lengths[ended] = 0.0, 0
        return found
