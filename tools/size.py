"""make size: lines and bytes of tracked text, by room.  a checkout -> a table

    python tools/size.py            this checkout
    python tools/size.py v0.1.0     a commit, for a comparison
"""
from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# A file counts for the first room that its path begins with
ROOMS = ("puffer_sdk/checking", "puffer_sdk/mutate", "puffer_sdk/include", "puffer_sdk", "kernels",
         "trainer", "tests/checking", "tests/mutate", "tests/specimens", "tests/corpus", "tests",
         "benchmarks/field", "benchmarks/python_field", "benchmarks", "docs/data", "docs/images",
         "docs", "templates", "examples", "tools", "")


def git(*words: str) -> bytes:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True).stdout


def sizes(commit: str = "") -> dict[str, tuple[int, int, int]]:
    """{room: (files, lines, bytes)}. Images and other binary files have no lines."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    names = git("ls-tree", "-r", "-z", "--name-only", commit) if commit else git("ls-files", "-z")
    for name in names.decode().split("\0")[:-1]:
        data = git("show", f"{commit}:{name}") if commit else _content(ROOT / name)
        room = next(room for room in ROOMS if not room or name.startswith(f"{room}/"))
        counts = found[room or "at the root"]
        counts[0] += 1
        counts[1] += 0 if b"\0" in data else data.count(b"\n")
        counts[2] += len(data)
    return {room: tuple(counts) for room, counts in found.items()}


def _content(path: Path) -> bytes:
    return b"" if path.is_symlink() or not path.is_file() else path.read_bytes()


def table(rows: dict[str, tuple[int, int, int]]) -> list[str]:
    """Aligned lines, the largest room first, and their sum."""
    rows = dict(sorted(rows.items(), key=lambda item: -item[1][1]))
    rows["all"] = tuple(map(sum, zip(*rows.values())))
    wide = max(map(len, rows))
    return [f"{'room':{wide}}  files    lines        bytes",
            *(f"{room:{wide}}  {files:5,}  {lines:7,}  {size:11,}"
              for room, (files, lines, size) in rows.items())]


def main() -> None:
    print("\n".join(table(sizes(*sys.argv[1:2]))))


if __name__ == "__main__":
    main()
