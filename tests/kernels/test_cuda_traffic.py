"""kernels/cuda/traffic.h: what a launch reads and writes, from its arguments."""
import re

import cffi
import pytest
from helpers import cuda_calls
from helpers.kernel_library import KERNELS

from puffer_sdk.toolchain import compilers

SOURCE = """
#include "kernels/cuda/traffic.h"
double traffic(int32_t kernel, const void* args) { return cuda_traffic(kernel, args); }
void arrays(int32_t kernel, const void* args, CudaArrays* to) { *to = cuda_arrays(kernel, args); }
"""
FIXED = {"tick_next", "update_decide"}               # its arrays have one size
NOT_SIZES = {"obs_dtype", "reset_state", "first", "first_agent", "norm_adv"}


@pytest.fixture(scope="module")
def ffi():
    made = cffi.FFI()
    made.include(cuda_calls.ffi())
    made.cdef("""
        typedef struct { void* place; double bytes; int32_t times; } CudaArray;
        typedef struct { int32_t count; CudaArray array[24]; } CudaArrays;
        double traffic(int32_t kernel, const void* args);
        void arrays(int32_t kernel, const void* args, CudaArrays* to);
    """)
    return made


@pytest.fixture(scope="module")
def traffic(tmp_path_factory, ffi):
    """As C, which the trainer is; the device layer includes it as C++."""
    folder = tmp_path_factory.mktemp("traffic")
    source, made = folder / "traffic.c", folder / "traffic.so"
    source.write_text(SOURCE)
    compilers.compile_to(made, [*compilers.find_compiler().command, "-std=c11", "-Wall", "-Wextra",
                                "-Werror", "-fPIC", "-shared", f"-I{KERNELS.parent}", source],
                         source=source, what="traffic.h")
    return ffi.dlopen(str(made))


@pytest.fixture(scope="module")
def kernels():
    """[(number, name, struct)]"""
    text = (KERNELS / "cuda" / "contract.h").read_text()
    found = re.findall(r"^    X\((\w+), (\w+)\)", text, re.M)
    return [(number, *names) for number, names in enumerate(found)]


def filled(ffi, kind, size):
    """Arguments: each size `size`, each setting 1, each pointer the number of its field."""
    args, pointers = ffi.new(f"{kind}*"), {}
    for field, what in ffi.typeof(kind).fields:
        if what.type.kind == "pointer":
            pointers[field] = 4096 * (len(pointers) + 1)
            setattr(args, field, ffi.cast(what.type, pointers[field]))
        elif what.type.cname == "int32_t" and field not in NOT_SIZES:
            setattr(args, field, size)
        else:
            setattr(args, field, 1)
    return args, pointers


def test_every_array_of_every_kernel_is_there_once(ffi, traffic, kernels):
    for number, name, kind in kernels:
        args, pointers = filled(ffi, kind, 8)
        found = ffi.new("CudaArrays*")
        traffic.arrays(number, args, found)
        places = [int(ffi.cast("intptr_t", found.array[i].place)) for i in range(found.count)]
        assert sorted(places) == sorted(pointers.values()), name
        assert all(found.array[i].times in (1, 2) for i in range(found.count)), name
    assert traffic.traffic(len(kernels), args) == traffic.traffic(-1, args) == 0


def test_traffic_grows_with_sizes(ffi, traffic, kernels):
    for number, name, kind in kernels:
        small, large = (traffic.traffic(number, filled(ffi, kind, size)[0]) for size in (8, 80))
        assert small > 0 and (small == large if name in FIXED else 5 * small < large), name


def count(ffi, traffic, kernels, name, **fields):
    number, _, kind = next(kernel for kernel in kernels if kernel[1] == name)
    args = ffi.new(f"{kind}*")
    for field, value in fields.items():
        what = dict(ffi.typeof(kind).fields)[field].type
        setattr(args, field, ffi.cast(what, value) if what.kind == "pointer" else value)
    return traffic.traffic(number, args)


def pointers(*names):
    return dict.fromkeys(names, 4096)


def test_by_hand(ffi, traffic, kernels):
    def bytes_of(name, **fields):
        return count(ffi, traffic, kernels, name, **fields)

    both = pointers("x", "narrow")
    assert bytes_of("floats_narrow", count=100, **both) == 100 * (4 + 2)
    assert bytes_of("parts_add", count=10, parts=3, stride=99,
                    **pointers("source", "sums")) == (3 * 10 + 10) * 4
    epoch = pointers("values", "rewards", "values_now", "ratio_now", "clipped", "ended",
                     "truncated", "highest")
    assert bytes_of("epoch_begin", count=100, T=10, **epoch) == 100 * 24
    gates = pointers("products", "x", "state", "out")               # state is read and written
    assert bytes_of("gates_step", rows=5, H=7, lds=21, **gates) == 35 * (3 + 1 + 2 + 1) * 4
    assert bytes_of("gates_step", rows=5, H=7, **gates, **pointers("narrow")) \
        == 35 * ((3 + 1 + 2 + 1) * 4 + 2)
    scan = pointers("rows", "ended", "before", "products", "x", "h", "out")
    assert bytes_of("scan_forward", S=3, T=4, H=5, **scan) \
        == 3 * 4 + 12 * 4 + 15 * 4 + 60 * (3 + 1 + 1 + 1) * 4
    back = pointers("rows", "ended", "before", "products", "x", "h", "dx", "dproducts")
    assert bytes_of("scan_backward", S=3, T=4, H=5, **back) \
        == 3 * 4 + 12 * 4 + 15 * 4 + 60 * (3 + 1 + 1 + 2 + 3) * 4
    obs = pointers("rows", "obs", "wide")
    assert bytes_of("obs_gather", S=2, T=3, D=9, ldw=16, obs_dtype=0, **obs) == 8 + 54 + 6 * 64
    assert bytes_of("obs_gather", S=2, T=3, D=9, ldw=16, obs_dtype=1, **obs) == 8 + 216 + 6 * 64
    assert bytes_of("muon_apply", chunks=2, **pointers("X", "weights")) == 2 * 4096 * 12
