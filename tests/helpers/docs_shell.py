"""A page's commands, typed one after the other into one shell.  page -> what went otherwise"""
from __future__ import annotations

import os
import re
import select
import shlex
import site
import subprocess
import sys
import time
import venv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import docs_pages
from helpers.docs_pages import Block
from helpers.places import ROOT
from helpers.sessions import session, shape
from helpers.shared import another_home

from puffer_sdk.base.paths import cache_dir

# What a command may lack where tests run. `<!-- needs: a GPU -->` before a block says so
NEEDS = ("a GPU", "an account", "a second machine", "an upload", "Docker")
LASTING = re.compile(r"http\.server|--watch|--serve")       # until they are stopped
WINDOW = re.compile(r"puffer-sdk play")                     # until the reader presses Escape
DEBUGGER = re.compile(r"puffer-sdk debug(?!.* --batch)")    # until the reader types `quit`
FAILED = re.compile(r"^error\[| fail, |^PUF\d{3}, step ")    # what a command shows that ends with 1
CAPTION = re.compile(r"^\[`([\w.]+)`\]\(([^)]+)\):\n\n\Z", re.M)
ESCAPE = "while sleep 3; do xdotool search --onlyvisible --name . windowfocus " \
         "keydown Escape sleep 0.2 keyup Escape; done"
STARTS = 120            # seconds in which a lasting command begins to print
LONGEST = 1500          # seconds of any other


@dataclass(frozen=True)
class Step:
    """A command to type, or a file to write where `save` names it."""

    line: int
    command: str = ""
    shown: tuple[str, ...] = ()         # what the page shows below it
    needs: str = ""                     # what is missing here
    save: str = ""
    text: str = ""


def steps(page: str, folder: str = "") -> Iterator[Step]:
    """What a reader of a page does, in its order. Listings are saved in FOLDER, if one is given."""
    text, needs = docs_pages.text_of(page), ""
    lines = text.splitlines(keepends=True)
    for token in docs_pages.tokens(text):
        if token.type == "html_block" and "<!-- needs:" in token.content:
            needs = re.search(r"<!-- needs: (.*?) -->", token.content)[1]
        if token.type not in ("fence", "code_block"):
            continue
        line = token.map[0] + 1
        caption = CAPTION.search("".join(lines[:token.map[0]]))
        if folder and caption:
            path = Path(page).parent / caption[2]
            whole = token.content if "// ..." not in token.content else (ROOT / path).read_text()
            yield Step(line, save=f"{folder}/{caption[1]}", text=whole)
            continue
        block = Block(page, line, token.info.strip(), token.content)
        shown = dict(session(block.text)) if block.language == "console" else {}
        for command in docs_pages.commands(block):
            yield Step(line, command, tuple(shown.get(command, ())), needs)
        needs = ""


class Shell:
    """A bash in a folder, with a Python of its own that has the project's packages."""

    def __init__(self, folder: Path, tools: Path, env: dict[str, str], own_python: bool = True):
        self.scratch = tools
        python = make_python(tools / "python") if own_python else tools
        self.child = subprocess.Popen(
            ["bash", "--norc"], cwd=folder, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**another_home(tools), "XDG_CACHE_HOME": str(cache_dir().parent), **env,
                 "HOME": str(tools), "COLUMNS": "80",
                 "PATH": f"{python / 'bin'}:{env['PATH']}"})

    def run(self, command: str) -> tuple[int, str]:
        """Its status, and all that it printed."""
        out = self.scratch / "out"
        if WINDOW.match(command):
            command = f"{{ {ESCAPE}; }} >/dev/null 2>&1 & keys=$!\n{command}\n" \
                      "status=$?; kill $keys; (exit $status)"
        if DEBUGGER.match(command):     # in a terminal of its own
            command = f"echo quit | script -qec {shlex.quote(command)} /dev/null"
        if LASTING.search(command):
            return self._start_and_stop(command, out)
        return self._type(f'{{ {command}\n}} >"{out}" 2>&1 </dev/null; echo "$?"'), out.read_text()

    def _type(self, line: str) -> int:
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        if not select.select([self.child.stdout], [], [], LONGEST)[0]:
            self.child.kill()
            raise TimeoutError(f"not done after {LONGEST} s: {line}")
        return int(self.child.stdout.readline())

    def _start_and_stop(self, command: str, out: Path) -> tuple[int, str]:
        out.write_text("")
        process = self._type(f'{command} >"{out}" 2>&1 </dev/null & echo "$!"')
        deadline = time.monotonic() + STARTS
        while not out.read_text() and time.monotonic() < deadline:
            time.sleep(0.2)
        os.kill(process, 15)
        status = self._type(f"wait {process}; echo $?")
        return (0 if status in (130, 143) else status), out.read_text()

    def close(self) -> None:
        self.child.stdin.close()
        self.child.wait(30)


def make_python(folder: Path) -> Path:
    """A virtual environment into which a page may install, on top of this one."""
    venv.create(folder, symlinks=True)
    packages = next((folder / "lib").glob("python*/site-packages"))
    above = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "above.pth").write_text("\n".join([str(ROOT), *above, *site.getsitepackages()]))
    python = f"#!{folder / 'bin' / 'python'}\nimport sys\n"
    for name, text in {
            "puffer-sdk": f"{python}from puffer_sdk.__main__ import run\nsys.exit(run())\n",
            "pip": f"{python}from pip._internal.cli.main import main\nsys.exit(main())\n",
            "pytest": f"{python}from pytest import console_main\nsys.exit(console_main())\n",
            "torchrun": f"{python}from torch.distributed.run import main\nsys.exit(main())\n",
            "sudo": '#!/bin/sh\nexec "$@"\n'}.items():       # of whoever tests: root
        (folder / "bin" / name).write_text(text)
        (folder / "bin" / name).chmod(0o755)
    return folder


def follow(page: str, place: Path, shell: Shell, folder: str = "",
           given: Iterable[Step] | None = None) -> list[str]:
    """Type a page's commands, or those given; what went otherwise than it says, a line each."""
    wrong = []
    for step in steps(page, folder) if given is None else given:
        if step.save:
            (place / step.save).parent.mkdir(exist_ok=True)
            (place / step.save).write_text(step.text)
        elif not step.needs:
            status, out = shell.run(step.command)
            failed = any(map(FAILED.search, step.shown))
            printed = {shape(line) for line in out.splitlines()}
            missing = [line for line in step.shown
                       if line != "..." and shape(line) not in printed]
            if status != int(failed) or missing:
                wrong.append(f"{page}:{step.line}: {step.command}: status {status}, "
                             f"not printed: {missing}\n{out[-3000:]}")
    return wrong
