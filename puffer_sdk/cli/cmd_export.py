"""`puffer-sdk export`: parse, write the file or the folder, print how to use it."""
from __future__ import annotations

import json
from pathlib import Path

import click

from ..base import paths, ui
from ..base.errors import UsageError
from . import completing
from .options import format_option, runs_dir_option, trust_option
from .pages import Page


@click.command(cls=Page, examples=[
    ("puffer-sdk export my_env", "write my_env_policy.bin for puffernet.h"),
    ("puffer-sdk export my_env --to onnx", "write an ONNX file"),
    ("puffer-sdk export my_env --ocean", "write a folder to submit to PufferLib")])
@click.argument("run", required=False, metavar="[RUN]", shell_complete=completing.envs)
@click.option("--to", type=click.Choice(["c", "onnx", "torch"]), default=None,
              help="c: a flat file for puffernet.h. onnx: write an ONNX file. torch: a "
                   "torch.export program.  [default: c]")
@click.option("--ocean", is_flag=True,
              help="Export the environment with its policy, for a pull request to PufferLib.")
@click.option("--demo", is_flag=True,
              help="Make an Ocean demo play the policy: change the lines of NAME.c that create the "
                   "network, and write its weights. The original stays as NAME.c.orig.")
@click.option("--load-model-path", "model", metavar="MODEL", shell_complete=completing.models,
              help="The policy: 'best' or 'latest' of the newest run, a run's number or folder "
                   "(its best), or a checkpoint file.  [default: best]")
@click.option("--output", metavar="PATH", type=click.Path(path_type=Path),
              help="The file to write; with --ocean, the folder.  [default: NAME_policy.bin, "
                   ".onnx or .pt2, or NAME_ocean, in the current folder]")
@runs_dir_option
@trust_option
@format_option
def command(run: str | None, to: str | None, ocean: bool, demo: bool, model: str | None,
            output: Path | None, runs_dir: Path | None, format_: str) -> None:
    """Write a trained policy for C, ONNX or PyTorch, or an environment for PufferLib.

    RUN is an environment (its newest run is exported), a run's folder, or a checkpoint file.
    The default is the environment in the current folder.
    """
    asked = [name for name, given in (("--ocean", ocean), ("--demo", demo), ("--to", to)) if given]
    if len(asked) > 1:
        raise UsageError(f"{asked[0]} and {asked[1]} cannot be combined", where="command line",
                         hint="run one after the other")
    if ocean:
        return _export_ocean(run, output, model, runs_dir, format_)
    if demo:
        return _export_demo(run, output, model, runs_dir, format_)
    from ..policy.export import export_policy
    from ..policy.export_note import measure
    from ..policy.usage_code import lines

    to = to or "c"
    done = export_policy(run, to, output, model=model, runs_dir=runs_dir)
    size = done.path.stat().st_size
    if format_ == "json":
        ui.out(json.dumps({"path": str(done.path), "to": to, "bytes": size,
                           "checkpoint": str(done.policy.path),
                           "measured": measure(done.policy, done.folder), **done.policy.about()}))
        return
    ui.out(f"exported  {paths.shown(done.path)} ({size / 1000:,.0f} kB; {done.policy.chosen})")
    ui.out(f"measured  {measure(done.policy, done.folder)}")
    for line in lines(done):
        ui.out(f"    {line}")


def _export_demo(env: str | None, output: Path | None, model: str | None, runs_dir: Path | None,
                 format_: str) -> None:
    from ..policy.ocean_demo import write_demo

    if output is not None:
        raise UsageError("--demo and --output cannot be combined: the program reads a fixed "
                         "path", where="--output")
    done = write_demo(env, model=model, runs_dir=runs_dir)
    if format_ == "json":
        ui.out(json.dumps({"source": str(done.source), "weights": str(done.weights),
                           "diff": done.diff}))
        return
    for line in done.diff:
        ui.out(line, style={"+": "green", "-": "red"}.get(line[:1]))
    said = "wrote  " if done.diff else "plays  "
    ui.out(f"{said}   {paths.shown(done.source)}")
    ui.out(f"exported  {paths.shown(done.weights)} ({done.policy.chosen})")


def _export_ocean(env: str | None, output: Path | None, model: str | None, runs_dir: Path | None,
                  format_: str) -> None:
    from ..projects.ocean import export_ocean

    done = export_ocean(env, output, model=model, runs_dir=runs_dir)
    if format_ == "json":
        ui.out(json.dumps({"path": str(done.folder), "files": done.files, "todo": done.todo}))
        return
    ui.out(f"exported  {done.name} to {paths.shown(done.folder)}: it plays like the original")
    for file in done.files:
        ui.out(f"    {file}")
    for item in done.todo:
        ui.out(f"by hand   {item}", style="yellow")
    ui.out(f"next      {paths.shown(done.folder / 'CHECKLIST.md')}")
