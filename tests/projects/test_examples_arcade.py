"""examples/breakout and examples/pong: their rules, and the numbers in their headers."""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.check_fixtures import build_twice
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.cli import main
from puffer_sdk.env import build
from puffer_sdk.raylib import headers
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers

NAMES = ("breakout", "pong")
EXAMPLES = ROOT / "examples"
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]
STAY, BACK, FORTH = range(3)            # actions: back is left or up, forth is right or down


@pytest.fixture(scope="session")
def arcade(tmp_path_factory) -> dict[str, Path]:
    """Copies of both, so that no build product lands among the examples."""
    root = tmp_path_factory.mktemp("arcade")
    return {name: Path(shutil.copytree(EXAMPLES / name, root / name,
                                       ignore=shutil.ignore_patterns("build")))
            for name in NAMES}


@pytest.fixture(params=NAMES)
def game(request, arcade) -> Path:
    return arcade[request.param]


def prose(folder: Path) -> str:
    """The header's text as one line, without the marks of comments."""
    text = (folder / f"{folder.name}.h").read_text()
    return " ".join(re.sub(r"//|^ \*", "", text, flags=re.M).split())


def defined(folder: Path, name: str) -> float:
    text = (folder / f"{folder.name}.h").read_text()
    return float(re.search(rf"#define {name}\s+([\d.]+)", text)[1])


def play(folder, pilot, steps, *, num_envs=256, seed=1, **settings):
    """The log, and how long the first episode of each env was (0: it did not end)."""
    rng = np.random.default_rng(seed)
    lengths = np.zeros(num_envs, int)
    with puffer_sdk.make(folder, num_envs=num_envs, seed=seed, env_settings=settings) as envs:
        rows = envs.reset()
        for step in range(steps):
            envs.actions[:, 0] = pilot(rng, rows)
            rows, _, terminals, _ = envs.step()
            lengths = np.where((lengths == 0) & (terminals == 1), step + 1, lengths)
        return envs.log(), lengths


def act_randomly(rng, rows):
    return rng.integers(0, 3, len(rows))


def stay(rng, rows):
    return np.full(len(rows), STAY)


# -- both --------------------------------------------------------------------------------

@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("compiler, language", [("gcc", "c11"), ("g++", "c++17")])
def test_header_compiles_without_a_warning(game, compiler, language, device, tmp_path):
    source = tmp_path / ("main.c" if compiler == "gcc" else "main.cc")
    source.write_text(f'#include "{game.name}.h"\nint main(void) {{ return 0; }}\n')
    command = [compiler, f"-std={language}", *STRICT, f"-I{game}", "-fsyntax-only", str(source)]
    command += ["-DPUFFER_DEVICE"] if device else [f"-I{headers.headers()}"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.long
def test_check_finds_nothing(game, capsys, monkeypatch):
    """Short: breakout with all builds, the others with two."""
    if not LONG and game.name != "breakout":
        build_twice(monkeypatch)
    assert main(["check", "--strict", str(game), "--budget", "1" if LONG else "0.1"]) == 0
    said = capsys.readouterr().out
    assert "nothing found" in said
    allowed = re.findall(r"^allowed +(\w+)", said, re.MULTILINE)
    drawn_by_frame = game.name in ("breakout", "pong")      # their programs say why, in one line
    assert allowed == (["PUF107"] if drawn_by_frame else [])


@long_only
def test_standalone_program_plays(game, tmp_path):
    """NAME.c as it stands, with a window that is closed after 500 frames."""
    settings = config.resolve(game).env
    build.build(game, env_settings=settings)
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\nbool stop(void) { static int n; return ++n > 500; }\n")
    program = tmp_path / game.name
    for arguments in (["-c", *STRICT, "-DWindowShouldClose=stop", game / f"{game.name}.c", "-o",
                       tmp_path / "main.o"],
                      [tmp_path / "main.o", stop, headers.null_source(), "-lm", "-o", program]):
        command = [*compilers.find_compiler().command, "-std=gnu11", f"-I{headers.headers()}",
                   f"-I{game}", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")
    assert subprocess.run([program], timeout=60).returncode == 0


def test_settings_are_all_known_and_commented(game):
    ini = game / f"{game.name}.ini"
    settings = config.resolve(game, spec=build.header.read(game))
    assert settings.base.env_name == game.name
    lines = ini.read_text().splitlines()
    assert all(line.startswith(("#", "[")) or not line or re.fullmatch(r"\w+ = [^#;]+", line)
               for line in lines)
    assert settings.vec.total_agents * settings.train.horizon % settings.train.minibatch_size == 0


def test_a_bare_name_reaches_it(game, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert game.name in {folder.name for folder in paths.known_envs()}


# -- breakout ----------------------------------------------------------------------------

PADDLE_X, PADDLE_Y, BALL_X, BALL_Y, BALL_VX, BALL_VY, FIRED, SCORE, BALLS, WIDTH = range(10)
POINTS = np.repeat([7, 7, 4, 4, 1, 1], 18)
PADDLE_TOP = 330 - 8 - 10


def pixels(rows):
    """paddle x, its width, ball x, y, vx, vy: as the game counts, in float64."""
    rows = rows.astype(float)
    return (rows[:, PADDLE_X] * 576, rows[:, WIDTH] * 62, rows[:, BALL_X] * 576,
            rows[:, BALL_Y] * 330, rows[:, BALL_VX] * 448, rows[:, BALL_VY] * 448)


class Catcher:
    """Steers for where the ball will come down, and strikes it elsewhere each time."""

    def __init__(self, num_envs, step=620 * 4 / 60, spread=0.3):
        self.aim, self.step, self.spread = np.zeros(num_envs), step, spread

    def __call__(self, rng, rows):
        paddle_x, width, x, y, vx, vy = pixels(rows)
        way = x + np.where(vy > 0, vx * np.maximum(PADDLE_TOP - 32 - y, 0) / np.maximum(vy, 1), 0)
        lands = 544 - abs(544 - abs(way))               # the walls fold a straight line
        fresh = rng.uniform(-self.spread, self.spread, len(rows))
        self.aim = np.where(vy < 0, fresh, self.aim)
        off = lands + 16 + self.aim * (width + 32) / 2 - (paddle_x + width / 2)
        return np.select([off > self.step / 2, off < -self.step / 2], [FORTH, BACK], STAY)


def test_breakout_begins_in_the_middle(arcade):
    with puffer_sdk.make(arcade["breakout"], num_envs=8, seed=1) as envs:
        assert envs.obs_size == 118 and envs.act_sizes == (3,)
        rows = envs.reset()
        expected = [257 / 576, 312 / 330, 272 / 576, 135 / 330, 0, 0, 0, 0, 1, 1, *[1] * 108]
        assert np.allclose(rows, expected, atol=1e-6)


def test_breakout_fires_anywhere_below(arcade):
    with puffer_sdk.make(arcade["breakout"], num_envs=4000, seed=1) as envs:
        envs.reset()
        envs.actions[:] = STAY
        rows = envs.step()[0]
        *_, x, y, vx, vy = pixels(rows)
        assert (rows[:, FIRED] == 1).all()
        assert np.allclose(np.hypot(vx, vy), 256, atol=1e-2)
        angles = np.arctan2(vx, vy)
        counts, _ = np.histogram(angles, 16, (-0.96, 0.96))
        assert counts.sum() == 4000 and abs(counts - 250).max() < 5 * 250 ** 0.5
        assert np.allclose(x, 272 + vx * 4 / 60, atol=1e-2)     # four frames, in a line
        assert np.allclose(y, 135 + vy * 4 / 60, atol=1e-2)


def test_breakout_paddle_moves_and_stops_at_the_walls(arcade):
    with puffer_sdk.make(arcade["breakout"], num_envs=3, seed=1) as envs:
        envs.reset()
        envs.actions[:, 0] = (STAY, BACK, FORTH)
        for tick in range(1, 9):
            way = min(tick * 620 * 4 / 60, 257)
            paddle_x = pixels(envs.step()[0])[0]
            assert np.allclose(paddle_x, (257, 257 - way, 257 + way), atol=1e-2)


def test_breakout_ends_with_the_fifth_ball(arcade):
    """A ball that is lost ends its tick, and the next one waits in the middle."""
    with puffer_sdk.make(arcade["breakout"], num_envs=64, seed=2) as envs:
        first = envs.reset().copy()
        envs.actions[:] = BACK
        lost, lengths, ticks = np.zeros(64, int), [], np.zeros(64, int)
        for _ in range(200):
            before = envs.observations.copy()
            rows, rewards, terminals, truncations = envs.step()
            ticks += 1
            for i in np.flatnonzero(rows[:, FIRED] == 0):
                lost[i] += 1
                assert before[i, BALL_Y] > (PADDLE_TOP - 32) / 330
                assert terminals[i] == (lost[i] == 5)
                assert rows[i, BALLS] == pytest.approx(1 - lost[i] % 5 / 5)
                assert np.allclose(np.delete(rows[i, :10], [SCORE, BALLS]),
                                   np.delete(first[i, :10], [SCORE, BALLS]))
                if lost[i] == 5:
                    assert (rows[i] == first[i]).all()
                    lengths.append(ticks[i])
                    lost[i] = ticks[i] = 0
            assert (terminals <= (rows[:, FIRED] == 0)).all()
        log = envs.log()
    assert not truncations.any() and log["n"] == len(lengths) > 64
    assert log["episode_length"] == pytest.approx(np.mean(lengths))


@pytest.fixture(scope="module")
def film(arcade):
    """Twenty games, frame by frame and without an ending: (frames, games, elements), rewards."""
    pilot, rng = Catcher(20, step=620 / 60, spread=0.6), np.random.default_rng(3)
    with puffer_sdk.make(arcade["breakout"], num_envs=20, seed=3,
                         env_settings={"frameskip": 1}) as envs:
        rows, told = [envs.reset().copy()], []
        for _ in range(5000):
            envs.actions[:, 0] = pilot(rng, rows[-1])
            seen, rewards, terminals, _ = envs.step()
            rows.append(seen.copy())
            told.append((rewards.copy(), terminals.copy()))
    rows = np.array(rows)
    rewards, terminals = np.array(told).transpose(1, 0, 2)
    assert not terminals.any()
    return rows, rewards


def test_breakout_pays_what_it_breaks(film):
    rows, rewards = film
    bricks = rows[:, :, 10:]
    assert np.isin(bricks, (0, 1)).all()
    broken = bricks[:-1] - bricks[1:]
    assert broken.min() == 0 and broken.sum(2).max() == 1       # one contact a frame
    assert (rewards == broken.sum(2)).all() and rewards.sum() > 1500
    score = rows[:, :, SCORE].astype(float) * 864
    assert np.allclose(np.diff(score, axis=0), broken @ POINTS, atol=1e-3)
    assert all((broken @ (points == POINTS)).any() for points in (1, 4, 7))


def test_breakout_ball_never_enters_bricks_or_walls(film):
    rows, _ = film
    x, y = rows[:, :, BALL_X] * 576, rows[:, :, BALL_Y] * 330
    assert x.min() >= 0 and x.max() <= 544.001 and y.min() >= 0
    left, top = np.tile(np.arange(18) * 32, 6), 50 + np.repeat(np.arange(6) * 12, 18)
    inside_x = np.minimum(left + 32, x[:, :, None] + 32) - np.maximum(left, x[:, :, None])
    inside_y = np.minimum(top + 12, y[:, :, None] + 32) - np.maximum(top, y[:, :, None])
    overlap = np.minimum(inside_x, inside_y) * rows[:, :, 10:]
    assert overlap.max() < 1e-3


def test_breakout_returns_as_the_ball_strikes(film):
    """The place decides the angle; every fourth return, and the upper rows, the speed."""
    rows, _ = film
    ceilings = steep = 0
    for game in range(12):
        hits, speed = 0, 256.0
        paddle_x, width, x, y, vx, vy = pixels(rows[:, game])
        bricks = rows[:, game, 10:].reshape(-1, 6, 18)
        for t in range(1, len(rows)):
            if rows[t, game, FIRED] == 0:
                hits, speed = 0, 256.0
                assert width[t] == 62
                continue
            if (bricks[t - 1, :3] != bricks[t, :3]).any():
                speed = 448.0
            if y[t] < 1e-4 and vy[t] > 0:               # at the ceiling: half a paddle, about
                ceilings += width[t - 1] == 62          # the same middle
                assert width[t] == 31
                moved = paddle_x[t] + 15.5 - paddle_x[t - 1] - width[t - 1] / 2
                assert abs(moved) <= 620 / 60 + 1e-2 or paddle_x[t] in (0, 545)
            elif rows[t - 1, game, FIRED]:
                assert width[t] == width[t - 1]
            if vy[t - 1] > 0 > vy[t] and y[t] > 200:
                hits += 1
                speed = min(speed + 64 * (hits % 4 == 0), 448)
                aim = (x[t] + 16 - paddle_x[t] - width[t] / 2) / ((width[t] + 32) / 2)
                steep += abs(aim) > 0.5
                assert y[t] == pytest.approx(PADDLE_TOP - 32, abs=1e-3)
                assert vx[t] == pytest.approx(speed * np.sin(1.05 * aim), abs=0.05)
                assert vy[t] == pytest.approx(-speed * np.cos(1.05 * aim), abs=0.05)
            elif rows[t - 1, game, FIRED]:
                assert abs(vx[t]) == pytest.approx(abs(vx[t - 1]), abs=1e-3)
                assert abs(vy[t]) == pytest.approx(abs(vy[t - 1]), abs=1e-3)
    assert min(ceilings, steep) > 5


def test_breakout_is_fastest_after_a_brick_of_the_upper_rows(arcade):
    pilot, rng = Catcher(64, step=620 / 60), np.random.default_rng(5)
    seen = {256: 0, 448: 0}
    with puffer_sdk.make(arcade["breakout"], num_envs=64, seed=5,
                         env_settings={"frameskip": 1, "brick_rows": 3}) as envs:
        rows = envs.reset()
        for _ in range(240):                        # two returns, of one ball
            envs.actions[:, 0] = pilot(rng, rows)
            before, rows = rows.copy(), envs.step()[0]
            broken = (before[:, 10:] == 0).any(1)
            returned = (before[:, BALL_VY] > 0) & (rows[:, BALL_VY] < 0) & (rows[:, BALL_Y] > 0.5)
            for i in np.flatnonzero(returned):
                speed = 448 if broken[i] else 256
                assert np.hypot(*rows[i, [BALL_VX, BALL_VY]] * 448) == pytest.approx(speed, 1e-4)
                seen[speed] += 1
    assert min(seen.values()) > 20, seen


def test_breakout_has_two_walls_and_864_points(arcade):
    """And the pilot breaks all of both, in every game."""
    pilot, rng = Catcher(32), np.random.default_rng(1)
    with puffer_sdk.make(arcade["breakout"], num_envs=32, seed=1) as envs:
        rows = envs.reset()
        second, ended = np.zeros(32, int), np.zeros(32, int)
        for step in range(12_000):
            before = rows.copy()
            envs.actions[:, 0] = pilot(rng, rows)
            rows, rewards, terminals, _ = envs.step()
            playing = (ended == 0) & (terminals == 0)
            built = playing & (rows[:, 10:].sum(1) > before[:, 10:].sum(1))
            assert np.allclose(before[built, SCORE], 0.5)       # when the first wall is gone,
            assert (before[built, 10:] == 0).all()
            assert (rows[built, BALL_VY] < 0).all()             # and the ball comes back
            second += built
            won = (ended == 0) & (terminals == 1)
            assert np.allclose(before[won, 10:].sum(1), rewards[won])       # the last bricks
            assert (rows[won, 10:] == 1).all() and (rows[won, SCORE] == 0).all()
            ended = np.where(won, step + 1, ended)
            if ended.all():
                break
        assert (second == 1).all() and ended.all()
        log = envs.log()
    assert (log["perf"], log["score"], log["episode_return"]) == (1, 864, 216)
    claimed = float(re.search(r"come down 864, in (\d+) ticks", prose(arcade["breakout"]))[1])
    assert ended.mean() == pytest.approx(claimed, rel=0.05)
    assert f"the best score there is, and {800} counts as solved" in prose(arcade["breakout"])
    assert 4 <= defined(arcade["breakout"], "MAX_TICKS") / ended.mean() < 5


def test_breakout_numbers_in_the_header(arcade):
    folder = arcade["breakout"]
    dice, idle = map(float, re.search(
        r"at random scores ([\d.]+) of 864, staying put ([\d.]+),", prose(folder)).groups())
    assert play(folder, act_randomly, 2000)[0]["score"] == pytest.approx(dice, rel=0.08)
    assert play(folder, stay, 2000)[0]["score"] == pytest.approx(idle, rel=0.08)


def test_breakout_sizes_follow_the_settings(arcade):
    with puffer_sdk.make(arcade["breakout"], num_envs=1, seed=1,
                         env_settings={"brick_rows": 8, "brick_cols": 3}) as envs:
        assert envs.obs_size == 34 and (envs.reset()[0, 10:] == 1).all()


def test_breakout_stops_a_ball_that_flies_for_ever(arcade):
    """A paddle that is everywhere, and bricks beyond the wall, which nothing can reach."""
    limit = int(defined(arcade["breakout"], "MAX_TICKS"))
    with puffer_sdk.make(arcade["breakout"], num_envs=1, seed=1,
                         env_settings={"paddle_width": 1200, "brick_cols": 19}) as envs:
        envs.reset()
        envs.actions[:] = STAY
        for _ in range(limit - 1):
            assert not envs.step()[2][0]
        _, _, terminals, truncations = envs.step()
        assert terminals[0] == truncations[0] == 1
        assert not envs.step()[3][0]
        assert envs.log()["episode_length"] == limit


# -- pong --------------------------------------------------------------------------------

OPPONENT_Y, AGENT_Y = 0, 1
TABLE = np.array([640, 640, 500, 640, 10, 13, 21, 21], float)      # what scales each element
BOTTOM = 640 - 32


class PongModel:
    """One table, frame by frame. What dice decide, the serve, is taken from a row."""

    def __init__(self, row):
        self.opponent, self.agent, self.x, self.y, self.vx, self.vy, self.lost, self.won = (
            row.astype(float) * TABLE)              # paddles by their middles

    def row(self):
        return np.array([self.opponent, self.agent, self.x, self.y, self.vx, self.vy,
                         self.lost, self.won]) / TABLE

    def frame(self, way):
        self.opponent += np.clip(self.y + 16 - self.opponent, -8, 8)
        self.agent = np.clip(self.agent + 8 * way, 0, 640)
        self.opponent = np.clip(self.opponent, 0, 640)
        self.x += self.vx
        self.y += self.vy
        if not 0 <= self.y <= BOTTOM:
            self.y = abs(self.y) if self.y < 0 else 2 * BOTTOM - self.y
            self.vy = -self.vy
        if self.x < 0:
            self.x, self.vx = 0, 10
            return 0 if abs(self.y + 16 - self.opponent) < 51 else 1
        if self.x > 468:
            self.x, self.vx = 468, -10
            if abs(self.y + 16 - self.agent) >= 51:
                return -1
            self.vy = np.clip(self.vy + 3 * way, -13, 13)
            if abs(self.vy) < 0.01:
                self.vy = 3
        return 0

    def step(self, action):
        for _ in range(8):
            point = self.frame({STAY: 0, BACK: -1, FORTH: 1}[action])
            if point:
                break
        self.won += point > 0
        self.lost += point < 0
        return point


def slice_every_ball(rng, rows):
    """Be there in time, and then strike in the way that the ball goes already."""
    rows = rows.astype(float) * TABLE
    agent, x, y, vx, vy = rows[:, 1:6].T
    out = np.where(vx > 0, 0, np.floor(x / 10 + 1e-4) + 1)      # frames until the opponent
    frames = out + np.floor((468 - np.where(vx > 0, x, 0)) / 10 + 1e-4) + 1
    way = (y + vy * frames) % (2 * BOTTOM)                      # the walls fold a straight line
    lands, steep = BOTTOM - abs(BOTTOM - way) + 16, np.where(way < BOTTOM, vy, -vy)
    turn = np.where(steep >= 0, 1, -1)
    start = lands - turn * 8 * ((frames - 1) % 8 + 1)           # where the last tick begins

    def reaches(go):
        return abs(np.clip(agent + go * 8 * frames, 0, 640) - lands) < 50

    strike = np.select([reaches(turn), reaches(0)], [turn, 0], -turn)
    run = np.sign(start - agent) * (abs(start - agent) > 32)
    go = np.where((vx > 0) & (frames <= 8), strike, run)
    return np.select([go > 0, go < 0], [FORTH, BACK], STAY)


def follow(rng, rows):
    off = rows[:, 3] * 640 + 16 - rows[:, AGENT_Y] * 640
    return np.select([off > 32, off < -32], [FORTH, BACK], rng.integers(0, 3, len(rows)))


def test_pong_plays_by_its_rules(arcade):
    """Each table plays another way: at random, following the ball, or slicing it."""
    rng = np.random.default_rng(1)
    ends, points, perf, score = [], {-1: 0, 1: 0}, [], []
    with puffer_sdk.make(arcade["pong"], num_envs=12, seed=4) as envs:
        assert envs.obs_size == 8 and envs.act_sizes == (3,)
        rows = envs.reset()
        models = [PongModel(row) for row in rows]
        for tick in range(1100):
            actions = np.concatenate([pilot(rng, rows[at]) for pilot, at in (
                (act_randomly, slice(0, 4)), (follow, slice(4, 8)),
                (slice_every_ball, slice(8, 12)))])
            envs.actions[:, 0] = actions
            rows, rewards, terminals, truncations = envs.step()
            for i, model in enumerate(models):
                point = model.step(int(actions[i]))
                assert rewards[i] == point, (tick, i)
                assert terminals[i] == (21 in (model.won, model.lost)), (tick, i)
                if terminals[i]:
                    ends.append(i // 4)
                    perf.append(model.won / (model.won + model.lost))
                    score.append(model.won - model.lost)
                    model.won = model.lost = 0
                if point:
                    points[point] += 1
                    served = PongModel(rows[i])     # paddles in the middle, towards the agent
                    assert np.allclose(rows[i, [0, 1, 2, 4]], [0.5, 0.5, 0.2, 1])
                    assert abs(served.vy) == pytest.approx(3, abs=1e-5)
                    model.opponent = model.agent = 320
                    model.x, model.y, model.vx, model.vy = (
                        served.x, served.y, served.vx, served.vy)
                assert np.allclose(rows[i], model.row(), atol=2e-5), (tick, i)
                model.y = PongModel(rows[i]).y      # float32 drifts from float64
        log = envs.log()
    assert not truncations.any() and set(ends) == {0, 1, 2} and min(points.values()) > 80
    assert log["n"] == len(ends)
    assert log["perf"] == pytest.approx(np.mean(perf))
    assert log["score"] == log["episode_return"] == pytest.approx(np.mean(score))


def test_pong_serves_anywhere_up_and_down(arcade):
    with puffer_sdk.make(arcade["pong"], num_envs=4000, seed=1) as envs:
        rows = envs.reset()
    counts, _ = np.histogram(rows[:, 3] * 640, 16, (0, BOTTOM))
    assert counts.sum() == 4000 and abs(counts - 250).max() < 5 * 250 ** 0.5
    assert abs((rows[:, 5] > 0).mean() - 0.5) < 0.04


def test_pong_paddle_stops_with_its_middle_on_the_edge(arcade):
    with puffer_sdk.make(arcade["pong"], num_envs=3, seed=1) as envs:
        envs.reset()
        envs.actions[:, 0] = (STAY, BACK, FORTH)
        for tick in range(1, 5):                    # the ball arrives in the fifth
            agent_y = envs.step()[0][:, AGENT_Y] * 640
            assert np.allclose(agent_y, (320, 320 - 64 * tick, 320 + 64 * tick), atol=1e-3)
    with puffer_sdk.make(arcade["pong"], num_envs=2, seed=1,
                         env_settings={"paddle_speed": 100}) as envs:
        envs.reset()
        envs.actions[:, 0] = (BACK, FORTH)
        assert np.allclose(envs.step()[0][:, AGENT_Y], (0, 1))


def test_pong_stops_endless_rallies(arcade):
    """With paddles as high as the table nobody ever misses."""
    limit = int(defined(arcade["pong"], "MAX_TICKS"))
    with puffer_sdk.make(arcade["pong"], num_envs=1, seed=1,
                         env_settings={"paddle_height": 1300}) as envs:
        envs.reset()
        envs.actions[:] = STAY
        for _ in range(limit - 1):
            assert not envs.step()[2][0]
        _, rewards, terminals, truncations = envs.step()
        assert (rewards[0], terminals[0], truncations[0]) == (0, 1, 1)
        assert not envs.step()[3][0]
        log = envs.log()
    assert (log["episode_length"], log["score"], log["perf"]) == (limit, 0, 0)


def test_pong_numbers_in_the_header(arcade):
    folder = arcade["pong"]
    dice, idle, pilot, ticks, odds = map(float, re.search(
        r"at random scores (-[\d.]+), staying put (-[\d.]+), and a pilot that slices every ball "
        r"([\d.]+), in (\d+) ticks; of the points, random play wins 1 in (\d+)",
        prose(folder)).groups())
    at_random, _ = play(folder, act_randomly, 4000, num_envs=1000)
    assert at_random["score"] == pytest.approx(dice, abs=0.05)
    assert at_random["perf"] == pytest.approx(1 / odds, rel=0.3)
    assert play(folder, act_randomly, 4000, ball_initial_speed_y=1)[0]["perf"] < 1 / odds / 5
    assert play(folder, stay, 1000)[0]["score"] == pytest.approx(idle, abs=0.05)
    log, lengths = play(folder, slice_every_ball, 1600)
    assert log["score"] == pilot == 21 and lengths.all()
    assert lengths.mean() == pytest.approx(ticks, rel=0.03)
    assert "20 counts as solved" in prose(folder)
    assert 6 <= defined(folder, "MAX_TICKS") / lengths.mean() < 7
