"""A raylib under our control.  env libraries that draw -> frames, or a window with a panel

    screen = Screen.open(raylib_source.shared("headless"), visible=False)
    library = Library(building.build(folder, raylib_headers=served.headers).library, folder)
    vec = VecEnv(library, ...)
    frame = screen.render(vec, 0)           # (h, w, 3) uint8
    screen.close()

Open it before the first env library of the process: which raylib an env calls is decided when its
library is opened. There is one window per process; the envs of a VecEnv share it, one at a time.
"""
from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from ...base import paths
from ...base.errors import RunError
from ...env import abi
from ...raylib import headers
from ...toolchain import compilers
from ...toolchain.libraries import compile_library, is_intact, prune

if TYPE_CHECKING:
    import cffi

    from ...env.vec import VecEnv
    from ...raylib.drawing import Served

HERE = Path(__file__).parent
FLAGS = ("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden",
         "-dynamiclib" if sys.platform == "darwin" else "-shared")
KEEP = 4


def build(served: Served, *, verbose: bool = False) -> Path:
    """The library of screen.c, compiled against the headers of the raylib that it controls."""
    compiler = compilers.find_compiler()
    source = HERE / "screen.c"
    parts = [source.read_bytes(), (HERE / "screen.h").read_bytes(), served.origin.encode(),
             (served.headers / "raylib.h").read_bytes(), compiler.key.encode(),
             " ".join(FLAGS).encode(), compilers.cpu_features_key().encode()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    folder = paths.writable(paths.cache_dir() / "screen", purpose="the screen library")
    library = folder / f"puffer_screen-{key}.so"
    if not is_intact(library):
        command = [*compiler.command, *FLAGS, f"-I{served.headers}", f"-I{HERE}", str(source),
                   "-ldl"]
        compile_library(library, command, source=source, what="the screen library",
                        verbose=verbose)
        prune(folder, "puffer_screen", keep=KEEP, spare=library)
    return library


@cache
def ffi() -> cffi.FFI:
    """screen.h as cffi knows it."""
    return abi.declare([HERE / "screen.h"])


def _text(pointer: Any) -> str:
    text: Any = ffi().string(pointer)
    return str(text, errors="replace")


class Screen:
    """The window, or picture, of this process.

    width, height   of the env's picture in pixels; 0 before the first render
    asked_fps       what the env asked of SetTargetFPS, or None
    """

    def __init__(self, lib: Any, visible: bool):
        self._lib, self.visible = lib, visible
        # VecEnv -> {env: the size of its window}
        self._windows: WeakKeyDictionary[VecEnv, dict[int, tuple[int, int]]] = WeakKeyDictionary()

    @classmethod
    def open(cls, served: Served, *, visible: bool, verbose: bool = False) -> Screen:
        """Make `served` the raylib of all env libraries that are opened later.

        visible    True: a window on the desktop; False: nothing is shown, nothing waits
        Raises RunError if it does not open.
        """
        return cls.load(build(served, verbose=verbose), served.library, visible=visible)

    @classmethod
    def load(cls, director: Path, library: Path, *, visible: bool) -> Screen:
        """open, in another process than build(): director is its result, library Served.library."""
        try:
            lib: Any = ffi().dlopen(os.fspath(director), os.RTLD_NOW | os.RTLD_GLOBAL)
        except OSError as error:
            raise RunError("cannot load the screen library", where=director,
                           detail=str(error), hint="delete it: it is compiled again") from None
        wrong = lib.screen_open(os.fspath(library).encode(), int(visible))
        if wrong != ffi().NULL:
            raise RunError("cannot load raylib", where=library,
                           detail=_text(wrong),
                           hint="puffer-sdk doctor shows which raylib serves what")
        headers.load_null(beneath=True)      # for what this raylib lacks, such as sound
        return cls(lib, visible)

    @property
    def width(self) -> int:
        return int(self._lib.screen_info().width)

    @property
    def height(self) -> int:
        return int(self._lib.screen_info().height)

    @property
    def asked_fps(self) -> int | None:
        return self._lib.screen_info().asked_fps or None

    def render(self, vec: VecEnv, env: int, *, capture: bool = True) -> np.ndarray | None:
        """Have one env draw itself. Returns the picture, (h, w, 3) uint8, top row first.

        capture    False: only the window shows it. Returns None then, and if c_render drew no
                   frame.
        """
        windows = self._windows.setdefault(vec, {})
        self._lib.screen_begin(int(capture), *windows.get(env, (0, 0)))
        vec.render(env)
        info = self._lib.screen_info()
        if self._lib.screen_end():
            windows[env] = info.width, info.height
        pixels = self._lib.screen_pixels()
        if not capture or pixels == ffi().NULL:
            return None
        rows: Any = ffi().buffer(pixels, info.pixel_stride * info.height)
        image = np.frombuffer(rows, np.uint8).reshape(info.height, -1, 4)
        frame = np.empty((info.height, info.width, 3), np.uint8)
        for channel in range(3):        # one by one: five times as fast as all three at once
            frame[..., channel] = image[::-1 if info.bottom_up else 1, :info.width, channel]
        return frame

    def close(self) -> None:
        """Close the window, if the env opened it."""
        self._lib.screen_close()

    # -- with a window

    def set_fps(self, fps: float) -> None:
        """Set the frame rate: render returns at most this many times per second."""
        self._lib.screen_set_fps(max(1, round(fps)))

    def is_down(self, key: int) -> bool:
        """Whether a key is held; keys as raylib numbers them."""
        return bool(self._lib.screen_key_down(key))

    def is_pressed(self, key: int) -> bool:
        """Whether a key went down since the last frame."""
        return bool(self._lib.screen_key_pressed(key))

    def is_any_down(self, keys: Sequence[int]) -> bool:
        """Whether one of these keys is held, or a button of the mouse."""
        return bool(self._lib.screen_mouse_down()) or any(map(self.is_down, keys))

    def forget_keys(self) -> None:
        """From now on, the env sees keys that are down or went down since this call."""
        self._lib.screen_forget_keys()

    def should_close(self) -> bool:
        """Whether the window's own button was pressed."""
        return bool(self._lib.screen_should_close())

    def panel(self, lines: Sequence[str] | None, cells: np.ndarray | None = None,
              curve: np.ndarray | None = None) -> None:
        """Set what the panel at the window's right side shows from the next frame on.

        lines     each begins with its style, a character that screen.h explains; None hides it
        cells     (n,) in [0, 1], which lines of cells show
        curve     (m,) any unit
        """
        make = ffi()
        text = make.NULL if lines is None else make.new("char[]", "\n".join(lines).encode())
        cells, curve = (np.ascontiguousarray([] if array is None else array, np.float32)
                        for array in (cells, curve))
        self._shown = text, cells, curve            # C borrows them
        self._lib.screen_panel(text, make.cast("float*", cells.ctypes.data), len(cells),
                               make.cast("float*", curve.ctypes.data), len(curve))
