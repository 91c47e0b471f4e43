"""Train a policy.  environment + settings -> runs/NAME/NNNN/

The parent settles the settings, makes the run folder, draws the progress and writes the metrics;
the work itself (env code and trainer) runs in a child, which writes the checkpoints.

A checkpoint is a barrier: after writing one, the trainer re-creates its envs from (seed, epoch)
and zeroes carried state, as a resumed run does. So a killed run that is resumed ends with the
same bytes as one that was not. A signal saves as well: the last whole epoch, if the one at
work takes too long to be waited for.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..base import files, paths, ui
from ..base.errors import BuildError, Interrupted, PufferError, RunError, UsageError
from ..env import build, child, page
from ..env.job import EnvJob
from ..env.link import Link
from ..settings import config
from ..settings.goal import GoalWatch, parse_goal
from ..settings.values import Config
from . import backends, checkpoint, runs
from . import metrics as sinks
from .dashboard import Dashboard
from .metrics import open_sinks

RESCUE = 4.0                        # seconds that a signal waits for the epoch at work
SNAPSHOT = 1.0                      # seconds between snapshots that would cost a wait


@dataclass
class TrainResult:
    """What a finished run leaves."""

    folder: Path                    # runs/NAME/NNNN
    checkpoint: Path                # the last one
    steps: int                      # agent steps trained
    seconds: float                  # of training, over all resumed parts
    goal: tuple[int, float] | None = None   # steps and seconds after which it was first reached
    metrics: dict = field(default_factory=dict)     # the last value of every key
    missed: str = ""                # the goal, where there is one and it was not reached


def train(env=None, settings: Mapping[str, object] | None = None, *, tag: str | None = None,
          resume: str | None = None, runs_dir: Path | None = None, wandb: bool = False,
          tensorboard: bool = False, verbose: bool = False) -> TrainResult:
    """Train on ENV (a folder or a name) and return where the result is.

    settings    {"train.learning_rate": 0.01, "env.size": 9}: over the ini's values
    resume      "latest", or a run's number or folder: go on from its last good checkpoint
    tag         a label that `puffer-sdk runs` shows
    Raises UsageError before anything runs, BuildError, RunError (the env died or hung, training
    went non-finite, the disk is full), Interrupted after Ctrl-C, with everything saved.
    """
    if tag and not tag.isprintable():
        raise UsageError("the tag holds something that does not print", where="--tag",
                         expected="one line of text", actual=repr(tag))
    folder = paths.find_env(env)
    home = paths.runs_dir(folder, runs_dir).resolve()
    past = find_resumable(home, resume) if resume else None
    wanted = {"wandb": wandb, "tensorboard": tensorboard}
    sinks.require(**wanted)
    built = build.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec,
                              ini=past.run.config_path if past else None)
    backends.require(resolved, folder, verbose=verbose)
    met = past and reached_before(past.checkpoint, resolved)
    if met and resolved.train.stop_at_goal:
        ui.say(f"the goal {met['goal']} was reached after {met['step']:,} steps: this run is over; "
               "--train.stop-at-goal 0 goes on")
    build.binding.write_config_header(built.spec, resolved.env, built.library.parent)
    with child.Signals() as signals:
        run = past.run if past else runs.create_run(home, tag or "")
        job = TrainJob.of(built, backends.with_class_file(resolved, folder),
                          spec_hash=built.spec.hash(), checkpoints=run.checkpoints_path,
                          resume=past.checkpoint.path if past else None)
        again = ["puffer-sdk", "train", *([os.fspath(env)] if env else []), "--resume",
                 str(run.number), *(["--runs-dir", str(runs_dir)] if runs_dir else [])]
        with claimed(run):
            return _Parent(run, resolved, built.spec, past, job, tag=tag, wanted=wanted,
                           again=shlex.join(again), cwd=paths.working_dir(folder)).work(signals)


@dataclass(frozen=True)
class TrainJob(EnvJob):
    """What the child needs to train."""

    spec_hash: str
    checkpoints: Path       # folder to save them in
    resume: Path | None     # the checkpoint to go on from


@dataclass(frozen=True)
class _Past:
    """A run to go on with, and the checkpoint to start from."""

    run: runs.Run
    checkpoint: checkpoint.Checkpoint


def find_resumable(home: Path, which: str) -> _Past:
    """The run meant by --resume, with its newest checkpoint that can be read.

    A damaged newest checkpoint is named and the one before it is taken.
    """
    run = runs.find_run(home, which)
    if run.status == "running" and is_claimed(run):
        raise still_running(run)
    found = run.checkpoints()
    if not found:
        other = runs.latest_run(home, with_checkpoint=True)
        raise UsageError("this run has no checkpoint to resume from", where=run.folder,
                         hint="start anew without --resume"
                         + (f", or take the newest that has one: --resume {other.number}"
                            if other else ""))
    for path in reversed(found):
        try:
            return _Past(run, checkpoint.load(path))
        except PufferError as error:
            ui.warn(f"skipping {path.name}: {error.message}")
    raise UsageError("none of this run's checkpoints can be read", where=run.folder,
                     hint="start anew without --resume")


def reached_before(past: checkpoint.Checkpoint, resolved: Config) -> dict | None:
    """{"goal", "step", "seconds"}: when the goal of these settings was first reached, if it was."""
    met = past.facts.get("goal")
    return met if met and met["goal"] == str(parse_goal(resolved.eval.goal)) else None


def still_running(run: runs.Run) -> UsageError:
    info = run.info
    return UsageError("this run is still going on", where=run.folder,
                      expected="a run that has ended",
                      actual=f"process {info.get('pid')} on {info.get('host')}",
                      hint="stop it first, or start a new run without --resume")


@contextlib.contextmanager
def claimed(run: runs.Run) -> Iterator[None]:
    """The run is ours for as long as this lasts; the system frees it should we be killed."""
    fd = os.open(run.folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise still_running(run) from None
        except OSError:                 # a file system without locks: run.json is what is left
            pass
        yield
    finally:
        os.close(fd)


def is_claimed(run: runs.Run) -> bool:
    """True while some process trains this run."""
    try:
        with claimed(run):
            return False
    except UsageError:
        return True


class _Parent:
    """The parent's side of one run: events in, files and display out.

    Until the child is ready, so until envs, network and checkpoint were found to fit, nothing of
    an older run is touched; a new run that ends before that leaves no folder, unless env code
    is to blame.
    """

    def __init__(self, run: runs.Run, resolved: Config, spec, past: _Past | None, job: TrainJob,
                 *,
                 tag: str | None, wanted: dict, again: str, cwd: Path):
        self.run, self.config, self.spec, self.past = run, resolved, spec, past
        self.job, self.tag, self.wanted, self.again, self.cwd = job, tag, wanted, again, cwd
        self.last: dict = {}
        self.saved: Path | None = past.checkpoint.path if past else None
        self.ready, self.board, self.goal = False, None, None

    def work(self, signals: child.Signals) -> TrainResult:
        status, self.signals = "failed", signals
        with contextlib.ExitStack() as self.stack:
            try:
                if not self.past:
                    self.prepare(epoch=0)
                done = child.run("puffer_sdk.training.train:work", self.job, self.on_event,
                                     log=self.run.folder / "env.log", cwd=self.cwd,
                                     step_timeout=self.config.vec.step_timeout, signals=signals)
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
                self.leave(status)
        return TrainResult(self.run.folder, self.saved, done["step"], done["seconds"], self.goal,
                           self.last, "" if self.goal else self.config.eval.goal)

    def prepare(self, epoch: int) -> None:
        """Write what a run folder holds before the first step; cut metrics behind the epoch."""
        run = self.run
        checkpoint.sweep(run.checkpoints_path)
        files.save(run.config_path, self.config.to_ini(), what="the settings")
        files.save(run.folder / "spec.json",
                   json.dumps(self.spec.to_dict(), indent=1) + "\n", what="the spec")
        kept = [row for row in run.metrics() if row.get("epoch", 0) <= epoch]
        text = "".join(json.dumps(row) + "\n" for row in kept)
        files.save(run.metrics_path, text, what="the metrics")
        facts = {"tag": self.tag} if self.tag else {}
        run.set_status("running", total=self.config.train.total_timesteps, **facts)

    def on_event(self, kind: str, payload: dict) -> None:
        if kind == "ready":
            self.ready = True
            if self.past:
                self.prepare(self.past.checkpoint.facts["epoch"])
            self.sinks = self.stack.enter_context(open_sinks(self.run, self.config, **self.wanted))
            self.board = self.stack.enter_context(Dashboard(
                self.run, self.config, backends.where_trained(self.config)))
        elif kind == "metrics":
            self.last.update(payload)
            self.sinks.log(payload)
            self.board.update(payload)
        elif kind == "goal":
            self.goal = (payload["step"], payload["seconds"])
        elif kind == "checkpoint":
            self.saved = Path(payload["path"])
        if self.board:
            self.board.stopping = bool(self.signals.received)
            self.board.tick()

    def interrupted(self, error: Interrupted) -> Interrupted:
        if not self.saved:
            return Interrupted("interrupted; nothing was saved yet", status=error.exit_status)
        return Interrupted(f"interrupted at step {int(self.saved.stem):,}; "
                           f"saved {paths.shown(self.saved)}", status=error.exit_status,
                           hint=f"go on with: {self.again}")

    def leave(self, status: str) -> None:
        """The child is gone: note how it ended, and clear away what was half written."""
        if not self.ready and self.past:
            return
        checkpoint.sweep(self.run.checkpoints_path)
        try:
            self.run.set_status("failed" if status == "refused" else status,
                                step=self.last.get("step", self.past.checkpoint.step
                                                   if self.past else 0))
            if not self.ready and status in ("refused", "interrupted"):
                runs.delete_run(self.run)
        except RunError:                # the error that is on its way says more
            if status == "finished":
                raise


# -- in the child ------------------------------------------------------------------


def work(job: TrainJob, link: Link) -> dict:
    """The child's target: train to the end, or until the parent asks to stop."""
    return _Worker(job, link).run()


def make_vec(library, resolved: Config, epoch: int, link: Link):
    """Fresh envs. Their seeds depend on the run's seed and the epoch alone."""
    from ..base import philox
    from ..env.vec import VecEnv

    vec = resolved.vec
    return VecEnv(library, total_agents=vec.total_agents, num_buffers=vec.num_buffers,
                  seed=philox.env_seed(resolved.train.seed, 0, epoch),
                  threads=min(vec.num_threads, page.WORKERS), adaptive=True,
                  env_settings=resolved.env, watches=link.watches())


class _Worker:
    """Env code and trainer, in the child."""

    def __init__(self, job: TrainJob, link: Link):
        self.job, self.link = job, link
        self.config, self.library = job.config, job.open()
        past = checkpoint.load(job.resume) if job.resume else None
        about = self.library.describe(self.config.env)
        self.env_facts = {"name": job.name, "spec_hash": job.spec_hash,
                          "obs_size": about.obs_size, "obs_dtype": about.obs_dtype.name,
                          "act_sizes": list(about.act_sizes)}
        if past:
            checkpoint.check_fits(past, self.env_facts, self.config.env)
        epoch = past.facts["counters"]["epoch"] if past else 0
        self.vec = make_vec(self.library, self.config, epoch, link)
        self.trainer = backends.make_trainer(self.vec, self.config)
        self.before = 0.0               # seconds that earlier parts of the run took
        self.watch = GoalWatch(parse_goal(self.config.eval.goal))
        self.met = past and reached_before(past, self.config)   # the goal, when it first was
        self.watch.reached = bool(self.met)
        self.saving = threading.Lock()  # held while a checkpoint is written
        if past:
            self.trainer.load_state_tensors(past.tensors)
            self.trainer.load_counters(past.facts["counters"])
            self.before = float(past.facts["seconds"])

    def run(self) -> dict:
        trainer, interval = self.trainer, self.config.base.checkpoint_interval
        self.began, saved = time.perf_counter(), None
        self.taken = self.began
        self.snapshot = self.state()
        self.link.emit("ready")
        if self.met:
            self.link.emit("goal", **self.met)
        threading.Thread(target=self.rescue, daemon=True).start()
        while not self.is_over() and not self.link.stop:
            self.train_epoch()
            if self.is_due():
                self.snapshot = self.state()
            if trainer.epoch % interval == 0 and not self.is_over():
                with self.saving:
                    saved = self.save()
                self.renew()
        self.saving.acquire()           # for good: nothing is left to rescue
        if self.config.train.async_:
            self.snapshot = self.state()
        if saved is None or saved.stem != self.snapshot[0].stem:
            self.save()
        if not self.link.stop:
            self.vec.close()
        return self.outcome()

    def is_due(self) -> bool:
        """Whether to take a snapshot: with train.async that waits for the GPU, so not each epoch,
        but where one is saved, and once a second for the rescue."""
        now, due = time.perf_counter(), not self.config.train.async_
        due |= self.trainer.epoch % self.config.base.checkpoint_interval == 0
        if due or now - self.taken > SNAPSHOT:
            self.taken = now
            return True
        return False

    def is_over(self) -> bool:
        at_goal = self.watch.reached and self.config.train.stop_at_goal
        return self.trainer.finished or at_goal

    def rescue(self) -> None:
        """On a thread: when asked to stop in the middle of a long epoch (or of an env's endless
        loop), save the state as it was before that epoch, and end."""
        while not self.link.stop:
            time.sleep(0.05)
        time.sleep(RESCUE)
        self.saving.acquire()
        try:
            self.save()
            self.link.emit("result", value=self.outcome())
        except PufferError as error:
            self.link.emit_error(error)
        os._exit(0)

    def train_epoch(self) -> None:
        began = time.perf_counter()
        self.trainer.rollout()
        rolled = time.perf_counter()
        losses = self.trainer.update()
        now = time.perf_counter()
        timers, log = self.trainer.take_timers(), self.vec.log()
        metrics = {"step": self.trainer.global_step, "seconds": self.before + now - self.began,
                   "sps": self.trainer.batch_size / (now - began), "epoch": self.trainer.epoch,
                   **{f"env/{name}": value for name, value in log.items()},
                   **losses, "time/rollout": rolled - began,
                   **{f"time/{name}": value for name, value in timers.items()}}
        self.link.emit("metrics", **metrics)
        if self.watch.look(log):
            self.met = {"goal": str(self.watch.goal), "step": metrics["step"],
                        "seconds": metrics["seconds"]}
            self.link.emit("goal", **self.met)

    def state(self) -> tuple[Path, dict, dict]:
        """What a checkpoint holds, and where it would be written: (path, tensors, facts)."""
        trainer = self.trainer
        facts = {"env": self.env_facts, "config": self.config.to_dict(),
                 "counters": trainer.counters, "epoch": trainer.epoch,
                 "step": trainer.global_step,
                 "seconds": self.before + time.perf_counter() - self.began,
                 **({"goal": self.met} if self.met else {})}
        path = self.job.checkpoints / f"{trainer.global_step:012d}.safetensors"
        return path, trainer.state_tensors(), facts

    def save(self) -> Path:
        """Write the snapshot: the state after the last whole epoch, whose metrics come first."""
        path, tensors, facts = self.snapshot
        self.link.wait_for_parent()
        self.link.restore_descriptors()
        checkpoint.save(path, tensors, facts)
        self.link.emit("checkpoint", path=str(path))
        return path

    def outcome(self) -> dict:
        facts = self.snapshot[2]
        return {"step": facts["step"], "seconds": facts["seconds"]}

    def renew(self) -> None:
        """The barrier: go on as a resumed run would."""
        old, self.vec = self.vec, None
        old.close()
        self.vec = make_vec(self.library, self.config, self.trainer.epoch, self.link)
        self.trainer.barrier(self.vec)
        self.watch.forget()

