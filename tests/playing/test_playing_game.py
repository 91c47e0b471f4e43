"""playing.game: going back is exact, dice are repeatable, a rebuilt library goes on."""
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.short_or_long import some_or_all

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.base.errors import UsageError
from puffer_sdk.env import build
from puffer_sdk.env.abi import ffi
from puffer_sdk.env.library import Library
from puffer_sdk.interop.python_envs import env_source
from puffer_sdk.playing import rebuilding
from puffer_sdk.playing.game import DicePlayer, Game, PolicyPlayer
from puffer_sdk.raylib import headers
from puffer_sdk.settings import config
from puffer_sdk.training import checkpoint, train

STATE = ("tick", "episode", "last")


def game_of(folder, seed=3, past=None, **settings):
    built = build.build(folder)
    resolved = config.resolve(folder, settings, spec=built.spec)
    return Game(Library(built.library, folder), resolved, past, seed, False, None)


def snapshot(game):
    """All that a player can see, and the env's own bytes."""
    size = game.library.api.env_struct_size()
    vec = game.vec
    struct = bytes(ffi().buffer(ffi().cast("char*", game.library.api.env_struct(vec.handle, 0)),
                                size))
    return ([getattr(game, name) for name in STATE], game.returns.tolist(), game.planned.tolist(),
            vec.observations.tobytes(), vec.rewards.tobytes(), without_pointers(struct))


def without_pointers(struct: bytes) -> bytes:
    """The buffers of another VecEnv lie elsewhere: eight-byte words that look like addresses, high
    ones or (of a Python that is linked to a fixed place) those of the heap."""
    words = np.frombuffer(struct[:len(struct) // 8 * 8], np.uint64)
    heap = re.search(r"^(\w+)-(\w+) .*\[heap\]$", Path("/proc/self/maps").read_text(), re.M)
    low, high = (int(place, 16) for place in heap.groups()) if heap else (0, 0)
    pointer = ((words >> 40 > 0) & (words >> 48 == 0)) | ((words >= low) & (words < high))
    return np.where(pointer, 0, words).tobytes()


@pytest.fixture(scope="module")
def learned(squared, tmp_path_factory):
    run = train.train(squared, {"train.total_timesteps": 200_000},
                         runs_dir=tmp_path_factory.mktemp("runs")).folder
    return checkpoint.load(sorted(run.glob("checkpoints/*"))[-1])


@pytest.mark.parametrize("env", ["squared", "target", "pendulum"])
def test_going_back_and_forward_again_is_exact(env, templates):
    game = game_of(templates.get(env) or paths.data_dir("examples") / env)
    seen = [snapshot(game)]
    for _ in range(60):
        game.advance()
        seen.append(snapshot(game))
    assert len({str(s[1:4]) for s in seen}) > 30        # it moved
    game.back(25)
    assert snapshot(game) == seen[35] and len(game.history) == 60
    game.redo()
    assert snapshot(game) == seen[36]
    for _ in range(24):
        game.redo()
    assert snapshot(game) == seen[60]
    game.back(1000)
    assert snapshot(game) == seen[0]


@pytest.mark.parametrize("kept", [2000, 5])
def test_a_policys_state_goes_back_too(kept, squared, learned, monkeypatch):
    """From a stored state, and by playing the ticks again where none is stored."""
    monkeypatch.setattr("puffer_sdk.playing.game.STATE_TICKS", kept)
    game = game_of(squared, past=learned)
    assert isinstance(game.player, PolicyPlayer) and "196,608" in game.player.name
    seen = []
    for _ in range(40):
        game.advance()
        seen.append((snapshot(game), game.values.tolist(), len(game.curve)))
    game.back(17)
    assert (snapshot(game), game.values.tolist(), len(game.curve)) == seen[22]
    game.redo()
    assert (snapshot(game), game.values.tolist(), len(game.curve)) == seen[23]


def test_after_going_back_another_future_is_possible(squared):
    game = game_of(squared)
    for _ in range(20):
        game.advance()
    past = [actions.copy() for actions in game.history]
    game.back(10)

    def hand(vec):
        vec.actions[:] = 2

    game.advance(hand)
    assert game.tick == 11 == len(game.history) and game.history[10].tolist() == [[2.0]]
    assert [a.tolist() for a in game.history[:10]] == [a.tolist() for a in past[:10]]
    game.back(5)
    game.redo()
    assert game.history[10].tolist() == [[2.0]]


def test_dice_depend_on_seed_and_tick(target):
    rolls = {}
    for seed in (1, 2):
        game = game_of(target, seed)
        assert isinstance(game.player, DicePlayer) and game.values is None
        for _ in range(5):
            game.advance()
        rolls[seed] = np.array(game.history)
    game = game_of(target, 1)
    for _ in range(5):
        game.advance()
    assert (np.array(game.history) == rolls[1]).all() and (rolls[1] != rolls[2]).any()
    assert rolls[1][..., 0].max() <= 8 and rolls[1][..., 1].max() <= 4 and rolls[1].min() == 0


def test_dice_obey_masks():
    vec = SimpleNamespace(num_agents=2, alive=None, act_sizes=(3, 1, 2),
                          actions=np.zeros((2, 3), np.float32),
                          action_mask=np.array([[0, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 1]], np.uint8))
    dice = DicePlayer(5)
    seen = np.array([dice.propose(vec)[0] for _ in range(200)])
    assert set(seen[:, 0, 0]) == {1} and set(seen[:, 1, 0]) == {0, 2}
    assert set(seen[:, 0, 2]) == {0} and set(seen[:, 1, 2]) == {1}
    assert -1 <= seen[..., 1].min() < -0.9 and 0.9 < seen[..., 1].max() <= 1


def test_returns_begin_anew_with_the_episode(squared):
    game = game_of(squared)
    total = 0.0
    while game.episode == 1:
        game.advance()
        total += game.rewards[0]
    assert game.last == total == game.returns[0] != 0
    game.advance()
    assert game.returns[0] == game.rewards[0]


# -- a library that was rebuilt ---------------------------------------------------------


@pytest.fixture
def mine(squared, tmp_path):
    shutil.copytree(squared, tmp_path / "squared", ignore=shutil.ignore_patterns("build"))
    return tmp_path / "squared"


def rebuilt(folder, old: str, new: str):
    header = folder / "squared.h"
    text = header.read_text()
    assert text.count(old) >= 1
    header.write_text(text.replace(old, new))
    built = build.build(folder)
    return Library(built.library, folder), config.resolve(folder, {}, spec=built.spec)


def test_the_state_is_kept_where_the_struct_is_the_same(mine):
    game = game_of(mine)
    for _ in range(7):
        game.advance()
    before = snapshot(game)
    said = game.adopt(*rebuilt(mine, "WIN          1.0f", "WIN          5.0f"), True)
    assert said == "rebuilt, the game goes on" and snapshot(game) == before
    while game.episode == 1 or game.rewards[0] <= 0:
        game.advance()
    assert game.rewards[0] == 5             # the new rules hold


@pytest.mark.parametrize(("old", "new", "fits"), some_or_all([
    ("    int tick; ", "    int spare;\n    int tick; ", True),
    ("#define OBS_SIZE (env->size * env->size)", "#define OBS_SIZE (env->size * env->size + 1)",
     False)], 0))
def test_another_struct_or_size_begins_a_new_game(old, new, fits, mine, learned):
    game = game_of(mine, past=learned)
    for _ in range(7):
        game.advance()
    said = game.adopt(*rebuilt(mine, old, new), fits)
    assert "a new game" in said and game.tick == 0 and game.history == []
    assert isinstance(game.player, PolicyPlayer) == fits
    game.advance()


def test_a_policy_of_another_size_is_refused(squared, learned):
    with pytest.raises(UsageError, match="another observation size"):
        game_of(squared, past=learned, **{"env.size": 7})


# -- the library that play compiles --------------------------------------------------------


def test_keys_are_compiled_in_where_the_program_has_them(mine):
    import ctypes

    program = mine / "squared.c"
    program.write_text('#include "squared.h"\n#include "build/squared_config.h"\n'
                       "static void c_keys(Squared* env) { env->actions[0] = 3; }\n"
                       "int main(void) { return 0; }\n")
    source = env_source.find(mine)
    built, resolved = rebuilding.build_player(source, headers.headers(), {"env.size": "9"})
    assert resolved.env["size"] == 9
    assert "env->size = 9;" in (mine / "build/squared_config.h").read_text()
    game = Game(Library(built.library, mine), resolved, None, 1, False, None)
    keys = ctypes.CDLL(str(built.library)).puffer_keys
    keys.argtypes = [ctypes.c_void_p]
    game.vec.actions[:] = 1
    keys(int(ffi().cast("intptr_t", game.library.api.env_struct(game.vec.handle, 0))))
    assert game.vec.actions.tolist() == [[3.0]]

    program.write_text("int main(void) { return 0; }\n")        # no c_keys: the plain library
    plain, _ = rebuilding.build_player(source, headers.headers(), {"env.size": "9"})
    assert not hasattr(ctypes.CDLL(str(plain.library)), "puffer_keys")


def test_a_policy_of_a_file_of_pufferlib_is_named_by_it(squared, learned):
    """It knows no step."""
    file = replace(learned, facts={**learned.facts, "step": 0, "weights": "squared_weights.bin"})
    assert game_of(squared, past=file).player.name == "the policy of squared_weights.bin"
    assert game_of(squared, past=learned).player.name.startswith("the policy of step ")


def test_a_network_of_the_user_plays(squared, tmp_path):
    net = tmp_path / "net.py"
    net.write_text("from puffer_sdk.training.reference.policy import Policy\n\n\n"
                   "class Net(Policy):\n    pass\n")
    with puffer_sdk.make(squared, num_envs=4) as vec, puffer_sdk.Trainer(
            vec, {"policy.torch_class": f"{net}:Net", "train.backend": "torch",
                  "train.minibatch_size": 64, "train.horizon": 16}) as trainer:
        saved = trainer.save(tmp_path / "net.safetensors")
    game = game_of(squared, past=checkpoint.load(saved))
    seen = [snapshot(game)]
    for _ in range(8):
        game.advance()
        seen.append(snapshot(game))
    assert game.values.shape == (1,) and np.isfinite(game.values).all()
    game.back(3)
    assert snapshot(game) == seen[5]
