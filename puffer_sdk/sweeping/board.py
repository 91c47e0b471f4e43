"""The progress of a sweep.  the store, tick by tick -> a live table; a line a change without a
terminal"""
from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..base import ui
from .results import counts, result_of
from .store import DONE, FAILED, RUNNING, WAITING, Stored
from .sweep_plan import Plan
from .sweep_worker import is_searched, least_cost, measured_front

if TYPE_CHECKING:
    from rich.live import Live
    from rich.panel import Panel

    from .supervisor import Supervisor

PLAIN_EVERY, REDRAW_EVERY = 5.0, 0.5        # seconds, at least, between two lines or pictures
ROWS = 8                # trials of the front and running ones that are shown, each


class Board:
    """Draws to stderr within its `with` block. Call it often with the running sweep."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.live: Live | None = None
        self.drawn = -float("inf")
        self.news: str | None = None        # what was said then

    def __enter__(self) -> Board:
        if ui.is_interactive():
            from rich.live import Live
            self.live = Live("", console=ui.console(stderr=True), auto_refresh=False)
            self.live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.live:
            self.live.stop()

    def __call__(self, sweep: Supervisor, last: bool = False) -> None:
        """last: no later call follows, so changes are printed now."""
        now = self.clock()
        if not last and now - self.drawn < (REDRAW_EVERY if self.live else PLAIN_EVERY):
            return
        plan, trials = sweep.plan, sweep.store.trials()
        if self.live:
            self.drawn = now
            self.live.update(self.panel(sweep, plan, trials), refresh=True)
            return
        if self.news is None:
            ui.say(f"sweep {int(sweep.place.name)} of {plan.env}: {len(plan.rows)} settings, "
                   f"{ui.plural(plan.workers, 'worker')}, {limits(plan)}; {plan.metric} "
                   "against " + plan.cost_unit)
        news = self.line(plan, trials, "ended" if last else phase(trials))
        if news != self.news:
            self.drawn, self.news = now, news
            ui.say(f"{sweep.spent:5.0f} s  {news}")

    def line(self, plan: Plan, trials: list[Stored], doing: str) -> str:
        count = counts(trials)
        top = leader(plan, trials)
        return "  ".join(filter(None, [
            doing, f"{count[DONE]} done",
            f"{count['stopped']} stopped" if count["stopped"] else "",
            f"{count[FAILED]} failed" if count[FAILED] else "",
            f"best {result_of(plan, top)} (trial {top.number})" if top else ""]))

    def panel(self, sweep: Supervisor, plan: Plan, trials: list[Stored]) -> Panel:
        """Best, front, running, failed; time spent and left."""
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        count, top = counts(trials), leader(plan, trials)
        left = f", {max(0.0, plan.seconds - sweep.spent):.0f} s left" if plan.seconds else ""
        head = Text.assemble(
            (phase(trials), "bold"), f"  {count[DONE]} done, {count['stopped']} stopped, "
            f"{count[FAILED]} failed   {sweep.spent:.0f} s spent{left}")
        lines = [head, Text.assemble("best     ", (result_of(plan, top), "bold green"),
                                     f"  trial {top.number}") if top else Text("best     -")]
        table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, expand=True)
        for name in ("trial", "state", plan.metric, plan.cost_unit):
            table.add_column(name, justify="right" if name in (plan.metric, plan.cost_unit)
                             else "left", no_wrap=True, header_style="dim",
                             min_width=max(6, len(name)))
        table.add_column("why", ratio=1, header_style="dim", overflow="fold")
        for trial in measured_front(plan, trials)[-ROWS:]:
            table.add_row(str(trial.number), "front", f"{trial.score:.4g}", f"{trial.cost:.3g}",
                          trial.facts.get("reason", ""))
        for trial in [each for each in trials if each.state == RUNNING][:ROWS]:
            last = trial.facts.get("last")
            table.add_row(str(trial.number), f"{trial.facts.get('share', 0):.0%}",
                          "" if last is None else f"{last:.4g}", "",
                          trial.facts.get("reason", "choosing"))
        failed = [trial for trial in trials if trial.state == FAILED]
        if failed:
            table.add_row(str(failed[-1].number), "failed", "", "", failed[-1].facts["error"])
        return Panel(Group(*lines, Text(), table), title=Text(f"sweep {int(sweep.place.name)} "
                     f"of {plan.env}"), title_align="left", width=min(ui.console(True).width, 110))


def leader(plan: Plan, trials: list[Stored]) -> Stored | None:
    """The highest measured score, or the cheapest way to the goal."""
    if plan.to_goal:
        least = least_cost(trials)
        return next((each for each in trials if each.state == DONE and each.cost == least
                     and each.facts.get("reached")), None)
    found = measured_front(plan, trials)
    return found[-1] if found else None


def phase(trials: list[Stored]) -> str:
    """What the sweep is doing."""
    busy = [each for each in trials if each.state == RUNNING]
    if any("verdict" in each.facts for each in busy):
        judging = [each for each in trials if "verdict" in each.facts]
        ended = sum(each.state not in (RUNNING, WAITING) for each in judging)
        return f"judging, {ended} of {len(judging)} runs"
    if busy and not any(is_searched(each) for each in busy):
        return "repeating"
    return "searching"


def limits(plan: Plan) -> str:
    """'until 600 s', '40 trials' or both."""
    words = [f"until {plan.seconds:g} s"] if plan.seconds else []
    words += [ui.plural(plan.runs, "trial")] if plan.runs else []
    return ", ".join(words) or "until Ctrl-C"

