"""Where a sweep's trials are kept.  a folder or a URL -> trials that any worker can take

Optuna stores them: a journal file in the sweep's folder, or with --storage a database or Optuna's
gRPC proxy, for many machines. A trial is

    waiting     to be run: again, because its worker died, or because somebody asked for it
    running     held by a worker that says so every few seconds
    done        with score and cost        stopped     early, with the score so far
    failed      with the reason

A trial whose worker is gone goes back to waiting: it keeps its number, so that nothing is lost and
nothing counts twice.
"""
from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..base import files, records, trust
from ..base.errors import Damaged, RunError, UsageError
from ..settings import torch_class
from ..training.alive import is_alive, this_process
from .formats import Study, read_trial
from .plan import Plan
from .space import Space

BEAT = 5.0              # seconds between signs of life
SILENCE = 60.0          # ... after which a worker of another machine counts as dead
FACTS = "puffer"        # the attribute of a trial that holds all of its facts
WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"


class Lock:
    """A lock on the journal that dies with its holder: a POSIX lock on a file beside it, which
    the kernel lets go of, and a server of NFS 4 as well. Optuna's own waits 30 s for a dead one.

    Whoever gets it first cuts off half a line that a killed writer left.
    """

    def __init__(self, journal: str):
        self.journal = journal

    def acquire(self) -> bool:
        self.lock = files.open(self.journal + ".lock", "ab")
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        with files.open(self.journal, "rb+") as file:
            end = file.seek(0, os.SEEK_END)
            start = end
            while start and end:
                start = max(0, start - 65536)
                file.seek(start)
                cut = file.read(end - start).rfind(b"\n")
                if cut >= 0 or not start:
                    if start + cut + 1 < end:
                        file.truncate(start + cut + 1)
                    break
        return True

    def release(self) -> None:
        self.lock.close()


@dataclass
class Stored:
    """One trial as the store has it.

    facts   what is known beside the score: settings, seed, reason, holder (the worker that runs
            it, or ran it last), cost, error, run, steps, seconds, ended, ...
    """

    number: int
    state: str
    facts: dict
    id: int
    score: float | None = None

    @property
    def settings(self) -> dict | None:
        """None until they are chosen."""
        return self.facts.get("settings")

    @property
    def cost(self) -> float | None:
        return self.facts.get("cost")


class Store:
    """The trials of one sweep. Every method raises RunError where the storage does not answer."""

    def __init__(self, address: str, name: str, clock: Callable[[], float] = time.monotonic):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna, self.address, self.name = optuna, address, name
        self.storage = Guarded(connect(address), address)
        states = optuna.trial.TrialState
        self.states = {states.WAITING: WAITING, states.RUNNING: RUNNING, states.COMPLETE: DONE,
                       states.PRUNED: STOPPED, states.FAIL: FAILED}
        self.codes = {word: state for state, word in self.states.items()}
        self.study: int | None = None
        self.silence = Silence(clock)
        self._plan: Plan | None = None
        self._space: Space | None = None
        self._sound: dict[int, tuple] = {}      # (text, state, score) of trials that were read

    # ---- the sweep -----------------------------------------------------------------------------

    def create(self, plan: Plan, **facts) -> Store:
        """A new sweep. Raises UsageError if the storage has one of this name."""
        direction = self.optuna.study.StudyDirection
        try:
            self.study = self.storage.create_new_study(
                [direction.MINIMIZE if plan.minimize else direction.MAXIMIZE], self.name)
        except self.optuna.exceptions.DuplicatedStudyError:
            raise UsageError(f"the storage has a sweep '{self.name}' already",
                             where=shown(self.address),
                             hint="go on: --resume or --join; or name another --runs-dir") from None
        self.note_plan(plan, **facts)
        return self

    def open(self) -> Store:
        """The sweep of this name. Raises UsageError if there is none."""
        try:
            self.study = self.storage.get_study_id_from_name(self.name)
        except KeyError:
            names = [str(study.study_name) for study in self.storage.get_all_studies()]
            raise UsageError(f"the storage has no sweep '{self.name}'",
                             where=shown(self.address), actual=self.name, expected="one of "
                             + ", ".join(names) if names else "a sweep in it") from None
        return self

    @property
    def facts(self) -> dict:
        """What was noted about the sweep as a whole. Raises Damaged."""
        where = shown(self.address)
        found = {name: records.parse(text, f"{where}, {name}") for name, text in records.convert(
            self.storage.get_study_user_attrs(self.study), dict[str, str], where).items()}
        records.convert(found, Study, where, "the sweep's journal")
        return found

    def note(self, **facts) -> None:
        for name, value in facts.items():
            self.storage.set_study_user_attr(self.study, name, json.dumps(value))

    def note_plan(self, plan: Plan, **facts) -> None:
        """The plan, with a MAC of what it names that is run."""
        self.note(plan=plan.to_dict(), mac=self._mac(plan), **facts)

    def _mac(self, plan: Plan) -> str:
        return trust.mac("plan", self.name, *plan.classes)

    def plan(self) -> Plan:
        """Raises UsageError. The classes that it names may be run if this user made it."""
        facts = self.facts
        self._plan = plan = Plan.from_dict(facts["plan"], f"{shown(self.address)}, plan")
        self._space = plan.space()
        if trust.equal(facts.get("mac"), self._mac(plan)):
            for spec in plan.classes:
                torch_class.name(spec, None)
        return plan

    # ---- trials --------------------------------------------------------------------------------

    def trials(self) -> list[Stored]:
        """All of them, by number; without those that were one too many (see drop)."""
        found = (self._stored(trial) for trial in
                 self.storage.get_all_trials(self.study, deepcopy=False))
        return [trial for trial in found if not trial.facts.get("surplus")]

    def drop(self, trial: Stored) -> None:
        """Take back a trial of this process: others had begun as many as there may be."""
        self.end(trial, FAILED, surplus=True)

    def add(self, settings: dict | None, state: str = WAITING, **facts) -> Stored:
        """A new trial: to wait for a worker, or one that this process runs."""
        held = this_process() if state == RUNNING else None
        facts = {**facts, "settings": settings, "holder": held, "beat": 0}
        template = self.optuna.trial.FrozenTrial(
            number=-1, trial_id=-1, state=self.codes[state], value=None, datetime_start=None,
            datetime_complete=None, params={}, distributions={}, intermediate_values={},
            user_attrs={FACTS: json.dumps(facts)}, system_attrs={})
        trial = self.storage.create_new_trial(self.study, template)
        return self._stored(self.storage.get_trial(trial))

    def take(self, trial: Stored) -> bool:
        """Hold a waiting trial. False if another worker was quicker."""
        try:
            if not self.storage.set_trial_state_values(trial.id, self.codes[RUNNING]):
                return False
        except self.optuna.exceptions.UpdateFinishedTrialError:
            return False
        self.beat(trial, holder=this_process())
        return True

    def update(self, trial: Stored, **facts) -> None:
        """Facts of a trial that is not over."""
        trial.facts.update(facts)       # in one write: only the holder changes them
        self.storage.set_trial_user_attr(trial.id, FACTS, json.dumps(trial.facts))

    def beat(self, trial: Stored, **facts) -> None:
        """A sign of life from the worker that runs the trial, with facts."""
        self.update(trial, beat=trial.facts.get("beat", 0) + 1, **facts)

    def end(self, trial: Stored, state: str, score: float | None = None, **facts) -> bool:
        """The result of a trial that this process ran. False if it has one already."""
        try:
            self.update(trial, **facts)
            return self.storage.set_trial_state_values(
                trial.id, self.codes[state], None if score is None else [score])
        except self.optuna.exceptions.UpdateFinishedTrialError:
            return False

    def put_back(self, trial: Stored) -> bool:
        """Let another worker run it. False if it is over."""
        try:
            return self.storage.set_trial_state_values(trial.id, self.codes[WAITING])
        except self.optuna.exceptions.UpdateFinishedTrialError:
            return False

    def reap(self) -> list[Stored]:
        """Put back what dead workers hold."""
        return [trial for trial in self.trials()
                if trial.state == RUNNING and not self.is_held(trial) and self.put_back(trial)]

    def is_held(self, trial: Stored) -> bool:
        """Whether the worker of a running trial is alive: on this machine its process tells, on
        another its signs of life, for as long as this process has been looking."""
        held = trial.facts.get("holder")
        if held and held.get("host") == socket.gethostname():
            return is_alive(held.get("pid"), held.get("pid_started"))
        return self.silence.of(trial.id, trial.facts.get("beat")) < SILENCE

    def ask_tpe(self, trial: Stored, plan: Plan, trials: list[Stored]) -> tuple[dict, str]:
        """Settings that Optuna's TPE suggests; it sees the unit cube of the space."""
        optuna, space = self.optuna, plan.space()
        study = optuna.create_study(
            direction="minimize" if plan.minimize else "maximize",
            sampler=optuna.samplers.TPESampler(seed=plan.seed + trial.number, multivariate=True,
                                               constant_liar=True, n_startup_trials=10))
        sides = {name: optuna.distributions.FloatDistribution(0, 1) for name in space.names}
        for each in trials:
            if each.settings is None or each.number == trial.number or each.state == WAITING:
                continue
            point = space.point({**plan.start, **each.settings})
            state = RUNNING if each.state == RUNNING else DONE if each.score is not None else FAILED
            study.add_trial(optuna.trial.create_trial(
                state=self.codes[state], params=dict(zip(space.names, map(float, point))),
                distributions=sides, value=each.score if state == DONE else None))
        asked = study.ask(sides)
        return space.settings([asked.params[name] for name in space.names]), "TPE"

    def _stored(self, trial) -> Stored:
        """A trial as it is stored; one that is damaged counts as failed."""
        state, score = self.states[trial.state], None
        try:
            with records.read_as("its record", "score"):
                [score] = (trial.values if trial.state.is_finished() else None) or [None]
            text = trial.user_attrs.get(FACTS, "{}")
            facts = json.loads(text) if self._sound.get(trial.number) == (text, state, score) \
                else read_trial(text, score, state in (DONE, STOPPED), self._plan, self._space)
            self._sound[trial.number] = text, state, score
        except UsageError as error:
            where = f" ({error.where})" if error.where else ""
            got = f": expected {error.expected}, got {error.actual}" if error.expected else ""
            state, score, facts = FAILED, None, {"error": f"{error.message}{where}{got}"}
        return Stored(trial.number, state, facts, trial._trial_id, score)


class Silence:
    """Seconds since other workers last reported something new, by this process's own clock. Other
    machines' clocks do not matter."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock, self.heard = clock, {}

    def of(self, who, said) -> float:
        """Seconds since `said` was another; 0 where it is new."""
        before, when = self.heard.get(who, (None, 0.0))
        if who in self.heard and before == said:
            return self.clock() - when
        self.heard[who] = (said, self.clock())
        return 0.0


# ---- storages ----------------------------------------------------------------------------------

def connect(address: str):
    """Optuna's storage for a journal's path, a database's URL, or grpc://HOST:PORT.

    Raises UsageError for one that cannot be, RunError for one that does not answer.
    """
    import optuna
    from optuna.storages.journal import JournalFileBackend

    try:
        if address.startswith("grpc://"):
            return _proxy(address)
        if "://" in address:            # the driver by name: SQLAlchemy's versions differ in theirs
            url = re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", address)
            return optuna.storages.RDBStorage(url, engine_kwargs={"pool_pre_ping": True})
        if os.path.lexists(address):
            files.open(address).close()         # refuses what is no file
        return optuna.storages.JournalStorage(JournalFileBackend(address, lock_obj=Lock(address)))
    except ImportError as error:
        missing = error.__cause__ or error
        raise UsageError("this storage needs a package that is not installed", hint=
                         "pip install 'puffer-sdk[sweep]'", where=shown(address), expected=getattr(
                             missing, "name", None), actual="not installed") from None
    except UsageError:
        raise
    except OSError as error:
        raise RunError("the journal cannot be opened", where=address,
                       detail=error.strerror or str(error)) from None
    except Exception as error:          # each driver has errors of its own
        if "://" not in address:
            raise _damaged(address, error) from None
        raise RunError("the storage cannot be reached", where=shown(address),
                       detail=str(error).strip().partition("\n")[0], expected="journal file, "
                       "postgresql://USER@HOST/NAME or grpc://HOST:PORT") from None


def _damaged(journal: str, error: Exception) -> Damaged:
    """What is wrong with a journal that Optuna cannot read: its first line that is no JSON, or
    what a record lacks. A record that is left out would give all later trials other numbers."""
    found = Damaged("the sweep's journal is damaged", where=journal, expected="a sweep's records",
                    actual=f"{type(error).__name__}: {error}")
    try:
        for number, line in enumerate(files.read(journal).splitlines(), 1):
            records.parse(line, f"{journal}:{number}", "the sweep's journal")
    except Damaged as damage:
        found = damage
    found.hint = "restore it from a copy; the runs of its trials are beside it"
    return found


class Guarded:
    """A storage whose calls raise RunError where the disk is full or the database is gone. What
    they raise about trials and studies, they raise as before."""

    def __init__(self, storage, address: str):
        self.inner, self.address = storage, address

    def __getattr__(self, name: str):
        method = getattr(self.inner, name)

        def call(*words, **options):
            import optuna
            try:
                return method(*words, **options)
            except OSError as error:
                raise RunError("the sweep's journal cannot be written", where=self.address,
                               detail=error.strerror or str(error), hint="finished trials are "
                               "kept: free some space, and go on with --resume") from None
            except Exception as error:
                ours = isinstance(error, (optuna.exceptions.OptunaError, KeyError))
                if ours and not isinstance(error, optuna.exceptions.StorageInternalError):
                    raise
                if "://" not in self.address and type(error) is not RuntimeError:
                    raise _damaged(self.address, error) from None
                raise RunError("the storage does not answer any more", where=shown(self.address),
                               detail=str(error.__cause__ or error).partition("\n")[0], hint=
                               "finished trials are kept: go on with --resume, or --join again"
                               ) from None

        return call


def _proxy(address: str):
    import grpc
    from optuna.storages import GrpcStorageProxy

    host, _, port = address.removeprefix("grpc://").rstrip("/").partition(":")
    channel = grpc.insecure_channel(f"{host}:{port or 13000}")
    try:
        grpc.channel_ready_future(channel).result(timeout=5)
    except grpc.FutureTimeoutError:
        raise RunError("the storage cannot be reached", where=address,
                       expected="Optuna's gRPC proxy", actual="no answer in 5 seconds",
                       hint="start it: puffer-sdk sweep --serve") from None
    finally:
        channel.close()
    return GrpcStorageProxy(host=host, port=int(port or 13000))


def shown(address: str) -> str:
    """The address without its password."""
    scheme, sep, rest = address.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{place}" if sep else address


def journal_of(folder: Path) -> str:
    return str(folder / "journal")
