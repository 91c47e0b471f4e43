"""What a person sees while a policy trains: a panel that redraws, or plain lines in a pipe."""
from __future__ import annotations

import time

from . import ui
from .config import Config
from .runs import Run

PLAIN_EVERY = 2.0               # seconds between two plain lines
REDRAW_EVERY = 0.1
HEADLINE = ("perf", "score", "episode_return", "episode_length")
LOSSES = ("policy", "value", "entropy", "approx_kl", "clipfrac", "explained_variance")
BLOCKS = " ▁▂▃▄▅▆▇█"


class Dashboard:
    """Fed with rows of metrics; draws them to stderr for as long as the context lasts."""

    def __init__(self, run: Run, config: Config):
        self.run, self.config = run, config
        self.total = config.train.total_timesteps
        self.name = run.folder.parent.name
        self.row: dict = {}
        self.env: dict = {}             # the last known value of every env/ key
        self.curve: list[float] = []    # perf (or return) at each epoch that had episodes
        self.drawn = 0.0
        self.began = time.monotonic()
        self.live = None

    def __enter__(self) -> Dashboard:
        if ui.is_interactive():
            from rich.live import Live
            self.live = Live(self.panel(), console=ui.console(stderr=True), auto_refresh=False,
                             transient=False)
            self.live.start()
        else:
            ui.say(f"training {self.name}: {self.total:,} steps, run {self.run.folder.name}")
        return self

    def __exit__(self, kind, *exc) -> None:
        if self.live:
            self.live.update(self.panel(), refresh=True)
            self.live.stop()
        elif self.row:
            self.plain_line()

    def update(self, row: dict) -> None:
        """A new row of metrics."""
        self.row = row
        self.env.update({k.removeprefix("env/"): v for k, v in row.items()
                         if k.startswith("env/")})
        headline = next((name for name in HEADLINE if f"env/{name}" in row), None)
        if headline:
            self.curve.append(row[f"env/{headline}"])

    def tick(self) -> None:
        """Redraw if it is time."""
        now = time.monotonic()
        if self.live and now - self.drawn >= REDRAW_EVERY:
            self.drawn = now
            self.live.update(self.panel(), refresh=True)
        elif not self.live and self.row and now - self.drawn >= PLAIN_EVERY:
            self.drawn = now
            self.plain_line()

    # -- plain ---------------------------------------------------------------

    def plain_line(self) -> None:
        row = self.row
        parts = [f"{row['step'] / self.total:4.0%}", f"{row['step']:,} steps",
                 f"{short(row['sps'])}/s"]
        parts += [f"{name} {self.env[name]:.3f}" for name in HEADLINE if name in self.env]
        if "loss/entropy" in row:
            parts.append(f"entropy {row['loss/entropy']:.3f}")
        ui.say("  ".join(parts))

    # -- panel ---------------------------------------------------------------

    def panel(self):
        from rich.console import Group
        from rich.panel import Panel
        from rich.table import Table
        from rich.text import Text

        width = min(ui.console(stderr=True).width, 96)
        columns = Table.grid(expand=True, padding=(0, 2))
        for _ in range(3):
            columns.add_column(ratio=1)
        columns.add_row(self.table("episodes", self.env_rows()),
                        self.table("losses", self.loss_rows()),
                        self.table("time", self.time_rows(), bars=True))
        body = [self.head(width - 4), Text(""), columns]
        if len(self.curve) > 1:
            headline = next((n for n in HEADLINE if n in self.env), "score")
            body += [Text(""), Text.assemble((f"{headline} ", "dim"),
                                             (sparkline(self.curve, width - 8 - len(headline)),
                                              "cyan"))]
        title = f"[bold]{self.name}[/bold] · run {self.run.folder.name}"
        if self.run.tag:
            title += f" · {self.run.tag}"
        return Panel(Group(*body), title=title, title_align="left", width=width,
                     border_style="blue", padding=(0, 1))

    def head(self, width: int):
        from rich.text import Text

        step, sps = self.row.get("step", 0), self.row.get("sps", 0.0)
        share = min(1.0, step / self.total)
        left = (self.total - step) / sps if sps else 0.0
        right = f" {share:4.0%}  {short(step)} / {short(self.total)} steps"
        facts = f"{short(sps)} steps/s   {clock(self.row.get('seconds', 0.0))} gone"
        facts += f"   {clock(left)} left" if sps else "   starting"
        bar = max(10, width - len(right))
        full = round(bar * share)
        return Text.assemble(("━" * full, "cyan"), ("━" * (bar - full), "grey37"), right,
                             "\n", (facts, "bold"))

    def env_rows(self) -> list[tuple[str, str]]:
        names = [n for n in HEADLINE if n in self.env]
        names += [n for n in self.env if n not in names]
        return [(name, number(self.env[name])) for name in names[:7]] or [("none ended yet", "")]

    def loss_rows(self) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), number(self.row[f"loss/{name}"]))
                for name in LOSSES if f"loss/{name}" in self.row]

    def time_rows(self) -> list[tuple[str, float]]:
        parts = [(name, self.row.get(f"time/{name}", 0.0)) for name in ("env", "forward", "train")]
        total = sum(value for _, value in parts) or 1.0
        return [(name, value / total) for name, value in parts] if self.row else []

    @staticmethod
    def table(title: str, rows: list, bars: bool = False):
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(expand=True, padding=(0, 1))
        table.add_column(no_wrap=True, style="dim")
        table.add_column(justify="right", no_wrap=True)
        table.add_row(Text(title, style="bold not dim"), "")
        for name, value in rows:
            cell = Text.assemble(("▇" * round(12 * value), "cyan"), f" {value:4.0%}") \
                if bars else value
            table.add_row(name, cell)
        return table


def short(value: float) -> str:
    """1234567 -> '1.23M'"""
    for size, letter in ((1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.0f}"


def number(value: float) -> str:
    """A number in at most nine characters."""
    if value == 0 or 0.001 <= abs(value) < 1e5:
        return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{value:.2e}"


def clock(seconds: float) -> str:
    """75 -> '1:15'"""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def sparkline(values: list[float], width: int) -> str:
    """Values as a row of block characters, averaged down to at most `width` of them."""
    width = max(1, min(width, len(values)))
    edges = [len(values) * i // width for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in zip(edges, edges[1:], strict=False)]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(BLOCKS[1 + round((m - low) / span * (len(BLOCKS) - 2))] for m in means)
