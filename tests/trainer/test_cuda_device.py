"""The emulated device keeps device.h's contract, and finds what a program forgets."""
import mmap
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from helpers import cuda_calls, cuda_device
from helpers import kernel_reference as reference
from helpers.cuda_calls import bf16_bits, same
from helpers.cuda_device import MODES, Device, at, ffi
from helpers.places import TESTS
from helpers.short_or_long import long_only, some_or_all

NULL, PAGE = ffi().NULL, mmap.PAGESIZE


@pytest.fixture(scope="module")
def library():
    return cuda_device.library()


@pytest.fixture
def start(library, monkeypatch):
    """start(mode=..., memory=..., pin=...) -> a device, closed in the end"""
    opened = []

    def start(**told):
        for name in "MODE", "MEMORY", "SEED", "PIN":
            variable = "PUFFER_CUDA_EMULATED" + ("" if name == "MODE" else f"_{name}")
            value = told.get(name.lower())
            if value is None:
                monkeypatch.delenv(variable, raising=False)
            else:
                monkeypatch.setenv(variable, str(value))
        opened.append(Device(library))
        return opened[-1]

    yield start
    for device in opened:
        device.close()


@pytest.fixture(params=MODES)
def device(start, request):
    return start(mode=request.param)


def fill(device, stream, place, byte, size=64):
    device.stream_fill(stream, place, byte, size)


# ---- when a call is done ------------------------------------------------------------------------


def test_calls_are_done_when_the_host_waits_or_at_once(start):
    seen = {}
    for mode in MODES:
        device = start(mode=mode)
        host, place = device.pinned(4, np.uint8), device.empty(4)
        seen[mode] = []
        for byte in range(1, 40):
            fill(device, device.main, place, byte, 4)
            device.stream_download(device.main, at(host), place, 4)
            seen[mode].append(int(host[0]))
        assert device.stream_wait(device.main) == 0 and host.tolist() == [39] * 4
    assert seen["late"] == [0] * 39 and seen["early"] == list(range(1, 40))
    assert seen["shuffled"] not in (seen["late"], seen["early"])
    again = []
    device = start(mode="shuffled")
    host, place = device.pinned(4, np.uint8), device.empty(4)
    for byte in range(1, 40):
        fill(device, device.main, place, byte, 4)
        device.stream_download(device.main, at(host), place, 4)
        again.append(int(host[0]))
    assert again == seen["shuffled"]                # the same mixture each time


def handed_over(device, told: bool):
    """What one stream writes, another reads: with a stream_after or without"""
    first, second, event = device.stream(), device.stream(), device.event()
    place, copy, host = device.empty(64), device.empty(64), device.pinned(64, np.uint8)
    for byte in range(1, 9):
        fill(device, first, place, byte)
        device.stream_mark(first, event)
        if told:
            device.stream_after(second, event)
        device.stream_copy(second, copy, place, 64)
        device.stream_mark(second, event)
        if told:
            device.stream_after(first, event)
    device.stream_download(second, at(host), copy, 64)
    assert device.stream_wait(second) == 0
    return set(host.tolist())


def test_streams_that_wait_for_each_other_agree(device):
    assert handed_over(device, told=True) == {8}


def test_a_wait_that_was_forgotten_shows(start):
    seen = {mode: handed_over(start(mode=mode), told=False) for mode in MODES}
    assert seen["early"] == {8} and seen["late"] == {0}, seen


def test_a_pinned_buffer_that_is_used_again_too_soon_shows(start):
    seen = {}
    for mode in MODES:
        device = start(mode=mode)
        host, place = device.pinned(64, np.uint8), device.empty(64)
        host[:] = 5
        device.stream_upload(device.main, place, at(host), 64)
        host[:] = 6
        seen[mode] = set(device.get(place, 64, np.uint8).tolist())
    assert seen["early"] == {5} and seen["late"] == {6}, seen


def test_a_wait_does_no_more_than_it_has_to(start):
    device = start(mode="late")
    other, event = device.stream(), device.event()
    host = device.pinned((3, 4), np.uint8)
    place = [device.empty(4) for _ in range(3)]
    for stream, i in (device.main, 0), (device.main, 1), (other, 2):
        fill(device, stream, place[i], 7, 4)
        device.stream_download(stream, at(host[i]), place[i], 4)
        if i == 0:
            device.stream_mark(device.main, event)
    assert device.event_wait(event) == 0
    assert host[:, 0].tolist() == [7, 0, 0]
    assert device.stream_wait(device.main) == 0
    assert host[:, 0].tolist() == [7, 7, 0]
    device.unpin(NULL)                              # waits for all, then finds nothing
    assert host[:, 0].tolist() == [7, 7, 7] and "was not pinned" in device.failed()


def test_an_event_is_what_was_given_until_it_was_marked(start):
    device = start(mode="late")
    other, event = device.stream(), device.event()
    place, copy = device.empty(64), device.empty(64)
    device.stream_after(other, event)               # never marked: nothing to come after
    assert device.event_wait(event) == 0
    fill(device, device.main, place, 1)
    device.stream_mark(device.main, event)
    device.stream_after(other, event)
    fill(device, device.main, place, 2)
    device.stream_mark(device.main, event)          # what `other` comes after stays the first
    device.stream_copy(other, copy, place, 64)
    assert device.stream_wait(other) == 0
    assert set(device.get(copy, 64, np.uint8)) == {1}
    assert set(device.get(place, 64, np.uint8)) == {2}


# ---- kernels, memory ----------------------------------------------------------------------------


def narrow(device, stream, x, to, count):
    device.launch(stream, "floats_narrow", count=count, x=x, narrow=to)


def test_arguments_are_copied_and_memory_is_fresh(device):
    x = np.random.default_rng(0).standard_normal(100, dtype=np.float32)
    place, to = device.put(x), device.empty(400)
    assert not device.get(to, 400, np.uint8).any() and int(ffi().cast("uintptr_t", to)) % 256 == 0
    args = ffi().new("FloatsNarrowArgs*", {"count": 100, "x": ffi().cast("float*", place),
                                           "narrow": ffi().cast("uint16_t*", to)})
    device.stream_launch(device.main, device.KERNEL_floats_narrow, args, 3, 32)
    args.count, args.x = 7, NULL
    assert same(device.get(to, 100, np.uint16), bf16_bits(x))


def test_arguments_have_the_size_of_their_struct(library):
    kernels, number = cuda_calls.ffi().dlopen(str(library)), 0
    while (name := kernels.cuda_kernel_name(number)) != NULL:
        kind = "".join(part.title() for part in ffi().string(name).decode().split("_")) + "Args"
        assert kernels.cuda_args_size(number) == ffi().sizeof(kind)
        number += 1
    assert number > 20 and kernels.cuda_args_size(-1) == kernels.cuda_args_size(number) == -1


def test_facts_and_rates(start):
    device = start(memory=10_256)
    facts = ffi().new("DeviceFacts*")
    device.empty(1000)
    device.facts(facts)
    assert ffi().string(facts.name) == b"emulated on the CPU" and facts.emulated == 1
    assert (facts.major, facts.minor, facts.memory, facts.unused) == (0, 0, 10_256, 10_000 - 1024)
    assert device.lib.device_count(ffi().new("char[2048]")) == 1
    assert min(device.copy_rate(1 << 16), device.product_rate(0), device.product_rate(1)) > 1e6


def test_memory_runs_out(start):
    device = start(memory=4096 + 256)
    assert device.empty(4097) == NULL and device.empty(4000) != NULL and device.empty(1) == NULL
    assert device.failed() == ""                    # the program decides what that means
    assert start().empty(1 << 20) != NULL


def test_nothing_has_an_address_too(device):
    nothing, place = device.empty(0), device.empty(64)
    fill(device, device.main, nothing, 1, 0)
    narrow(device, device.main, place + 64, nothing, 0)     # the end of a block, and no block
    assert nothing not in (NULL, place) and device.stream_wait(device.main) == 0
    fill(device, device.main, nothing, 1, 1)
    assert "goes 1 bytes beyond its block of 0" in device.failed()


def test_allocations_and_waits_are_counted(start):
    device = start()
    before = [device.count(name) for name in cuda_device.COUNTS]
    stream, place, product = device.stream(), device.empty(64), device.product(2, 2, 2)
    device.stream_multiply(stream, product, 1, place, place + 16, 0, NULL, floats(place + 32))
    narrow(device, stream, place, place, 1)
    fill(device, stream, place, 0)
    device.stream_wait(stream)
    graph = capture(device, lambda: fill(device, device.main, place, 0))
    device.stream_replay(device.main, graph)
    after = [device.count(name) for name in cuda_device.COUNTS]
    assert [b - a for a, b in zip(before, after)] == [4, 1, 1, 1, 2, 1]
    assert device.lib.device_emulated_count(99) == -1


def test_each_call_is_timed(device):
    A, B, D = (device.put(np.ones((4, 4), np.float32)) for _ in range(3))
    device.launch(device.main, "floats_narrow", count=4, x=A, narrow=D)
    device.time(1)
    for _ in range(3):
        device.stream_multiply(device.main, device.product(4, 4, 4), 1, A, B, 0, NULL, floats(D))
        fill(device, device.main, D, 0)
        narrow(device, device.main, A, D, 4)
    device.stream_replay(device.main, capture(device, lambda: fill(device, device.main, A, 0)))
    device.time(0)
    fill(device, device.main, D, 0)
    tally, tallies = ffi().new("DeviceTally*"), {}
    while device.tally(len(tallies), tally):
        tallies[ffi().string(tally.name).decode()] = (tally.calls, tally.bytes, tally.flops)
        assert tally.seconds > 0
    assert tallies == {"test": (3, 3 * 3 * 64, 3 * 128), "fill": (3, 3 * 64, 0),
                       "floats_narrow": (3, 3 * (4 * 4 + 4 * 2), 0)}


CHILD = """
import sys
from pathlib import Path
from helpers import cuda_device
import numpy as np
from helpers.cuda_device import Device, ffi
device = Device(Path(sys.argv[1]))
place = device.put(np.ones(1024, np.float32))
print("alive", flush=True)
"""


@pytest.mark.parametrize("then, dies", some_or_all([
    ("device.get(place, 4)", False),
    ("ffi().buffer(place, 4)[:]", True),                                    # read
    ("ffi().buffer(place, 4)[:] = b'0000'", True),                          # written
    ("device.launch(device.main, 'floats_narrow', count=1024, x=place,"
     " narrow=place); device.stream_wait(device.main)", False),
    ("device.launch(device.main, 'floats_narrow', count=1025, x=place,"
     " narrow=place); device.stream_wait(device.main)", True),              # one float too many
    ("[device.get(place, 4) for _ in range(600)]; ffi().buffer(place, 4)[:]", False)], 0, 3))
def test_who_touches_device_memory_dies(library, then, dies):
    """After some hundred runs memory is open for most of the time: that costs less."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PUFFER_CUDA")}
    root = TESTS
    environment["PYTHONPATH"] = f"{root}:{root.parent}"
    done = subprocess.run([sys.executable, "-c", CHILD + then, library], env=environment,
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "alive\n", done.stderr
    assert done.returncode == (-signal.SIGSEGV if dies else 0), done.stderr


def test_a_few_bytes_beyond_a_block_are_seen(start):
    device = start()
    x, to = device.put(np.ones(10, np.float32)), device.empty(18)
    narrow(device, device.main, x, to, 9)
    assert device.stream_wait(device.main) == 0
    narrow(device, device.main, x, to, 10)
    assert device.stream_wait(device.main) == -1
    assert device.failed() == "something was written 1 bytes beyond a block of 18"


# ---- products -----------------------------------------------------------------------------------


def floats(place):
    return ffi().cast("float*", place)


def stored(array, transpose, ld):
    """(batch, rows, columns) in rows of ld, transposed on request; NaN between them"""
    if transpose:
        array = array.transpose(0, 2, 1)
    out = np.full((*array.shape[:2], ld), np.nan, np.float32)
    out[:, :, :array.shape[2]] = array
    return out


@pytest.mark.parametrize("transpose_a", [0, 1])
@pytest.mark.parametrize("transpose_b", [0, 1])
@pytest.mark.parametrize("narrow", [0, 1])
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (7, 5, 3), (6, 16, 256), (20, 37, 300)])
def test_products(start, m, n, k, transpose_a, transpose_b, narrow):
    """The bits of the definition: one multiply-add per element and k, upwards."""
    device, batch, rng = start(), 3, np.random.default_rng(m)
    A, B = (rng.standard_normal((batch, *shape), dtype=np.float32) for shape in ((m, k), (k, n)))
    lda, ldb, ldd = (m if transpose_a else k) + 2, (k if transpose_b else n) + 3, n + 1
    a, b = stored(A, transpose_a, lda), stored(B, transpose_b, ldb)
    C = stored(rng.standard_normal((batch, m, n), dtype=np.float32), 0, ldd)
    if narrow:
        A, B, a, b = reference.bf16(A), reference.bf16(B), bf16_bits(a), bf16_bits(b)
    product = device.product(
        m, n, k, lda=lda, ldb=ldb, ldd=ldd, batch=batch, transpose_a=transpose_a,
        transpose_b=transpose_b, narrow=narrow, stride_a=a[0].size, stride_b=b[0].size,
        stride_d=C[0].size, beside=1)
    want = np.stack([reference.products_in_order(A[i], B[i], None, False) for i in range(batch)])
    a, b, c, d = device.put(a), device.put(b), device.put(C), device.put(C)
    device.stream_multiply(device.main, product, 1, a, b, 0, NULL, floats(d))
    assert same(device.get(d, C.shape)[:, :, :n], want)
    assert same(device.get(d, C.shape)[:, :, n:], C[:, :, n:])          # between rows: untouched
    for to in d, c:                                                     # C is not D, and is
        device.stream_multiply(device.main, product, 1.5, a, b, -0.25, floats(c), floats(to))
        scaled = np.float32(1.5) * want + np.float32(-0.25) * C[:, :, :n]
        assert same(device.get(to, C.shape)[:, :, :n], scaled)


@long_only
def test_products_have_the_bits_of_a_build_that_is_not_optimised(start, tmp_path):
    A, B = (np.random.default_rng(i).standard_normal((90, 90), dtype=np.float32) for i in (1, 2))
    found = []
    for device in start(), Device(cuda_device.build(tmp_path, "-O0")):
        D = device.empty(90 * 90 * 4)
        device.stream_multiply(device.main, device.product(90, 90, 90), 1, device.put(A),
                               device.put(B), 0, NULL, floats(D))
        found.append(device.get(D, (90, 90)))
    device.close()
    assert same(*found) and np.allclose(found[0], A @ B, rtol=1e-4, atol=1e-4)


# ---- graphs -------------------------------------------------------------------------------------


def capture(device, body):
    device.graph_begin(device.main)
    body()
    return device.graph_end(device.main)


def test_a_graph_is_done_when_it_is_replayed_and_again(device):
    host, place, copy = device.pinned(16, np.uint8), device.empty(16), device.empty(16)

    def body():
        device.stream_upload(device.main, place, at(host), 16)
        device.stream_copy(device.main, copy, place, 16)

    graph = capture(device, body)
    host[:] = 3
    assert not device.get(copy, 16, np.uint8).any()
    for byte in 4, 5:
        host[:] = byte                                  # pinned memory is read at each replay
        device.stream_replay(device.main, graph)
        assert set(device.get(copy, 16, np.uint8)) == {byte}


def test_a_graph_keeps_arguments_but_not_device_memory(device):
    x, to = device.put(np.arange(4, dtype=np.float32)), device.empty(64)
    args = ffi().new("FloatsNarrowArgs*", {"count": 2, "x": floats(x),
                                           "narrow": ffi().cast("uint16_t*", to)})
    graph = capture(device, lambda: device.stream_launch(
        device.main, device.KERNEL_floats_narrow, args, 1, 32))
    args.count = 4
    for first in 10, 20:
        x_now = np.arange(first, first + 4, dtype=np.float32)
        device.stream_upload(device.main, x, at(x_now), 16)
        device.stream_replay(device.main, graph)
        assert same(device.get(to, 4, np.uint16), np.r_[bf16_bits(x_now[:2]), np.uint16([0, 0])])


def forked(device, forgotten=None):
    """main and two forks add up: each reads what the fork point and the other left behind."""
    left, right = device.stream(), device.stream()
    fork, done_left, done_right = (device.event() for _ in range(3))
    places = [device.empty(64) for _ in range(5)]

    def after(stream, event, name):
        if name != forgotten:
            device.stream_after(stream, event)

    def body():
        fill(device, device.main, places[0], 1)
        device.stream_mark(device.main, fork)
        device.stream_after(left, fork)
        device.stream_after(right, fork)
        device.stream_copy(left, places[1], places[0], 64)
        device.stream_mark(left, done_left)
        after(right, done_left, "across")
        device.stream_copy(right, places[2], places[1], 64)
        device.stream_mark(right, done_right)
        fill(device, left, places[3], 9)
        device.stream_mark(left, done_left)
        after(device.main, done_left, "left")
        after(device.main, done_right, "right")
        device.stream_copy(device.main, places[4], places[2], 64)
        fill(device, device.main, places[0], 2)

    graph = capture(device, body)
    return graph, places


def test_a_graph_forks_and_joins(device):
    graph, places = forked(device)
    assert graph != NULL, device.failed()
    for _ in range(5):
        for place in places:
            fill(device, device.main, place, 0)
        device.stream_replay(device.main, graph)
        left = [set(device.get(place, 64, np.uint8)) for place in places]
        assert left == [{2}, {1}, {1}, {9}, {1}]
    fill(device, device.stream(), places[0], 5)        # streams of the graph are free again


def test_a_wait_that_a_graph_lacks_shows(start):
    """Its copy may be made before or after what it should come after."""
    seen = set()
    for seed in range(20):
        device = start(mode="shuffled", seed=seed)
        graph, places = forked(device, "across")
        device.stream_replay(device.main, graph)
        seen |= set(device.get(places[4], 64, np.uint8).tolist())
    assert seen == {0, 1}


def test_a_fork_that_is_not_joined_is_a_failure(device):
    graph, _ = forked(device, "left")
    assert graph == NULL and "is not joined" in device.failed()


def test_a_graph_is_freed_once_its_replays_are_done(start):
    device = start(mode="late")
    place = device.empty(64)
    graph = capture(device, lambda: fill(device, device.main, place, 7))
    device.stream_replay(device.main, graph)
    assert device.stream_wait(device.main) == 0
    device.graph_free(graph)
    device.graph_free(NULL)
    assert set(device.get(place, 64, np.uint8)) == {7}
    graph = capture(device, lambda: fill(device, device.main, place, 8))
    device.stream_replay(device.main, graph)
    device.graph_free(graph)
    assert device.failed() == "graph_free: 1 replays of it were not waited for"


# ---- failures -----------------------------------------------------------------------------------


def launch(device, x, narrow, count=4):
    device.launch(device.main, "floats_narrow", count=count, x=x, narrow=narrow)


def in_capture(call):
    def body(device, place):
        capture(device, lambda: call(device, place))
    return body


def marked_in(device):
    event = device.event()
    capture(device, lambda: device.stream_mark(device.main, event))
    return event


def marked_outside(device):
    event = device.event()
    fill(device, device.main, device.empty(64), 1)
    device.stream_mark(device.main, event)
    return event


HOST = np.zeros(64, np.uint8)
FAILURES = {
    "stream_upload: device_to (0x": lambda d, p: d.stream_upload(d.main, at(HOST), at(HOST), 64),
    "is no host memory": lambda d, p: d.stream_upload(d.main, p, p, 64),
    "stream_upload: device_to goes 1 bytes beyond its block of 64":
        lambda d, p: d.stream_upload(d.main, p, at(HOST), 65),
    "stream_download: device_from goes 4 bytes beyond its block of 64":
        lambda d, p: d.stream_download(d.main, at(HOST), p + 60, 8),
    "stream_download: host_to": lambda d, p: d.stream_download(d.main, p, p, 8),
    "stream_copy: device_from": lambda d, p: d.stream_copy(d.main, p, at(HOST), 8),
    "device_to and device_from overlap": lambda d, p: d.stream_copy(d.main, p, p + 4, 8),
    "stream_fill: device_to goes 136 bytes beyond":
        lambda d, p: d.stream_fill(d.main, p + 100, 0, 100),
    "stream_fill: device_to (": lambda d, p: d.stream_fill(d.main, NULL, 0, 1),
    "kernel 0 (tick_begin) cannot run as 0 blocks of 32 threads":
        lambda d, p: d.stream_launch(d.main, 0, p, 0, 32),
    "kernel 0 (tick_begin) cannot run as 1 blocks of 257 threads":
        lambda d, p: d.stream_launch(d.main, 0, p, 1, 257),
    "kernel 999 (unknown)": lambda d, p: d.stream_launch(d.main, 999, p, 1, 32),
    "floats_narrow: array 1 (0x": lambda d, p: launch(d, at(HOST), p),
    "floats_narrow: array 2 (0x": lambda d, p: launch(d, p, at(HOST)),
    "floats_narrow: array 2 goes 1 bytes beyond": lambda d, p: launch(d, p, p + 64),
    "product_open: test of (0, 1) by (1, 1), 1 of them": lambda d, p: d.product(0, 1, 1),
    "the rows of test overlap: lda 1, ldb 2, ldd 2": lambda d, p: d.product(2, 2, 2, lda=1),
    "test: A (0x": lambda d, p: multiply(d, at(HOST), p, 0, NULL, p),
    "test: B goes 4 bytes beyond": lambda d, p: multiply(d, p, p + 52, 0, NULL, p + 16),
    "test: C (": lambda d, p: multiply(d, p, p, 1, NULL, p + 16),
    "test adds to other memory than its own": lambda d, p: multiply(d, p, p, 1, p + 32, p + 16),
    "test: D (0x": lambda d, p: multiply(d, p, p, 0, NULL, at(HOST)),
    "test: D is an operand": lambda d, p: multiply(d, p, p + 16, 0, NULL, p),
    "stream_wait while a graph is captured": in_capture(lambda d, p: d.stream_wait(d.main)),
    "event_wait while a graph is captured": in_capture(lambda d, p: d.event_wait(d.event())),
    "device_memory while a graph": in_capture(lambda d, p: d.empty(64)),
    "device_pinned while a graph": in_capture(lambda d, p: d.pinned(64)),
    "device_pin while a graph": in_capture(lambda d, p: d.pin(at(HOST), 64)),
    "device_unpin while a graph": in_capture(lambda d, p: d.unpin(at(HOST))),
    "stream_open while a graph": in_capture(lambda d, p: d.stream()),
    "graph_begin while a graph": in_capture(lambda d, p: d.graph_begin(d.main)),
    "stream_replay while a graph":
        lambda d, p: replayed_within(d, capture(d, lambda: None)),
    "what a graph uploads has to be pinned memory":
        in_capture(lambda d, p: d.stream_upload(d.main, p, at(HOST), 64)),
    "what a graph downloads to has to be pinned memory":
        in_capture(lambda d, p: d.stream_download(d.main, at(HOST), p, 64)),
    "graph_end without graph_begin": lambda d, p: d.graph_end(d.main),
    "another stream's graph": lambda d, p: (d.graph_begin(d.stream()), d.graph_end(d.main)),
    "event_wait: the event was marked within a graph": lambda d, p: d.event_wait(marked_in(d)),
    "marked within a graph that is whole": lambda d, p: d.stream_after(d.main, marked_in(d)),
    "after: the event was marked within": lambda d, p: after_within(d, marked_in_a_freed_one(d)),
    "marked outside of the graph": lambda d, p: after_within(d, marked_outside(d)),
    "do not begin with a page": lambda d, p: d.pin(at(HOST) + 1, 64),
    "was not pinned": lambda d, p: d.unpin(at(HOST)),
}


def multiply(device, A, B, beta, C, D):
    device.stream_multiply(device.main, device.product(2, 2, 2), 1, A, B, beta, C, floats(D))


def replayed_within(device, graph):
    capture(device, lambda: device.stream_replay(device.main, graph))


def marked_in_a_freed_one(device):
    event = device.event()
    device.graph_free(capture(device, lambda: device.stream_mark(device.main, event)))
    return event


def after_within(device, event):
    capture(device, lambda: device.stream_after(device.main, event))


@pytest.mark.parametrize("text", FAILURES)
def test_a_failure_is_kept_and_stops_what_follows(device, text):
    place, watched = device.empty(64), device.pinned(64, np.uint8)
    fill(device, device.main, place, 1)
    assert device.stream_wait(device.main) == 0 and device.failed() == ""
    FAILURES[text](device, place)
    assert text in device.failed()
    first = device.failed()
    device.stream_fill(device.main, NULL, 0, 1)                     # the first failure stays
    device.stream_download(device.main, at(watched), place, 64)
    assert device.stream_wait(device.main) == -1 and device.failed() == first
    assert device.event_wait(device.event()) == -1
    assert device.graph_end(device.main) == NULL and not watched.any()


def test_memory_that_is_there_is_pinned(start):
    raw = np.zeros(3 * PAGE, np.uint8)
    pages = raw[-raw.ctypes.data % PAGE:][:2 * PAGE]
    assert pages.size == 2 * PAGE
    device = start()
    assert device.pin(at(pages), 2 * PAGE - 100) == 0              # of the last page a part
    place = device.empty(64)
    graph = capture(device, lambda: device.stream_upload(device.main, place, at(pages[100:]), 64))
    pages[:] = 8
    device.stream_replay(device.main, graph)
    assert set(device.get(place, 64, np.uint8)) == {8}
    device.unpin(at(pages))
    assert device.failed() == ""
    assert start(pin=0).pin(at(pages), 2 * PAGE) == -1
    twice = start()
    assert twice.pin(at(pages), 2 * PAGE) == 0 and twice.pin(at(pages), 2 * PAGE) == -1
    assert "is pinned already" in twice.failed()


def test_an_unknown_mode_is_refused(start):
    with pytest.raises(RuntimeError, match="late, early or shuffled, not 'never'"):
        start(mode="never")
