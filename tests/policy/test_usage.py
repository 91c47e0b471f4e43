"""The code that `export` prints, run as it stands: it chooses what eval chooses."""
from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest
import torch
from helpers.herd import KINDS, open_vec, write_herd
from helpers.ladder import IN_SIGHT, copy_ladder
from helpers.places import SPECIMENS
from helpers.policies import CASES, make_policy
from helpers.short_or_long import some_or_all
from helpers.turns import write_turns

from puffer_sdk.base import philox
from puffer_sdk.env import build, header
from puffer_sdk.env.vec import VecEnv
from puffer_sdk.policy import export, usage_code
from puffer_sdk.policy.players import trained_player
from puffer_sdk.settings import config
from puffer_sdk.settings.values import Config
from puffer_sdk.training import checkpoint
from puffer_sdk.training.loop import Trainer
from puffer_sdk.training.native.actor import NativeActor
from puffer_sdk.training.reference import policy as reference

TICKS = 150
GAMES = {"alive": KINDS["alive"], "max_agents too": KINDS["both"], "mask": (),
         "mask in sight": [(old, new.replace("AT OBS_LEGAL", "AT (env->rungs - 5)"))
                           for old, new in IN_SIGHT],
         "turns": None}


class EvalDraws:
    """As numpy's Generator: eval's draws of one tick, head by head."""

    def __init__(self, seed: int, act_sizes):
        self.seed, self.act_sizes, self.tick, self.head = seed, act_sizes, 0, 0

    def _next(self, n: int) -> np.ndarray:
        noise = philox.action_noise(self.seed, np.arange(n), np.array([self.tick]), self.act_sizes)
        self.head += 1
        tick, head = divmod(self.head - 1, len(self.act_sizes))
        self.tick = tick + (head + 1) // len(self.act_sizes)
        return noise[0, :, head]

    def random(self, shape):
        return self._next(shape[0])[:, None]

    def normal(self, mean, deviation):
        return mean + deviation * self._next(len(mean))


def printed(run, to: str = "c", output=None, model=None) -> list[str]:
    """The code that `export` shows."""
    return usage_code.lines(export.export_policy(run, to, output, model=model))


def halves(lines: list[str], mark: str) -> tuple[str, str]:
    """What is done once, and what is done in each tick: from the comment on."""
    at = next((n for n, line in enumerate(lines) if line.startswith(mark)), len(lines) - 1)
    return "\n".join(lines[:at]), "\n".join(lines[at:])


@dataclass(frozen=True)
class Game:
    """An environment with a policy that has hardly learned."""

    folder: Path
    saved: Path
    agents: int
    resolved: Config

    @property
    def masked(self) -> bool:
        return self.folder.name in ("ladder", "turns")

    def play(self, greedy: bool = False) -> Iterator[VecEnv]:
        """The first env of an evaluation, before each of its steps."""
        with open_vec(self.folder, total_agents=self.agents, seed=self.resolved.eval.seed) as vec:
            player = trained_player(checkpoint.load(self.saved), greedy)(vec, self.resolved)
            vec.reset()
            for _ in range(TICKS):
                player(vec)
                yield vec
                vec.step()


def make_game(home: Path, kind) -> Game:
    folder = write_turns(home / "turns") if kind is None else \
        write_herd(home, kind) if isinstance(kind, dict) else copy_ladder(home / "ladder", *kind)
    agents = {"herd": 6, "turns": 2}.get(folder.name, 1)
    settings = {"policy.hidden_size": 16, "policy.num_layers": 1, "train.horizon": 8,
                "train.minibatch_size": 8 * agents, "train.total_timesteps": 160 * agents,
                "train.learning_rate": 0.1}
    with open_vec(folder, total_agents=agents) as vec, Trainer(vec, settings) as trainer:
        for _ in range(4):
            trainer.rollout()
            trainer.update()
        saved = trainer.save(home / "policy.safetensors")
    resolved = config.resolve(folder)
    build.build(folder, env_settings=resolved.env)      # writes NAME_config.h
    return Game(folder, saved, agents, resolved)


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    return cache(lambda name: make_game(tmp_path_factory.mktemp("games"), GAMES[name]))


@pytest.fixture
def game(request, games, monkeypatch) -> Game:
    made = games(request.param)
    monkeypatch.chdir(made.folder.parent)
    return made


def run_in_c(game, lines, target) -> np.ndarray:
    """(ticks, rows) actions of the first env of an evaluation, with the printed lines."""
    once, tick = halves(lines, "// before each c_step:")
    spec = header.read(game.folder)
    seed = next(vec.env_seed(0) for vec in game.play())
    (game.folder / "use.c").write_text(f"""
        #include "{spec.name}.h"
        #include "build/{spec.name}_config.h"
        int main(void) {{
            {spec.struct} env = {{0}};
            env.rng = {seed}u;
            {spec.name}_configure(&env);
            {"init(&env);" if spec.has_init else ""}
            {spec.name}_allocate(&env);
            {once}
            if (!net) return 1;
            c_reset(&env);
            for (int t = 0; t < {TICKS}; t++) {{
                {tick}
                for (int i = 0; i < env.{spec.rows_field}; i++) printf("%g ", env.actions[i]);
                c_step(&env);
            }}
            puffernet_free(net);
            return 0;
        }}""")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", game.folder / "use.c", "-o", target,
                    "-lm"], check=True)
    done = subprocess.run([target], capture_output=True, text=True, check=True)
    return np.array(done.stdout.split(), np.float32).reshape(TICKS, -1)


@pytest.mark.parametrize("game", some_or_all([name for name in GAMES if name != "turns"], 0, 2),
                         indirect=True)
def test_the_lines_of_c_play_what_eval_plays(game, tmp_path):
    lines = printed(game.folder.name, model=game.saved)
    got = run_in_c(game, lines, tmp_path / "use")
    illegal = 0
    for actions, vec in zip(got, game.play()):
        np.testing.assert_array_equal(actions, vec.actions[:, 0])
        if game.masked:
            assert vec.action_mask[0, int(actions[0])]
            illegal += (vec.action_mask == 0).sum()
    assert len(set(got.flat)) > 1
    if game.masked:               # and there was something to refuse
        assert illegal > TICKS / 2
        without = [line for line in lines if "net->mask" not in line]
        bare = run_in_c(game, without, tmp_path / "bare")
        assert not np.array_equal(bare, got)


def run_in_python(game, scope: dict, tick: str, kind, *, greedy: bool) -> None:
    """The lines of a tick choose what eval chooses, from what eval sees."""
    scope["state"] = kind(np.zeros((game.agents, 1, 16), np.float32))
    chosen, waited = set(), 0
    for vec in game.play(greedy):
        scope["state"][kind(vec.terminals != 0)] = 0            # of the step before
        scope["observations"] = kind(vec.observations.copy())
        for name, array in (("mask", vec.action_mask), ("alive", vec.alive)):
            if array is not None:
                scope[name] = kind(array.copy())
        exec(tick, scope)
        np.testing.assert_array_equal(np.asarray(scope["actions"]), vec.actions)
        waited += game.masked and not vec.action_mask.any(1).all()
        chosen |= set(vec.actions.flat)
    assert len(chosen) > 1 and waited == TICKS * (game.folder.name == "turns")


@pytest.mark.parametrize("game", GAMES, indirect=True)
def test_the_lines_for_onnx_play_what_eval_plays(game):
    lines = printed(game.folder.name, "onnx", model=game.saved)
    once, tick = halves(lines, "# each tick")
    scope = {"onnxruntime": onnxruntime}
    exec(once, scope)
    scope["rng"] = EvalDraws(game.resolved.eval.seed, export.read_policy(game.saved).act_sizes)
    run_in_python(game, scope, tick, np.asarray, greedy=False)


@pytest.mark.parametrize("game", ["max_agents too", "mask", "turns"], indirect=True)
def test_the_lines_for_torch_play_what_eval_plays(game, monkeypatch):
    """The likeliest actions: torch has draws of its own. The network stands in for the program."""
    policy = export.read_policy(game.saved)
    net = reference.build_policy(policy.obs_size, policy.act_sizes, policy.config)
    reference.load_weights(net, policy.weights)
    program = SimpleNamespace(module=lambda: torch.no_grad()(net.step))
    monkeypatch.setattr(torch.export, "load", lambda file: program)
    once, tick = halves(usage_code.lines(export.Exported(game.saved, "torch", policy)),
                        "# each tick")
    scope = {"torch": torch}
    exec(once, scope)
    monkeypatch.setattr(torch.distributions, "Categorical", lambda logits: SimpleNamespace(
        sample=lambda: logits.argmax(1)))
    run_in_python(game, scope, tick, torch.from_numpy, greedy=True)


@pytest.mark.parametrize("case", ["multi-discrete", "mixed", "masked mixed", "continuous"])
def test_every_kind_of_head_draws_as_the_trainer(case, tmp_path):
    """A policy whose environment is nowhere, and that says nothing of masks: they are optional."""
    made = make_policy(tmp_path, **CASES[case])
    script = made.script(ticks=25)
    lines = printed(made.path, "onnx", tmp_path / "policy.onnx")
    once, tick = halves(lines, "# each tick")
    assert tick.count("# if it has one") == 5
    n, sizes = made.agents, made.act_sizes
    scope = {"onnxruntime": onnxruntime, "alive": np.ones(n)}
    exec(once, scope)
    p = made.config.policy
    scope.update(rng=EvalDraws(7, sizes), state=np.zeros((n, p.num_layers, p.hidden_size), "f4"))
    actor = NativeActor(made.tensors, made.config, made.dtype, made.obs_size, sizes, 7, n)
    for at, observations in enumerate(script.observations):
        mask = script.masks[at] if made.masked else np.ones((n, sum(sizes)), np.uint8)
        actor.ended(script.ended[at])
        scope["state"][script.ended[at] != 0] = 0
        scope.update(observations=observations, mask=mask)
        exec(tick, scope)
        np.testing.assert_allclose(scope["actions"], actor.act(observations, mask), atol=1e-4)


def test_an_older_checkpoint_says_that_it_does_not_know(tmp_path):
    path = make_policy(tmp_path).path
    lines = printed(path, output=tmp_path / "p.bin")
    assert [line for line in lines if line.endswith("// if it has one")] == [
        "net->mask = env.action_mask;    // if it has one",
        "net->alive = env.alive;    // if it has one"]


def test_a_plain_environment_needs_three_lines(tmp_path, squared, monkeypatch):
    monkeypatch.chdir(squared.parent)
    path = make_policy(tmp_path, name="squared", obs_size=121, dtype=np.uint8).path
    lines = printed(path, output=tmp_path / "p.bin")
    assert [line.split("(")[0] for line in lines] == [
        "int sizes[] = {5};", "PufferNet* net = puffernet_load", "puffernet_act"]


def test_terminals_are_cleared_where_c_step_may_leave_them(tmp_path, monkeypatch):
    """An Ocean environment: its binding does not say that c_step writes them."""
    shutil.copytree(SPECIMENS / "ocean" / "drum", tmp_path / "drum")
    monkeypatch.chdir(tmp_path)
    path = make_policy(tmp_path, (4,), name="drum", obs_size=2, dtype=np.uint8).path
    lines = printed("drum", model=path)
    assert lines[-2:] == ["puffernet_act(net, env.observations, env.actions, env.terminals);",
                          "memset(env.terminals, 0, env.num_agents * sizeof(float));"]
