"""Whole commands on changed folders, each in a separate process.  (random generator, Box) -> word

Before each command, the folder is restored to a project: an environment, its runs, a sweep and
build products. Then one to three of its files, or of those that a command would write, are changed.
"""
from __future__ import annotations

import compileall
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import puffer_sdk
from puffer_sdk import cli
from puffer_sdk.base import paths

from . import changes
from .box import Box
from .kinds import judged

LIMIT = 120.0           # seconds of one command
KEPT = (paths.cache_dir(), Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"))
SHORT = ("--train.total-timesteps", "60000")
COMMANDS: list[tuple[int, str]] = [         # how often, and the words
    (4, "runs list walk"), (2, "runs --format json"), (2, "runs compare 1 2 --env walk"),
    (2, "runs plot 1 2 --env walk"), (2, "runs delete 2 --env walk --yes"), (3, "config walk"),
    (1, "config walk --format json"), (3, "list"), (3, "clean walk --runs --yes"),
    (1, "clean walk --dry-run"), (2, "clean walk --yes"), (4, "sweep walk --show"),
    (2, "sweep walk --best"), (2, "sweep walk --map -o map.html"), (3, "export walk"),
    (2, "export {} --output made.bin"), (1, "export walk --load-model-path walk_policy.bin"),
    (2, "new other --dry-run"), (2, "new other"), (1, "new other --template template"),
    (2, "bind walk --force"), (4, "build walk"),
    (4, "eval walk --eval.episodes 5"), (2, "eval walk --load-model-path {} --eval.episodes 5"),
    (1, "eval walk --load-model-path 1 --eval.episodes 5 --gif walk.gif"),
    (4, "train walk --resume 2"), (2, "train walk --resume"), (2, "train walk"),
    (1, "train walk --load-model-path {}"), (1, "check walk --budget 0.01"),
    (1, "check walk --budget 0.01 --fix --yes"),
    (1, "sweep walk --resume --runs 1 --workers 1 --seeds 0"), (1, "debug walk --batch"),
    (1, "explain PUF101"), (1, "completion bash"), (1, "profile walk --seconds 0.5")]
# what commands make
MADE = ["walk/build", "walk/build/binding.c", "walk/build/walk_config.h", "walk/build/report",
        "walk/build/compile_commands.json", "walk/build/walk-fast", "walk/build/report.html",
        "walk/build/report.md", "walk/build/report.json", "walk/build/report/runs",
        "walk/build/report/runs/walk", "walk/build/check", "walk/build/.walk-fast.json",
        "walk/build/walk_policy.bin", "walk/binding.c", "walk/resources", "runs", "runs/walk",
        "runs/walk/0001", "runs/walk/0002", "runs/walk/0003", "runs/walk/0002/episodes.json",
        "runs/walk/0001/episodes.json", "runs/walk/0001/eval.log", "runs/walk/0002/eval.log",
        "runs/walk/0001/checkpoints", "runs/walk/0002/checkpoints", "runs/walk/sweeps",
        "runs/walk/sweeps/0001", "runs/walk/sweeps/0001/trials", "runs/walk/sweeps/0001/front",
        "runs/walk/sweeps/0001/trials/0000", "runs/walk/sweeps/0002", "runs/walk/.new-1",
        "other", "other/other.h", "template/cookiecutter.json", "walk/walk_policy.bin",
        "numpy.py", "optuna.py", "sitecustomize.py", ".puffer"]
# what COMMANDS name, and the author's code and ini, of which links are followed as compilers do: to
# follow a link there is what was asked for
TYPED = ("walk_policy.bin", "map.html", "made.bin", "walk.gif", "template", "walk/walk.h",
         "walk/walk.ini", "walk/binding.c", "other/other.h")


def try_command(rng: random.Random, box: Box) -> str:
    restore(box)
    files = sorted(path for path in box.inside.rglob("*") if path.is_file()
                   and path.suffix not in (".so", ".gif") and ".git/" not in str(path))
    policy = rng.choice([path for path in files if path.suffix == ".safetensors"])
    typed = {policy, *(box.inside / name for name in TYPED)}
    for _ in range(rng.choice((1, 1, 2, 3))):
        with suppress(OSError, ValueError, RuntimeError):   # one change may spoil the next
            anew, place = rng.random() < 0.5, rng.choice(files)
            if anew and rng.random() < 0.5:
                place = box.inside / rng.choice(MADE)
            if box.inside not in (place.parent / "_").resolve().parents:
                continue                                    # nor do we write beside the folder
            if anew:
                changes.replace(rng, place, box.outside, links=place not in typed
                                and policy not in place.rglob("*"))
            elif not place.is_symlink() and place.stat().st_nlink == 1:
                changes.change_file(rng, place, box.baits)
    weights, texts = zip(*COMMANDS)
    text = rng.choices(texts, weights)[0]
    words = tuple(text.format(policy.relative_to(box.inside)).split())
    if words[0] == "train" or words[:3] == ("sweep", "walk", "--resume"):
        words = (*words, *SHORT)
    box.ready()
    status, said = run(words, box)
    return judged(words, status, said)


# ---- the project ---------------------------------------------------------------------------------

def prepare(box: Box) -> None:
    """Once: make a repository and a template, and run the commands; kept in HOME/made.

    Our modules are compiled too: otherwise Python would write beside them at the first import.
    """
    compileall.compile_dir(Path(puffer_sdk.__file__).parent, quiet=2)
    made = box.home / "home" / "made"
    if made.is_dir():
        return
    for name in ("home", "tmp"):
        (box.home / name).mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", str(box.inside)], check=True)
    template = box.inside / "template" / "{{cookiecutter.name}}"
    template.mkdir(parents=True)
    shutil.copy(box.inside / "walk/walk.h", template / "{{cookiecutter.name}}.h")
    (template.parent / "cookiecutter.json").write_text(json.dumps({"name": "a", "rc": "b"}))
    for text in ("build walk", "eval walk --eval.episodes 5"):
        status, said = run(tuple(text.split()), box, 3000)
        if status not in (0, 1):
            raise RuntimeError(f"{text}: {status}\n{said}")
    shutil.copytree(box.inside, made, symlinks=True)


def restore(box: Box) -> None:
    """Restore the project."""
    for path in box.inside.iterdir():
        changes.remove(path)
    shutil.copytree(box.home / "home" / "made", box.inside, symlinks=True, dirs_exist_ok=True)
    for path in box.outside.rglob("made*"):
        path.unlink()


def run(words: tuple[str, ...], box: Box, limit: float = 0) -> tuple[int, str]:
    """(status, output) of a command in a fork of this process. Raises RuntimeError for one that
    does not end, or leaves a process behind."""
    log = box.home / "tmp" / "said"
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.setsid()
        signal.setitimer(signal.ITIMER_REAL, 0)
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for stream, fd in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (out, 2)):
            os.dup2(stream, fd)
        os.environ.update(_surroundings(box))
        _finish(words)
    deadline = time.monotonic() + (limit or LIMIT - 5)
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > deadline:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise RuntimeError(f"{' '.join(words)}: no end after {LIMIT:.0f} seconds\n"
                               f"{log.read_text(errors='replace')[-1000:]}")
        time.sleep(0.01)
    said = log.read_text(errors="backslashreplace")
    if os.WIFSIGNALED(status):
        raise RuntimeError(f"{' '.join(words)}: signal {os.WTERMSIG(status)}\n{said[-2000:]}")
    return os.WEXITSTATUS(status), said


def _surroundings(box: Box) -> dict[str, str]:
    """A home and a folder for temporary files beside the project; the user's cache with the
    compiled trainer, and the secret that signs it."""
    home = box.home / "home"
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "TERM": "dumb",
            "PUFFER_CACHE": str(KEPT[0]), "XDG_CONFIG_HOME": str(KEPT[1]), "COLUMNS": "100",
            "TMPDIR": str(box.home / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}


def _finish(words: tuple[str, ...]) -> None:
    import tempfile

    tempfile.tempdir = None
    status = 99
    try:
        status = cli.main(list(words))
    except SystemExit as end:
        status = end.code or 0
    except BaseException:  # noqa: BLE001
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)
