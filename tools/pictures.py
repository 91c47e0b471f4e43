"""The recordings in README and pages: environments, trained and recorded.  -> docs/images/NAME.gif

    python tools/pictures.py [NAME ...]         without a name, all of them

Runs and prints the commands that a reader would type, in a separate folder.
"""
from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
LARGEST = 300_000       # bytes: pages load on a phone
PICTURES = {
    "crowd": ("new crowd --template target", "train crowd",
              "eval crowd --beside random --width 720 --ticks 180 --gif crowd.gif"),
    "duel": ("new duel --template duel", "train duel",
             "match duel best random --games 20 --record-episodes 4 --width 320 --gif duel.gif"),
    "my_env": ("new my_env", "train my_env", "eval my_env --width 360 --gif my_env.gif"),
    "drips": ("train drips",
              "eval drips --beside random --width 560 --ticks 130 --gif drips.gif"),
    "world": ("new world --template world", "train world",
              "eval world --beside random --width 360 --ticks 57 --fps 12 --gif world.gif"),
    "picture": ("new picture --template picture", "train picture",
                "eval picture --beside random --width 384 --ticks 55 --fps 12 --gif picture.gif"),
}


def record(name: str, place: Path) -> bytes:
    """Make a picture in an empty folder. Raises SystemExit if a command fails."""
    if name == "drips":
        shutil.copytree(ROOT / "docs" / "tutorials" / "drips" / "step6", place / name)
    for line in PICTURES[name]:
        print(f"$ puffer-sdk {line}", flush=True)
        done = subprocess.run([sys.executable, "-m", "puffer_sdk", *shlex.split(line)], cwd=place)
        if done.returncode != 0:
            raise SystemExit(done.returncode)
    return (place / f"{name}.gif").read_bytes()


def main(names: list[str]) -> int:
    for name in names or PICTURES:
        with tempfile.TemporaryDirectory(prefix="puffer-picture-") as folder:
            data = record(name, Path(folder))
        if len(data) > LARGEST:
            print(f"error: {name}.gif has {len(data)} bytes, at most {LARGEST} suit a page",
                  file=sys.stderr)
            return 1
        (IMAGES / f"{name}.gif").write_bytes(data)
        print(f"wrote    docs/images/{name}.gif, {len(data) / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
