"""`puffer-sdk build`: parse, build the library or programs, print where they are."""
from __future__ import annotations

import json
import shlex
from pathlib import Path

import click

from ..base import paths, ui
from ..base.errors import UsageError
from . import completing
from .options import env_argument, format_option, runs_dir_option, takes_settings, verbose_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk build my_env", "the library; other commands also build it"),
    ("puffer-sdk build my_env --local", "a debug program: stops at the first bad memory access"),
    ("puffer-sdk build my_env --web", "a web page to share")],
    statuses={0: "built", 2: "invalid option or setting",
              3: "the header breaks the contract, or does not compile"})
@env_argument
@takes_settings
@click.option("--local", is_flag=True,
              help="Build a debug program: it stops at the first bad memory access.")
@click.option("--fast", is_flag=True, help="Build an optimized program.")
@click.option("--web", is_flag=True, help="Build a web page in build/web.")
@click.option("--cuda", is_flag=True,
              help="Build the GPU program that --vec.device cuda runs.")
@click.option("--arch", metavar="CC",
              help="With --cuda: the GPU's compute capability without the dot, such as 90.  "
                   "[default: this machine's GPU, else 90]")
@click.option("--load-model-path", "model", metavar="MODEL", default="best", show_default=True,
              shell_complete=completing.models_or_none,
              help="Policy for the programs: 'best' or 'latest' of the newest run, 'none', a run's "
                   "number or folder (its best), or a checkpoint file.")
@runs_dir_option
@format_option
@verbose_option
def command(env: str | None, settings: dict[str, str], ini: Path | None, local: bool, fast: bool,
            web: bool, cuda: bool, arch: str | None, model: str | None, runs_dir: Path | None,
            format_: str, verbose: bool) -> None:
    """Compile ENV into the library that check, train and Python use, or into programs.

    Each is one compiler command; --verbose shows it. Unchanged targets are not recompiled.
    """
    asked = [name for name, wanted in (("local", local), ("fast", fast), ("web", web)) if wanted]
    if cuda and asked or arch and not cuda:
        raise UsageError(f"--cuda and --{asked[0]} are separate builds" if cuda else
                         "--arch requires --cuda: other builds do not use a GPU",
                         hint="run one after the other" if cuda else "add --cuda")
    if cuda:
        _for_gpu(env, settings, ini, arch, format_, verbose)
    elif asked:
        _programs(env, settings, ini, asked, None if model == "none" else model, runs_dir, format_,
                  verbose)
    else:
        _library(env, settings, ini, format_, verbose)


def _library(env: str | None, settings: dict[str, str], ini: Path | None, format_: str,
             verbose: bool) -> None:
    from ..env.open_env import build

    built = build(env, settings, ini=ini)
    if verbose:
        ui.say(shlex.join(built.command))
    if format_ == "json":
        ui.out(json.dumps({"library": str(built.library), "seconds": built.seconds,
                           "cached": built.cached, "command": built.command}))
        return
    _tell(built.library, built.cached, built.seconds, built.warnings)


def _programs(env: str | None, settings: dict[str, str], ini: Path | None, targets: list[str],
              model: str | None, runs_dir: Path | None, format_: str, verbose: bool) -> None:
    from ..programs.targets import build_programs

    bar = ui.Progress()
    with bar:
        made = build_programs(env, settings, targets, model=model, ini=ini, runs_dir=runs_dir,
                              verbose=verbose, on_progress=bar.update)
    for program in made:
        if verbose:
            ui.say(shlex.join(program.command))
    if format_ == "json":
        ui.out(json.dumps({"programs": [
            {"target": program.target, "path": str(program.path), "bytes": program.bytes,
             "seconds": program.seconds, "cached": program.cached,
             "policy": str(program.policy) if program.policy else None, "plays": program.chosen,
             "command": program.command} for program in made]}))
        return
    for program in made:
        size = f", {program.bytes / 1000:.0f} KB" if program.target == "web" else ""
        _tell(program.path, program.cached, program.seconds, program.warnings, size)
    if made[-1].chosen:
        ui.say(f"policy {made[-1].chosen}")
    if "web" in targets:
        page = shlex.quote(str(paths.shown(made[-1].path.parent)))
        ui.say(f"to open the page: python3 -m http.server -d {page}")


def _for_gpu(env: str | None, settings: dict[str, str], ini: Path | None, arch: str | None,
             format_: str, verbose: bool) -> None:
    from ..env import header
    from ..env.gpu import programs
    from ..settings import config
    from ..toolchain import gpu

    spec = header.read(paths.find_env(env))
    config.resolve(spec.folder, settings, spec=spec, over=[ini] if ini else [])
    if arch is None and not gpu.is_emulated():
        arch = programs.default_arch()
    made = programs.build_program(spec, arch, verbose=verbose)
    if format_ == "json":
        ui.out(json.dumps({"program": str(made.path), "arch": made.arch, "seconds": made.seconds,
                           "cached": made.cached}))
        return
    _tell(made.path, made.cached, made.seconds, "",
          f", for sm_{arch}" if arch else ", for the emulated GPU")


def _tell(path: Path, cached: bool, seconds: float, warnings: str, more: str = "") -> None:
    if warnings.strip():
        ui.say(warnings.strip())
    how = "unchanged" if cached else f"compiled in {seconds:.2f} s"
    ui.out(f"built  {paths.shown(path)} ({how}{more})")
