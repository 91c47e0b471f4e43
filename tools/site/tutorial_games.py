"""The games of the bug switch.  docs/tutorials/drips/ + the package -> {place: file}

Each variant of the tutorial's environment (the correct one and each fault) is trained and built as
a page, in build/docs/KEY. KEY is a hash of all inputs, so a second `make docs` rebuilds nothing.
"""
from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import measure
from measure import NAME, ROOT, SOUND

MADE_FROM = ("docs/tutorials/drips", "puffer_sdk", "templates", "trainer", "kernels",
             "tools/site/tutorial_games.py", "tools/site/measure.py")
SEED = "1"
BRIEF = os.environ.get("PUFFER_DOCS_STEPS")     # the same for every training: tests of the pages
STEPS = BRIEF or "4e6"  # of training for what is only looked at


def products() -> dict[str, Path]:
    """Files of the site by their place in it; made if missing."""
    folder = ROOT / "build" / "docs" / key()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)            # two builds at once make them once
        if not folder.is_dir():
            print("docs: making the games of the tutorial", file=sys.stderr)
            for old in folder.parent.iterdir():
                if old.is_dir():
                    shutil.rmtree(old)
            with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
                make(Path(scratch) / "out", Path(scratch) / "work")
                os.rename(Path(scratch) / "out", folder)
    return {path.relative_to(folder).as_posix(): path
            for path in sorted(folder.rglob("*")) if path.is_file()}


def key() -> str:
    """A hash of the files that the products depend on."""
    digest = hashlib.sha256((BRIEF or "").encode())
    for name in MADE_FROM:
        for path in sorted((ROOT / name).rglob("*")) or [ROOT / name]:
            if path.is_file() and path.suffix in (".py", ".c", ".h", ".cuh", ".ini", ".toml",
                                                  ".jinja"):
                digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def make(out: Path, work: Path) -> None:
    """All products below `out`."""
    out.mkdir()
    work.mkdir()
    variants = (SOUND, *measure.faults())
    for variant in variants:
        steps = () if variant == SOUND and not BRIEF else ("--train.total-timesteps", STEPS)
        train(measure.place(variant, work), *steps)
    # the first page compiles raylib for the web, which the others share
    page(out, work, SOUND)
    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(page, out, work, variant) for variant in variants[1:]]:
            job.result()


def train(project: Path, *options: str) -> None:
    measure.run(["train", NAME, "--train.seed", SEED, *options], project)


def page(out: Path, work: Path, variant: str) -> None:
    measure.run(["build", "--web", NAME], work / variant)
    shutil.copytree(work / variant / NAME / "build" / "web", out / "tutorials" / "games" / variant)
