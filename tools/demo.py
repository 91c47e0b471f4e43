"""`make demo`: the whole road on the Squared template, as a user would type it.

Prints each command before it runs, and stops with its status at the first that fails.
"""
from __future__ import annotations

import shlex
import subprocess
import sys
import time
from pathlib import Path

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
    heading(f"done in {time.perf_counter() - began:.0f} s. The environment is {place}/my_env: "
            "open my_env.h and change the game.")
    return 0


def heading(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "demo"))
