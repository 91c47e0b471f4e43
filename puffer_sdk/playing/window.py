"""The game in the window, in a child process.  a Game, a Screen -> frames, keys, a panel

The policy (or dice) chooses the actions; while SHIFT is held, the env's c_keys does, for one
agent.
"""
from __future__ import annotations

import ctypes
import math
import os
import time
from pathlib import Path

import numpy as np

from ..base.errors import PufferError, RunError, UsageError
from ..base.spec import Spec
from ..env import obs_spec
from ..env.child_pipe import Link
from ..env.library import Library
from ..env.vec import VecEnv
from ..pictures.screen import canvas
from ..training import checkpoint
from . import hand, panel
from .game import DicePlayer, Game, PolicyPlayer
from .hand import CONTROL, KEY, SHIFT, THEIRS
from .rebuilding import PlayJob, Rebuilder

GIF_FRAMES = 1500       # a recording ends after this many
REPEAT = 15             # frames after which a held key counts on every frame


class Window:
    """The loop: keys, ticks, frames. Ends with ESC, the window's button, or link.stop."""

    # SHIFT lets one play. With no key yet the game waits: in a game in turns, a seat has as long as
    # it needs for its move, and a key that is held down is one move
    HELP = ("sP pause     .  one tick     ,  one tick back",
            "s-  =  slower, faster     [  ]  agent",
            "sF5 again    F6 next seed    F2 who plays",
            "sF12 picture    Ctrl+F12 GIF", "sF1 panel    ESC end")

    def __init__(self, game: Game, screen: canvas.Screen, job: PlayJob, link: Link):
        self.game, self.screen, self.job, self.link = game, screen, job, link
        self.paused, self.speed = bool(job.paused), 0
        self.page: int | None = 0                           # of the panel; None: hidden
        self.row = _row(job.spec, game)
        self.agent, self.message, self.message_time = job.seat, "", 0.0
        self.frames: list[np.ndarray] | None = None         # of the GIF that is being recorded
        self.frame, self.ticks = 0, 0
        self.held: dict[str, int] = {}          # frames
        self.seen: tuple[np.ndarray, np.ndarray] | None = None      # (low, high) so far
        self.hand, self.drives = hand.make_hand(game.library, game.vec, game.config)
        self.by_hand = False
        self.in_turns = self.waiting = False    # it has waited for a key before; it does now
        self.spent = False                      # the key that is down has had its tick

    # -- the loop

    def run(self, rebuilder: Rebuilder | None) -> None:
        self._fill_panel()
        self._show()                            # opens the window: keys need one
        while not self.link.stop:
            if self.screen.should_close() or self.screen.is_pressed(KEY["ESCAPE"]):
                break
            if rebuilder is not None:
                self._take_rebuilt(rebuilder)
            self._handle_keys()
            per_tick, at_once = self._pace()
            self.frame += 1
            due = self.waiting or self.frame % per_tick == 0
            ticked = self._step_by_key() if self.paused else due and self._advance_all(at_once)
            self._fill_panel()
            self._show(keep=ticked and self.frames is not None)
            limit = self.job.ticks
            if limit is not None and self.ticks >= limit:
                break
        if self.frames:
            self._finish_gif()

    def _advance_all(self, ticks: int) -> bool:
        """Ticks of a game that is not paused. False if it waits for a key."""
        if self.spent and self._is_held(SHIFT) and self.screen.is_any_down(THEIRS):
            return False
        for _ in range(ticks):
            if not self._advance():
                return False
            if self.spent:
                break
        return True

    def _step_by_key(self) -> bool:
        """A tick of a paused game, for a key that goes down while SHIFT is held."""
        held = self._is_held(SHIFT)
        if not held or not self.screen.is_any_down(THEIRS):
            self.spent = False
            if not held:
                self.screen.forget_keys()
            return False
        if not self.spent:
            self.spent = self._advance()
        return self.spent

    def _advance(self) -> bool:
        """A tick, by hand while SHIFT is held. False if it waits for a key."""
        self.by_hand = self._is_held(SHIFT)
        self.waiting = not self.game.advance(self._drive if self.by_hand else None)
        if self.waiting:
            self.in_turns = True
            return False
        self.spent = self.by_hand and self.in_turns
        self.screen.forget_keys()
        self.ticks += 1
        return True

    def _drive(self, vec: VecEnv) -> bool:
        return hand.drive(vec, self.agent, bool(self.game.lived[self.agent]),
                          lambda: self.hand(vec, self.screen))

    def _pace(self) -> tuple[int, int]:
        """(frames a tick, ticks a frame). Slow games draw more frames, so that keys respond."""
        rate = (self.job.spec.steps_per_second or self.screen.asked_fps or 60) * 2.0 ** self.speed
        frames, ticks = max(1, math.ceil(30 / rate)), max(1, math.ceil(rate / 120))
        self.screen.set_fps(rate * frames / ticks)
        return frames, ticks

    def _show(self, keep: bool = False) -> None:
        frame = self.screen.render(self.game.vec, 0, capture=keep)
        if frame is not None and self.frames is not None:
            self.frames.append(frame)
            if len(self.frames) >= GIF_FRAMES:
                self._finish_gif()

    # -- keys

    def _handle_keys(self) -> None:
        pressed = self.screen.is_pressed
        if pressed(KEY["P"]):
            self.paused = not self.paused
        for name, way in (("PERIOD", 1), ("COMMA", -1)):
            if self._fires(name):
                self.paused = True
                self._move(way)
        if pressed(KEY["MINUS"]) or pressed(KEY["EQUAL"]):
            faster = pressed(KEY["EQUAL"])
            self.speed = min(4, max(-4, self.speed + (1 if faster else -1)))
            self.show_message(f"speed {2.0 ** self.speed:g}")
        if pressed(KEY["LEFT_BRACKET"]) or pressed(KEY["RIGHT_BRACKET"]):
            step = 1 if pressed(KEY["RIGHT_BRACKET"]) else -1
            order = (self.agent + step * np.arange(1, self.game.vec.num_agents + 1)) \
                % self.game.vec.num_agents
            there = order[self.game.lived[order]]       # none at all: all have died
            self.agent = int(there[0] if len(there) else order[0])
        if pressed(KEY["F1"]):
            self.page = 0 if self.page is None else self.page + 1
        if pressed(KEY["F2"]):
            self._switch_player()
        if pressed(KEY["F5"]) or pressed(KEY["F6"]):
            self.game.begin(self.game.vec.seed + int(pressed(KEY["F6"])))
            self.show_message(f"seed {self.game.vec.seed}")
        if pressed(KEY["F12"]):
            (self._toggle_gif if self._is_held(CONTROL) else self._save_picture)()

    def _is_held(self, names: tuple[str, ...]) -> bool:
        return any(self.screen.is_down(KEY[name]) for name in names)

    def _fires(self, name: str) -> bool:
        """Whether a key was just pressed, or has been held for more than REPEAT frames."""
        held = self.held.get(name, 0) + 1 if self.screen.is_down(KEY[name]) else 0
        self.held[name] = held
        return held > REPEAT or self.screen.is_pressed(KEY[name])

    def _move(self, way: int) -> None:
        if way < 0:
            self.game.back(1)
        elif self._is_held(SHIFT):
            if not self._advance():
                self.show_message("no key yet")
        else:
            self.by_hand = False
            self.game.redo()
            self.ticks += 1

    def _switch_player(self) -> None:
        game = self.game
        if game.past is None:
            self.show_message("no policy: train one first")
            return
        game.player = DicePlayer(game.vec.seed) if isinstance(game.player, PolicyPlayer) \
            else game.make_player(game.past)
        game.begin(game.vec.seed)
        self.show_message(f"{game.player.name}, from the start")

    # -- pictures

    def _save_picture(self) -> None:
        from ..pictures.writers import write_png

        frame = self.screen.render(self.game.vec, 0)
        if frame is None:
            self.show_message("nothing is drawn")
            return
        path = self._next_name(".png")
        write_png(path, frame)
        self.log(f"saved {path.name}")

    def _toggle_gif(self) -> None:
        if self.frames is None:
            self.frames = []
            self.show_message("recording; Ctrl+F12 ends")
        else:
            self._finish_gif()

    def _finish_gif(self) -> None:
        from ..pictures.writers import write_gif

        frames, self.frames = self.frames or [], None
        path = self._next_name(".gif")
        write_gif(path, frames, fps=self.screen.asked_fps or 60)
        self.log(f"saved {path.name}, {len(frames)} frames")

    def _next_name(self, suffix: str) -> Path:
        folder, name = self.job.pictures, self.job.name
        return next(path for number in range(1, 10**6)
                    if not os.path.lexists(path := folder / f"{name}-{number:03}{suffix}"))

    # -- messages

    def show_message(self, text: str) -> None:
        """Show a message in the panel, for three seconds."""
        self.message, self.message_time = text, time.monotonic()

    def log(self, text: str) -> None:
        """Show a message in the panel and in the terminal."""
        self.show_message(text)
        self.link.emit("said", text=text)

    def _take_rebuilt(self, rebuilder: Rebuilder) -> None:
        found = rebuilder.take()
        if found is None:
            return
        if isinstance(found, PufferError):
            self.show_message("does not compile: see the terminal")
            self.link.emit("refused", text=found.where or "", message=found.message,
                           detail=found.detail or "")
            return
        library = Library(found.library, self.job.folder)
        self.log(self.game.adopt(library, found.config, found.same_state)
                 + f" ({found.seconds:.2f} s)")
        self.hand, self.drives = hand.make_hand(library, self.game.vec, found.config)
        self.agent = min(self.agent, self.game.vec.num_agents - 1)
        self.seen, self.in_turns = None, False
        self.row = _row(found.spec, self.game)

    def _fill_panel(self) -> None:
        if self.message and time.monotonic() - self.message_time > 3:
            self.message = ""
        game, agent = self.game, self.agent
        observed = game.vec.observations[agent].astype(np.float32)
        if not game.lived[agent]:
            observed = np.zeros_like(observed)
        low, high = self._bounds(observed)
        if self.page is not None:
            kind = game.vec.observations.dtype
            found = panel.pages(self._lines(), observed, kind == np.uint8, self.row,
                                [f"sSHIFT {self.drives}", *self.HELP], self.screen.height)
            if self.page >= len(found):
                self.page = None
        if self.page is None:
            self.screen.panel(None)
            return
        span = np.where(high > low, high - low, 1)
        curve = np.array([values[agent] for values in game.curve])
        self.screen.panel(found[self.page], (observed - low) / span, curve)

    def _bounds(self, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(low, high) of each element: as promised, else bytes share one scale, and each float has
        its own so far."""
        low, high = self.seen or (observed, observed)
        low, high = self.seen = np.minimum(low, observed), np.maximum(high, observed)
        if self.game.vec.observations.dtype == np.uint8:
            low, high = np.zeros_like(low), np.full_like(high, max(1, high.max()))
        return panel.bounds(self.row, low, high)

    def _lines(self) -> list[str]:
        """The panel above the observation."""
        game, agent, vec = self.game, self.agent, self.game.vec
        state = self.message or ("paused" if self.paused else "no key yet: it waits"
                                 if self.waiting else f"seed {vec.seed}")
        if self.frames is not None:
            state = f"recording, {len(self.frames)} frames"
        who = "you" if self.by_hand else game.player.name
        if vec.num_agents > 1:
            who += f", agent {agent} of {vec.num_agents}"
        if not game.lived[agent]:
            who = f"agent {agent} of {vec.num_agents}: nobody lives here"
        items = [("tick", f"{game.tick:,}"), ("episode", f"{game.episode:,}"),
                 ("reward", f"{game.rewards[agent]:+.4g}"),
                 ("return", f"{game.returns[agent]:.4g}")]
        if game.values is not None:
            items.append(("value", f"{game.values[agent]:.4g}"))
        if game.episode > 1:
            items.append(("last return", f"{game.last:.4g}"))
        done = game.history[game.tick - 1][agent] if game.tick else ()
        did = panel.actions(done, self.row, vec.act_sizes) if len(done) else [("action", "-")]
        size = f"{vec.observations.shape[1]} " + (
            {"uint8": "bytes", "int32": "ints"}.get(vec.observations.dtype.name, "floats"))
        about = self.row.whole.described if self.row.whole else size
        return [f"h{self.job.name}", f"s{state}", "-", *panel.pairs(items),
                *(["v"] if game.values is not None else []), "-", f"s{who}", *panel.pairs(did),
                "-", f"sobservation, {about}"]


def _row(spec: Spec, game: Game) -> obs_spec.ObsSpec:
    size = game.vec.observations.shape[1]
    return obs_spec.read(spec, size, game.vec.act_sizes, game.config.env) or obs_spec.ObsSpec(size)


def work(job: PlayJob, link: Link) -> dict[str, int]:
    """The child's target. Returns the ticks and episodes played."""
    _require_display(job.name)
    screen = canvas.Screen.load(job.director, job.raylib, visible=True)
    past = checkpoint.load(job.model) if job.model else None
    library = job.open()
    assert isinstance(library, Library)         # play() opens no window for a Python environment
    game = Game(library, job.config, past, job.seed, job.greedy, link.watches())
    if job.seat >= game.vec.num_agents:
        raise UsageError("--seat is out of range", where="--seat",
                         expected=f"0 to {game.vec.num_agents - 1}", actual=job.seat)
    window = Window(game, screen, job, link)
    renamed = checkpoint.other_name(past, job.name)
    if renamed:
        link.emit("said", text=renamed)
    rebuilder = Rebuilder(job) if job.watch else None
    try:
        window.run(rebuilder)
    finally:
        screen.close()
    return {"ticks": window.ticks, "episodes": game.episode - 1}


def _require_display(name: str) -> None:
    """Raises RunError if X11 would not let a window open: raylib would end the process."""
    try:
        x11 = ctypes.CDLL("libX11.so.6")
    except OSError:
        return                      # no X11 here: macOS, or only Wayland
    x11.XOpenDisplay.restype = ctypes.c_void_p
    display = x11.XOpenDisplay(None)
    if not display:
        raise RunError("cannot open the display", where=os.environ.get("DISPLAY"),
                       hint=f"over ssh: ssh -Y; without a display: puffer-sdk eval {name} --gif "
                            "out.gif")
    x11.XCloseDisplay(ctypes.c_void_p(display))
