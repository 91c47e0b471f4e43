"""Make a version's folder with the current code.  `python tests/corpus/make.py v2`

By hand, when a format has changed, and never again for that version (README.md). Absolute paths
become /home/me. The interrupted run is cut to its first checkpoint, as if it had been stopped
there.
"""
from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CORPUS = Path(__file__).parent
V1 = CORPUS / "v1"
SMALL = ("--vec.total-agents", "8", "--train.horizon", "32", "--train.minibatch-size", "128",
         "--policy.hidden-size", "8", "--policy.num-layers", "1", "--train.total-timesteps", "4096")


def main() -> None:
    target = CORPUS / sys.argv[1]
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch).resolve()
        puffer(place, "new", "walk")
        for name in ("walk.h", "walk.ini"):
            shutil.copy(V1 / "walk" / name, place / "walk")
        shutil.copy(V1 / "line.py", place)
        puffer(place, "train", "walk", "--tag", "finished", "--train.device", "cpu")
        interrupt(place)
        puffer(place, "export", "walk", "--load-model-path", "1", "--output", "walk_policy.bin")
        puffer(place, "sweep", "walk", "--runs", "2", "--seeds", "0", "--workers", "1",
               "--train.total-timesteps", "8192", "--base.checkpoint-interval", "100")
        puffer(place, "train", "line.py:Line", *SMALL)
        keep(place, target)


def puffer(place: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "puffer_sdk", *words], cwd=place, check=True)


def interrupt(place: Path) -> None:
    """Run 2: stopped in the middle of its episodes, with a checkpoint that leads back there."""
    words = ["train", "walk", "--train.total-timesteps", "100_000_000", "--train.device", "cpu"]
    run, kept = place / "walk/runs/walk/0002", "000000016384.safetensors"
    with subprocess.Popen([sys.executable, "-m", "puffer_sdk", *words], cwd=place) as train:
        while not (run / "checkpoints" / kept).exists():
            time.sleep(0.01)
        train.send_signal(signal.SIGINT)
    for path in (run / "checkpoints").iterdir():
        if path.name != kept:
            path.unlink()
    from puffer_sdk.training import checkpoint

    facts = checkpoint.load(run / "checkpoints" / kept).facts
    best = run / "best.safetensors"
    if best.exists() and checkpoint.load(best).step > facts["step"]:
        best.unlink()
    journal = run / "actions.journal"
    journal.write_bytes(journal.read_bytes()[:facts["replay"]["bytes"]])
    metrics = run / "metrics.jsonl"
    rows = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(rows[:facts["epoch"]]))
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "step": facts["step"]}, indent=1) + "\n")


def keep(place: Path, target: Path) -> None:
    """Copy what runs and their tests need, without paths of this machine."""
    target.mkdir()
    shutil.copy(place / "walk_policy.bin", target)
    shutil.copytree(place / "walk/runs", target / "runs",
                    ignore=shutil.ignore_patterns("sweep.html"))     # nobody reads it back
    shutil.copytree(place / "runs/line", target / "runs/line")
    for metrics in target.rglob("metrics.jsonl"):       # every fourth row, and claims, are enough
        rows = metrics.read_text().splitlines(keepends=True)
        metrics.write_text("".join(row for number, row in enumerate(rows, 1)
                                   if number % 4 == 0 or number == len(rows) or "claim/" in row))
    for path in target.rglob("*"):
        if path.is_file() and str(place).encode() in (data := path.read_bytes()):
            if path.suffix == ".safetensors":
                raise SystemExit(f"error: {path} names a path of this machine")
            path.write_bytes(data.replace(f"{place}/walk".encode(), b"/home/me/walk"))


if __name__ == "__main__":
    main()
