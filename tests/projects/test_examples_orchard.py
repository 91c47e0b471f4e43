"""examples/orchard: its rules, the numbers in its header, and what learns it."""
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from helpers.places import ROOT
from helpers.short_or_long import long_only

import puffer_sdk
from puffer_sdk.raylib import headers

STAY, LEFT, RIGHT = range(3)
SIDE, BASKET_Y, LEAF, THING = 64, 59, 120, 130          # leaves are darker than things


@pytest.fixture(scope="module")
def orchard(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("examples") / "orchard"
    return Path(shutil.copytree(ROOT / "examples" / "orchard", folder,
                                ignore=shutil.ignore_patterns("build")))


def defined(folder: Path, name: str) -> int:
    return int(re.search(rf"#define {name}\s+(\d+)", (folder / "orchard.h").read_text())[1])


def play(folder, pilot, steps, num_envs=256, seed=1):
    """The log, and the pictures and rewards of each tick in between."""
    rng, seen, earned = np.random.default_rng(seed), [], []
    with puffer_sdk.make(folder, num_envs=num_envs, seed=seed) as envs:
        rows = envs.reset()
        for _ in range(steps):
            seen.append(rows.reshape(-1, SIDE, SIDE).copy())
            envs.actions[:, 0] = pilot(rng, rows)
            rows, rewards, *_ = envs.step()
            earned.append(rewards.copy())
        return envs.log(), np.array(seen), np.array(earned)


@pytest.mark.parametrize("device", [False, True])
def test_header_compiles_without_a_warning(orchard, device, tmp_path):
    source = tmp_path / "main.c"
    source.write_text('#include "orchard.h"\nint main(void) { return 0; }\n')
    command = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Wpedantic", "-Werror",
               "-Wno-unused-function", f"-I{orchard}", "-fsyntax-only", str(source)]
    command += ["-DPUFFER_DEVICE"] if device else [f"-I{headers.headers()}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_numbers_in_the_header(orchard):
    prose = " ".join((orchard / "orchard.h").read_text().replace("//", "").split())
    known = re.search(r"random catches ([\d.]+) apples and as many stones, staying put ([\d.]+) of",
                      prose)
    for pilot, expected in ((lambda rng, rows: rng.integers(0, 3, len(rows)), known[1]),
                            (lambda rng, rows: np.full(len(rows), STAY), known[2])):
        log, *_ = play(orchard, pilot, 490)
        assert log["n"] == 256
        assert log["apples"] == pytest.approx(float(expected), abs=0.4)
        assert log["stones"] == pytest.approx(float(expected), abs=0.4)
        assert log["score"] == pytest.approx(log["apples"] - log["stones"], abs=1e-4)
        assert log["episode_return"] == pytest.approx(log["score"], abs=1e-4)


def test_the_basket_moves_and_stays_on_the_screen(orchard):
    def basket(picture):
        return np.flatnonzero(picture[BASKET_Y] == 255)

    width = defined(orchard, "BASKET")
    for action, last in ((LEFT, 0), (RIGHT, SIDE - width)):
        _, seen, _ = play(orchard, lambda rng, rows, a=action: np.full(len(rows), a), 30,
                          num_envs=1)
        assert list(basket(seen[0, 0])) == list(range((SIDE - width) // 2, (SIDE + width) // 2))
        assert basket(seen[-1, 0])[0] == last and len(basket(seen[-1, 0])) == width


def test_things_fall_and_are_paid_once(orchard):
    """A thing enters from above, and reward comes only where one reaches the basket."""
    _, seen, earned = play(orchard, lambda rng, rows: np.full(len(rows), STAY), 72, num_envs=64)
    assert not (seen[0, :, :BASKET_Y] >= THING).any()
    assert (seen[20, :, :BASKET_Y] >= THING).any(axis=(1, 2)).all()
    assert not earned[:25].any() and set(np.unique(earned)) <= {-1, 0, 1, 2, -2}
    assert (earned != 0).any()


def test_the_trainer_takes_convolutions(orchard):
    with puffer_sdk.make(orchard, num_envs=8, seed=1) as envs, \
            puffer_sdk.Trainer(envs, {"train.minibatch_size": 64, "train.horizon": 8,
                                      "policy.encoder": "auto"}) as trainer:
        assert sorted(trainer.parameters)[-3:] == ["parts.0.0", "parts.0.1", "parts.0.2"]
        trainer.rollout()
        assert np.isfinite(trainer.update()["loss/value"])


@long_only
@pytest.mark.parametrize("seed", range(1, 6))
def test_convolutions_learn_it(orchard, tmp_path, monkeypatch, seed):
    """To the goal of its ini, some minutes a seed."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(orchard, "orchard")
    run = puffer_sdk.train("orchard", {"train.seed": seed, "train.stop_at_goal": True})
    assert run.goal, run
