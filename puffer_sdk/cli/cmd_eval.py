"""`puffer-sdk eval`: parse, play, print the table, record."""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..base import files, paths, ui
from ..base.errors import UsageError
from ..interop.python_envs.makers import is_name
from .options import (
    Decorated,
    env_argument,
    format_option,
    model_option,
    runs_dir_option,
    takes_settings,
    trust_option,
    verbose_option,
)
from .pages import Page

if TYPE_CHECKING:
    from ..pictures.record import Options, Recording
    from ..pictures.recorded import EvalDocument
    from ..policy.evaluate import Evaluation


def recording_options(command: Decorated) -> Decorated:
    """--gif and its companions: the fields of record.Options, by name."""
    file = click.Path(path_type=Path)
    for option in reversed([
        click.option("--gif", type=file, metavar="FILE", help="Record the policy as a GIF."),
        click.option("--mp4", type=file, metavar="FILE", help="Record the policy as an MP4 video."),
        click.option("--frames", type=file, metavar="DIR",
                     help="Record the policy as DIR/frame_000000.png and so on."),
        click.option("--record-episodes", "episodes", type=int, metavar="N",
                     help="Episodes to record; --eval.episodes sets how many are measured.  "
                          "[default: as many as fill 5 seconds]"),
        click.option("--episodes", "old_episodes", type=int, hidden=True,
                     help="The old name of --record-episodes."),
        click.option("--ticks", type=int, metavar="N", help="Maximum number of ticks to record.  "
                     "[default: 30 seconds; 10 if episodes do not end]"),
        click.option("--fps", type=float, metavar="F", help="Frames per second.  [default: the "
                     "environment's own rate, or 30]"),
        click.option("--env-index", type=int, default=0, metavar="N", show_default=True,
                     help="Index of the env to record."),
        click.option("--grid", default="1x1", metavar="RxC", show_default=True,
                     help="Record R rows and C columns of envs in one picture."),
        click.option("--width", type=int, metavar="PIXELS", help="Width of the recording.  "
                     "[default: the window's; above 1280 it is scaled down]"),
        click.option("--force", is_flag=True,
                     help="Allow --frames to write into a folder with other files.")]):
        command = option(command)
    return command


@click.command(cls=Page, examples=[
    ("puffer-sdk eval my_env", "compare the newest policy with random and idle play"),
    ("puffer-sdk eval my_env --gif my_env.gif", "also record a GIF"),
    ("puffer-sdk eval my_env --baselines", "score only random and idle play")],
    groups={"Recording": ["gif", "mp4", "frames", "episodes", "ticks", "fps", "env_index", "grid",
                          "beside", "width", "force"]},
    statuses={0: "done; the goal, if the ini has one, is met", 1: "the goal is not met",
              2: "invalid option, setting or checkpoint", 3: "it does not compile",
              4: "the environment died or hung, or a file cannot be written"})
@env_argument
@takes_settings
@model_option
@click.option("--baselines", is_flag=True,
              help="Evaluate only random and idle play, without a policy.")
@click.option("--greedy", is_flag=True, help="Take the most likely action instead of sampling.")
@click.option("--opponent", metavar="WHO", help="Who plays the other teams: random, idle, "
              "bot:LEVEL, a run or weights; self: each policy plays all agents.  [default: random "
              "where there are teams]")
@click.option("--as-trained", is_flag=True, help="Play the run's copies of the code, with the "
              "run's settings, rather than the code of today.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path),
              help="Output file for the episodes.  [default: episodes.json in the run's folder]")
@recording_options
@click.option("--beside", type=click.Choice(["random", "idle"]),
              help="Also record this baseline, on the right.")
@runs_dir_option
@format_option
@trust_option
@verbose_option
def command(env: str | None, settings: dict[str, str], model: str | None, baselines: bool,
            greedy: bool, opponent: str | None, as_trained: bool, output: Path | None,
            ini: Path | None, runs_dir: Path | None, format_: str, verbose: bool,
            **recording: Any) -> None:
    """Compare a policy of ENV with random and idle play, and record it.

    Envs start from fixed seeds ([eval] seed), so results are comparable. The table shows the
    environment's log, each entry once. If episodes do not end, play lasts [eval] steps ticks. The
    exit status is 1 if the ini has a goal that is not met.

    Where an environment has teams, each policy plays half of the games in either seat, against
    random play or --opponent.

    A recording (--gif, --mp4, --frames) shows the same envs, seeds and actions as the table. It
    needs no display: frames are rendered in memory.
    """
    from ..policy.evaluate import evaluate
    from ..scoring.words import warn_of_perf

    model = None if baselines else model
    shot, film = read_shot(recording), None
    if shot and as_trained:
        raise UsageError("--as-trained measures; recordings show the code of today",
                         where="command line", expected="one of them", actual="both")
    bar = ui.Progress()
    with bar:
        if shot and not is_name(env):       # what it draws with, before anything is played
            from ..raylib.drawing import shared
            shared("headless", on_progress=bar.update, verbose=verbose)
        result = evaluate(env, settings, model=model, output=output, ini=ini, runs_dir=runs_dir,
                          greedy=greedy, as_trained=as_trained, opponent=opponent,
                          on_progress=bar.update, verbose=verbose)
    if format_ == "text":
        print_result(result)
    warn_of_perf({name: score.mean for name, score in result.scores.items()})
    if shot:
        from ..pictures.record import record_options
        with ui.Progress() as bar:
            film = record_options(shot, env, settings, model=model, greedy=greedy,
                                  opponent=opponent, ini=ini, runs_dir=runs_dir,
                                  on_progress=bar.update, verbose=verbose)
        print_recording(film, shot, text=format_ == "text")
    if format_ == "json":
        document = cast("EvalDocument", result.to_dict())
        if film:
            document["recording"] = film.to_dict()
        ui.out(json.dumps(document))
    raise SystemExit(int(result.solved is False))


def read_shot(recording: Mapping[str, Any]) -> Options | None:
    """The recording's Options; None without a recording. Raises UsageError."""
    recording = dict(recording)
    old = recording.pop("old_episodes")
    if old is not None and recording["episodes"] is not None:
        raise UsageError("--episodes is the old name of --record-episodes", where="command line",
                         expected="one of them", actual="both")
    recording["episodes"] = old if old is not None else recording["episodes"]
    if not (recording["gif"] or recording["mp4"] or recording["frames"]):
        given = [(name, value) for name, value in recording.items()
                 if value not in (None, False) and (name, value) not in (("env_index", 0),
                                                                         ("grid", "1x1"))]
        if given:
            raise _without_a_recording(*given[0], renamed=old is not None)
        return None
    from ..pictures.record import Options, parse_grid

    typed = {name: files.typed(recording[name]) if recording[name] else None
             for name in ("gif", "mp4", "frames")}
    shot = Options(**{**recording, **typed, "grid": parse_grid(recording["grid"])})
    shot.check()
    return shot


def _without_a_recording(name: str, value: object, renamed: bool) -> UsageError:
    """For an option of recordings that may be meant for the evaluation."""
    files = "--gif out.gif, --mp4 out.mp4 or --frames DIR"
    option = f"--{name.replace('_', '-')}"
    if name == "episodes":
        option = "--episodes, now --record-episodes," if renamed else "--record-episodes"
    measured = {"episodes": (f"--eval.episodes {value}", "episodes that are measured"),
                "ticks": (f"--eval.steps {value}", "ticks that are measured, where no episode "
                                                   "ends")}
    if name not in measured:
        return UsageError(f"{option} requires a recording", where="command line", hint=files)
    other, what = measured[name]
    return UsageError(f"{option} sets the number of recorded {name}",
                      where="command line", expected=files, actual="no recording",
                      hint=f"{other} sets the number of {what}")


def print_result(result: Evaluation) -> None:
    """The table, and where the episodes are."""
    from ..scoring.games import MEASURES
    from ..scoring.words import ZERO_SUM

    print_table(result)
    if result.weights:
        ui.out(f"weights   {result.weights}")
    for each in result.worlds:
        ui.out(f"worlds    {each}")
    if result.path:
        ui.out(f"episodes  {paths.shown(result.path)}")
    if result.goal and "trained" in result.scores:
        said = "met" if result.solved else "not met"
        if not result.measured and result.opponent:
            said += f": games have {', '.join(MEASURES)}"
        elif not result.measured:
            said += f": the environment logged no {result.goal.name} during this evaluation"
        ui.out(f"goal      {result.goal}: {said}")
        if result.measured and not result.solved:
            ui.out(f"to read   {paths.page('tutorials/debugging.md')}")
    trained = result.scores.get("trained")
    if result.registered and trained:
        mean = trained.mean.get(result.registered.name)
        met = mean is not None and result.registered.is_met(mean)
        ui.out(f"goal      {result.registered}, as Gymnasium registers: {'not ' * (not met)}met")
    if trained and trained.zero_sum and not trained.opponent:
        ui.out(f"note      {ZERO_SUM}")


def print_recording(film: Recording, shot: Options, *, text: bool) -> None:
    """One line per file, and a sentence for each episode that the recording cuts off."""
    for path in film.paths if text else ():
        size = f", {size_of(path)}" if path.is_file() else ""
        speed = f"{film.seconds:.1f} s at {film.fps:g} fps" if path.is_file() else "PNG"
        ui.out(f"recorded  {paths.shown(path)}: {film.width} x {film.height}, {film.frames:,} "
               f"frames, {speed}{size}")
    for policy in film.unfinished if shot.ticks is None else ():
        ui.say(f"the recording ends after {film.ticks[policy]:,} ticks, within an episode of "
               f"{policy} play; --ticks N records more")


def size_of(path: Path) -> str:
    """'84 KB'"""
    size = path.stat().st_size
    return f"{size / 1000:,.0f} KB" if size < 1_000_000 else f"{size / 1e6:,.1f} MB"


def print_table(result: Evaluation) -> None:
    """One column per policy, one row per measure: the mean ± half of its 95 % interval."""
    from rich.table import Table

    from ..scoring.score import ENDLESS, RATES
    from ..scoring.words import cell

    scores = list(result.scores.values())
    names = list(dict.fromkeys(name for score in scores for name in score.mean))
    names.sort(key=lambda name: name in RATES)
    endless = bool(scores) and all(score.unit == ENDLESS for score in scores)
    unit = "per game" if result.opponent else "per episode"
    against = f", against {result.opponent}" if result.opponent else ""
    table = Table(title=f"{result.env}, {ENDLESS if endless else unit}{against}",
                  title_justify="left", box=None, title_style="bold", header_style="dim",
                  padding=(0, 0, 0, 4), pad_edge=False)
    table.add_column("", no_wrap=True)
    for score in scores:
        table.add_column(score.policy, justify="right", no_wrap=True,
                         style="bold cyan" if score.policy == "trained" else None)
    for name in names:
        table.add_row(name.replace("_", " "), *(cell(score, name) for score in scores))
    table.add_row("games" if result.opponent else "log entries" if endless else "episodes",
                  *(f"{score.count:,}" for score in scores), style="dim")
    if not endless and any(score.unfinished for score in scores):
        table.add_row("unfinished", *(f"{score.unfinished:,}" for score in scores), style="dim")
    ui.out_renderable(table)
    for score in scores if not endless else ():
        if score.unfinished:
            agents = ui.plural(score.unfinished, "agent")
            ui.warn(f"{score.policy} play: {agents} did not finish all episodes in {score.ticks:,} "
                    "ticks; the means exclude unfinished episodes",
                    hint="compare values per 1000 ticks, or raise --eval.steps")
    if scores and all(half is None for score in scores for half in score.interval.values()):
        ui.say("no ± intervals: agents of one env are not independent; raise --vec.total-agents to "
               "evaluate several envs")
