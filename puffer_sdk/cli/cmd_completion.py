"""`puffer-sdk completion`: print the shell's completion script, or install it."""
from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from ..base import files, paths, ui
from .pages import Page


class _Bash(BashComplete):
    @staticmethod
    def _check_version() -> None:
        """click would start bash to ask for it."""


MARK = "# puffer-sdk completion"
VARIABLE = "_PUFFER_SDK_COMPLETE"
SHELLS = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}


@click.command(cls=Page, examples=[
    ("puffer-sdk completion bash --install", "for every new shell"),
    ('eval "$(puffer-sdk completion zsh)"', "only for this shell")])
@click.argument("shell", type=click.Choice([*SHELLS]))
@click.option("--install", is_flag=True,
              help="Install it for SHELL and print the file's path. Repeating this changes "
                   "nothing.")
def command(shell: str, install: bool) -> None:
    """Print the tab-completion script for SHELL.

    It completes commands, options, environments, runs, rule codes, settings such as
    --train.learning-rate, and their values.
    """
    group = click.get_current_context().find_root().command
    text = SHELLS[shell](group, {}, "puffer-sdk", VARIABLE).source()
    if not install:
        ui.out(text.rstrip("\n"))
        return
    for path in installed(shell, text):
        ui.out(f"wrote  {path}")
    ui.say("open a new shell to use it")


def installed(shell: str, text: str) -> list[Path]:
    """Write the script, and for bash and zsh the line that reads it. Raises RunError."""
    home = Path.home()
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        return [_write(config / "fish" / "completions" / "puffer-sdk.fish", text)]
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    target = _write(data / "puffer-sdk" / f"completion.{shell}", text)
    start = home / ".bashrc" if shell == "bash" else \
        Path(os.environ.get("ZDOTDIR") or home) / ".zshrc"
    prepare = "" if shell == "bash" else \
        "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }; "
    line = f'{prepare}[ -r "{target}" ] && . "{target}"  {MARK}\n'
    old = start.read_text(encoding="utf-8", errors="surrogateescape") if start.is_file() else ""
    if line in old:
        return [target]
    gap = "" if not old or old.endswith("\n") else "\n"
    kept = "".join(one for one in old.splitlines(keepends=True) if not one.endswith(f"{MARK}\n"))
    return [target, _write(start, kept + gap + line)]


def _write(path: Path, text: str) -> Path:
    place = path.resolve()                          # a .bashrc may be a link into a repository
    with files.refused("cannot write the completion script", where=paths.shown(path),
                       hint="omit --install to print it"):
        files.mkdir(place.parent)
        files.rename(files.beside(place, text.encode("utf-8", "surrogateescape")), place)
    return path
