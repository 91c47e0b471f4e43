"""Training in a child process.  job -> checkpoints, and events for the parent: metrics, goal

A checkpoint is a barrier: after writing one, the trainer re-creates its envs from (seed, epoch)
and zeroes its recurrent state, as a resumed run does. So a killed run that is resumed ends with
the same bytes as one that ran through. A signal saves too: the last whole epoch, if the current
one takes longer than RESCUE seconds.
"""
from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import PufferError
from ..env import page
from ..env.job import EnvJob
from ..env.link import Link
from ..settings.goal import GoalWatch, parse_goal
from ..settings.values import Config
from . import backends, checkpoint

RESCUE = 4.0                        # seconds that a signal waits for the current epoch
SNAPSHOT = 1.0                      # seconds between snapshots that must wait for the GPU


@dataclass(frozen=True)
class TrainJob(EnvJob):
    """What the child needs to train."""

    spec_hash: str
    checkpoints: Path       # folder to save them in
    resume: Path | None     # the checkpoint to resume


def work(job: TrainJob, link: Link) -> dict:
    """The child's target: train to the end, or until the parent asks to stop."""
    return _Worker(job, link).run()


def make_vec(library, resolved: Config, epoch: int, link: Link):
    """Fresh envs. Their seeds depend only on the run's seed and the epoch."""
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
        self.seconds_before = 0.0       # that earlier parts of the run took
        self.watch = GoalWatch(parse_goal(self.config.eval.goal))
        self.met = past and past.reached(self.watch.goal)       # the goal, and when it was reached
        self.watch.reached = bool(self.met)
        self.saving = threading.Lock()  # held while a checkpoint is written
        if past:
            self.trainer.load_state_tensors(past.tensors)
            self.trainer.load_counters(past.facts["counters"])
            self.seconds_before = float(past.facts["seconds"])

    def run(self) -> dict:
        trainer, interval = self.trainer, self.config.base.checkpoint_interval
        self.began, saved = time.perf_counter(), None
        self.snapshot_time = self.began
        self.snapshot = self.state()
        self.link.emit("ready")
        if self.met:
            self.link.emit("goal", **self.met)
        threading.Thread(target=self.rescue, daemon=True).start()
        while not self.is_over() and not self.link.stop:
            self.train_epoch()
            if self.needs_snapshot():
                self.snapshot = self.state()
            if trainer.epoch % interval == 0 and not self.is_over():
                with self.saving:
                    saved = self.save()
                self.recreate_envs()
        self.saving.acquire()           # never released: nothing is left to rescue
        if self.config.train.async_:
            self.snapshot = self.state()
        if saved is None or saved.stem != self.snapshot[0].stem:
            self.save()
        if not self.link.stop:
            self.vec.close()
        return self.outcome()

    def needs_snapshot(self) -> bool:
        """Whether to take a snapshot now. With train.async it waits for the GPU, so then only
        before a save, and once a second for rescue()."""
        now, due = time.perf_counter(), not self.config.train.async_
        due |= self.trainer.epoch % self.config.base.checkpoint_interval == 0
        if due or now - self.snapshot_time > SNAPSHOT:
            self.snapshot_time = now
            return True
        return False

    def is_over(self) -> bool:
        at_goal = self.watch.reached and self.config.train.stop_at_goal
        return self.trainer.finished or at_goal

    def rescue(self) -> None:
        """Runs on a thread. If the stop comes within a long epoch (or an env's endless loop), save
        the state before that epoch, and end."""
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
        metrics = {"step": self.trainer.global_step,
                   "seconds": self.seconds_before + now - self.began,
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
        """A checkpoint not yet written: (path, tensors, facts)."""
        trainer = self.trainer
        facts = {"env": self.env_facts, "config": self.config.to_dict(),
                 "counters": trainer.counters, "epoch": trainer.epoch,
                 "step": trainer.global_step,
                 "seconds": self.seconds_before + time.perf_counter() - self.began,
                 **({"goal": self.met} if self.met else {})}
        path = self.job.checkpoints / f"{trainer.global_step:012d}.safetensors"
        return path, trainer.state_tensors(), facts

    def save(self) -> Path:
        """Write the snapshot: the state after the last whole epoch, after that epoch's metrics."""
        path, tensors, facts = self.snapshot
        self.link.wait_for_parent()
        self.link.restore_descriptors()
        checkpoint.save(path, tensors, facts)
        self.link.emit("checkpoint", path=str(path))
        return path

    def outcome(self) -> dict:
        facts = self.snapshot[2]
        return {"step": facts["step"], "seconds": facts["seconds"]}

    def recreate_envs(self) -> None:
        """The barrier: continue as a resumed run would."""
        old, self.vec = self.vec, None
        old.close()
        self.vec = make_vec(self.library, self.config, self.trainer.epoch, self.link)
        self.trainer.barrier(self.vec)
        self.watch.forget()

