"""Train a policy.  environment + settings -> runs/NAME/NNNN/

This is the parent: it resolves the settings, makes the run folder, shows the progress and writes
the metrics. Env code and trainer run in a child (train_worker.py), which writes the checkpoints.
"""
from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..base import files, paths, ui
from ..base.errors import (
    BuildError,
    Interrupted,
    NotWhole,
    PufferError,
    RunError,
    UsageError,
)
from ..base.spec import Spec
from ..distributed import dividing, rank
from ..env import child_process, encoder_choice
from ..interop.python_envs import env_source, makers
from ..interop.python_envs.python_spec import PythonSpec
from ..scoring.kept_scores import Claim
from ..settings import torch_class, upstream
from ..settings.goal import parse_goal
from ..settings.table import OBS_SCALE
from ..settings.texts import show
from ..settings.values import Config
from ..toolchain import gpu_kept
from . import backends, checkpoint, own_code, provenance, repeating, runs
from . import metrics as sinks
from .dashboard import Dashboard
from .find_model import find_model
from .locks import locked
from .resuming import Past, find_restarted, find_resumable, prepare_past
from .run_records import Group
from .train_job import TrainJob
from .worker_rank import follow, run_child, take_choices
from .world_stages import played


@dataclass
class TrainResult:
    """The result of a finished run."""

    folder: Path                    # runs/NAME/NNNN
    checkpoint: Path                # the last one
    steps: int                      # agent steps trained
    seconds: float                  # of training, over all resumed parts
    evaluating: float               # of these, what evaluations took
    goal: tuple[int, float] | None = None   # steps and seconds until it was confirmed
    metrics: dict[str, float] = field(default_factory=dict)     # the last value of every key
    missed: str = ""                # the goal, if there is one and it was not confirmed
    lost: str = ""                  # the goal, if it was confirmed and the claim misses it
    unsure: bool = False            # whether `missed` only says that too few episodes were played
    claim: Claim | None = None      # what the best weights and random play do in fresh envs
    registered: str = ""            # the goal that Gymnasium has for it, where nobody stated one

    @property
    def solved(self) -> bool:
        """Whether the best weights reach the registered goal."""
        return meets(self.registered, self.claim)

    @property
    def reached(self) -> dict[str, float | None]:
        """Means over the fresh episodes that the best weights played at the end, by name; "n" is
        their number."""
        score = self.claim and self.claim["trained"]
        return {**score["mean"], "n": score["count"]} if score else {}


def train(env: str | os.PathLike[str] | Callable[..., object] | None = None,
          settings: Mapping[str, object] | None = None, *,
          tag: str | None = None, resume: str | None = None, like: str | None = None,
          model: str | Path | None = None, ini: Path | None = None, runs_dir: Path | None = None,
          wandb: bool = False, tensorboard: bool = False, verbose: bool = False,
          launch: Callable[[int], int] | None = None
          ) -> TrainResult | int | None:
    """Train on ENV (a folder, a name, or a Python environment: "gymnasium:ID", "pettingzoo:MODULE",
    "FILE.py:NAME", "MODULE:NAME", or a class or function) and return where the result is.

    settings    {"train.learning_rate": 0.01, "env.size": 9}: over the ini's values
    ini         a file of settings over the environment's own ini; over what the run saved, with
                resume
    resume      "latest", or a run's number or folder: continue from its last good checkpoint
    like        a run's number or folder, which says which environment: repeat it, with its settings
                alone, then those of `ini`, then `settings`; what differs is said
    model       start a new run from these weights: "latest", "best", a run's number or folder, or a
                checkpoint file; with another seed or other settings, but the same sizes
    tag         a label that `puffer-sdk runs` shows
    launch      starts the processes of train.processes and returns their exit status, which is
                returned; without it one process trains, and that setting is refused in `settings`
    Under torchrun all processes call this. Rank 0 returns the result, the others None.
    Raises UsageError before anything runs, BuildError, RunError (the env died or hung, training
    went non-finite, the disk is full), Interrupted after Ctrl-C, with everything saved.
    """
    asked = dict(settings or {})
    env = repeating.env_of(like) if env is None and like is not None else env
    run = functools.partial(
        _train, makers.as_name(env), tag=tag, resume=resume, like=like, model=model, ini=ini,
        runs_dir=runs_dir, wandb=wandb, tensorboard=tensorboard, verbose=verbose, launch=launch)
    try:
        return run(asked)
    except NotWhole as error:       # nothing was begun, and the number is an ini's
        if not error.fits or resume or rank.find() or "vec.total_agents" in asked:
            raise
        ui.warn(f"{error.detail or error.message}: {error.fits} are made, which is whole",
                f"{error.hint} in the ini, and this is not said again")
        return run({**asked, "vec.total_agents": error.fits})


def _train(env: makers.Named, settings: dict[str, object], *, tag: str | None,
           resume: str | None, like: str | None, model: str | Path | None, ini: Path | None,
           runs_dir: Path | None, wandb: bool, tensorboard: bool, verbose: bool,
           launch: Callable[[int], int] | None) -> TrainResult | int | None:
    """As `train`; of so many agents as the settings say."""
    if tag and not tag.isprintable():
        raise UsageError("the tag contains unprintable characters", where="--tag",
                         expected="one line of text", actual=repr(tag))
    source = env_source.find(env, ini)
    home = source.runs_dir(runs_dir)
    place = rank.find()
    leads = place is None or place.rank == 0
    run = find_restarted(home, place) if leads else None
    past = None
    if run and run.checkpoints():
        past = find_resumable(home, str(run.folder))
    elif resume and leads and not run:
        past = find_resumable(home, resume)
    if (model or like) and resume:
        raise UsageError(f"--resume and {'--load-model-path' if model else '--like'} cannot be "
                         "combined", where="command line", hint="--resume continues a run; "
                         f"{'--load-model-path' if model else '--like'} starts a new one")
    pattern = runs.find_run(home, like, "--like") if like and not past else None
    start = find_model(home, model) if model and leads and not past else None
    sinks.require(wandb=wandb, tensorboard=tensorboard)
    torch_class.name_given(source, settings)
    prepared = prepare_past(source, past, settings, verbose=verbose) if past else \
        repeating.prepare_like(pattern, source, settings, verbose=verbose) if pattern else \
        source.prepare(settings, verbose=verbose)
    processes = prepared.config.train.processes
    if place is None and processes > 1 and launch:
        dividing.in_group(prepared.config, processes)       # refused once, not by each of them
        return launch(processes)
    if place is None and processes > 1 and "train.processes" in (settings or {}):
        raise UsageError("train.processes starts processes of the command line",
                         where="train.processes", expected="1, in a program of your own",
                         actual=processes, hint="puffer-sdk train --train.processes N; or start "
                         "the program with torchrun, and let it call train()")
    if place is not None:
        prepared = replace(prepared, config=dividing.in_group(prepared.config, place.size,
                                                              place.local_size))
    if past and "train.device" not in (settings or {}):
        prepared = replace(prepared, config=backends.as_chosen(
            prepared.config, past.checkpoint.facts["config"]))
    if leads:
        prepared.remark()
    prepared = replace(prepared, config=backends.require(prepared.config, prepared.folder,
                                                         verbose=verbose)).with_sizes()
    backends.require_actor(prepared.config, folder=prepared.folder, verbose=verbose)
    resolved, spec = prepared.config, prepared.spec
    met = past.checkpoint.reached(parse_goal(resolved.eval.goal)) if past else None
    if met and resolved.train.stop_at_goal:
        ui.say(f"the goal {met['goal']} was confirmed after {met['step']:,} steps: this run is "
               "over; --train.stop-at-goal 0 continues")
    prepared.write_config_header()
    job_config = backends.with_class_file(resolved, prepared.folder or prepared.cwd)
    with child_process.Signals() as signals:
        make_job = functools.partial(
            prepared.job, TrainJob, spec_hash=spec.hash(), model=start, place=place,
            config=job_config, given=dict(settings or {}),
            resume=past.checkpoint.path if past else None)
        if not leads:
            follow(make_job, prepared, signals)
            return None
        made = provenance.look(prepared, job_config)
        if pattern:
            same = "as run {0} in all that was noted" if not (said := repeating.differences(
                pattern, resolved, made)) else "as run {0}, but for: {1}"
            ui.say(same.format(pattern.number, "; ".join(said)))
        run = run or (past.run if past else runs.create_run(home, tag or ""))
        job = make_job(checkpoints=run.checkpoints_path, best=run.best_path)
        ref = str(run.number) if files.real(run.folder.parent) == files.real(home) \
            else paths.shown(run.folder)        # of an environment that was renamed
        again = ["puffer-sdk", "train", *([os.fspath(env)] if env else []), "--resume", ref,
                 *(["--runs-dir", str(runs_dir)] if runs_dir else [])]
        with locked(run):
            parent = _Parent(run, resolved, spec, past, job, functools.partial(
                sinks.open_sinks, wandb=wandb, tensorboard=tensorboard), tag=tag,
                again=shlex.join(again), cwd=prepared.cwd, patience=prepared.patience, made=made)
            return parent.run_child(signals)


def meets(text: str, claim: Claim | None) -> bool:
    """Whether a run's claim meets the goal that a text states."""
    goal = parse_goal(text)
    value = claim["trained"]["mean"].get(goal.name) if goal and claim else None
    return bool(goal and value is not None and goal.is_met(value))


def shared_by(hosts: Sequence[str]) -> str:
    """"4 processes on a, b"."""
    names = list(dict.fromkeys(hosts))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{len(hosts)} processes on {', '.join(names[:3])}{more}"


class _Parent:
    """The parent's side of one run: events in, files and display out.

    The child is ready once envs, network and checkpoint are known to fit. Until then nothing of
    a resumed run changes, and a new run that ends leaves no folder, unless env code failed.
    """

    def __init__(self, run: runs.Run, resolved: Config, spec: Spec | PythonSpec, past: Past | None,
                 job: TrainJob, open_sinks: Callable[[runs.Run, Config], sinks.open_sinks], *,
                 tag: str | None, again: str, cwd: Path, patience: float,
                 made: provenance.Made):
        self.run, self.config, self.spec, self.past = run, resolved, spec, past
        self.job, self.open_sinks, self.tag, self.again = job, open_sinks, tag, again
        self.cwd, self.patience, self.made = cwd, patience, made
        self.last: dict[str, float] = {}
        self.saved: Path | None = past.checkpoint.path if past else None
        self.ready = False
        self.board: Dashboard | None = None
        self.goal: tuple[int, float] | None = None
        self.claim: Claim | None = None

    def run_child(self, signals: child_process.Signals) -> TrainResult:
        status, self.signals = "failed", signals
        with contextlib.ExitStack() as self.stack:
            try:
                if not self.past:
                    self.write_folder(epoch=0)
                done = run_child(self.job, self.on_event, log=self.run.folder / "env.log",
                                 cwd=self.cwd, step_timeout=self.patience, signals=signals)
                status = "finished"
            except Interrupted as error:
                status = "interrupted"
                raise self.interrupted(error) from None
            except (UsageError, BuildError):
                status = "refused"
                raise
            except PufferError as error:
                if self.saved:
                    kept = f"the last good checkpoint is {paths.shown(self.saved)}"
                    error.hint = f"{error.hint}; {kept}" if error.hint else kept
                raise
            finally:
                self.close_folder(status)
        goal = self.config.eval.goal
        met = meets(goal, self.claim)
        assert self.saved is not None       # the child has saved before it ended
        return TrainResult(self.run.folder, self.saved, int(done["step"]), done["seconds"],
                           done["evaluating"], self.goal, self.last, "" if self.goal else goal,
                           goal if self.goal and not met else "", met, self.claim,
                           "" if goal else self.spec.registered)

    def write_folder(self, epoch: int) -> None:
        """Write what a run folder holds before the first step; drop metrics after the epoch."""
        run = self.run
        checkpoint.sweep(run.checkpoints_path)
        files.save(run.config_path, self.config.to_ini(), what="the settings")
        files.save(run.folder / "spec.json",
                   json.dumps(self.spec.to_dict(), indent=1) + "\n", what="the spec")
        kept = [row for row in run.metrics() if (row.get("epoch") or 0) <= epoch]
        text = "".join(json.dumps(row) + "\n" for row in kept)
        files.save(run.metrics_path, text, what="the metrics")
        facts: dict[str, object] = {"tag": self.tag} if self.tag else {}
        if self.job.model:
            facts["model"] = os.path.relpath(self.job.model, run.folder)
        code, past = provenance.keep(run, self.made), run.info.get("code")
        if past and past["hash"] != code["hash"]:
            ui.warn("the code has changed since this run began: "
                    f"{', '.join(provenance.changes(past, self.made))}",
                    "run.json notes both; runs of one code alone are comparable")
        facts["code"] = code
        run.set_status("running", total=self.config.train.total_timesteps, evaluation=None,
                       group=self.group_facts(()), **facts)

    def tell_choices(self) -> None:
        """Says what observations are multiplied by, where that was chosen automatically, and what
        an ini of PufferLib's tree means."""
        for full, origin in self.config.origin.items():
            if origin.startswith(f"auto: {upstream.REASON}"):
                ui.say(f"{full} = {show(self.config[full])}: {origin.removeprefix('auto: ')}")
        if self.config.train.torch_optimizer:
            own_code.warn_of_rate(self.config)
        for key, text in self.config.worlds.items():
            ui.say(f"[worlds] {key} = {text}; evaluations play {played(self.config, key)}")
        if said := encoder_choice.say(self.config):
            ui.say(said)
        value, origin = self.config.train.obs_scale, self.config.origin[OBS_SCALE]
        if origin.startswith("auto: ") and value != "1":
            ui.say(f"observations are scaled: {origin.removeprefix('auto: ')}; train.obs_scale 1 "
                   "disables it")

    def group_facts(self, hosts: Sequence[str]) -> Group | None:
        """The processes that share the run, as in run.json."""
        place = self.job.place
        numbers = {host: number for number, host in enumerate(dict.fromkeys(hosts), 1)}
        return {"id": place.group_id, "size": place.size,       # no name of a machine is kept
                "hosts": [f"machine {numbers[host]}" for host in hosts]} if place else None

    def on_event(self, kind: str, payload: Any) -> None:
        if kind == "ready":
            self.ready = True
            self.config = take_choices(self.run, self.config, payload)
            if self.past:
                self.write_folder(self.past.checkpoint.facts["epoch"])
            else:
                self.tell_choices()
            self.sinks = self.stack.enter_context(self.open_sinks(self.run, self.config))
            if self.spec.has_truncations and self.spec.no_final_obs:
                ui.warn(f"no final observations: {self.spec.no_final_obs}. Where a time limit ends "
                        "an episode, the value of the observation before stands in",
                        "fill a field final_observations, or let one function that takes the env "
                        "alone write the observations")
            where = backends.where_trained(self.config)
            if payload["hosts"]:
                self.run.set_progress(group=self.group_facts(payload["hosts"]))
                where += f", {shared_by(payload['hosts'])} with {payload['path']}"
            self.board = self.stack.enter_context(Dashboard(self.run, self.config, where))
        elif kind == "metrics":
            self.last.update(payload)
            bad = [key for key, value in payload.items() if key.startswith("env/")
                   and not math.isfinite(value)]
            if bad:
                ui.warn_once(f"the environment logs {payload[bad[0]]} as {bad[0][4:]}: its means, "
                             "and the goal, say nothing", "puffer-sdk check finds the line")
            self.sinks.log(payload)
            if self.board and "sps" in payload:        # else it is an evaluation alone
                self.board.update(payload)
        elif kind == "claim":
            self.claim = payload
        elif kind == "goal":
            self.goal = (payload["step"], payload["seconds"])
        elif kind == "note":
            ui.warn(payload["text"])
        elif kind == "device":
            self.leave_gpu(payload["reason"])
        elif kind == "checkpoint":
            self.saved = Path(payload["path"])
        if self.board:
            self.board.stopping = bool(self.signals.received)
            self.board.tick()

    def leave_gpu(self, reason: str) -> None:
        """The child continues on the CPU."""
        self.config = backends.on_cpu(self.config, reason)
        gpu_kept.warn_of_failure(reason)
        if self.ready or not self.past:
            files.save(self.run.config_path, self.config.to_ini(), what="the settings")
        if self.board:
            self.board.where = backends.where_trained(self.config)

    def interrupted(self, error: Interrupted) -> Interrupted:
        why = "" if self.signals.received else f"{error.message}: "
        if not self.saved:
            return Interrupted(f"{why}interrupted; nothing was saved yet", status=error.exit_status)
        return Interrupted(f"{why}interrupted at step {int(self.saved.stem):,}; "
                           f"saved {paths.shown(self.saved)}", status=error.exit_status,
                           hint=f"continue with: {self.again}")

    def close_folder(self, status: str) -> None:
        """Record how the run ended, and remove partial files of the child."""
        if not self.ready and self.past:
            return
        checkpoint.sweep(self.run.checkpoints_path)
        try:
            claim = {"evaluation": self.claim} if self.claim else {}
            self.run.set_status("failed" if status == "refused" else status, **claim,
                                step=self.last.get("step", self.past.checkpoint.step
                                                   if self.past else 0))
            if not self.ready and status in ("refused", "interrupted"):
                runs.delete_run(self.run)
        except RunError:                # the error that is being raised says more
            if status == "finished":
                raise
