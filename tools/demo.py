"""`make demo`: all main commands on the Squared template, as a user would type them.

Prints each command before it runs, and stops with its status at the first that fails.
"""
from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from puffer_sdk.base import paths

COMMANDS = (
    ("start from the Squared template", "new my_env --force --output-dir ."),
    ("look for the bugs that ruin training", "check my_env"),
    ("compile it", "build my_env"),
    ("train a policy on it", "train my_env"),
    ("see how good it is, and make a picture of it", "eval my_env --gif my_env.gif"),
)


def main(folder: str) -> int:
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    for why, words in COMMANDS:
        heading(f"{why}\n$ puffer-sdk {words}")
        status = subprocess.run([sys.executable, "-m", "puffer_sdk", *shlex.split(words)],
                                cwd=place, check=False).returncode
        if status:
            print(f"\n`puffer-sdk {words}` ended with status {status}", file=sys.stderr)
            return status
    heading(f"done in {time.perf_counter() - began:.0f} s")
    print(how_to_go_on(place))
    return 0


def how_to_go_on(place: Path) -> str:
    """The last lines: where the game is, and how to run `puffer-sdk`."""
    bin_dir = os.path.relpath(Path(sys.prefix) / "bin")
    return (f"Open {place}/my_env/my_env.h and change the game. In this terminal,\n\n"
            f"    . {bin_dir}/activate\n    puffer-sdk check {place}/my_env\n\n"
            f"or without the first line: {bin_dir}/puffer-sdk check {place}/my_env\n"
            f"{paths.page('tutorials/ten-minutes.md')} explains each step")


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "demo"))
