"""Train a policy.  environment + settings -> runs/NAME/NNNN/

The parent settles the settings, makes the run folder, draws the progress and writes the metrics;
the work itself (env code and trainer) runs in a child, which writes the checkpoints.

A checkpoint is a barrier: after writing one, the trainer re-creates its envs from (seed, epoch)
and zeroes carried state, as a resumed run does. So a killed run that is resumed ends with the
same bytes as one that was not.
"""
from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from . import building, checkpoint, config, isolation, paths, runs, sinks, ui
from .config import Config
from .dashboard import Dashboard
from .errors import Interrupted, PufferError, UsageError
from .sinks import open_sinks


@dataclass
class TrainResult:
    """What a finished run leaves."""

    folder: Path                    # runs/NAME/NNNN
    checkpoint: Path                # the last one
    steps: int                      # agent steps trained
    seconds: float                  # of training, over all resumed parts
    metrics: dict = field(default_factory=dict)     # the last value of every key


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
    require_torch("train")
    folder = paths.find_env(env)
    home = paths.runs_dir(folder, runs_dir)
    past = find_resumable(home, resume) if resume else None
    wanted = {"wandb": wandb, "tensorboard": tensorboard}
    sinks.require(**wanted)
    built = building.build(folder, verbose=verbose)
    resolved = config.resolve(folder, settings, spec=built.spec,
                              ini=past.run.config_path if past else None)
    building.binding.write_config_header(built.spec, resolved.env, built.library.parent)
    run = past.run if past else runs.create_run(home, tag or "")
    prepare(run, resolved, built.spec, past.checkpoint.facts["epoch"] if past else 0)
    job = {"library": str(built.library), "config": resolved.to_dict(),
           "spec_hash": built.spec.hash(), "name": built.spec.name,
           "checkpoints": str(run.checkpoints_path),
           "resume": str(past.checkpoint.path) if past else None}
    return _Parent(run, resolved, job, wanted).work()


def require_torch(command: str) -> None:
    """Raises UsageError where PyTorch, which still does the arithmetic, is not installed."""
    if find_spec("torch") is None:
        raise UsageError(f"'{command}' needs PyTorch in this version, and it is not installed",
                         hint="pip install 'puffer-sdk[torch]'")


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
    if run.status == "running":
        raise UsageError("this run is still going on", where=run.folder,
                         hint="stop it first, or start a new run without --resume")
    found = run.checkpoints()
    if not found:
        raise UsageError("this run has no checkpoint to resume from", where=run.folder,
                         hint="start anew without --resume")
    for path in reversed(found):
        try:
            return _Past(run, checkpoint.load(path))
        except PufferError as error:
            ui.warn(f"skipping {path.name}: {error.message}")
    raise UsageError("none of this run's checkpoints can be read", where=run.folder,
                     hint="start anew without --resume")


def prepare(run: runs.Run, resolved: Config, spec, epoch: int) -> None:
    """Write what a run folder holds before the first step; cut metrics behind a resumed epoch."""
    runs.write_atomically(run.config_path, resolved.to_ini(), what="the settings")
    runs.write_atomically(run.folder / "spec.json", json.dumps(spec.to_dict(), indent=1) + "\n",
                          what="the spec")
    kept = [row for row in run.metrics() if row.get("epoch", 0) <= epoch]
    text = "".join(json.dumps(row) + "\n" for row in kept)
    runs.write_atomically(run.metrics_path, text, what="the metrics")
    run.set_progress(total=resolved.train.total_timesteps)


class _Parent:
    """The parent's side of one run: events in, files and display out."""

    def __init__(self, run: runs.Run, resolved: Config, job: dict, wanted: dict):
        self.run, self.config, self.job, self.wanted = run, resolved, job, wanted
        self.last: dict = {}
        self.saved: Path | None = Path(job["resume"]) if job["resume"] else None

    def work(self) -> TrainResult:
        self.run.set_status("running")
        status = "failed"
        with open_sinks(self.run, self.config, **self.wanted) as self.sinks, \
                Dashboard(self.run, self.config) as self.board:
            try:
                isolation.run("puffer_sdk.training:work", self.job, self.on_event,
                              log=self.run.folder / "env.log",
                              step_timeout=self.config.vec.step_timeout)
                status = "finished"
            except Interrupted as error:
                status = "interrupted"
                where = f"saved {self._shown(self.saved)}" if self.saved else "nothing was saved"
                raise Interrupted(f"interrupted at step {self.last.get('step', 0):,}; {where}",
                                  status=error.exit_status,
                                  hint=f"go on with: puffer-sdk train {self.job['name']} --resume"
                                  if self.saved else None) from None
            except PufferError as error:
                if self.saved:
                    kept = f"the last good checkpoint is {self._shown(self.saved)}"
                    error.hint = f"{error.hint}; {kept}" if error.hint else kept
                raise
            finally:
                self.run.set_status(status, step=self.last.get("step"))
        return TrainResult(self.run.folder, self.saved, self.last.get("step", 0),
                           self.last.get("seconds", 0.0), self.last)

    def on_event(self, kind: str, payload: dict) -> None:
        if kind == "metrics":
            self.last.update(payload)
            self.sinks.log(payload)
            self.board.update(payload)
        elif kind == "checkpoint":
            self.saved = Path(payload["path"])
        self.board.tick()

    @staticmethod
    def _shown(path: Path) -> str:
        here = Path.cwd()
        return str(path.relative_to(here)) if here in path.parents else str(path)


# -- in the child ------------------------------------------------------------------


def work(job: dict, link: isolation.Link) -> dict:
    """The child's target: train to the end, or until the parent asks to stop."""
    return _Worker(job, link).run()


class _Worker:
    """Env code and trainer, in the child."""

    def __init__(self, job: dict, link: isolation.Link):
        import torch

        from .torch_ppo import TorchPPO
        from .vec import Library

        self.job, self.link = job, link
        self.config = Config.from_dict(job["config"])
        torch.set_num_threads(self.config.vec.num_threads)
        self.library = Library(job["library"])
        past = checkpoint.load(Path(job["resume"])) if job["resume"] else None
        about = self.library.describe(self.config.env)
        self.env_facts = {"name": job["name"], "spec_hash": job["spec_hash"],
                          "obs_size": about.obs_size, "obs_dtype": about.obs_dtype.name,
                          "act_sizes": list(about.act_sizes)}
        if past:
            checkpoint.check_fits(past, self.env_facts)
        epoch = past.facts["counters"]["epoch"] if past else 0
        self.vec = self.make_vec(epoch)
        self.trainer = TorchPPO(self.vec, self.config, self.config.train.device)
        self.before = 0.0               # seconds that earlier parts of the run took
        if past:
            self.trainer.load_state_tensors(past.tensors)
            self.trainer.load_counters(past.facts["counters"])
            self.before = float(past.facts["seconds"])

    def make_vec(self, epoch: int):
        """Fresh envs. Their seeds depend on the run's seed and the epoch alone."""
        from . import philox
        from .vec import VecEnv

        vec = self.config.vec
        return VecEnv(self.library, total_agents=vec.total_agents, num_buffers=vec.num_buffers,
                      seed=philox.env_seed(self.config.train.seed, 0, epoch),
                      threads=min(vec.num_threads, isolation.WORKERS), adaptive=True,
                      env_settings=self.config.env, watches=self.link.watches())

    def run(self) -> dict:
        trainer, interval = self.trainer, self.config.base.checkpoint_interval
        self.began, saved = time.perf_counter(), None
        while not trainer.finished and not self.link.stop:
            self.train_epoch()
            if trainer.epoch % interval == 0 and not trainer.finished:
                saved = self.save()
                self.renew()
        if saved is None or saved.stem != self.stem:
            self.save()
        self.vec.close()
        return {"step": trainer.global_step}

    def train_epoch(self) -> None:
        began = time.perf_counter()
        self.trainer.rollout()
        rolled = time.perf_counter()
        losses = self.trainer.update()
        now = time.perf_counter()
        timers = self.trainer.take_timers()
        metrics = {"step": self.trainer.global_step, "seconds": self.before + now - self.began,
                   "sps": self.trainer.batch_size / (now - began), "epoch": self.trainer.epoch,
                   **{f"env/{name}": value for name, value in self.vec.log().items()},
                   **losses, "time/rollout": rolled - began,
                   **{f"time/{name}": value for name, value in timers.items()}}
        self.link.emit("metrics", **metrics)

    @property
    def stem(self) -> str:
        return f"{self.trainer.global_step:012d}"

    def save(self) -> Path:
        trainer = self.trainer
        facts = {"env": self.env_facts, "config": self.config.to_dict(),
                 "counters": trainer.counters, "epoch": trainer.epoch,
                 "step": trainer.global_step,
                 "seconds": self.before + time.perf_counter() - self.began}
        path = Path(self.job["checkpoints"]) / f"{self.stem}.safetensors"
        checkpoint.save(path, trainer.state_tensors(), facts)
        self.link.emit("checkpoint", path=str(path))
        return path

    def renew(self) -> None:
        """The barrier: go on as a resumed run would."""
        old, self.vec = self.vec, None
        old.close()
        self.vec = self.make_vec(self.trainer.epoch)
        self.trainer.barrier(self.vec)

