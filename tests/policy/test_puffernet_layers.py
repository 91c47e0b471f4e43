"""puffernet_layers.h: PufferLib's other networks in C, against NumPy; files that do not fit."""
from __future__ import annotations

import ctypes
import math
import subprocess

import numpy as np
import pytest
from helpers.places import SPECIMENS
from helpers.policies import make_policy
from numpy.lib.stride_tricks import sliding_window_view

from puffer_sdk.base import paths

SOURCE = SPECIMENS / "puffernet" / "layers.c"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FLOATS, INTS = ctypes.POINTER(ctypes.c_float), ctypes.POINTER(ctypes.c_int)
HIDDEN = 128            # of every LinearLSTM


def compiled(folder, *command):
    target = folder / "layers.so"
    subprocess.run([*command, *WARNINGS, "-shared", "-fPIC", f"-I{paths.include_dir()}", SOURCE,
                    "-o", target, "-lm"], check=True)
    return ctypes.CDLL(str(target))


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("layers"), "gcc", "-std=c11", "-O2")


def pointer(array):
    return array.ctypes.data_as(INTS if array.dtype == np.int32 else FLOATS)


class Flat:
    """Weights in PufferLib's flat order: numbers are drawn as a reference network takes them."""

    def __init__(self, seed=0):
        self.rng, self.parts = np.random.default_rng(seed), []

    def take(self, *shape):
        scale = 1 / math.sqrt(shape[-1] if len(shape) > 1 else 4)
        part = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        self.parts.append(part.ravel())
        return part.astype(np.float64)

    def pad(self):
        self.parts.append(np.zeros(-sum(map(len, self.parts)) % 8, np.float32))

    def save(self, path, extra=0):
        numbers = np.concatenate([*self.parts, np.zeros(extra, np.float32)])
        path.write_bytes(numbers.astype("<f4").tobytes())
        return path, len(numbers)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


def affine(flat, inputs, outputs):
    weights, bias = flat.take(outputs, inputs), flat.take(outputs)
    return lambda x: x @ weights.T + bias


def lstm(flat, inputs, hidden, agents):
    of_input, of_state = flat.take(4 * hidden, inputs), flat.take(4 * hidden, hidden)
    bias = flat.take(4 * hidden) + flat.take(4 * hidden)
    h, c = np.zeros((2, agents, hidden))

    def step(x):
        nonlocal h, c
        i, f, g, o = np.split(x @ of_input.T + h @ of_state.T + bias, 4, axis=1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return h
    return step


def conv(flat, shape, inputs, outputs, size, stride):
    """shape: of the places, () for one number a channel; the first `len(shape)` axes at the end."""
    kernel = flat.take(outputs, inputs, *[size] * len(shape))
    bias = flat.take(outputs)
    axes = tuple(range(2, 2 + len(shape)))

    def step(x):
        windows = sliding_window_view(x, [size] * len(shape), axis=axes)
        windows = windows[(slice(None), slice(None), *[slice(None, None, stride)] * len(shape))]
        dims = "xyz"[:len(shape)]
        out = np.einsum(f"bi{dims}{dims.upper()},oi{dims.upper()}->bo{dims}", windows, kernel)
        return out + bias.reshape(1, -1, *[1] * len(shape))
    return step


def default_net(flat, agents, observation, hidden, actions):
    encoder = affine(flat, observation, hidden)
    actor, value = affine(flat, hidden, actions), affine(flat, hidden, 1)

    def step(x):
        x = np.maximum(encoder(x), 0)
        return actor(x), value(x)
    return step


def linear_lstm(flat, agents, observation, heads, *widths):
    encoder = affine(flat, observation, HIDDEN)
    actor, value = affine(flat, HIDDEN, sum(widths)), affine(flat, HIDDEN, 1)
    memory = lstm(flat, HIDDEN, HIDDEN, agents)

    def step(x):
        h = memory(gelu(encoder(x)))
        return actor(h), value(h)
    return step


def conv_lstm(flat, agents, side, channels, filters, hidden, actions):
    first = conv(flat, (side, side), channels, filters, 5, 3)
    second = conv(flat, (3, 3), filters, filters, 3, 1)
    linear = affine(flat, filters, hidden)
    actor, value = affine(flat, hidden, actions), affine(flat, hidden, 1)
    memory = lstm(flat, hidden, hidden, agents)

    def step(x):
        x = np.maximum(first(x.reshape(agents, channels, side, side)), 0)
        x = np.maximum(second(x), 0).reshape(agents, filters)
        h = memory(linear(x))
        return actor(h), value(h)
    return step


NETWORKS = {        # name: reference, what make_ takes after the agents, cells, widths
    "default": (default_net, [7, 16, 5], 7, [5]),
    "linearlstm": (linear_lstm, [42, 2, 3, 4], 42, [3, 4]),
    "convlstm": (conv_lstm, [11, 2, 6, 24, 5], 11 * 11 * 2, [5]),
}


def run(c, name, path, agents, ticks, inputs):
    _, sizes, _, widths = NETWORKS[name]
    logits, values = np.zeros((ticks, agents, sum(widths)), np.float32), \
        np.zeros((ticks, agents), np.float32)
    drawn, whole = np.full((ticks, agents, len(widths)), -1, np.float32), \
        np.full((ticks, agents, len(widths)), -1, np.int32)
    taken = getattr(c, f"run_{name}")(
        str(path).encode(), agents, pointer(np.int32(sizes)), ticks, pointer(inputs),
        pointer(logits), pointer(values), pointer(drawn), pointer(whole))
    return taken, logits, values, drawn, whole


def close(got, want):
    assert np.abs(got - want).max() <= 1e-6 * max(1.0, np.abs(want).max())


@pytest.mark.parametrize("agents", [1, 3])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_computes_what_numpy_does(name, agents, c, tmp_path):
    """Over ticks, with what it remembers; ids are those of the actor, agent by agent."""
    make, sizes, cells, widths = NETWORKS[name]
    flat, ticks = Flat(), 6
    step = make(flat, agents, *sizes)
    path, numbers = flat.save(tmp_path / "weights.bin")
    inputs = np.random.default_rng(1).standard_normal((ticks, agents, cells)).astype(np.float32)
    taken, logits, values, drawn, whole = run(c, name, path, agents, ticks, inputs)
    assert taken == numbers
    for tick in range(ticks):
        actor, value = step(inputs[tick].astype(np.float64))
        close(logits[tick], actor)
        close(values[tick], value[:, 0])
        heads = np.split(logits[tick], np.cumsum(widths)[:-1], axis=1)
        assert (whole[tick] == np.stack([head.argmax(1) for head in heads], axis=1)).all()
    assert (drawn >= 0).all() and (drawn < widths).all() and (drawn != whole).any()


def test_draws_follow_the_softmax_and_repeat(c, tmp_path):
    flat, ticks = Flat(3), 20_000
    step = default_net(flat, 1, 7, 16, 5)
    path, _ = flat.save(tmp_path / "weights.bin")
    inputs = np.repeat(np.random.default_rng(2).standard_normal((1, 1, 7)), ticks, 0)
    inputs = inputs.astype(np.float32)
    drawn = run(c, "default", path, 1, ticks, inputs)[3].ravel()
    wanted = np.exp(step(inputs[0].astype(np.float64))[0][0])
    wanted /= wanted.sum()
    shares = np.bincount(drawn.astype(int), minlength=5) / ticks
    assert np.abs(shares - wanted).max() < 4 * math.sqrt(0.25 / ticks)
    assert (drawn == run(c, "default", path, 1, ticks, inputs)[3].ravel()).all()


def layer(c, kind, path, rows, sizes, inputs, other, shape):
    out = np.full(shape, np.nan, np.float32)
    other = inputs if other is None else other
    taken = c.run_layer(kind.encode(), str(path).encode(), rows, pointer(np.int32(sizes)),
                        pointer(np.float32(inputs)), pointer(np.float32(other)), pointer(out),
                        out.size)
    return taken, out


def mingru(flat, hidden, layers, rows):
    weights = []
    for _ in range(layers):
        weights.append(flat.take(3 * hidden, hidden))
        flat.pad()
    states = np.zeros((layers, rows, hidden))

    def step(x):
        for W, h in zip(weights, states):
            hid, gate, proj = np.split(x @ W.T, 3, axis=1)
            g = np.where(hid >= 0, hid + 0.5, sigmoid(hid))
            h += sigmoid(gate) * (g - h)
            x = x + sigmoid(proj) * (h - x)
        return x
    return step


def test_layers_compute_what_numpy_does(c, tmp_path):
    rng, rows = np.random.default_rng(5), 3

    def inputs(*shape):
        return rng.standard_normal((rows, *shape)).astype(np.float32)

    x, y = inputs(11), inputs(4)
    norm = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)

    def layernorm(flat):
        scale, bias = flat.take(11), flat.take(11)
        return norm * scale + bias

    def twice(flat):
        return 2 * affine(flat, 11, 6)(x.astype(np.float64))

    def linear(flat):
        weights = flat.take(6, 11)
        flat.pad()
        return x @ weights.T

    def memory(flat):
        step = mingru(flat, 11, 2, rows)
        step(x)
        return step(2 * x)

    def table(flat):
        return flat.take(7, 5)[[6, 0, 3]]

    image, cube = inputs(2, 6, 9), inputs(2, 4, 5, 6)      # height 6, width 9
    ids = np.float32([6, 0, 3])
    cases = {
        "affine": ([11, 6], x, None, lambda flat: affine(flat, 11, 6)(x.astype(np.float64))),
        "twice": ([11, 6], x, None, twice),
        "linear": ([11, 6], x, None, linear),
        "relu": ([11], x, None, lambda flat: np.maximum(x, 0)),
        "gelu": ([11], x, None, lambda flat: gelu(x.astype(np.float64))),
        "layernorm": ([11], x, None, layernorm),
        "cat": ([11, 4], x, y, lambda flat: np.concatenate([x, y], 1)),
        "max": ([3, 2], image[:, 0, :1, :6], None,
                lambda flat: image[:, 0, 0, :6].reshape(rows, 3, 2).max(1)),
        "conv2d": ([9, 6, 2, 3, 3, 2], image, None,
                   lambda flat: conv(flat, (6, 9), 2, 3, 3, 2)(image.astype(np.float64))),
        "conv3d": ([6, 5, 4, 2, 3, 2, 2], cube, None,
                   lambda flat: conv(flat, (4, 5, 6), 2, 3, 2, 2)(cube.astype(np.float64))),
        "mingru": ([11, 2], x, 2 * x, memory),
        "embedding": ([1, 7, 5], ids, None, table),
    }
    for kind, (sizes, given, other, reference) in cases.items():
        flat = Flat(7)
        want = reference(flat)
        path, numbers = flat.save(tmp_path / f"{kind}.bin", extra=0 if flat.parts else 1)
        taken, out = layer(c, kind, path, rows, sizes, np.ascontiguousarray(given),
                           other, want.shape)
        assert taken == (numbers if flat.parts else 0), kind
        close(out, want)
    path, _ = Flat(7), Flat(7)
    (tmp_path / "one.bin").write_bytes(b"\0" * 4)
    out = layer(c, "one_hot", tmp_path / "one.bin", rows, [1, 7], ids, None, (rows, 7))[1]
    assert (out.view(np.int32) == np.eye(7, dtype=np.int32)[[6, 0, 3]]).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_file_of_other_sizes_is_told(name, c, tmp_path, capfd):
    make, sizes, cells, _ = NETWORKS[name]
    flat = Flat()
    make(flat, 2, *sizes)
    inputs = np.zeros((1, 2, cells), np.float32)
    flat.parts[-1] = flat.parts[-1][:-1]
    short, numbers = flat.save(tmp_path / "short.bin")
    taken, _, _, drawn, _ = run(c, name, short, 2, 1, inputs)
    assert taken == -1 and (drawn == -1).all()          # and actions are left alone
    assert capfd.readouterr().err == (f"puffernet: {short}: it has {numbers} weights, and the "
                                      "program's network takes more\n")
    long, _ = flat.save(tmp_path / "long.bin", extra=5)
    assert run(c, name, long, 2, 1, inputs)[0] == numbers + 1
    said = capfd.readouterr().err
    assert f"takes {numbers + 1} of its {numbers + 5} weights" in said and said.count("\n") == 1


@pytest.mark.parametrize("name", NETWORKS)
def test_an_export_of_ours_says_which_lines_to_change(name, c, tmp_path, capfd):
    path = make_policy(tmp_path).export("c", tmp_path / "policy.bin")
    inputs = np.zeros((1, 1, NETWORKS[name][2]), np.float32)
    assert run(c, name, path, 1, 1, inputs)[0] == -1
    said = capfd.readouterr().err
    assert said.count("\n") == 1 and "make_puffernet, forward_puffernet and free_puffernet" in said
    assert "puffer-sdk export --demo" in said


def test_other_compilers_and_sanitizers_agree_to_it(tmp_path):
    """C++ and clang take the same names; nothing is read beside its array."""
    program = tmp_path / "all.c"
    program.write_text(
        '#define PUFFERNET_LAYERS\n#include "puffernet.h"\nint main(int n, char** files) {\n'
        "    Weights* w = n > 1 ? load_weights(files[1]) : NULL;\n"
        "    int sizes[2] = {3, 4}, ids[4] = {0};\n    float actions[4] = {0};\n"
        "    LinearLSTM* net = make_linearlstm(w, 2, 42, sizes, 2);\n    if (!net) return 1;\n"
        "    for (int t = 0; t < 3; t++) forward_linearlstm(net, net->obs, actions);\n"
        "    forward_linearlstm(net, net->obs, ids);\n"
        "    softmax_multidiscrete(net->multidiscrete, net->actor->output, ids);\n"
        "    free_linearlstm(net);\n    free_default(NULL);\n    free_convlstm(NULL);\n"
        "    free(w);\n    return ids[0] < 0 || actions[3] > 3;\n}\n")
    flat = Flat()
    linear_lstm(flat, 2, 42, 2, 3, 4)
    path, _ = flat.save(tmp_path / "weights.bin")
    for command in (["gcc", "-std=c11", "-g", "-fsanitize=address,undefined",
                     "-fno-sanitize-recover=all"], ["clang", "-std=c11"],
                    ["g++", "-x", "c++", "-std=c++17"]):
        subprocess.run([*command, *WARNINGS, f"-I{paths.include_dir()}", program, "-o",
                        tmp_path / "all", "-lm"], check=True)
        subprocess.run([tmp_path / "all", path], check=True)


def test_pufferlib_3_has_a_bias_in_linear_and_no_value_behind_the_logits(tmp_path):
    program = tmp_path / "old.c"
    program.write_text(
        '#define PUFFERNET_LAYERS 3\n#include "puffernet.h"\nint main(int n, char** files) {\n'
        "    Weights* w = load_weights(files[n - 1], 14);\n    if (!w) return 1;\n"
        "    Linear* layer = make_linear(w, 2, 3, 3);\n    int sizes[1] = {3}, ids[2];\n"
        "    float x[6] = {1, 0, 0, 0, 0, 1};\n    linear(layer, x);\n"
        "    argmax_multidiscrete(make_multidiscrete(2, sizes, 1), layer->output, ids);\n"
        '    printf("%d %d %d %g\\n", w->idx, ids[0], ids[1], layer->output[5]);\n'
        "    return 0;\n}\n")
    numbers = np.float32([0, 1, 0,  0, 0, 0,  2, 0, 5,  0, 0, 0.5])
    (tmp_path / "w.bin").write_bytes(numbers.tobytes())
    subprocess.run(["gcc", "-std=c11", *WARNINGS, f"-I{paths.include_dir()}", program, "-o",
                    tmp_path / "old", "-lm"], check=True)
    said = subprocess.run([tmp_path / "old", tmp_path / "w.bin"], check=True, capture_output=True,
                          text=True).stdout
    assert said == "12 2 2 5.5\n"
