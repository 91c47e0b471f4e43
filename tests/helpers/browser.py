"""A headless Chromium that tests drive over its DevTools protocol, and a server for its pages."""
from __future__ import annotations

import base64
import functools
import http.server
import itertools
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

FLAGS = ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
         "--enable-unsafe-swiftshader", "--disable-dev-shm-usage", "--no-first-run",
         "--disable-extensions", "--disable-component-update", "--disable-background-networking",
         "--remote-debugging-port=0", "--remote-allow-origins=*", "--mute-audio"]
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find() -> str | None:
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def serve(folder: Path):
    """http://127.0.0.1:PORT/ of a folder, as `python -m http.server` would."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):         # a browser that goes away in the middle of a file
            pass

    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


class Browser:
    """One Chromium process. open(url) -> Page"""

    def __init__(self, profile: Path, *flags: str):
        program = find()
        assert program, "chromium is not installed: tools/deps.sh"
        self.child = subprocess.Popen(
            [program, *FLAGS, *flags, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            # with a DISPLAY that nobody serves there would be no WebGL
            env={**{name: value for name, value in os.environ.items() if name != "DISPLAY"},
                 "DBUS_SESSION_BUS_ADDRESS": "disabled:"})
        port_file = profile / "DevToolsActivePort"
        deadline = time.monotonic() + 60
        while not (port_file.is_file() and len(port_file.read_text().split()) == 2):
            assert self.child.poll() is None, "chromium did not start"
            assert time.monotonic() < deadline, "chromium does not answer"
            time.sleep(0.05)
        self.port = int(port_file.read_text().split()[0])

    def open(self, url: str, *, width: int = 1280, height: int = 800, **how) -> Page:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank",
                                         method="PUT")
        with urllib.request.urlopen(request, timeout=30) as answer:
            page = Page(json.load(answer))
        page.resize(width, height, **how)
        page.call("Page.navigate", url=url)
        return page

    def close(self) -> None:
        self.child.terminate()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Page:
    """A tab: evaluate JavaScript, press keys, touch, take pictures; `problems` is what it said."""

    def __init__(self, target: dict):
        import websocket
        self.id, self.numbers = target["id"], itertools.count(1)
        self.problems: list[str] = []
        self.socket = websocket.create_connection(target["webSocketDebuggerUrl"], timeout=60)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params) -> dict:
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            self._notice(message)
            if message.get("id") == number:
                assert "error" not in message, message["error"]
                return message["result"]

    def _notice(self, message: dict) -> None:
        kind, params = message.get("method"), message.get("params", {})
        if kind == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:400])
        elif kind == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif kind == "Runtime.consoleAPICalled" and params["type"] == "error":
            self.problems.append(json.dumps(params["args"])[:400])

    def evaluate(self, expression: str):
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        trial = f"(() => {{ try {{ return Boolean({expression}) }} catch {{ return false }} }})()"
        while not self.evaluate(trial):
            assert time.monotonic() < deadline, (
                expression, self.problems, self.evaluate("document.body.innerText"))
            time.sleep(0.05)

    def frames(self, count: int) -> None:
        """Until the program has shown so many frames more."""
        shown = self.evaluate("frame")
        self.wait_for(f"frame >= {shown + count}")

    def resize(self, width: int, height: int, *, scale: float = 1, mobile: bool = False) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=scale, mobile=mobile)
        self.call("Emulation.setTouchEmulationEnabled", enabled=mobile)

    def key(self, down: bool, code: int, name: str) -> None:
        self.call("Input.dispatchKeyEvent", type="rawKeyDown" if down else "keyUp", key=name,
                  code=name, windowsVirtualKeyCode=code, nativeVirtualKeyCode=code)

    def touch(self, kind: str, *points: tuple[float, float]) -> None:
        self.call("Input.dispatchTouchEvent", type=kind,
                  touchPoints=[{"x": x, "y": y} for x, y in points])

    def picture(self) -> bytes:
        """What the tab shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self.call("Page.close")
        self.socket.close()
