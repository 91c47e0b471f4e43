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

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base import extras, records, trust
from ..base.errors import UsageError
from ..settings import torch_class
from ..training.alive import is_alive, is_here, this_process
from .space import Settings, Space
from .storages import Guarded, connect, shown
from .sweep_plan import Plan
from .sweep_records import Facts, Study, read_trial

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

BEAT = 5.0              # seconds between signs of life
SILENCE = 60.0          # ... after which a worker of another machine counts as dead
FACTS = "puffer"        # the attribute of a trial that holds all of its facts
WAITING, RUNNING, DONE, STOPPED, FAILED = "waiting", "running", "done", "stopped", "failed"


@dataclass
class Stored:
    """One trial as the store has it.

    facts   what is known beside the score: settings, seed, reason, holder (the worker that runs
            it, or ran it last), cost, error, run, steps, seconds, ended, ...
    """

    number: int
    state: str
    facts: Facts
    id: int
    score: float | None = None

    @property
    def settings(self) -> Settings:
        """{} until they are chosen."""
        return self.facts.get("settings") or {}

    @property
    def cost(self) -> float:
        """0 while it is not known."""
        return self.facts.get("cost") or 0.0

    @property
    def final_score(self) -> float:
        """Of a trial that is done, or was stopped. Raises ValueError for another."""
        if self.score is None:
            raise ValueError(f"trial {self.number} has no score")
        return self.score


class Store:
    """The trials of one sweep. Every method raises RunError where the storage does not answer."""

    def __init__(self, address: str, name: str, clock: Callable[[], float] = time.monotonic):
        extras.require("optuna", "sweep", "a sweep", where=shown(address))
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
        self._sound: dict[int, tuple[str, str, float | None]] = {}     # trials that were read

    # ---- the sweep -----------------------------------------------------------------------------

    def create(self, plan: Plan, **facts: object) -> Store:
        """A new sweep. Raises UsageError if the storage has one of this name."""
        direction = self.optuna.study.StudyDirection
        try:
            self.study = self.storage.create_new_study(
                [direction.MINIMIZE if plan.minimize else direction.MAXIMIZE], self.name)
        except self.optuna.exceptions.DuplicatedStudyError:
            raise UsageError(f"the storage already has a sweep '{self.name}'",
                             where=shown(self.address),
                             hint="continue it with --resume or --join, or name another "
                                  "--runs-dir") from None
        self.note_plan(plan, **facts)
        return self

    def open(self) -> Store:
        """The sweep of this name. Raises UsageError if there is none."""
        try:
            self.study = self.storage.get_study_id_from_name(self.name)
        except KeyError:
            names = [str(study.study_name) for study in self.storage.get_all_studies()]
            raise UsageError(f"the storage has no sweep '{self.name}'",
                             where=shown(self.address),
                             expected="one of " + ", ".join(names) if names else "a sweep in it",
                             actual=self.name) from None
        return self

    @property
    def facts(self) -> Facts:
        """What was noted about the sweep as a whole. Raises Damaged."""
        where = shown(self.address)
        found = {name: records.parse(text, f"{where}, {name}") for name, text in records.convert(
            self.storage.get_study_user_attrs(self.study), dict[str, str], where).items()}
        records.convert(found, Study, where, "the sweep's journal")
        return found

    def note(self, **facts: object) -> None:
        for name, value in facts.items():
            self.storage.set_study_user_attr(self.study, name, json.dumps(value))

    def note_plan(self, plan: Plan, **facts: object) -> None:
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
        """Remove a trial of this process: other workers have started the last ones allowed."""
        self.end(trial, FAILED, surplus=True)

    def add(self, settings: Settings | None, state: str = WAITING, **facts: object) -> Stored:
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

    def update(self, trial: Stored, **facts: object) -> None:
        """Facts of a trial that is not over."""
        trial.facts.update(facts)       # in one write: only the holder changes them
        self.storage.set_trial_user_attr(trial.id, FACTS, json.dumps(trial.facts))

    def beat(self, trial: Stored, **facts: object) -> None:
        """A sign of life from the worker that runs the trial, with facts."""
        self.update(trial, beat=trial.facts.get("beat", 0) + 1, **facts)

    def end(self, trial: Stored, state: str, score: float | None = None, **facts: object) -> bool:
        """The result of a trial that this process ran. False if it has one already."""
        try:
            self.update(trial, **facts)
            return bool(self.storage.set_trial_state_values(
                trial.id, self.codes[state], None if score is None else [score]))
        except self.optuna.exceptions.UpdateFinishedTrialError:
            return False

    def put_back(self, trial: Stored) -> bool:
        """Let another worker run it. False if it is over."""
        try:
            return bool(self.storage.set_trial_state_values(trial.id, self.codes[WAITING]))
        except self.optuna.exceptions.UpdateFinishedTrialError:
            return False

    def reap(self) -> list[Stored]:
        """Put back what dead workers hold."""
        return [trial for trial in self.trials()
                if trial.state == RUNNING and not self.is_held(trial) and self.put_back(trial)]

    def is_held(self, trial: Stored) -> bool:
        """Whether the worker of a running trial is alive: by its process on this machine, by its
        signs of life on another, since this process began to look."""
        held = trial.facts.get("holder")
        if held and is_here(held.get("host")):
            return is_alive(held.get("pid"), held.get("pid_started"))
        return self.silence.of(trial.id, trial.facts.get("beat")) < SILENCE

    def ask_tpe(self, trial: Stored, plan: Plan, trials: list[Stored]) -> tuple[Settings, str]:
        """Settings that Optuna's TPE suggests; it sees the unit cube of the space."""
        optuna, space = self.optuna, plan.space()
        study = optuna.create_study(
            direction="minimize" if plan.minimize else "maximize",
            sampler=optuna.samplers.TPESampler(seed=plan.seed + trial.number, multivariate=True,
                                               constant_liar=True, n_startup_trials=10))
        sides = {name: optuna.distributions.FloatDistribution(0, 1) for name in space.names}
        for each in trials:
            if not each.settings or each.number == trial.number or each.state == WAITING:
                continue
            point = space.point({**plan.start, **each.settings})
            state = RUNNING if each.state == RUNNING else DONE if each.score is not None else FAILED
            study.add_trial(optuna.trial.create_trial(
                state=self.codes[state], params=dict(zip(space.names, map(float, point))),
                distributions=sides, value=each.score if state == DONE else None))
        asked = study.ask(sides)
        return space.settings([asked.params[name] for name in space.names]), "TPE"

    def _stored(self, trial: FrozenTrial) -> Stored:
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
        self.clock = clock
        self.heard: dict[int | str, tuple[object, float]] = {}      # who -> what, and when

    def of(self, who: int | str, said: object) -> float:
        """Seconds since `said` was another; 0 where it is new."""
        before, when = self.heard.get(who, (None, 0.0))
        if who in self.heard and before == said:
            return self.clock() - when
        self.heard[who] = (said, self.clock())
        return 0.0
