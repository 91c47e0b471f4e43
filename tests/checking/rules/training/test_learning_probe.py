"""check --learn: what its judgement rests on, and that both of its rules speak when they should."""
from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.places import SPECIMENS, broken
from helpers.short_or_long import LONG, long_only

import puffer_sdk
from puffer_sdk.base import extras
from puffer_sdk.checking.check import check
from puffer_sdk.checking.collect.c import learning_probe
from puffer_sdk.checking.report import terminal
from puffer_sdk.env.obs_spec import ObsField, ObsSpec
from puffer_sdk.scoring.entries import Entries
from puffer_sdk.settings.config import resolve

WHACK = broken("puf702_whack")


def scores(**means: float) -> dict[str, list[float]]:
    """Scores of 32 envs around these means; the noise of an env is common to all players."""
    noise = np.random.default_rng(1).normal(0, 1, 32)
    own = np.random.default_rng(2)
    return {name.replace("act", "{1}").replace("_", " "):
            list(mean + noise + own.normal(0, 0.05, 32)) for name, mean in means.items()}


@pytest.mark.parametrize("word, means", [
    ("learns", dict(random=0, idle=0, act=1, trained=3, trained_blind=1)),
    ("random", dict(random=2, idle=0, act=1, trained=2, trained_blind=1)),
    ("random", dict(random=2, idle=0, act=1, trained=1, trained_blind=1)),
    ("constant", dict(random=0, idle=0, act=3, trained=3, trained_blind=1)),
    ("constant", dict(random=0, idle=0, act=4, trained=3, trained_blind=1)),
    ("blind", dict(random=0, idle=0, act=1, trained=3, trained_blind=3)),
])
def test_judgement(word, means):
    found = {"scores": scores(**means), "masked": False, "steps": 1, "unit": "return"}
    assert learning_probe.verdict(found) == word
    lines = [text for text, _ in learning_probe.lines(learning_probe.summary(found))]
    assert lines[-1] == learning_probe.WORDS[word] and max(map(len, lines)) <= 80
    if word == "blind":         # its own mask is left to a blind policy
        assert learning_probe.verdict({**found, "masked": True}) == "learns"


def test_better_takes_more_than_chance():
    one = list(np.random.default_rng(3).normal(0, 1, 64))
    assert not learning_probe.is_better(one, one)
    assert not learning_probe.is_better([x + 1e-9 for x in one], one)
    assert learning_probe.is_better([x + 0.01 for x in one], one)         # small, but in every env
    wins = sum(learning_probe.is_better(list(a), list(b)) for a, b in
               np.random.default_rng(4).normal(0, 1, (400, 2, 16)))
    assert wins <= 20                                               # 2.5 % of 400, and then some
    assert learning_probe.is_better([1.0] * 8, [0.0] * 8)


@pytest.mark.parametrize("outs", [0, 4])
def test_returns_are_of_episodes_and_not_from_terminal_to_terminal(outs):
    """A terminal only at each fourth ending, or at none: the log knows the other endings."""
    with puffer_sdk.make(SPECIMENS / "innings", num_envs=4,
                         env_settings={"outs": outs, "length": 50}) as vec:
        vec.reset()
        entries = Entries(vec, learning_probe.EPISODES, learning_probe.TICKS)
        for _ in range(learning_probe.TICKS):
            vec.step()
            entries.look()
            if entries.done.all():
                break
        found = learning_probe.returns_of_envs(entries)
    assert found == [50.0] * 4 if outs else found == [learning_probe.TICKS] * 4


def test_blind_agents_see_another_env():
    unit, n = 3, 12
    vec = SimpleNamespace(observations=np.arange(n)[:, None].repeat(2, 1), num_agents=n,
                          alive=None, rewards=None, terminals=None, truncations=None)
    blind = learning_probe.Blind(vec, unit, 5)
    seen = set()
    for _ in range(200):
        blind.mix()
        assert not (blind.observations[:, 0] // unit == np.arange(n) // unit).all()
        assert (abs(blind.observations[:, 0] - np.arange(n)) >= unit).all()
        seen.add(int(blind.observations[0, 0]))
    assert seen == set(range(3, 10))
    assert blind.num_agents == n


@pytest.mark.parametrize("agents, obs, horizon, total, minibatch", [
    (1, 9, 64, 512, 4096), (1, 10_000, 128, 4096, 8192), (100, 30, 64, 64, 64),
    (3, 7, 16, 24, 96),
])
def test_sizes_fit_each_other(agents, obs, horizon, total, minibatch):
    config = resolve(WHACK)
    config = replace(config, vec=replace(config.vec, total_agents=total), train=replace(
        config.train, horizon=horizon, minibatch_size=minibatch))
    facts = SimpleNamespace(config=config, seed=42, known_spec=SimpleNamespace(act_widths=(9,)),
                            row=None,
                            fact=lambda *names: SimpleNamespace(seconds=1e-7),
                            shape=SimpleNamespace(agents=agents, env_agents=agents, obs_size=obs))
    steps = []
    for seconds in (1, 12, 60):
        tuned, cost = learning_probe.sizes(facts, seconds)
        batch = tuned.vec.total_agents * tuned.train.horizon
        assert tuned.vec.total_agents % agents == 0 and tuned.vec.total_agents >= 4 * agents
        assert tuned.train.minibatch_size % tuned.train.horizon == 0
        assert tuned.train.horizon <= tuned.train.minibatch_size <= batch
        assert tuned.train.total_timesteps >= batch
        assert tuned == learning_probe.sizes(facts, seconds)[0]
        steps.append(tuned.train.total_timesteps)
        playing = learning_probe.evaluation_agents(facts, seconds, cost)
        assert playing % agents == 0 and 8 * agents <= playing <= max(512, 8 * agents)
    assert steps == sorted(steps) and steps[0] < steps[-1]


def test_a_described_image_is_learned_with_convolutions_in_fewer_steps():
    """As train does: what a flat network cannot learn is no fault of the environment."""
    image = ObsField("OBS_EYE", 0, 4096, None, None, "eye.h", 1, "image", (64, 64, 1))
    found = {}
    for encoder in ("auto", "flat"):
        config = resolve(WHACK, {"policy.encoder": encoder})
        facts = SimpleNamespace(config=config, seed=42, known_spec=SimpleNamespace(act_widths=(9,)),
                                row=ObsSpec(4096, (image,)),
                                fact=lambda *names: SimpleNamespace(seconds=1e-7),
                                shape=SimpleNamespace(agents=1, env_agents=1, obs_size=4096))
        found[encoder], _ = learning_probe.sizes(facts, 12)
    assert found["auto"].policy.encoder.startswith("image 0 64x64x1: ")
    assert found["flat"].policy.encoder == "flat"
    assert found["auto"].train.total_timesteps < found["flat"].train.total_timesteps


@pytest.fixture
def whack(tmp_path):
    return Path(shutil.copytree(WHACK, tmp_path / "puf702_whack",
                                ignore=shutil.ignore_patterns("build")))


@pytest.mark.long
def test_the_mended_game_is_learned_and_twice_the_same(whack):
    """The board is drawn when the mole is up: then its place is what the policy needs.

    Short: once."""
    header = whack / "puf702_whack.h"
    text = header.read_text()
    wrong = "    draw_board(w);\n    w->mole = (int)(mix(&w->rng) % OBS_SIZE);\n"
    assert wrong in text
    header.write_text(text.replace(wrong, "".join(reversed(wrong.splitlines(True)))))
    documents = []
    for _ in range(2 if LONG else 1):
        result = check(whack, learn=True, learn_seconds=1.5, budget=0.2)
        assert [(f.code, f.message) for f in result.findings] == []
        assert result.learning["verdict"] == "learns"
        document = result.to_dict()
        document["coverage"].pop("seconds")
        documents.append(json.dumps(document, sort_keys=True, allow_nan=False))
    assert len(set(documents)) == 1
    shown = [text for text, _ in terminal.lines(result)]
    assert learning_probe.WORDS["learns"] in shown
    assert any(line.startswith("  trained blind ") for line in shown)


@long_only
def test_a_network_in_torch_where_there_is_none(whack, monkeypatch):
    """The probe says what is missing, and the other rules go on."""
    monkeypatch.setattr("puffer_sdk.base.extras.find_spec", lambda name: None)
    with (whack / f"{whack.name}.ini").open("a") as ini:
        ini.write("[policy]\ntorch_class = net.py:Net\n")
    result = check(whack, learn=True, budget=0.1)
    assert extras.install_torch() in result.not_tested["PUF702"]
    assert result.verdict == "pass" and result.findings == []


def test_without_the_option_nothing_is_said_of_it(whack):
    plain = check(whack, budget=0.1)
    assert plain.learning is None and plain.findings == []
    assert not {"PUF701", "PUF702"} & set(plain.not_tested)
    assert "learning" not in plain.to_dict()["coverage"]
