"""The README's picture: a template, trained, beside random play.  -> docs/images/crowd.gif

    python tools/readme_gif.py [FILE]

Runs the commands that a reader would, in a folder of its own, and shows each of them.
"""
from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

LARGEST = 300_000       # bytes: a README loads on a phone
COMMANDS = ("new crowd --template target", "train crowd",
            "eval crowd --beside random --width 720 --ticks 180 --gif crowd.gif")


def main() -> int:
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/crowd.gif").resolve()
    with tempfile.TemporaryDirectory(prefix="puffer-picture-") as folder:
        for line in COMMANDS:
            print(f"$ puffer-sdk {line}", flush=True)
            done = subprocess.run([sys.executable, "-m", "puffer_sdk", *shlex.split(line)],
                                  cwd=folder)
            if done.returncode != 0:
                return done.returncode
        data = (Path(folder) / "crowd.gif").read_bytes()
    if len(data) > LARGEST:
        print(f"error: {len(data)} bytes, at most {LARGEST} suit a README", file=sys.stderr)
        return 1
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    print(f"wrote {target}, {len(data) / 1000:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
