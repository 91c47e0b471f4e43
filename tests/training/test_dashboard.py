"""The training display: aligned, never too wide, and nothing said twice."""
import io
import math
from dataclasses import replace

import pytest
from rich.console import Console

from puffer_sdk.base import ui
from puffer_sdk.settings import config
from puffer_sdk.training import dashboard, runs
from puffer_sdk.training.dashboard import Dashboard, clock, number, progress, short, sparkline
from puffer_sdk.training.schedules import Planned

ROW = {"step": 512, "epoch": 1, "seconds": 1.5, "sps": 41_620.9, "env/perf": 0.5379,
       "env/score": 3.7656, "env/episode_return": -1234.5, "env/episode_length": 25.25,
       "env/n": 64.0, "env/a_name_that_is_much_too_long_for_its_column": 1e-12,
       "loss/policy": -1.2e-7, "loss/value": 123456.0, "loss/entropy": 0.688,
       "loss/approx_kl": 0.0, "loss/clipfrac": 1.0, "loss/explained_variance": -3.0,
       "time/rollout": 0.5, "time/env": 0.1, "time/forward": 0.4, "time/train": 1.0}


@pytest.fixture
def board(tmp_path):
    settings = config.defaults({"train.total_timesteps": 51_200, "vec.total_agents": 64,
                                "train.horizon": 8, "train.minibatch_size": 256,
                                "train.replay_ratio": 1})
    return Dashboard(runs.create_run(tmp_path / "game", "a tag"), settings, "on the CPU (why)")


def drawn(board, monkeypatch, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None,
                      soft_wrap=True, highlight=False)
    monkeypatch.setattr(ui, "console", lambda stderr=False: console)
    console.print(board.panel())
    return console.file.getvalue().rstrip("\n").split("\n")


def rows_of(count: int):
    for epoch in range(1, count + 1):
        yield {**ROW, "epoch": epoch, "step": 512 * epoch, "env/perf": epoch / 100}


@pytest.mark.parametrize("width", [50, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("epochs", [0, 1, 2, 100])
def test_the_panel_is_a_rectangle_that_fits(width, epochs, board, monkeypatch):
    for row in rows_of(epochs):
        board.update(row)
    lines = drawn(board, monkeypatch, width)
    assert {len(line) for line in lines} == {min(width, dashboard.WIDEST)}
    assert lines[0].startswith("╭─ game · run 0001 · a tag ─") and lines[-1][0] == "╰"
    assert len(lines) == 14         # the same from the first to the last: nothing jumps


def test_what_the_means_leave_out_is_said_in_the_panel_and_in_a_pipe(board, monkeypatch, capsys):
    board.update({**ROW, "train/lacking": 48, "window/age": 3})
    for width in (50, 80):
        lines = drawn(board, monkeypatch, width)
        assert len(lines) == 14 and {len(line) for line in lines} == {width}
        assert "48 of 64 agents have not ended an" in "\n".join(lines)
    assert "episodes that ended" in "\n".join(lines) and "entry is" not in "\n".join(lines)
    board.config = replace(board.config, train=replace(board.config.train, device="cuda"))
    assert board.lacking().startswith("at least 48 of 64 agents")
    board.update({**ROW, "window/age": 1200})
    assert board.lacking() == "the last entry is 1,200 ticks old"
    board.update(ROW)
    assert board.lacking() == ""


def test_metrics_of_the_users_own_are_shown(board, monkeypatch, capsys):
    board.update({**ROW, "novelty": 0.25, "mine/x": 1e-9, "c": 3.0, "d": 4.0})
    board.plain_line()
    assert capsys.readouterr().err.rstrip().endswith("novelty 0.250  mine/x 1.0e-09  c 3.000")
    lines = drawn(board, monkeypatch, 80)
    assert {len(line) for line in lines} == {80}
    assert "novelty 0.250  mine/x 1.0e-09  c 3.000  d 4.000" in "\n".join(lines)


def test_the_panel_holds_what_a_person_wants_to_know(board, monkeypatch):
    for row in rows_of(25):
        board.update(row)
    text = "\n".join(drawn(board, monkeypatch, 80))
    for part in ("25%", "12.8k of 51.2k steps", "41.6k steps/s", "0:01 gone", "0:00 left",
                 "perf", "0.250", "return", "-1,234", "entropy", "0.688", "approx KL", "clipped",
                 "environment", "acting", "learning", "7%", "27%", "67%", "25 of 100",
                 "perf 0.010 ▁"):
        assert part in text, part


def test_a_run_of_one_epoch_is_said_to_be_one(board, monkeypatch):
    board.total = 512
    board.update(ROW)
    assert "1 of 1" in "\n".join(drawn(board, monkeypatch, 80)).split("epoch")[1]


def test_columns_line_up(board, monkeypatch):
    board.update(ROW)
    lines = drawn(board, monkeypatch, 80)
    top = next(i for i, line in enumerate(lines) if "episodes" in line)
    first = [line[2:].split("    ")[0] for line in lines[top + 1:top + 4]]
    ends = {lines[i].index("loss" if i == top else name)
            for i, name in zip(range(top, top + 4), ("losses", "policy", "value", "entropy"))}
    assert len(ends) == 1 and first[0].startswith("perf")


def test_before_the_first_episode_ends(board, monkeypatch):
    board.update({key: value for key, value in ROW.items() if not key.startswith("env/")})
    assert "no episode has ended yet" in "\n".join(drawn(board, monkeypatch, 80))


def test_saving_is_said(board, monkeypatch):
    board.update(ROW)
    board.stopping = True
    assert "saving ..." in "\n".join(drawn(board, monkeypatch, 80))


def test_a_plain_line_is_said_once(board, monkeypatch):
    said = []
    monkeypatch.setattr(ui, "say", said.append)
    monkeypatch.setattr(ui, "is_interactive", lambda: False)
    monkeypatch.setattr(dashboard, "PLAIN_EVERY", 0.0)
    monkeypatch.setattr(Dashboard, "pause", lambda self, now: 0.0)
    with board:
        for row in rows_of(3):
            board.update(row)
            for _ in range(5):
                board.tick()
    assert len(said) == len(set(said)) == 4
    assert said[0] == "training game: 51,200 steps in 100 epochs of 2 updates, 200 in all, " \
        "run 0001, on the CPU (why)"
    assert said[1].split() == ["1%", "512", "steps", "41.6k/s", "perf", "0.010", "score", "3.766",
                               "return", "-1234.500", "length", "25.250", "entropy", "0.688"]
    assert len({line.index("perf") for line in said[1:]}) == 1


def test_plain_lines_come_slower_as_the_run_grows_old(board):
    pauses = [board.pause(board.began + age) for age in (0, 60, 600, 3600, 86400)]
    assert pauses == pytest.approx([2, 2, 20, 60, 60])


def test_numbers():
    assert [progress(x, 3000) for x in (0, 29, 30, 2999, 3000, 3001)] == [0, 0, 1, 99, 100, 100]
    assert [short(x) for x in (0, 7, 999, 999.6, 1000, 12_345, 999_999, 1.234e6, 45.6e9)] == [
        "0", "7", "999", "1.00k", "1.00k", "12.3k", "1.00M", "1.23M", "45.6B"]
    assert [number(x) for x in (0, 0.5, -0.0123, 999.9994, 1234.5, 1e-5, 1e7, math.nan, None)] == [
        "0.000", "0.500", "-0.012", "999.999", "1,234", "1.0e-05", "1.0e+07", "nan", "-"]
    assert all(len(number(sign * 10.0 ** power)) <= 9 for power in range(-30, 30)
               for sign in (1, -1))
    assert [clock(x) for x in (0, 59.9, 61, 3599, 3600, 90061)] == [
        "0:00", "0:59", "1:01", "59:59", "1:00:00", "25:01:01"]


@pytest.mark.parametrize("count", [1, 2, 7, 40, 1000])
def test_the_curve_fills_its_width_and_spans_its_range(count):
    line = sparkline([float(i) for i in range(count)], 40)
    assert len(line) == 40 and list(line) == sorted(line)
    assert line[0] == "▁" and (line[-1] == "█" or count == 1)
    assert sparkline([float(i) - 500 for i in range(count)], 40) == line


def test_the_panel_counts_epochs_and_updates(board, monkeypatch):
    board.update({**ROW, "step": 25_600, "epoch": 50})
    text = "\n".join(drawn(board, monkeypatch, 80))
    assert "epoch   50 of 100 " in text and "updates 100 of 200 " in text


ONCE = {"train.horizon": 64, "train.replay_ratio": 1}


@pytest.mark.parametrize(("given", "text"), [
    ({"vec.total_agents": 512, "train.total_timesteps": 4_000_000, "train.minibatch_size": 4096,
      **ONCE}, "3,997,696 steps in 122 epochs of 8 updates, 976 in all"),
    ({"vec.total_agents": 91, "train.total_timesteps": 40_000, "train.minibatch_size": 4096,
      **ONCE}, "34,944 steps in 6 epochs of 1.422 updates, 8 in all"),
    ({"vec.total_agents": 91, "train.total_timesteps": 40_000, "train.minibatch_size": 4096,
      "train.minibatch_carry": "off", **ONCE}, "34,944 steps in 6 epochs of 1 update, 6 in all"),
    ({"vec.total_agents": 4, "train.total_timesteps": 300, **ONCE, "train.replay_ratio": 0.1},
     "256 steps in 1 epoch of 0.1 updates, 0 in all")])
def test_a_run_says_how_many_updates_it_will_make(given, text):
    assert str(Planned.of(config.defaults(given))) == text
