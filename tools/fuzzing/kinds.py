"""The files to change and their readers, in this process.  (random generator, Box) -> a word"""
from __future__ import annotations

import contextlib
import io
import json
import random
from collections.abc import Callable
from pathlib import Path

from puffer_sdk import cli
from puffer_sdk.base.errors import BUG
from puffer_sdk.env import header
from puffer_sdk.interop.python_envs.env_source import CompiledSource
from puffer_sdk.policy import export
from puffer_sdk.reporting import comparing
from puffer_sdk.sweeping import sweep_plan
from puffer_sdk.training import checkpoint, resuming

from . import changes
from .box import CORPUS, Box


def run_command(*words: str) -> str:
    """The command's status as a word. Raises if it reports a bug."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            status = cli.main(list(words))
        except SystemExit as end:
            status = end.code or 0
    return judged(words, status, said.getvalue())


def judged(words: tuple[str, ...], status: int, said: str) -> str:
    """A word for a command's status and output. Raises RuntimeError for a broken promise."""
    wrong = "a bug" if status == BUG or "Traceback" in said else \
        "a control character" if set(said) & CONTROLS else None
    if wrong:
        raise RuntimeError(f"{' '.join(words)}: {wrong}, status {status}\n{said[-2000:]}")
    return "read" if status in (0, 1) else "refused"


CONTROLS = {chr(code) for code in (*range(9), *range(0xB, 0xD), *range(0xE, 0x20),
                                   *range(0x7F, 0xA0), 0x202E, 0x2066)}


@contextlib.contextmanager
def changed(path: Path, rng: random.Random, box: Box, *, gone: float = 0.25, typed: bool = False):
    """Change a file or put something else in its place; restore it afterwards.

    gone    the share of files that something else replaces
    typed   whether a user types its path, which may then be a link
    """
    kept = path.read_bytes()
    try:
        if rng.random() < gone:
            changes.replace(rng, path, box.outside, links=not typed)
        else:
            changes.change_file(rng, path, box.baits)
        box.ready()
        yield
    finally:
        changes.remove(path)
        path.write_bytes(kept)


def try_checkpoint(rng: random.Random, box: Box) -> str:
    run = box.inside / "runs/walk/0001"
    path = run / rng.choice(("best.safetensors", "checkpoints/000000049152.safetensors"))
    with changed(path, rng, box, gone=0.02, typed=True):
        if path.name != "best.safetensors":
            with contextlib.redirect_stderr(io.StringIO()) as said:
                resuming.find_resumable(run.parent, "1")
            judged(("resume",), 0, said.getvalue())
        checkpoint.load(path)
        policy = export.read_policy(path)
        if not policy.config.policy.torch_class:
            export.pack(policy)
    return "read"


def try_ini(rng: random.Random, box: Box) -> str:
    folder = box.inside / "walk"
    if "spec" not in box.kept:
        box.kept["spec"] = header.read(folder)
    spec = box.kept["spec"]
    text = (folder / "walk.ini").read_text()
    path = box.inside / "changed.ini"
    path.write_bytes(changes.change_bytes(rng, text.encode()) if rng.random() < 0.3 else
                     changes.change_text(rng, text).encode("utf-8", "replace"))
    box.ready()
    source = CompiledSource(folder, (path,))
    with contextlib.redirect_stderr(io.StringIO()) as said:
        sweep_plan.read(source, {}, source.resolve(spec=spec), spec, 1)
    return judged(("config",), 0, said.getvalue())


def try_run(rng: random.Random, box: Box) -> str:
    run = box.inside / "runs/walk" / rng.choice(("0001", "0002"))
    path = run / rng.choice(("run.json", "metrics.jsonl", "config.ini", "spec.json"))
    with changed(path, rng, box):
        words = rng.choice((
            ("list", "walk", "--format", "json"), ("list", "walk", "--format", "json"),
            ("compare", "1", "2", "--env", "walk", "--format", "json"), ("list", "walk"), (), ()))
        if words:
            return run_command("runs", *words)
        export.read_policy(run / "best.safetensors")
        with contextlib.redirect_stderr(io.StringIO()):
            resuming.find_resumable(run.parent, run.name)
        return "read"


def try_sweep(rng: random.Random, box: Box) -> str:
    sweep = box.inside / "runs/walk/sweeps/0001"
    path = sweep / rng.choice(("journal", "journal", "sweep.json"))
    with changed(path, rng, box):
        return run_command("sweep", "walk", *rng.choice((
            ("--show",), ("--best",), ("--show", "1"), ("--show", "--format", "json"))))


def try_report(rng: random.Random, box: Box) -> str:
    """What an earlier report holds, as --compare reads it."""
    path = box.inside / "walk_report.json"
    if "report" not in box.kept:
        box.kept["report"] = json.loads((CORPUS / path.name).read_text())
    with changed(path, rng, box, gone=0.02, typed=True):
        comparing.compare(comparing.load(path), box.kept["report"], path.name)
    return "read"


def try_header(rng: random.Random, box: Box) -> str:
    path = box.inside / "walk/walk.h"
    kept = path.read_text()
    try:
        path.write_text(changes.change_text(rng, kept), errors="replace")
        box.ready()
        _, problems = header.inspect(path.parent)
        return "refused" if problems else "read"
    finally:
        path.write_text(kept)


KINDS: dict[str, Callable[[random.Random, Box], str]] = {
    "checkpoints": try_checkpoint, "inis": try_ini, "runs": try_run, "sweeps": try_sweep,
    "reports": try_report, "headers": try_header}
