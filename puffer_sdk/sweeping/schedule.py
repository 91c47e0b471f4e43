"""When a sweep stops searching, and when it ends.  seconds left, trials so far -> what comes next

    0 ............ search ............ | contenders | verdict | files ...... plan.seconds

Time after the search is reserved from the start: a share of the seconds, or less if the trials so
far were short. When the seconds are over, the sweep ends with the results it has. Durations are
those of time.monotonic; a test gives another clock.
"""
from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

from ..base.errors import UsageError
from .store import DONE, Stored
from .sweep_plan import Plan
from .verdict import LEAST

CONTENDERS = 0.15       # of the seconds, at most, that contenders may take
VERDICT = 0.25          # ... and the verdict on all its seeds
SHORT_VERDICT = 0.5     # ... and a verdict on LEAST seeds, where runs are long
MARGIN = 1.25           # how much longer than before a run may take
LEAVE = 2.0             # seconds in which workers leave
FILES = 1.5             # seconds of writing the files, before that was measured
GROWN = 1.5             # trials over those of the last measurement, from which it is taken anew


class Schedule:
    """The time of one sweep.

    plan, seeds     of the verdict, 0 for none
    before          seconds that the sweep had spent when it was interrupted
    began           what the clock said when this command began
    """

    def __init__(self, plan: Plan, seeds: int, *, before: float = 0.0, began: float | None = None,
                 clock: Callable[[], float] = time.monotonic):
        self.plan, self.seeds, self.before, self.clock = plan, seeds, before, clock
        self.began = clock() if began is None else began
        self.wrote = (0, FILES)         # trials, and the seconds that writing the files took

    @property
    def spent(self) -> float:
        """Seconds of the sweep, over all commands that went on with it."""
        return self.before + self.clock() - self.began

    @property
    def left(self) -> float:
        """Seconds until the end; infinite without a limit."""
        return self.plan.seconds - self.spent if self.plan.seconds else math.inf

    # ---- what comes next -----------------------------------------------------------------------

    def closes(self, trials: list[Stored]) -> bool:
        """Whether the search ends, so that there is time for what comes after it. Without a trial
        that has ended, nothing comes after it but its end."""
        if not any(trial.state == DONE for trial in trials):
            return self.left <= min(self._for_files(trials), self.plan.seconds / 4)
        return self.left <= (self._for_contenders(trials) + self._for_verdict(trials)
                             + 2 * self._writing(trials) + self._for_files(trials))

    def judges(self, trials: list[Stored]) -> bool:
        """Whether the verdict begins, though contenders may still run."""
        return self.left <= (self._for_verdict(trials) + self._writing(trials)
                             + self._for_files(trials))

    def ends(self, trials: list[Stored]) -> bool:
        """Whether all that runs is cut off, and the files are written."""
        return self.left <= self._for_files(trials)

    def seconds_needed(self, trials: list[Stored]) -> int:
        """What --seconds would have to be for the verdict on all seeds."""
        verdict = self._rounds(2 * self.seeds) * self._run(trials) * MARGIN
        ends = self._writing(trials) + self._for_files(trials)
        return 10 * math.ceil(max(self.spent + verdict + ends, verdict / VERDICT) / 10)

    # ---- how long things take ------------------------------------------------------------------

    def measure(self, trials: list[Stored], write: Callable[[], object]) -> None:
        """Write the files and time it, where trials have grown enough in number: models are
        fitted to them, and with a thousand that takes many seconds."""
        done = sum(trial.state == DONE for trial in trials)
        if self.plan.seconds and done > GROWN * self.wrote[0]:
            began = self.clock()
            with contextlib.suppress(UsageError):       # none has reached the goal
                write()
            self.wrote = (done, self.clock() - began)

    def _writing(self, trials: list[Stored]) -> float:
        """Seconds of writing the files; those of the models grow with the cube of the number of
        trials. Choosing contenders, or the best, takes no longer."""
        count, seconds = self.wrote
        done = sum(trial.state == DONE for trial in trials)
        return seconds * max(1.0, done / count) ** 3 if count else seconds

    def _run(self, trials: list[Stored]) -> float:
        """Seconds of a run like the best one; 0 before one has ended."""
        done = [trial for trial in trials if trial.state == DONE]
        walls = sorted(trial.facts.get("wall", 0.0) for trial in done)
        if not walls:
            return 0.0
        sign = -1.0 if self.plan.minimize else 1.0
        top = max(done, key=lambda trial: sign * trial.final_score)
        return float(max(walls[len(walls) // 2], top.facts.get("wall", 0.0)))

    def _rounds(self, runs: int) -> int:
        """How often all workers run something, for so many runs."""
        return math.ceil(runs / self.plan.workers)

    def _for_contenders(self, trials: list[Stored]) -> float:
        share = CONTENDERS * self.plan.seconds
        return min(share, self._rounds(6) * self._run(trials) * MARGIN) if self.seeds else 0.0

    def _for_verdict(self, trials: list[Stored]) -> float:
        if not self.seeds:
            return 0.0
        run = self._run(trials) * MARGIN
        return max(min(VERDICT * self.plan.seconds, self._rounds(2 * self.seeds) * run),
                   min(SHORT_VERDICT * self.plan.seconds, self._rounds(2 * LEAST) * run))

    def _for_files(self, trials: list[Stored]) -> float:
        return min(LEAVE, self.plan.seconds / 4) + MARGIN * self._writing(trials)
