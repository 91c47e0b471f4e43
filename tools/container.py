"""`make container-test`: a Dockerfile's steps in a clean root file system, without docker.

    python3 tools/container.py Dockerfile                all of it, then its CMD; root on Debian
    python3 tools/container.py Dockerfile --plan         what would run, one step a line

FROM becomes debootstrap of a minimal Debian, RUN runs in a chroot with namespaces of its own, COPY
copies what git tracks. Needs debootstrap and the network; takes some minutes and 1 GB.
"""
from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

KNOWN = {"ARG", "FROM", "RUN", "USER", "WORKDIR", "COPY", "ENV", "CMD"}
# variables for the network are passed on, and no others
PASSED = re.compile(r"(?:https?_proxy|no_proxy|PIP_.*)", re.I)


@dataclass
class State:
    """The state that later steps inherit."""

    user: str = "root"
    folder: str = "/"
    variables: dict[str, str] = field(default_factory=lambda: {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
    args: dict[str, str] = field(default_factory=dict)


def read(path: Path) -> list[tuple[str, str]]:
    """(instruction, its text) in order, with continued lines joined and without comments."""
    steps, held = [], ""
    for line in path.read_text().splitlines():
        if line.lstrip().startswith("#") or (not held and not line.strip()):
            continue
        held += line.rstrip()
        if held.endswith("\\"):
            held = held[:-1]
            continue
        word, _, rest = held.strip().partition(" ")
        if word.upper() not in KNOWN:
            raise SystemExit(f"error: {path} has {word}, which tools/container.py does not know")
        steps.append((word.upper(), re.sub(r"\s+", " ", rest.strip())))
        held = ""
    return steps


def plan(steps: list[tuple[str, str]]) -> Iterator[tuple[str, str, State]]:
    """The steps FROM, RUN, COPY and CMD, each with the state before it."""
    state = State()
    for word, text in steps:
        if word == "ARG":
            name, _, value = text.partition("=")
            state.args[name] = value
        elif word == "USER":
            state.user = text
        elif word == "WORKDIR":
            state.folder = os.path.join(state.folder, text)
        elif word == "ENV":
            for pair in shlex.split(text):
                name, _, value = pair.partition("=")
                state.variables[name] = expand(value, state.variables)
        else:
            text = expand(text, state.args) if word == "FROM" else text
            yield word, text, State(state.user, state.folder, dict(state.variables))


def expand(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{?(\w+)\}?", lambda match: values.get(match[1], ""), text)


def command_of(word: str, text: str) -> list[str]:
    """The words of RUN or CMD: a JSON list, or a line for the shell."""
    return json.loads(text) if text.startswith("[") else ["/bin/sh", "-c", text]


def run_in(root: Path, command: list[str], state: State) -> None:
    """Run in a chroot, as the state's user, in its folder. All its processes end with it."""
    entry = "/root" if state.user == "root" else f"/home/{state.user}"
    variables = {**state.variables, "HOME": entry, "LANG": "C.UTF-8",
                 # until it is in the chroot, which a user's PATH may lack
                 "PATH": os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin",
                 **{name: value for name, value in os.environ.items() if PASSED.fullmatch(name)}}
    become = [] if state.user == "root" else [
        "setpriv", "--reuid", state.user, "--regid", state.user, "--init-groups"]
    inner = shlex.join(["chroot", str(root), *become, "/bin/sh", "-c",
                        f"PATH={shlex.quote(state.variables['PATH'])} && "
                        f"cd {shlex.quote(state.folder)} && exec {shlex.join(command)}"])
    script = (f"mount -t proc proc {shlex.quote(str(root / 'proc'))} && "
              f"mount --rbind /dev {shlex.quote(str(root / 'dev'))} && exec {inner}")
    subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c",
                    script], check=True, env=variables, stdin=subprocess.DEVNULL)


def bootstrap(root: Path, image: str) -> None:
    """debian:SUITE-slim by debootstrap, with this machine's network settings."""
    match = re.fullmatch(r"debian:(\w+)(?:-slim)?", image)
    if not match:
        raise SystemExit(f"error: only debian images can be made here, not {image}")
    # In a mount namespace: what it mounts in there is gone when it ends, however it ends
    done = subprocess.run(["unshare", "--mount", "debootstrap", "--variant=minbase", match[1],
                           str(root)], text=True, stdout=subprocess.PIPE)
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-10:]), file=sys.stderr)
        done.check_returncode()
    for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/apt/apt.conf.d"):
        if Path(file).is_dir():
            shutil.copytree(file, root / file.lstrip("/"), dirs_exist_ok=True)
        elif Path(file).is_file():
            shutil.copyfile(file, root / file.lstrip("/"))


def trust_what_this_machine_trusts(root: Path) -> None:
    """Copy a proxy's certificates, and the folders that pip searches.

    Called before each step, because a package of certificates overwrites them.
    """
    for name, value in os.environ.items():
        if PASSED.fullmatch(name) and value.startswith("/") and Path(value).exists():
            place = root / value.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            if Path(value).is_dir() and not place.exists():
                shutil.copytree(value, place, dirs_exist_ok=True)
            elif Path(value).is_file():
                shutil.copyfile(value, place)


def copy(root: Path, text: str, state: State, source: Path) -> None:
    """COPY [--chown=USER:GROUP] . . : the files that git tracks."""
    words = [word for word in shlex.split(text) if not word.startswith("--")]
    if words != [".", "."]:
        raise SystemExit(f"error: tools/container.py knows COPY . . alone, not {text}")
    owner = next((word.partition("=")[2] for word in text.split() if word.startswith("--chown=")),
                 "root:root")
    target = root / state.folder.lstrip("/")
    copied: set[str] = set()
    listed = subprocess.run(["git", "-C", str(source), "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], check=True, capture_output=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, target / name)
            copied.add(os.path.join(state.folder, Path(name).parts[0]))
    for path in sorted(copied):        # the folder itself keeps its owner, as docker's
        run_in(root, ["chown", "-R", owner, path], State())


def main(file: str, mode: str = "") -> int:
    path = Path(file).resolve()
    steps = list(plan(read(path)))
    if mode == "--plan":
        for word, text, state in steps:
            print(f"{state.user:<7} {state.folder:<25} {word:<4} {text}")
        return 0
    missing = [tool for tool in ("debootstrap", "unshare", "setpriv") if not shutil.which(tool)]
    if os.geteuid() != 0 or missing:
        print("error: a clean root file system needs root" + (
            f" and {', '.join(missing)} (apt-get install {' '.join(missing)})" if missing else ""),
            file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="puffer-container-") as name:
        root = Path(name) / "root"
        for word, text, state in steps:
            print(f"== {word} {text}", flush=True)
            if word == "FROM":
                bootstrap(root, text)
                continue
            trust_what_this_machine_trusts(root)
            folder = root / state.folder.lstrip("/")
            if not folder.is_dir():             # docker makes it root's, whoever USER is
                run_in(root, ["mkdir", "-p", state.folder], State())
            if word == "COPY":
                copy(root, text, state, path.parent)
            else:
                run_in(root, command_of(word, text), state)
    print("== done")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        print(f"error: the step ended with status {error.returncode}", file=sys.stderr)
        sys.exit(1)
