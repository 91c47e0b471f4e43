"""examples/cartpole and pendulum: their rules at the edges, their numbers, their pilots."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from puffer_sdk import building, config, paths, raylib, toolchain, vec

NAMES = ("cartpole", "pendulum")
ROOT = Path(__file__).resolve().parents[1]
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
    return vec.make(folder, num_envs=num_envs, seed=seed, env_settings=env)


def manual(folder):
    """The comment at the top of the header, as one line."""
    text = (folder / f"{folder.name}.h").read_text()
    return " ".join(re.sub(r"\n \*", "\n", text[:text.index("*/")]).split())


def claims(folder, pattern):
    """The numbers that the manual states in words like these."""
    return [float(number) for number in re.search(pattern, manual(folder)).groups()]


# -- both ---------------------------------------------------------------------------

@pytest.mark.parametrize("name", NAMES)
def test_check_finds_nothing(name, control):
    command = [sys.executable, "-m", "puffer_sdk", "check", str(control[name]), "--strict",
               "--budget", "0.5"]
    result = subprocess.run(command, capture_output=True, text=True, env=CHILD)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "nothing found" in result.stdout


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
    for target in ([f"-I{raylib.headers()}"], ["-DPUFFER_DEVICE"]):     # no raylib on a device
        result = subprocess.run([*command, *target], capture_output=True, text=True)
        assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_standalone_program_plays(name, control, tmp_path):
    """NAME.c as it stands, with a window that is closed after 100 frames."""
    folder = control[name]
    settings = config.resolve(folder).env
    building.build(folder, env_settings=settings)
    stop = tmp_path / "stop.c"
    stop.write_text("#include <stdbool.h>\n#include <stdio.h>\n"
                    "bool stop(void) { static int n; if (++n > 100) puts(\"100 frames\");"
                    " return n > 100; }\n")
    compiler = [*toolchain.find_compiler().command, "-std=gnu11", "-g", "-O1",
                f"-I{raylib.headers()}", f"-I{folder}"]
    for command in (["-c", *STRICT, "-DWindowShouldClose=stop", folder / f"{name}.c",
                     "-o", tmp_path / "main.o"],
                    [tmp_path / "main.o", stop, raylib.null_source(), "-lm",
                     "-o", tmp_path / "program"]):
        result = subprocess.run([*compiler, *command], capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    result = subprocess.run([tmp_path / "program"], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (0, "100 frames\n"), result.stderr


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_all_known_and_commented(name, control):
    folder = control[name]
    settings = config.resolve(folder, spec=building.header.read(folder))
    assert settings.base.env_name == name
    text = (folder / f"{name}.ini").read_text()
    sections = re.findall(r"^\[(\w+)\]$", text, re.MULTILINE)
    assert sections == ["base", "env", "vec", "policy", "train", "eval", "check"]
    with vec.make(folder, total_agents=settings.vec.total_agents,
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
