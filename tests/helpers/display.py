"""A virtual screen that tests run programs on: what it shows, and keys for it."""
from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np


class Display:
    """An Xvfb of its own, so that tests in other processes do not meet on it."""

    def __init__(self, width: int = 1440, height: int = 900):
        self.folder = tempfile.TemporaryDirectory(prefix="display-")
        readable, writable = os.pipe()
        self.child = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writable), "-screen", "0", f"{width}x{height}x24",
             "-fbdir", self.folder.name, "-nolisten", "tcp", "-noreset"], pass_fds=[writable],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writable)
        with os.fdopen(readable) as pipe:
            number = pipe.readline().strip()
        assert number, "Xvfb did not start: tools/deps.sh installs it"
        self.env = {**os.environ, "DISPLAY": f":{number}"}

    def close(self) -> None:
        self.child.terminate()
        self.child.wait()
        self.folder.cleanup()

    def pixels(self) -> np.ndarray:
        """The whole screen, (h, w, 3): Xvfb keeps it in a file, as xwd would write it."""
        raw = (Path(self.folder.name) / "Xvfb_screen0").read_bytes()
        head = np.frombuffer(raw, ">u4", 25)
        start, width, height, line = int(head[0] + 12 * head[19]), *map(int, head[[4, 5, 12]])
        rows = np.frombuffer(raw, np.uint8, height * line, start).reshape(height, line)
        return rows[:, :4 * width].reshape(height, width, 4)[:, :, 2::-1].copy()

    def tool(self, *words: str) -> str:
        return subprocess.run(["xdotool", *words], env=self.env, capture_output=True, text=True,
                              timeout=30).stdout.strip()

    def tap(self, *keys: str, seconds: float = 0.1) -> None:
        """Press keys together, as a hand would: raylib sees what is down when it looks."""
        for key in keys:
            self.tool("keydown", key)
        time.sleep(seconds)
        for key in reversed(keys):
            self.tool("keyup", key)
        time.sleep(0.05)

    def wait_for(self, found, seconds: float = 20):
        """found(pixels) of the whole screen, once it is something."""
        deadline = time.monotonic() + seconds
        while True:
            answer = found(self.pixels())
            if answer is not None and answer is not False:
                return answer
            assert time.monotonic() < deadline, "the screen never showed it"
            time.sleep(0.05)

    def steady(self) -> np.ndarray:
        """The screen's pixels, once two looks agree on them."""
        def same(pixels: np.ndarray):
            time.sleep(0.1)
            return pixels if (self.pixels() == pixels).all() else None

        return self.wait_for(same)

    @contextmanager
    def running(self, *command, cwd: Path, **env: str):
        """A program with its window in focus; it is gone at the end."""
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(list(map(str, command)), cwd=cwd, env={**self.env, **env},
                                     stdout=said, stderr=subprocess.STDOUT)
            window = Window(self, child, said)
            try:
                yield window
            finally:
                if child.poll() is None:
                    child.kill()
                    child.wait()


class Window:
    def __init__(self, display: Display, child: subprocess.Popen, said):
        self.display, self.child, self.said = display, child, said
        self.id = ""

    def appear(self, seconds: float = 30) -> Window:
        """Waits for the window and for something in it."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.display.tool("search", "--onlyvisible", "--pid", str(self.child.pid))
            found = found or self.display.tool("search", "--onlyvisible", "--name", ".")
            if found:
                self.id = found.split()[-1]
                if len(np.unique(self.pixels().reshape(-1, 3), axis=0)) > 2:
                    break
            assert self.child.poll() is None, self.output()
            assert time.monotonic() < deadline, "no window with a picture\n" + self.output()
            time.sleep(0.05)
        self.display.tool("windowfocus", "--sync", self.id)
        return self

    def pixels(self) -> np.ndarray:
        """What it shows, (h, w, 3)."""
        told = self.display.tool("getwindowgeometry", "--shell", self.id)
        x, y, w, h = (int(re.search(rf"^{name}=(-?\d+)", told, re.M)[1])
                      for name in ("X", "Y", "WIDTH", "HEIGHT"))
        return self.display.pixels()[max(y, 0):y + h, max(x, 0):x + w]

    def hold(self, *keys: str) -> None:
        for key in keys:
            self.display.tool("keydown", key)

    def release(self, *keys: str) -> None:
        for key in keys:
            self.display.tool("keyup", key)

    def wait_for(self, condition, seconds: float = 20) -> None:
        """Until condition(pixels) holds."""
        deadline = time.monotonic() + seconds
        while not condition(self.pixels()):
            assert self.child.poll() is None, self.output()
            assert time.monotonic() < deadline, "it never came to that"
            time.sleep(0.05)

    def quit(self) -> int:
        """ESC, which is how raylib's programs end; the exit status."""
        self.hold("Escape")
        try:
            return self.child.wait(30)
        finally:
            self.release("Escape")

    def output(self) -> str:
        self.said.seek(0)
        return self.said.read().decode(errors="replace")
