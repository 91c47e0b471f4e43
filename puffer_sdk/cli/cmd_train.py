"""`puffer-sdk train`: parse, train, print the result."""
from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from ..base import paths, ui
from . import completing
from .options import (
    env_argument,
    format_option,
    runs_dir_option,
    takes_settings,
    trust_option,
    verbose_option,
)
from .pages import Page

EVALUATED = 0.1             # of a training's time: evaluations that took more are told apart


@click.command(cls=Page, examples=[
    ("puffer-sdk train my_env", "use the settings of its ini"),
    ("puffer-sdk train my_env --train.learning-rate 0.01", "any setting is an option"),
    ("puffer-sdk train gymnasium:CartPole-v1", "a Python environment")],
    groups={"Loggers": ["wandb", "tensorboard"]},
    statuses={0: "training ended", 2: "invalid option or setting", 3: "it does not compile",
              4: "the environment died or hung, or training went non-finite",
              130: "Ctrl-C; the run was saved, and --resume continues it"})
@env_argument
@takes_settings
@click.option("--tag", help="A label for this run.")
@click.option("--resume", is_flag=False, flag_value="latest", metavar="[RUN]",
              shell_complete=completing.run_numbers,
              help="Continue a run from its last checkpoint.  [default: the newest run]")
@click.option("--like", metavar="RUN", shell_complete=completing.run_numbers,
              help="Repeat a run: its settings alone, then those of --config, then options. Prints "
                   "what differs from it.")
@click.option("--load-model-path", "model", metavar="MODEL", shell_complete=completing.models,
              help="Start from these weights, optionally with another seed or settings: 'latest' "
                   "or 'best' of the newest run, a run's number or folder, or a checkpoint file.")
@click.option("--wandb", is_flag=True, help="Also log to Weights & Biases.")
@click.option("--tensorboard", is_flag=True, help="Also write TensorBoard files.")
@runs_dir_option
@format_option
@trust_option
@verbose_option
def command(env: str | None, settings: dict[str, str], tag: str | None, resume: str | None,
            like: str | None, model: str | None, wandb: bool, tensorboard: bool, ini: Path | None,
            runs_dir: Path | None, format_: str, verbose: bool) -> int | None:
    """Train a policy on ENV: a folder, a name, or a Python environment.

    Runs recurrent PPO in C, compiled on first use. Writes settings, metrics and checkpoints to a
    new folder under runs/. Ctrl-C saves and stops.
    """
    from ..distributed.launching import launch
    from ..scoring.words import FELL_HINT, best_at, claimed, fell, notes, warn_of_perf
    from ..training.repeating import env_of
    from ..training.runs import Run
    from ..training.symptoms import symptoms_of
    from ..training.train import train

    if env is None and resume not in (None, "latest") and paths.is_env(resume):
        env, resume = resume, "latest"          # train --resume my_env
    if env is None and like and (found := env_of(like)):
        env = found if isinstance(found, str) else paths.shown(found)
    options = {"tag": tag, "resume": resume, "like": like, "load-model-path": model, "config": ini,
               "runs-dir": runs_dir, "wandb": wandb, "tensorboard": tensorboard,
               "format": format_, "verbose": verbose}
    result = train(env, settings, tag=tag, resume=resume, like=like, model=model, ini=ini,
                   runs_dir=runs_dir, wandb=wandb, tensorboard=tensorboard, verbose=verbose,
                   launch=lambda count: launch(words(env, settings, options), count))
    if result is None or isinstance(result, int):
        return result                           # rank 0 says it
    warn_of_perf({name: result.claim[name]["mean"] for name in ("trained", "random")}
                 if result.claim else {"training": {"perf": result.metrics.get("env/perf")}})
    if result.claim and (lost := fell(result.claim)):
        ui.warn(lost, FELL_HINT)
    missed = result.missed or result.lost or ("" if result.solved else result.registered)
    why = symptoms_of(Run(result.folder), missed)
    if format_ == "json":
        import json

        from ..training.metrics import without_nan
        from ..training.printed import train_document
        ui.out(json.dumps(without_nan({**train_document(result, why)})))
        return None
    rate = result.steps / max(result.seconds - result.evaluating, 1e-9)
    apart = f", {result.evaluating:.1f} s of it evaluation" \
        if result.evaluating > EVALUATED * result.seconds else ""
    ui.out(f"trained  {result.steps:,} steps in {result.seconds:.1f} s{apart} "
           f"({rate:,.0f} steps/s)")
    if result.claim:
        ui.out(f"reached  {claimed(result.claim)}")
        ui.out(f"best     {best_at(result.claim)}")
        for note in notes(result.claim):
            ui.out(f"note     {note}")
    if result.goal:
        ui.out(f"solved   after {result.goal[0]:,} steps, {result.goal[1]:.1f} s")
    if result.lost:
        ui.out(f"lost     the goal {result.lost}: on fresh episodes the best weights miss it")
    if result.missed:
        unsure = ": too few episodes to tell" if result.unsure else ""
        ui.out(f"missed   the goal {result.missed}{unsure}")
    if result.registered:
        ui.out(f"{'solved' if result.solved else 'missed'}   the goal {result.registered} that "
               "Gymnasium registers")
    for line in why:
        ui.out(f"why      {line}")
    if result.missed or why:
        ui.out(f"to read  {paths.page('tutorials/debugging.md')}")
    ui.out(f"run      {paths.shown(result.folder)}")
    # which run, and what the environment is made with, besides its own ini
    place = ["--load-model-path", resume] if resume not in (None, "latest") else []
    place += ["--config", str(ini)] if ini else []
    place += [word for name, value in settings.items()
              if name.startswith("env.") or name == "vec.reward_weights"
              for word in (f"--{name.replace('_', '-')}", str(value))]
    place += ["--runs-dir", str(runs_dir)] if runs_dir else []
    ui.out(f"next     {shlex.join(['puffer-sdk', 'eval', *([env] if env else []), *place])}")
    return None


def words(env: str | None, settings: Mapping[str, object],
          options: Mapping[str, object]) -> list[str]:
    """This command once more, for each of its processes."""
    found = ["train", *([str(env)] if env else [])]
    for name, value in {**settings, **options}.items():
        if value is True:
            found.append(f"--{name}")
        elif value not in (None, False):
            found += [f"--{name.replace('_', '-')}", str(value)]
    return found
