"""puffernet.h: the trainer's numbers in C, C++ and WebAssembly; no file that kills a program."""
from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.places import SPECIMENS
from helpers.policies import CASES, SEEING, make_policy
from helpers.puffernet_programs import (
    COMPILERS,
    KINDS,
    assert_close,
    compile_c,
    forged,
    numbers,
    opened,
    write_all,
)
from helpers.short_or_long import long_only, some_or_all

import puffer_sdk
from puffer_sdk.base import paths
from puffer_sdk.policy import export as exporting
from puffer_sdk.policy.export import export
from puffer_sdk.raylib import headers
from puffer_sdk.training.native.actor import NativeActor
from puffer_sdk.training.reference.action_heads import ActionHeads, Actor, apply_mask

pytest_plugins = ["helpers.puffernet_fixtures"]
ALL = {**CASES, **SEEING}
TRAINABLE = [case for case in ALL if case != "no layers"]


def test_16_bits_are_bf16(play, tmp_path):
    made = make_policy(tmp_path, **CASES["multi-discrete"])
    script = made.script(ticks=9)
    halves = (script.observations.view(np.uint32) >> 16).astype(np.uint16)
    floats = (halves.astype(np.uint32) << 16).view(np.float32)
    assert (floats != script.observations).any()
    wanted = play(made, replace(script, observations=floats))
    got = play(made, replace(script, observations=halves), kind=KINDS["bf16"])
    for one, other in zip(got, wanted, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("call", ["act", "five"])
@pytest.mark.parametrize("case", CASES)
def test_agrees_with_torch_over_episodes_with_endings(case, call, play, tmp_path):
    made = make_policy(tmp_path, **CASES[case])
    script = made.script()
    assert script.ended[1:].any()
    _, logits, values = play(made, script, call=call)
    wanted_logits, wanted_values = made.expected(script)
    assert_close(logits, wanted_logits)
    assert_close(values, wanted_values)
    assert np.abs(values).max() > 0.05 and values.std() > 0.01


@pytest.mark.parametrize("case", TRAINABLE)
def test_agrees_with_the_native_trainer(case, play, tmp_path):
    """Values as they are; logits through the log-probabilities of what the trainer drew."""
    made = make_policy(tmp_path, **ALL[case])
    script = made.script()
    _, logits, values = play(made, script)
    actor = NativeActor(made.tensors, made.config, made.dtype, made.obs_size, made.act_sizes, 5,
                        made.agents)
    heads = ActionHeads(made.act_sizes)
    native = Actor(made.policy, made.act_sizes, 0, made.agents)
    for tick in range(len(script.ended)):
        actor.ended(script.ended[tick])
        mask = script.masks[tick] if made.masked else None
        actions, log_probs, native_values = actor.forward(script.observations[tick], mask)
        assert_close(values[tick], native_values)
        own = torch.from_numpy(logits[tick].copy())
        if made.masked:
            own = apply_mask(own, native.to_mask(mask))
        own = heads.log_prob(own, getattr(made.policy, "logstd", None), torch.from_numpy(actions))
        assert_close(own.detach().numpy(), log_probs)


@pytest.mark.parametrize("case", TRAINABLE)
def test_greedy_actions_are_the_trainers(case, play, tmp_path):
    made = make_policy(tmp_path, **ALL[case])
    script = made.script()
    actions, _, _ = play(made, script, greedy=1)
    actor = NativeActor(made.tensors, made.config, made.dtype, made.obs_size, made.act_sizes, 5,
                        made.agents, greedy=True)
    for tick in range(len(script.ended)):
        actor.ended(script.ended[tick])
        wanted = actor.act(script.observations[tick], script.masks[tick] if made.masked else None)
        assert_close(actions[tick], wanted)


def test_files_that_say_so_divide_bytes_by_255(play, tmp_path):
    """As older versions wrote them: the factor was a word of the trailer."""
    made = make_policy(tmp_path, **CASES["scaled bytes"])
    with torch.no_grad():
        made.policy.encoder.mul_(255)
    script, file = made.script(), tmp_path / "old.bin"
    policy = replace(exporting.read_policy(made.path), weights=made.tensors)
    data = bytearray(exporting.pack(policy))
    begin = len(data) - 120 - 4 * len(made.act_sizes)
    data[begin + 28:begin + 32] = struct.pack("<I", 1)
    data[-16:-12] = struct.pack("<I", zlib.crc32(data[:-16]))
    file.write_bytes(data)
    _, logits, values = play(made, script, file=file)
    made.policy.scale_obs = True
    assert_close(logits, made.expected(script)[0])
    assert_close(values, made.expected(script)[1])


def test_without_terminals_memory_goes_on(play, tmp_path):
    made = make_policy(tmp_path, layers=2)
    script = made.script()
    _, logits, values = play(made, script, call="three")
    with_endings = made.expected(script)
    script.ended[:] = 0
    wanted = made.expected(script)
    assert_close(logits, wanted[0])
    assert_close(values, wanted[1])
    assert np.abs(wanted[1] - with_endings[1]).max() > 0.01


@pytest.mark.parametrize("case", some_or_all(["mixed", "scaled bytes", "masked", "large"], 0))
@pytest.mark.parametrize("compiler", [name for name in COMPILERS if name != "gcc"])
def test_every_compiler_agrees(case, compiler, play, tmp_path):
    made = make_policy(tmp_path, **CASES[case])
    script = made.script()
    _, logits, values = play(made, script, compiler=compiler)
    wanted_logits, wanted_values = made.expected(script)
    assert_close(logits, wanted_logits)
    assert_close(values, wanted_values)


# ---- what is drawn ----------------------------------------------------------------------------


def many(tmp_path, **case):
    """One tick of 20,000 agents that all see the same."""
    made = make_policy(tmp_path, agents=20_000, **case)
    script = made.script(ticks=1)
    script.observations[:] = script.observations[:, :1]
    if made.masked:
        script.masks[:] = script.masks[:, :1]
    return made, script


def chi_square(counts, probabilities) -> float:
    expected = probabilities * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("seed", [1, 2])
def test_ids_are_drawn_from_the_softmax(seed, play, tmp_path):
    made, script = many(tmp_path, act_sizes=(9, 5), gain=3.0)
    actions, logits, _ = play(made, script, seed=seed)
    first = 0
    for head, (width, bound) in enumerate(((9, 39.0), (5, 30.0))):     # p < 1e-5 beyond
        p = torch.softmax(torch.from_numpy(logits[0, 0, first:first + width].astype(float)), 0)
        counts = np.bincount(actions[0, :, head].astype(int), minlength=width)
        assert len(counts) == width and chi_square(counts, p.numpy()) < bound
        assert p.max() > 1.5 / width                    # and not merely uniform
        first += width
    table = np.zeros((9, 5))
    np.add.at(table, tuple(actions[0].astype(int).T), 1)
    product = np.outer(table.sum(1), table.sum(0)) / table.sum() ** 2
    assert chi_square(table, product) < 90              # the heads' draws are independent


def test_illegal_ids_are_never_drawn(play, tmp_path):
    made, script = many(tmp_path, act_sizes=(9, 5), masked=True)
    actions, logits, _ = play(made, script)
    legal = script.masks[0, 0, :9] != 0
    assert 1 < legal.sum() < 9
    p = np.where(legal, np.exp(logits[0, 0, :9].astype(float)), 0)
    counts = np.bincount(actions[0, :, 0].astype(int), minlength=9)
    assert not counts[~legal].any()
    assert chi_square(counts[legal], (p / p.sum())[legal]) < 40


def test_where_nothing_is_legal_an_agent_waits_and_remembers(play, tmp_path):
    """The tick on which it waits is as if it had not been."""
    made = make_policy(tmp_path, agents=3, act_sizes=(4,), masked=True)
    script = made.script(ticks=3)
    script.ended[:], script.masks[:] = 0, 1
    script.masks[1, 0] = 0
    actions, logits, values = play(made, script)
    assert not actions[1, 0].any()
    script.observations[:] = script.observations[[1, 0, 2]]
    script.masks[:] = script.masks[[1, 0, 2]]               # it waits first, then acts twice
    _, again, valued = play(made, script)
    np.testing.assert_array_equal(logits[[0, 2], 0], again[[1, 2], 0])
    np.testing.assert_array_equal(values[[0, 2], 0], valued[[1, 2], 0])
    assert np.abs(logits[2, 1] - again[2, 1]).max() > 0     # who did not wait saw something else


def test_continuous_actions_are_normal_and_not_clipped(play, tmp_path):
    made, script = many(tmp_path, act_sizes=(1, 3, 1, 1, 1))
    with torch.no_grad():
        made.policy.logstd.copy_(torch.tensor([-30.0, 0.3, -1.0, 9.0]))
    file = export(resaved(made), output=tmp_path / "p.bin")
    actions, logits, _ = play(made, script, file=file)
    for head, column, deviation in ((0, 0, np.exp(-20)), (2, 4, np.exp(0.3)), (3, 5, np.exp(-1)),
                                    (4, 6, np.exp(2))):
        noise = (actions[0, :, head].astype(float) - logits[0, :, column]) / deviation
        if deviation < 1e-6:
            assert np.abs(actions[0, :, head] - logits[0, :, column]).max() < 1e-6
            continue
        assert abs(noise.mean()) < 0.04 and abs(noise.std() - 1) < 0.03
        assert abs((noise ** 3).mean()) < 0.1 and abs((noise ** 4).mean() - 3) < 0.25
    assert np.abs(actions[0, :, 4]).max() > 10
    means, _, _ = play(made, script, file=file, call="five")
    assert np.array_equal(means[0][:, [0, 2, 3, 4]], logits[0][:, [0, 4, 5, 6]])


def resaved(made) -> Path:
    from puffer_sdk.training import checkpoint
    facts = checkpoint.load(made.path).facts
    return checkpoint.save(made.path, made.tensors, facts)


def test_the_same_seed_draws_the_same(play, tmp_path):
    made = make_policy(tmp_path, act_sizes=(5, 1), agents=20)
    script = made.script()
    first, again, other = (play(made, script, seed=seed)[0] for seed in (4, 4, 5))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("compiler", ["gcc", "clang++"])
def test_random_play_is_uniform(compiler, tmp_path):
    """The program includes the header twice."""
    program = compile_c(COMPILERS[compiler], SPECIMENS / "puffernet" / "random.c",
                        tmp_path / "random")
    text = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    *counts, mean, squares, low, high = map(float, text.split())
    first, third, masked = np.split(np.array(counts), [3, 7])
    assert chi_square(first, np.full(3, 1 / 3)) < 25 and chi_square(third, np.full(4, 1 / 4)) < 30
    assert masked[0] == 0 == masked[2] and abs(masked[1] - masked[3]) < 1200
    assert abs(mean) < 0.01 and abs(squares - 1 / 3) < 0.01 and -1 <= low < -0.99 < 0.99 < high <= 1


# ---- files ------------------------------------------------------------------------------------


@pytest.fixture
def good(tmp_path) -> bytes:
    """The policy that open.c asks for: 5 observations, hidden 8, 2 layers, heads 3 and 1."""
    made = make_policy(tmp_path, act_sizes=(3, 1), obs_size=5, hidden=8, layers=2)
    return export(made.path, output=tmp_path / "good.bin").read_bytes()


def test_a_file_that_does_not_exist(opener, tmp_path):
    words, said = opened(opener, [tmp_path / "nothing.bin"])
    assert words == ["--"]
    assert said.splitlines() == [f"puffernet: {tmp_path}/nothing.bin: No such file or directory"]


def test_what_is_no_policy_is_refused_with_a_sentence(opener, tmp_path):
    (tmp_path / "folder").mkdir()
    files = write_all(tmp_path, [b"", b"x", b"hello, world", bytes(119), bytes(4000),
                                 np.full(500, np.nan, np.float32).tobytes()])
    words, said = opened(opener, [tmp_path / "folder", *files])
    assert set(words) == {"--"}
    for file in (tmp_path / "folder", *files):
        assert f"puffernet: {file}: " in said


def test_a_truncated_file_is_refused(opener, good, tmp_path):
    weights = 4 * numbers(good)
    cuts = [n for n in range(0, len(good), 7) if n != weights]
    words, said = opened(opener, write_all(tmp_path, [good[:cut] for cut in cuts]))
    whole = {cut for cut, word in zip(cuts, words) if word != "--"}
    # a plain file, and one that lacks nothing but the gap behind the last tensor, are complete
    assert all(word in ("--", "-M") for word in words) and len(words) == len(cuts)
    assert all(weights - 32 < cut <= weights for cut in whole)
    assert said.count("puffernet: ") >= 2 * len(cuts) - 2 * len(whole)


def test_every_flipped_bit_is_noticed(opener, good, tmp_path):
    draw = np.random.default_rng(0)
    places = {*map(int, draw.integers(0, 8 * len(good), 150)),
              *range(32 * numbers(good), 8 * len(good), 5)}
    flipped = []
    for bit in sorted(places):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        flipped.append(bytes(data))
    words, _ = opened(opener, write_all(tmp_path, flipped))
    assert set(words) == {"--"} and len(words) == len(flipped)


def test_a_trailer_that_lies_is_refused(opener, good, tmp_path):
    lies = [forged(good, place, value) for place in (0, 4, 8, 12, 16, 20, 104, 108)
            for value in (0, 7, 0x7fffffff, 0xffffffff, 1 << 15, 1 << 24, 1 << 16)]
    lies += [forged(good, 0, 1, length) for length in
             (0, 4, 119, 120, 124, 132, len(good), len(good) + 4, 0xfffffffc, 0xffffffff)]
    lies += [good[-n:] for n in (128, 124, 120, 16, 8)]
    lies += [forged(good, 8 * 5 + 4 * i, 0x41414141) for i in range(8)]     # a name may be anything
    words, said = opened(opener, write_all(tmp_path, lies))
    assert words[-8:] == ["LM"] * 8 and set(words[:-8]) == {"--"}
    assert "its hidden size is 7, and the program asks for 8" in said
    assert "its action head 0 has width 7, and the program asks for 3" in said
    assert "a newer puffer-sdk wrote this file" in said
    unending = bytearray(good)
    unending[4 * numbers(good) + 40:4 * numbers(good) + 72] = b"n" * 32
    words, _ = opened(opener, write_all(tmp_path, [forged(bytes(unending), 0, 1)]))
    assert words == ["--"]


def test_the_good_file_and_pufferlibs_own_open(opener, good, tmp_path):
    """Upstream writes no trailer; 4.0 forgets the gaps when it counts, so the end is cut off."""
    made = make_policy(tmp_path, act_sizes=(3, 1), obs_size=5, hidden=8, layers=2)
    weights = good[:4 * numbers(good)]
    flat = np.concatenate([weight.ravel() for weight in
                           (made.tensors[n] for n in ("encoder", "decoder", "logstd", "layers.0",
                                                      "layers.1"))])
    gaps = len(weights) // 4 - len(flat)
    assert 0 < gaps <= 7
    cut = weights[:4 * len(flat)]
    words, said = opened(opener, write_all(tmp_path, [good, weights, cut, weights[:-32]]))
    assert words == ["LM", "-M", "-M", "--"]
    assert f"PufferLib left out its last {gaps} weights; zeros stand in" in said
    assert "it states no sizes" in said
    assert "it holds 464 weights, and a network of these sizes has 472" in said


def test_a_policy_of_numbers_that_are_not_finite_plays_zeros(play, tmp_path, capfd):
    made = make_policy(tmp_path, act_sizes=(3, 1), agents=3)
    script = made.script(ticks=20)
    script.observations[5, 1] = np.nan
    actions, _, values = play(made, script)
    assert (actions[5, 1] == 0).all() and np.isnan(values[5, 1])
    assert np.isfinite(values[6:]).all() and np.isfinite(actions).all()
    said = capfd.readouterr().err
    assert said.count("puffernet: the policy of agent 1 computed a number that is not finite") == 1


# ---- Ocean's programs -------------------------------------------------------------------------


@long_only
def test_an_ocean_demo_plays_what_was_trained_here(tmp_path):
    """drum.c as it stands: hard constants, resources/, no word about the file's origin."""
    folder = shutil.copytree(SPECIMENS / "ocean" / "drum", tmp_path / "drum")
    null = headers.null_library()
    program = tmp_path / "demo"
    subprocess.run(["gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", f"-I{headers.headers()}",
                    f"-I{paths.include_dir()}", folder / "drum.c", null, "-o", program, "-lm"],
                   check=True)

    def run() -> tuple[float, str]:
        done = subprocess.run([program], cwd=tmp_path, capture_output=True, text=True, check=True)
        return float(done.stdout), done.stderr

    idle, said = run()
    assert "drum_weights.bin: No such file or directory" in said
    trained = puffer_sdk.train(folder, {"policy.hidden_size": 32, "policy.num_layers": 1,
                                        "train.total_timesteps": 3_000_000},
                               runs_dir=tmp_path / "runs")
    target = tmp_path / "resources" / "drum" / "drum_weights.bin"
    target.parent.mkdir(parents=True)
    export(trained.folder, output=target)
    perf, said = run()
    assert said == "" and perf > 0.6 > 0.5 > idle
