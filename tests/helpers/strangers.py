"""A project as it comes from somebody else, and everything around it that must not change."""
from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from puffer_sdk import cli
from puffer_sdk.sweeping.store import DONE, RUNNING, Store
from puffer_sdk.sweeping.sweep_plan import Plan

ROWS = {"train.gamma": {"distribution": "logit_normal", "min": 0.9, "max": 0.999}}
SETTINGS = {"train.total_timesteps": 65536, "vec.total_agents": 256}


def make_sweep(place: Path, *, trials: int = 3, plan: dict | None = None, **facts) -> Store:
    """The folder of a sweep that has ended. plan, facts: what is different in it."""
    place.mkdir(parents=True)
    store = Store(str(place / "journal"), "squared-0001").create(Plan(**{**dict(
        env="squared", rows=ROWS, start={"train.gamma": 0.99}, fixed={}, spec="abc",
        base={"train.horizon": 64, "vec.total_agents": 64}), **(plan or {})}), began=1.0, seeds=0)
    for number in range(trials):
        trial = store.add({"train.gamma": 0.95 + number / 100}, RUNNING, seed=number, **facts)
        store.end(trial, DONE, 0.5 + number / 10, cost=1.0 + number, ended=2.0, wall=1.0)
    (place / "sweep.json").write_text(
        '{"storage": "/elsewhere/journal", "name": "squared-0001", "env": "squared", "tag": ""}')
    return store


def run_of(project: Path) -> Path:
    return project / "runs" / "squared" / "0001"


def sweep_of(project: Path) -> Path:
    return project / "runs" / "squared" / "sweeps" / "0001"


def picture(root: Path) -> dict[str, object]:
    """All that lies below a folder: contents, links, permissions and times of change."""
    found = {}
    for place, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(place, name)
            facts = path.lstat()
            text = os.readlink(path) if path.is_symlink() else \
                hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
            found[os.path.relpath(path, root)] = (facts.st_mode, facts.st_mtime_ns, text)
    return found


def replace_by_link(path: Path, target: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def puffer(capsys, *words) -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of a command in this process."""
    capsys.readouterr()
    try:
        status = cli.main([str(word) for word in words])
    except SystemExit as ended:         # a goal that is not met
        status = ended.code
    said = capsys.readouterr()
    return status, said.out, said.err
