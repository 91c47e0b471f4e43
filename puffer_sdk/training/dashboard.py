"""The progress of training.  rows of metrics -> a live panel, or plain lines in a pipe"""
from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ..base import ui
from ..settings.values import Config
from . import own_metrics
from .runs import Run
from .schedules import Planned

if TYPE_CHECKING:
    from rich.console import ConsoleRenderable
    from rich.live import Live
    from rich.panel import Panel
    from rich.text import Text

PLAIN_EVERY = 2.0               # seconds between two plain lines; more as the run gets longer
PLAIN_MOST = 60.0
REDRAW_EVERY = 0.1
WIDEST = 100                    # columns of the panel
HEADLINE = ("perf", "score", "episode_return", "episode_length")
LOSSES = ("policy", "value", "entropy", "approx_kl", "clipfrac", "explained_variance")
NAMES = {"episode_return": "return", "episode_length": "length", "n": "ended",
         "approx_kl": "approx KL", "clipfrac": "clipped", "explained_variance": "explained"}
PARTS = {"env": "environment", "forward": "acting", "train": "learning"}    # of an epoch's time
BLOCKS = "▁▂▃▄▅▆▇█"
OWN = 3                         # metrics of the user's own in a plain line
OF_GAMES = {"elo": "elo", "win rate": "win_rate"}       # what a line shows of selfplay/
ROWS = 6                        # below each column's heading


class Dashboard:
    """Draws rows of metrics to stderr while the context lasts."""

    def __init__(self, run: Run, config: Config, where: str = ""):
        """where    the device, and why that one"""
        self.run, self.config, self.where = run, config, where
        self.planned = Planned.of(config)
        self.total = self.planned.steps
        self.name = run.env
        self.row: Mapping[str, float] = {}
        self.env: dict[str, float] = {}     # the window's means of env/ keys; n: of the last epoch
        self.curve: list[float] = []    # perf (or the next of HEADLINE) of each epoch with episodes
        self.stopping = False           # after a signal: the child is saving
        self.began = self.drawn = time.monotonic()
        self.printed: float | None = None   # the epoch of the last plain line
        self.live: Live | None = None
        self.quiet = ExitStack()

    def __enter__(self) -> Dashboard:
        if ui.is_interactive():
            from rich.live import Live
            self.quiet.enter_context(quiet_keys())
            self.live = Live(self.panel(), console=ui.console(stderr=True), auto_refresh=False,
                             transient=False)
            self.live.start()
        else:
            ui.say(f"training {self.name}: {self.planned}, run {self.run.folder.name}"
                   + f", {self.where}" * bool(self.where))
        return self

    def __exit__(self, *exc: object) -> None:
        if self.live:
            self.stopping = False
            self.live.update(self.panel(), refresh=True)
            self.live.stop()
            self.quiet.close()
        elif self.row:
            self.plain_line()

    def update(self, row: Mapping[str, float]) -> None:
        """Take a new row of metrics."""
        self.row = row
        for kind in ("env/", "window/"):
            self.env.update({key.removeprefix(kind): value for key, value in row.items()
                             if key.startswith(kind) and key != "window/n"})
        headline = self.headline()
        if headline and f"env/{headline}" in row and math.isfinite(self.env[headline]):
            self.curve.append(self.env[headline])

    def headline(self) -> str | None:
        """The name of the number that the curve shows: the first of HEADLINE that the env logs."""
        return next((name for name in HEADLINE if name in self.env), None)

    def tick(self) -> None:
        """Redraw if it is time."""
        now = time.monotonic()
        if self.live:
            if now - self.drawn >= REDRAW_EVERY:
                self.drawn = now
                self.live.update(self.panel(), refresh=True)
        elif self.row and (self.printed is None or now - self.drawn >= self.pause(now)):
            self.drawn = now
            self.plain_line()

    def pause(self, now: float) -> float:
        """Seconds between plain lines: more in a long run, so that it does not print thousands."""
        return min(PLAIN_MOST, max(PLAIN_EVERY, (now - self.began) / 30))

    # -- plain ---------------------------------------------------------------

    def plain_line(self) -> None:
        """Print the current row, once."""
        row = self.row
        if row["epoch"] == self.printed:
            return
        self.printed = row["epoch"]
        width = len(f"{self.total:,}")
        parts = [f"{progress(row['step'], self.total):3}%", f"{row['step']:{width},} steps",
                 f"{short(row['sps']):>5}/s"]
        parts += [f"{NAMES.get(name, name)} {self.env[name]:.3f}"
                  for name in HEADLINE if name in self.env]
        if "loss/entropy" in row:
            parts.append(f"entropy {row['loss/entropy']:.3f}")
        ui.say("  ".join([*parts, *self.own()[:OWN]]))
        if self.lacking():
            ui.say(f"      {self.lacking()}")

    # -- panel ---------------------------------------------------------------

    def panel(self) -> Panel:
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        width = min(ui.console(stderr=True).width, WIDEST)
        inside = width - 4
        columns = Table.grid(padding=(0, 4, 0, 0))
        wide = (inside - 8) // 3 if inside >= 66 else (inside - 4) // 2
        cells = [self.column("episodes that ended", self.env_rows(), wide),
                 self.column("losses", self.loss_rows(), wide)]
        if inside >= 66:
            cells.append(self.time_column(inside - 8 - 2 * wide))
        columns.add_row(*cells)
        lacking = Text(self.lacking(), "dim", no_wrap=True, overflow="ellipsis")
        own = [Text("  ".join(self.own()), no_wrap=True, overflow="ellipsis")] * bool(self.own())
        body: list[ConsoleRenderable] = [self.head(inside), Text(""), columns, *own, lacking,
                                         self.curve_line(inside)]
        title = Text.assemble((self.name, "bold"), " · run ", self.run.folder.name,
                              f" · {ui.visible(self.run.tag, line=True)}" if self.run.tag else "")
        return Panel(Group(*body), title=title, title_align="left", width=width,
                     subtitle=Text(self.where, "dim") if self.where else None,
                     subtitle_align="right", border_style="blue", padding=(0, 1))

    def head(self, width: int) -> Text:
        """The progress bar, and below it speed and time."""
        from rich.text import Text

        step, sps = self.row.get("step", 0), self.row.get("sps", 0.0)
        rows = sps / (self.row.get("train/alive") or 1)     # a second, empty ones among them
        share = min(1.0, step / self.total)
        right = f"  {progress(step, self.total):3}%"
        bar = max(10, width - len(right))
        full = round(bar * share)
        gone = self.row.get("seconds", time.monotonic() - self.began)
        if self.stopping:
            last = "saving ..."
        elif not self.row:
            last = "starting ..."
        else:
            left = f"{clock((self.total - step) / rows)} left" if rows else ""
            last = left if share < 1 else "done"
        facts = Text.assemble((f"{short(step)}", "bold"), f" of {short(self.total)} steps    ",
                              (short(sps), "bold"), " steps/s    ", (clock(gone), "bold"),
                              " gone    ", (last, "bold yellow" if self.stopping else "bold"))
        facts.truncate(width)
        return Text.assemble(("━" * full, "cyan"), ("─" * (bar - full), "grey37"), right, "\n",
                             facts)

    def curve_line(self, width: int) -> Text:
        from rich.text import Text

        name = self.headline()
        if name is None or len(self.curve) < 2:
            return Text("no episode has ended yet" if self.row and name is None else "",
                        style="dim")
        label, low, high = NAMES.get(name, name), number(min(self.curve)), number(max(self.curve))
        room = width - len(label) - len(low) - len(high) - 4
        return Text.assemble((f"{label} {low} ", "dim"), (sparkline(self.curve, room), "cyan"),
                             (f" {high}", "dim"))

    def lacking(self) -> str:
        """What the means leave out: agents that have ended no episode, and how old the last entry
        is. "" where there is nothing to say."""
        agents, age = self.row.get("train/lacking", 0), self.row.get("window/age", 0)
        horizon, parts = self.config.train.horizon, []
        if agents:
            least = "at least " * (self.config.train.device == "cuda")
            parts.append(f"{least}{agents:,} of {self.config.vec.total_agents:,} agents have not "
                         "ended an episode yet")
        if age >= horizon:
            parts.append(f"the last entry is {age:,} ticks old")
        return "; ".join(parts)

    def own(self) -> list[str]:
        """Of self-play, then metrics of the user's own: 'novelty 0.300'."""
        of_games = {name: self.row[f"selfplay/{key}"] for name, key in OF_GAMES.items()
                    if f"selfplay/{key}" in self.row}
        return [f"{ui.visible(name, line=True)} {number(value)}"
                for name, value in {**of_games, **own_metrics.of_row(self.row)}.items()]

    def env_rows(self) -> list[tuple[str, str]]:
        names = [n for n in HEADLINE if n in self.env]
        names += [n for n in self.env if n not in names and n != "n"]
        names = names[:ROWS - 1] + ["n"] * ("n" in self.env)
        return [(NAMES.get(n, n), f"{self.env[n]:,.0f}" if n == "n" else number(self.env[n]))
                for n in names]

    def loss_rows(self) -> list[tuple[str, str]]:
        return [(NAMES.get(name, name), number(self.row[f"loss/{name}"]))
                for name in LOSSES if f"loss/{name}" in self.row]

    @staticmethod
    def column(title: str, rows: list[tuple[str, str]], width: int) -> Text:
        """Names left, numbers right. Always ROWS lines, so that the panel keeps its size."""
        from rich.text import Text

        lines = [Text(title, style="bold")]
        for name, value in rows + [("", "")] * (ROWS - len(rows)):
            room = max(1, width - len(value) - 1)
            name = name if len(name) <= room else name[:room - 1] + "…"
            lines.append(Text.assemble((f"{name:<{room}} ", "dim"), value))
        return Text("\n").join(lines)

    def time_column(self, width: int) -> Text:
        """How an epoch spends its time."""
        from rich.text import Text

        seconds = {name: self.row.get(f"time/{name}", 0.0) for name in PARTS}
        total = sum(seconds.values()) or 1.0
        lines = [Text("time", style="bold")]
        for name, value in seconds.items() if self.row else ():
            share = value / total
            room = max(1, width - 17)
            lines.append(Text.assemble((f"{PARTS[name]:<12}", "dim"),
                                       (f"{'█' * round(room * share):<{room}}", "cyan"),
                                       f"{share:5.0%}"))
        if self.row:
            done, plan = self.row["epoch"], self.planned
            lines.append(Text())
            for name, now, last in (
                    ("epoch", done, plan.epochs),
                    ("updates", min(int(done * plan.each), plan.updates), plan.updates)):
                exact = f"{now:,} of {last:,}"
                lines.append(Text.assemble((f"{name:<8}", "dim"), exact if len(exact) + 8 <= width
                                           else f"{short(now)} of {short(last)}"))
        return Text("\n").join(lines)


@contextmanager
def quiet_keys() -> Iterator[None]:
    """Stop the terminal from writing ^C into the panel."""
    import termios

    try:
        fd = sys.stdin.fileno()
        old = termios.tcgetattr(fd)
    except (OSError, ValueError, AttributeError, termios.error):
        yield
        return
    new = [*old[:3], old[3] & ~termios.ECHOCTL, *old[4:]]
    termios.tcsetattr(fd, termios.TCSANOW, new)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, old)


def progress(step: float, total: int) -> int:
    """Percent that are done: 100 once all are."""
    return min(100, int(100 * step // total))


def short(value: float) -> str:
    """1234567 -> '1.23M'"""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            scaled = value / size
            digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
            return f"{scaled:.{digits}f}{letter}"
    return f"{value:.0f}"


def number(value: float | None) -> str:
    """A number in at most nine characters."""
    if value is None or not math.isfinite(value):
        return "-" if value is None else str(value)
    if value == 0 or 0.0005 <= abs(value) < 1e6:
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.1e}"


def clock(seconds: float) -> str:
    """75 -> '1:15'"""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def sparkline(values: list[float], width: int) -> str:
    """Values as a row of block characters, averaged down (or repeated) to fill `width`."""
    width = max(1, width)
    edges = [len(values) * i // width for i in range(width + 1)]
    means = [sum(values[a:max(b, a + 1)]) / max(b - a, 1)
             for a, b in zip(edges, edges[1:], strict=False)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(BLOCKS[round((m - low) / span * (len(BLOCKS) - 1))] for m in means)
