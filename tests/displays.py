"""A display of one's own for tests that open windows: Xvfb, pictures of it, keys sent to it."""
from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager

import numpy as np

SIZE = (1400, 900)
TITLE = "puffer"


class Display:
    """name     ":99", for DISPLAY"""

    def __init__(self, name: str):
        self.name = name
        self.env = {**os.environ, "DISPLAY": name}

    def picture(self) -> np.ndarray:
        """What is on the screen, (h, w, 3) uint8."""
        from PIL import ImageGrab
        return np.asarray(ImageGrab.grab(xdisplay=self.name).convert("RGB"))

    def xdotool(self, *words: str) -> str:
        done = subprocess.run(["xdotool", *map(str, words)], env=self.env, check=True, text=True,
                              capture_output=True, timeout=20)
        return done.stdout

    def tap(self, *keys: str, seconds: float = 0.1) -> None:
        """Press keys together, as a hand would: raylib sees what is down when it looks."""
        for key in keys:
            self.xdotool("keydown", key)
        time.sleep(seconds)
        for key in reversed(keys):
            self.xdotool("keyup", key)
        time.sleep(0.05)

    def wait_for(self, found, limit: float = 20.0):
        """found(picture) once it is true; AssertionError after `limit` seconds."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            answer = found(self.picture())
            if answer is not None and answer is not False:
                return answer
            time.sleep(0.05)
        raise AssertionError("the screen never showed it")


@contextmanager
def display():
    """A fresh Xvfb; it ends with the block."""
    assert shutil.which("Xvfb") and shutil.which("xdotool"), "tools/deps.sh installs them"
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24", "-noreset",
         "-nolisten", "tcp"], pass_fds=[write], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            yield Display(":" + pipe.readline().strip())
    finally:
        server.terminate()
        server.wait(10)
