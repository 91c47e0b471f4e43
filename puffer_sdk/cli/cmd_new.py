"""`puffer-sdk new`: a name and a template -> a working environment."""
from __future__ import annotations

import sys

import click

from ..base import paths, ui
from ..base.errors import UsageError
from ..projects import scaffold
from ..projects.env_names import TEMPLATES
from . import choosing, completing
from .pages import Page


@click.command(name="new", cls=Page, examples=[
    ("puffer-sdk new my_env", "one agent on a byte grid"),
    ("puffer-sdk new my_crowd --template target", "many agents with float observations"),
    ("puffer-sdk new my_pond --template world", "agents that are born and die")],
    statuses={0: "made", 2: "the folder exists, or the name is not a valid C name"})
@click.argument("name", required=False)
@click.option("--template", "-t", default=None, show_default="squared",
              metavar="|".join([*TEMPLATES, "PATH", "URL"]),
              shell_complete=completing.templates,
              help=" ".join(f"{name}: {line}." for name, line in TEMPLATES.items())
                   + " Or a cookiecutter template, with the extra 'template'.")
@click.option("--list", "listed", is_flag=True, help="List the templates.")
@click.option("--dialect", type=click.Choice(scaffold.DIALECTS), default=scaffold.DIALECTS[0],
              show_default=True,
              help="The form of PufferLib 4.0, or of 5.0: puf_step, one header.")
@click.option("--loop", is_flag=True,
              help="Write loop.py besides: PPO in one file, in PyTorch, for you to change. Into a "
                   "project that exists, it alone.")
@click.option("--output-dir", "-o", default=".", metavar="DIR",
              help="Parent of the new folder NAME.  [default: the current folder]")
@click.option("--force", is_flag=True,
              help="Write into an existing folder. Files that are not in the template stay.")
@click.option("--dry-run", is_flag=True, help="List the files without writing them.")
@click.option("--accept-hooks", is_flag=True,
              help="Allow a third-party template to run its hooks on this machine.")
def command(name: str | None, template: str | None, listed: bool, dialect: str, loop: bool,
            output_dir: str, force: bool, dry_run: bool, accept_hooks: bool) -> None:
    """Start an environment called NAME from a template.

    It passes check, builds and trains as generated. The folder NAME gets a header, an ini, a
    program to play (in 5.0's form, build generates one), a test and a README. Without NAME, a
    terminal asks which template and which name.
    """
    if listed:
        for each, line in TEMPLATES.items():
            ui.out(f"{each:<9} {line}")
        return
    if name is None:
        template, name = ask(template)
    template = template or "squared"
    made = scaffold.new(name, template=template, dialect=dialect, output_dir=output_dir,
                        force=force, dry_run=dry_run, accept_hooks=accept_hooks, loop=loop)
    ui.out(f"{'would make' if dry_run else 'made'} {paths.shown(made.folder)} from {template}")
    for file in made.files:
        ui.out(f"  {file}" + ("  (replaces yours)" if file in made.replaced else ""))
    if made.repository:
        ui.out("  .git  (a new repository)")
    if not dry_run:
        ui.out("\nnext:")
        for line in made.next_commands:
            ui.out(f"  {line}")
        ui.out(f"\n{paths.page('tutorials/ten-minutes.md')} explains these commands")


def ask(template: str | None) -> tuple[str | None, str]:
    """Ask for the template, unless it is given, and for the name. Raises UsageError without a
    terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("the environment needs a name", hint="puffer-sdk new my_env")
    if template is None and choosing.can_ask():
        template = choosing.choose_template()
    return template, click.prompt("name of the environment", default="my_env", err=True)
