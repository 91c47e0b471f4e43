"""puffernet.h plays networks that see images, grids, ids and lists; no part kills a program."""
from __future__ import annotations

import struct
import zlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.policies import SEEING, make_policy
from helpers.puffernet_programs import (
    assert_close,
    forged,
    numbers,
    opened,
    write_all,
)
from helpers.short_or_long import some_or_all

from puffer_sdk.policy import export as exporting
from puffer_sdk.policy.export import export

pytest_plugins = ["helpers.puffernet_fixtures"]

FIXED = 104 + 4 * 2             # of a trailer, before its parts, with two heads


@pytest.mark.parametrize("case", SEEING)
def test_agrees_with_torch(case, play, tmp_path):
    made = make_policy(tmp_path, **SEEING[case])
    script = made.script()
    _, logits, values = play(made, script)
    wanted_logits, wanted_values = made.expected(script)
    assert_close(logits, wanted_logits)
    assert_close(values, wanted_values)
    assert values.std() > 0.01


def test_agrees_by_the_calls_of_oceans_programs(play, tmp_path):
    made = make_policy(tmp_path, **SEEING["everything"])
    script = made.script()
    _, logits, _ = play(made, script, call="five")
    assert_close(logits, made.expected(script)[0])


@pytest.mark.parametrize("compiler", some_or_all(["emcc", "g++", "clang", "clang++"], 0, 1))
def test_every_compiler_agrees(compiler, play, tmp_path):
    made = make_policy(tmp_path, **SEEING["everything"])
    script = made.script(10)
    _, logits, _ = play(made, script, compiler=compiler)
    assert_close(logits, made.expected(script)[0])


def test_a_nan_is_noticed_in_every_part(play, tmp_path, capfd):
    """Neither max(0, x) nor the maximum over things hides it; as an id it is none."""
    made = make_policy(tmp_path, agents=4, obs_size=30,
                       encoder="image 0 3x3x1: 2x2 + list 9 3x2: 2 + ids 15 2 of 3")
    script = made.script(ticks=2)
    for agent, place in enumerate((4, 11, 16, 29)):
        script.observations[0, agent, place] = np.nan
    _, _, values = play(made, script)
    assert np.isnan(values[0]).tolist() == [True, True, False, True]
    assert np.isfinite(values[1]).all()
    assert "is not finite" in capfd.readouterr().err


def test_the_trailer_says_what_the_parts_are(tmp_path):
    made = make_policy(tmp_path, (3, 1), hidden=8, layers=2, obs_size=25,
                       encoder="grid 1 2x3x2 of 5,0: 4x2 + list 14 3x3 mask 2: 6")
    data = made.export("c", tmp_path / "p.bin").read_bytes()
    length = struct.unpack_from("<I", data, len(data) - 12)[0]
    words = np.frombuffer(data[-length:-16], "<u4")
    assert words[0] == 2 and words[1] == numbers(data) and words[2:6].tolist() == [25, 8, 2, 2]
    assert words[FIXED // 4:].tolist() == [2, 1, 2, 3, 2, 0, 0, 2, 1, 5, 0, 4, 2, 1,
                                           14, 3, 1, 3, 1, 3, 0, 1, 6, 1, 1]
    floats = np.frombuffer(data[:-length], "<f4")
    assert np.array_equal(floats[-24:-6], made.tensors["parts.1.0"].ravel())
    encoder = made.tensors["encoder"]
    assert encoder.shape == (8, 4 + 1 * 2 * 4 + 6)
    assert np.array_equal(floats[:encoder.size], encoder.ravel())


def test_files_of_flat_networks_are_those_of_before(tmp_path):
    made = make_policy(tmp_path, (3, 1), obs_size=5, hidden=8)
    data = made.export("c", tmp_path / "p.bin").read_bytes()
    length = struct.unpack_from("<I", data, len(data) - 12)[0]
    assert length == 120 + 4 * 2 and struct.unpack_from("<I", data, len(data) - length) == (1,)


# ---- files that lie ---------------------------------------------------------------------------


@pytest.fixture
def seeing(tmp_path) -> bytes:
    """The policy that open.c asks for, with parts."""
    made = make_policy(tmp_path, act_sizes=(3, 1), obs_size=5, hidden=8, layers=2,
                       encoder="grid 0 2x1x1 of 3: 2 + list 2 2x1 mask 0: 3")
    return export(made.path, output=tmp_path / "seeing.bin").read_bytes()


def test_words_that_lie_are_refused(opener, seeing, tmp_path):
    """Every word of the parts, with each of many values: none crashes (under sanitizers), and none
    that changes the network's sizes opens."""
    start = 4 * numbers(seeing)
    count = (len(seeing) - 16 - start - FIXED) // 4
    good = np.frombuffer(seeing[start + FIXED:-16], "<u4").tolist()
    assert good == [2, 0, 2, 1, 1, 0, 0, 1, 1, 3, 2, 1, 1, 2, 2, 1, 1, 1, 1, 0, 1, 3, 1, 1]
    lies = [(place, value) for place in range(count)
            for value in (0, 1, 2, 3, 4, 5, 7, 4097, 1 << 15, 1 << 24, 1 << 31, 0xffffffff)
            if value != good[place]]
    words, said = opened(opener, write_all(tmp_path, [
        forged(seeing, FIXED + 4 * place, value) for place, value in lies]))
    accepted = {place for (place, _), word in zip(lies, words, strict=True) if word != "--"}
    # one id less or more, whose weights fit into the gap; a list one element on; without its mask
    assert accepted == {9, 13, 18}
    assert all(word in ("--", "LM") for word in words)
    assert opened(opener, write_all(tmp_path, [seeing]))[0] == ["LM"]
    assert "the file is damaged" in said


def test_trailers_that_are_cut_or_longer_are_refused(opener, seeing, tmp_path):
    start = 4 * numbers(seeing)
    words, files = np.frombuffer(seeing[start:-16], "<u4"), []
    for kept in range(26, len(words) + 3):
        trailer = np.resize(np.concatenate([words, np.zeros(3, "<u4")]), kept)
        if kept != len(words):
            body = seeing[:start] + trailer.astype("<u4").tobytes()
            files.append(body + struct.pack("<II8s", zlib.crc32(body), 4 * kept + 16, b"PUFFNET1"))
    files += [forged(seeing, 0, 1), forged(seeing, 0, 3)]
    found, said = opened(opener, write_all(tmp_path, files))
    assert set(found) == {"--"} and len(found) == len(files)
    assert said.count("a newer puffer-sdk wrote this file") == 2


def test_random_parts_never_crash(opener, seeing, tmp_path):
    """Several words at once, small values: many are networks, of other sizes than the weights."""
    draw, start = np.random.default_rng(0), 4 * numbers(seeing)
    files = []
    for _ in range(300):
        words = np.frombuffer(seeing[start:-16], "<u4").copy()
        for place in draw.integers(FIXED // 4, len(words), draw.integers(1, 5)):
            words[place] = draw.choice([0, 1, 2, 3, 4, 5, 1 << 12, 1 << 24, 0xffffffff])
        body = seeing[:start] + words.tobytes()
        files.append(body + struct.pack("<II8s", zlib.crc32(body), 4 * len(words) + 16,
                                        b"PUFFNET1"))
    found, _ = opened(opener, write_all(tmp_path, files))
    assert len(found) == 300


def test_weights_that_are_missing_are_refused(opener, seeing, tmp_path):
    policy = exporting.read_policy(make_policy(
        tmp_path, act_sizes=(3, 1), obs_size=5, hidden=8, layers=2,
        encoder="image 0 4x1x1: 9").path)
    lacking = replace(policy, weights={**policy.weights, "parts.0.0": np.zeros((0, 1), np.float32)})
    words, said = opened(opener, write_all(tmp_path, [exporting.pack(policy),
                                                      exporting.pack(lacking)]))
    assert words == ["LM", "--"] and "and a network of these sizes has" in said


def test_ids_are_exact_and_order_is_by_kernel_row_column_channel(play, tmp_path):
    """One weight at a time in a convolution of ids: what comes out is what stands there."""
    made = make_policy(tmp_path, (2,), hidden=4, layers=0, obs_size=8,
                       encoder="grid 0 2x2x2 of 3,0: 16x2")
    with torch.no_grad():
        made.policy.parts[0][0].copy_(torch.eye(16))
        made.policy.encoder.copy_(torch.arange(64.0).view(4, 16) / 10)
    script = made.script(ticks=3)
    script.observations[:] = np.float32([[[0, 5, 2, -5, 1.5, 1, 3, 2]], [[1, 0, 1, 0, 1, 0, 1, 0]],
                                         [[np.inf, 1, -1, 2, 2, 3, 0, 4]]])
    file = made.export("c", tmp_path / "p.bin")
    _, logits, _ = play(made, script, file=file)
    assert_close(logits, made.expected(script)[0])
