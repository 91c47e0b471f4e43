"""Kernels that were compiled elsewhere, on the emulated device: device.h's programs."""
import mmap

import numpy as np
import pytest
from helpers import cuda_device
from helpers.cuda_calls import find_cpp
from helpers.cuda_device import MODES, Device, at, ffi
from helpers.short_or_long import long_only

from puffer_sdk.toolchain import compilers

NULL = ffi().NULL
ARGS = np.dtype([("count", np.int32), ("add", np.int32), ("to", np.uintp), ("calls", np.uintp)])
SOURCE = """
#include <stdint.h>
struct Args { int32_t count, add; int32_t* to; int32_t* calls; };
extern "C" void test_add(const Args* args, int32_t blocks, int32_t threads) {
    for (int32_t i = 0; i < blocks * threads && i < args->count; i++) args->to[i] += args->add;
    if (args->calls) *args->calls += 1000 * blocks + threads;
}
extern "C" void test_double(const Args* args, int32_t blocks, int32_t threads) {
    for (int32_t i = 0; i < blocks * threads && i < args->count; i++) args->to[i] *= 2;
}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A program of two kernels"""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.cc").write_text(SOURCE)
    compilers.compile_to(folder / "program.so", [find_cpp(), "-shared", "-fPIC", "-O1",
                                                 folder / "program.cc"],
                         source=folder / "program.cc", what="a program")
    return folder / "program.so"


@pytest.fixture
def start(monkeypatch):
    """start(mode, memory=...) -> a device, closed in the end"""
    opened = []

    def start(mode: str = "late", **told):
        monkeypatch.setenv("PUFFER_CUDA_EMULATED", mode)
        for name, value in told.items():
            monkeypatch.setenv(f"PUFFER_CUDA_EMULATED_{name.upper()}", str(value))
        opened.append(Device(cuda_device.library()))
        return opened[-1]

    yield start
    for device in opened:
        device.close()


@pytest.fixture(params=MODES)
def device(start, request):
    return start(request.param)


def open_program(device, path):
    error = ffi().new("char[2048]")
    program = device.program_open(device.device, str(path).encode(), error)
    return program, ffi().string(error).decode()


def args_of(device, to, count=8, add=1, calls=None):
    args = np.zeros(1, ARGS)
    args["count"], args["add"], args["to"] = count, add, int(ffi().cast("uintptr_t", to))
    if calls is not None:
        args["calls"] = int(ffi().cast("uintptr_t", calls))
    return args


def call(device, stream, program, name, args, blocks=1, threads=32):
    number = device.program_kernel(program, name.encode())
    device.stream_call(stream, program, number, at(args), args.nbytes, blocks, threads)


@long_only
def test_kernels_are_found_by_name(device, path):
    program, error = open_program(device, path)
    assert program != NULL and error == ""
    numbers = [device.program_kernel(program, name)
               for name in (b"test_add", b"test_double", b"test_add", b"test_subtract")]
    assert numbers == [0, 1, 0, -1] and device.failed() == ""


def test_a_call_comes_in_its_turn_with_the_arguments_of_then(device, path):
    """Adversarially late: what the caller writes afterwards is not seen."""
    program, _ = open_program(device, path)
    place, calls = device.put(np.zeros(8, np.int32)), device.put(np.zeros(1, np.int32))
    args = args_of(device, place, count=5, add=3, calls=calls)
    call(device, device.main, program, "test_add", args, blocks=2, threads=3)
    args["add"] = 100
    call(device, device.main, program, "test_double", args)
    device.stream_copy(device.main, place + 20, place, 4)
    assert device.get(place, 8, np.int32).tolist() == [6, 6, 6, 6, 6, 6, 0, 0]
    assert device.get(calls, 1, np.int32).tolist() == [2003]


def test_a_call_is_late(start, path):
    device = start("late")
    program, _ = open_program(device, path)
    place, host = device.empty(64), device.pinned(16, np.int32)
    call(device, device.main, program, "test_add", args_of(device, place, 16, 5))
    device.stream_download(device.main, at(host), place, 64)
    assert not host.any() and device.stream_wait(device.main) == 0 and set(host) == {5}


def test_a_graph_keeps_calls(device, path):
    program, _ = open_program(device, path)
    place, args = device.put(np.ones(8, np.int32)), None
    device.graph_begin(device.main)
    args = args_of(device, place, add=1)
    call(device, device.main, program, "test_add", args)
    call(device, device.main, program, "test_double", args)
    graph = device.graph_end(device.main)
    args["add"] = 50
    assert set(device.get(place, 8, np.int32)) == {1}
    for want in 4, 10, 22:
        device.stream_replay(device.main, graph)
        assert set(device.get(place, 8, np.int32)) == {want}


def test_calls_are_timed_under_their_names(device, path):
    program, _ = open_program(device, path)
    place = device.put(np.zeros(8, np.int32))
    before = device.count("launches")
    device.time(1)
    for _ in range(3):
        call(device, device.main, program, "test_add", args_of(device, place))
    tally = ffi().new("DeviceTally*")
    assert device.tally(0, tally) == 1 and device.count("launches") == before + 3
    assert (ffi().string(tally.name), tally.calls, tally.flops) == (b"test_add", 3, 0)


def test_the_heap_is_taken_before_the_first_program(start, path):
    device, facts = start(memory=100_256), ffi().new("DeviceFacts*")
    assert device.heap(200_000) == 0 and device.failed() == ""         # more than there is
    assert device.heap(60_000) == 60_000
    device.facts(facts)
    assert facts.unused == 40_000 and device.empty(50_000) == NULL
    open_program(device, path)
    assert device.heap(1000) == 60_000 and device.failed() == ""


@pytest.mark.parametrize("name, said", [("nowhere.so", "No such file"), ("broken.so", "too short")])
def test_a_program_that_does_not_load_is_no_failure_of_the_device(start, tmp_path, name, said):
    (tmp_path / "broken.so").write_bytes(b"\x7fELF")
    device = start()
    program, error = open_program(device, tmp_path / name)
    assert program == NULL and error.startswith("the program does not load: ")
    assert said in error and error.endswith(f"\t{tmp_path / name}") and device.failed() == ""


def graph_of(device, path):
    device.graph_begin(device.main)
    _, error = open_program(device, path)
    assert error == device.failed()


FAILURES = {
    "kernel 2 cannot run as 1 blocks": lambda d, p, place: d.stream_call(
        d.main, p, 2, at(args_of(d, place)), ARGS.itemsize, 1, 32),
    "cannot run as 0 blocks of 32 threads": lambda d, p, place: call(
        d, d.main, p, "test_add", args_of(d, place), blocks=0),
    "cannot run as 1 blocks of 257 threads": lambda d, p, place: call(
        d, d.main, p, "test_add", args_of(d, place), threads=257),
    "test_add: 0x": lambda d, p, place: call(
        d, d.main, p, "test_add", args_of(d, at(HOST))),
}
# A mapping: those lie high, even where the heap does not and its addresses look like numbers
HOST = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int32)


@pytest.mark.parametrize("text", FAILURES)
def test_calls_that_a_gpu_would_refuse(device, path, text):
    program, _ = open_program(device, path)
    FAILURES[text](device, program, device.empty(64))
    assert text in device.failed() and device.stream_wait(device.main) == -1
    assert device.program_kernel(program, b"test_add") == -1


def test_memory_of_the_host_among_the_arguments_is_named(device, path):
    program, _ = open_program(device, path)
    call(device, device.main, program, "test_add",
         args_of(device, device.empty(64), calls=at(HOST)))
    assert f"0x{HOST.ctypes.data:x}, which is in its arguments, is no device memory" \
        in device.failed()
    assert not HOST.any()


def test_no_program_is_opened_within_a_graph(device, path):
    graph_of(device, path)
    assert "program_open while a graph is captured" in device.failed()
