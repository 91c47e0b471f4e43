"""examples/breakout: its rules, and the numbers in its header."""
from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import puffer_sdk
from puffer_sdk import building, config, paths, raylib, toolchain

NAMES = ("breakout",)
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]
STAY, BACK, FORTH = range(3)            # actions


@pytest.fixture(scope="session")
def arcade(tmp_path_factory) -> dict[str, Path]:
    """Copies, so that no build product lands among the examples."""
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


# -- all ---------------------------------------------------------------------------------

@pytest.mark.parametrize("device", [False, True])
@pytest.mark.parametrize("compiler, language", [("gcc", "c11"), ("g++", "c++17")])
def test_header_compiles_without_a_warning(game, compiler, language, device, tmp_path):
    source = tmp_path / ("main.c" if compiler == "gcc" else "main.cc")
    source.write_text(f'#include "{game.name}.h"\nint main(void) {{ return 0; }}\n')
    command = [compiler, f"-std={language}", *STRICT, f"-I{game}", "-fsyntax-only", str(source)]
    command += ["-DPUFFER_DEVICE"] if device else [f"-I{raylib.headers()}"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


def test_check_finds_nothing(game):
    command = [sys.executable, "-m", "puffer_sdk", "check", "--strict", str(game)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "nothing found" in result.stdout + result.stderr
    assert "allow" not in result.stdout + result.stderr


def test_standalone_program_plays(game, tmp_path):
    """NAME.c as it stands, with a window that is closed after 500 frames."""
    settings = config.resolve(game).env
    building.build(game, env_settings=settings)
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\nbool stop(void) { static int n; return ++n > 500; }\n")
    program = tmp_path / game.name
    for arguments in (["-c", *STRICT, "-DWindowShouldClose=stop", game / f"{game.name}.c", "-o",
                       tmp_path / "main.o"],
                      [tmp_path / "main.o", stop, raylib.null_source(), "-lm", "-o", program]):
        command = [*toolchain.find_compiler().command, "-std=gnu11", f"-I{raylib.headers()}",
                   f"-I{game}", *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")
    assert subprocess.run([program], timeout=60).returncode == 0


def test_settings_are_all_known_and_commented(game):
    ini = game / f"{game.name}.ini"
    settings = config.resolve(game, spec=building.header.read(game))
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
