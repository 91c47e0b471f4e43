"""Training in a child process.  job -> checkpoints, and events for the parent: metrics, goal

Only settings and logs decide when the envs restart (action_log.py). A checkpoint in between holds
the learner, the agents' state, and the number of recorded actions. A resumed run repeats these
actions in envs of the same seeds and continues: it ends with the same bytes.

Several processes can share the run (rank_sync.py): each plays and learns its part, rank 0 writes.
"""
from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base import files
from ..base.errors import PufferError, RunError
from ..distributed import cores, dividing
from ..distributed.failing import Elsewhere
from ..distributed.group import Alone, join
from ..env.child_pipe import Link
from ..env.vec import VecEnv
from ..settings.values import Config
from ..settings.world_values import Change
from . import backends, checkpoint
from .action_log import Journal, Restarts
from .best import Kept
from .ended_agents import Endings, what_is_cut
from .evaluations import Evaluations
from .log_window import Window
from .looks import State
from .own_code import OwnCode
from .pacing import Pace
from .rank_sync import Epoch, Joint, choices_of
from .rescue import rescue
from .rows import epoch_row, unlogged_row
from .run_records import Facts
from .train_job import TrainJob, make_vec
from .world_stages import WorldStages

NOTHING_YET = Epoch({}, -1, False, 0.0, 0, 0, 0)
UNRECORDED = "with train.device cuda, or train.async, no actions are recorded"


def work(job: TrainJob, link: Link) -> Mapping[str, object]:
    """The child's target: train to the end, or until a parent asks to stop."""
    train = job.config.train
    group = join(job.place, train.group_timeout, cuda=train.device == "cuda")
    try:
        return _Worker(job, link, group).run()
    except Elsewhere as error:
        if not error.stopped:
            raise group.fail(error) from None
        return {"stopped": error.message}
    except PufferError as error:
        raise group.fail(error) from None
    except BaseException as error:      # a bug, or no memory
        group.fail(RunError(f"{type(error).__name__}: {error}"))
        raise


class _Worker:
    """Env code and trainer, in the child."""

    def __init__(self, job: TrainJob, link: Link, group: Alone):
        self.job, self.link, self.group = job, link, group
        self.joint, self.leads = Joint(group), group.rank == 0
        self.epoch = NOTHING_YET        # what all ranks know of the last one
        self.config, self.path = self.joint.agree(job)
        self.part = dividing.part_of(self.config, group.size)       # what is played here
        cores.divide(group, self.part.vec.num_threads)
        self.library = replace(job, config=self.part).open()
        if hasattr(self.library, "tell"):
            self.library.tell = lambda text: link.emit("note", text=text)
        self.made_anew = 0              # copies of Python environments, by vecs that are closed
        self.past = past = self.joint.checkpoint(job.resume)
        about = self.library.describe(self.config.env)
        self.env_facts = checkpoint.env_facts(about, job.name, job.spec_hash)
        model = self.joint.checkpoint(job.model)
        for found in filter(None, (past, model)):
            checkpoint.check_fits(found, self.env_facts, self.config.env)
            if self.leads and (said := checkpoint.other_name(found, job.name)):
                link.emit("note", text=said)
        self.config = self.joint.with_choices(replace(job, config=self.config), self.library,
                                              past, model, link)
        self.part = dividing.part_of(self.config, group.size)
        self.start = past.facts["epoch"] if past else 0     # epoch of the envs' start
        self.first_env = self.joint.first_env(self.library, self.part, link)
        link.emit("first_env", number=self.first_env)
        worlds = past.facts.get("worlds", ()) if past else ()
        self.vec, self.own = self.make_vec(self.start, worlds), OwnCode.of(self.config, group.size)
        self.make_trainer()
        if model:
            with model.named():
                self.trainer.load_weights(model.tensors)
        self.seconds_before = 0.0       # that earlier parts of the run took
        self.saving = threading.Lock()  # held while a checkpoint is written
        self.passing: Path | None = None        # the checkpoint that the next one replaces
        agents, horizon = self.config.vec.total_agents, self.config.train.horizon
        self.journal = Journal(job.checkpoints.parent, agents, horizon, self.vec.act_sizes)
        self.restarts = Restarts(int(self.joint.total(self.vec.num_envs)),
                                 self.journal.epoch_bytes)
        self.window, self.endings = Window(), Endings(
            self.vec.num_agents, int(np.diff(self.vec.first_row).max()))
        self.evaluations = Evaluations(self.config, self.library, link, self.joint.of_rank_0,
                                       self.leads)
        self.kept = Kept(job.best, self.leads)
        if past:
            self.window.load(past.facts.get("window", []))
            self.evaluations.state = State.of(past.facts.get("evaluations"))
            for problem in self.kept.load():
                link.emit("note", text=problem)
            with past.named():
                self.trainer.load_state_tensors(past.tensors)
                self.own.load(past.tensors, past.facts.get("own", {}))
            self.trainer.load_counters(past.facts["counters"])
            self.seconds_before = past.facts["seconds"]
            if self.leads:
                checkpoint.forget_replaced(past)
                self.passing = None if past.facts.get("kept", True) else past.path
            self.go_on(past)
        self.stages = WorldStages.begun(self.config, self.vec, self.trainer.global_step, past)

    def make_trainer(self) -> None:
        """For these envs: on the GPU that was chosen, or on the CPU where it fails."""
        self.trainer = backends.make_trainer(self.vec, self.part, path=self.path, group=self.group,
                                             own=self.own)
        self.own.take(self.trainer)
        self.take_device(backends.as_made(self.part, self.trainer))

    def take_device(self, part: Config) -> None:
        if part is not self.part:
            self.part, reason = part, backends.reason_of(part)
            self.config = backends.on_cpu(self.config, reason)
            self.link.emit("device", reason=reason)

    # -- the envs of a resumed run

    def make_vec(self, epoch: int, worlds: Iterable[Change]) -> VecEnv:
        return make_vec(self.library, self.part, epoch, self.link, self.first_env, worlds)

    def go_on(self, past: checkpoint.Checkpoint) -> None:
        """Repeat the actions since the envs' start; restart them if that is impossible."""
        replay = past.facts.get("replay")
        if replay is None:
            self.evaluations.begin()
            if not past.facts.get("started", True):
                self.link.emit("note", text=f"the environments restart: {UNRECORDED}")
            return
        problem: str | None = UNRECORDED
        if self.trainer.repeatable:
            self.vec.close()
            self.vec = self.make_vec(replay["epoch"], replay.get("worlds", ()))
            problem = self.joint.repeat(self.vec, self.journal, replay, self.endings)
        if problem is None:
            self.start = replay["epoch"]
            self.restarts.load(replay["restarts"])
            with past.named():
                self.trainer.resume_mid_episode(
                    self.vec, self.joint.part(past.tensors, self.vec.num_agents))
            return
        self.link.emit("note", text=f"the environments restart: {problem}")
        self.renew_envs()

    def renew_envs(self) -> None:
        """New envs, all at the beginning of an episode."""
        self.made_anew += self.vec.restarts
        self.vec.close()
        self.vec = self.make_vec(self.start, self.vec.changes_now)
        self.trainer.restart_envs(self.vec)
        for each in (self.restarts, self.endings, self.evaluations):
            each.begin()
        self.journal.restart()

    # -- training

    def run(self) -> Mapping[str, object]:
        self.began, self.cpu_began, self.pace = time.perf_counter(), self.cpu(), Pace()
        self.snapshot = self.state(started=True) if self.past is None else self.state()
        self.link.emit("ready", hosts=list(self.group.hosts), path=self.path,
                       choices=choices_of(self.config))
        if self.evaluations.met:
            self.link.emit("goal", **self.evaluations.met)
        threading.Thread(target=rescue, daemon=True, args=(
            self.link, self.group, self.saving, lambda: self.save(kept=True), self.outcome)).start()
        if self.past is None:
            with self.saving:
                self.save()
        elif row := unlogged_row(self.past):
            self.link.emit("metrics", **(self.evaluated(row) if self.is_over() else row))
        while not self.is_over() and not self.stopping:
            self.train_first_epoch() if self.epoch is NOTHING_YET else self.train_epoch()
            if self.needs_snapshot():
                self.snapshot = self.state()
            if not self.is_over():
                self.look_after()
        over = self.is_over()
        if over and self.evaluations.state.claim is None:       # of a run of an older version
            self.link.emit("metrics", **self.evaluated({
                "step": self.trainer.global_step, "epoch": self.trainer.epoch,
                "seconds": self.seconds_before}))
        self.saving.acquire()           # never released: nothing is left to rescue
        self.snapshot = self.state(started=over)
        self.save(kept=True)
        if over:
            self.journal.finish()
            self.kept.end()
        if over and (claim := self.evaluations.state.claim):
            self.link.emit("claim", **claim)
        if not self.stopping:
            self.vec.close()
        self.group.barrier()            # nobody leaves before rank 0 has saved
        return self.outcome()

    @property
    def stopping(self) -> bool:
        """Whether this run is to end now: all ranks agree on the epoch."""
        if self.group.size == 1:
            return self.link.stop
        return self.epoch.stop >= 0

    def look_after(self) -> None:
        """After an epoch: restart the envs or save, if due."""
        kept = self.is_kept_epoch()
        if self.restarts.due_after(recorded=self.trainer.repeatable, kept=kept):
            with self.saving:
                self.snapshot = self.state(started=True)
                self.save(kept=True)
            self.restart()
        elif kept or self.epoch.due:
            with self.saving:
                self.save(kept=kept)

    def is_kept_epoch(self) -> bool:
        return self.trainer.epoch % self.config.base.checkpoint_interval == 0

    def restart(self) -> None:
        """New envs: continue as a resumed run would."""
        if said := what_is_cut(self.epoch.lacking, self.config.vec.total_agents, self.restarts,
                               least=not self.endings.known):
            self.link.emit("note", text=said)
        self.start = self.trainer.epoch
        self.renew_envs()

    def needs_snapshot(self) -> bool:
        """Whether to take a snapshot now. It is a download from a GPU, which train.async waits for,
        too: then only before a save, and once a second for rescue(). Of several ranks it takes all
        of them: then only before a save."""
        saves, train = self.is_kept_epoch() or self.epoch.due, self.config.train
        if self.group.size > 1:
            return saves
        return self.pace.takes_snapshot(saves or not (train.async_ or train.device == "cuda"))

    def is_over(self) -> bool:
        at_goal = bool(self.evaluations.met) and self.config.train.stop_at_goal
        return self.trainer.finished or at_goal or self.own.enough

    def train_first_epoch(self) -> None:
        """If a GPU fails in it, restart the run on the CPU."""
        try:
            self.train_epoch()
        except (PufferError, RuntimeError) as error:
            part = backends.leave_gpu(self.part, error, self.group)
            if part is None:
                raise
            self.take_device(part)
            _, tensors, facts = self.snapshot
            self.vec.close()
            self.vec = self.make_vec(self.start, self.vec.changes_now)
            self.make_trainer()
            self.trainer.load_state_tensors(tensors)
            self.trainer.load_counters(facts["counters"])
            self.own.load(tensors, facts["own"])
            self.snapshot = self.state(started=True)

    def train_epoch(self) -> None:
        began, before = time.perf_counter(), self.stages.at(self.trainer.global_step)
        self.own.metrics.begin()
        self.trainer.rollout()
        self.own.after_rollout(self.trainer)
        rolled = time.perf_counter()
        losses = self.trainer.update(*self.own.advantages(self.trainer))
        now = time.perf_counter()
        timers = self.trainer.take_timers()
        own = self.vec.log()
        self.endings.note(self.trainer.endings, own.get("n", 0.0))
        epoch = self.epoch = self.joint.after_epoch(
            own, stop=self.link.stop, due=self.pace.save_is_due(),
            cpu=self.cpu() - self.cpu_began, restarts=self.made_anew + self.vec.restarts,
            waited=timers.get("exchange", 0.0), lacking=self.endings.count,
            weights=self.trainer.parameters if self.group.size > 1 else {})
        self.restarts.note(epoch.log, self.trainer.horizon)
        if self.trainer.repeatable:
            self.joint.record(self.journal, np.asarray(self.trainer.played))
        self.window.add(self.trainer.global_step, epoch.log)
        played = round(self.trainer.batch_size * losses.get("train/alive", 1))
        self.evaluations.note(epoch.log, played)
        self.evaluations.state.claim = None             # of an earlier end
        if self.evaluations.is_peak(self.trainer.global_step, self.window, epoch.lacking):
            self.kept.peak.keep(*self.state(started=True)[1:])
        met = self.evaluations.met
        self.own.metrics.end(epoch_row(
            epoch, self.window, self.config, step=self.trainer.global_step,
            number=self.trainer.epoch, seconds=self.seconds_before + now - self.began,
            sps=played / (now - began), rollout=rolled - began, losses=losses, timers=timers,
            ranks=self.group.size))
        self.own.after_epoch(self.own.view(self.trainer, self.config, self.vec))
        self.stages.turn(self.vec, self.trainer.global_step, before)
        metrics = self.evaluated(self.own.metrics.row)
        self.link.emit("metrics", **metrics)
        if self.evaluations.met and not met:
            self.link.emit("goal", **self.evaluations.met, cpu=metrics["cpu"])

    # -- evaluations

    def evaluated(self, row: Mapping[str, float]) -> dict[str, float]:
        """An epoch's row of metrics with what evaluations log: of the weights, if it is time, and
        of the run's claim at its end. The last epoch is saved before that, with its row."""
        began, evaluations, trainer = time.perf_counter(), self.evaluations, self.trainer
        now = (trainer.global_step, self.seconds_before + began - self.began, self.window,
               trainer.state_tensors, lambda: self.kept.best.of(evaluations.state.best))
        weights = lambda: self.state(started=True)[1:]  # noqa: E731
        found = {} if trainer.finished else self.kept.take(
            evaluations.after_epoch(*now), weights)
        evaluations.state.seconds += time.perf_counter() - began
        if self.is_over():
            with self.saving:
                self.snapshot = self.state(started=True)
                self.snapshot[2]["row"] = [(name, value if math.isfinite(value) else None)
                                           for name, value in {**row, **found}.items()]
                self.save()
            if self.config.of_python:
                self.vec.close()        # its worker processes play the evaluation
            found |= self.kept.take(evaluations.finish(
                *now, lambda: self.kept.peak.of(evaluations.state.peak)), weights)
            if evaluations.state.claim:
                self.kept.best.claim(evaluations.state.claim)
        if found:
            found["time/eval"] = time.perf_counter() - began
        return {**row, **found}

    def state(self, *, started: bool = False) -> tuple[Path, dict[str, np.ndarray], Facts]:
        """A checkpoint not yet written: (path, tensors, facts).

        started     whether the envs of a resumed run are to start anew: nothing is to be repeated
        """
        trainer, tensors = self.trainer, self.trainer.state_tensors()
        facts: Facts = {
            "env": self.env_facts, "config": self.config.to_dict(), "counters": trainer.counters,
            "epoch": trainer.epoch, "step": trainer.global_step, "started": started,
            "seconds": self.seconds_before + time.perf_counter() - self.began,
            "window": self.window.state, "worlds": self.vec.changes_now}
        own, facts["own"] = self.own.state()
        tensors |= own
        self.evaluations.add_facts(facts)
        if trainer.repeatable and not started and self.journal.size:
            tensors |= self.joint.carried(trainer.recurrent_state())
            facts["replay"] = {"epoch": self.start, "bytes": self.journal.size,
                               "checksum": self.joint.checksum(self.vec),
                               "restarts": self.restarts.state, "worlds": self.vec.changes}
        return self.job.checkpoints / f"{trainer.global_step:012d}.safetensors", tensors, facts

    def save(self, *, kept: bool = False) -> None:
        """Rank 0 writes the snapshot: the state after the last whole epoch, after its metrics.

        kept    not replaced by the next one
        """
        if not self.leads:
            return
        began = time.perf_counter()
        path, tensors, facts = self.snapshot
        self.link.wait_for_parent()
        self.link.restore_descriptors()
        self.kept.save(durable=kept)    # first: a checkpoint's run has them
        durable = kept or self.pace.durable_is_due()
        checkpoint.save(path, tensors, {**facts, "kept": kept}, durable=durable)
        self.link.emit("checkpoint", path=str(path))
        if self.passing and self.passing != path:
            files.remove(self.passing)
        self.passing = None if kept else path
        self.pace.saved(began, durable=durable)

    def outcome(self) -> Mapping[str, object]:
        facts = self.snapshot[2]
        done: dict[str, object] = {"step": facts["step"], "seconds": facts["seconds"],
                                   "evaluating": State.of(facts.get("evaluations")).seconds,
                                   "cpu": self.cpu() - self.cpu_began}
        if self.group.size > 1 and self.stopping:
            rank = self.epoch.stop
            done["stopped"] = f"rank {rank} on {self.group.hosts[rank]} was stopped"
        return done

    def cpu(self) -> float:
        """CPU seconds so far: of all threads, and of the processes that step environments."""
        return time.process_time() + self.vec.other_cpu
