"""examples/cartpole, pendulum and snake: their rules at the edges, their numbers, their pilots."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from helpers.check_fixtures import build_twice
from helpers.places import ROOT
from helpers.short_or_long import LONG, long_only, some_or_all

from puffer_sdk.base import paths
from puffer_sdk.cli import main
from puffer_sdk.env import build, open_env
from puffer_sdk.raylib import headers
from puffer_sdk.settings import config
from puffer_sdk.toolchain import compilers

NAMES = ("cartpole", "pendulum", "snake")
CHILD = {**os.environ, "PYTHONPATH": str(ROOT)}         # finds this puffer_sdk from any folder
STRICT = ["-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror"]


@pytest.fixture(scope="session")
def control(tmp_path_factory):
    """The games, copied, so that nothing is built among the sources: {name: folder}."""
    root = tmp_path_factory.mktemp("control")
    return {name: Path(shutil.copytree(ROOT / "examples" / name, root / name,
                                       ignore=shutil.ignore_patterns("build"))) for name in NAMES}


def make(folder, num_envs=1, seed=1, **settings):
    env = {**config.resolve(folder).env, **settings}
    return open_env.make(folder, num_envs=num_envs, seed=seed, env_settings=env)


def manual(folder):
    """The comment at the top of the header, as one line."""
    text = (folder / f"{folder.name}.h").read_text()
    return " ".join(re.sub(r"\n \*", "\n", text[:text.index("*/")]).split())


def claims(folder, pattern):
    """The numbers that the manual states in words like these."""
    return [float(number) for number in re.search(pattern, manual(folder)).groups()]


# -- all three ---------------------------------------------------------------------------

@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_check_finds_nothing(name, control, capsys, monkeypatch):
    """A world of 256 snakes is slow under sanitizers: a part of the usual length says enough.
    Short: pendulum with all builds, the others with two."""
    budget = (0.1 if name == "snake" else 0.5) if LONG else 0.03 if name == "snake" else 0.1
    if not LONG and name != "pendulum":
        build_twice(monkeypatch)
    assert main(["check", str(control[name]), "--strict", "--budget", str(budget)]) == 0
    assert "nothing found" in capsys.readouterr().out


@pytest.mark.parametrize("name", NAMES)
def test_a_bare_name_reaches_it(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert paths.find_env(name) == ROOT / "examples" / name


@pytest.mark.parametrize("language", ["c11", "c++17"])
@pytest.mark.parametrize("name", NAMES)
def test_header_compiles_without_a_warning(name, language, control, tmp_path):
    source = tmp_path / ("main.c" if language == "c11" else "main.cc")
    source.write_text(f'#include "{name}.h"\nint main(void) {{ return 0; }}\n')
    compiler = "gcc" if language == "c11" else "g++"
    command = [compiler, f"-std={language}", *STRICT, f"-I{control[name]}", "-fsyntax-only", source]
    for target in ([f"-I{headers.headers()}"], ["-DPUFFER_DEVICE"]):     # no raylib on a device
        result = subprocess.run([*command, *target], capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", some_or_all(NAMES, 2))
def test_standalone_program_plays(name, control, tmp_path):
    """NAME.c as it stands, with a window that is closed after 100 frames."""
    folder = control[name]
    settings = config.resolve(folder).env
    build.build(folder, env_settings=settings)
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\n#include <stdio.h>\n"
                    "bool stop(void) { static int n; if (++n > 100) puts(\"100 frames\");"
                    " return n > 100; }\n")
    compiler = [*compilers.find_compiler().command, "-std=gnu11", "-g", "-O1",
                f"-I{headers.headers()}", f"-I{folder}"]
    for command in (["-c", *STRICT, "-DWindowShouldClose=stop", folder / f"{name}.c",
                     "-o", tmp_path / "main.o"],
                    [tmp_path / "main.o", stop, headers.null_source(), "-lm",
                     "-o", tmp_path / "program"]):
        result = subprocess.run([*compiler, *command], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    result = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "100 frames\n"), result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_all_known_and_commented(name, control):
    folder = control[name]
    settings = config.resolve(folder, spec=build.header.read(folder))
    assert settings.base.env_name == name
    text = (folder / f"{name}.ini").read_text()
    sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
    assert sections == ["base", "env", "vec", "policy", "train", "eval", "check"]
    with open_env.make(folder, total_agents=settings.vec.total_agents,
                  num_buffers=settings.vec.num_buffers) as envs:
        assert envs.num_agents == settings.vec.total_agents     # whole envs fill the agents
    assert settings.train.minibatch_size % settings.train.horizon == 0


# -- cartpole ----------------------------------------------------------------------------

def cartpole_moves(state, actions, gravity=9.8, cart=1.0, pole=0.1, half=0.5, force=10.0, dt=0.02):
    """One tick of the equations that Gymnasium documents, in float64."""
    x, x_speed, theta, theta_speed = state.T
    push = np.where(actions == 1, force, -force)
    sine, cosine, mass = np.sin(theta), np.cos(theta), cart + pole
    temp = (push + pole * half * theta_speed ** 2 * sine) / mass
    turn = (gravity * sine - cosine * temp) / (half * (4 / 3 - pole * cosine ** 2 / mass))
    pull = temp - pole * half * turn * cosine / mass
    return np.stack([x + dt * x_speed, x_speed + dt * pull,
                     theta + dt * theta_speed, theta_speed + dt * turn], 1)


def cartpole_lost(state):
    return (np.abs(state[:, 0]) > 2.4) | (np.abs(state[:, 2]) > np.radians(12))


def balance(rng, observations):
    """Push to where the pole falls, and a little to where that brings the cart back."""
    return observations @ (0.02, 0.05, 1.0, 0.3) > 0


def play(folder, pilot, episodes=1000, steps=None, **settings):
    """The log of the first so many steps: those of an episode that lasts, unless given."""
    rng = np.random.default_rng(1)
    with make(folder, episodes, **settings) as envs:
        observations = envs.reset()
        for _ in range(steps or 200):
            envs.actions[:, 0] = pilot(rng, observations)
            observations, *_ = envs.step()
        return envs.log()


@pytest.mark.parametrize("settings", [
    {}, dict(gravity=3.0, cart_mass=2.0, pole_mass=0.5, pole_length=1.0, force_mag=4.0, dt=0.05)])
def test_cartpole_moves_as_the_equations_say(settings, control):
    constants = {key.replace("_mass", "").replace("pole_length", "half").replace("_mag", ""): value
                 for key, value in settings.items()}
    rng = np.random.default_rng(3)
    returned = lengths = episodes = 0
    with make(control["cartpole"], 64, **settings) as envs:
        assert (envs.obs_size, envs.act_sizes) == (4, (2,))
        state = envs.reset().astype(float)
        ticks = np.zeros(64, int)
        assert (np.abs(state) <= 0.05).all() and (np.abs(state).max(0) > 0.045).all()
        for _ in range(600):
            # some balance, some stand still by turns, some drift out to the right
            actions = np.where(np.arange(64) % 3 == 0, rng.integers(0, 2, 64), balance(rng, state))
            actions = np.where(np.arange(64) % 3 == 2, state @ (0, 0, 1, 0.3) > -0.1, actions)
            envs.actions[:, 0] = actions
            observations, rewards, terminals, truncations = envs.step()
            state, ticks = cartpole_moves(state, actions, **constants), ticks + 1
            lost = cartpole_lost(state)
            sure = np.abs(np.abs(state[:, [0, 2]]) - (2.4, np.radians(12))).min(1) > 1e-5
            ended = terminals == 1
            assert (ended == (lost | (ticks == 200)))[sure].all()
            assert (truncations == ((ticks == 200) & ~lost))[sure].all()
            assert (rewards == 1).all()
            assert np.allclose(observations[~ended], state[~ended], atol=1e-5)
            assert (np.abs(observations[ended]) <= 0.05).all()
            episodes, lengths = episodes + ended.sum(), lengths + ticks[ended].sum()
            returned += truncations.sum()
            ticks[ended] = 0
            state = observations.astype(float)
        log = envs.log()
    assert episodes > 200 and (returned > 20 or settings)
    assert log["n"] == episodes
    mean = lengths / episodes
    assert log["score"] == pytest.approx(mean) == log["episode_return"] == log["episode_length"]
    assert log["perf"] == pytest.approx(mean / 200)


def test_cartpole_leaves_on_both_sides(control):
    """A pole that is kept leaning one way runs away that way."""
    for side in (-1, 1):
        with make(control["cartpole"], 16, max_steps=1000) as envs:
            observations = envs.reset()
            farthest = 0.0
            for _ in range(400):
                envs.actions[:, 0] = observations @ (0, 0, 1, 0.3) > 0.05 * side
                observations, _, terminals, truncations = envs.step()
                farthest = max(farthest, (side * observations[:, 0]).max())
                assert not truncations.any()
            assert 2.3 < farthest <= 2.4 and envs.log()["n"] >= 16


def test_cartpole_that_falls_on_the_last_tick_is_lost_not_late(control):
    with make(control["cartpole"], 64) as envs:
        envs.reset()
        falls = np.zeros(64, int)
        for tick in range(1, 12):                           # always to the left
            _, _, terminals, _ = envs.step()
            falls[(terminals == 1) & (falls == 0)] = tick
    limit = int(np.median(falls))
    assert (falls == limit).any() and (falls > limit).any()
    with make(control["cartpole"], 64, max_steps=limit) as envs:
        envs.reset()
        for tick in range(1, limit + 1):
            _, _, terminals, truncations = envs.step()
            assert (terminals == ((falls == tick) | (tick == limit)))[falls >= tick].all()
        assert (truncations == (falls > limit))[falls >= limit].all()


def test_numbers_in_cartpoles_manual(control):
    folder = control["cartpole"]
    limit, solved, dice, left, pilot = claims(
        folder, r"At the (\d+) of cartpole.ini it counts as solved from (\d+) on\. Measured: acting"
        r" at random (\d+), pushing one way for ever ([\d.]+), and a linear pilot that weighs the"
        r" four observations (\d+), every time")
    assert config.resolve(folder).env["max_steps"] == limit
    at_random = play(folder, lambda rng, seen: rng.integers(0, 2, len(seen)), steps=1000)
    assert at_random["score"] == pytest.approx(dice, abs=0.6)
    for action in (0, 1):
        one_way = play(folder, lambda rng, seen, action=action: action)
        assert one_way["score"] == pytest.approx(left, abs=0.1)
    balanced = play(folder, balance)
    assert balanced["score"] == pilot >= solved and balanced["n"] == 1000
    assert balanced["perf"] == 1


# -- pendulum ----------------------------------------------------------------------------

def swing_up(rng, observations):
    """Pump until the energy is that of standing upright, then balance."""
    cosine, sine, speed = observations.astype(float).T * np.array([[1], [1], [8]])
    energy = speed ** 2 / 6 + 5 * (cosine - 1)          # 0 upright and at rest
    pump = -4 * energy * np.where(speed < 0, -1, 1)
    hold = -(14 * np.arctan2(sine, cosine) + 3 * speed)
    near = (cosine > 0.3) & ((np.abs(energy) < 1.5) | (cosine > 0.9))
    return np.where(near, hold, pump) / 2


@pytest.mark.parametrize("settings", [{}, dict(gravity=3.0, max_steps=30)])
def test_pendulum_swings_as_gymnasiums(settings, control):
    gravity, limit = settings.get("gravity", 10.0), settings.get("max_steps", 200)
    rng = np.random.default_rng(5)
    fastest, wide, wraps = 0.0, 0, 0
    score, stood = np.zeros(64), np.zeros(64)
    with make(control["pendulum"], 64, **settings) as envs:
        assert (envs.obs_size, envs.act_sizes) == (3, (1,))
        seen = envs.reset().astype(float)
        for tick in range(1, 2 * limit + 1):
            theta, speed = np.arctan2(seen[:, 1], seen[:, 0]), 8 * seen[:, 2]
            if tick % limit == 1:
                assert (np.abs(speed) <= 1).all() and np.abs(speed).max() > 0.9
                assert theta.min() < -2.9 and theta.max() > 2.9
            # pumping to the limit, beyond what the motor can, or at random
            actions = np.where(np.arange(64) % 2, 9 * np.sign(speed), rng.normal(0, 2, 64))
            envs.actions[:, 0] = actions
            observations, rewards, terminals, truncations = envs.step()
            torque = 2 * np.clip(envs.actions[:, 0].astype(float), -1, 1)
            cost = theta ** 2 + 0.1 * speed ** 2 + 0.001 * torque ** 2
            # an angle of pi may come out as minus pi, which costs the same
            assert np.allclose(-16 * rewards, cost, rtol=1e-4, atol=1e-4)
            speed = np.clip(speed + 0.05 * (1.5 * gravity * np.sin(theta) + 3 * torque), -8, 8)
            theta = theta + 0.05 * speed
            late = tick % limit == 0
            assert (terminals == late).all() and (truncations == late).all()
            if not late:
                there = np.stack([np.cos(theta), np.sin(theta), speed / 8], 1)
                assert np.allclose(observations, there, atol=1e-4)
                fastest = max(fastest, np.abs(speed).max())
                wide += (np.abs(actions) > 1).sum()
                wraps += (np.abs(theta) > np.pi).sum()
            score, stood = score - cost, stood + (np.cos(theta) > 0.95)
            seen = observations.astype(float)
        log = envs.log()
    assert wide > 500 and wraps > 20 and (fastest == 8 or settings)
    assert (log["n"], log["episode_length"]) == (128, limit)
    assert log["score"] == pytest.approx(score.sum() / 128, rel=1e-3)
    assert log["episode_return"] == pytest.approx(log["score"] / 16, rel=1e-4)
    assert log["perf"] == pytest.approx(stood.sum() / 128 / limit, abs=2e-3)


def test_numbers_in_pendulums_manual(control):
    folder = control["pendulum"]
    solved, dice, idle, pilot = claims(
        folder, r"counts as solved from (-\d+) on, on average\. Measured: acting at random (-\d+), "
        r"no torque at all (-\d+), and a pilot that pumps energy, then balances, (-\d+)")
    at_random = play(folder, lambda rng, seen: rng.uniform(-1, 1, len(seen)))
    assert at_random["score"] == pytest.approx(dice, abs=30)
    assert play(folder, lambda rng, seen: 0)["score"] == pytest.approx(idle, abs=30)
    swung = play(folder, swing_up)
    assert swung["score"] == pytest.approx(pilot, abs=6) and swung["score"] > solved
    assert swung["perf"] > 0.8 > 0.1 > at_random["perf"]


def test_pendulum_takes_any_action(control):
    with make(control["pendulum"], 4) as envs:
        envs.reset()
        envs.actions[:, 0] = (np.inf, -np.inf, 1e30, -1e30)
        envs.step()
        envs.actions[:, 0] = np.nan
        observations, rewards, *_ = envs.step()
        assert np.isfinite(observations).all() and np.isfinite(rewards).all()


@pytest.mark.parametrize("name", ["cartpole", "pendulum"])
def test_no_time_at_all_is_one_tick(name, control):
    with make(control[name], 4, max_steps=0) as envs:
        envs.reset()
        for _ in range(3):
            _, _, terminals, truncations = envs.step()
            assert terminals.all() and truncations.all()
        log = envs.log()
        assert (log["n"], log["episode_length"]) == (12, 1) and 0 <= log["perf"] <= 1


# -- snake -------------------------------------------------------------------------------

WALL, SNAKE, EMPTY, CORPSE, FOOD = range(5)
WAYS = ((-1, 0), (1, 0), (0, -1), (0, 1))


class World:
    """The rules over a world so small that every snake sees all of it, from everywhere.

    The inside is vision + 1 tiles square. Places that the dice decide are taken from what is
    seen; everything else is played.
    """

    def __init__(self, rows, vision, longest, corpses):
        self.vision, self.side = vision, vision + 1
        self.longest, self.corpses = longest, corpses
        boards, heads = self.read(rows)
        self.board = boards[0]
        self.bodies = [deque([head]) for head in heads]     # the head comes first

    def read(self, rows):
        """Each snake's view as a board, and where its head is, counted from the walls."""
        window = 2 * self.vision + 1
        boards, heads = [], []
        for row in rows.reshape(-1, window, window):
            inside = np.argwhere(row != WALL)
            top, left = inside.min(0)
            assert (inside.max(0) - (top, left) == self.side - 1).all()
            assert np.count_nonzero(row) == self.side ** 2
            boards.append(row[top:top + self.side, left:left + self.side].copy())
            heads.append((self.vision - top, self.vision - left))
        assert all((board == boards[0]).all() for board in boards)
        return boards, [tuple(map(int, head)) for head in heads]

    def step(self, actions, rows):
        """What each snake meets: EMPTY, CORPSE, FOOD, or, where it died, the length it had."""
        boards, heads = self.read(rows)
        events = []
        for i, body in enumerate(self.bodies):
            way = np.array(WAYS[actions[i]])
            to = tuple(map(int, body[0] + way))
            if len(body) > 1 and to == body[1]:
                to = tuple(map(int, body[0] - way))
            outside = min(to) < 0 or max(to) >= self.side
            tile = WALL if outside else int(self.board[to])
            if tile <= SNAKE:
                events.append(("died", len(body)))
                for k, cell in enumerate(reversed(body)):       # the tail is the first
                    self.board[cell] = CORPSE if self.corpses and k % 2 else EMPTY
                self.bodies[i] = deque([heads[i]])
                assert self.board[heads[i]] in (EMPTY, CORPSE)
                self.board[heads[i]] = SNAKE
                continue
            events.append(("met", tile))
            if tile == EMPTY or len(body) == self.longest:
                self.board[body.pop()] = EMPTY
            body.appendleft(to)
            self.board[to] = SNAKE
            assert to == heads[i]
        fresh = boards[0] != self.board
        assert (boards[0][fresh] == FOOD).all() and (self.board[fresh] != SNAKE).all()
        self.board = boards[0]
        return events


@pytest.mark.parametrize("corpses, longest", [(1, 6), (0, 40)])
def test_snake_plays_by_its_rules(corpses, longest, control):
    vision, agents, food = 9, 5, 7
    paid = {EMPTY: 0.0, CORPSE: 0.25, FOOD: 0.5, "died": -0.75}
    rng = np.random.default_rng(corpses)
    lives = [dict(ticks=0, paid=0.0) for _ in range(agents)]
    deaths, met = [], {EMPTY: 0, CORPSE: 0, FOOD: 0}
    with make(control["snake"], width=3 * vision + 1, height=3 * vision + 1, vision=vision,
              num_agents=agents, num_food=food, leave_corpse_on_death=corpses,
              max_snake_length=longest, reward_food=0.5, reward_corpse=0.25,
              reward_death=-0.75) as envs:
        assert (envs.obs_size, envs.act_sizes) == ((2 * vision + 1) ** 2, (4,))
        rows = envs.reset()
        world = World(rows, vision, longest, corpses)
        pilot = Pilot()
        for tick in range(2500):
            assert np.count_nonzero(world.board == FOOD) == food
            at_random = rng.random(agents) < 0.1
            actions = np.where(at_random, rng.integers(0, 4, agents), pilot(rng, rows))
            envs.actions[:, 0] = actions
            rows, rewards, terminals, _ = envs.step()
            for i, (kind, what) in enumerate(world.step(actions, rows)):
                reward = paid["died"] if kind == "died" else paid[what]
                assert (rewards[i], terminals[i]) == (reward, kind == "died"), tick
                lives[i]["ticks"] += 1
                lives[i]["paid"] += reward
                if kind == "died":
                    deaths.append((what, lives[i]["ticks"], lives[i]["paid"]))
                    lives[i] = dict(ticks=0, paid=0.0)
                else:
                    met[what] += 1
        log = envs.log()
    lengths, ticks, returns = np.array(deaths).T
    assert len(deaths) > 100 and min(met[EMPTY], met[FOOD]) > 500
    assert (met[CORPSE] > 100) == bool(corpses)
    assert lengths.max() == 6 if longest == 6 else lengths.max() > 12
    assert log["n"] == len(deaths)
    assert log["score"] == pytest.approx(lengths.mean())
    assert log["perf"] == pytest.approx(lengths.mean() / 120, rel=1e-4)
    assert log["episode_length"] == pytest.approx(ticks.mean())
    assert log["episode_return"] == pytest.approx(returns.mean(), rel=1e-4)


@pytest.mark.parametrize("size, seen", [
    ((12, 12), WALL),           # all of it wall: they wait, and see nothing else
    ((13, 12), WALL),
    ((13, 13), None),           # one tile inside: one snake lives there, the others wait
])
def test_snakes_wait_where_there_is_no_room(size, seen, control):
    with make(control["snake"], width=size[0], height=size[1], vision=6, num_agents=3) as envs:
        observations = envs.reset()
        for _ in range(20):
            alone = observations.reshape(3, -1)
            if seen is None:
                assert alone[0].tolist() == [WALL] * 84 + [SNAKE] + [WALL] * 84
                alone = alone[1:]
            assert (alone == WALL).all()
            observations, rewards, terminals, _ = envs.step()
            dies = [seen is None, False, False]
            assert terminals.tolist() == dies and rewards.tolist() == [-x for x in map(int, dies)]


def test_a_snake_without_eyes_stays_in_its_world(control):
    with make(control["snake"], width=8, height=8, vision=0, num_agents=3, num_food=5) as envs:
        assert envs.obs_size == 1 and (envs.reset() == SNAKE).all()
        rng = np.random.default_rng(0)
        for _ in range(500):
            envs.actions[:, 0] = rng.integers(0, 4, 3)
            envs.step()
        assert envs.log()["n"] > 20


def test_snakes_that_may_not_grow_are_all_head(control):
    with make(control["snake"], width=13, height=13, vision=1, num_agents=3, num_food=60,
              max_snake_length=0) as envs:
        envs.reset()
        rng = np.random.default_rng(0)
        for _ in range(500):
            envs.actions[:, 0] = rng.integers(0, 4, 3)
            envs.step()
        log = envs.log()
        assert log["score"] == 1 and log["episode_return"] > -0.8       # they eat all the same


def test_snakes_world_fills_with_food_but_not_over(control):
    """More food than tiles: all that is free is food, and the snakes still move."""
    with make(control["snake"], width=13, height=13, vision=4, num_agents=2,
              num_food=1000, leave_corpse_on_death=0) as envs:
        observations = envs.reset()
        for _ in range(50):
            inside = observations[observations != WALL]
            assert ((inside == FOOD) | (inside == SNAKE)).mean() > 0.9
            envs.actions[:, 0] = 3
            observations, rewards, *_ = envs.step()
        assert envs.log()["episode_return"] > -1


class Pilot:
    """To the nearest food in view, around what is deadly; or with an eye on dead ends.

    Water spreads from each of the four tiles beside the head. When it first wets food is how
    far that is; where it has come in the end is how much room there is.
    """

    def __init__(self, careful=False):
        self.careful, self.last = careful, None

    def __call__(self, rng, observations):
        n, window = len(observations), int(observations.shape[1] ** 0.5)
        head = window // 2
        tiles = observations.reshape(n, 1, window, window)
        bits = 1 << np.arange(window, dtype=np.uint32)      # a row of tiles is one number
        free = ((tiles >= EMPTY) * bits).sum(-1, dtype=np.uint32)
        food = ((tiles > EMPTY) * bits).sum(-1, dtype=np.uint32)
        water = np.zeros((n, 4, window), np.uint32)
        for action, (row, column) in enumerate(WAYS):
            water[:, action, head + row] = bits[head + column]
        water &= free
        blocked = ~water.any(-1)
        away = np.full((n, 4), 30.0)
        for step in range(16 if self.careful else 10):
            found = (water & food).any(-1)
            away[found] = np.minimum(away[found], step)
            spread = water | water << 1 | water >> 1
            spread[:, :, 1:] |= water[:, :, :-1]
            spread[:, :, :-1] |= water[:, :, 1:]
            water = spread & free
        cost = away + 1000 * blocked
        if self.careful:
            room = np.unpackbits(water.view(np.uint8), axis=-1).sum(-1, dtype=np.int64)
            cost -= np.where((room.min(1) < room.max(1))[:, None], room, 0)
        if self.last is None:
            self.last = rng.integers(0, 4, n)
        cost[np.arange(n), self.last] -= 0.1                # else straight on
        self.last = (cost + 0.05 * rng.random(cost.shape)).argmin(1)
        return self.last


@long_only
def test_numbers_in_snakes_manual(control):
    solved, first, last, dice, up, greedy, careful = claims(
        control["snake"], r"counts as solved from (\d+) on\. Measured in the world of snake\.ini, "
        r"over the deaths in ticks (\d+) to (\d+): acting at random ([\d.]+), straight up for ever "
        r"([\d.]+), greedily to the nearest food in view (\d+), and the same with an eye on dead "
        r"ends (\d+)")

    def score(pilot, num_envs):
        rng = np.random.default_rng(1)
        with make(control["snake"], num_envs) as envs:
            observations = envs.reset()
            for tick in range(int(last)):
                if tick == first:
                    envs.log()                              # forgets what was
                envs.actions[:, 0] = pilot(rng, observations)
                observations, *_ = envs.step()
            return envs.log()["score"]

    assert score(lambda rng, seen: rng.integers(0, 4, len(seen)), 4) == pytest.approx(dice, abs=.2)
    assert score(lambda rng, seen: 0, 4) == pytest.approx(up, abs=0.3)
    assert score(Pilot(), 1) == pytest.approx(greedy, abs=4)
    looking = score(Pilot(careful=True), 1)
    assert looking == pytest.approx(careful, abs=5) and looking > solved
