"""One command compiles the trainer anywhere, and the generic path computes the same bits there.

tests/kernels/selfcheck.c calls every kernel, or trains, and prints what came of it: compared
between -O levels, compilers, sanitizers, and 64-bit ARM under an emulator.
"""
import os
import platform
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.kernel_library import HERE, KERNELS, TABLES, includes
from helpers.short_or_long import long_only, short_or_long

from puffer_sdk.base.errors import BuildError
from puffer_sdk.toolchain import compilers
from puffer_sdk.training.native import trainer_library, trainer_sources

WARNINGS = "-Wall -Wextra -Werror"
ARM_COMPILER = "aarch64-linux-gnu-gcc"
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
IS_ARM = platform.machine() in ("aarch64", "arm64")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FAST_PATHS = ("neon",) if IS_ARM else ("avx2", "avx512")
BF16_NOISE = ("layer_step", "layer_scan", "layer_scan_backward", "layer_dx")


def number(path):
    """What selfcheck.c calls a path."""
    return str((*trainer_library.PATHS, "bf16").index(path))


@pytest.fixture(scope="session")
def programs(tmp_path_factory):
    """programs(compiler, *flags) -> the self-check with the whole trainer, compiled once"""
    folder = tmp_path_factory.mktemp("selfcheck")

    @cache
    def made(compiler, *flags):
        words = [flag for flag in trainer_library.FLAGS
                 if flag not in ("-O3", "-shared", "-dynamiclib")]
        program = folder / "-".join([Path(compiler).name, *flags]).replace("/", "_")
        compilers.compile_to(program, [
            compiler, *words, *WARNINGS.split(), *flags,
            *(f"-I{place}" for place in trainer_sources.include_dirs()), *trainer_sources.for_cpu(),
            HERE / "selfcheck.c", HERE / "train.c", "-lm"],
            source=HERE / "selfcheck.c", what="the self-check of the trainer")
        return program

    return made


def run(*command, env=None):
    """What a program prints: {name: float32 array}; None where its CPU lacks the path."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=120, env={**os.environ, **(env or {})})
    if done.returncode == 2 and not done.stderr:
        return None
    assert done.returncode == 0, done.stderr[-3000:]
    found = {}
    for line in done.stdout.splitlines():
        name, *words = line.split()
        bits = np.array([int(word, 16) for word in words], np.uint32)
        found[name] = np.concatenate([found.get(name, bits[:0]), bits])
    return {name: bits.view(np.float32) for name, bits in found.items()}


def same(first, second):
    return first.keys() == second.keys() and all(
        np.array_equal(first[name].view(np.int32), second[name].view(np.int32)) for name in first)


def differing(first, second):
    """Of the names, those that differ by more than a few roundings."""
    return [name for name in first | second
            if not np.allclose(first[name], second[name], rtol=3e-6,
                               atol=3e-7 * np.abs(first[name]).max())]


@pytest.fixture(scope="session")
def here(programs):
    """The self-check as the trainer is compiled."""
    return programs(compilers.find_compiler().path, "-O3")


@pytest.fixture(scope="session")
def expected(here):
    """What the generic kernels compute."""
    return run(here, number("generic"))


@pytest.fixture(scope="session")
def weights(here):
    """What the trainer learns with them, on one thread."""
    return run(here, number("generic"), 1)


# ---- the one command --------------------------------------------------------------------------


@long_only          # the others' warnings end the compilation of every self-check, too
@pytest.mark.parametrize("compiler", short_or_long([ARM_COMPILER], [*COMPILERS, ARM_COMPILER]))
def test_the_trainer_compiles_without_a_warning(compiler, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CC", f"{compiler} {WARNINGS}")
    monkeypatch.setenv("PUFFER_CACHE", str(tmp_path))
    made = trainer_library.build_trainer(verbose=True)
    assert WARNINGS in capsys.readouterr().err
    code = made.read_bytes()
    if compiler == ARM_COMPILER and platform.system() == "Linux":
        assert code[:4] == b"\x7fELF" and int.from_bytes(code[18:20], "little") == 183
        assert b"kernels_neon" in code and b"kernels_avx2" not in code


def test_each_source_is_compiled_by_the_one_command():
    names = {path.name for path in trainer_sources.for_cpu()}
    assert {"generic.c", "avx2.c", "avx512.c", "neon.c", "dispatch.c"} <= names


# ---- the same bits ----------------------------------------------------------------------------


@long_only
def test_the_self_check_calls_every_kernel(expected):
    fields = (KERNELS / "kernels.h").read_text().partition("typedef struct Kernels {")[2]
    names = set(re.findall(r"\(\*(\w+)\)", fields.partition("} Kernels;")[0]))
    assert len(names) >= 20 and names - {"nonzero", "pack_pairs"} == set(expected)
    assert all(np.isfinite(values).all() and values.any() for values in expected.values())


@long_only          # the program with sanitizers is compiled with -O0, and compared as well
@pytest.mark.parametrize("level", ["-O0", "-O1"])
def test_optimisation_does_not_change_a_bit(programs, expected, weights, level):
    program = programs(compilers.find_compiler().path, level)
    assert same(run(program, number("generic")), expected)
    assert same(run(program, number("generic"), 2), weights)


@long_only
@pytest.mark.parametrize("compiler", short_or_long(COMPILERS[-1:], COMPILERS))
def test_the_compiler_does_not_change_a_bit(programs, expected, weights, compiler):
    program = programs(shutil.which(compiler), "-O2")
    assert same(run(program, number("generic")), expected)
    assert same(run(program, number("generic"), 2), weights)


@pytest.mark.parametrize("path", [*FAST_PATHS, "bf16"])
def test_fast_paths_agree_with_the_generic_one(here, expected, path):
    found = run(here, number(path))
    assert (found is not None) == (path in TABLES)
    if found is None:               # the CPU lacks it, and that was said
        return
    if path == "bf16":
        noise = {name: np.abs(found[name] - expected[name]).max() for name in BF16_NOISE}
        assert all(1e-4 < value < 0.03 for value in noise.values()), noise
        found |= {name: expected[name] for name in BF16_NOISE}
    assert differing(expected, found) == []
    assert not same(expected, found)            # it is another path


def sanitized(programs, *kinds):
    try:
        return programs(compilers.find_compiler().path, "-O0", "-g", "-fno-sanitize-recover=all",
                        *(f"-fsanitize={kind}" for kind in kinds))
    except BuildError as error:
        if "san" in (error.detail or ""):
            pytest.skip("this compiler has no sanitizers")
        raise


def test_nothing_reads_or_writes_beyond_its_arrays(programs, expected, weights):
    """Arrays are as large as their contracts say: AddressSanitizer watches both ends."""
    program = sanitized(programs, "address", "undefined")
    assert same(run(program, number("generic")), expected)
    assert same(run(program, number("generic"), 2), weights)
    for path in (*FAST_PATHS, "bf16"):
        run(program, number(path))


def test_threads_do_not_race(programs, weights):
    program = sanitized(programs, "thread")
    try:
        found = [run(program, number("generic"), threads) for threads in (2, 4)]
    except AssertionError as error:
        if "unexpected memory mapping" in str(error):
            pytest.skip("ThreadSanitizer does not know this kernel's memory layout")
        raise
    assert all(same(one, weights) for one in found)


# ---- 64-bit ARM -------------------------------------------------------------------------------


@pytest.fixture
def on_arm(programs):
    """on_arm(*args): what the self-check prints on 64-bit ARM"""
    if not shutil.which(ARM_COMPILER) or not (EMULATOR or IS_ARM):
        pytest.skip(f"no {ARM_COMPILER}, or no qemu-aarch64")
    program = programs(ARM_COMPILER, "-O3", "-static")
    return lambda *args: run(*([] if IS_ARM else [EMULATOR]), program, *args)


@long_only
def test_arm_computes_the_same_bits_and_neon_agrees(on_arm, expected):
    generic, neon = (on_arm(number(path)) for path in ("generic", "neon"))
    assert same(generic, expected)
    assert differing(generic, neon) == [] and not same(generic, neon)
    assert on_arm(number("avx2")) is None


@long_only
def test_arm_learns_the_same_weights(on_arm, weights):
    assert same(on_arm(number("generic"), 1), weights)
    assert same(on_arm(number("generic"), 3), weights)
    assert same(on_arm(number("neon"), 1), on_arm(number("neon"), 3))


# ---- C++ -----------------------------------------------------------------------------------


def formulas(program):
    """What tests/kernels/formulas.c prints, (rows, results) float32."""
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, check=True)
    words = [[int(word, 16) for word in line.split()] for line in done.stdout.splitlines()]
    return np.array(words, np.uint32).view(np.float32)


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    program = tmp_path_factory.mktemp("formulas") / "c"
    compilers.compile_to(program, [
        *compilers.find_compiler().command, "-std=c11", "-O2", "-ffp-contract=off",
        *WARNINGS.split(), *includes(), HERE / "formulas.c"],
        source=HERE / "formulas.c", what="the formulas as C")
    found = formulas(program)
    assert found.shape == (2000, 26) and np.isfinite(found).all()
    assert (found.max(axis=0) > found.min(axis=0)).all()
    return found


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_the_formulas_are_cpp_too(plain, tmp_path, standard):
    compiler = shutil.which("g++") or shutil.which("clang++")
    if not compiler:
        pytest.skip("no C++ compiler")
    compilers.compile_to(tmp_path / "cpp", [
        compiler, f"-std={standard}", "-O2", "-ffp-contract=off", *WARNINGS.split(), *includes(),
        "-x", "c++", HERE / "formulas.c"], source=HERE / "formulas.c", what="the formulas as C++")
    assert np.array_equal(formulas(tmp_path / "cpp").view(np.int32), plain.view(np.int32))
