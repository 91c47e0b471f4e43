"""Measure what it takes to see an environment: part of `make bench`. Writes docs/data/seeing.json.

    python benchmarks/bench_see.py            about a minute on two cores, raylib compiled before
    python benchmarks/bench_see.py --quick    one round each, nothing written

Seconds are medians of whole commands or builds after an edit. The page's frames are counted in a
headless Chromium with a software GPU, while breakout's trained policy plays at the rate that its
screen offers.
"""
from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import ROOT, machine, write_figures

import puffer_sdk
from puffer_sdk.playing.rebuilding import build_player
from puffer_sdk.programs import targets
from puffer_sdk.raylib import drawing
from puffer_sdk.settings import config

TICKS = 300


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one round, write nothing")
    quick = parser.parse_args().quick
    rounds = 1 if quick else 5
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        puffer_sdk.new("squared", template="squared")
        puffer_sdk.train("squared")
        puffer_sdk.train("breakout")
        figures = {"machine": machine(), "command": "make bench",
                   "rebuild_seconds": bench_rebuilds(Path("squared").resolve(), rounds),
                   "recording": bench_recording(rounds), "page": bench_page(Path(folder))}
        os.chdir(ROOT)
    text = table(figures)
    print(text)
    if not quick:
        write_figures("seeing", figures)
    return 0


def bench_rebuilds(folder: Path, rounds: int) -> dict[str, float]:
    """Seconds from an edit to the program, per target; `watch` is the library of play --watch."""
    env_settings = config.resolve(folder).env
    desktop = drawing.shared("desktop").headers

    def program(target: str):
        return lambda: targets.build_program(folder, target, env_settings=env_settings)

    builds = {target: program(target) for target in targets.TARGETS}
    builds["watch"] = lambda: build_player(folder, desktop, {})
    out = {}
    header = folder / "squared.h"
    text = header.read_text()
    for name, build in builds.items():
        build()                                     # raylib, and whatever else is done once
        seconds = []
        for number in range(rounds):
            header.write_text(text.replace("tick %d of %d", f"tick %d of %d, edit {number}"))
            began = time.perf_counter()
            build()
            seconds.append(time.perf_counter() - began)
        header.write_text(text)
        out[name] = statistics.median(seconds)
    return out


def bench_recording(rounds: int) -> dict:
    """Seconds of `eval --gif` for TICKS ticks, of the recording in it, and the GIF's bytes."""
    seconds = {}
    for name in ("squared", "breakout"):
        taken = []
        for _ in range(rounds):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "puffer_sdk", "eval", name, "--gif",
                            f"{name}.gif", "--ticks", str(TICKS), "--episodes", "10000"],
                           check=True, capture_output=True)
            taken.append(time.perf_counter() - began)
        alone = []
        for _ in range(rounds):
            began = time.perf_counter()
            puffer_sdk.record(name, gif=f"{name}.gif", ticks=TICKS, episodes=10000)
            alone.append(time.perf_counter() - began)
        seconds[name] = {"seconds": statistics.median(taken),
                         "record_seconds": statistics.median(alone),
                         "bytes": Path(f"{name}.gif").stat().st_size}
    return {"ticks": TICKS, **seconds}


def bench_page(folder: Path, seconds: float = 5.0) -> dict:
    """The breakout page: its bytes, and frames a second where the program asks for 60."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser import Browser, serve

    (made,) = puffer_sdk.programs.targets.build_programs("breakout", targets=["web"])
    chromium = Browser(folder / "chromium")
    try:
        with serve(made.path.parent) as url:
            page = chromium.open(url)
            page.wait_for("frame > 10")
            first, began = page.evaluate("frame"), time.perf_counter()
            time.sleep(seconds)
            shown, took = page.evaluate("frame") - first, time.perf_counter() - began
    finally:
        chromium.close()
    return {"bytes": made.bytes, "frames_per_second": shown / took}


def table(figures: dict) -> str:
    """The figures as Markdown."""
    rebuild, recording, page = (figures[name] for name in ("rebuild_seconds", "recording", "page"))
    rows = [("`build --fast` after an edit", f"{rebuild['fast']:.2f} s"),
            ("`build --local` after an edit", f"{rebuild['local']:.2f} s"),
            ("`build --web` after an edit", f"{rebuild['web']:.1f} s"),
            ("`play --watch`: from the save to the rebuilt library", f"{rebuild['watch']:.2f} s")]
    for name in ("squared", "breakout"):
        found = recording[name]
        rows.append((f"`eval {name} --gif`, {recording['ticks']} ticks: the whole command, and the "
                     "recording alone", f"{found['seconds']:.1f} s, "
                     f"{found['record_seconds']:.1f} s; {found['bytes'] / 1000:.0f} KB"))
    rows.append(("the breakout page with its trained policy, in Chromium without a GPU",
                 f"{page['frames_per_second']:.0f} frames a second, {page['bytes'] / 1000:.0f} KB"))
    machine = figures["machine"]
    return "\n".join([
        "| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows), "",
        f"Medians; Squared unless named. (`make bench`, {machine['cores']} cores of an "
        f"{machine['cpu']}, {machine['date']})"])


if __name__ == "__main__":
    sys.exit(main())
