"""clang-format over our C and CUDA.  --write: change the files; else list differing ones, status 1.

Environments in templates, examples, tests and benchmarks keep their authors' format.
"""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("kernels", "trainer", "puffer_sdk")
KINDS = (".c", ".h", ".cc", ".cu", ".cuh")


def files() -> list[Path]:
    return sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*")
                  if path.suffix in KINDS)


def command() -> list[str]:
    """clang-format of this Python's environment: another version formats differently."""
    return [str(Path(sys.executable).with_name("clang-format")), "--style=file"]


def differing(paths: list[Path]) -> list[str]:
    """The first place of each file that clang-format would change: "file.c:12:3"."""
    done = subprocess.run([*command(), "--dry-run", "--ferror-limit=1", *map(str, paths)],
                          cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"clang-format could not read its style or the files:\n{done.stderr}")
    return sorted({line.partition(": ")[0].replace(f"{ROOT}/", "")
                   for line in done.stderr.splitlines() if "[-Wclang-format" in line})


def write(paths: list[Path]) -> None:
    """Formats until nothing changes: once is not always enough for long macros."""
    for _ in range(4):
        subprocess.run([*command(), "-i", *map(str, paths)], cwd=ROOT, check=True)
        if not differing(paths):
            break


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        write(files())
    found = differing(files())
    for place in found:
        print(f"{place}: make format would change this file")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
