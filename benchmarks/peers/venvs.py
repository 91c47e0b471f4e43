"""Virtual environments of their own for peers.  a name -> its interpreter, or why there is none

NAME.txt beside this file pins what is installed, and its first line says with which Python. A venv
lies in build/peers/NAME and is made once for each version of that file.
"""
from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "peers"


class Missing(Exception):
    """This peer cannot be measured here. str(): why."""


def python_of(name: str, *, leave_out: str = "", editable: Path | None = None) -> Path:
    """The interpreter of a peer's venv, made if need be. Raises Missing.

    leave_out   a package of its list that is not to be installed
    editable    a project that is installed there besides
    """
    pins = HERE / f"{name}.txt"
    lines = [line for line in pins.read_text().splitlines()
             if not (leave_out and line.startswith(f"{leave_out}=="))]
    folder = BUILD / (name + (f"-without-{leave_out}" if leave_out else "")
                      + ("-and-ours" if editable else ""))
    python, stamp = folder / "bin" / "python", folder / "made-from"
    key = hashlib.sha256("\n".join([*lines, str(editable)]).encode()).hexdigest()
    if stamp.is_file() and stamp.read_text().split("\n")[0] == key:
        reason = stamp.read_text().partition("\n")[2].strip()
        if reason:
            raise Missing(reason)
        return python
    wanted = re.search(r"Python (\d+\.\d+)", lines[0])[1]
    print(f"installing {name} ...", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    reason = _install(find_python(wanted), wanted, folder, lines, editable)
    stamp.write_text(f"{key}\n{reason}")
    if reason:
        raise Missing(reason)
    return python


def _install(found: str | None, wanted: str, folder: Path, lines: list[str],
             editable: Path | None) -> str:
    """"" or why it could not be done."""
    if not found:
        return f"there is no Python {wanted} here"
    pinned = folder / "pins.txt"
    made = subprocess.run([found, "-m", "venv", folder], capture_output=True, text=True)
    if made.returncode:
        return f"no venv of Python {wanted}: {last_error(made.stderr)}"
    pinned.write_text("\n".join(lines) + "\n")
    limits = folder / "limits.txt"              # as constraints, which have no [extras]
    limits.write_text("\n".join(re.sub(r"\[.*?\]", "", line) for line in lines) + "\n")
    pip = [folder / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    # old packages are built with what is pinned here, and find swig beside their interpreter
    tools = ["setuptools<81", "wheel", *(line for line in lines if line.startswith("swig=="))]
    around = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}
    for words in (tools, ["--no-build-isolation", "-r", pinned],
                  *([["-c", limits, "-e", editable]] if editable else [])):
        done = subprocess.run([*pip, *words], capture_output=True, text=True, env=around)
        if done.returncode:
            return f"pip install failed: {last_error(done.stderr)}"
    return ""


def find_python(version: str) -> str | None:
    """An interpreter of this version: on PATH, or one of pyenv's."""
    if sys.version_info[:2] == tuple(map(int, version.split("."))):
        return sys.executable
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    return shutil.which(f"python{version}") if not of_pyenv else str(of_pyenv[-1])


def last_error(text: str) -> str:
    """The line of pip's output that says most."""
    lines = [line.strip() for line in text.splitlines()
             if line.strip() and not line.startswith("WARNING")]
    telling = [line for line in lines if re.match(r"(\w*Error|ERROR: (No|Could|Cannot))\b", line)]
    return (telling or lines or ["it said nothing"])[-1][:160]


def versions(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    """Of packages that are installed there."""
    code = ("import sys, importlib.metadata as m\n"
            "for name in sys.argv[1:]:\n"
            "    try: print(name, m.version(name))\n"
            "    except m.PackageNotFoundError: pass")
    done = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True)
    return dict(line.split() for line in done.stdout.splitlines())
